"""The commands of docs/guides/own_ruleset.md run, in order, with less training.

After the page's board is solved, the others run on a smaller one, whose 200 solved positions take less time.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "own_ruleset.md"
# Commands that run until somebody ends them.
_INTERACTIVE = ("mancala play", "mancala serve")
_SHORTER = {
    "--minutes 1": "--minutes 0.02 --evaluation.games 2 --evaluation.checkpoint_games 0",
    "--minutes 2": "--minutes 0.04 --evaluation.games 2",
    "--games 2000": "--games 50 --generations 1",
}


def commands() -> list[str]:
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    script = re.sub(r"^mancala evaluate.*", r"\g<0> --games 2", "".join(blocks), flags=re.MULTILINE)
    found = re.findall(r"^cat .*?^END$|^[^\n]+$", script, re.DOTALL | re.MULTILINE)
    for long, short in _SHORTER.items():
        assert long in script
        found = [re.sub(f"{long}(?= |$)", short, command) for command in found]
    return [command for command in found if not command.startswith(_INTERACTIVE)]


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": programs, "MANCALA_CACHE": str(tmp_path / "cache")}
    listed = commands()
    assert sum(command.startswith("mancala ") for command in listed) == 8
    said = ""
    for command in listed:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        said += done.stdout
        if command.startswith("mancala solve"):
            board = tmp_path / "my_game.yaml"
            board.write_text(board.read_text().replace("row_width: 5", "row_width: 4"))
    for result in ("my_game", "value +4 for South", "mean regret", "Elo", "value_my_game.safetensors"):
        assert result in said, result
