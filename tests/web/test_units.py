"""Run the unit tests of the page's modules in node."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from page_in_node import FOLDER, NODE

SLOW = {"playback.mjs", "worker.mjs"}
FILES = sorted(path.name for path in Path(__file__).parent.glob("*.mjs"))


@pytest.mark.parametrize(
    "file", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in FILES]
)
def test_the_units_of_the_page(file: str) -> None:
    if NODE is None:
        pytest.skip("no node on this machine")
    done = subprocess.run(
        [NODE, "--test-reporter=tap", str(Path(__file__).with_name(file))],
        env=os.environ | {"FOLDER": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^# pass [1-9]", done.stdout, re.M)
