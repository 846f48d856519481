"""Checkpoints: trained networks in files, read without running code from the file.

A checkpoint is a zip file with the members that Stable-Baselines3 saves, and ``identity.json``. The
identity is read as JSON, the weights (``policy.pth``) with ``torch.load(weights_only=True)``. The network is
built from the plain data of the identity. The member ``data``, which contains pickled values, is never
opened here. Checkpoints of version 0.1 may contain a value network for search (``value_network.f32``) as raw
numbers. It is still read, but no longer written.

A safetensors file with the identity and the weights is also a checkpoint (``mancala export``).
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from os.path import exists
from pathlib import Path
from typing import Any, Literal

from mancala_env import observations
from mancala_env._util import archives, tensors
from mancala_env._util.archives import first_line
from mancala_env._util.checks import whole
from mancala_env.engine.episode import encode_rounds
from mancala_env.errors import MancalaError
from mancala_env.networks.policy import NetworkConfig, build_network, torch
from mancala_env.networks.value import InvalidValueNetwork, ValueNetworkConfig, ValueWeights
from mancala_env.networks.value_files import FORMAT as VALUE_FORMAT
from mancala_env.networks.value_files import NoValueNetwork, difference
from mancala_env.rulesets import Ruleset

FORMAT = "mancala-env checkpoint"
FORMAT_VERSION = 1
TENSORS_FORMAT = "mancala-env policy network"
_IDENTITY_TEXT = "identity"
IDENTITY_MEMBER, WEIGHTS_MEMBER = "identity.json", "policy.pth"
VALUE_NETWORK_MEMBER = "value_network.f32"
# Fields of an identity with another name in files of format 1.
_KEYS = {"environment_steps": "turns"}
# The network lies under this name in the policy that Stable-Baselines3 saves.
WEIGHTS_PREFIX = "network."
# Maximum unpacked sizes of members. An identity has about 2 KB; weights have the size of the network plus a
# header.
_MOST_IDENTITY, _MOST_HEADER = 1 << 20, 1 << 20
_DEEPEST = 20


class InvalidCheckpoint(MancalaError):
    """The file is not a checkpoint, is damaged, or does not fit its use, such as another ruleset."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Metadata of a checkpoint.

    Attributes:
        ruleset: Ruleset it was trained on, with all rule options.
        rounds: Rounds of an episode, or "match".
        observation_version: Version of its observation kind; see :mod:`mancala_env.observations`.
        network: Observation kind and size of the network.
        environment_steps: Environment steps learned from so far; stored in files as "turns".
        config: The complete configuration of the run, as plain data.
        versions: Versions of the libraries that wrote it, by name.
        value_network: Configuration of the value network in an old checkpoint; None in others.
    """

    ruleset: Ruleset
    rounds: int | Literal["match"]
    observation_version: str
    network: NetworkConfig
    environment_steps: int
    config: dict[str, Any]
    versions: dict[str, str]
    value_network: ValueNetworkConfig | None = None

    def to_json(self) -> str:
        """Return the identity as JSON text; :meth:`from_json` reads it back."""
        fields = {_KEYS.get(name, name): value for name, value in asdict(self).items()}
        return json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION} | fields, indent=2)

    @staticmethod
    def from_json(text: str) -> "Identity":
        """Read an identity.

        Raises:
            InvalidCheckpoint: The text is not an identity, or was written by a later version.
        """
        try:
            fields = json.loads(text)
            if not isinstance(fields, dict):
                raise TypeError(f"it is a {type(fields).__name__}")
            if fields.pop("format") != FORMAT:
                raise InvalidCheckpoint(f"it does not say that it is a {FORMAT}")
            version = fields.pop("format_version")
            if version != FORMAT_VERSION:
                raise InvalidCheckpoint(f"its format version is {version!r}, not {FORMAT_VERSION}")
            _check_plain(fields)
            fields["ruleset"] = Ruleset(**fields["ruleset"])
            fields["network"] = NetworkConfig(**fields["network"])
            if fields.get("value_network") is not None:
                fields["value_network"] = ValueNetworkConfig(**fields["value_network"])
            encode_rounds(fields["rounds"])
            for name, key in _KEYS.items():
                fields[name] = fields.pop(key)
            identity = Identity(**fields)
            identity.check()
            return identity
        except InvalidCheckpoint:
            raise
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise InvalidCheckpoint(f"its identity cannot be read ({first_line(error)})") from error

    def check(self) -> None:
        """Raise a MancalaError if a value is of the wrong type or not printable."""
        if not isinstance(self.versions, dict):
            raise InvalidCheckpoint(f"its versions must be texts by name, not {self.versions!r}")
        of_libraries = {f"version of {name}": version for name, version in self.versions.items()}
        for name, text in ({"observation_version": self.observation_version} | of_libraries).items():
            if not isinstance(text, str) or not (name + text).isprintable():
                raise InvalidCheckpoint(f"its {name!r} must be a printable text, not {text!r}")
        whole("turns", self.environment_steps, 0)
        if not isinstance(self.config, dict):
            raise InvalidCheckpoint(f"its config must be settings by name, not {self.config!r}")


def _check_plain(value: Any, depth: int = 0) -> None:
    """Raise InvalidCheckpoint if plain data is nested too deeply, or holds numbers that are not finite."""
    if depth > _DEEPEST:
        raise InvalidCheckpoint(f"its identity is nested more than {_DEEPEST} deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidCheckpoint("its identity holds numbers that are not finite")
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_plain(inner, depth + 1)


def read_identity(path: str | Path) -> Identity:
    """Return the metadata of a checkpoint without loading its weights.

    Raises:
        InvalidCheckpoint: The file is missing, or is not a checkpoint.
    """
    if Path(path).suffix == tensors.SUFFIX:
        text = _read_texts(path)[_IDENTITY_TEXT]
    else:
        text = _read_member(path, IDENTITY_MEMBER, _MOST_IDENTITY).decode(errors="replace")
    try:
        return Identity.from_json(text)
    except InvalidCheckpoint as error:
        raise InvalidCheckpoint(f"{path}: {error}") from error


def check_undamaged(path: str | Path) -> None:
    """Raise InvalidCheckpoint if a checkpoint's weights are missing, or their checksum is wrong.

    Safetensors files have no checksum and are always accepted.
    """
    if Path(path).suffix != tensors.SUFFIX:
        with _opened(path, WEIGHTS_MEMBER) as archive:
            archive.check(WEIGHTS_MEMBER)


def _check_observation(path: str | Path, identity: Identity) -> None:
    """Refuse a checkpoint with an observation that this package does not have."""
    kind, theirs = identity.network.observation, identity.observation_version
    try:
        ours = observations.version(kind, identity.ruleset)
    except NoValueNetwork as error:
        raise InvalidCheckpoint(
            f"{path} uses the observation {kind!r}, and this package is without a value network for "
            f"{identity.ruleset.name}"
        ) from error
    if theirs != ours:
        # After the second dot is a hash of the value network in the observation.
        has_other_network = ours.count(".") == 2 and theirs.rpartition(".")[0] == ours.rpartition(".")[0]
        why = " with another value network" if has_other_network else ""
        raise InvalidCheckpoint(
            f"{path} was trained on version {theirs} of the observation {kind!r}, and this package has "
            f"version {ours}{why}; train it again or install the package that wrote it: "
            f"{identity.versions.get('mancala-env', 'unknown')}"
        )


def load_network(path: str | Path, identity: Identity) -> "torch.nn.Module":
    """Build the network of a checkpoint and load its weights; nothing is unpickled.

    Torch's random number generator does not change. Memory for the weights is allocated only after the size
    of the file was checked.

    Raises:
        InvalidCheckpoint: This package does not have its observation, or the weights are missing, damaged or
            do not fit the identity.
    """
    _check_observation(path, identity)
    num_actions = identity.ruleset.num_actions(identity.rounds)
    with torch.device("meta"):  # shapes without numbers
        claimed = build_network(identity.ruleset, num_actions, identity.network).state_dict()
    size = sum(4 * value.numel() for value in claimed.values())
    try:
        weights = _read_weights(path, size)
        for name, value in claimed.items():
            if weights[name].shape != value.shape or not weights[name].is_contiguous():
                shape = list(weights[name].shape)
                raise InvalidCheckpoint(f"{path}: weight {name} is {shape}, not {list(value.shape)}")
        # A program may have set another default device.
        with torch.random.fork_rng([]), torch.device("cpu"):
            network = build_network(identity.ruleset, num_actions, identity.network)
        network.load_state_dict(weights)
    except InvalidCheckpoint:
        raise
    except Exception as error:  # a damaged file makes torch raise almost anything
        raise InvalidCheckpoint(
            f"{path}: the weights cannot be read safely or do not fit the network: {first_line(error)}"
        ) from error
    for name, value in network.named_parameters():
        if not torch.isfinite(value).all():
            raise InvalidCheckpoint(f"{path}: weight {name} holds numbers that are not finite")
    return network.eval()


def _read_weights(path: str | Path, size: int) -> "dict[str, torch.Tensor]":
    """Return the tensors of a checkpoint, `size` bytes, by their names in the network."""
    if Path(path).suffix == tensors.SUFFIX:
        return {name: torch.from_numpy(part) for name, part in tensors.unpack(path, size).items()}
    packed = _read_member(path, WEIGHTS_MEMBER, size + _MOST_HEADER, size)
    found = torch.load(BytesIO(archives.tensors_only(packed)), map_location="cpu", weights_only=True)
    return {
        name.removeprefix(WEIGHTS_PREFIX): value
        for name, value in found.items()
        if name.startswith(WEIGHTS_PREFIX)
    }


def as_tensors(identity: Identity, network: "torch.nn.Module") -> bytes:
    """Return a safetensors file with an identity and a network."""
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    return tensors.pack(weights, texts_of(identity))


def texts_of(identity: Identity) -> dict[str, str]:
    """Return the metadata of a network as texts by name, for files of other formats."""
    return {"format": TENSORS_FORMAT, _IDENTITY_TEXT: replace(identity, value_network=None).to_json()}


def load_value_weights(path: str | Path, identity: Identity) -> ValueWeights:
    """Read the value network of an old checkpoint; raise InvalidCheckpoint without one of this version."""
    instead = f"play value+minimax with one from mancala grow-value {identity.ruleset.name}"
    if Path(path).suffix == tensors.SUFFIX or identity.value_network is None:
        raise InvalidCheckpoint(f"{path} is without a value network; {instead}")
    try:
        identity.value_network.check(identity.ruleset)
        size = identity.value_network.num_bytes
        content = _read_member(path, VALUE_NETWORK_MEMBER, size, size)
        return ValueWeights.from_bytes(content, identity.value_network)
    except InvalidValueNetwork as error:
        raise InvalidCheckpoint(f"{path}: {error}; {instead}") from error


def check_ruleset(path: str | Path, identity: Identity, ruleset: Ruleset) -> None:
    """Raise InvalidCheckpoint unless a checkpoint was trained on the ruleset; the message names both."""
    if differs := difference(identity.ruleset, ruleset):
        raise InvalidCheckpoint(f"{path} {differs}")


def _read_member(path: str | Path, member: str, most: int, least: int = 0) -> bytes:
    with _opened(path, member) as archive:
        return archive.read(member, most, least)


@contextmanager
def _opened(path: str | Path, member: str) -> Iterator[archives.Archive]:
    """Open a checkpoint to read a member; errors become InvalidCheckpoint."""
    if not exists(path):
        raise InvalidCheckpoint(f"there is no checkpoint {str(path)!r}")
    if wrong := archives.run_folder_hint(path):
        raise InvalidCheckpoint(wrong)
    what = ""
    try:
        with archives.opened(path) as archive:
            what = _what_it_is(archive, member)
            yield archive
    except archives.NoMember as error:
        raise InvalidCheckpoint(f"{path} is not a {FORMAT}: {what}") from error
    except (archives.InvalidArchive, OSError) as error:
        raise InvalidCheckpoint(f"{path} cannot be read as a checkpoint: {first_line(error)}") from error


def _read_texts(path: str | Path) -> dict[str, str]:
    try:
        texts = tensors.texts_of(path)
    except tensors.InvalidTensors as error:
        raise InvalidCheckpoint(str(error)) from error
    if texts.get("format") == VALUE_FORMAT:
        raise InvalidCheckpoint(f"{path} is a value network; play it as value+minimax:6:{path}")
    if texts.get("format") != TENSORS_FORMAT or _IDENTITY_TEXT not in texts:
        raise InvalidCheckpoint(f"{path} does not say that it is a {TENSORS_FORMAT}")
    return texts


def _what_it_is(archive: archives.Archive, member: str) -> str:
    if "_stable_baselines3_version" in archive.names and member == IDENTITY_MEMBER:
        return (
            "it is a model that Stable-Baselines3 saved; load it with its own class, such as "
            "MaskablePPO.load, and agents.from_policy makes an agent of it; on the command line, name a "
            "function that does this: python:FILE.py:FUNCTION"
        )
    return f"it is without the member {member}, which mancala train writes"
