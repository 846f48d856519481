"""What others take from the package's data: a file of each kind for a ruleset, and where it is.

Networks are in the safetensors format, with a card beside them: ``python -m tools.make_value_cards`` writes
those of value networks, ``python -m tools.make_policy_cards`` those of trained ones.
"""

from importlib import resources
from pathlib import Path
from typing import Literal

from mancala_env._util.tensors import SUFFIX
from mancala_env.rulesets import Ruleset, lookup, names

Kind = Literal["policy", "value", "match", "openings"]
_SUFFIXES = {"policy": SUFFIX, "value": SUFFIX, "match": ".npz", "openings": ".npz"}


def shipped_file(kind: Kind, name: str) -> Path:
    """Return where the file of a kind lies for the ruleset of a name, or would."""
    return Path(str(resources.files("mancala_env"))) / "data" / f"{kind}_{name}{_SUFFIXES[kind]}"


def rulesets_with(kind: Kind) -> tuple[str, ...]:
    """Return the names of the rulesets for which a file of a kind is shipped."""
    return tuple(name for name in names() if shipped_file(kind, name).is_file())


def of_the_same_dials(kind: Kind, ruleset: Ruleset) -> Path | None:
    """Return the file of a kind that is shipped for a ruleset of the same dials, or None."""
    same = (name for name in rulesets_with(kind) if lookup(name).dials == ruleset.dials)
    return next((shipped_file(kind, name) for name in same), None)
