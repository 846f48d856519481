"""Distillation: a network copies a search before self-play begins.

The expert, a search, plays games with itself, some of its turns at random so that it meets more than one line
of play, and labels every position with the value of every action. The network is fitted to these labels: its
policy to the Boltzmann distribution of the values, its value to the outcome of the game. Self-play goes on
from there.

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

# One game in ten is held out, to tell what was learned from what is only remembered.
_HELD_OUT = 10
# Of the time that distillation has where a run has minutes, what labels may take; the rest is for the fit.
_LABELS_SHARE = 0.5
# More games side by side than threads gain nothing, and all of them are played to their end.
_GAMES = 64
_POSITIONS_AT_ONCE = 4096


class Settings(Protocol):
    """The part of a configuration that is about distillation; what each means stands there."""

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
    """Positions, and what an expert makes of them.

    Attributes:
        ruleset: The ruleset.
        games: uint64 `[N, NUM_COLUMNS]`, running games, one after the other, each from its start.
        values: float32 `[N, A]`, seeds by which the player to move leads at the end of the round, as far as
            the expert sees, after each action; minus infinity where it is not legal.
        outcomes: float32 `[N]`, the reward of the player to move at the end of the game it is from.
        episodes: int64 `[N]`, number of the game it is from.
        turns: Turns of the games that were played for them, unlabelled ones included.
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
        """Return some of the positions."""
        return ExpertLabels(
            self.ruleset,
            self.games[rows],
            self.values[rows],
            self.outcomes[rows],
            self.episodes[rows],
            self.turns,
        )

    def split(self) -> tuple["ExpertLabels", "ExpertLabels"]:
        """Return a training set, and the held-out set: every tenth game, whole.

        Raises:
            InvalidConfig: There are none, or all are from one game.
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
    """How well actions agree with an expert.

    Attributes:
        accuracy: Share of the positions in which the action is one of the expert's best.
        regret: Mean regret, seeds a move, by the expert's values.
    """

    accuracy: float
    regret: float


class Evaluation(NamedTuple):
    """How well a network agrees with expert labels.

    Attributes:
        accuracy: As :class:`Agreement`, for the actions that the network prefers.
        regret: As :class:`Agreement`.
        policy_loss: Cross-entropy of its policy to the Boltzmann targets, in nats.
        value_loss: Mean squared error of its values to the outcomes.
    """

    accuracy: float
    regret: float
    policy_loss: float
    value_loss: float


def is_distillation_ahead(settings: Settings, folder: RunFolder, env_steps: int) -> bool:
    """Tell whether a run of so many environment steps has yet to copy its expert.

    What it copied is saved as a checkpoint; a run stopped before that starts the distillation anew.
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
    """Let the network of a run copy its expert before self-play; shows and logs how well it agrees.

    Where the run has minutes, distillation takes no more than its share of those that are left: then fewer
    positions are labelled, and the passes over them end early.

    Args:
        network: As :func:`mancala_env.networks.policy.build_network` builds it; changed in place.
        settings: The expert, and how to copy it.
        config: The run's configuration.
        logger: Where the figures over the held-out set go, a line an epoch, at 0 environment steps.
        progress: Where to show how far it is.
        run: Its `clock` tells the time; its `stopped_by` is looked at now and then: once it is set, the rest
            is left out.

    Raises:
        InvalidConfig: The agent named is no expert, or labels too few positions.
    """
    kind = config.network.observation
    started = run.clock.seconds
    seconds = settings.share * (60 * config.minutes - started) if config.minutes else np.inf

    def part_of_time() -> float:
        return (run.clock.seconds - started) / seconds if seconds > 0 else 1.0

    def is_late() -> bool:
        return part_of_time() >= _LABELS_SHARE

    def show_labels(count: int) -> bool:
        is_ending = count >= settings.positions or is_late()
        state = "and ends its last games" if is_ending else f"of {settings.positions:,}"
        progress.update(0, f"{settings.spec} has labelled {count:,} positions {state}")
        return run.stopped_by is not None

    def show_fit(part: float) -> bool:
        progress.update(0, f"copying {settings.spec}, {part:.0%} done")
        return run.stopped_by is not None

    labels = label_positions(
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
    if run.stopped_by is not None:
        return
    training, held_out = labels.split()
    found = []

    def log(epochs: float) -> None:
        found.append(evaluate(network, kind, held_out, settings.temperature))
        made = {"epoch": epochs, "positions": len(labels), "turns": labels.turns}
        for name, value in (made | found[-1]._asdict()).items():
            logger.record(f"distillation/{name}", value)
        logger.dump(0)

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
    if not epochs.is_integer() or not found:
        log(epochs)
    is_cut = len(labels) < settings.positions or epochs < settings.epochs
    cut = (
        f" ({len(labels):,} of {settings.positions:,} labelled, {epochs:.1f} of {settings.epochs} passes: "
        f"what {settings.share:.0%} of the minutes allow)"
    )
    progress.say(
        f"Copied {settings.spec} from {len(training):,} positions{cut if is_cut else ''}; on "
        f"{len(held_out):,} held-out ones a best action in {found[-1].accuracy:.0%}, mean regret "
        f"{found[-1].regret:.2f} seeds a move"
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
    """Let an expert play and label positions.

    Boards that are held out for evaluation are played and not labelled. Every game that is started is played
    to its end, and no other of its positions is left out: whether another one starts depends on the positions
    labelled so far alone. So each game has the same chance to count, however long it lasts (as in Wald's
    equation, the expected sum over games is their expected number times the mean of one). Were only the games
    counted that are over by the time there are enough positions, the short ones would be favoured. The one
    cap is the rules' own: a match ends after 1,000 rounds (RULES 5.4), in training as here, so a game cut
    there is one that the network will meet too.

    Args:
        spec: The expert: minimax, value+minimax, policy+minimax or perfect, each with its depth or time.
            Positions that perfect play cannot solve in its time are left out.
        ruleset: The game.
        positions: N, at least; once there are as many, no other game is started.
        exploration: Share of the turns that are played at random, 0 to 1.
        num_games: B, games played side by side.
        opening_turns: Uniformly random turns that start a game.
        rounds: Rounds of a game, or "match".
        reward: "outcome" or "margin"; see Batch.
        seed: Seed of everything random here.
        num_threads: CPU threads.
        progress: Called with the positions so far after each turn; True ends it at once, and the games
            under way are left out.
        is_late: Asked after each turn; once it says True, no other game is started, however few positions
            there are.

    Raises:
        InvalidConfig: That agent is no expert.
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
    label = expert(spec, ruleset, batch.num_actions, num_threads)
    games, values, players, episodes = [], [], [], []
    count, turns, episode = 0, 0, np.arange(num_games)
    rewards_of_south = [np.nan] * num_games
    is_running = np.ones(num_games, np.bool_)
    while is_running.any():
        rows = np.flatnonzero(is_running)
        found = label(batch.games[rows])
        is_known = np.isfinite(found).any(axis=1)
        is_labelled = is_known & rows_to_learn(ruleset, batch.games[rows])
        labelled = rows[is_labelled]
        count += len(labelled)
        turns += len(rows)
        games.append(batch.games[labelled])
        values.append(found[is_labelled])
        players.append(batch.player[labelled])
        episodes.append(episode[labelled])
        is_random = ~is_known | (rng.random(len(rows)) < exploration)
        is_best = found == found.max(axis=1, keepdims=True)
        # Among these, any action is as good as another.
        candidates = np.where(is_random[:, None], batch.legal_mask[rows] != 0, is_best)
        actions = np.zeros(num_games, np.int64)
        actions[rows] = np.where(candidates, rng.random(found.shape), -1.0).argmax(axis=1)
        batch.step(actions, where=is_running)
        ended = rows[batch.done[rows]]
        for b in ended:
            rewards_of_south[episode[b]] = batch.rewards[b, SOUTH]
        if progress is not None and progress(count):
            break
        if not len(ended):
            continue
        goes_on = count < positions and not (is_late is not None and is_late())
        is_running[ended] = goes_on
        if goes_on:
            episode[ended] = len(rewards_of_south) + np.arange(len(ended))
            rewards_of_south += [np.nan] * len(ended)
            batch.reset(where=np.isin(np.arange(num_games), ended))
    numbers = np.concatenate(episodes)
    south = np.array(rewards_of_south, np.float32)[numbers]
    outcomes = np.where(np.concatenate(players) == SOUTH, south, 0 - south)
    order = np.argsort(numbers, kind="stable")
    order = order[~np.isnan(outcomes[order])]
    return ExpertLabels(
        ruleset,
        np.concatenate(games)[order].reshape(-1, NUM_COLUMNS),
        np.concatenate(values)[order],
        outcomes[order],
        numbers[order],
        turns,
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
        network: As :func:`mancala_env.networks.policy.build_network` builds it; changed in place.
        kind: Its kind of observation.
        labels: What to fit it to.
        temperature: Of the targets, in seeds; see :func:`boltzmann_targets`.
        epochs: Passes over the positions.
        batch_size: Positions of a minibatch.
        learning_rate: Adam's step size at the start; it falls to nothing.
        value_weight: Weight of the value's error beside the policy's.
        seed: Seed of the order of the positions.
        progress: Called with the part done, 0 to 1, before each minibatch; True ends it there.
        after_epoch: Called with the number of epochs done after each.
        part_of_time: Asked before each minibatch for the part of the time that is over; the rate falls by it
            where it is further than the passes, and 1 or more ends the fit.

    Returns:
        The passes made; fewer than `epochs` where time or `progress` ended it.
    """
    inputs = _tensors(labels, kind, temperature, next(network.parameters()).device)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    batches = list(_minibatches(len(labels), batch_size, epochs, seed))
    for done, rows in enumerate(batches):
        part = max(done / len(batches), part_of_time() if part_of_time is not None else 0.0)
        if part >= 1 or (progress is not None and progress(part)):
            return epochs * done / len(batches)
        # A rate that falls to nothing: what is left at the end is a mean, not the last few positions.
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
    """Return the policy to copy, float32 `[N, A]`: the softmax of values over a temperature in seeds.

    At temperature 0 the best actions share all of it.
    """
    # In double precision: no temperature above 0 is too small for it.
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
    """Measure how well actions `[N]` agree with an expert's values `[N, A]`, as ExpertLabels has them."""
    regret = values.max(axis=1) - values[np.arange(len(values)), actions]
    return Agreement(float((regret == 0).mean()), float(regret.mean()))


class Examples(NamedTuple):
    """Labels as a network takes them.

    Attributes:
        observations: What it sees, batch first.
        is_legal: bool `[N, A]`.
        targets: float32 `[N, A]`, of its policy.
        values: float32 `[N]`, of its value.
    """

    observations: torch.Tensor
    is_legal: torch.Tensor
    targets: torch.Tensor
    values: torch.Tensor

    def select(self, rows: torch.Tensor) -> "Examples":
        """Return some of them."""
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
