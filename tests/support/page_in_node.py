"""Call the page's modules in node."""

import dataclasses
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mancala_env.web
from mancala_env.rulesets import Ruleset

FOLDER = Path(mancala_env.web.__file__).parent
NODE = shutil.which("node")


def answers(questions: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Ask all questions of page_in_node.mjs at once."""
    if NODE is None:
        pytest.skip("no node on this machine")
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("page_in_node.mjs")), str(FOLDER)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def dials_of(ruleset: Ruleset) -> dict[str, Any]:
    return dataclasses.asdict(ruleset)
