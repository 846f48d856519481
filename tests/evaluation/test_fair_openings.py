"""Fair openings: their values are exact, and none is missing."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Position, cli, rulesets
from mancala_env._util import package_data
from mancala_env._util.package_data import rulesets_with
from mancala_env.evaluation import (
    InvalidMatch,
    NoFairOpenings,
    fair_openings,
    openings,
    play_matches,
)
from mancala_env.evaluation.fair_openings import _read, fair_games
from mancala_env.evaluation.openings import openings_hash, openings_to_evaluate
from mancala_env.solver import Solver
from mancala_env.solver.exact import OutOfTime
from tools import make_fair_openings
from tools.make_fair_openings import (
    TURNS,
    Decisions,
    arrays_of,
    find,
    lead_of,
    main,
    margin_within,
    positions_within,
    wrong_openings,
)

NAMES = rulesets_with("fair")
EVEN = "layli_goobalay"
HARD = (
    EVEN,
    "leyla_gobale_ii",
    "gabata_i",
    "gabata_five_holes",
    "ludii_leyla",
    "ludii_leyla_gobale_gabradarre",
    "ludii_leyla_gobale_somaliland",
    "ludii_gabata_i",
)
"""Rulesets whose positions take seconds."""
LONG = (
    "gabata_i",
    "leyla_gobale_ii",
    "ludii_leyla_gobale_gabradarre",
    "ludii_leyla_gobale_somaliland",
    "ludii_gabata_i",
)
"""Rulesets whose positions take ten seconds to minutes."""


def margin_of(solver: Solver, position: Position) -> int:
    """Return the final lead of the player to move under best play."""
    return lead_of(position) + solver.value(position)


@pytest.mark.parametrize("name", NAMES)
def test_fair_openings_are_distinct_running_positions_of_few_turns(name: str) -> None:
    found = fair_openings(name)
    assert len({opening.position.key for opening in found}) == len(found) > 0
    assert len({abs(opening.margin) for opening in found}) == 1
    assert [len(opening.turns) for opening in found] == sorted(len(opening.turns) for opening in found)
    for opening in found:
        position = opening.position
        assert len(opening.turns) <= TURNS
        assert not position.is_over
        assert set(opening.best_actions) <= set(position.legal_actions)
        assert opening.best_actions
        position.play(opening.best_actions[0])
        assert set(opening.replies) <= set(position.legal_actions)
        assert bool(opening.replies) != position.is_over


def test_a_position_is_a_new_copy_each_time() -> None:
    opening = fair_openings(EVEN)[0]
    opening.position.play(opening.best_actions[0])
    assert opening.position.key == Position.from_games(rulesets.lookup(EVEN), fair_games(opening.ruleset)).key


def test_the_openings_of_gabata_3_are_found_again_from_scratch() -> None:
    found, num_undecided = find(Decisions(Solver("gabata_3", memory_mb=64, use_book=False)), TURNS)
    assert tuple(found) == fair_openings("gabata_3")
    assert num_undecided == 0
    assert {abs(opening.margin) for opening in found} == {14}


def test_a_search_resumes_from_its_decided_positions(tmp_path, monkeypatch, capsys) -> None:
    words = ["gabata_3", "--memory_mb", "64", "--folder", str(tmp_path), "--kept", str(tmp_path / "kept")]
    assert main([*words, "--seconds_each", "0"]) == 2
    assert "took longer than 0 s" in capsys.readouterr().err
    assert main(words) == 0
    decided = (tmp_path / "kept").read_bytes()
    (tmp_path / "kept").write_bytes(decided + b'{"format":1,"mo')  # a killed program left half of a line
    searched: list[Position] = []

    def counted(solver: Solver, position: Position, *others: Any) -> int | None:
        searched.append(position)
        return margin_within(solver, position, *others)

    monkeypatch.setattr(make_fair_openings, "margin_within", counted)
    assert main(words) == 0
    assert (tmp_path / "kept").read_bytes() == decided
    assert not searched
    with pytest.raises(SystemExit):
        main(["leyla", *words])
    (tmp_path / "kept").write_bytes(b"[0, [1], null]\n")
    assert main(words) == 2
    assert "kept, line 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HARD])
def test_the_last_opening_has_its_value_without_the_book(name: str) -> None:
    opening = fair_openings(name)[-1]
    assert margin_of(Solver(name, memory_mb=256, use_book=False), opening.position) == opening.margin


@pytest.mark.parametrize("most", [0, 4, 14])
@pytest.mark.parametrize("guess", [-99, -5, 0, 1, 7, 99])
def test_guesses_and_known_bounds_change_no_margin(most: int, guess: int) -> None:
    solver = Solver("gabata_3", memory_mb=64, use_book=False)
    for position in list(positions_within(solver.ruleset, 2).values()):
        exact = lead_of(position) + solver.value(position)
        found = exact if abs(exact) <= most else None
        for bounds in ((-48, 48), (exact, 48), (-48, exact), (exact, exact)):
            assert margin_within(solver, position, most, guess, bounds) == found


def test_known_bounds_save_a_search() -> None:
    opening = fair_openings("gabata_3")[0]

    def nodes(lower: int, upper: int) -> int:
        solver = Solver("gabata_3", memory_mb=64, use_book=False)
        assert (
            margin_within(solver, opening.position, abs(opening.margin), 0, (lower, upper)) == opening.margin
        )
        return solver.nodes

    least, most, both = nodes(opening.margin, 48), nodes(-48, opening.margin), nodes(-48, 48)
    assert 0 < least < both
    assert 0 < most < both


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in LONG])
def test_some_openings_are_confirmed_without_the_book(name: str) -> None:
    """`make proofs` checks all openings of all rulesets."""
    openings = fair_openings(name)
    assert wrong_openings(openings[-1:] if name in HARD else openings[::20], memory_mb=256) == []


def test_wrong_openings_are_found(capsys) -> None:
    (right,) = fair_openings("gabata_3")
    legal = set(right.position.legal_actions)
    wrong = [
        replace(right, margin=right.margin + 2),
        replace(right, best_actions=tuple(legal - set(right.best_actions))),
        replace(right, replies=()),
    ]
    assert wrong_openings([right, *wrong], memory_mb=64) == wrong
    assert main(["gabata_3", "--check", "--memory_mb", "64"]) == 0
    assert "1 of 1" in capsys.readouterr().out


def test_a_check_that_fails_says_so(monkeypatch, capsys) -> None:
    (right,) = fair_openings("gabata_3")
    stored = [replace(right, margin=right.margin + 2)]
    monkeypatch.setattr(make_fair_openings, "fair_openings", lambda _: stored)
    assert main(["gabata_3", "--check", "--memory_mb", "64"]) == 1
    assert "0 of 1" in capsys.readouterr().out


def test_no_other_position_of_the_book_is_even() -> None:
    """The book has the value of every position of Layli Goobalay within four turns."""
    solver = Solver(EVEN)
    ruleset = rulesets.lookup(EVEN)
    even = {
        line
        for line, position in positions_within(ruleset, TURNS).items()
        if margin_of(solver, position) == 0
    }
    assert even == {opening.turns for opening in fair_openings(EVEN)}
    assert solver.nodes == 0


def test_fair_openings_are_a_set_of_openings() -> None:
    games = fair_games(rulesets.lookup(EVEN))
    drawn = openings(EVEN, len(games), 0, seed=3, opening_set="fair")
    assert {row.tobytes() for row in drawn} == {row.tobytes() for row in games}
    match = play_matches("greedy", "random", EVEN, games=4, opening_set="fair", seed=1)
    assert (match.opening_set, match.opening_turns) == ("fair", 0)
    assert "fair openings" in repr(match)
    assert openings_to_evaluate(None, EVEN, None)[0] == "balanced"
    with raises(InvalidMatch, 4, "fair"):
        play_matches("greedy", "random", EVEN, games=4, opening_set="fair", opening_turns=4)


def test_the_command_plays_from_fair_openings(capsys) -> None:
    words = ["evaluate", "greedy", "random", "--ruleset", EVEN, "--games", "4", "--opening_set", "fair"]
    assert cli.main([*words, "--no_ladder", "--no_regret", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["opening_set"], found["opening_turns"]) == ("fair", 0)


def test_fair_openings_have_a_hash_of_their_own() -> None:
    ruleset = rulesets.lookup(EVEN)
    hashes = {openings_hash(ruleset, opening_set) for opening_set in ("all", "balanced", "fair")}
    assert len(hashes) == 3


def test_a_ruleset_without_fair_openings_says_which_have_some() -> None:
    for call in (
        lambda: fair_openings("layli_goobalay_long"),
        lambda: openings("layli_goobalay_long", 2, 0, seed=1, opening_set="fair"),
    ):
        with raises(NoFairOpenings, "layli_goobalay_long", "gabata_3"):
            call()


def test_a_damaged_file_is_refused(tmp_path, monkeypatch) -> None:
    file = tmp_path / "fair_layli_goobalay_long.npz"
    arrays = arrays_of(fair_openings("gabata_3"))
    arrays["turns"] = np.array([[0, 0, 0, 99]], np.int8)
    np.savez_compressed(file, **arrays)
    monkeypatch.setattr(package_data, "DATA", tmp_path)
    for content in (file.read_bytes(), b"no archive"):
        file.write_bytes(content)
        with raises(NoFairOpenings, file.name):
            fair_openings("layli_goobalay_long")


def test_a_file_has_as_many_columns_as_turns_were_searched(tmp_path) -> None:
    for turns in (0, 1):
        words = ["gabata_3", "--turns", str(turns), "--folder", str(tmp_path), "--memory_mb", "64"]
        assert main(words) == 0
        with np.load(tmp_path / "fair_gabata_3.npz") as arrays:
            assert arrays["turns"].shape[1] == turns


@pytest.mark.parametrize("more", [[], ["--partial"]])
def test_an_incomplete_search_writes_no_file(more: list[str], tmp_path, capsys) -> None:
    words = ["gabata_3", "--seconds_each", "1e-9", "--folder", str(tmp_path), *more]
    assert main(words) == 2
    assert "1e-09" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_partial_file_leaves_out_what_is_undecided(tmp_path, monkeypatch, capsys) -> None:
    undecided = {fair_openings(EVEN)[1].position.key}

    def within_time(solver: Solver, position: Position, *others: Any) -> int | None:
        if position.key in undecided:
            raise OutOfTime("out of time")
        return margin_within(solver, position, *others)

    monkeypatch.setattr(make_fair_openings, "margin_within", within_time)
    words = [EVEN, "--turns", "2", "--folder", str(tmp_path)]
    assert main(words) == 2
    assert main([*words, "--partial"]) == 0
    assert "positions undecided" in capsys.readouterr().out
    monkeypatch.setattr(package_data, "DATA", tmp_path)
    complete = [one for one in fair_openings(EVEN) if len(one.turns) <= 2]
    _read.cache_clear()
    partial = fair_openings(EVEN)
    _read.cache_clear()
    assert set(partial) < set(complete)
    assert complete[1] not in partial


def test_positions_with_other_seeds_in_captured_holes_are_told_apart() -> None:
    """Books have equal keys for these two, because seeds in captured holes cannot be lost."""
    rules = rulesets.Ruleset(name="small", title="Small", row_width=3, seeds_per_hole=3)
    found = {position.key for position in positions_within(rules, 8).values()}
    for board in ("1,0,2n/2n,0,1 7-5 S", "1,0,4n/4n,0,1 5-3 S"):
        assert Position.from_text(f"small {board}", rules).key in found


def test_decided_positions_of_other_rules_are_refused(tmp_path, capsys) -> None:
    words = ["--turns", "1", "--memory_mb", "64", "--folder", str(tmp_path), "--kept", str(tmp_path / "kept")]
    assert main(["gabata_3", *words]) == 0
    assert main(["leyla_gobale_ii", *words]) == 2
    assert "decided positions of leyla_gobale_ii" in capsys.readouterr().err
    assert not (tmp_path / "fair_leyla_gobale_ii.npz").exists()
