"""Damaged proof files, single turns of proofs, and the verdicts of the checker proofs/check.py."""

import functools
import importlib.util
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import naive

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "proofs" / "data"
SMALL = DATA / "ludii_leyla_gobale_somaliland.proof"
WORDS = {
    "direction": ("anticlockwise", "clockwise"),
    "landing": ("uur", "pair", "weg"),
    "captures_last": ("true", "false"),
    "owns_on": ("opponent", "either"),
    "ransoms_empty": ("true", "false"),
    "round_end": ("mover_stuck", "either_stuck", "both_stuck"),
    "opening": ("free", "rightmost", "eights"),
}
FREE = 2
FORMAT_CHANGES: list[Callable[[bytes], bytes]] = [
    lambda content: content + b"\n",
    lambda content: content[:-1],
    lambda content: content + b"a",
    lambda content: b"",
    lambda content: content.replace(b"\n", b"\r\n"),
    lambda content: content.replace(b"opening", b"players 2\nopening"),
    lambda content: content.replace(b"row_width 6", b"row_width 06"),
    lambda content: content.replace(b"row_width 6", b"row_width +6"),
    lambda content: content.replace(b"row_width 6", b"row_width 6 "),
    lambda content: content.replace(b"row_width 6", b"row_width 13"),
    lambda content: content.replace(b"row_width 6", b"row_width 4294967302"),
    lambda content: content.replace(b"cap 0", b"cap 1"),
    lambda content: content.replace(b"leaf 8", b"leaf 256"),
    lambda content: content.replace(b"letters 1608", b"letters 4294968904"),
    lambda content: content.replace(b"claim south 12", b"claim south 49"),
    lambda content: content.replace(b"claim south", b"claim north"),
    lambda content: content.replace(b"proof-1", b"proof-2"),
]
"""Changes that leave no proof of :data:`SMALL`."""

WRONG_POSITIONS: list[dict[str, str]] = [
    {"seeds": "0 0 1 0 0 2 0 1 0 0 0"},
    {"seeds": "0 0 1 0 0 2 0 1 0 0 0 0 0"},
    {"seeds": "0 0 0 0 0 0 0 1 0 0 0 0"},
    {"seeds": "0 0 1 0 0 2 0 256 0 0 0 0"},
    {"owners": "-" * 11},
    {"owners": "S" + "-" * 11},
    {"owners": "S" + "-" * 10 + "N"},
    {"owners": "s" + "-" * 11},
    {"stores": "22 23"},
    {"stores": "22"},
    {"mover": "east"},
    {"stall": "50"},
    {"claim": "claim south 27 cap 0 leaf 20 letters 0"},
    {"claim": "claim south 23 cap 0 leaf 0 letters 0"},
]
"""Changes of :func:`set_position` that leave no valid file."""


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proof_check", ROOT / "proofs" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = loaded()


def python_verdict(content: bytes) -> str:
    try:
        return check.check(content)
    except check.InvalidProof:
        return ""


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Return a file with a letter changed, removed or repeated, or with the rest of the letters reversed."""
    head, _, body = content.partition(b"\n\n")
    streams = [bytearray(letters) for letters in body.split(b"\n")[:-1]]
    stream = streams[draw.randrange(len(streams))] or streams[0]
    place, kind = draw.randrange(len(stream) or 1), draw.randrange(4)
    if kind == 2 or not stream:
        stream.insert(place, stream[place] if stream else draw.choice(b"abc"))
    elif kind == 0:
        stream[place] = ord("a") + (stream[place] - ord("a") + draw.randrange(1, 4)) % 6
    elif kind == 1:
        del stream[place]
    else:
        stream[place:] = stream[place:][::-1]
    lines = head.split(b"\n")
    for n, letters in enumerate(streams, len(lines) - len(streams)):
        lines[n] = re.sub(rb"\d+$", b"%d" % len(letters), lines[n])
    return b"\n".join([*lines, b"", *streams, b""])


def set_position(**changes: str) -> bytes:
    """Return a file about a position of Layli Goobalay, in which South gets one seed more or nothing."""
    lines = {
        "seeds": "0 0 1 0 0 2 0 1 0 0 0 0",
        "owners": "-" * 12,
        "stores": "22 20",
        "mover": "south",
        "stall": "0",
    }
    claim = changes.pop("claim", "claim south 22 cap 0 leaf 0 letters 0")
    lines |= changes
    options = SMALL.read_text().split("position")[0].replace("captures_last false", "captures_last true")
    options = options.replace("either_stuck", "mover_stuck").replace("rightmost", "free")
    position = "".join(f"{key} {value}\n" for key, value in lines.items())
    return f"{options}position set\n{position}{claim}\n\n\n".encode()


def options_of(rules: naive.Rules) -> SimpleNamespace:
    return SimpleNamespace(
        row_width=rules.width,
        seeds_per_hole=rules.seeds,
        direction="clockwise" if rules.clockwise else "anticlockwise",
        landing=rules.landing,
        captures_last=rules.captures_last,
        owns_on=rules.weg_side,
        ransoms_empty=rules.ransoms_empty,
        round_end=rules.round_end,
        opening=rules.opening,
        total=2 * rules.width * rules.seeds,
    )


def numbers_of(options: SimpleNamespace) -> list[int]:
    words = [str(getattr(options, key)).lower() for key in WORDS]
    places = [WORDS[key].index(word) for key, word in zip(WORDS, words, strict=True)]
    return [options.row_width, options.seeds_per_hole, *places]


def accounts(game: naive.Game, prover: int, cap: int) -> tuple[list[int], list[int], int]:
    """Return the seeds with levels, the owners and `got` of a position."""
    owners = [FREE if owner == naive.NO_PLAYER else owner for owner in game.owner]
    seeds = [n if owner == FREE else min(n, cap) for n, owner in zip(game.seeds, owners, strict=True)]
    held = sum(n for n, owner in zip(game.seeds, owners, strict=True) if owner == prover)
    return seeds, owners, game.stores[prover] + held


@functools.lru_cache
def walk_of(prover: int, cap: int, **options: Any) -> Any:
    """Return a walk of the Python checker, which takes milliseconds to begin."""
    return check.Walk(SimpleNamespace(**options), prover, 0, cap, 0, "")


def by_python(options, prover, cap, game, seeds, owners, got, hole):
    """Play a turn with the Python checker; return the numbers that turns.c prints."""
    walk = walk_of(prover, cap, **vars(options))
    free = check.board_of(n if owner == FREE else 0 for n, owner in zip(seeds, owners, strict=True))
    levels = check.board_of(0 if owner == FREE else n for n, owner in zip(seeds, owners, strict=True))
    owned = [check.board_of(255 * (owner == player) for owner in owners) for player in (0, 1)]
    key, got, is_over = walk.play((free, levels, *owned, game.player, game.stall), got, hole)
    board = list((key[0] + key[1]).to_bytes(walk.size, "little"))
    owners = [0 if key[2] >> 8 * h & 1 else 1 if key[3] >> 8 * h & 1 else FREE for h in range(walk.size)]
    return [int(is_over), key[4], key[5], got, *board, *owners, *([] if is_over else walk.legal(key))]
