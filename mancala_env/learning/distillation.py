"""Lessons from a search: a start before self-play.

A teacher plays games with itself, some of its turns at random so that it meets more than one line of play,
and values every action of every position. A network learns from that which actions are good (the softened
values are the policy to copy) and who wins from where (the outcome of the game). Self-play goes on from
there.

Symbols: N positions, A actions, B games.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from torch import nn

from mancala_env import Position, agents
from mancala_env.agents.minimax import ILLEGAL, MinimaxAgent
from mancala_env.agents.perfect import PerfectAgent
from mancala_env.batch import Batch
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.learning.config import InvalidConfig, TeacherConfig, TrainConfig
from mancala_env.learning.progress import RunProgress
from mancala_env.learning.run_folder import RunFolder
from mancala_env.observation import Observer
from mancala_env.rulesets import Ruleset
from mancala_env.solver import Solver

# One position in ten is kept back, to see what was learned and what only remembered.
_HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class Lessons:
    """Positions with what a teacher makes of them.

    Attributes:
        ruleset: The ruleset.
        games: uint64 `[N, NUM_COLUMNS]`, running games, in the order of the games they are from.
        values: int16 `[N, A]`, seeds each action is worth to the player to move, up to a number that is the
            same for all actions; ILLEGAL where it is not legal.
        outcomes: float32 `[N]`, the reward of the player to move at the end of the game it is from.
    """

    ruleset: Ruleset
    games: np.ndarray
    values: np.ndarray
    outcomes: np.ndarray

    def __len__(self) -> int:
        return len(self.games)

    def chosen(self, rows: slice | np.ndarray) -> "Lessons":
        """Return some of the positions."""
        return Lessons(self.ruleset, self.games[rows], self.values[rows], self.outcomes[rows])

    def split(self) -> tuple["Lessons", "Lessons"]:
        """Return what to learn from, and what to keep back: the last tenth, which is other games."""
        kept = max(1, round(_HELD_OUT * len(self)))
        return self.chosen(slice(0, len(self) - kept)), self.chosen(slice(len(self) - kept, None))


class Marks(NamedTuple):
    """How well actions follow a teacher.

    Attributes:
        accuracy: Share of the positions in which the action is one of the teacher's best.
        regret: Mean seeds lost by the teacher's values.
    """

    accuracy: float
    regret: float


def has_lessons_ahead(config: TrainConfig, folder: RunFolder, turns: int) -> bool:
    """Tell whether a run of so many turns has yet to learn from its teacher.

    What it learned there is saved as a checkpoint; a run stopped before that starts its lessons anew.
    """
    is_taught = any(folder.checkpoints.glob("*.zip"))
    return bool(config.teacher.positions) and not turns and not is_taught


def teach(network: nn.Module, config: TrainConfig, logger: Logger, progress: RunProgress, run: Any) -> None:
    """Let a network learn from the teacher of a run before self-play; shows and logs how well it follows.

    Args:
        network: As :func:`mancala_env.agents.network.build_network` builds it; changed in place.
        config: The run's configuration, with a teacher.
        logger: Where the figures go, at 0 turns.
        progress: Where to show how far it is.
        run: Whose `stopped_by` is looked at now and then: once it is set, the rest is left out.

    Raises:
        InvalidConfig: The agent named cannot teach.
    """
    teacher, kind = config.teacher, config.network.observation

    def listen(count: int) -> bool:
        progress.update(0, f"{teacher.spec} has valued {count:,} of {teacher.positions:,} positions")
        return run.stopped_by is not None

    def study(part: float) -> bool:
        progress.update(0, f"copying {teacher.spec}, {part:.0%} done")
        return run.stopped_by is not None

    lessons = give_lessons(
        teacher.spec,
        config.game,
        teacher.positions,
        exploration=teacher.exploration,
        opening_turns=config.selfplay.opening_turns,
        rounds=config.rounds,
        reward=config.selfplay.reward,
        seed=config.seed,
        num_threads=config.threads or None,
        progress=listen,
    )
    if run.stopped_by is not None:
        return
    taught, kept_back = lessons.split()
    learn(network, kind, taught, teacher, value_weight=config.ppo.value, seed=config.seed, progress=study)
    found = examine(network, kind, kept_back)
    for name, value in (("positions", len(lessons)), *found._asdict().items()):
        logger.record(f"teacher/{name}", value)
    logger.dump(0)
    progress.say(
        f"Taught by {teacher.spec} with {len(taught):,} positions: of {len(kept_back):,} others, the best "
        f"action in {found.accuracy:.0%}, {found.regret:.2f} seeds lost on average"
    )


def give_lessons(
    spec: str,
    ruleset: Ruleset,
    positions: int,
    *,
    exploration: float,
    num_games: int = 256,
    opening_turns: int = 0,
    rounds: Any = 1,
    reward: Any = "outcome",
    seed: int | None = None,
    num_threads: int | None = None,
    progress: Callable[[int], bool] | None = None,
) -> Lessons:
    """Let a teacher play and value positions.

    Args:
        spec: The teacher: minimax:DEPTH, minimax:SECONDSs, perfect or perfect:SECONDSs. Positions that
            perfect play cannot solve in its time are left out.
        ruleset: The game.
        positions: N, at least; all of the positions of the games that are over by then count.
        exploration: Share of the turns that are played at random, 0 to 1.
        num_games: B, games played side by side.
        opening_turns: Uniformly random turns that start a game.
        rounds: Rounds of a game, or "match".
        reward: "outcome" or "margin"; see Batch.
        seed: Seed of everything random here.
        num_threads: CPU threads.
        progress: Called with the positions so far after each turn; True ends the lessons at once.

    Raises:
        InvalidConfig: That agent cannot teach.
    """
    rng = np.random.default_rng(seed)
    batch = Batch(
        ruleset,
        num_games,
        rounds=rounds,
        seed=int(rng.integers(2**63)),
        num_threads=num_threads,
        opening_turns=opening_turns,
        reward=reward,
    )
    teach = _valuer(spec, ruleset, batch.num_actions, num_threads)
    under_way: list[list[tuple[np.ndarray, np.ndarray, int]]] = [[] for _ in range(num_games)]
    games, values, outcomes = [], [], []
    while len(games) < positions:
        found, players = teach(batch.games), batch.player.copy()
        is_valued = (found != ILLEGAL).any(axis=1)
        # Of equal values, and where there are none, any legal action is as good as another.
        noise = rng.random(found.shape) + np.where(batch.legal_mask, 0.0, -1e6)
        is_random = ~is_valued | (rng.random(num_games) < exploration)
        actions = np.where(is_random, noise.argmax(axis=1), (found + noise).argmax(axis=1))
        for b in np.flatnonzero(is_valued):
            under_way[b].append((batch.games[b].copy(), found[b], int(players[b])))
        batch.step(actions)
        for b in np.flatnonzero(batch.done):
            for game, value, player in under_way[b]:
                games.append(game)
                values.append(value)
                outcomes.append(batch.reward[b] if player == players[b] else -batch.reward[b])
            under_way[b] = []
        if progress is not None and progress(len(games)):
            break
    return Lessons(
        ruleset,
        np.array(games, np.uint64).reshape(-1, NUM_COLUMNS),
        np.array(values, np.int16).reshape(-1, batch.num_actions),
        np.array(outcomes, np.float32),
    )


def _valuer(
    spec: str, ruleset: Ruleset, num_actions: int, num_threads: int | None
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what values every action of games, as Lessons.values has it."""
    agent = agents.make(spec, ruleset, seed=0, num_threads=num_threads)
    if isinstance(agent, MinimaxAgent):
        return lambda games: agent.action_values(games, num_actions)
    if not isinstance(agent, PerfectAgent):
        raise InvalidConfig(f"teacher.spec must be a minimax or perfect agent, not {spec!r}")
    solver, seconds = Solver(ruleset), agent.seconds

    def solve(games: np.ndarray) -> np.ndarray:
        values = np.full((len(games), num_actions), ILLEGAL, np.int16)
        for b in range(len(games)):
            solution = solver.solve(Position.from_games(ruleset, games, b), time_limit=seconds)
            if solution.is_exact:
                for action, value in solution.action_values.items():
                    values[b, action] = value
        return values

    return solve


def learn(
    network: nn.Module,
    kind: str,
    lessons: Lessons,
    config: TeacherConfig,
    *,
    value_weight: float,
    seed: int,
    progress: Callable[[float], bool] | None = None,
) -> None:
    """Fit a network to lessons: cross-entropy to the softened values, squared error to the outcomes.

    Args:
        network: As :func:`mancala_env.agents.network.build_network` builds it; changed in place.
        kind: What it sees.
        lessons: What to learn.
        config: How.
        value_weight: Weight of the value's error beside the policy's.
        seed: Seed of the order of the positions.
        progress: Called with the part done, 0 to 1, before each minibatch; True ends it there.
    """
    device = next(network.parameters()).device
    seen, legal = _shown(lessons, kind, device)
    targets = soft_targets(lessons.values, config.temperature).to(device)
    outcomes = torch.from_numpy(lessons.outcomes).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    batches = list(_minibatches(len(lessons), config.batch_size, config.epochs, seed))
    network.train()
    for done, rows in enumerate(batches):
        part = done / len(batches)
        if progress is not None and progress(part):
            break
        # A rate that falls to nothing: what is left at the end is a mean, not the last few positions.
        optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - part)
        logits, values = network(seen[rows], legal[rows])
        copied = -(targets[rows] * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
        loss = copied + value_weight * (values - outcomes[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()


def _minibatches(size: int, batch_size: int, epochs: int, seed: int) -> Iterator[torch.Tensor]:
    shuffler = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        yield from torch.randperm(size, generator=shuffler).split(batch_size)


def soft_targets(values: np.ndarray, temperature: float) -> torch.Tensor:
    """Return the policy to copy, float32 `[N, A]`: the softmax of values over a temperature in seeds.

    At temperature 0 the best actions share all of it.
    """
    legal = values != ILLEGAL
    below = np.where(legal, values.astype(np.float32), -np.inf)
    below -= below.max(axis=1, keepdims=True)
    weights = np.exp(below / temperature) if temperature else (below == 0).astype(np.float32)
    return torch.from_numpy((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32))


def favourites(network: nn.Module, kind: str, lessons: Lessons) -> np.ndarray:
    """Return the action a network scores highest in each position, int64 `[N]`."""
    seen, legal = _shown(lessons, kind, next(network.parameters()).device)
    network.eval()
    with torch.inference_mode():
        logits = torch.cat(
            [network(*part)[0] for part in zip(seen.split(4096), legal.split(4096), strict=True)]
        )
    return logits.argmax(dim=1).cpu().numpy()


def examine(network: nn.Module, kind: str, lessons: Lessons) -> Marks:
    """Say how well a network's favourite actions follow the teacher."""
    return marks(lessons.values, favourites(network, kind, lessons))


def marks(values: np.ndarray, actions: np.ndarray) -> Marks:
    """Say how well actions `[N]` follow a teacher's values `[N, A]`."""
    lost = values.max(axis=1) - values[np.arange(len(values)), actions]
    return Marks(float((lost == 0).mean()), float(lost.mean()))


def _shown(lessons: Lessons, kind: str, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what a network sees of the positions, and the legal actions, bool `[N, A]`."""
    num_actions = lessons.values.shape[1]
    observer = Observer(lessons.ruleset, kind, num_actions)
    observations = observer.empty(len(lessons))
    observer.write(lessons.games, observations, num_threads=1)
    return torch.from_numpy(observations).to(device), torch.from_numpy(lessons.values != ILLEGAL).to(device)
