"""Files of value networks, and the bundled ones.

A file is in the safetensors format: four arrays of float32, and texts that describe them. Programs in other
languages can use it. The text "network" contains the sizes, and "codes" the codes of holes. The formula in
:mod:`mancala_env.networks.value` defines the arrays. ``mancala grow-value`` makes such files.
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
# Rule option that sets up the next round, and does not matter within a round.
_NOT_OF_A_ROUND = "match"
# Names of the arrays, and texts for programs in other languages.
_NAMES = ValueWeights._fields
_CODES = {"most_seeds": MOST_SEEDS, "mine": MINE, "theirs": THEIRS}
_MEANING = (
    "value of a running round to the player to move, in seeds = (own store + seeds in own holes) "
    "- (the other's) + bias + sum over units u of unit_weights[u] * max(0, unit_biases[u] + sum over holes "
    "h of embeddings[h, code(h), u]); holes are numbered from the player to move, their own row first, in "
    "sowing order; the code of a free hole is min(seeds, most_seeds), of an owned one `mine` or `theirs`"
)


class NoValueNetwork(InvalidValueNetwork):
    """No value network is bundled for the ruleset."""


@dataclass(frozen=True, eq=False)
class ValueFile:
    """A value network with its ruleset and the command that made it.

    Attributes:
        ruleset: Ruleset it was trained on.
        weights: The network.
        made: Command that made the file and its results, as texts by name.
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
    """Return the ruleset of the network in a file; raise InvalidValueNetwork without a value network."""
    return _read_texts(path)[0]


def read_value_file(path: str | Path) -> ValueFile:
    """Read a value network; no code in the file is run.

    Raises:
        InvalidValueNetwork: The file is missing, damaged, or not a value network of this version.
    """
    ruleset, config, made = _read_texts(path)
    try:
        config.check(ruleset)
        found = tensors.unpack(path, config.num_bytes)
        shapes = {name: array.shape for name, array in found.items()}
        wanted = dict(zip(_NAMES, config.shapes, strict=True))
        if shapes != wanted:
            raise InvalidValueNetwork(f"it holds {shapes}; expected {wanted}")
        weights = ValueWeights(*(found[name] for name in _NAMES))
        return ValueFile(ruleset, ValueWeights.from_bytes(weights.to_bytes(), config), made)
    except (tensors.InvalidTensors, InvalidValueNetwork) as error:
        raise InvalidValueNetwork(f"{path}: {error}") from error


def read_for(path: str | Path, ruleset: Ruleset) -> ValueWeights:
    """Read the value network of a file; raise InvalidValueNetwork if it is of another ruleset, too."""
    file = read_value_file(path)
    if differs := difference(file.ruleset, ruleset, _NOT_OF_A_ROUND):
        raise InvalidValueNetwork(f"{path} {differs}")
    return file.weights


def difference(theirs: Ruleset, ours: Ruleset, excluded: str = "") -> str:
    """Return in words how the ruleset of a network differs from another, "" if it does not.

    One rule option may be excluded.
    """
    for name, value in ours.options.items():
        other = theirs.options[name]
        if name != excluded and other != value:
            where = f"{name} is {other!r} there and {value!r} here"
            return f"was trained on {theirs.name}, not {ours.name}: {where}"
    return ""


def bundled_network(ruleset: Ruleset) -> Path:
    """Return the bundled value network with the rule options of a round, or raise NoValueNetwork."""
    for name in rulesets_with("value"):
        path = bundled_file("value", name)
        if not difference(ruleset_of(path), ruleset, _NOT_OF_A_ROUND):
            return path
    raise NoValueNetwork(
        f"no value network is bundled for {ruleset.name}, only for: {', '.join(rulesets_with('value'))}; "
        "mancala grow-value RULESET makes one, which value+minimax:6:FILE plays"
    )


def has_bundled_network(ruleset: Ruleset) -> bool:
    """Return whether a value network is bundled for the rule options of a round of a ruleset."""
    try:
        bundled_network(ruleset)
    except NoValueNetwork:
        return False
    return True


def _read_texts(path: str | Path) -> tuple[Ruleset, ValueNetworkConfig, dict[str, str]]:
    try:
        texts = tensors.texts_of(path)
    except tensors.InvalidTensors as error:
        raise InvalidValueNetwork(str(error)) from error
    if texts.get("format") != FORMAT:
        raise InvalidValueNetwork(f"{path} is not marked as a {FORMAT}")
    try:
        ruleset = Ruleset(**json.loads(texts["ruleset"]))
        config = ValueNetworkConfig(**json.loads(texts["network"]))
        made = json.loads(texts["made"])
        if not all(isinstance(text, str) and (name + text).isprintable() for name, text in made.items()):
            raise TypeError("the texts on how it was made must be printable")
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InvalidValueNetwork(f"{path}: its description cannot be read ({first_line(error)})") from error
    return ruleset, config, made
