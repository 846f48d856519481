"""Zip and npz files from untrusted sources: members are read within size limits, and no code in them runs.

Sizes in headers are checked before a member is read, and reading stops at the limit. This is written by hand,
because zipfile, numpy.load and torch.load read files of any size.
"""

import os
import pickletools
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from io import BytesIO
from os.path import exists, isfile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from mancala_env.errors import MancalaError, printable

# Checkpoints have seven members and a directory of about 500 bytes; zipfile needs ten times its size.
_MOST_DIRECTORY = 1 << 16
# Compression ratio at most. Weights are nearly random numbers, which shrink by about 10 %.
_MOST_SHRUNK = 4
_END, _END_SIZE, _LOCATOR, _LOCATOR_SIZE = b"PK\x05\x06", 22, b"PK\x06\x07", 20
_MOST_COMMENT = 1 << 16
# The globals that torch.save writes for a dictionary of float32 tensors.
_TENSOR_GLOBALS = ("collections OrderedDict", "torch FloatStorage", "torch._utils _rebuild_tensor_v2")
_MOST_PICKLE = 1 << 20
# Bundled npz files hold about 200 KB.
_MOST_NUMBERS = 1 << 24
# Exceptions that zipfile raises for damaged files; ValueError: a member's offset is negative.
_NOT_READ = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
_LONGEST_LINE = 200


class InvalidArchive(MancalaError):
    """A file that is not a zip file, is damaged, or contradicts its own header."""


class NoMember(InvalidArchive):
    """A zip file that lacks a member."""


class Archive:
    """An open zip file."""

    def __init__(self, file: IO[bytes]) -> None:
        """Read the directory; raise InvalidArchive if it is damaged."""
        with _damage_reported():
            self._zip = zipfile.ZipFile(file)
        self.names = self._zip.namelist()

    def check(self, member: str) -> None:
        """Raise InvalidArchive if a member is damaged, or NoMember if it is missing."""
        with _damage_reported(member), self._zip.open(self._header(member)) as stream:
            while stream.read(1 << 20):
                pass

    def read(self, member: str, most: int, least: int = 0) -> bytes:
        """Return the content of a member, `least` to `most` bytes; raise NoMember if it is missing.

        Raise InvalidArchive if it is damaged, too large or small, or compressed too well for `least`.
        """
        if self.names.count(member) > 1:
            raise InvalidArchive(f"duplicate member {member}")
        with _damage_reported(member):
            header = self._header(member)
            size = header.file_size
            if not least <= size <= most:
                raise InvalidArchive(f"{member} must have {least} to {most} bytes, not {size}")
            if _MOST_SHRUNK * header.compress_size < least:
                raise InvalidArchive(
                    f"{member} has {header.compress_size} compressed bytes, too few for {size} bytes"
                )
            with self._zip.open(header) as stream:
                content = stream.read(size + 1)  # the checksum is verified at the end
            if len(content) != size:
                raise InvalidArchive(f"{member} claims {size} bytes but has {len(content)}")
            return content

    def _header(self, member: str) -> zipfile.ZipInfo:
        header = self._zip.getinfo(member)
        if header.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidArchive(f"{member} must be stored or compressed with deflate")
        return header


@contextmanager
def _damage_reported(member: str = "") -> Iterator[None]:
    """Turn the exceptions of zipfile into InvalidArchive, or NoMember if the member is missing."""
    try:
        yield
    except InvalidArchive:
        raise
    except KeyError as error:
        raise NoMember(f"member {member} is missing") from error
    except _NOT_READ as error:
        raise InvalidArchive(first_line(error)) from error


@contextmanager
def opened(path: str | Path) -> Iterator[Archive]:
    """Open a zip file, within a with statement.

    Raise InvalidArchive if it is not a zip file, or its directory is larger than a checkpoint's.
    """
    if not isfile(path):
        raise InvalidArchive("it is not a file" if exists(path) else "the file does not exist")
    with Path(path).open("rb") as file:
        _check_directory(file)
        yield Archive(file)


class ArrayFormat(NamedTuple):
    """The required type of an array, such as "int16", and the length of each axis; None for any length."""

    dtype: str
    shape: tuple[int | None, ...]


def read_arrays(
    file: Path | Traversable, wanted: Mapping[str, ArrayFormat], most: int = _MOST_NUMBERS
) -> dict[str, np.ndarray]:
    """Return arrays of an npz file; the file and each array may have at most `most` bytes.

    Raise InvalidArchive if it is not an npz file, is too large, or an array is missing or of another format.
    """
    with file.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise InvalidArchive(f"the file must have at most {most} bytes")
    if len(content) <= zipfile.ZIP64_LIMIT:  # larger files need the directory that the check refuses
        _check_directory(BytesIO(content))
    archive = Archive(BytesIO(content))
    return {name: _array(archive.read(f"{name}.npy", most), name, wanted[name]) for name in wanted}


def _array(content: bytes, name: str, wanted: ArrayFormat) -> np.ndarray:
    try:
        # Memory that a false header claims is reserved but never used: the content ends first.
        array = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    except Exception as error:  # numpy raises many types of exceptions here
        raise InvalidArchive(f"{name} is not an array: {first_line(error)}") from error
    fits = array.ndim == len(wanted.shape) and all(
        length in (None, n) for n, length in zip(array.shape, wanted.shape, strict=True)
    )
    if array.dtype != np.dtype(wanted.dtype) or not fits or not array.flags.c_contiguous:
        raise InvalidArchive(
            f"{name} must be {wanted.dtype} of shape {str(wanted.shape).replace('None', 'N')}, not "
            f"{first_line(ValueError(array.dtype))} of shape {array.shape}"
        )
    return array


def tensors_only(content: bytes) -> bytes:
    """Return a copy of a torch.save file that contains float32 tensors only; nothing is unpickled.

    The records are copied one by one. The pickle may refer only to the functions that build tensors. Other
    files raise InvalidArchive.
    """
    archive = Archive(BytesIO(content))  # torch writes a long directory, which _check_directory refuses
    roots = [name.removesuffix("data.pkl") for name in archive.names if name.endswith("/data.pkl")]
    if len(roots) != 1 or roots[0] + "constants.pkl" in archive.names:
        raise InvalidArchive("the weights are not in the format of torch.save")
    pickled = archive.read(roots[0] + "data.pkl", _MOST_PICKLE)
    _check_pickle(pickled)
    record = re.compile(re.escape(roots[0]) + r"(version|byteorder|data/\d+)")
    clean = BytesIO()
    with zipfile.ZipFile(clean, "w") as copy:
        for name in filter(record.fullmatch, archive.names):
            copy.writestr(name, archive.read(name, len(content)))
        copy.writestr(roots[0] + "data.pkl", pickled)
    return clean.getvalue()


def _check_pickle(content: bytes) -> None:
    """Raise InvalidArchive if a pickle refers to anything but tensors."""
    try:
        found = {(opcode.name, argument) for opcode, argument, _ in pickletools.genops(content)}
    except Exception as error:  # pickletools raises many types of exceptions
        raise InvalidArchive(f"the weights are damaged: {first_line(error)}") from error
    for opcode, argument in found:
        is_tensor = opcode == "GLOBAL" and argument in _TENSOR_GLOBALS
        is_name = opcode in ("GLOBAL", "STACK_GLOBAL", "INST", "OBJ") or opcode.startswith("EXT")
        if is_name and not is_tensor:
            raise InvalidArchive(f"the weights refer to {argument!s}, which is not a tensor")


def _check_directory(file: IO[bytes]) -> None:
    """Raise InvalidArchive unless a file ends with the directory of a small zip file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_COMMENT - _END_SIZE - _LOCATOR_SIZE))
    tail = file.read()
    at = len(tail) - _END_SIZE
    if tail[at : at + 4] != _END or tail[-2:] != b"\0\0":  # zipfile looks here first
        at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise InvalidArchive("it is not a zip file")
    (directory,) = struct.unpack_from("<L", tail, at + 12)
    is_long = tail[max(0, at - _LOCATOR_SIZE) : at][:4] == _LOCATOR
    if directory > _MOST_DIRECTORY or is_long:
        raise InvalidArchive("the file is incomplete, or has more members than a checkpoint")


def run_folder_hint(path: str | Path) -> str:
    """Return a hint if a path is a run's folder instead of its checkpoint, else ""."""
    final = Path(path, "final.zip")
    is_folder = bool(str(path)) and isfile(final)
    return f"{path} is the folder of a run; its checkpoint is {final}" if is_folder else ""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, printable and at most 200 characters long."""
    return printable((str(error) or type(error).__name__).splitlines()[0])[:_LONGEST_LINE]
