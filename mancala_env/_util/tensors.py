"""Safetensors files: named float32 arrays and metadata texts, read within size limits.

The safetensors library reads the files. Sizes are checked by hand first, because the library accepts headers
of 100 MB and files of any size. :func:`pack` writes the files by hand. The library writes the texts in random
order, but the hash of a file identifies its network.
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
    """A file that is not a safetensors file, is damaged, too large, or not float32."""


def pack(tensors: Mapping[str, np.ndarray], texts: Mapping[str, str]) -> bytes:
    """Return the bytes of a safetensors file of float32 arrays, in this order, and metadata texts."""
    header: dict[str, Any] = {_METADATA: dict(texts)}
    parts, at = [], 0
    for name, tensor in tensors.items():
        part = np.ascontiguousarray(tensor, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _LENGTH)  # aligns the numbers to 8 bytes
    return len(head).to_bytes(_LENGTH, "little") + head + b"".join(parts)


def texts_of(path: str | Path) -> dict[str, str]:
    """Return the metadata of a safetensors file, or raise InvalidTensors; the numbers are not read."""
    _check_header(path)
    try:
        with safe_open(path, "numpy") as file:
            return file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InvalidTensors(f"{path} is not a safetensors file ({first_line(error)})") from error


def unpack(path: str | Path, most: int) -> dict[str, np.ndarray]:
    """Return the float32 arrays of a safetensors file, of at most `most` bytes in total.

    Raise InvalidTensors if the file does not exist, is damaged, is too large, or holds another type.
    """
    numbers = _check_header(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(numbers + most + 1)
        if len(content) > numbers + most:
            raise InvalidTensors(f"{path} must contain at most {most} bytes of numbers")
        arrays = {}
        for name, part in deserialize(content):
            if part["dtype"] != "F32":
                raise InvalidTensors(f"{path}: {name!r} must be of type F32, not {part['dtype']!r}")
            arrays[name] = np.frombuffer(part["data"], "<f4").astype(np.float32).reshape(part["shape"])
        return arrays
    except InvalidTensors:
        raise
    except (OSError, SafetensorError, ValueError) as error:  # ValueError: more axes than numpy supports
        raise InvalidTensors(f"{path} is not a safetensors file ({first_line(error)})") from error


def _check_header(path: str | Path) -> int:
    """Return the byte offset of a file's numbers; raise InvalidTensors if its header is too large."""
    if not isfile(path):
        raise InvalidTensors(f"file {str(path)!r} does not exist")
    try:
        with Path(path).open("rb") as file:
            size = int.from_bytes(file.read(_LENGTH), "little")
    except OSError as error:
        raise InvalidTensors(f"{path} cannot be read: {first_line(error)}") from error
    if size > _MOST_HEADER:
        raise InvalidTensors(f"{path} is not a safetensors file")
    return _LENGTH + size
