"""Games recorded from Ludii's own programs."""

import gzip
import json
from pathlib import Path

DATA = Path(__file__).parent.parent / "data"

RECORDINGS = sorted(DATA.glob("ludii_*.jsonl.gz"))


def recorded(path):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]
