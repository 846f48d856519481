"""The command behind a checkpoint: what its settings have beside the configuration of its ruleset."""

import shlex
from typing import Any

from mancala_env._util.settings import flat
from mancala_env.networks.checkpoint import Identity
from mancala_env.rulesets import names
from mancala_env.training.config import read_config, with_new_names

# Where a run lies is no part of how it is made.
_ELSEWHERE = ("name", "folder")


def made_by(identity: Identity) -> tuple[str, str]:
    """Return how a checkpoint was trained: "command" and that, or "settings" where none trains such a one.

    How it was evaluated on the way is left out.
    """
    name = identity.ruleset.name
    usual = flat(read_config([name] if name in names() else [])[0].as_dict())
    told = {
        key: value
        for key, value in with_new_names(identity.config).items()
        if usual.get(key) != value and key not in _ELSEWHERE and not key.startswith("evaluation.")
    }
    words = [f"--{key} {_word(value)}" for key, value in told.items()]
    if name not in names() or not told.keys() <= usual.keys():
        return "settings", " ".join(words) or "the defaults"
    return "command", " ".join(["mancala train", name, *words])


def _word(value: Any) -> str:
    """Return a value as a shell takes it."""
    if isinstance(value, list):
        return shlex.quote(f"[{', '.join(map(str, value))}]")
    return "null" if value is None else shlex.quote(str(value))
