"""Training state in a checkpoint, read without running code from the file.

Weights and optimizer state are read as tensors, the rest as JSON. The model is built from the run's
configuration. A checkpoint also has pickled values for ``MaskablePPO.load``, which are never unpickled here.
"""

import json
import math
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mancala_env._util.archives import InvalidArchive, first_line, opened
from mancala_env.networks.checkpoint import WEIGHTS_MEMBER, InvalidCheckpoint

PROGRESS_MEMBER, OPTIMIZER_MEMBER = "progress.json", "policy.optimizer.pth"
# JSON member of Stable-Baselines3; earlier versions had the progress only there.
_SB3_MEMBER = "data"
# Adam's state of each weight.
_STATE = {"step", "exp_avg", "exp_avg_sq"}
_MOST_BYTES = 1 << 30


class ProgressMade(NamedTuple):
    """Progress of a run: seconds of training and number of passes over rollouts."""

    seconds: float
    updates: int


@dataclass(frozen=True, eq=False)
class Learned:
    """Training state of a checkpoint; its learning rate is that of the last update.

    `moments` is Adam's state of each weight, by its index among the policy's parameters.
    """

    weights: dict[str, Tensor]
    moments: dict[int, dict[str, Tensor]]
    learning_rate: float
    progress: ProgressMade

    def members(self) -> dict[str, bytes]:
        """Return the members of a checkpoint with this state, by name."""
        optimizer = {"state": self.moments, "param_groups": [{"lr": self.learning_rate}]}
        return {
            WEIGHTS_MEMBER: _packed(self.weights),
            OPTIMIZER_MEMBER: _packed(optimizer),
            PROGRESS_MEMBER: json.dumps(self.progress._asdict()).encode(),
        }

    def put_into(self, policy: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Load the state into a policy and its optimizer; raise InvalidCheckpoint if it does not fit."""
        try:
            policy.load_state_dict(self.weights)
        except RuntimeError as error:
            raise InvalidCheckpoint(f"its weights do not fit: {str(error).splitlines()[0]}") from error
        shapes = [each.shape for each in policy.parameters()]
        if self.moments and set(self.moments) != set(range(len(shapes))):
            raise InvalidCheckpoint("its optimizer's state is of other weights")
        for number, state in self.moments.items():
            if not state["exp_avg"].shape == state["exp_avg_sq"].shape == shapes[number]:
                raise InvalidCheckpoint("its optimizer's state is of weights of another shape")
        # Load only the moments; the configuration sets the optimizer's parameters.
        ours = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": self.moments, "param_groups": ours})


def read_learned(path: Path) -> Learned:
    """Read the training state of a checkpoint; raise InvalidCheckpoint if it is damaged or incomplete."""
    optimizer, weights = _tensors(path, OPTIMIZER_MEMBER), _tensors(path, WEIGHTS_MEMBER)
    try:
        moments = {int(number): dict(state) for number, state in optimizer["state"].items()}
        learning_rate = float(optimizer["param_groups"][0]["lr"])
        are_moments = all(
            set(state) == _STATE
            and all(isinstance(value, Tensor) and bool(value.isfinite().all()) for value in state.values())
            for state in moments.values()
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidCheckpoint(f"{OPTIMIZER_MEMBER} holds no state of an optimizer ({error})") from error
    if not are_moments or not (math.isfinite(learning_rate) and learning_rate >= 0):
        raise InvalidCheckpoint(f"{OPTIMIZER_MEMBER} holds something else than Adam's moments")
    if not isinstance(weights, dict) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise InvalidCheckpoint(f"{WEIGHTS_MEMBER} holds something else than weights")
    return Learned(weights, moments, learning_rate, _progress(path))


def _progress(path: Path) -> ProgressMade:
    """Return the progress of the run, from Stable-Baselines3's member in old checkpoints."""
    member, names = PROGRESS_MEMBER, ("seconds", "updates")
    with opened(path) as archive:
        if member not in archive.names:
            member, names = _SB3_MEMBER, ("seconds_trained", "_n_updates")
    try:
        seconds, updates = map(json.loads(_read(path, member)).__getitem__, names)
        if not (0 <= float(seconds) < math.inf and int(updates) >= 0):
            raise ValueError(f"{seconds} seconds, {updates} updates")
        return ProgressMade(float(seconds), int(updates))
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InvalidCheckpoint(f"{member} is not the progress of a run ({error})") from error


def _packed(tensors: Any) -> bytes:
    packed = BytesIO()
    torch.save(tensors, packed)
    return packed.getvalue()


def _tensors(path: Path, member: str) -> Any:
    content = BytesIO(_read(path, member))
    try:
        return torch.load(content, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file makes torch raise almost anything
        raise InvalidCheckpoint(f"{member} cannot be read safely: {first_line(error)}") from error


def _read(path: Path, member: str) -> bytes:
    try:
        with opened(path) as archive:
            return archive.read(member, _MOST_BYTES)
    except (InvalidArchive, OSError) as error:
        raise InvalidCheckpoint(f"{member} cannot be read: {first_line(error)}") from error
