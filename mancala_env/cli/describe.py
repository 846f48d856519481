"""What `mancala show` says of a file that holds a network."""

import json
from typing import TYPE_CHECKING

from mancala_env.cli.tables import print_json, print_table
from mancala_env.programs import needing
from mancala_env.settings import flat

if TYPE_CHECKING:
    from mancala_env.agents.checkpoint import Identity


def show_checkpoint(path: str, all_settings: bool, as_json: bool) -> None:
    """Say what a checkpoint is.

    Args:
        path: Its file.
        all_settings: Whether to say every setting and version, too.
        as_json: Whether to print its identity, all of it, as JSON instead.

    Raises:
        InvalidCheckpoint: It is none, or damaged.
    """
    from mancala_env.agents.checkpoint import check_undamaged, read_identity

    identity = read_identity(path)
    check_undamaged(path)
    if as_json:
        print_json(json.loads(identity.to_json()))
        return
    _print([["checkpoint", path], *_of_checkpoint(identity)])
    if all_settings:
        rows = [["observation version", identity.observation_version], *map(list, identity.versions.items())]
        _print(rows, "Versions")
        _print([[name, str(value)] for name, value in flat(identity.config).items()], "All settings")


def _of_checkpoint(identity: "Identity") -> list[list[str]]:
    with needing("mancala show of a checkpoint", "train"):
        from mancala_env.learning.command import made_by

    ruleset, network = identity.ruleset, identity.network
    size = f"{network.layers} hidden layer{'s' * (network.layers != 1)} of {network.hidden}"
    return [
        ["ruleset", f"{ruleset.name} ({ruleset.title})"],
        ["rounds", str(identity.rounds)],
        ["sees", network.observation],
        ["network", size],
        ["value network", "none" if identity.value_network is None else "for policy+minimax and policy+mcts"],
        ["environment steps", f"{identity.turns:,}"],
        ["seed", str(identity.config.get("seed", "unknown"))],
        list(made_by(identity)),
        ["version", identity.versions.get("mancala-env", "unknown")],
    ]


def _print(rows: list[list[str]], title: str | None = None) -> None:
    print_table(["", ""], rows, title, show_header=False)
