"""Generate the files of the browser page from the package: `python -m tools.make_page_files`.

| file | content |
|---|---|
| `measures.js` | lengths and times of :mod:`mancala_env.render` |
| `palette.css` | colours of :mod:`mancala_env.render` |
| `books.json` | exact values of the opening books |
| `networks/` | bundled value networks |
| `proofs/` | proof files of exact values, and their list |

Tests compare the files with this program's output, and the page's drawings with Python's.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mancala_env.web
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.package_data import rulesets_with
from mancala_env.engine.timeline import KINDS
from mancala_env.evaluation import fair_openings
from mancala_env.networks.value_files import bundled_network, read_for
from mancala_env.render import motion, scene
from mancala_env.render.colours import PALETTES
from mancala_env.rulesets import lookup
from mancala_env.solver.book import UNKNOWN, load_book
from mancala_env.solver.certificate import Proof, num_seeds
from tools.make_proofs import FAIR, file_of
from tools.make_proofs import FOLDER as PROOFS

FOLDER = Path(mancala_env.web.__file__).parent
_COMMAND = "python -m tools.make_page_files"
MOST_PROOF_BYTES = 20_000
"""Larger proofs are not part of the page."""


def contents() -> dict[str, bytes]:
    """Return the content of each file, by name."""
    texts = {"measures.js": _measures_file(), "palette.css": _palette_file(), "books.json": _books_file()}
    return {name: text.encode() for name, text in texts.items()} | _networks() | _proofs()


def measures() -> dict[str, Any]:
    """Return the lengths and times of the drawings, by name."""
    lengths = {
        "cell": scene.CELL,
        "hole": scene.HOLE,
        "seed": scene.SEED,
        "tray": scene.TRAY,
        "margin": scene.MARGIN,
        "space": scene.SPACE,
        "header": scene.HEADER,
        "footer": scene.FOOTER,
        "gap": scene.GAP,
        "label": scene.LABEL,
        "number": scene.NUMBER_HEIGHT,
        "strip": scene.STRIP,
        "title": scene.TITLE,
        "count": scene.NUMBER,
        "line": scene.LINE,
        "word": scene.WORD,
        "trayColumns": scene.TRAY_COLUMNS,
        "trayPitch": scene.TRAY_PITCH,
        "letter": scene.LETTER,
        "maxSeedsDrawn": scene.MAX_SEEDS_DRAWN,
    }
    return {
        **lengths,
        "places": [[round(x, 3) + 0.0, round(y, 3) + 0.0] for x, y in scene.PLACES],
        "eventKinds": list(KINDS),
        "seedSeconds": motion.SEED_SECONDS,
        "seedsLong": motion.SEEDS_LONG,
        "maxLapsShown": motion.MAX_LAPS_SHOWN,
    }


def _measures_file() -> str:
    header = f"/** Lengths and times of pictures and animations. Written by {_COMMAND}. */\n"
    return f"{header}export const measures = {json.dumps(measures(), indent=1)};\n"


def _palette_file() -> str:
    def roles(theme: str, indent: str) -> str:
        return "".join(f"{indent}--m-{role}: {colour};\n" for role, colour in PALETTES[theme].items())

    dark = ":root:not([data-theme=light])"
    return (
        f"/* Written by {_COMMAND}. */\n"
        f":root {{\n  color-scheme: light dark;\n{roles('light', '  ')}}}\n"
        f"@media (prefers-color-scheme: dark) {{\n  {dark} {{\n{roles('dark', '    ')}  }}\n}}\n"
        f":root[data-theme=dark] {{\n  color-scheme: dark;\n{roles('dark', '  ')}}}\n"
        ":root[data-theme=light] {\n  color-scheme: light;\n}\n"
    )


def _books_file() -> str:
    books = {}
    for name in rulesets_with("book"):
        book = load_book(lookup(name))
        assert book is not None
        rests = [None if rest == UNKNOWN else int(rest) for rest in book.rests]
        books[name] = {"turns": book.turns, "rests": rests, "line": [int(action) for action in book.line]}
    return json.dumps(books, separators=(",", ":")) + "\n"


def _networks() -> dict[str, bytes]:
    """Return the bundled value networks as plain numbers, and the list of their rulesets."""
    rulesets = rulesets_with("value")
    files = {
        f"networks/{name}.f32": read_for(bundled_network(lookup(name)), lookup(name)).to_bytes()
        for name in rulesets
    }
    return files | {"networks/list.json": (json.dumps(rulesets) + "\n").encode()}


def _proofs() -> dict[str, bytes]:
    """Return small proof files, and a list of what they claim about which position.

    Each ruleset has the proof of one fair opening.
    """
    first = {file_of(name, fair_openings(name)[0].turns, FAIR)[0] for name in rulesets_with("fair")}
    paths = [
        path
        for path in sorted(PROOFS.rglob("*.proof"))
        if path.stat().st_size <= MOST_PROOF_BYTES and (path.parent.name != FAIR or path in first)
    ]
    files = {path.relative_to(PROOFS).as_posix(): path.read_bytes() for path in paths}
    rows = []
    for file, content in files.items():
        proof = Proof.from_bytes(content)
        counts = [max((c.least for c in proof.claims if c.player == player), default=0) for player in (0, 1)]
        about = {"position": proof.position.to_text(), "total": num_seeds(proof.position), "counts": counts}
        rows.append(json.dumps({"file": file, "size": len(content), **about}))
    files["list.json"] = ("[\n" + ",\n".join(rows) + "\n]\n").encode()
    return {f"proofs/{name}": content for name, content in files.items()}


@in_one_line("make_page_files")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files and return the exit status."""
    Parser(prog=_COMMAND, description=__doc__).parse_args(arguments)
    for name, content in contents().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_bytes(content)
        print(f"{FOLDER / name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
