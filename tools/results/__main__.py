"""Write the pages of docs/results that are made of tables, from data files of the repository."""

import sys
from collections.abc import Sequence

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from tools.results import regrets
from tools.results.measured import FOLDER
from tools.results.pages import COMMAND, all_pages


@in_one_line("results", "finished measurements are kept; the same command resumes")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--measure", action="store_true", help="first measure each regret that docs/results/regret.json lacks"
    )
    options = parser.parse_args(arguments)
    if options.measure:
        for line in regrets.measure():
            print(line, flush=True)
    for name, text in all_pages().items():
        write_whole(FOLDER / name, text)
        print(FOLDER / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
