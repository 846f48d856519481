"""The opening book: its values are exact, need no search, and are for one ruleset only."""

from pathlib import Path

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Position, Ruleset, solver
from mancala_env._util.package_data import rulesets_with
from mancala_env.engine.state import TERRITORY_COLUMN
from mancala_env.rulesets import lookup
from mancala_env.solver import Solver, book
from tools import make_book
from tools.make_book import Draft

SMALL = Ruleset(row_width=3, seeds_per_hole=2, landing="uur")


def draft_of(turns: int) -> make_book.Draft:
    return make_book.Draft(SMALL, turns)


def solved(draft: make_book.Draft, first: int = 0) -> make_book.Draft:
    exact = solver.Solver(SMALL, memory_mb=1, use_book=False)
    draft.solve(exact, first, seconds=60.0, save=lambda: None)
    return draft


@pytest.fixture(scope="module")
def small_book() -> book.Book:
    return solved(draft_of(3)).book()


def test_opening_positions_are_what_the_first_turns_reach() -> None:
    games, depths = book.opening_positions(lookup("layli_goobalay"), 2)
    assert depths.tolist() == sorted(depths)
    reached = {book.keys_of(lookup("layli_goobalay"), Position("layli_goobalay").games)[0]}
    for first in range(6):
        after = Position("layli_goobalay")
        after.play(first)
        reached.add(book.keys_of(after.ruleset, after.games)[0])
        for second in after.legal_actions:
            last = after.copy()
            last.play(second)
            if not last.is_over:
                reached.add(book.keys_of(last.ruleset, last.games)[0])
    assert set(book.keys_of(lookup("layli_goobalay"), games)) == reached
    assert len(games) == len(reached)


def test_a_new_book_equals_the_solver(small_book: book.Book) -> None:
    exact = solver.Solver(SMALL, memory_mb=1, use_book=False)
    assert (small_book.rests != book.UNKNOWN).all()
    assert len(small_book.games) > 10
    for n in range(len(small_book.games)):
        position = Position.from_games(SMALL, small_book.games, n)
        rest = small_book.rest(position.games)
        assert rest is not None
        owned = [int(position.seeds[position.owner == player].sum()) for player in (0, 1)]
        sure = owned[position.player] - owned[1 - position.player]
        assert exact.value(position) == sure + rest


def test_a_book_knows_a_position_by_board_player_and_stall_counter(small_book: book.Book) -> None:
    start = Position(SMALL)
    assert small_book.rest(start.games) is not None
    assert small_book.rest(Position(SMALL, player=1).games) == small_book.rest(start.games)
    stores = Position(SMALL, [1, 2, 0, 0, 2, 1], stores=(6, 0))
    assert small_book.rest(stores.games) is None
    assert small_book.rest(Position(SMALL, start.seeds, stall=7).games) is None


def test_the_last_turns_positions_give_all_before_them(small_book: book.Book) -> None:
    backwards = solved(draft_of(3), first=3).book()
    assert (backwards.rests == small_book.rests).all()


def test_a_book_that_was_interrupted_resumes_from_its_file(small_book: book.Book, tmp_path: Path) -> None:
    file = tmp_path / "book_small.npz"
    stopped = draft_of(3)
    exact = solver.Solver(SMALL, memory_mb=1, use_book=False)
    stopped.solve(exact, 0, seconds=-1.0, save=lambda: None)
    assert stopped.rests()[0] == book.UNKNOWN
    solved(draft_of(1)).write(file)
    resumed = draft_of(3)
    resumed.read(file)
    assert resumed.known()[0] == "1/1"
    assert (resumed.rests() == book.UNKNOWN).any()
    assert (solved(resumed).rests() == small_book.rests).all()
    resumed.write(file)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert (book.Book.of_file(SMALL, file).rests == small_book.rests).all()


def test_the_line_of_a_book_is_best_play_to_the_end(small_book: book.Book) -> None:
    position, exact = Position(SMALL), solver.Solver(SMALL, memory_mb=1, use_book=False)
    for action in small_book.line:
        assert small_book.action(position.games) == action
        assert action in exact.best_actions(position)
        position.play(action)
    assert position.is_over


def test_a_book_of_other_rules_is_refused() -> None:
    for values in (5, 11):  # 11 is the right number
        with pytest.raises(book.InvalidBook, match="other rules"):
            book.Book(SMALL, 2, np.zeros(values, np.int16), checksum=1)


def test_no_book_where_the_seat_matters() -> None:
    with raises(book.InvalidBook, "South"):
        make_book.Draft(lookup("ludii_leyla_gobale_somaliland"), 1)


@pytest.mark.parametrize("name", rulesets_with("book"))
def test_the_bundled_books_answer_at_once(name: str) -> None:
    shipped = book.load_book(lookup(name))
    assert shipped is not None
    assert (shipped.rests != book.UNKNOWN).sum() >= 7
    solution = solver.solve(Position(name))
    assert solution.nodes == 0
    assert solution.is_exact
    assert max(solution.action_values.values()) == solution.value
    assert solver.Solver(name, memory_mb=1).best_actions(Position(name)) == solution.best_actions


@pytest.mark.parametrize("name", rulesets_with("book"))
def test_bundled_values_agree_with_the_values_after_each_turn(name: str) -> None:
    """The book has a position's value and those of its actions, whose best is equal to it."""
    ruleset = lookup(name)
    shipped = book.load_book(ruleset)
    assert shipped is not None
    known = solver.Solver(ruleset, memory_mb=1)
    checked = 0
    for n in np.flatnonzero(shipped.depths < shipped.turns):
        position = Position.from_games(ruleset, shipped.games, n)
        afters = []
        for action in position.legal_actions:
            after = position.copy()
            after.play(action)
            won = after.stores[position.player] - position.stores[position.player]
            lost = after.stores[1 - position.player] - position.stores[1 - position.player]
            lower, upper = known.known_bounds(after)
            sign = 1 if after.player == position.player else -1
            afters.append((lower == upper, won - lost + sign * lower))
        lower, upper = known.known_bounds(position)
        if lower == upper and all(is_known for is_known, _ in afters):
            assert lower == max(value for _, value in afters), position.to_text()
            checked += 1
    assert checked >= 1


def test_the_published_values_of_the_openings() -> None:
    published = {
        "layli_goobalay": 8,
        "leyla_gobale_ii": 0,
        "leyla": -16,
        "gabata_five_holes": 12,
        "gabata_i": -12,
        "ludii_leyla": -14,
    }
    assert set(rulesets_with("book")) == set(published)
    for name, value in published.items():
        assert solver.Solver(name, memory_mb=1).known_bounds(Position(name)) == (value, value)


def test_a_budget_that_is_spent_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--turns", "1", "--memory_mb", "8", "--folder", str(tmp_path)]
    assert make_book.main(["gabata_seven_holes", "--budget", "0.05", *options]) == 0
    assert "; --budget 0.05 is spent" in capsys.readouterr().out


BOOKS_OF_TERRITORY = [name for name in rulesets_with("book") if lookup(name).match == "territory"]


@pytest.mark.parametrize("name", BOOKS_OF_TERRITORY)
def test_a_book_does_not_know_games_in_which_territory_has_changed_hands(name: str) -> None:
    """Boards of the book, but with other legal holes."""
    shipped, start = book.load_book(lookup(name)), Position(name)
    assert shipped is not None
    assert BOOKS_OF_TERRITORY
    width = start.ruleset.row_width
    exact = solver.Solver(name, memory_mb=1)
    for player in (0, 1):
        # The book holds for other rounds if territory has not changed.
        same = Position(name, start.seeds, player=player, round=2)
        assert shipped.rest(same.games) == shipped.rest(start.games)
        assert shipped.action(same.games) == shipped.action(start.games)
        lower, upper = exact.known_bounds(same)
        assert lower == upper == shipped.rest(start.games)
        for gained in range(1, width):
            for territory in (
                [0] * (width + gained) + [1] * (width - gained),
                [1] * gained + [0] * (width - gained) + [1] * width,
            ):
                other = Position(name, start.seeds, player=player, territory=territory, round=2)
                assert shipped.rest(other.games) is None
                assert shipped.action(other.games) is None
                lower, upper = exact.known_bounds(other)
                assert lower < upper


@pytest.mark.parametrize("name", BOOKS_OF_TERRITORY)
def test_no_position_of_a_book_is_known_with_another_territory(name: str) -> None:
    shipped = book.load_book(lookup(name))
    assert shipped is not None
    width = shipped.ruleset.row_width
    for n in range(0, len(shipped.games), max(1, len(shipped.games) // 50)):
        games = shipped.games[n : n + 1].copy()
        games[0, TERRITORY_COLUMN] |= np.uint64(1 << width)
        assert shipped.rest(games) is None


def test_a_book_tells_positions_with_other_seeds_in_captured_holes_apart() -> None:
    """The keys of such positions are equal, because these seeds cannot be lost."""
    rules = Ruleset(name="small", title="Small", row_width=3, seeds_per_hole=3)
    draft = Draft(rules, 7)
    draft.solve(Solver(rules, memory_mb=8, use_book=False), 0, 600.0, lambda: None)
    exact = Solver(rules, memory_mb=8, use_book=False)
    assert draft.is_whole()
    assert [entry.lower for entry in draft._entries] == [
        exact.value(entry.position) for entry in draft._entries
    ]
