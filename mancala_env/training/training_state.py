"""What a checkpoint holds beyond the network, so that training goes on from it without running its code.

Nothing is unpickled: weights and the optimizer's state are read as tensors, the rest as JSON, and the model
they are put into is built from the run's configuration. The members that Stable-Baselines3 unpickles are
written, for ``MaskablePPO.load``, and never opened here.
"""

import json
import math
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mancala_env._util.archives import InvalidArchive, NoMember, first_line, opened
from mancala_env.networks.checkpoint import WEIGHTS_MEMBER, InvalidCheckpoint

PROGRESS_MEMBER, OPTIMIZER_MEMBER = "progress.json", "policy.optimizer.pth"
# Where Stable-Baselines3 keeps the plain numbers of a run, as JSON; earlier versions had them there alone.
_SB3_MEMBER = "data"
# Adam's: a number and two moments of every weight.
_STATE = {"step", "exp_avg", "exp_avg_sq"}
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class ProgressMade:
    """How far a run is.

    Attributes:
        seconds: Seconds of training.
        updates: Passes over an update's environment steps that the optimizer made.
    """

    seconds: float
    updates: int

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, eq=False)
class Learned:
    """What is read of a checkpoint to go on from.

    Attributes:
        weights: The policy's, by name.
        moments: Adam's state of each weight, by its place among the policy's parameters.
        learning_rate: Adam's step size in the last update.
        progress: How far the run was.
    """

    weights: dict[str, Tensor]
    moments: dict[int, dict[str, Tensor]]
    learning_rate: float
    progress: ProgressMade

    def members(self) -> dict[str, bytes]:
        """Return the members of a checkpoint that hold it, by name."""
        optimizer = {"state": self.moments, "param_groups": [{"lr": self.learning_rate}]}
        return {
            WEIGHTS_MEMBER: _packed(self.weights),
            OPTIMIZER_MEMBER: _packed(optimizer),
            PROGRESS_MEMBER: self.progress.to_json().encode(),
        }

    def put_into(self, policy: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Give a policy and its optimizer what was learned.

        Raises:
            InvalidCheckpoint: It does not fit them.
        """
        try:
            policy.load_state_dict(self.weights)
        except RuntimeError as error:
            raise InvalidCheckpoint(f"its weights do not fit: {str(error).splitlines()[0]}") from error
        parameters = list(policy.parameters())
        if self.moments and set(self.moments) != set(range(len(parameters))):
            raise InvalidCheckpoint("its optimizer's state is of other weights")
        for number, state in self.moments.items():
            for name in _STATE - {"step"}:
                if state[name].shape != parameters[number].shape:
                    raise InvalidCheckpoint("its optimizer's state is of weights of another shape")
        # Only the moments are theirs: what the optimizer does with them is set by the configuration.
        ours = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": self.moments, "param_groups": ours})


def read_learned(path: Path) -> Learned:
    """Read what a checkpoint holds to go on from.

    Raises:
        InvalidCheckpoint: A member is missing, damaged, or holds something else than numbers.
    """
    optimizer = _tensors(path, OPTIMIZER_MEMBER)
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
    return Learned(read_weights(path), moments, learning_rate, _progress(path))


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the policy's weights of a checkpoint, by name.

    Raises:
        InvalidCheckpoint: They are missing, damaged, or something else than tensors.
    """
    weights = _tensors(path, WEIGHTS_MEMBER)
    if not isinstance(weights, dict) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise InvalidCheckpoint(f"{WEIGHTS_MEMBER} holds something else than weights")
    return weights


def _progress(path: Path) -> ProgressMade:
    """Return how far a run was; older checkpoints say it in Stable-Baselines3's own member alone."""
    member = PROGRESS_MEMBER if PROGRESS_MEMBER in members(path) else _SB3_MEMBER
    names = ("seconds", "updates") if member == PROGRESS_MEMBER else ("seconds_trained", "_n_updates")
    try:
        said = json.loads(_read(path, member))
        seconds, updates = (said[name] for name in names)
        if not (0 <= float(seconds) < math.inf and int(updates) >= 0):
            raise ValueError(f"{seconds} seconds, {updates} updates")
        return ProgressMade(float(seconds), int(updates))
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InvalidCheckpoint(f"{member} does not say how far the run was ({error})") from error


def _packed(tensors: Any) -> bytes:
    packed = BytesIO()
    torch.save(tensors, packed)
    return packed.getvalue()


def _tensors(path: Path, member: str) -> Any:
    try:
        return torch.load(BytesIO(_read(path, member)), map_location="cpu", weights_only=True)
    except InvalidCheckpoint:
        raise
    except Exception as error:  # a damaged file makes torch raise almost anything
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise InvalidCheckpoint(f"{member} cannot be read safely: {said}") from error


def members(path: Path) -> list[str]:
    """Return the names of a checkpoint's members.

    Raises:
        InvalidCheckpoint: The file is no zip.
    """
    try:
        with opened(path) as archive:
            return archive.names
    except (InvalidArchive, OSError) as error:
        raise InvalidCheckpoint(f"it cannot be read: {first_line(error)}") from error


def _read(path: Path, member: str) -> bytes:
    try:
        with opened(path) as archive:
            return archive.read(member, _MOST_BYTES)
    except NoMember as error:
        raise InvalidCheckpoint(str(error)) from error
    except (InvalidArchive, OSError) as error:
        raise InvalidCheckpoint(f"{member} cannot be read: {first_line(error)}") from error
