"""Distillation: a network imitates a search before self-play.

The expert, a search, plays against itself, with some random turns for variety. It labels every position with
the value of every action. The network is fitted to these labels: its policy to the Boltzmann distribution of
the values, its value to the outcome of the game. Then self-play starts.

Symbols: N positions, A actions, B games.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from torch import nn

from mancala_env import Position, agents
from mancala_env.agents.perfect import PerfectAgent
from mancala_env.agents.searchers import ILLEGAL, MinimaxAgent
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.state import NUM_COLUMNS, SOUTH
from mancala_env.games.batch import Batch
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset
from mancala_env.solver import Solver
from mancala_env.training.config import InvalidConfig, TrainConfig
from mancala_env.training.progress_bar import RunProgress
from mancala_env.training.run_folder import RunFolder

# One game in ten is held out, to measure generalisation.
_HELD_OUT = 10
# Largest fraction of distillation's time for labels, if a run has minutes; the rest is for the fit.
_LABELS_SHARE = 0.5
# More parallel games than threads gain nothing, and all are played to their end.
_GAMES = 64
_POSITIONS_AT_ONCE = 4096


class Settings(Protocol):
    """The settings of distillation, as in DistillationConfig."""

    positions: int
    spec: str
    exploration: float
    temperature: float
    epochs: int
    batch_size: int
    learning_rate: float
    share: float


@dataclass(frozen=True, eq=False)
class ExpertLabels:
    """Positions with the labels of an expert.

    Attributes:
        ruleset: The ruleset.
        games: uint64 `[N, NUM_COLUMNS]`, the positions, game after game, in the order of play.
        values: float32 `[N, A]`, the expert's value of each action: the lead in seeds of the player to move
            at the end of the round; minus infinity if the action is illegal.
        outcomes: float32 `[N]`, the reward of the player to move at the end of the position's game.
        episodes: int64 `[N]`, the number of the position's game.
        turns: Number of turns played, including those without a label.
    """

    ruleset: Ruleset
    games: np.ndarray
    values: np.ndarray
    outcomes: np.ndarray
    episodes: np.ndarray
    turns: int

    def __len__(self) -> int:
        return len(self.games)

    @property
    def is_legal(self) -> np.ndarray:
        """Tell which actions are legal, bool `[N, A]`."""
        return np.isfinite(self.values)

    def select(self, rows: np.ndarray) -> "ExpertLabels":
        """Return the positions of some rows."""
        return ExpertLabels(
            self.ruleset,
            self.games[rows],
            self.values[rows],
            self.outcomes[rows],
            self.episodes[rows],
            self.turns,
        )

    def split(self) -> tuple["ExpertLabels", "ExpertLabels"]:
        """Return a training set and a held-out set, which has every tenth game.

        Raises:
            InvalidConfig: There are no positions, or all are from one game.
        """
        if not len(self):
            raise InvalidConfig(
                "the expert labelled no position: it knows none of their values; give it more time, or "
                "take another, such as value+minimax:6"
            )
        numbers = np.unique(self.episodes, return_inverse=True)[1]
        if not numbers.any():
            raise InvalidConfig(
                f"the {len(self)} labelled positions are from a single game, and one has to be held out; "
                "ask for more positions"
            )
        is_held_out = numbers % _HELD_OUT == min(_HELD_OUT - 1, numbers.max())
        return self.select(~is_held_out), self.select(is_held_out)


class Agreement(NamedTuple):
    """Agreement of actions with an expert.

    Attributes:
        accuracy: Fraction of positions in which the action is one of the expert's best.
        regret: Mean regret in seeds a move, by the expert's values.
    """

    accuracy: float
    regret: float


class Evaluation(NamedTuple):
    """Agreement of a network with expert labels.

    Attributes:
        accuracy: See :class:`Agreement`; for the network's most probable actions.
        regret: See :class:`Agreement`.
        policy_loss: Cross-entropy of the policy to the Boltzmann targets, in nats.
        value_loss: Mean squared error of the values to the outcomes.
    """

    accuracy: float
    regret: float
    policy_loss: float
    value_loss: float


def is_distillation_ahead(settings: Settings, folder: RunFolder, env_steps: int) -> bool:
    """Tell whether a run still has to start or repeat its distillation.

    Distillation ends with a checkpoint; a run that was stopped earlier repeats it.
    """
    is_done = any(folder.checkpoints.glob("*.zip"))
    return bool(settings.positions) and not env_steps and not is_done


def distill(
    network: nn.Module,
    settings: Settings,
    config: TrainConfig,
    logger: Logger,
    progress: RunProgress,
    run: Any,
) -> None:
    """Fit the network of a run to its expert before self-play, and log how well it agrees.

    If the run has minutes, distillation takes at most its share of them. If time is short, it labels fewer
    positions and makes fewer passes.

    Args:
        network: Network from :func:`mancala_env.networks.policy.build_network`; changed in place.
        settings: The settings of distillation.
        config: The run's configuration.
        logger: Receives metrics over the held-out set after each epoch, at 0 environment steps.
        progress: The progress bar.
        run: Has a `clock` and `stopped_by`; distillation ends when `stopped_by` is set.

    Raises:
        InvalidConfig: The agent cannot label, or labels too few positions.
    """
    part_of_time = _part_of_time(settings, config, run)
    labels = _label_with_progress(settings, config, progress, run, part_of_time)
    if run.stopped_by is not None:
        return
    training, held_out = labels.split()
    kind, evaluations = config.network.observation, []

    def log(epochs: float) -> None:
        evaluations.append(evaluate(network, kind, held_out, settings.temperature))
        made = {"epoch": epochs, "positions": len(labels), "turns": labels.turns}
        for name, value in (made | evaluations[-1]._asdict()).items():
            logger.record(f"distillation/{name}", value)
        logger.dump(0)

    def show_fit(part: float) -> bool:
        progress.update(0, f"imitating {settings.spec}, {part:.0%} done")
        return run.stopped_by is not None

    epochs = fit(
        network,
        kind,
        training,
        temperature=settings.temperature,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        value_weight=config.ppo.value,
        seed=config.seed,
        progress=show_fit,
        after_epoch=log,
        part_of_time=part_of_time,
    )
    if run.stopped_by is not None:
        return
    if not epochs.is_integer() or not evaluations:
        log(epochs)
    is_cut = len(labels) < settings.positions or epochs < settings.epochs
    cut = (
        f" ({len(labels):,} of {settings.positions:,} labelled, {epochs:.1f} of {settings.epochs} passes: "
        f"what {settings.share:.0%} of the minutes allow)"
    )
    progress.say(
        f"Copied {settings.spec} from {len(training):,} positions{cut if is_cut else ''}; on "
        f"{len(held_out):,} held-out ones a best action in {evaluations[-1].accuracy:.0%}, mean regret "
        f"{evaluations[-1].regret:.2f} seeds a move"
    )


def _part_of_time(settings: Settings, config: TrainConfig, run: Any) -> Callable[[], float]:
    """Return a function that tells which part of distillation's time is over; 0 if the run has no minutes."""
    started = run.clock.seconds
    seconds = settings.share * (60 * config.minutes - started) if config.minutes else np.inf
    return lambda: (run.clock.seconds - started) / seconds if seconds > 0 else 1.0


def _label_with_progress(
    settings: Settings,
    config: TrainConfig,
    progress: RunProgress,
    run: Any,
    part_of_time: Callable[[], float],
) -> ExpertLabels:
    """Label positions for a run, until there are enough, its time for labels is over, or it is stopped."""

    def is_late() -> bool:
        return part_of_time() >= _LABELS_SHARE

    def show_labels(count: int) -> bool:
        is_ending = count >= settings.positions or is_late()
        state = "and ends its last games" if is_ending else f"of {settings.positions:,}"
        progress.update(0, f"{settings.spec} has labelled {count:,} positions {state}")
        return run.stopped_by is not None

    return label_positions(
        settings.spec,
        config.game,
        settings.positions,
        exploration=settings.exploration,
        opening_turns=config.selfplay.opening_turns,
        rounds=config.rounds,
        reward=config.selfplay.reward,
        seed=config.seed,
        num_threads=config.threads or None,
        progress=show_labels,
        is_late=is_late,
    )


def label_positions(
    spec: str,
    ruleset: Ruleset,
    positions: int,
    *,
    exploration: float,
    num_games: int = _GAMES,
    opening_turns: int = 0,
    rounds: Any = 1,
    reward: Any = "outcome",
    seed: int | None = None,
    num_threads: int | None = None,
    progress: Callable[[int], bool] | None = None,
    is_late: Callable[[], bool] | None = None,
) -> ExpertLabels:
    """Let an expert play games and label their positions.

    Positions that are held out for evaluation are not labelled. Every game that starts is played to its end,
    and all its other positions are labelled. Dropping games that are unfinished when there are enough
    positions would favour short games. A match ends after 1,000 rounds (RULES 5.4), as in training.

    Args:
        spec: The expert: minimax, value+minimax, policy+minimax or perfect, each with its depth or time.
            Positions that perfect play cannot solve in its time are skipped.
        ruleset: The game.
        positions: Smallest number of positions, N; then no other game starts.
        exploration: Fraction of random turns, 0 to 1.
        num_games: Number of parallel games, B.
        opening_turns: Uniformly random turns that start a game.
        rounds: Rounds of a game, or "match".
        reward: "outcome" or "margin"; see Batch.
        seed: Random seed.
        num_threads: CPU threads.
        progress: Called with the number of positions after each turn; if it returns True, labelling ends at
            once, without the running games.
        is_late: Called when games end; if it returns True, no other game starts.

    Raises:
        InvalidConfig: The agent cannot label.
    """
    rng = np.random.default_rng(seed)
    batch = Batch(
        ruleset,
        num_games,
        rounds=rounds,
        seed=int(rng.integers(2**63)),
        num_threads=num_threads,
        opening_turns=opening_turns,
        opening_set="training",
        reward=reward,
        autoreset=False,
    )
    games = _ExpertGames(batch, expert(spec, ruleset, batch.num_actions, num_threads), exploration, rng)
    while games.is_running.any():
        ended = games.play_turn()
        if progress is not None and progress(games.num_labelled):
            break
        if len(ended) and games.num_labelled < positions and not (is_late is not None and is_late()):
            games.restart(ended)
    return games.labels()


class _ExpertGames:
    """Games of an expert against itself, and its labels of their positions.

    Attributes:
        is_running: bool `[B]`, whether the game is played on.
        num_labelled: Number of labelled positions so far.
    """

    def __init__(
        self,
        batch: Batch,
        label: Callable[[np.ndarray], np.ndarray],
        exploration: float,
        rng: np.random.Generator,
    ) -> None:
        self._batch, self._label, self._exploration, self._rng = batch, label, exploration, rng
        self.is_running = np.ones(batch.num_games, np.bool_)
        self.num_labelled = 0
        self._num_turns = 0
        self._episode = np.arange(batch.num_games)
        self._rewards_of_south = [np.nan] * batch.num_games
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def play_turn(self) -> np.ndarray:
        """Label the positions, play a turn of every running game, and return the rows of games it ended."""
        batch, rows = self._batch, np.flatnonzero(self.is_running)
        values = self._label(batch.games[rows])
        is_known = np.asarray(np.isfinite(values).any(axis=1))
        is_labelled = is_known & rows_to_learn(batch.ruleset, batch.games[rows])
        labelled = rows[is_labelled]
        self.num_labelled += len(labelled)
        self._num_turns += len(rows)
        self._parts.append(
            (batch.games[labelled], values[is_labelled], batch.player[labelled], self._episode[labelled])
        )
        batch.step(self._choose(rows, values, is_known), where=self.is_running)
        ended = rows[batch.done[rows]]
        for row in ended:
            self._rewards_of_south[self._episode[row]] = batch.rewards[row, SOUTH]
        self.is_running[ended] = False
        return ended

    def _choose(self, rows: np.ndarray, values: np.ndarray, is_known: np.ndarray) -> np.ndarray:
        """Return actions, int64 `[B]`: any legal one in random turns, otherwise any of the best."""
        is_random = ~is_known | (self._rng.random(len(rows)) < self._exploration)
        is_best = values == values.max(axis=1, keepdims=True)
        candidates = np.where(is_random[:, None], self._batch.legal_mask[rows] != 0, is_best)
        actions = np.zeros(len(self.is_running), np.int64)
        actions[rows] = np.where(candidates, self._rng.random(values.shape), -1.0).argmax(axis=1)
        return actions

    def restart(self, rows: np.ndarray) -> None:
        """Start new games in some rows."""
        self.is_running[rows] = True
        self._episode[rows] = len(self._rewards_of_south) + np.arange(len(rows))
        self._rewards_of_south += [np.nan] * len(rows)
        self._batch.reset(where=np.isin(np.arange(len(self.is_running)), rows))

    def labels(self) -> ExpertLabels:
        """Return the labels of the games that are over, in the order of the games."""
        games, values, players, episodes = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        south = np.array(self._rewards_of_south, np.float32)[episodes]
        outcomes = np.where(players == SOUTH, south, 0 - south)
        order = np.argsort(episodes, kind="stable")
        order = order[~np.isnan(outcomes[order])]
        return ExpertLabels(
            self._batch.ruleset,
            games[order].reshape(-1, NUM_COLUMNS),
            values[order],
            outcomes[order],
            episodes[order],
            self._num_turns,
        )


def expert(
    spec: str,
    ruleset: Ruleset,
    num_actions: int,
    num_threads: int | None,
    setting: str = "distillation.spec",
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what values every action of games, as ExpertLabels.values has it.

    Raises:
        InvalidConfig: That agent is no expert; the message names the setting that named it.
    """
    agent = agents.make(spec, ruleset, seed=0, num_threads=num_threads)
    if isinstance(agent, MinimaxAgent):
        return lambda games: without_illegal(agent.action_values(games, num_actions), ILLEGAL)
    if not isinstance(agent, PerfectAgent):
        raise InvalidConfig(
            f"{setting} must be a minimax, value+minimax, policy+minimax or perfect agent, not {spec!r}"
        )
    solver, seconds = Solver(ruleset), agent.seconds

    def solve(games: np.ndarray) -> np.ndarray:
        values = np.full((len(games), num_actions), -np.inf, np.float32)
        for b in range(len(games)):
            position = Position.from_games(ruleset, games, b)
            solution = solver.solve(position, time_limit=seconds, with_line=False)
            if solution.is_exact:
                # The solver counts stores from zero.
                lead = position.stores[position.player] - position.stores[1 - position.player]
                for action, value in solution.action_values.items():
                    values[b, action] = lead + value
        return values

    return solve


def without_illegal(values: np.ndarray, illegal: int) -> np.ndarray:
    """Return values as ExpertLabels has them, float32 `[N, A]`, from those with a number for illegal."""
    return np.where(values == illegal, -np.inf, values).astype(np.float32)


def fit(
    network: nn.Module,
    kind: str,
    labels: ExpertLabels,
    *,
    temperature: float,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    value_weight: float,
    seed: int,
    progress: Callable[[float], bool] | None = None,
    after_epoch: Callable[[int], Any] | None = None,
    part_of_time: Callable[[], float] | None = None,
) -> float:
    """Fit a network to labels: cross-entropy to the Boltzmann targets, squared error to the outcomes.

    Args:
        network: Network from :func:`mancala_env.networks.policy.build_network`; changed in place.
        kind: Observation kind of the network.
        labels: The labels.
        temperature: Temperature of the targets, in seeds; see :func:`boltzmann_targets`.
        epochs: Number of passes over the positions.
        batch_size: Number of positions in a minibatch.
        learning_rate: Initial learning rate of Adam; it falls linearly to 0.
        value_weight: Weight of the value's loss beside the policy's.
        seed: Random seed of the order of the positions.
        progress: Called with the part done, 0 to 1, before each minibatch; if it returns True, the fit ends.
        after_epoch: Called with the number of epochs done after each.
        part_of_time: Returns the part of the time that is over; called before each minibatch. The learning
            rate follows it if it is larger than the part of the passes, and the fit ends at 1.

    Returns:
        The number of passes; fewer than `epochs` if time or `progress` ended the fit.
    """
    inputs = _tensors(labels, kind, temperature, next(network.parameters()).device)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    batches = list(_minibatches(len(labels), batch_size, epochs, seed))
    for done, rows in enumerate(batches):
        part = max(done / len(batches), part_of_time() if part_of_time is not None else 0.0)
        if part >= 1 or (progress is not None and progress(part)):
            return epochs * done / len(batches)
        # With a rate that falls to 0, the last few minibatches do not dominate.
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - part)
        network.train()
        policy_loss, value_loss, _ = losses(network, inputs.select(rows))
        loss = policy_loss + value_weight * value_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if after_epoch is not None and (done + 1) % (len(batches) // epochs) == 0:
            after_epoch((done + 1) // (len(batches) // epochs))
    return float(epochs)


def _minibatches(size: int, batch_size: int, epochs: int, seed: int) -> Iterator[torch.Tensor]:
    shuffler = torch.Generator("cpu").manual_seed(seed)
    for _ in range(epochs):
        yield from torch.randperm(size, generator=shuffler, device="cpu").split(batch_size)


def boltzmann_targets(values: np.ndarray, temperature: float) -> np.ndarray:
    """Return the policy's targets, float32 `[N, A]`: the softmax of values over a temperature in seeds.

    At temperature 0 the best actions share the probability equally.
    """
    # Double precision holds any temperature above 0.
    below = (values - values.max(axis=1, keepdims=True)).astype(np.float64)
    with np.errstate(over="ignore"):
        weights = np.exp(below / temperature) if temperature else below == 0
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def evaluate(network: nn.Module, kind: str, labels: ExpertLabels, temperature: float) -> Evaluation:
    """Measure how well a network agrees with labels."""
    inputs = _tensors(labels, kind, temperature, next(network.parameters()).device)
    network.eval()
    policy_loss = value_loss = 0.0
    actions = []
    with torch.inference_mode():
        for rows in torch.arange(len(labels), device="cpu").split(_POSITIONS_AT_ONCE):
            of_policy, of_value, logits = losses(network, inputs.select(rows))
            policy_loss += float(of_policy) * len(rows) / len(labels)
            value_loss += float(of_value) * len(rows) / len(labels)
            actions.append(logits.argmax(dim=1).cpu().numpy())
    return Evaluation(*agreement(labels.values, np.concatenate(actions)), policy_loss, value_loss)


def agreement(values: np.ndarray, actions: np.ndarray) -> Agreement:
    """Measure how well actions `[N]` agree with an expert's values `[N, A]`; see ExpertLabels."""
    regret = values.max(axis=1) - values[np.arange(len(values)), actions]
    return Agreement(float((regret == 0).mean()), float(regret.mean()))


class Examples(NamedTuple):
    """Labels as tensors for a network.

    Attributes:
        observations: `[N, ...]`, the observations.
        is_legal: bool `[N, A]`, legal actions.
        targets: float32 `[N, A]`, targets of the policy.
        values: float32 `[N]`, targets of the value.
    """

    observations: torch.Tensor
    is_legal: torch.Tensor
    targets: torch.Tensor
    values: torch.Tensor

    def select(self, rows: torch.Tensor) -> "Examples":
        """Return the examples of some rows."""
        return Examples(*(each[rows] for each in self))


def _tensors(labels: ExpertLabels, kind: str, temperature: float, device: torch.device) -> Examples:
    observer = Observer(labels.ruleset, kind, labels.values.shape[1])
    observations = observer.empty(len(labels))
    observer.write(labels.games, observations, num_threads=1)
    targets = boltzmann_targets(labels.values, temperature)
    arrays = (observations, labels.is_legal, targets, labels.outcomes)
    return Examples(*(torch.from_numpy(each).to(device) for each in arrays))


def losses(network: nn.Module, examples: Examples) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the losses of policy (cross-entropy) and value (squared error), and the logits."""
    logits, values = network(examples.observations, examples.is_legal)
    policy_loss = -(examples.targets * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
    return policy_loss, (values - examples.values).square().mean(), logits
