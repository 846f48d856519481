"""Value networks as files of their own, and those that the package ships.

A file is in the safetensors format: four arrays of float32, and texts that say what they are. A page or a
program in another language can play with it: the text "network" holds the sizes, "codes" what looks a table
row up, and the four arrays are those of the formula in :mod:`mancala_env.networks.value`. ``mancala
grow-value`` makes them.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mancala_env._util import tensors
from mancala_env._util.archives import first_line
from mancala_env._util.package_data import bundled_file, rulesets_with
from mancala_env.networks.value import (
    MINE,
    MOST_SEEDS,
    THEIRS,
    InvalidValueNetwork,
    ValueNetworkConfig,
    ValueWeights,
)
from mancala_env.rulesets import Ruleset

FORMAT = "mancala-env value network"
# What the arrays are called, and what the texts say to those who have no Python.
_NAMES = ValueWeights._fields
_CODES = {"most_seeds": MOST_SEEDS, "mine": MINE, "theirs": THEIRS}
_MEANING = (
    "value of a running round to the player to move, in seeds = (own store + seeds in own holes) "
    "- (the other's) + bias + sum over units u of unit_weights[u] * max(0, unit_biases[u] + sum over holes "
    "h of embeddings[h, code(h), u]); holes are numbered from the player to move, their own row first, in "
    "sowing order; the code of a free hole is min(seeds, most_seeds), of an owned one `mine` or `theirs`"
)


class NoValueNetwork(InvalidValueNetwork):
    """A ruleset for which no value network is shipped."""


@dataclass(frozen=True, eq=False)
class ValueFile:
    """A value network with what it is for and how it was made.

    Attributes:
        ruleset: The ruleset it was grown on.
        weights: The network.
        made: How: the command and its numbers, texts by name.
    """

    ruleset: Ruleset
    weights: ValueWeights
    made: dict[str, str]

    def to_bytes(self) -> bytes:
        """Return the content of its file; :func:`read_value_file` reads it back."""
        config = ValueNetworkConfig(num_holes=self.ruleset.num_holes)
        texts = {
            "format": FORMAT,
            "network": json.dumps(asdict(config)),
            "codes": json.dumps(_CODES),
            "meaning": _MEANING,
            "ruleset": json.dumps(asdict(self.ruleset)),
            "made": json.dumps(self.made),
        }
        return tensors.pack(dict(zip(_NAMES, self.weights, strict=True)), texts)


def ruleset_of(path: str | Path) -> Ruleset:
    """Return the ruleset that the network of a file was grown on.

    Raises:
        InvalidValueNetwork: There is no such file, or it holds no value network.
    """
    return _read_texts(path)[0]


def read_value_file(path: str | Path) -> ValueFile:
    """Read a value network; nothing in the file is code.

    Raises:
        InvalidValueNetwork: There is no such file, it is damaged, or it holds no value network of this
            version.
    """
    ruleset, config, made = _read_texts(path)
    try:
        config.check(ruleset)
        found = tensors.unpack(path, config.num_bytes)
        shapes = {name: array.shape for name, array in found.items()}
        wanted = dict(zip(_NAMES, config.shapes, strict=True))
        if shapes != wanted:
            raise InvalidValueNetwork(f"it holds {shapes}; {wanted} would be right")
        weights = ValueWeights(*(found[name] for name in _NAMES))
        return ValueFile(ruleset, ValueWeights.from_bytes(weights.to_bytes(), config), made)
    except (tensors.InvalidTensors, InvalidValueNetwork) as error:
        raise InvalidValueNetwork(f"{path}: {error}") from error


def read_for(path: str | Path, ruleset: Ruleset) -> ValueWeights:
    """Read the value network of a file to play a ruleset.

    Raises:
        InvalidValueNetwork: As of :func:`read_value_file`, or it was grown on another ruleset.
    """
    file = read_value_file(path)
    theirs, ours = _dials_of_a_round(file.ruleset), _dials_of_a_round(ruleset)
    if theirs != ours:
        dial = next(name for name in ours if ours[name] != theirs[name])
        raise InvalidValueNetwork(
            f"{path} was grown on {file.ruleset.name}, not {ruleset.name}: "
            f"{dial} is {theirs[dial]!r} there and {ours[dial]!r} here"
        )
    return file.weights


def shipped_network(ruleset: Ruleset) -> Path:
    """Return the file of the value network that the package ships for a ruleset, by the dials of a round.

    Raises:
        NoValueNetwork: There is none; the message says what to do.
    """
    for name in rulesets_with("value"):
        path = bundled_file("value", name)
        if _dials_of_a_round(ruleset_of(path)) == _dials_of_a_round(ruleset):
            return path
    raise NoValueNetwork(
        f"no value network of {ruleset.name} is shipped; mancala grow-value makes one of a ruleset of the "
        "catalogue, mancala_env.training.value_growth.grow_file of any, and there are some of: "
        f"{', '.join(rulesets_with('value'))}"
    )


def _dials_of_a_round(ruleset: Ruleset) -> dict[str, str | int | bool]:
    """Return what decides how a round plays: how the next one is set up is nothing to a network of rounds."""
    return {name: value for name, value in ruleset.options.items() if name != "match"}


def _read_texts(path: str | Path) -> tuple[Ruleset, ValueNetworkConfig, dict[str, str]]:
    try:
        texts = tensors.texts_of(path)
    except tensors.InvalidTensors as error:
        raise InvalidValueNetwork(str(error)) from error
    if texts.get("format") != FORMAT:
        raise InvalidValueNetwork(f"{path} does not say that it is a {FORMAT}")
    try:
        ruleset = Ruleset(**json.loads(texts["ruleset"]))
        config = ValueNetworkConfig(**json.loads(texts["network"]))
        made = json.loads(texts["made"])
        if not all(isinstance(text, str) and (name + text).isprintable() for name, text in made.items()):
            raise TypeError("what it says of how it was made must be printable texts by name")
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InvalidValueNetwork(
            f"{path}: what it says of itself cannot be read ({first_line(error)})"
        ) from error
    return ruleset, config, made
