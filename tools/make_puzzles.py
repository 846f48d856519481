"""Make the puzzles of the browser page: ``python -m tools.make_puzzles layli_goobalay``.

A puzzle is a position with one best action that gains at least MIN_GAP seeds more than the second best. It
comes from the bundled solved positions, or from a position that is a few turns after one of them. The solver
proves the value of each of its actions within MOST_NODES nodes, so a browser proves them in seconds.

A puzzle is one row of a JSON file for each ruleset: position, tags, lookahead, failing agents, grade and
action values. :class:`Puzzle` describes them.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

import mancala_env.web
from mancala_env import agents
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.package_data import rulesets_with
from mancala_env.agents.searchers import MinimaxAgent
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.exact import ILLEGAL, Solver
from mancala_env.solver.position_sets import PHASES, positions

FOLDER = Path(mancala_env.web.__file__).parent / "puzzles"
MIN_GAP = 4
"""Fewest seeds by which the best action of a puzzle leads the second best."""
MIN_ACTIONS = 3
LEAST_PUZZLES = 210
MOST_NODES = 150_000
"""Most nodes of the solver for the values of one puzzle."""
AGENTS = ("greedy", "minimax:2", "minimax:4", "trained")
"""The agents that try each puzzle; ``trained`` only where it is bundled."""
SEARCH_DEPTHS = {"greedy": 1, "minimax:2": 2, "minimax:4": 4}
"""Depth of minimax that chooses like an agent, ties included."""
MAX_LOOKAHEAD = 8
"""Deepest minimax search that tries each puzzle."""
GRADES = 4
TAGS = {"own": "o", "ransom": "r", "capture": "c", "only": "m", "trap": "t"}
"""Letters of the tags: owns a hole, ransoms, captures, alone keeps the result, a weak agent fails."""
_MOST_TURNS_AFTER = 6
_PASSES = 16
_MOST_CANDIDATES = 360
_FIRST_PHASE = PHASES.index("middle")
_SEED = 1


@dataclass(frozen=True)
class Puzzle:
    """A row of the file.

    Attributes:
        position: Text of the position without the name of the ruleset.
        tags: Letters of TAGS, of the best action.
        lookahead: Smallest depth of minimax that finds the best action; MAX_LOOKAHEAD + 1 if none does.
        failing: Bit n is set if ``AGENTS[n]`` probably chooses another action.
        grade: 1 (easy) to GRADES (hardest); see :func:`grade_of`.
        values: Value of each legal action in ascending order of actions.
    """

    position: str
    tags: str
    lookahead: int
    failing: int
    grade: int
    values: list[int]


Candidate = tuple[Position, dict[int, int]]
"""A position, and the value of each of its actions."""


def grade_of(lookahead: int, failing: int) -> int:
    """Return the grade of a puzzle from its lookahead and from the number of agents that fail it."""
    turns = sum(lookahead >= limit for limit in (2, 3, 5))
    score = turns + failing.bit_count()
    return 1 + sum(score >= limit for limit in (2, 4, 6))


def is_puzzle(values: dict[int, int]) -> bool:
    """Return whether one action is clearly best."""
    if len(values) < MIN_ACTIONS:
        return False
    best, second = sorted(values.values(), reverse=True)[:2]
    return best - second >= MIN_GAP


def candidates(ruleset: Ruleset, solver: Solver) -> Iterator[Candidate]:
    """Yield the solved positions that are puzzles, and puzzles a few turns after solved positions."""
    solved = positions(ruleset)
    rng = np.random.default_rng(_SEED)
    # Positions of the first phases take too long in a browser.
    order = rng.permutation(np.flatnonzero(solved.phase >= _FIRST_PHASE))
    for n in order:
        legal = np.flatnonzero(solved.action_values[n] != ILLEGAL)
        if not is_puzzle({int(a): int(solved.action_values[n, a]) for a in legal}):
            continue
        position = Position.from_games(ruleset, solved.games, n)
        values = solver.action_values_within(position, MOST_NODES)
        if values is not None:
            yield position, values
    for _ in range(_PASSES):
        for n in order:
            position = _later(Position.from_games(ruleset, solved.games, n), rng)
            if position.is_over or len(position.legal_actions) < MIN_ACTIONS:
                continue
            values = solver.action_values_within(position, MOST_NODES)
            if values is not None and is_puzzle(values):
                yield position, values


def _later(start: Position, rng: np.random.Generator) -> Position:
    """Return a position a few random turns later."""
    position = start.copy()
    for _ in range(int(rng.integers(1, _MOST_TURNS_AFTER + 1))):
        if not position.is_over:
            position.play(int(rng.choice(position.legal_actions)))
    return position


def tags_of(position: Position, values: dict[int, int], failing: int) -> str:
    """Return the letters of what the best action does."""
    best, second = sorted(values, key=lambda action: -values[action])[:2]
    events = {event.kind for event in position.timeline(best).events}
    player, stores = position.player, position.stores
    lead = stores[player] - stores[1 - player]
    result, other = np.sign(values[best] + lead), np.sign(values[second] + lead)
    found = {
        "own": "own" in events,
        "ransom": "ransom" in events,
        "capture": "capture" in events,
        "only": bool(result > other),
        "trap": bool(failing & 0b11),
    }
    return "".join(letter for tag, letter in TAGS.items() if found[tag])


def searched(ruleset: Ruleset, games: np.ndarray, depth: int) -> np.ndarray:
    """Return the values of minimax for each action of each position."""
    agent = agents.make(f"minimax:{depth}", ruleset)
    assert isinstance(agent, MinimaxAgent)
    return agent.action_values(games, ruleset.num_holes)


def lookaheads(ruleset: Ruleset, games: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return int64 `[N]`, the smallest depth of minimax that prefers the best action of each position."""
    found = np.full(len(games), MAX_LOOKAHEAD + 1)
    for depth in reversed(range(1, MAX_LOOKAHEAD + 1)):
        found[_chances(searched(ruleset, games, depth), best) == 1] = depth
    return found


def agents_of(ruleset: Ruleset) -> tuple[str, ...]:
    """Return the agents that try the puzzles of a ruleset."""
    return AGENTS if ruleset.name in rulesets_with("policy") else AGENTS[:-1]


def failing_agents(ruleset: Ruleset, games: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return int64 `[N]`, the bits of the agents that choose the best action with a chance below one half."""
    failing = np.zeros(len(games), np.int64)
    for bit, spec in enumerate(agents_of(ruleset)):
        if spec in SEARCH_DEPTHS:
            chances = _chances(searched(ruleset, games, SEARCH_DEPTHS[spec]), best)
        else:
            chances = agents.make(spec, ruleset).act(games) == best
        failing |= (chances < 0.5).astype(np.int64) << bit
    return failing


def _chances(values: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the chance of an agent that breaks ties of its values at random to choose the best action."""
    is_tied = values == values.max(axis=1, keepdims=True)
    return is_tied[np.arange(len(best)), best] / is_tied.sum(axis=1)


def make(ruleset: Ruleset, per_grade: int) -> list[Puzzle]:
    """Return the puzzles of a ruleset, the easiest grade first, at most `per_grade` of each grade."""
    solver = Solver(ruleset, memory_mb=256)
    found: dict[str, Candidate] = {}
    for position, values in candidates(ruleset, solver):
        found.setdefault(position.to_text(), (position, values))
        if len(found) == _MOST_CANDIDATES:
            break
    return chosen(graded(ruleset, list(found.values())), per_grade)


def graded(ruleset: Ruleset, given: Sequence[Candidate]) -> list[Puzzle]:
    """Return a puzzle for each position."""
    games = np.concatenate([position.games for position, _ in given])
    best = np.array([max(values, key=values.__getitem__) for _, values in given])
    ahead = lookaheads(ruleset, games, best).tolist()
    failing = failing_agents(ruleset, games, best).tolist()
    return [
        Puzzle(
            position.to_text().split(" ", 1)[1],
            tags_of(position, values, failing[n]),
            ahead[n],
            failing[n],
            grade_of(ahead[n], failing[n]),
            [values[action] for action in sorted(values)],
        )
        for n, (position, values) in enumerate(given)
    ]


def grade_again(ruleset: Ruleset) -> list[Puzzle]:
    """Return the bundled puzzles, graded with the current agents."""
    given = []
    for puzzle in read(ruleset):
        position = Position.from_text(f"{ruleset.name} {puzzle.position}")
        given.append((position, dict(zip(position.legal_actions, puzzle.values, strict=True))))
    return chosen(graded(ruleset, given), len(given))


def differing(
    ruleset: Ruleset, puzzles: Sequence[Puzzle], most_nodes: int | None = None
) -> tuple[list[Puzzle], int]:
    """Return the puzzles whose values differ from the solver's, and the number of solved puzzles.

    The solver skips puzzles that take more than `most_nodes` nodes.
    """
    solver, wrong, num_solved = Solver(ruleset, memory_mb=128), [], 0
    for puzzle in puzzles:
        position = Position.from_text(f"{ruleset.name} {puzzle.position}")
        if most_nodes is None:
            values = solver.action_values(position)
        else:
            values = solver.action_values_within(position, most_nodes)
        num_solved += values is not None
        if values is not None and [values[action] for action in sorted(values)] != puzzle.values:
            wrong.append(puzzle)
    return wrong, num_solved


def chosen(rows: Sequence[Puzzle], per_grade: int) -> list[Puzzle]:
    """Return at most `per_grade` puzzles of each grade; more if they are fewer than LEAST_PUZZLES in all."""
    by_grade = [[row for row in rows if row.grade == grade] for grade in range(1, GRADES + 1)]
    most = per_grade
    while sum(len(found[:most]) for found in by_grade) < min(LEAST_PUZZLES, len(rows)):
        most += 1
    return [puzzle for found in by_grade for puzzle in found[:most]]


def file_of(ruleset: Ruleset) -> Path:
    """Return the path of a ruleset's puzzles."""
    return FOLDER / f"{ruleset.name}.json"


def read(ruleset: Ruleset) -> list[Puzzle]:
    """Return the bundled puzzles of a ruleset."""
    return [Puzzle(*row) for row in json.loads(file_of(ruleset).read_text(encoding="utf-8"))["puzzles"]]


def text_of(ruleset: Ruleset, puzzles: Sequence[Puzzle]) -> str:
    """Return the content of the file of a ruleset."""
    rows = ",\n".join(json.dumps(astuple(puzzle), separators=(",", ":")) for puzzle in puzzles)
    return f'{{"agents":{json.dumps(agents_of(ruleset))},"puzzles":[\n{rows}\n]}}\n'


@in_one_line("make_puzzles", "the file of the current ruleset is unchanged")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the puzzles of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_puzzles", description=__doc__)
    parser.add_argument("rulesets", nargs="*", help="names of rulesets; by default all with solved positions")
    parser.add_argument("--per_grade", type=int, default=80, help="most puzzles of each grade (80)")
    parser.add_argument("--grade", action="store_true", help="only grade the bundled puzzles again")
    parser.add_argument("--check", action="store_true", help="only compare the values with the solver's")
    options = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    for ruleset in [lookup(name) for name in options.rulesets or rulesets_with("positions")]:
        if options.check:
            wrong, num_solved = differing(ruleset, read(ruleset))
            if wrong:
                raise MancalaError(f"{ruleset.name}: the solver finds other values: {wrong[0]}")
            print(f"{ruleset.name}: the values of {num_solved} puzzles are exact", flush=True)
            continue
        puzzles = grade_again(ruleset) if options.grade else make(ruleset, options.per_grade)
        file_of(ruleset).write_text(text_of(ruleset, puzzles), encoding="utf-8")
        per_grade = np.bincount([puzzle.grade for puzzle in puzzles], minlength=GRADES + 1)[1:]
        print(f"{ruleset.name}: {len(puzzles)} puzzles, by grade {per_grade.tolist()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
