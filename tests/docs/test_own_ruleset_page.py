"""The commands of docs/guides/own_ruleset.md run, in order, with less training.

After the page's board is solved, the others run on a smaller one, whose 200 solved positions take less time.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from mancala_env import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "own_ruleset.md"
# Commands that run until somebody ends them.
_INTERACTIVE = ("mancala play", "mancala serve")
_SHORTER = {
    "--minutes 1": "--minutes 0.005 --evaluation.games 2 --evaluation.checkpoint_games 0",
    "--minutes 2": "--minutes 0.01 --evaluation.games 2",
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
def test_the_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run them in this process: starting and importing would take most of the time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "cache"))
    listed = commands()
    assert sum(command.startswith("mancala ") for command in listed) == 8
    for command in listed:
        if not command.startswith("mancala "):
            subprocess.run(["bash", "-c", command], check=True)
            continue
        assert cli.main(shlex.split(command)[1:]) == 0, command
        if command.startswith("mancala solve"):
            board = tmp_path / "my_game.yaml"
            board.write_text(board.read_text().replace("row_width: 5", "row_width: 4"))
    said = capsys.readouterr().out
    for result in ("my_game", "value +4 for South", "mean regret", "Elo", "value_my_game.safetensors"):
        assert result in said, result
