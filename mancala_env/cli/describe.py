"""What `mancala show` says of agents, and of files that hold a network."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mancala_env._util import tensors
from mancala_env._util.command_line import needing
from mancala_env._util.settings import flat
from mancala_env.agents import Spec
from mancala_env.cli.tables import print_json, print_table
from mancala_env.networks import value_files
from mancala_env.rulesets import Ruleset

if TYPE_CHECKING:
    from mancala_env.networks.checkpoint import Identity


def show_agent(text: str, kind: tuple[str, str], spec: Spec | None, as_json: bool) -> None:
    """Say what an agent is, and what its network is.

    Args:
        text: Its spec, or the name of a kind of agents.
        kind: The form of such specs, and what they make.
        spec: With the files named that it takes to play; None for a kind alone.
        as_json: Whether to print JSON.

    Raises:
        MancalaError: A file that it names cannot be read.
    """
    form, meaning = kind
    network = None if spec is None else spec.checkpoint or spec.network
    if as_json:
        told = {"spec": text, "form": form, "meaning": meaning}
        print_json(told if network is None else told | {"file": network, "network": _as_dict(network)})
        return
    print(f"{text}: {meaning} (form of the spec: {form})")
    if network is not None:
        _print_network(network)


def show_network(path: str, all_settings: bool, as_json: bool) -> None:
    """Say what a checkpoint or the file of a value network is.

    Args:
        path: The file.
        all_settings: Whether to say every setting and version of a checkpoint, too.
        as_json: Whether to print all that it says of itself as JSON instead.

    Raises:
        MancalaError: It is none, or damaged.
    """
    if as_json:
        print_json(_as_dict(path))
        return
    _print_network(path)
    if all_settings and not _holds_values(path):
        identity = _identity(path)
        rows = [["observation version", identity.observation_version], *map(list, identity.versions.items())]
        _print(rows, "Versions")
        _print([[name, str(value)] for name, value in flat(identity.config).items()], "All settings")


def _as_dict(path: str) -> dict[str, Any]:
    if _holds_values(path):
        file = value_files.read_value_file(path)
        return {"ruleset": asdict(file.ruleset), "made": file.made}
    return json.loads(_identity(path).to_json())


def _print_network(path: str) -> None:
    if _holds_values(path):
        what, rows = "value network", _of_value_network(path)
    else:
        what, rows = "checkpoint", _of_checkpoint(_identity(path))
    content, card = Path(path).read_bytes(), Path(path).with_suffix(".md")
    rows += [["size", f"{len(content):,} bytes"]]
    rows += [["card", str(card)]] if card.is_file() else []
    _print([[what, path], *rows])
    # Below the table, which has no room for it in 80 columns.
    print(f" SHA-256 {hashlib.sha256(content).hexdigest()}")


def _holds_values(path: str) -> bool:
    """Tell whether a file is a value network of its own, and no checkpoint."""
    try:
        return tensors.texts_of(path).get("format") == value_files.FORMAT
    except tensors.InvalidTensors:
        return False  # reading it as a checkpoint says what is wrong


def _identity(path: str) -> "Identity":
    from mancala_env.networks.checkpoint import check_undamaged, read_identity

    identity = read_identity(path)
    check_undamaged(path)
    return identity


def _of_value_network(path: str) -> list[list[str]]:
    file = value_files.read_value_file(path)
    return [["ruleset", _in_words(file.ruleset)], *map(list, file.made.items())]


def _of_checkpoint(identity: "Identity") -> list[list[str]]:
    with needing("mancala show of a checkpoint", "train"):
        from mancala_env.training.reproduce import made_by

    network = identity.network
    size = f"{network.layers} hidden layer{'s' * (network.layers != 1)} of {network.hidden}"
    return [
        ["ruleset", _in_words(identity.ruleset)],
        ["rounds", str(identity.rounds)],
        ["sees", network.observation],
        ["network", size],
        *([["value network", "for policy+minimax and policy+mcts"]] if identity.value_network else []),
        ["environment steps", f"{identity.turns:,}"],
        ["seed", str(identity.config.get("seed", "unknown"))],
        list(made_by(identity)),
        ["version", identity.versions.get("mancala-env", "unknown")],
    ]


def _in_words(ruleset: Ruleset) -> str:
    return f"{ruleset.name} ({ruleset.title})"


def _print(rows: list[list[str]], title: str | None = None) -> None:
    print_table(["", ""], rows, title, show_header=False)
