"""Draw the pictures of README.md into docs/img.

python docs/site/readme_pictures.py                           # the board and the turn
python docs/site/readme_pictures.py --report RUN/report.html  # and a run's report, as a browser shows it

The drawings are the same whenever they are made; a test says when they are stale. The report is of the run
`mancala train --config configs/run.yaml --minutes 3 --checkpoint_minutes 0.4`.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
from pages import ROOT
from ruleset_pages import turn_to_show

from mancala_env import Position, rulesets
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.solver import ILLEGAL, positions

FOLDER = ROOT / "docs" / "img"
_RULESET = "layli_goobalay"  # in motion
_VALUED = "leyla_gobale_ii"  # with exact values


def drawings() -> dict[str, str]:
    """Return the drawings by the name of their file."""
    before, action = turn_to_show(rulesets.lookup(_RULESET))
    return {"readme-turn.svg": before.to_svg(action=action), "readme-board.svg": _board_with_values()}


def _board_with_values() -> str:
    """Draw the first bundled position in which each player owns two holes, with exact values."""
    bundled = positions(_VALUED)
    for n in range(len(bundled)):
        position = Position.from_games(_VALUED, bundled.games, n)
        if (
            all(np.sum(position.owner == player) == 2 for player in (0, 1))
            and len(position.legal_actions) > 3
        ):
            values = {a: int(v) for a, v in enumerate(bundled.action_values[n]) if v != ILLEGAL}
            return position.to_svg(values=values)
    raise LookupError("no bundled position has two holes of each player's")


def photograph(report: Path, picture: Path) -> None:
    """Draw the top of a report as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1040, "height": 1240}, device_scale_factor=1)
        page.goto(report.resolve().as_uri())
        page.screenshot(path=picture)
        browser.close()


@in_one_line("readme_pictures.py")
def main() -> int:
    """Read the command line and draw."""
    parser = Parser(prog="readme_pictures.py", description="Draw the pictures of README.md.")
    parser.add_argument("--report", type=Path, help="report.html of a run, to draw that too")
    options = parser.parse_args()
    for name, drawing in drawings().items():
        (FOLDER / name).write_text(drawing + "\n", encoding="utf-8")
    if options.report:
        photograph(options.report, FOLDER / "report.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
