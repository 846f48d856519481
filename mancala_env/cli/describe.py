"""What `mancala show` prints about agents, checkpoints and value networks."""

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
    """Print the description of an agent and of its network.

    Args:
        text: Spec of the agent, or the name of a kind of agent.
        kind: The form of such specs, and their meaning.
        spec: The parsed spec, with the paths of all files it needs; None if `text` names a kind.
        as_json: Whether to print JSON.

    Raises:
        MancalaError: If a file of the spec cannot be read.
    """
    form, meaning = kind
    network = None if spec is None else spec.checkpoint or spec.network
    if as_json:
        described = {"spec": text, "form": form, "meaning": meaning}
        print_json(
            described if network is None else described | {"file": network, "network": _as_dict(network)}
        )
        return
    print(f"{text}: {meaning} (spec: {form})")
    if network is not None:
        _print_network(network)


def show_network(path: str, all_settings: bool, as_json: bool) -> None:
    """Print the description of a checkpoint or a value network.

    Args:
        path: The file.
        all_settings: Whether to print every setting and version of a checkpoint, too.
        as_json: Whether to print all metadata as JSON instead.

    Raises:
        MancalaError: If the file is neither, or is damaged.
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
    # Below the table: the hash does not fit into 80 columns beside a label.
    print(f" SHA-256 {hashlib.sha256(content).hexdigest()}")


def _holds_values(path: str) -> bool:
    """Return whether a file is a stand-alone value network rather than a checkpoint."""
    try:
        return tensors.texts_of(path).get("format") == value_files.FORMAT
    except tensors.InvalidTensors:
        return False  # reading it as a checkpoint reports the error


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
        ["observation", network.observation],
        ["network", size],
        *([["value network", "for policy+minimax and policy+mcts"]] if identity.value_network else []),
        ["environment steps", f"{identity.environment_steps:,}"],
        ["seed", str(identity.config.get("seed", "unknown"))],
        list(made_by(identity)),
        ["version", identity.versions.get("mancala-env", "unknown")],
    ]


def _in_words(ruleset: Ruleset) -> str:
    return f"{ruleset.name} ({ruleset.title})"


def _print(rows: list[list[str]], title: str | None = None) -> None:
    print_table(["", ""], rows, title, show_header=False)
