"""Messages about damaged zip files."""

from pathlib import Path

import pytest

from mancala_env import agents
from mancala_env.networks.checkpoint import InvalidCheckpoint


def test_a_checkpoint_that_is_cut_off_is_called_incomplete(tmp_path: Path) -> None:
    """The weights in a checkpoint are a zip file themselves, so the cut file holds the end of a zip file."""
    cut = tmp_path / "cut.zip"
    cut.write_bytes(b"PK\3\4" + b"PK\6\7" + bytes(16) + b"PK\5\6" + bytes(18) + b"cut off")
    with pytest.raises(InvalidCheckpoint, match="incomplete"):
        agents.make(str(cut), "leyla")
