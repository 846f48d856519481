"""Networks that the package ships: one file of each kind for a ruleset, and where it lies.

They are in the safetensors format, with a card beside them (``python -m mancala_env.arena.cards``).
"""

from importlib import resources
from pathlib import Path
from typing import Literal

from mancala_env.agents.agent import InvalidSpec
from mancala_env.agents.tensors import SUFFIX
from mancala_env.rulesets import Ruleset, lookup, names

Kind = Literal["policy", "value"]


class NoTrainedNetwork(InvalidSpec):
    """A ruleset for which no trained network is shipped."""


def shipped_file(kind: Kind, name: str) -> Path:
    """Return where the network of a kind lies for the ruleset of a name, or would."""
    return Path(str(resources.files("mancala_env"))) / "data" / f"{kind}_{name}{SUFFIX}"


def rulesets_with(kind: Kind) -> tuple[str, ...]:
    """Return the names of the rulesets for which a network of a kind is shipped."""
    return tuple(name for name in names() if shipped_file(kind, name).is_file())


def shipped_policy(ruleset: Ruleset) -> Path:
    """Return the file of the trained network that the package ships for a ruleset, by its dials.

    Raises:
        NoTrainedNetwork: There is none; the message says what to do.
    """
    for name in rulesets_with("policy"):
        if lookup(name).dials == ruleset.dials:
            return shipped_file("policy", name)
    raise NoTrainedNetwork(
        f"no trained network of {ruleset.name} is shipped; mancala train makes one, and there are some of: "
        f"{', '.join(rulesets_with('policy'))}"
    )
