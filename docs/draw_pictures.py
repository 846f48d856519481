"""Draw the pictures of docs/guides/pictures.md into docs/img."""

import sys
from pathlib import Path

from mancala_env import Position
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.games import pictures

IMG = Path(__file__).resolve().parent / "img"


def draw(folder: Path = IMG) -> None:
    """Write every picture into a folder."""
    board = Position.from_text("gabata_i 4n,13s,2,0,7,4/3,5,9,1,0s,0n 0-0 S")
    pictures.save(folder / "board.svg", board, values={2: -3, 4: 5, 5: 1}, last=(4, 8))
    pictures.save(folder / "turn.svg", Position("layli_goobalay"), action=2)


@in_one_line("draw_pictures")
def main() -> int:
    """Write the pictures where the documentation has them; returns the exit status."""
    Parser(prog="python docs/draw_pictures.py", description=__doc__).parse_args()
    draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
