"""Zip files from strangers: members are read within limits, and nothing in them is unpacked or run.

What a header says of a size is a claim. It is checked before anything of that size is allocated, and the
content is read as a stream that is cut off where it exceeds the claim's limit. All of this is written by
hand because zipfile, numpy.load and torch.load have no limits.
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

# Ours have seven members, some 500 bytes of directory; zipfile takes ten times a directory's size.
_MOST_DIRECTORY = 1 << 16
# Weights hardly shrink: random numbers do by a tenth.
_MOST_SHRUNK = 4
_END, _END_SIZE, _LOCATOR, _LOCATOR_SIZE = b"PK\x05\x06", 22, b"PK\x06\x07", 20
_MOST_COMMENT = 1 << 16
# All that torch.save writes for a dictionary of tensors of 32-bit numbers.
_TENSOR_GLOBALS = ("collections OrderedDict", "torch FloatStorage", "torch._utils _rebuild_tensor_v2")
_MOST_PICKLE = 1 << 20
# Ours hold some 200 KB.
_MOST_NUMBERS = 1 << 24
# What zipfile raises for files that are none; ValueError for members that begin before the file does.
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
    """A file that is no zip, is damaged, or claims what it does not hold."""


class NoMember(InvalidArchive):
    """A zip without a member."""


class Archive:
    """An opened zip file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        """Read the directory of a file of `size` bytes.

        Raises:
            InvalidArchive: It is no zip file.
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
        """Read a member to its end, where its checksum is looked at; nothing of it is kept.

        Raises:
            NoMember: There is none of that name.
            InvalidArchive: It is damaged.
        """
        try:
            with self._zip.open(member) as stream:
                while stream.read(_PIECE):
                    pass
        except KeyError as error:
            raise NoMember(f"it has no member {member}") from error
        except _NOT_READ as error:
            raise InvalidArchive(first_line(error)) from error

    def read(self, member: str, most: int, least: int = 0) -> bytes:
        """Return the content of a member.

        Args:
            member: Its name.
            most: Bytes it may hold.
            least: Bytes it must hold; where that is much, it must be as much in the file.

        Raises:
            NoMember: There is none of that name.
            InvalidArchive: It is damaged, too large or too small.
        """
        if self.names.count(member) > 1:
            raise InvalidArchive(f"it has member {member} twice")
        try:
            claim = self._zip.getinfo(member)
        except KeyError as error:
            raise NoMember(f"it has no member {member}") from error
        if claim.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidArchive(f"{member} is compressed in another way than by deflate")
        if not least <= claim.file_size <= most:
            wanted = f"at most {most}" if claim.file_size > most else f"at least {least}"
            raise InvalidArchive(f"{member} claims {claim.file_size} bytes; {wanted} would be right")
        held = claim.compress_size if claim.compress_type == zipfile.ZIP_STORED else None
        if claim.compress_size > self._size or (held is not None and held != claim.file_size):
            raise InvalidArchive(f"{member} claims {claim.file_size} bytes, more than the file holds")
        if _MOST_SHRUNK * claim.compress_size < least:
            raise InvalidArchive(f"{member} holds {claim.compress_size} bytes; too few to be what it claims")
        try:
            with self._zip.open(claim) as stream:
                content = stream.read(most + 1)
                stream.read(1)  # past the end its checksum is looked at
        except _NOT_READ as error:
            raise InvalidArchive(first_line(error)) from error
        if not least <= len(content) <= most:
            raise InvalidArchive(f"{member} holds {len(content)} bytes; {least} to {most} would be right")
        return content


@contextmanager
def opened(path: str | Path) -> Iterator[Archive]:
    """Open a zip file.

    Raises:
        InvalidArchive: It is none, or its directory is larger than a checkpoint's.
        OSError: It cannot be read.
    """
    if not isfile(path):
        raise InvalidArchive("it is no file" if exists(path) else "there is no such file")
    with Path(path).open("rb") as file:
        size = Path(path).stat().st_size
        _check_directory(file, size)
        yield Archive(file, size)


class Numbers(NamedTuple):
    """What an array of a file of numpy has to be.

    Attributes:
        dtype: Its numbers, such as "int16".
        shape: Its length along each axis; None where any will do.
    """

    dtype: str
    shape: tuple[int | None, ...]


def read_arrays(
    file: Path | Traversable, wanted: Mapping[str, Numbers], most: int = _MOST_NUMBERS
) -> dict[str, np.ndarray]:
    """Return arrays of an npz file, each as `wanted` says; neither it nor one of them is over `most` bytes.

    Raises:
        InvalidArchive: It is none, is too large, or holds other arrays.
        OSError: It cannot be read.
    """
    with file.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise InvalidArchive(f"it holds more than {most} bytes")
    _check_directory(BytesIO(content), len(content))
    archive = Archive(BytesIO(content), len(content))
    return {name: _array(archive.read(f"{name}.npy", most), name, wanted[name]) for name in wanted}


def _array(content: bytes, name: str, wanted: Numbers) -> np.ndarray:
    """Return the array of a member; its header is compared before anything is allocated."""
    stream = BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of the format")
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # numpy lets through almost anything
        raise InvalidArchive(f"{name} is no array: {first_line(error)}") from error
    fits = len(shape) == len(wanted.shape) and all(
        type(n) is int and n >= 0 and most in (None, n) for n, most in zip(shape, wanted.shape, strict=True)
    )
    if dtype != np.dtype(wanted.dtype) or not fits or is_fortran:
        raise InvalidArchive(
            f"{name} is {first_line(ValueError(dtype))} {first_line(ValueError(shape))}; {wanted.dtype} "
            f"{str(wanted.shape).replace('None', 'N')} would be right"
        )
    numbers = content[stream.tell() :]
    if len(numbers) != math.prod(shape) * dtype.itemsize:
        raise InvalidArchive(
            f"{name} claims {printable(str(shape))[:_LONGEST_LINE]} numbers and holds {len(numbers)} bytes"
        )
    return np.frombuffer(numbers, dtype).reshape(shape).copy()


def tensors_only(content: bytes) -> bytes:
    """Return a file of torch.save with nothing left in it but tensors of 32-bit numbers.

    The records are copied one by one, and the pickle that says how they go together may name nothing but
    what puts tensors together. Nothing is unpickled here.

    Raises:
        InvalidArchive: It is no such file.
    """
    archive = Archive(BytesIO(content), len(content))
    roots = [name.removesuffix("data.pkl") for name in archive.names if name.endswith("/data.pkl")]
    if len(roots) != 1 or roots[0] + "constants.pkl" in archive.names:
        raise InvalidArchive("the weights are not what torch.save writes")
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
    """Raise InvalidArchive where a pickle names anything but tensors."""
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "GLOBAL" and argument in _TENSOR_GLOBALS:
                continue
            if opcode.name in ("GLOBAL", "STACK_GLOBAL", "INST", "OBJ") or opcode.name.startswith("EXT"):
                raise InvalidArchive(f"the weights name {argument!s}, which is no tensor")
    except InvalidArchive:
        raise
    except Exception as error:  # pickletools raises almost anything
        raise InvalidArchive(f"the weights are damaged: {first_line(error)}") from error


def _check_directory(file: IO[bytes], size: int) -> None:
    """Raise InvalidArchive unless a file ends as a small zip file does."""
    file.seek(max(0, size - _MOST_COMMENT - _END_SIZE - _LOCATOR_SIZE))
    tail = file.read()
    at = len(tail) - _END_SIZE
    if tail[at : at + 4] != _END or tail[-2:] != b"\0\0":  # where zipfile looks first
        at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise InvalidArchive("it is not a zip file")
    directory = struct.unpack_from("<L", tail, at + 12)[0]
    is_long = tail[max(0, at - _LOCATOR_SIZE) : at][:4] == _LOCATOR
    if directory > _MOST_DIRECTORY or is_long:
        raise InvalidArchive("it has more members than a checkpoint")
    file.seek(0)


def what_a_folder_is(path: str | Path) -> str:
    """Say of a run's folder, named instead of its checkpoint, what would be right; empty of all else."""
    final = Path(path, "final.zip")
    try:
        is_folder = bool(str(path)) and final.is_file()
    except (OSError, ValueError):  # no path at all
        is_folder = False
    return f"{path} is the folder of a run; its checkpoint is {final}" if is_folder else ""


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, printable and not too long."""
    return printable((str(error) or type(error).__name__).splitlines()[0])[:_LONGEST_LINE]
