"""Write the pages of the API reference, and delete pages that it no longer has."""

import sys
from collections.abc import Sequence

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from tools.api_pages.pages import COMMAND, FOLDER, all_pages


@in_one_line("api_pages")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    Parser(prog=COMMAND, description=__doc__).parse_args(arguments)
    pages = all_pages()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        write_whole(FOLDER / name, text)
    print(f"{FOLDER}: {len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
