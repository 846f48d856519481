"""Mutate checkpoints and load them."""

import io
import json
import random
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from checkpoints import LAYLI, identity_of, write_checkpoint

from mancala_env import Position, agents
from mancala_env.errors import MancalaError
from mancala_env.networks.checkpoint import InvalidCheckpoint


def members(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(content: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file.getvalue()


ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**63,
    10**40,
    0.5,
    float("inf"),
    "",
    "\x1b[31m",
    "\ud800",
    "x" * 5000,
    [],
    [[]],
    {},
    {"": None},
)


def mutated(honest: bytes, draw: random.Random) -> bytes:
    """Return a damaged checkpoint: changed bytes, members, values of the identity or tensors."""
    content = bytearray(honest)
    how = draw.randrange(6)
    if how == 0:  # changed bytes
        for _ in range(draw.randrange(1, 8)):
            content[draw.randrange(len(content))] = draw.randrange(256)
    elif how == 1:  # a piece removed or duplicated
        start, size = draw.randrange(len(content)), draw.randrange(1, 2000)
        piece = content[start : start + size]
        content[start : start + size] = draw.choice((b"", piece + piece, draw.randbytes(size)))
    elif how == 2:  # headers of the zip directory, with the sizes
        at = content.find(b"PK\x01\x02")
        for _ in range(draw.randrange(1, 4)):
            content[draw.randrange(at, len(content))] = draw.randrange(256)
    elif how == 3:  # a value of the identity
        fields = json.loads(members(honest)["identity.json"])
        place, key = fields, draw.choice(list(fields))
        while isinstance(place[key], dict) and place[key] and draw.random() < 0.7:
            place, key = place[key], draw.choice(list(place[key]))
        if draw.random() < 0.2:
            place[draw.choice(("", "\x1b", "more"))] = place.pop(key)
        else:
            place[key] = draw.choice(ODD_VALUES)
        return packed(members(honest) | {"identity.json": json.dumps(fields).encode()})
    else:  # inside the weights, in a valid zip file
        outer = members(honest)
        inner = members(outer["policy.pth"])
        name = draw.choice([each for each in inner if "data.pkl" in each or draw.random() < 0.3])
        changed = bytearray(inner[name])
        for _ in range(draw.randrange(1, 6)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        method = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        return packed(outer | {"policy.pth": packed(inner | {name: bytes(changed)}, method)})
    return bytes(content)


def fuzz(seed: int, count: int, folder: Path) -> Counter[str]:
    """Load mutated checkpoints; each must play a legal action or be rejected with the right error.

    Returns:
        Number of checkpoints "played" and "refused"; anything else raises.
    """
    honest = write_checkpoint(folder / "honest.zip", identity_of()).read_bytes()
    draw, path, position = random.Random(seed), folder / "agent.zip", Position(LAYLI)
    outcomes: Counter[str] = Counter()
    for number in range(count):
        path.write_bytes(mutated(honest, draw))
        try:
            agent = agents.make(str(path), LAYLI, num_threads=1)
            assert agent.choose(position) in position.legal_actions
            outcomes["played"] += 1
        except InvalidCheckpoint as error:
            is_said_well = str(error).isprintable() and str(path) in str(error)
            outcomes["refused" if is_said_well else f"checkpoint {number}: {error!r}"] += 1
        except MancalaError as error:
            outcomes[f"checkpoint {number}: {error!r}"] += 1
    return outcomes
