"""Zip and npz files from untrusted sources: members are read within size limits, and no code in them runs.

The size in a header is checked before memory of that size is allocated, and reading stops at the limit. This
is written by hand because zipfile, numpy.load and torch.load read files of any size.
"""

import math
import pickletools
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
_NOT_READ = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
_LONGEST_LINE = 200
_PIECE = 1 << 20


class InvalidArchive(MancalaError):
    """A file that is not a zip file, is damaged, or contradicts its own header."""


class NoMember(InvalidArchive):
    """A zip file that lacks a member."""


class Archive:
    """An open zip file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        """Read the directory of a file of `size` bytes.

        Raises:
            InvalidArchive: If it is not a zip file.
        """
        try:
            self._zip = zipfile.ZipFile(file)
        except _NOT_READ as error:
            raise InvalidArchive(first_line(error)) from error
        self._size = size

    @property
    def names(self) -> list[str]:
        """Names of all members."""
        return self._zip.namelist()

    def check(self, member: str) -> None:
        """Read a member to its end to verify its checksum; discard the content.

        Raises:
            NoMember: If the file lacks the member.
            InvalidArchive: If the member is damaged.
        """
        try:
            with self._zip.open(member) as stream:
                while stream.read(_PIECE):
                    pass
        except KeyError as error:
            raise NoMember(f"member {member} is missing") from error
        except _NOT_READ as error:
            raise InvalidArchive(first_line(error)) from error

    def read(self, member: str, most: int, least: int = 0) -> bytes:
        """Return the content of a member.

        Args:
            member: Name of the member.
            most: Maximum size of the content in bytes.
            least: Minimum size of the content in bytes. The compressed size must be plausible for it.

        Raises:
            NoMember: If the file lacks the member.
            InvalidArchive: If the member is damaged, too large or too small.
        """
        if self.names.count(member) > 1:
            raise InvalidArchive(f"duplicate member {member}")
        try:
            header = self._zip.getinfo(member)
        except KeyError as error:
            raise NoMember(f"member {member} is missing") from error
        if header.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidArchive(f"{member} must be stored or compressed with deflate")
        if not least <= header.file_size <= most:
            wanted = f"at most {most}" if header.file_size > most else f"at least {least}"
            raise InvalidArchive(f"{member} must have {wanted} bytes, not {header.file_size}")
        stored = header.compress_size if header.compress_type == zipfile.ZIP_STORED else None
        if header.compress_size > self._size or (stored is not None and stored != header.file_size):
            raise InvalidArchive(f"{member} claims {header.file_size} bytes, more than the file has")
        if _MOST_SHRUNK * header.compress_size < least:
            raise InvalidArchive(
                f"{member} has {header.compress_size} compressed bytes, too few for {header.file_size} bytes"
            )
        try:
            with self._zip.open(header) as stream:
                content = stream.read(most + 1)
                stream.read(1)  # zipfile verifies the checksum at the end of the member
        except _NOT_READ as error:
            raise InvalidArchive(first_line(error)) from error
        if not least <= len(content) <= most:
            raise InvalidArchive(f"{member} must have {least} to {most} bytes, not {len(content)}")
        return content


@contextmanager
def opened(path: str | Path) -> Iterator[Archive]:
    """Open a zip file, within a with statement.

    Raises:
        InvalidArchive: If it is not a zip file, or its directory is larger than a checkpoint's.
        OSError: If it cannot be read.
    """
    if not isfile(path):
        raise InvalidArchive("it is not a file" if exists(path) else "the file does not exist")
    with Path(path).open("rb") as file:
        size = Path(path).stat().st_size
        _check_directory(file, size)
        yield Archive(file, size)


class ArrayFormat(NamedTuple):
    """The required type and shape of an array in an npz file.

    Attributes:
        dtype: Type of the numbers, such as "int16".
        shape: Length of each axis; None for any length.
    """

    dtype: str
    shape: tuple[int | None, ...]


def read_arrays(
    file: Path | Traversable, wanted: Mapping[str, ArrayFormat], most: int = _MOST_NUMBERS
) -> dict[str, np.ndarray]:
    """Return arrays of an npz file.

    Args:
        file: The file.
        wanted: The required format of each array, by name.
        most: Maximum size of the file, and of each array, in bytes.

    Raises:
        InvalidArchive: If it is not an npz file, is too large, or an array is missing or of another format.
        OSError: If it cannot be read.
    """
    with file.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise InvalidArchive(f"the file must have at most {most} bytes")
    _check_directory(BytesIO(content), len(content))
    archive = Archive(BytesIO(content), len(content))
    return {name: _array(archive.read(f"{name}.npy", most), name, wanted[name]) for name in wanted}


def _array(content: bytes, name: str, wanted: ArrayFormat) -> np.ndarray:
    """Return the array of a member; check its header before allocating memory."""
    stream = BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("unknown version of the format")
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # numpy raises many types of exceptions here
        raise InvalidArchive(f"{name} is not an array: {first_line(error)}") from error
    fits = len(shape) == len(wanted.shape) and all(
        type(n) is int and n >= 0 and most in (None, n) for n, most in zip(shape, wanted.shape, strict=True)
    )
    if dtype != np.dtype(wanted.dtype) or not fits or is_fortran:
        raise InvalidArchive(
            f"{name} must be {wanted.dtype} of shape {str(wanted.shape).replace('None', 'N')}, not "
            f"{first_line(ValueError(dtype))} of shape {first_line(ValueError(shape))}"
        )
    numbers = content[stream.tell() :]
    if len(numbers) != math.prod(shape) * dtype.itemsize:
        raise InvalidArchive(
            f"{name} has shape {printable(str(shape))[:_LONGEST_LINE]} but {len(numbers)} bytes of numbers"
        )
    return np.frombuffer(numbers, dtype).reshape(shape).copy()


def tensors_only(content: bytes) -> bytes:
    """Return a copy of a torch.save file that contains float32 tensors only.

    The records are copied one by one. The pickle may refer only to the functions that build tensors. Nothing
    is unpickled here.

    Raises:
        InvalidArchive: If the file is not one, or holds something else.
    """
    archive = Archive(BytesIO(content), len(content))
    roots = [name.removesuffix("data.pkl") for name in archive.names if name.endswith("/data.pkl")]
    if len(roots) != 1 or roots[0] + "constants.pkl" in archive.names:
        raise InvalidArchive("the weights are not in the format of torch.save")
    (root,) = roots
    pickled = archive.read(root + "data.pkl", _MOST_PICKLE)
    _check_pickle(pickled)
    clean = BytesIO()
    with zipfile.ZipFile(clean, "w") as copy:
        for name in archive.names:
            part = name.removeprefix(root)
            if name == root + part and (
                part in ("version", "byteorder") or (part.startswith("data/") and part[5:].isdigit())
            ):
                copy.writestr(name, archive.read(name, len(content)))
        copy.writestr(root + "data.pkl", pickled)
    return clean.getvalue()


def _check_pickle(content: bytes) -> None:
    """Raise InvalidArchive if a pickle refers to anything but tensors."""
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "GLOBAL" and argument in _TENSOR_GLOBALS:
                continue
            if opcode.name in ("GLOBAL", "STACK_GLOBAL", "INST", "OBJ") or opcode.name.startswith("EXT"):
                raise InvalidArchive(f"the weights refer to {argument!s}, which is not a tensor")
    except InvalidArchive:
        raise
    except Exception as error:  # pickletools raises many types of exceptions
        raise InvalidArchive(f"the weights are damaged: {first_line(error)}") from error


def _check_directory(file: IO[bytes], size: int) -> None:
    """Raise InvalidArchive unless a file ends with the directory of a small zip file."""
    file.seek(max(0, size - _MOST_COMMENT - _END_SIZE - _LOCATOR_SIZE))
    tail = file.read()
    at = len(tail) - _END_SIZE
    if tail[at : at + 4] != _END or tail[-2:] != b"\0\0":  # zipfile looks here first
        at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise InvalidArchive("it is not a zip file")
    directory = struct.unpack_from("<L", tail, at + 12)[0]
    is_long = tail[max(0, at - _LOCATOR_SIZE) : at][:4] == _LOCATOR
    if directory > _MOST_DIRECTORY or is_long:
        raise InvalidArchive("the file has more members than a checkpoint")
    file.seek(0)


def run_folder_hint(path: str | Path) -> str:
    """Return a hint if a path is a run's folder instead of its checkpoint, else ""."""
    final = Path(path, "final.zip")
    try:
        is_folder = bool(str(path)) and final.is_file()
    except (OSError, ValueError):  # not a valid path
        is_folder = False
    return f"{path} is the folder of a run; its checkpoint is {final}" if is_folder else ""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, printable and at most 200 characters long."""
    return printable((str(error) or type(error).__name__).splitlines()[0])[:_LONGEST_LINE]
