"""Openings for evaluation are held out from those for training."""

import itertools
import json
from typing import Any, cast

import numpy as np
import pytest
from error_checks import names, raises

from mancala_env import Batch, Position, Ruleset, layli_goobalay_v0, rulesets
from mancala_env._util.package_data import rulesets_with
from mancala_env.engine.holdout import rows_in_set
from mancala_env.engine.state import OWNED_COLUMN, PLAYER_COLUMN, SOUTH, STORE_COLUMN
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import (
    InvalidMatch,
    InvalidResults,
    evaluate,
    openings,
    play_matches,
    round_robin,
    stored_ladder,
)
from mancala_env.evaluation.balanced_openings import NoBalancedOpenings, balanced_openings
from mancala_env.evaluation.openings import (
    BUNDLED,
    every_opening,
    openings_hash,
    openings_to_evaluate,
    set_to_learn_from,
)
from mancala_env.solver import Solver
from mancala_env.solver.book import load_book
from mancala_env.training.rollout import SelfPlayEnv
from tools import make_openings
from tools.make_openings import TURNS, margins_by_book


def rows(games):
    return {row.tobytes() for row in games}


def test_no_opening_is_in_both_sets():
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        drawn = openings(name, 2000, 4, seed=1)
        is_held_out = rows_in_set(ruleset, drawn, "evaluation")
        assert (is_held_out != rows_in_set(ruleset, drawn, "training")).all()
        assert rows_in_set(ruleset, drawn, "all").all()
        held_out, kept = (
            rows(openings(name, 300, 4, seed=1, opening_set=s)) for s in ("evaluation", "training")
        )
        assert not held_out & kept
        assert rows(drawn[is_held_out]) & held_out


MINE = Ruleset(row_width=4, seeds_per_hole=3)


@pytest.mark.parametrize(
    ("ruleset", "turns", "opening_set", "played_turns"),
    [
        ("leyla", None, "balanced", 0),
        ("leyla", 4, "evaluation", 4),
        ("leyla", 3, "evaluation", 3),
        ("leyla", 2, "all", 2),
        ("gabata_3", None, "evaluation", 4),
        ("ludii_leyla", None, "evaluation", 4),
        (MINE, None, "evaluation", 4),
    ],
)
def test_matches_use_balanced_openings_by_default(ruleset, turns, opening_set, played_turns, tmp_path):
    """A number of random turns can be set. Without balanced openings the default is four."""
    path = tmp_path / "games.jsonl"
    both = ["greedy", "random"]
    match = round_robin(both, ruleset, games=20, opening_turns=turns, results=path)[0]
    line = json.loads(path.read_text(encoding="utf-8"))
    assert (line["opening_set"], line["opening_turns"]) == (opening_set, played_turns)
    said = None if opening_set == "balanced" else played_turns
    again = round_robin(both, ruleset, games=20, opening_set=opening_set, opening_turns=said)[0]
    assert (match.margins == again.margins).all()
    straight = play_matches("greedy", "random", ruleset, games=2, opening_turns=turns)
    found = evaluate(both, ruleset, games=2, opening_turns=turns, ladder=False, regret=False)
    for result in (match, straight, straight.flipped(), found, *found.matches):
        assert (result.opening_set, result.opening_turns) == (opening_set, played_turns)


def test_results_say_from_which_openings():
    assert "(leyla, balanced openings): " in repr(play_matches("greedy", "random", "leyla", games=2))
    random = play_matches("greedy", "random", "leyla", games=2, opening_turns=3)
    assert "(leyla, openings of 3 random turns (evaluation)): " in repr(random)
    assert random.as_dict()["opening_turns"] == 3


def test_balanced_openings_are_no_number_of_random_turns():
    for play in (
        lambda **said: play_matches("greedy", "random", "leyla", games=2, **said),
        lambda **said: evaluate("greedy", "leyla", games=2, regret=False, **said),
    ):
        with raises(InvalidMatch, 6):
            play(opening_set="balanced", opening_turns=6)


@pytest.mark.parametrize(("name", "turns"), [("layli_goobalay", 0), ("layli_goobalay", 1), ("leyla", 2)])
def test_where_hardly_any_openings_are_held_out_all_are_taken(name, turns):
    assert openings_to_evaluate(None, name, turns) == ("all", turns)


def test_self_play_starts_from_openings_for_training():
    """20 % of all openings are not in the set; every game starts from one in it."""
    ruleset = rulesets.lookup("layli_goobalay")
    env = SelfPlayEnv(
        ruleset,
        "board",
        400,
        opening_turns=4,
        opening_share=1.0,
        pool=["random"],
        pool_share=0.5,
        seed=1,
        num_threads=1,
    )
    env.reset()
    mirror, pool = np.split(env.games, 2)
    opened = np.concatenate([mirror, pool[pool[:, PLAYER_COLUMN] == SOUTH]])
    assert len(opened) > 250
    assert rows_in_set(ruleset, opened, "training").all()


def test_environments_start_from_openings_for_training_where_that_is_asked_for():
    ruleset = rulesets.lookup("layli_goobalay")
    envs: Any = MancalaVectorEnv(200, ruleset, opening_set="training")
    envs.reset(seed=1)
    games = [envs.position(b).games for b in range(200)]
    env: Any = MancalaEnv(ruleset, opening_set="training")
    for seed in range(50):
        env.reset(seed=seed)
        games.append(env.position.games)
    two: Any = layli_goobalay_v0.raw_env(opening_turns=4, opening_set="training")
    for seed in range(50):
        two.reset(seed=seed)
        games.append(two.position.games)
    assert rows_in_set(ruleset, np.concatenate(games), "training").all()
    with raises(InvalidArgument, "opening_set"):
        MancalaEnv(ruleset, opening_set=cast(Any, "held out"))


def test_about_a_fifth_is_held_out():
    found = [every_opening(rulesets.lookup(name), 4) for name in rulesets.names()]
    marks = [
        rows_in_set(rulesets.lookup(name), listed, "evaluation")
        for name, listed in zip(rulesets.names(), found, strict=True)
        if listed is not None
    ]
    assert len(marks) >= 10
    assert np.concatenate(marks).mean() == pytest.approx(0.2, abs=0.02)


def test_the_seat_and_the_stores_do_not_matter():
    """The mirror image of an opening with the other player to move is the same opening for an agent."""
    ruleset = rulesets.lookup("leyla")
    games = openings(ruleset, 500, 4, seed=1)
    mirrored = games.copy()
    seeds = games[:, :3].copy().view(np.uint8)
    seeds[:, :12] = np.roll(seeds[:, :12], 6, axis=1)
    mirrored[:, :3] = seeds.view(np.uint64)
    owned = games[:, [OWNED_COLUMN + 1, OWNED_COLUMN]]
    mirrored[:, OWNED_COLUMN : OWNED_COLUMN + 2] = (owned >> 6) | ((owned & 63) << 6)
    mirrored[:, PLAYER_COLUMN] = 1 - games[:, PLAYER_COLUMN]
    mirrored[:, STORE_COLUMN] = 3
    is_held_out = rows_in_set(ruleset, games, "evaluation")
    assert (rows_in_set(ruleset, mirrored, "evaluation") == is_held_out).all()
    mirrored[:, PLAYER_COLUMN] = games[:, PLAYER_COLUMN]
    assert (rows_in_set(ruleset, mirrored, "evaluation") != is_held_out).any()


def test_a_batch_begins_with_openings_of_its_set():
    ruleset = rulesets.lookup("layli_goobalay")
    for opening_set in ("training", "evaluation"):
        batch = Batch("layli_goobalay", 500, seed=1, opening_turns=4, opening_set=opening_set)
        assert rows_in_set(ruleset, batch.games, opening_set).all()
        assert not (batch.games == Batch("layli_goobalay", 500, seed=1, opening_turns=4).games).all()
    assert len(rows(Batch("layli_goobalay", 50, opening_set="evaluation").games)) == 1
    with raises(InvalidArgument, "opening_set"):
        Batch("layli_goobalay", 1, opening_set=cast(Any, "held out"))


def test_few_openings_are_listed_and_dealt_like_a_deck():
    ruleset = rulesets.lookup("layli_goobalay")
    listed = every_opening(ruleset, 4)
    assert listed is not None
    assert len(listed) == len(rows(listed)) == 607  # all openings that 20,000 draws found
    assert rows(openings(ruleset, 4000, 4, seed=1)) <= rows(listed)
    deck = int(rows_in_set(ruleset, listed, "evaluation").sum())
    dealt = openings(ruleset, 2 * deck, 4, seed=3, opening_set="evaluation")
    assert len(rows(dealt)) == len(rows(dealt[:deck])) == len(rows(dealt[deck:])) == deck
    assert (dealt[:deck] != dealt[deck:]).any()


@pytest.mark.parametrize("name", ["layli_goobalay", "layli_goobalay_long"])
def test_opening_k_of_a_set_does_not_depend_on_how_many_are_drawn(name):
    many = openings(name, 500, 4, seed=9, opening_set="evaluation")
    assert (openings(name, 10, 4, seed=9, opening_set="evaluation") == many[:10]).all()
    assert (openings(name, 150, 4, seed=9, start=350, opening_set="evaluation") == many[350:]).all()
    assert (openings(name, 10, 4, seed=8, opening_set="evaluation") != many[:10]).any()


def test_no_openings_are_drawn_if_none_are_asked_for():
    for start, which in itertools.product((0, 3), ("all", "evaluation", "balanced")):
        assert openings("leyla", 0, 4, seed=9, start=start, opening_set=which).shape[0] == 0


def test_many_openings_are_drawn():
    ruleset = rulesets.lookup("layli_goobalay_long")
    assert every_opening(ruleset, 4) is None
    drawn = openings(ruleset, 400, 4, seed=1, opening_set="evaluation")
    assert rows_in_set(ruleset, drawn, "evaluation").all()
    assert len(rows(drawn)) > 200
    assert set(drawn[:, PLAYER_COLUMN].tolist()) == {0}


def test_a_set_that_is_empty_or_unknown_is_refused():
    with raises(InvalidMatch, 1, "layli_goobalay"):
        openings("layli_goobalay", 1, 1, seed=1, opening_set="evaluation")
    with raises(InvalidMatch, "opening_turns"):
        openings("layli_goobalay", 1, 0, seed=1, opening_set="training")
    with raises(InvalidMatch, "evaluation", "balanced", "test"):
        openings("layli_goobalay", 1, 4, seed=1, opening_set=cast(Any, "test"))
    wrongs: list[Any] = [(-3, 0, 1), (1, -1, 1), (1, 0, -1), (1, 0, None), (1, 0, 1.5)]
    for count, start, seed in wrongs:
        with raises(InvalidArgument, 0):
            openings("layli_goobalay", count, 4, seed, start, opening_set="balanced")


def test_no_file_of_no_balanced_openings_is_written(tmp_path, capsys) -> None:
    words = [
        "layli_goobalay",
        "--turns",
        "3",
        "3",
        "--within",
        "-1",
        "--depth",
        "1",
        "--folder",
        str(tmp_path),
    ]
    assert make_openings.main(words) == 2
    assert names(capsys.readouterr().err, [-1, "--within"])
    assert not list(tmp_path.iterdir())


def test_a_set_to_learn_from_holds_no_opening_of_the_evaluation() -> None:
    assert set_to_learn_from("layli_goobalay", 4) == "training"
    assert set_to_learn_from("layli_goobalay", 0) == "all"


def test_games_of_a_set_are_filed_apart(tmp_path):
    path = tmp_path / "results.jsonl"
    both = ["random", "greedy"]
    every = round_robin(both, "leyla", games=20, results=path, opening_set="all")[0]
    held_out = round_robin(both, "leyla", games=20, results=path, opening_set="evaluation")[0]
    first, second = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert (first["format"], first["opening_set"]) == (1, "all")
    assert (second["format"], second["opening_set"]) == (2, "evaluation")
    assert (every.margins != held_out.margins).any()
    content = path.read_bytes()
    again = round_robin(both, "leyla", games=20, results=path, opening_set="evaluation")[0]
    assert path.read_bytes() == content
    assert (again.margins == held_out.margins).all()


def test_games_of_balanced_openings_that_were_made_again_are_others(tmp_path, monkeypatch):
    results = tmp_path / "results.jsonl"
    round_robin(["random", "greedy"], "leyla", games=2, results=results)
    round_robin(["random", "greedy"], "leyla", games=2, results=results)
    assert len(results.read_text(encoding="utf-8").splitlines()) == 1
    monkeypatch.setitem(BUNDLED, "balanced", lambda ruleset: balanced_openings(ruleset)[::-1])
    round_robin(["random", "greedy"], "leyla", games=2, results=results)
    assert len(results.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"opening_turns": -1}, ["opening_turns", 0, 12, -1]),
        ({"opening_turns": "4"}, ["opening_turns", 0, 12, "4"]),
        ({"opening_set": "foo"}, ["opening_set", "all", "foo"]),
    ],
)
def test_a_rating_and_a_match_refuse_the_same_openings(wrong, said):
    with raises(InvalidMatch, said):
        evaluate("greedy", "leyla", games=2, regret=False, **wrong)
    with raises(InvalidMatch, said):
        play_matches("greedy", "random", "leyla", games=2, **wrong)


def test_results_from_before_there_were_sets_are_of_all_openings(tmp_path):
    path = tmp_path / "results.jsonl"
    both = ["random", "greedy"]
    before = round_robin(both, "leyla", games=20, results=path, opening_set="all")[0]
    line = json.loads(path.read_text(encoding="utf-8"))
    del line["opening_set"]
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    again = round_robin(both, "leyla", games=20, results=path, opening_set="all")[0]
    assert (again.margins == before.margins).all()
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1
    round_robin(both, "leyla", games=20, results=path, opening_set="evaluation")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    path.write_text(json.dumps(line | {"opening_set": "some"}) + "\n", encoding="utf-8")
    with raises(InvalidResults, "line 1"):
        round_robin(both, "leyla", games=20, results=path, opening_set="all")


def test_the_ladder_is_for_its_own_openings():
    stored = stored_ladder("leyla")
    found = evaluate("greedy", "leyla", games=2, regret=False)
    assert found.opening_set == stored.opening_set == "balanced"
    refused: list[dict[str, Any]] = [{"opening_set": "evaluation"}, {"opening_turns": 4}]
    for said in refused:
        with raises(InvalidMatch, "balanced", 4):
            evaluate("greedy", "leyla", games=2, **said)
    assert (
        evaluate("greedy", "ludii_leyla", games=2, regret=False, opening_turns=4).opening_set == "evaluation"
    )
    found = evaluate(
        ["greedy", "random"], "leyla", games=2, opening_set="evaluation", ladder=False, regret=False
    )
    assert found.as_dict()["opening_set"] == "evaluation"


@pytest.mark.parametrize("name", rulesets_with("openings"))
def test_balanced_openings_are_held_out_and_even_as_far_as_the_book_knows(name):
    ruleset = rulesets.lookup(name)
    games = balanced_openings(ruleset)
    assert len(games) >= 50
    assert len(rows(games)) == len(games)
    assert rows_in_set(ruleset, games, "evaluation").all()
    book = load_book(ruleset)
    if book is not None:
        margins = margins_by_book(book, games)
        assert (np.abs(margins[~np.isnan(margins)]) <= 2).all()
        assert (~np.isnan(margins)).any() or book.depths.max() < TURNS[0]


def test_the_stored_ladders_are_of_the_balanced_openings_that_are_bundled():
    ladders = [(name, stored_ladder(name)) for name in rulesets.names()]
    assert {name for name, ladder in ladders if ladder.openings} == set(rulesets_with("openings"))
    for name, ladder in ladders:
        assert ladder.openings == openings_hash(rulesets.lookup(name), ladder.opening_set), name


def test_balanced_openings_are_dealt_like_a_deck():
    games = balanced_openings(rulesets.lookup("layli_goobalay"))
    dealt = openings("layli_goobalay", len(games), 4, seed=3, opening_set="balanced")
    assert rows(dealt) == rows(games)
    later = openings("layli_goobalay", 20, 0, seed=3, start=len(games) - 10, opening_set="balanced")
    assert (later[:10] == dealt[-10:]).all()
    (match,) = round_robin(["greedy", "random"], "layli_goobalay", games=20, opening_set="balanced")
    assert match.games == 20


def test_a_margin_by_the_book_is_what_the_solver_finds():
    ruleset = rulesets.lookup("layli_goobalay")
    book = load_book(ruleset)
    assert book is not None
    games = book.games[book.depths == 5][::500]
    for n, margin in enumerate(margins_by_book(book, games)):
        position = Position.from_games(ruleset, games, n)
        lead = position.stores[position.player] - position.stores[1 - position.player]
        assert margin == lead + Solver(ruleset, memory_mb=16).value(position)


def test_a_ruleset_without_balanced_openings_says_which_have_some():
    mine = Ruleset(row_width=3, seeds_per_hole=3)
    with raises(NoBalancedOpenings, "layli_goobalay"):
        openings(mine, 4, 4, seed=1, opening_set="balanced")
    with raises(InvalidMatch, "even"):
        openings("leyla", 4, 4, seed=1, opening_set=cast(Any, "even"))
