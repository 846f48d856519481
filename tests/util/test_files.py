"""Files that are written atomically: their permissions, and pipes and devices, which are not replaced."""

import os
import stat
import threading
from pathlib import Path

import pytest

from mancala_env._util.files import check_can_be_written, write_whole

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs a umask and named pipes")


@needs_posix
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    path, before = tmp_path / "new", os.umask(0o027)
    try:
        write_whole(path, "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@needs_posix
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@needs_posix
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    check_can_be_written(path)  # does not end the reader's file
    write_whole(path, "to a reader")
    reader.join(timeout=60)
    assert read == ["to a reader"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_the_null_device_is_kept(tmp_path: Path) -> None:
    check_can_be_written(os.devnull)
    write_whole(os.devnull, "text")
    assert not Path(os.devnull).is_file()


@needs_posix
def test_a_folder_is_not_a_file_to_write(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "text")
    assert list(tmp_path.parent.glob(".*.part")) == []
