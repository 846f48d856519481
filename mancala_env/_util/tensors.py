"""Safetensors files: named arrays of 32-bit floating-point numbers, and texts about them; read within limits.

The library safetensors reads them. Two things are done by hand. Sizes are checked before anything is
allocated, because the library takes headers of 100 MB and any number of bytes. And :func:`pack` writes the
file, because the library writes texts in random order, and networks are identified by the hash of their file.
"""

import json
from collections.abc import Mapping
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open

from mancala_env._util.archives import first_line
from mancala_env.errors import MancalaError

SUFFIX = ".safetensors"
_LENGTH = 8
_MOST_HEADER = 1 << 20
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
    return len(head).to_bytes(_LENGTH, "little") + head + b"".join(parts)


def texts_of(path: str | Path) -> dict[str, str]:
    """Return what a safetensors file says about itself, without reading its numbers.

    Raises:
        InvalidTensors: There is no such file, or it is no safetensors file.
    """
    _check_header(path)
    try:
        with safe_open(path, "numpy") as file:
            return file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InvalidTensors(f"{path} is no safetensors file ({first_line(error)})") from error


def unpack(path: str | Path, most: int) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file, float32.

    Args:
        path: The file.
        most: Bytes its numbers may have.

    Raises:
        InvalidTensors: There is no such file, it is damaged or larger, or holds other than float32.
    """
    numbers = _check_header(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(numbers + most + 1)
        if len(content) > numbers + most:
            raise InvalidTensors(f"{path} holds more than {most} bytes of numbers, the most it may hold")
        found = deserialize(content)
        for name, part in found:
            if part["dtype"] != "F32":
                raise InvalidTensors(f"{path}: {name!r} holds {part['dtype']!r}; F32 would be right")
        return {
            name: np.frombuffer(part["data"], "<f4").astype(np.float32).reshape(part["shape"])
            for name, part in found
        }
    except InvalidTensors:
        raise
    except (OSError, SafetensorError, ValueError) as error:  # ValueError of more axes than numpy has
        raise InvalidTensors(f"{path} is no safetensors file ({first_line(error)})") from error


def _check_header(path: str | Path) -> int:
    """Return where the numbers of a file begin.

    Raises:
        InvalidTensors: There is no such file, or its header is longer than the limit.
    """
    if not isfile(path):
        raise InvalidTensors(f"there is no file {str(path)!r}")
    try:
        with Path(path).open("rb") as file:
            length = file.read(_LENGTH)
    except OSError as error:
        raise InvalidTensors(f"{path} cannot be read: {first_line(error)}") from error
    size = int.from_bytes(length, "little")
    if len(length) < _LENGTH or not 2 <= size <= _MOST_HEADER:
        raise InvalidTensors(f"{path} is no safetensors file")
    return _LENGTH + size
