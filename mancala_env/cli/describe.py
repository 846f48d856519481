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


def show_agent(
    text: str, kind: tuple[str, str], spec: Spec | None, as_json: bool, ruleset: Ruleset | None = None
) -> None:
    """Print the description of an agent and of its network.

    `text` is a spec, or the name of a kind of agent, for which `spec` is None. `kind` is the form of such
    specs, and their meaning. Its exploitability is printed for a ruleset of the catalogue.
    """
    from mancala_env.evaluation.exploit import exploitability_text, stored_exploitability

    form, meaning = kind
    bundled = {} if ruleset is None else stored_exploitability(ruleset)
    bounds = bundled.get(spec.identity) if bundled and spec is not None and not spec.runs_code else None
    network = None if spec is None else spec.checkpoint or spec.network
    if as_json:
        described: dict[str, Any] = {"spec": text, "form": form, "meaning": meaning}
        if network is not None:
            described |= {"file": network, "network": _as_dict(network)}
        if bundled:
            described["exploitability"] = bounds
        print_json(described)
        return
    print(f"{text}: {meaning} (spec: {form})")
    if network is not None:
        show_network(network)
    if bundled and ruleset is not None:
        seeds = " seeds" * (bounds is not None)
        print(f"exploitability in {ruleset.name}: {exploitability_text(bounds)}{seeds}")


def show_network(path: str, all_settings: bool = False, as_json: bool = False) -> None:
    """Print the description of a checkpoint or a value network, or all its metadata as JSON.

    With `all_settings`, every setting and version of a checkpoint is also printed.
    """
    if as_json:
        print_json(_as_dict(path))
        return
    identity = None if _is_value_network(path) else _identity(path)
    if identity is None:
        file = value_files.read_value_file(path)
        rows = [["value network", path], ["ruleset", _in_words(file.ruleset)], *map(list, file.made.items())]
    else:
        rows = [["checkpoint", path], *_rows_of(identity)]
    content, card = Path(path).read_bytes(), Path(path).with_suffix(".md")
    rows.append(["size", f"{len(content):,} bytes"])
    if card.is_file():
        rows.append(["card", str(card)])
    _print(rows)
    # Below the table: the hash does not fit into 80 columns beside a label.
    print(f" SHA-256 {hashlib.sha256(content).hexdigest()}")
    if identity is not None and all_settings:
        versions = {"observation version": identity.observation_version} | identity.versions
        _print([*map(list, versions.items())], "Versions")
        _print([[name, str(value)] for name, value in flat(identity.config).items()], "All settings")


def _as_dict(path: str) -> dict[str, Any]:
    if _is_value_network(path):
        file = value_files.read_value_file(path)
        return {"ruleset": asdict(file.ruleset), "made": file.made}
    return json.loads(_identity(path).to_json())


def _is_value_network(path: str) -> bool:
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


def _rows_of(identity: "Identity") -> list[list[str]]:
    with needing("mancala show of a checkpoint", "train"):
        from mancala_env.training.reproduce import made_by

    network = identity.network
    size = f"{network.layers} hidden layer{'s' * (network.layers != 1)} of {network.hidden}"
    values = [["value network", "for policy+minimax and policy+mcts"]] if identity.value_network else []
    return [
        ["ruleset", _in_words(identity.ruleset)],
        ["rounds", str(identity.rounds)],
        ["observation", network.observation],
        ["network", size],
        *values,
        ["environment steps", f"{identity.environment_steps:,}"],
        ["seed", str(identity.config.get("seed", "unknown"))],
        list(made_by(identity)),
        ["version", identity.versions.get("mancala-env", "unknown")],
    ]


def _in_words(ruleset: Ruleset) -> str:
    return f"{ruleset.name} ({ruleset.title})"


def _print(rows: list[list[str]], title: str | None = None) -> None:
    print_table(["", ""], rows, title, show_header=False)
