"""The opening book."""

from typing import Any

from mancala_env.rulesets import Ruleset


def load(ruleset: Ruleset) -> Any:
    """Return the ruleset's book, or None."""
    return None
