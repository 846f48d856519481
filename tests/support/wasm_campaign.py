"""Compare ``mancala.wasm`` with the native engine for longer: ``wasm_campaign.py --minutes 30``.

About every minute it takes a new seed for rule options, matches and positions. It ends with status 1 if they
differ.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import wasm_reference

from mancala_env._util.command_line import Parser, in_one_line
from tools.build_wasm import build

HERE = Path(__file__).resolve().parent


@in_one_line("wasm_campaign.py")
def main() -> int:
    """Run until the time is up; returns the exit status."""
    parser = Parser(prog="python tests/support/wasm_campaign.py", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=100, help="the first; each part takes the next")
    parser.add_argument("--folder", type=Path, default=build.WEB, help="where mancala.wasm lies")
    options = parser.parse_args()
    end, seed, total = time.monotonic() + 60 * options.minutes, options.seed, Counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "reference.json")
        while True:
            file.write_text(
                json.dumps(wasm_reference.make(seed, dials=100, turns=300, positions=4)), encoding="utf-8"
            )
            command = ["node", HERE / "replay_in_node.mjs", build.WEB / "engine.js", options.folder, file]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            total.update(found["counts"])
            print(f"seed {seed}: {found['total']} differences; so far {dict(total)}", flush=True)
            if found["total"]:
                print("\n".join(found["differences"]))
                return 1
            seed += 1
            if time.monotonic() >= end:
                return 0


if __name__ == "__main__":
    sys.exit(main())
