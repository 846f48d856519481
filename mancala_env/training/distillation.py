"""Distillation: a network imitates a search before self-play.

The network is fitted to the labels of an expert. The target of its policy is the Boltzmann distribution of
the expert's values. The target of its value is the outcome of the game. Then self-play starts.

Symbols: N positions, A actions.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from mancala_env.observations import Observer
from mancala_env.training.config import DistillationConfig
from mancala_env.training.expert_labels import ExpertLabels, agreement, label_positions
from mancala_env.training.run_folder import RunFolder

if TYPE_CHECKING:
    from mancala_env.training.hooks import TrainingRun

# Largest fraction of distillation's time for labels, if a run has minutes; the rest is for the fit.
_LABELS_SHARE = 0.5
_POSITIONS_AT_ONCE = 4096


class Evaluation(NamedTuple):
    """Agreement of a network's most probable actions with expert labels, and its losses.

    They are the cross-entropy to the Boltzmann targets, in nats, and the mean squared error to the outcomes.
    """

    accuracy: float
    regret: float
    policy_loss: float
    value_loss: float


def is_distillation_ahead(settings: DistillationConfig, folder: RunFolder, env_steps: int) -> bool:
    """Return whether a run still has to start or repeat its distillation.

    Distillation ends with a checkpoint. A run that was stopped before repeats it.
    """
    is_done = any(folder.checkpoints.glob("*.zip"))
    return bool(settings.positions) and not env_steps and not is_done


def distill(run: "TrainingRun") -> None:
    """Fit the network of a run to its expert before self-play, and log how well it agrees.

    If the run is limited by minutes, distillation takes at most its configured share of them. If time is
    short, it labels fewer positions and makes fewer passes. It ends early if the run is stopped. Metrics over
    the held-out games are logged after each pass, at 0 environment steps.

    Raise InvalidConfig if the expert cannot label positions, or labels too few.
    """
    config, settings, network = run.config, run.config.distillation, run.model.policy.network
    kind, part_of_time = config.network.observation, _part_of_time(run)
    labels = _label_with_progress(run, part_of_time)
    if run.stopped_by is not None:
        return
    training, held_out = labels.split()
    evaluations: list[Evaluation] = []

    def log(epochs: float) -> None:
        evaluations.append(evaluate(network, kind, held_out, settings.temperature))
        made = {"epoch": epochs, "positions": len(labels), "turns": labels.turns}
        for name, value in (made | evaluations[-1]._asdict()).items():
            run.model.logger.record(f"distillation/{name}", value)
        run.model.logger.dump(0)

    def part_done(part_of_passes: float) -> float:
        part = max(part_of_passes, part_of_time())
        run.progress.update(0, f"imitating {settings.spec}, {part:.0%} done")
        return part if run.stopped_by is None else 1.0

    weight, seed = config.ppo.value, config.seed
    epochs = fit(network, kind, training, settings, weight, seed, part_done=part_done, after_epoch=log)
    if run.stopped_by is not None:
        return
    if not epochs.is_integer() or not evaluations:
        log(epochs)
    cut = ""
    if len(labels) < settings.positions or epochs < settings.epochs:
        passes = f"{epochs:.1f} of {settings.epochs} passes: what {settings.share:.0%} of the minutes allow"
        cut = f" ({len(labels):,} of {settings.positions:,} labelled, {passes})"
    found = f"a best action in {evaluations[-1].accuracy:.0%}, mean regret {evaluations[-1].regret:.2f}"
    run.progress.say(
        f"Copied {settings.spec} from {len(training):,} positions{cut}; on {len(held_out):,} held-out ones "
        f"{found} seeds a move"
    )


def _part_of_time(run: "TrainingRun") -> Callable[[], float]:
    """Return a function that tells which part of distillation's time is over; 0 if the run has no minutes."""
    started, minutes = run.clock.seconds, run.config.minutes
    seconds = run.config.distillation.share * (60 * minutes - started) if minutes else np.inf
    return lambda: (run.clock.seconds - started) / seconds if seconds > 0 else 1.0


def _label_with_progress(run: "TrainingRun", part_of_time: Callable[[], float]) -> ExpertLabels:
    """Label positions for a run, until there are enough, its time for labels is over, or it is stopped."""
    config, settings = run.config, run.config.distillation

    def is_late() -> bool:
        return part_of_time() >= _LABELS_SHARE

    def show_labels(count: int) -> bool:
        is_ending = count >= settings.positions or is_late()
        state = "and ends its last games" if is_ending else f"of {settings.positions:,}"
        run.progress.update(0, f"{settings.spec} has labelled {count:,} positions {state}")
        return run.stopped_by is not None

    return label_positions(
        settings.spec,
        config.game,
        settings.positions,
        exploration=settings.exploration,
        seed=config.seed,
        progress=show_labels,
        is_late=is_late,
        opening_turns=config.selfplay.opening_turns,
        rounds=config.rounds,
        num_threads=config.threads or None,
    )


def fit(
    network: nn.Module,
    kind: str,
    labels: ExpertLabels,
    settings: DistillationConfig,
    value_weight: float,
    seed: int,
    *,
    part_done: Callable[[float], float] | None = None,
    after_epoch: Callable[[int], Any] = lambda epoch: None,
) -> float:
    """Fit a network to labels: cross-entropy to the Boltzmann targets, squared error to the outcomes.

    The network is changed in place, and the policy loss has weight 1. `part_done` is called before each
    minibatch with the finished part of the passes, 0 to 1. It returns the finished part of the fit: the
    learning rate falls linearly to 0 with it, and 1 ends the fit. `after_epoch` is called with the number of
    finished passes. Return the number of passes; it is lower than configured if `part_done` ended the fit.
    """
    inputs = _tensors(labels, kind, settings.temperature, network)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    shuffler = torch.Generator("cpu").manual_seed(seed)
    for epoch in range(settings.epochs):
        order = torch.randperm(len(labels), generator=shuffler, device="cpu")
        batches = order.split(settings.batch_size)
        for number, rows in enumerate(batches):
            done = epoch * len(batches) + number
            part = done / (settings.epochs * len(batches))
            if part_done is not None and (part := part_done(part)) >= 1:
                return done / len(batches)
            # With a rate that falls to 0, the last few minibatches do not dominate.
            optimizer.param_groups[0]["lr"] = settings.learning_rate * (1 - part)
            network.train()
            policy_loss, value_loss, _ = losses(network, inputs.select(rows))
            loss = policy_loss + value_weight * value_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
        after_epoch(epoch + 1)
    return float(settings.epochs)


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
    inputs = _tensors(labels, kind, temperature, network)
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


class Examples(NamedTuple):
    """Labels as tensors for a network: observations `[N, ...]`, legal actions bool `[N, A]`, and targets.

    Those of the policy are float32 `[N, A]`, those of the value float32 `[N]`.
    """

    observations: torch.Tensor
    is_legal: torch.Tensor
    targets: torch.Tensor
    values: torch.Tensor

    def select(self, rows: torch.Tensor) -> "Examples":
        """Return the examples of some rows."""
        return Examples(*(each[rows] for each in self))


def _tensors(labels: ExpertLabels, kind: str, temperature: float, network: nn.Module) -> Examples:
    observer = Observer(labels.ruleset, kind, labels.values.shape[1])
    observations = observer.empty(len(labels))
    observer.write(labels.games, observations, num_threads=1)
    targets = boltzmann_targets(labels.values, temperature)
    arrays = (observations, labels.is_legal, targets, labels.outcomes)
    device = next(network.parameters()).device
    return Examples(*(torch.from_numpy(each).to(device) for each in arrays))


def losses(network: nn.Module, examples: Examples) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the losses of policy (cross-entropy) and value (squared error), and the logits."""
    logits, values = network(examples.observations, examples.is_legal)
    policy_loss = -(examples.targets * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
    return policy_loss, (values - examples.values).square().mean(), logits
