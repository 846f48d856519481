"""The command that trained a checkpoint; it has the settings that differ from the ruleset's configuration."""

import shlex

from mancala_env._util.settings import flat, in_yaml
from mancala_env.networks.checkpoint import Identity
from mancala_env.rulesets import names
from mancala_env.training.config import read_config, with_new_names

# Settings that do not change what is trained.
_ELSEWHERE = ("name", "folder")


def made_by(identity: Identity) -> tuple[str, str]:
    """Return "command" and the command that trains a checkpoint; without one, "settings" and the settings.

    Settings of the evaluation are omitted.
    """
    name, is_own = identity.ruleset.name, isinstance(identity.config.get("ruleset"), dict)
    usual = flat(read_config([name] if name in names() else [])[0].as_dict())
    told = {
        key: value
        for key, value in with_new_names(identity.config).items()
        if usual.get(key) != value and key not in _ELSEWHERE and not key.startswith("evaluation.")
    }
    texts = {key: value if isinstance(value, str) else in_yaml(value) for key, value in told.items()}
    words = [f"--{key} {shlex.quote(text)}" for key, text in texts.items()]
    if not (name in names() or is_own) or not told.keys() <= usual.keys():
        return "settings", " ".join(words) or "the defaults"
    return "command", " ".join(["mancala train", *[name] * (not is_own), *words])
