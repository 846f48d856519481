"""Safetensors files: named arrays of plain numbers, and texts about them; read within limits.

A file is the length of its header (8 bytes), a header in JSON that says where each array lies, and the
numbers: https://huggingface.co/docs/safetensors. This reads and writes the part of the format that is used
here, arrays of 32-bit floating-point numbers, with numpy alone. Nothing in a file is code, and nothing is
allocated before the file has shown to hold it.
"""

import json
import math
import struct
from collections.abc import Mapping
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np

from mancala_env._util.archives import first_line
from mancala_env.errors import MancalaError

SUFFIX = ".safetensors"
_LENGTH = 8
_MOST_HEADER = 1 << 20
# Torch's and numpy's own limit lies at 64 and 32 axes; a network has three.
_MOST_AXES = 8
_METADATA = "__metadata__"


class InvalidTensors(MancalaError):
    """A file that is no safetensors file, is damaged, or holds what is not read here."""


def pack(tensors: Mapping[str, np.ndarray], texts: Mapping[str, str]) -> bytes:
    """Return a safetensors file; the same arrays and texts give the same bytes.

    Args:
        tensors: Arrays by name, written as float32 in this order.
        texts: What the header says about them, by name.
    """
    header: dict[str, Any] = {_METADATA: dict(texts)}
    parts, at = [], 0
    for name, tensor in tensors.items():
        part = np.ascontiguousarray(tensor, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _LENGTH)  # so that the numbers begin at a multiple of 8
    return struct.pack("<Q", len(head)) + head + b"".join(parts)


def texts_of(path: str | Path) -> dict[str, str]:
    """Return what a safetensors file says about itself, without reading its numbers.

    Raises:
        InvalidTensors: There is no such file, or it is no safetensors file.
    """
    return _read_header(path)[0]


def unpack(path: str | Path, most: int) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file, float32.

    Args:
        path: The file.
        most: Bytes its numbers may have.

    Raises:
        InvalidTensors: There is no such file, it is damaged or larger, or holds other than float32.
    """
    _, claims, start = _read_header(path)
    size = max((stop for _, _, stop in claims.values()), default=0)
    if size > most:
        raise InvalidTensors(f"{path} claims {size} bytes of numbers; at most {most} would be right")
    try:
        with Path(path).open("rb") as file:
            file.seek(start)
            content = file.read(size + 1)
    except OSError as error:
        raise InvalidTensors(f"{path} cannot be read: {first_line(error)}") from error
    if len(content) != size:
        held = "more" if len(content) > size else "fewer"
        raise InvalidTensors(f"{path} holds {held} than the {size} bytes of numbers that it claims")
    return {
        name: np.frombuffer(content[begin:stop], "<f4").astype(np.float32).reshape(shape)
        for name, (shape, begin, stop) in claims.items()
    }


def _read_header(path: str | Path) -> tuple[dict[str, str], dict[str, tuple[list[int], int, int]], int]:
    """Return the texts, the shape and place of each array, and where the numbers begin."""
    if not isfile(path):
        raise InvalidTensors(f"there is no file {str(path)!r}")
    try:
        with Path(path).open("rb") as file:
            length = file.read(_LENGTH)
            size = struct.unpack("<Q", length)[0] if len(length) == _LENGTH else -1
            if not 2 <= size <= _MOST_HEADER:
                raise InvalidTensors(f"{path} is no safetensors file")
            header = json.loads(file.read(size).decode())
        texts = header.pop(_METADATA, {})
        if not all(isinstance(text, str) for text in texts.values()):
            raise TypeError(f"{_METADATA} must be texts by name")
        claims = {name: _claim(name, claim) for name, claim in header.items()}
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InvalidTensors):
            raise
        raise InvalidTensors(f"{path} is no safetensors file ({first_line(error)})") from error
    at = 0
    for name, (_, start, stop) in claims.items():
        if start != at:
            raise InvalidTensors(f"{path}: {name!r} begins at byte {start}; {at} would be right")
        at = stop
    return texts, claims, _LENGTH + size


def _claim(name: str, claim: dict[str, Any]) -> tuple[list[int], int, int]:
    shape, (start, stop) = claim["shape"], claim["data_offsets"]
    if claim["dtype"] != "F32":
        raise InvalidTensors(f"{name!r} holds {claim['dtype']!r}; F32 would be right")
    numbers = [*shape, start, stop]
    are_sizes = isinstance(shape, list) and all(
        type(number) is int and 0 <= number < 2**48 for number in numbers
    )
    if not are_sizes or len(shape) > _MOST_AXES:
        raise InvalidTensors(f"{name!r} has shape {shape!r} at bytes {start!r} to {stop!r}")
    if 4 * math.prod(shape) != stop - start:
        raise InvalidTensors(f"{name!r} of shape {shape} has {stop - start} bytes")
    return shape, start, stop
