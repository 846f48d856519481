"""Measured figures in files of the repository: `make bench`, the cards of the networks, solved starts."""

import csv
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mancala_env import Position, rulesets, solver
from mancala_env._util.package_data import Kind, bundled_file, rulesets_with
from mancala_env.agents import Spec
from mancala_env.errors import MancalaError
from mancala_env.evaluation.exploit import exploitability_text, stored_exploitability
from mancala_env.solver import ILLEGAL, rulesets_with_positions

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "results"
HISTORY = ROOT / "benchmarks" / "history.csv"

KINDS: tuple[Kind, ...] = ("value", "policy")
"""Kinds of networks with a card."""
_RATING = re.compile(r"^\| `(\S+)` \| (-?\d+) \| (-?\d+) \| (-?\d+) \|", re.MULTILINE)
_OPENING = re.compile(r"^(\w+) opening, value ([+-]\d+): nodes$")


class Speeds(NamedTuple):
    """The figures of the newest complete `make bench`: date, commit, processor, and values by name."""

    date: str
    commit: str
    machine: str
    values: dict[str, float]


@cache
def newest_speeds(path: Path = HISTORY) -> Speeds:
    """Return the newest run of all benchmarks; later runs of a part replace its figures on no page.

    Raises:
        LookupError: If the file lacks a complete run.
    """
    runs: dict[tuple[str, str, str], dict[str, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            run = runs.setdefault((row["date"], row["commit"], row["machine"]), {})
            run[row["figure"]] = float(row["value"])
    for (date, commit, machine), values in reversed(runs.items()):
        names = " ".join(values)
        if "random turns" in names and "training, board" in names and "opening" in names:
            return Speeds(date, commit, machine.partition(", Python")[0], values)
    raise LookupError(f"{path} lacks a complete run of make bench")


class NetworkCard(NamedTuple):
    """The figures of a network's card, unchanged.

    Attributes:
        version: Version of the package that made the network.
        date: Date of the measurements.
        steps: Environment steps of the training; empty for value networks.
        scores: Scores with their intervals, by agent and opponent.
        elo: Elo and the bounds of its interval, by agent.
        regret: Mean regret with its interval, by agent.
    """

    version: str
    date: str
    steps: str
    scores: dict[tuple[str, str], str]
    elo: dict[str, tuple[int, int, int]]
    regret: dict[str, str]


@cache
def network_cards(kind: Kind) -> dict[str, NetworkCard]:
    """Return the cards of the bundled networks of a kind, by ruleset."""
    files = {name: bundled_file(kind, name).with_suffix(".md") for name in rulesets_with(kind)}
    return {name: read_card(path.read_text(encoding="utf-8")) for name, path in files.items()}


def read_card(text: str) -> NetworkCard:
    """Return the figures of the text of a card."""
    rows = [
        [c.strip(" `") for c in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    facts = {row[0]: row[1] for row in rows if len(row) == 2}
    date = re.search(r" on (\d{4}-\d\d-\d\d)\.$", text.strip())
    assert date, "a card ends with its date"
    return NetworkCard(
        facts["version"],
        date[1],
        facts.get("environment steps", ""),
        {(row[0], row[1]): row[3] for row in rows if len(row) == 5 and "%" in row[3] and row[2].isdigit()},
        {spec: (int(elo), int(low), int(high)) for spec, elo, low, high in _RATING.findall(text)},
        {row[0]: row[2] for row in rows if len(row) == 5 and re.match(r"\d+\.\d+ \(", row[2])},
    )


def card_ratings(ruleset: str) -> dict[str, tuple[int, int, int]]:
    """Return Elo, and the bounds of its 95 % interval, of the networks of a ruleset, from their cards."""
    cards = [card for kind in KINDS if (card := network_cards(kind).get(ruleset))]
    rated = {spec: elo for card in cards for spec, elo in card.elo.items()}
    return {spec: elo for spec, elo in rated.items() if spec == "trained" or spec.startswith("value+")}


def exploitability_of(spec: str, ruleset: str) -> str:
    """Return the stored exploitability of an agent as text."""
    with suppress(MancalaError):  # the ruleset may lack a network
        spec = Spec.parse(spec).on(rulesets.lookup(ruleset)).identity
    return exploitability_text(stored_exploitability(ruleset).get(spec))


class SolvedStart(NamedTuple):
    """The exact value of the start of a ruleset, for the player to move.

    Attributes:
        value: Final margin in seeds.
        actions: Values of the first actions; empty if only the best is known.
        nodes: Million nodes of the newest `make bench`; None if it does not solve the ruleset.
    """

    value: int
    actions: dict[int, int]
    nodes: float | None

    @property
    def best(self) -> list[int]:
        """The best first actions."""
        return [action for action, value in self.actions.items() if value == self.value]


@cache
def solved_starts() -> dict[str, SolvedStart]:
    """Return all solved starts: from books, from solved positions, and from `make bench`."""
    benched = {}
    for figure, nodes in newest_speeds().values.items():
        if named := _OPENING.match(figure):
            benched[named[1]] = int(named[2]), nodes
    found = {}
    for name in rulesets.names():
        value, nodes = benched.get(name, (None, None))
        actions = _first_values(name)
        legal = Position(name).legal_actions
        if actions:
            value = max(actions.values())
        elif value is not None and len(legal) == 1:
            actions = {legal[0]: value}
        if value is not None:
            found[name] = SolvedStart(value, actions, nodes)
    return found


def _first_values(name: str) -> dict[int, int]:
    start = Position(name)
    if name in rulesets_with("book"):
        return dict(solver.solve(start).action_values)
    if name in rulesets_with_positions():
        solved = solver.positions(name)
        for row in (solved.games == start.games).all(axis=1).nonzero()[0]:
            values = solved.action_values[row]
            return {action: int(v) for action, v in enumerate(values) if v != ILLEGAL}
    return {}
