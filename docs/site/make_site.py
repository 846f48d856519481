"""Make the site: documentation and the page that plays, in one folder that any file server can host.

Lays out the pages, lets Sphinx build them, puts the page beside them and checks every link.

python docs/site/make_site.py                 # into docs/_build/html
python docs/site/make_site.py --into FOLDER   # somewhere else

Warnings are errors. Nothing is fetched.
"""

import gc
import shutil
import sys
from pathlib import Path

from drawings import APP
from in_words import hidden_contents
from links import broken_links
from pages import ROOT, pages, pictures, site_text
from sphinx.cmd.build import main as sphinx
from start_page import start_page
from study_links import with_links_under_boards

from mancala_env._util.command_line import Parser, in_one_line

_HERE = Path(__file__).resolve().parent
WEB = ROOT / "mancala_env" / "web"


def lay_out(folder: Path) -> None:
    """Write every page of the site into a folder; unchanged files are not rewritten.

    Sphinx reads again what is newer than its last build, so a page that did not change costs nothing.
    """
    wanted: dict[str, bytes] = {}
    for source, path in pages().items():
        text = site_text(source, (ROOT / source).read_text(encoding="utf-8"))
        if source.endswith(".md"):
            text += _contents_of_folder(path, text)
            text = with_links_under_boards(text, "../" * path.count("/"))
        wanted[path] = text.encode()
    for source, path in pictures().items():
        wanted[path] = (ROOT / source).read_bytes()
    wanted["index.md"] = start_page(wanted).encode()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for path, content in wanted.items():
        file = folder / path
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _contents_of_folder(path: str, text: str) -> str:
    """Return the table of contents of the first page of a folder of docs/; empty for other pages.

    Pages have the order in which the text links to them. Pages without a link precede them.
    """
    folder, slash, name = path.rpartition("/")
    if not slash or name != "index.md":
        return ""
    others = [
        Path(other).stem for other in pages().values() if other.startswith(f"{folder}/") and other != path
    ]
    others.sort(key=lambda name: text.find(f"({name}.md"))
    return f"\n{hidden_contents(others)}\n"


def _add_app(folder: Path) -> None:
    """Put the page that plays and studies beside the documentation: it needs nothing but its files."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(WEB, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))


def build(into: Path) -> int:
    """Build the site into `into`/html and return the exit status: 0, or 1 after printing the errors."""
    try:
        lay_out(into / "source")
    except FileNotFoundError as error:  # a link of a page
        print(f"make_site.py: {error}", file=sys.stderr)
        return 1
    gc.disable()  # Sphinx keeps millions of objects, and searching them takes a tenth of the time
    words = ["-b", "html", "-W", "--keep-going", "-q", "-c", str(_HERE), "-d", str(into / "doctrees")]
    status = sphinx([*words, str(into / "source"), str(into / "html")])
    if status:
        return int(status)
    _add_app(into / "html" / APP)
    (into / "html" / ".nojekyll").touch()  # folders that begin with _ are served unchanged
    broken = broken_links(into / "html")
    for link in broken:
        print(f"link leads nowhere: {link}", file=sys.stderr)
    return int(bool(broken))


@in_one_line("make_site.py")
def main() -> int:
    """Read the command line and build."""
    parser = Parser(prog="make_site.py", description="Make the documentation site.")
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "_build", help="folder to build in")
    parser.add_argument("--fresh", action="store_true", help="forget what was built before")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(options.into, ignore_errors=True)
    status = build(options.into)
    if not status:
        print(f"{options.into / 'html' / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
