"""`mancala show`: draw a position, or say what a checkpoint or an agent is."""

import json
from typing import Any

from mancala_env import agents, rulesets
from mancala_env.agents import InvalidSpec, Spec
from mancala_env.agents.specs import kind_named
from mancala_env.cli.evaluate import ruleset_of
from mancala_env.cli.parser import add_json
from mancala_env.cli.tables import print_json, print_table
from mancala_env.errors import InvalidPosition
from mancala_env.position import Position

HELP = "draw a position or describe a checkpoint"
DESCRIPTION = "Draw a position, or say what a checkpoint or an agent is."


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "what", nargs="+", metavar="POSITION|RULESET|SPEC", help="a line of text, a name or a path"
    )
    add_json(parser)


def run(options: Any) -> int:
    """Run the command; returns the exit status."""
    text = " ".join(options.what)
    kind = kind_named(text)
    if kind is not None:  # the bare name of a kind of agent
        _show_agent(text, kind, options.json)
    elif text in rulesets.names():
        _show_position(Position(text), options.json)
    elif (spec := _spec_of(text)) is None:
        if " " not in text:
            raise InvalidPosition(
                f"{text!r} is no ruleset ({', '.join(rulesets.names())}), no agent, no file and no position"
            )
        _show_position(Position.from_text(text), options.json)
    elif spec.kind == "checkpoint":
        _show_checkpoint(text, options.json)
    else:
        if not spec.runs_code:
            agents.make(spec, ruleset_of([spec]), num_threads=1)
        _show_agent(text, spec.meaning, options.json)
    return 0


def _spec_of(text: str) -> Spec | None:
    """Return the spec that a text is, or None where it may be something else.

    Raises:
        InvalidSpec: It can be nothing but a spec, and is none.
    """
    try:
        return Spec.parse(text)
    except InvalidSpec as error:
        if kind_named(text.partition(":")[0]) is not None or "folder of a run" in str(error):
            raise
        return None


def _show_agent(text: str, kind: tuple[str, str], as_json: bool) -> None:
    form, meaning = kind
    if as_json:
        print_json({"spec": text, "form": form, "meaning": meaning})
    else:
        print(f"{text}: {meaning} (form of the spec: {form})")


def _show_checkpoint(path: str, as_json: bool) -> None:
    from mancala_env.agents.checkpoint import read_identity

    identity = json.loads(read_identity(path).to_json())
    if as_json:
        print_json(identity)
        return
    ruleset = identity.pop("ruleset")
    rows = [["checkpoint", path], ["ruleset", f"{ruleset['name']} ({ruleset['title']})"]]
    rows += [[key.replace("_", " "), _plain(value)] for key, value in identity.items()]
    print_table(["", ""], rows, show_header=False)


def _show_position(position: Position, as_json: bool) -> None:
    if as_json:
        print_json(position_as_dict(position))
    else:
        print(f"{position}\n{position.to_text()}")


def position_as_dict(position: Position) -> dict[str, Any]:
    """Return a position as plain data for JSON."""
    return {
        "position": position.to_text(),
        "ruleset": position.ruleset.name,
        "seeds": position.seeds.tolist(),
        "owner": position.owner.tolist(),
        "territory": position.territory.tolist(),
        "stores": list(position.stores),
        "player": position.player,
        "round": position.round,
        "end": position.end,
        "counts": list(position.counts),
        "legal_actions": list(position.legal_actions),
    }


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(inner)}" for key, inner in value.items())
    return str(value)
