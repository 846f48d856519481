"""Requests of pages to the server: parsing, checks and limits.

A request is a JSON object with a whole number ``id``, repeated in every answer, and ``do``: "about",
"choose", "analyse" or "cancel". docs/guides/serve.md has their fields and answers.
"""

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mancala_env._util.checks import is_number, is_whole, whole
from mancala_env.agents import Spec
from mancala_env.errors import MancalaError, in_short
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset

_MOST_ID = 2**53
# A kind of agent and its limits; paths of files do not match.
_LIMIT = "[0-9.]{1,12}(s|nodes)?"
_PLAIN_SPEC = re.compile(rf"[a-z+]{{1,20}}(:{_LIMIT}(\+{_LIMIT}){{0,2}})?")
# The fields of each `do`, besides `id` and `do`.
_FIELDS: dict[str, tuple[str, ...]] = {
    "about": (),
    "choose": ("position", "dials", "agent", "checkpoint", "rounds"),
    "analyse": ("position", "dials", "seconds"),
    "cancel": ("of",),
}
_DIALS = {field.name for field in fields(Ruleset)}


class BadRequest(MancalaError):
    """An invalid request; the message says what is valid."""


@dataclass(frozen=True)
class Limits:
    """Limits of a page's requests.

    Attributes:
        seconds: Maximum time of an agent for one action, in seconds.
        depth: Maximum depth of a minimax search, in turns.
        simulations: Maximum number of simulations of a tree search.
        analysis_seconds: Maximum time of an analysis, in seconds.
        sessions: Maximum number of connected pages.
        at_once: Maximum number of parallel requests of a page.
        a_second: Maximum number of requests per second of a page; short bursts may exceed it.
        message_bytes: Maximum size of a request in bytes.
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
    """Parse a request with a valid `id` and `do`, or raise a MancalaError."""
    if len(text) > limits.message_bytes:
        raise BadRequest(f"a request must have at most {limits.message_bytes} bytes, not {len(text)}")
    try:
        request = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        example = '{"id": 1, "do": "about"}'
        raise BadRequest(f"a request must be a JSON object, such as {example}, not {in_short(text)}")
    request["id"] = whole("id", request.get("id"), 0, _MOST_ID)
    do = request.get("do")
    if not isinstance(do, str) or do not in _FIELDS:
        raise BadRequest(f'do must be "about", "choose", "analyse" or "cancel", not {in_short(do)}')
    known = ("id", "do", *_FIELDS[do])
    for name in request:
        if name not in known:
            raise BadRequest(f"unknown field {in_short(name)}; the fields of {do} are {', '.join(known)}")
    return request


def id_of(text: str | bytes) -> int | None:
    """Return the id of a request that may be invalid; None without a valid id."""
    try:
        value = json.loads(text)["id"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    return value if is_whole(value) else None


def position_of(request: dict[str, Any]) -> Position:
    """Return the position of a request; raise a MancalaError if it is missing, invalid or over."""
    text = request.get("position")
    if not isinstance(text, str):
        raise BadRequest(f"position must be a text as printed by mancala show, not {in_short(text)}")
    position = Position.from_text(text, _ruleset_of(request))
    if position.is_over:
        raise BadRequest(f"the round is over ({position.end}); no action can be chosen")
    return position


def _ruleset_of(request: dict[str, Any]) -> Ruleset | None:
    dials = request.get("dials")
    if dials is None:
        return None
    if not isinstance(dials, dict) or not set(dials) <= _DIALS:
        known = ", ".join(sorted(_DIALS))
        raise BadRequest(f"dials must be an object with keys from {known}, not {in_short(dials)}")
    try:
        return Ruleset(**dials)
    except TypeError:  # a value is a list or an object
        raise BadRequest(
            f"values of dials must be texts, numbers or booleans, not {in_short(dials)}"
        ) from None


def seconds_of(request: dict[str, Any], limits: Limits) -> float:
    """Return the time limit of an analysis in seconds; raise a BadRequest if it is not a number in range."""
    value, most = request.get("seconds", limits.analysis_seconds), limits.analysis_seconds
    if not is_number(value) or not 0 < value <= most:
        raise BadRequest(f"seconds must be a number above 0 and at most {most:g}, not {in_short(value)}")
    return float(value)


def cancelled_id(request: dict[str, Any]) -> int:
    """Return the id of the request to cancel; raise an InvalidArgument if it is missing or invalid."""
    return whole("of", request.get("of"), 0, _MOST_ID)


def spec_of(request: dict[str, Any], limits: Limits, folder: Path | None, offered: tuple[str, ...]) -> Spec:
    """Return the spec of the agent of a request, or raise a MancalaError.

    `folder` has the checkpoints. The limits do not apply to the specs that the server offers.
    """
    text, name = request.get("agent"), request.get("checkpoint")
    if name is None and isinstance(text, str) and text in offered:
        return Spec.parse(text)
    if not isinstance(text, str) or not _PLAIN_SPEC.fullmatch(text):
        valid = "a spec without files, such as minimax:6, or one that the server offers"
        raise BadRequest(f"agent must be {valid}, not {in_short(text)}")
    if name is not None:
        path = str(_checkpoint(folder, name))
        text = path if text == "checkpoint" else f"{text}:{path}"
    return _within(Spec.parse(text), limits)


def checkpoints_in(folder: Path | None) -> list[str]:
    """Return the sorted names of at most 1000 checkpoints in a folder and its subfolders.

    Names with unprintable characters, such as those that are not UTF-8, are excluded.
    """
    if folder is None:
        return []
    root = folder.resolve()
    files = (path for path in root.rglob("*.zip") if path.is_file() and path.resolve().is_relative_to(root))
    return sorted(name for path in files if (name := path.relative_to(root).as_posix()).isprintable())[:1000]


def _checkpoint(folder: Path | None, name: Any) -> Path:
    names = checkpoints_in(folder)
    if folder is None or not isinstance(name, str) or name not in names:
        hint = f'"about" lists the {len(names)} available' if names else "no checkpoints are available"
        raise BadRequest(f"unknown checkpoint {in_short(name)}; {hint}")
    return folder.resolve() / name


def _within(spec: Spec, limits: Limits) -> Spec:
    """Check that a spec keeps the limits; return it with a time limit if it is a search without a limit."""
    limit, seconds = spec.limit, f"{limits.seconds:g}"
    if spec.runs_code:
        raise BadRequest(f"agent {spec.kind!r} is not available to pages, because it runs code")
    if limit is None:
        is_unlimited = spec.kind in ("perfect", "perfect+traps")
        return Spec.parse(f"{spec.kind}:{seconds}s") if is_unlimited else spec
    most = limits.simulations if "mcts" in spec.kind else limits.depth
    if limit.seconds is not None:
        if limit.seconds > limits.seconds:
            raise BadRequest(f"agent {str(spec)!r}: the time must be at most {seconds} seconds")
    elif (limit.depth or limit.simulations or most + 1) > most:
        why = f"the limit must be at most {most}, or a time up to {seconds}s"
        raise BadRequest(f"agent {str(spec)!r}: {why}")
    return spec


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")
