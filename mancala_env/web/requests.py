"""What a page may ask of the server, checked: a position, an agent, a time.

A request is a JSON object with a whole number ``id``, which every answer to it carries, and ``do``:

==========  ================================================================================================
about       which agents and checkpoints there are, and the limits
choose      ``position`` (text of :mod:`mancala_env.games.notation`; ``dials`` for a ruleset of one's own),
            ``agent`` (a spec without files), for a trained one ``checkpoint`` (a name that ``about``
            lists), and ``rounds`` of the game (1 by default, or "match"): the agent's action
analyse     ``position``, ``seconds``: bounds of the exact value of every action, again and again until they
            are exact or time is up
cancel      ``of``: the id of a request that is to end
==========  ================================================================================================
"""

import json
import math
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mancala_env.agents import Spec
from mancala_env.engine.episode import Rounds, encode_rounds
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset

_MOST_ID = 2**53
# Kinds, and a budget: no path of a file can be written like this.
_PLAIN_SPEC = re.compile(r"[a-z+]{1,20}(:[0-9.]{1,12}s?)?")
_DIALS = {field.name for field in fields(Ruleset)}


class BadRequest(MancalaError):
    """A request that cannot be answered; the message says what would be right."""


@dataclass(frozen=True)
class Limits:
    """What one page may ask for.

    Attributes:
        seconds: Most seconds an agent may search one position.
        depth: Deepest search by turns.
        simulations: Most simulations of a tree search.
        analysis_seconds: Most seconds of an analysis.
        sessions: Pages connected at once.
        at_once: Requests of a page that are worked on at once.
        a_second: Requests of a page in a second, for longer than a moment.
        message_bytes: Longest request.
    """

    seconds: float = 10.0
    depth: int = 10
    simulations: int = 20_000
    analysis_seconds: float = 600.0
    sessions: int = 256
    at_once: int = 8
    a_second: int = 20
    message_bytes: int = 16_384


def read(text: str | bytes, limits: Limits) -> dict[str, Any]:
    """Return a request as a dict with a whole `id` and a known `do`.

    Raises:
        BadRequest: It is none.
    """
    if len(text) > limits.message_bytes:
        raise BadRequest(f"a request has at most {limits.message_bytes} bytes, not {len(text)}")
    try:
        request = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequest('a request is a JSON object, such as {"id": 1, "do": "about"}') from error
    if not isinstance(request, dict):
        raise BadRequest(f"a request is a JSON object, not a {type(request).__name__}")
    request["id"] = _whole(request, "id", 0, _MOST_ID)
    do = request.get("do")
    if do not in ("about", "choose", "analyse", "cancel"):
        raise BadRequest(f'do must be "about", "choose", "analyse" or "cancel", not {_short(do)}')
    return request


def id_of(text: str | bytes) -> int | None:
    """Return the id of a request that may be a bad one; None where it has none."""
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        return None
    value = request.get("id") if isinstance(request, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def position_of(request: dict[str, Any]) -> Position:
    """Return the running position that a request is about.

    Raises:
        MancalaError: There is none, or its round is over.
    """
    text = request.get("position")
    if not isinstance(text, str):
        raise BadRequest(f"position must be a text, such as mancala show prints it, not {_short(text)}")
    position = Position.from_text(text, _ruleset_of(request))
    if position.is_over:
        raise BadRequest(f"the round is over ({position.end}); there is nothing to choose")
    return position


def _ruleset_of(request: dict[str, Any]) -> Ruleset | None:
    dials = request.get("dials")
    if dials is None:
        return None
    if not isinstance(dials, dict) or not set(dials) <= _DIALS:
        raise BadRequest(
            f"dials must be an object with some of {', '.join(sorted(_DIALS))}, not {_short(dials)}"
        )
    try:
        return Ruleset(**dials)
    except TypeError as error:  # a list where a word should be
        raise BadRequest(f"dials must be words, numbers and true or false, not {_short(dials)}") from error


def seconds_of(request: dict[str, Any], limits: Limits) -> float:
    """Return how long an analysis may take.

    Raises:
        BadRequest: No such number.
    """
    value = request.get("seconds", limits.analysis_seconds)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= limits.analysis_seconds:
        raise BadRequest(
            f"seconds must be a number above 0, at most {limits.analysis_seconds:g}, not {_short(value)}"
        )
    return float(value)


def rounds_of(request: dict[str, Any]) -> Rounds:
    """Return how many rounds the game lasts that a position is of.

    Raises:
        MancalaError: No such number.
    """
    rounds = request.get("rounds", 1)
    encode_rounds(rounds)
    return rounds


def cancelled_id(request: dict[str, Any]) -> int:
    """Return the id of the request that is to end.

    Raises:
        BadRequest: No such number.
    """
    return _whole(request, "of", 0, _MOST_ID)


def spec_of(request: dict[str, Any], limits: Limits, folder: Path | None, offered: tuple[str, ...]) -> Spec:
    """Return the spec of the agent that a request asks for.

    Args:
        request: The request.
        limits: What it may ask for.
        folder: Where checkpoints may come from; None: there are none.
        offered: Specs that whoever started the server offers, as they are.

    Raises:
        MancalaError: No such agent, or not from here, or it would take too long.
    """
    text, name = request.get("agent"), request.get("checkpoint")
    if name is None and isinstance(text, str) and text in offered:
        return Spec.parse(text)
    if not isinstance(text, str) or not _PLAIN_SPEC.fullmatch(text):
        raise BadRequest(
            "agent must be a spec without files, such as minimax:6, or one of those offered, "
            f"not {_short(text)}"
        )
    if name is None:
        spec = Spec.parse(text)
    else:
        path = str(_checkpoint(folder, name))
        spec = Spec.parse(path if text == "checkpoint" else f"{text}:{path}")
    return _within(spec, limits)


def checkpoints_in(folder: Path | None) -> list[str]:
    """Return the names of the checkpoints in a folder and those in it, at most a thousand, in order."""
    if folder is None:
        return []
    root = folder.resolve()
    names = []
    for path in root.rglob("*.zip"):
        if path.is_file() and path.resolve().is_relative_to(root):
            names.append(path.relative_to(root).as_posix())
    return sorted(names)[:1000]


def _checkpoint(folder: Path | None, name: Any) -> Path:
    names = checkpoints_in(folder)
    if folder is None or not isinstance(name, str) or name not in names:
        there = f"there are {len(names)}; ask for them with about" if names else "none is served"
        raise BadRequest(f"there is no checkpoint {_short(name)} here ({there})")
    return folder.resolve() / name


def _within(spec: Spec, limits: Limits) -> Spec:
    """Return a spec if it keeps the limits; a search without a bound gets one.

    Raises:
        BadRequest: It would take too long.
    """
    if spec.runs_code:
        raise BadRequest(f"agent {spec.kind!r} is not for pages")
    budget = spec.budget
    if budget is None:
        takes_its_time = spec.kind in ("perfect", "perfect+traps")
        return Spec.parse(f"{spec.kind}:{limits.seconds:g}s") if takes_its_time else spec
    if math.isfinite(budget.seconds):
        if budget.seconds > limits.seconds:
            raise BadRequest(f"agent {str(spec)!r}: at most {limits.seconds:g} seconds a position here")
        return spec
    most = limits.simulations if "mcts" in spec.kind else limits.depth
    if budget.steps > most:
        raise BadRequest(f"{budget} is too much here: at most {most}, or a time up to {limits.seconds:g}s")
    return spec


def _whole(request: dict[str, Any], name: str, low: int, high: int) -> int:
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadRequest(f"{name} must be a whole number from {low} to {high}, not {_short(value)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
