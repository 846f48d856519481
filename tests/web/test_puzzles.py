"""The puzzles of the page: their values equal the solver's, and their grades those of their agents."""

import gzip
import random
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from page_in_node import FOLDER

from mancala_env import Position, agents
from mancala_env._util.package_data import rulesets_with
from mancala_env.rulesets import Ruleset, lookup
from tools import make_puzzles
from tools.make_puzzles import Puzzle

RULESETS = rulesets_with("positions")
LEAST = 200
MOST_BYTES = 20_000


@cache
def puzzles_of(name: str) -> tuple[Puzzle, ...]:
    return tuple(make_puzzles.read(lookup(name)))


def position_of(name: str, puzzle: Puzzle) -> Position:
    return Position.from_text(f"{name} {puzzle.position}")


def values_of(name: str, puzzle: Puzzle) -> dict[int, int]:
    return dict(zip(position_of(name, puzzle).legal_actions, puzzle.values, strict=True))


def test_the_page_lists_the_rulesets_with_puzzles() -> None:
    source = (FOLDER / "puzzle_set.js").read_text(encoding="utf-8")
    listed = re.findall(r'"(\w+)"', source[source.index("RULESETS = [") : source.index("];")])
    assert sorted(listed) == sorted(RULESETS)
    assert sorted(listed) == sorted(path.stem for path in (FOLDER / "puzzles").glob("*.json"))


def test_the_page_reads_the_tags_and_grades() -> None:
    source = (FOLDER / "puzzle_set.js").read_text(encoding="utf-8")
    tags = re.search(r"TAGS = \{(.*?)\}", source)
    assert tags is not None
    assert dict(re.findall(r'(\w): "(\w+)"', tags[1])) == {
        letter: tag for tag, letter in make_puzzles.TAGS.items()
    }
    assert f"GRADES = {list(range(1, make_puzzles.GRADES + 1))}" in source


@pytest.mark.parametrize("name", RULESETS)
def test_a_ruleset_has_many_puzzles_in_a_small_file(name: str) -> None:
    puzzles = puzzles_of(name)
    assert len(puzzles) >= LEAST
    assert len({puzzle.position for puzzle in puzzles}) == len(puzzles)
    content = make_puzzles.file_of(lookup(name)).read_bytes()
    assert content.decode() == make_puzzles.text_of(lookup(name), puzzles)
    assert len(gzip.compress(content)) < MOST_BYTES


@pytest.mark.parametrize("name", RULESETS)
def test_a_puzzle_has_one_clearly_best_action_and_its_grade_and_tags(name: str) -> None:
    grades = [puzzle.grade for puzzle in puzzles_of(name)]
    assert grades == sorted(grades)
    for puzzle in puzzles_of(name):
        position, values = position_of(name, puzzle), values_of(name, puzzle)
        assert make_puzzles.is_puzzle(values), puzzle
        assert puzzle.grade == make_puzzles.grade_of(puzzle.lookahead, puzzle.failing), puzzle
        assert puzzle.tags == make_puzzles.tags_of(position, values, puzzle.failing), puzzle


@pytest.mark.parametrize(
    ("lookahead", "failing", "grade"),
    [(1, 0, 1), (1, 0b1, 1), (2, 0b1, 2), (3, 0b11, 3), (5, 0b1, 3), (5, 0b111, 4), (9, 0b1111, 4)],
)
def test_a_grade_counts_turns_and_failing_agents(lookahead: int, failing: int, grade: int) -> None:
    assert make_puzzles.grade_of(lookahead, failing) == grade


def test_grades_are_filled_evenly_until_there_are_enough() -> None:
    rows = [Puzzle("", "", 1, 0, grade, []) for grade in [1] * 300 + [2] * 20 + [4] * 90]
    sizes = [
        np.bincount([row.grade for row in make_puzzles.chosen(rows, most)], minlength=5)[1:].tolist()
        for most in (80, 200)
    ]
    assert sizes == [[100, 20, 0, 90], [200, 20, 0, 90]]
    assert make_puzzles.chosen(rows[:30], 80) == rows[:30]


@pytest.mark.parametrize(
    ("text", "values", "tags"),
    [
        # S4 captures five seeds: Learn, Layli Goobalay, step 4.
        ("layli_goobalay 2,0,0,1,0,3/1,4,0,0,5,1 0-0 S", {0: -4, 3: 5, 5: -2}, "cm"),
        ("layli_goobalay 2,0,0,1,0,3/1,4,0,0,5,1 20-0 S", {0: -4, 3: 5, 5: -2}, "c"),
        # S4 makes an uur: step 6.
        ("layli_goobalay 2,0,0,1,0,3/1,3,0,0,5,1 0-0 S", {0: -4, 3: 4, 5: 0}, "om"),
        # S3 wins seeds back from N2: Learn, Leyla, step 6.
        ("leyla 0,0,3,0,6n,1/0,4n,0,2,5,1 0-0 S", {2: 9, 5: 2}, "r"),
    ],
)
def test_tags_say_what_the_best_action_does(text: str, values: dict[int, int], tags: str) -> None:
    position = Position.from_text(text)
    assert set(position.legal_actions) == values.keys()
    assert make_puzzles.tags_of(position, values, failing=0) == tags
    assert make_puzzles.tags_of(position, values, failing=0b10) == tags + "t"
    assert make_puzzles.tags_of(position, values, failing=0b100) == tags


@pytest.mark.slow
@pytest.mark.parametrize("name", RULESETS)
def test_values_are_those_of_the_solver(name: str) -> None:
    """Check the puzzles of a fixed sample that take few nodes; `make proofs` checks all puzzles."""
    sample = random.Random(name).sample(puzzles_of(name), 40)
    wrong, num_solved = make_puzzles.differing(lookup(name), sample, most_nodes=30_000)
    assert not wrong
    assert num_solved >= 20


def test_a_false_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzles = [replace(puzzles_of("gabata_3")[0], values=[1, 2, 3]), *puzzles_of("gabata_3")[1:3]]
    assert make_puzzles.differing(lookup("gabata_3"), puzzles) == (puzzles[:1], 3)
    monkeypatch.setattr(make_puzzles, "read", lambda _: puzzles[1:])
    assert make_puzzles.main(["gabata_3", "--check"]) == 0
    monkeypatch.setattr(make_puzzles, "read", lambda _: puzzles)
    assert make_puzzles.main(["gabata_3", "--check"]) == 2


def games_and_best(name: str, puzzles: list[Puzzle]) -> tuple[Ruleset, np.ndarray, np.ndarray]:
    games = np.concatenate([position_of(name, puzzle).games for puzzle in puzzles])
    values = [values_of(name, puzzle) for puzzle in puzzles]
    return lookup(name), games, np.array([max(found, key=found.__getitem__) for found in values])


@pytest.mark.slow
@pytest.mark.parametrize("name", RULESETS)
def test_lookahead_and_failing_agents_are_those_of_the_agents(name: str) -> None:
    puzzles = list(puzzles_of(name))
    given = games_and_best(name, puzzles)
    assert make_puzzles.lookaheads(*given).tolist() == [puzzle.lookahead for puzzle in puzzles]
    assert make_puzzles.failing_agents(*given).tolist() == [puzzle.failing for puzzle in puzzles]


@pytest.mark.parametrize("spec", make_puzzles.SEARCH_DEPTHS)
def test_searches_choose_as_their_agents_do(spec: str) -> None:
    puzzles = random.Random(3).sample(puzzles_of("leyla"), 60)
    ruleset, games, _ = games_and_best("leyla", puzzles)
    values = make_puzzles.searched(ruleset, games, make_puzzles.SEARCH_DEPTHS[spec])
    agent = agents.make(spec, ruleset, seed=1)
    is_best = values == values.max(axis=1, keepdims=True)
    chosen = np.zeros_like(is_best)
    for _ in range(40):
        chosen[np.arange(len(games)), agent.act(games)] = True
    assert (chosen == is_best).all()
