"""Matches, the resumable round robin, the ladder and the evaluation made of them."""

import inspect
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from boards import finished
from error_checks import raises

from mancala_env import IllegalMove, InvalidPosition, Position, agents, rulesets
from mancala_env.agents import Agent, InvalidSpec
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import (
    InvalidMatch,
    InvalidResults,
    NoLadder,
    evaluate,
    fit_ratings,
    ladder,
    measure_regret,
    openings,
    own_games_regret,
    play_matches,
    play_openings,
    round_robin,
    stored_ladder,
)
from mancala_env.evaluation.match_options import EvaluationOptions, MatchOptions, RoundRobinOptions
from mancala_env.evaluation.matches import MOST_GAMES, MatchResult, num_pairs
from mancala_env.evaluation.openings import openings_to_evaluate
from mancala_env.evaluation.plots import plot_win_rates
from mancala_env.evaluation.round_robin import PAIRS_PER_CHUNK, MatchKey, _gaps, play_here
from mancala_env.games import records
from mancala_env.observations import num_features
from tools import make_ladders


class FirstLegal(Agent):
    """Plays the lowest legal action: deterministic and easy to follow."""

    def act(self, games):
        return np.array(
            [Position.from_games(self.ruleset, games, b).legal_actions[0] for b in range(len(games))]
        )


class LastLegal(Agent):
    """Plays the highest legal action."""

    def act(self, games):
        return np.array(
            [Position.from_games(self.ruleset, games, b).legal_actions[-1] for b in range(len(games))]
        )


class Unlawful(Agent):
    """Plays action 0 even if it is illegal."""

    def act(self, games):
        return np.zeros(len(games), np.int64)


# Matches


def test_each_opening_is_played_from_both_seats():
    """Replay the games of a pair with Position, from the same opening."""
    ruleset = rulesets.lookup("leyla")
    drawn = openings(ruleset, 12, 4, seed=5)
    first, second = FirstLegal(ruleset, spec="first"), LastLegal(ruleset, spec="last")
    result = play_openings(first, second, drawn)
    for pair in range(12):
        for seat in (0, 1):
            game = Position.from_games(ruleset, drawn, pair)
            while not game.is_over:
                mine = game.player == seat
                game.play(game.legal_actions[0] if mine else game.legal_actions[-1])
            lead = game.counts[seat] - game.counts[1 - seat]
            assert result.margins[pair, seat] == lead


def test_an_agent_that_never_draws_lots_scores_half_against_itself():
    for name in ("layli_goobalay", "gabata_i"):
        agent = FirstLegal(name, spec="first")
        result = play_matches(agent, agent, name, games=40, seed=3)
        assert result.win_rate == 0.5
        assert (result.pair_scores == 0.5).all()
        assert result.mean_margin == 0


def test_a_match_seen_from_the_other_side():
    result = play_matches("greedy", "random", "leyla", games=60, seed=2, num_threads=1)
    other = result.flipped()
    assert (result.wins, result.draws, result.losses) == (other.losses, other.draws, other.wins)
    assert result.games == result.wins + result.draws + result.losses == 60
    assert result.by_seat["South"] == other.by_seat["North"][::-1]
    assert result.win_rate == pytest.approx(1 - other.win_rate)
    assert result.interval[0] < result.win_rate < result.interval[1]
    assert sum(result.pair_counts) == 30
    numbers = json.loads(json.dumps(result.as_dict()))
    assert numbers["wins"] == result.wins


def test_a_match_counts_wins_draws_and_losses_by_seat():
    margins = np.array([[5, 0], [1, -3], [0, -1], [-2, 0], [4, 0], [7, 2]], np.int16)
    result = MatchResult("a", "b", "leyla", margins)
    assert result.by_seat == {"South": (4, 1, 1), "North": (1, 3, 2)}
    assert (result.wins, result.draws, result.losses, result.games) == (5, 4, 3, 12)
    assert result.pair_scores.tolist() == [0.75, 0.5, 0.25, 0.25, 0.75, 1]
    assert result.pair_counts.tolist() == [0, 2, 1, 2, 1]
    assert (result.win_rate, result.mean_margin) == (7 / 12, 13 / 12)
    found = result.as_dict()
    assert (found["as_south"], found["as_north"]) == ([4, 1, 1], [1, 3, 2])
    again = np.array([0, 1, 0, 1, 0, 2])
    assert (result.num_openings, replace(result, openings=again).num_openings) == (6, 3)


def test_a_seed_repeats_a_match():
    once, again = (play_matches("greedy", "random", "leyla", games=40, seed=7) for _ in range(2))
    assert (once.margins == again.margins).all()
    other = play_matches("greedy", "random", "leyla", games=40, seed=8)
    assert (once.margins != other.margins).any()


def test_a_seed_decides_what_agents_play_that_were_passed():
    """Agents may have played before, and both are random."""
    ruleset = "leyla"
    one, other = (agents.make("random", ruleset, seed=seed) for seed in (11, 12))
    as_specs = play_matches("random", "random", ruleset, games=20, seed=7).margins.tolist()
    for first, second in ((one, other), (one, "random"), ("random", other), (other, one)):
        for _ in range(2):
            assert play_matches(first, second, ruleset, games=20, seed=7).margins.tolist() == as_specs
    assert play_matches(one, other, ruleset, games=20, seed=8).margins.tolist() != as_specs


def test_both_agents_of_a_match_draw_lots_of_their_own():
    """With one seed, equal agents would play the same actions in equal positions."""

    class Seeds(FirstLegal):
        def seed(self, seed):
            super().seed(seed)
            self.given = seed

    one, other = (Seeds("leyla", spec=spec) for spec in ("one", "other"))
    given = []
    for seed in (7, 7, 8):
        play_matches(one, other, "leyla", games=2, seed=seed)
        given.append((one.given, other.given))
    assert given[0] == given[1]
    assert len({*given[0], *given[2]}) == 4


def test_a_round_robin_of_agents_that_have_played_is_the_same_again():
    made = [agents.make(spec, "gabata_five_holes", seed=5) for spec in ("random", "mcts:5")]
    found = [round_robin(made, "gabata_five_holes", games=20)[0].margins.tolist() for _ in range(2)]
    assert found[0] == found[1]
    assert found[0] == round_robin(["random", "mcts:5"], "gabata_five_holes", games=20)[0].margins.tolist()


def test_an_evaluation_of_an_agent_that_has_played_is_the_same_again():
    agent = agents.make("random", "layli_goobalay", seed=5)
    once, again, other = (
        evaluate([agent, "greedy"], "layli_goobalay", games=4, ladder=False, seed=seed).as_dict()
        for seed in (1, 1, 2)
    )
    assert once == again
    assert once["regrets"][0] != other["regrets"][0]


def test_opening_k_does_not_depend_on_how_many_are_drawn():
    many = openings("gabata_i", 50, 4, seed=9)
    assert (openings("gabata_i", 10, 4, seed=9) == many[:10]).all()
    assert (openings("gabata_i", 10, 4, seed=9, start=40) == many[40:]).all()
    assert len(np.unique(many, axis=0)) > 25


def test_without_opening_turns_every_game_starts_at_the_start():
    assert (openings("leyla", 3, 0, seed=1) == Position("leyla").games).all()


def test_greedy_beats_random_everywhere_but_in_the_decided_game():
    for name in rulesets.names():
        if name != "gabata_3":  # South always wins it
            assert play_matches("greedy", "random", name, games=1000, seed=1).interval[0] > 0.5


def test_matches_of_rounds_end_by_the_rules_of_the_match():
    result = play_matches("greedy", "random", "layli_goobalay", games=40, rounds="match", seed=1)
    assert result.games == 40
    single = play_matches("greedy", "random", "layli_goobalay", games=40, rounds=1, seed=1)
    assert (result.margins != single.margins).any()
    # After a match that ends by the rules, the loser has fewer seeds than holes.
    assert np.abs(result.margins).min() > 48 - 2 * 6


def test_progress_ends_with_all_games():
    seen = []
    play_matches("random", "random", "leyla", games=20, seed=1, progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (20, 20)
    assert seen == sorted(seen)


@pytest.mark.parametrize("games", [0, -2, 7, 2.0, True, "20"])
def test_games_must_pair_up(games):
    with pytest.raises(InvalidMatch):
        play_matches("random", "greedy", "leyla", games=games)


def test_a_match_has_two_to_ten_million_games():
    assert [num_pairs(games) for games in (2, 4, MOST_GAMES)] == [1, 2, MOST_GAMES // 2]
    for games in (0, MOST_GAMES + 1, MOST_GAMES + 2):
        with pytest.raises(InvalidMatch, match=str(games)):
            num_pairs(games)


def test_openings_are_not_played_over_rounds_that_an_agent_cannot_play():
    class OneRound(FirstLegal):
        def check_rounds(self, rounds):
            if rounds != 1:
                raise InvalidSpec(f"one round, not {rounds!r}")

    agent, other = OneRound("leyla", spec="one"), FirstLegal("leyla", spec="other")
    drawn = openings("leyla", 2, 4, 1)
    assert play_openings(agent, other, drawn).games == 4
    for pair in ((agent, other), (other, agent)):
        with pytest.raises(InvalidSpec, match="one round, not 2"):
            play_openings(*pair, drawn, rounds=2)


def test_the_openings_of_a_match_depend_on_all_that_identifies_it_but_the_versions():
    key = MatchKey("0.1.0", "leyla", "1234", 1, 4, 0, "greedy", "random", "evaluation", "")
    others = {"ruleset": "gabata_i", "rules": "4321", "rounds": 2, "opening_turns": 3, "seed": 1,
              "first": "minimax:1", "second": "mcts:1", "opening_set": "training"}  # fmt: skip
    found = [key.numbers(), *(key._replace(**{name: value}).numbers() for name, value in others.items())]
    assert len({tuple(numbers) for numbers in found}) == len(found)
    assert key._replace(package="0.2.0", openings="abcd").numbers() == key.numbers()


@pytest.mark.parametrize("turns", [-1, 13, 2.5])
def test_opening_turns_out_of_range(turns):
    with raises(InvalidMatch, "opening_turns", 0, 12):
        play_matches("random", "greedy", "leyla", games=2, opening_turns=turns)


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_an_invalid_seed_is_refused_before_anybody_plays(seed, tmp_path):
    results = tmp_path / "results.jsonl"
    with raises(InvalidArgument, "seed"):
        play_matches("random", "greedy", "leyla", games=2, seed=seed)
    with raises(InvalidArgument, "seed"):
        round_robin(["random", "greedy"], "leyla", games=2, seed=seed, results=results)
    with raises(InvalidArgument, "seed"):
        evaluate(["random", "greedy"], "leyla", games=2, seed=seed, results=results)
    assert not results.exists()


def test_an_agent_that_breaks_the_rules_is_named():
    with raises(IllegalMove, "unlawful", "action 0", "leyla"):
        play_matches(Unlawful("leyla", spec="unlawful"), "random", "leyla", games=20, seed=1)


def test_agents_of_two_rulesets_cannot_meet():
    with raises(InvalidSpec, "leyla", "gabata_i"):
        play_matches(agents.make("random", "leyla"), "greedy", "gabata_i", games=2)
    one, other = agents.make("random", "leyla"), agents.make("random", "gabata_i")
    with raises(InvalidMatch, "leyla", "gabata_i"):
        play_openings(one, other, openings("leyla", 1, 0, 0))


def test_openings_must_be_running_games():
    """A finished game once counted as a draw."""
    agent = agents.make("random", "leyla")
    games = np.concatenate([openings("leyla", 1, 0, 0), finished("leyla", (20, 28)).games])
    with raises(InvalidMatch, "number 1"):
        play_openings(agent, agent, games)


# The round robin and its file


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def played(path):
    """Return the margins of a results file by (agents, index); fails for a duplicate."""
    found = {}
    for line in lines_of(path):
        assert line["stop"] - line["start"] == len(line["margins"])
        for index, margins in enumerate(line["margins"], line["start"]):
            key = (line["first"], line["second"], index)
            assert key not in found
            found[key] = margins
    return found


def test_everybody_plays_everybody():
    matches = round_robin(["random", "greedy", "minimax:1"], "leyla", games=10)
    assert [(m.first, m.second) for m in matches] == [
        ("random", "greedy"),
        ("random", "minimax:1"),
        ("greedy", "minimax:1"),
    ]
    assert all(match.games == 10 for match in matches)


def test_a_file_of_results_says_everything_about_its_games(tmp_path):
    path = tmp_path / "results.jsonl"
    (match,) = round_robin(
        ["random", "greedy"], "leyla", games=2 * PAIRS_PER_CHUNK + 10, results=path, seed=4
    )
    first, second = lines_of(path)
    assert (first["start"], first["stop"], second["start"], second["stop"]) == (0, 32, 32, 37)
    assert first["ruleset"] == "leyla"
    assert (first["seed"], first["opening_turns"], first["rounds"]) == (4, 0, 1)
    assert first["opening_set"] == "balanced"
    assert (first["first"], first["second"]) == ("greedy", "random")
    assert match.flipped().margins.tolist() == first["margins"] + second["margins"]


def test_games_in_the_file_are_not_played_again_and_more_can_be_asked_for(tmp_path):
    path = tmp_path / "results.jsonl"
    before = round_robin(["random", "greedy"], "leyla", games=20, results=path)[0]
    content = path.read_bytes()
    again = round_robin(["greedy", "random"], "leyla", games=20, results=path)[0]  # in the other order
    assert path.read_bytes() == content
    assert (again.flipped().margins == before.margins).all()
    more = round_robin(["random", "greedy"], "leyla", games=100, results=path)[0]
    assert (more.margins[:10] == before.margins).all()
    assert len(played(path)) == 50
    fewer = round_robin(["random", "greedy"], "leyla", games=6, results=path)[0]
    assert (fewer.margins == before.margins[:3]).all()


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"opening_turns": 2}, {"rounds": 2}], ids=["seed", "opening", "rounds"]
)
def test_games_under_other_conditions_do_not_count(tmp_path, other):
    path = tmp_path / "results.jsonl"
    round_robin(["random", "greedy"], "layli_goobalay", games=20, results=path)
    round_robin(["random", "greedy"], "layli_goobalay", games=20, results=path, **other)
    round_robin(["random", "greedy"], "leyla", games=20, results=path)
    assert [line["stop"] for line in lines_of(path)] == [10, 10, 10]


def test_a_half_written_last_line_is_cut_off(tmp_path):
    path, whole = tmp_path / "results.jsonl", tmp_path / "whole.jsonl"
    for file in (path, whole):
        round_robin(["random", "greedy"], "leyla", games=200, results=file)
    content = path.read_bytes()
    for keep in (content.rfind(b"\n", 0, -1) + 1, len(content) - 400, len(content) - 1, 5):
        path.write_bytes(content[:keep])
        round_robin(["random", "greedy"], "leyla", games=200, results=path)
        assert played(path) == played(whole)


def test_a_line_that_is_there_twice_counts_once(tmp_path):
    path = tmp_path / "results.jsonl"
    (once,) = round_robin(["random", "greedy"], "leyla", games=20, results=path)
    path.write_text(path.read_text() * 2)
    (again,) = round_robin(["random", "greedy"], "leyla", games=20, results=path)
    assert again.games == 20
    assert (again.margins == once.margins).all()


@pytest.mark.parametrize(
    "content", [b"not a results file\n", b'{"format": 99}\n', b"{}\n", b"12\n", b"\xff\xfe"]
)
def test_another_kind_of_file_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with raises(InvalidResults, "notes.txt"):
        round_robin(["random", "greedy"], "leyla", games=4, results=path)
    assert path.read_bytes() == content


def test_two_processes_cannot_write_one_file(tmp_path):
    path = tmp_path / "results.jsonl"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from mancala_env.evaluation.round_robin import ResultsFile\n"
            f"with ResultsFile({str(path)!r}):\n    print('held', flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"held\n"
        with raises(InvalidResults, "process"):
            round_robin(["random", "greedy"], "leyla", games=4, results=path)
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
    assert round_robin(["random", "greedy"], "leyla", games=4, results=path)[0].games == 4


@pytest.mark.slow
def test_a_killed_evaluation_resumes_without_lost_or_duplicate_games(tmp_path):
    path, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    specs, games = ["random", "greedy", "minimax:1"], 30 * 2 * PAIRS_PER_CHUNK
    for lines in (5, 40):
        # It waits a few lines later, so that the kill comes while it plays.
        code = (
            "import time\nfrom pathlib import Path\nfrom mancala_env.evaluation import round_robin\n"
            f"path = Path({str(path)!r})\n"
            "def wait(*counts):\n"
            f"    while path.exists() and path.read_bytes().count(b'\\n') >= {lines + 5}: time.sleep(1)\n"
            f"round_robin({specs!r}, 'leyla', games={games}, results=path, num_threads=1, progress=wait)\n"
        )
        evaluation = subprocess.Popen([sys.executable, "-c", code])
        while evaluation.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < lines):
            time.sleep(0.005)
        evaluation.send_signal(signal.SIGKILL)
        assert evaluation.wait() == -signal.SIGKILL
    kept = played_whole_lines(path)
    assert 0 < len(kept) < 3 * games // 2
    resumed = round_robin(specs, "leyla", games=games, results=path)
    straight = round_robin(specs, "leyla", games=games, results=whole)
    assert played(path) == played(whole)
    assert len(played(path)) == 3 * games // 2
    assert kept.items() <= played(path).items()
    for one, other in zip(resumed, straight, strict=True):
        assert (one.margins == other.margins).all()


def played_whole_lines(path):
    text = path.read_text()
    path.write_text(text[: text.rfind("\n") + 1])
    return played(path)


def test_openings_and_who_plays_them_are_checked():
    greedy: Any = agents.make("greedy", "leyla")
    drawn: Any = openings("leyla", 2, 4, 1)
    spec: Any = "random"
    with raises(InvalidArgument, "agents", "agents.make", "random"):
        play_openings(greedy, spec, drawn)
    wrongs: list[Any] = [None, 5, [], "x", drawn.astype(np.int64), drawn[:, :3]]
    for wrong in wrongs:
        with raises(InvalidPosition, "games", "uint64"):
            play_openings(greedy, greedy, wrong)
    assert play_openings(greedy, greedy, drawn).games == 4


def test_an_agent_is_named_once():
    with raises(InvalidMatch, "greedy"):
        round_robin(["greedy", "random", "greedy"], "leyla", games=2)
    doors: list[Any] = [evaluate, round_robin]
    module = partial(torch.nn.Linear, num_features("leyla"), 6)
    namesakes = [agents.from_policy(module(), "leyla", name="mine") for _ in range(2)]
    for door in doors:
        with raises(InvalidMatch, "mine"):
            door(namesakes, "leyla")
        with raises(InvalidArgument, "specs", None):
            door(None, "leyla")
    with raises(InvalidMatch, "specs"):
        evaluate([], "leyla")
    with raises(InvalidMatch, 1):
        round_robin(["greedy"], "leyla", games=2)


def test_a_spec_taken_apart_is_taken_wherever_its_text_is() -> None:
    spec = agents.Spec.parse("greedy")
    matches = [play_matches(one, "random", "leyla", games=4, seed=1).as_dict() for one in (spec, "greedy")]
    assert matches[0] == matches[1]
    assert measure_regret(spec, "leyla").agent == "greedy"
    rated = [evaluate(one, "leyla", games=2, regret=False).as_dict() for one in (spec, [spec], "greedy")]
    assert rated[0] == rated[1] == rated[2]


# The ladder


def test_every_ruleset_has_a_ladder_whose_ratings_follow_from_its_matches():
    stored = json.loads(ladder.STORED.read_text())["rulesets"]
    assert tuple(stored) == rulesets.names()
    for name, entry in stored.items():
        found = stored_ladder(name)
        assert set(found.anchors) | set(found.excluded) == set(ladder.ANCHORS)
        met = {match[:2] for match in found.matches}
        assert len(met) == len(found.matches)
        slow = [anchor for anchor in found.anchors if anchor in ladder.SLOW_ANCHORS]
        assert met == {
            *itertools.combinations(found.quick_anchors, 2),
            *itertools.product(make_ladders.SLOW_OPPONENTS, slow),
        }
        assert (found.opening_set, found.opening_turns) == openings_to_evaluate(None, name, None)
        assert {row["agent"] for row in entry["ratings"]} == set(found.anchors)
    ratings = stored_ladder("leyla").ratings()
    for row in stored["leyla"]["ratings"]:
        assert ratings.of(row["agent"])[0] == pytest.approx(row["elo"], abs=0.1)
    assert ratings.of("random") == (0, 0, 0)


@pytest.mark.parametrize("spec", ["perfect", "perfect+traps", "minimax:6"])
def test_an_agent_is_rated_by_the_games_that_it_plays_now(spec):
    """perfect and perfect+traps used to get the rating of the ladder, whatever their games."""

    def lose(chunks):
        for chunk in chunks:
            first, _ = sorted(chunk.pairing, key=lambda one: one.identity)
            margin = -5 if first.name == spec else 5
            yield chunk, np.full((chunk.stop - chunk.start, 2), margin, np.int16), 0.0

    found = evaluate(spec, "layli_goobalay", games=20, regret=False, play_chunks=lose)
    assert found.ratings is not None
    assert found.ratings.of(spec)[2] < 0


def test_an_unknown_anchor_cannot_be_excluded():
    with raises(InvalidMatch, "perfct"):
        make_ladders.play_ladder("leyla", games=2, excluded={"perfct": "takes hours"})


def test_a_ladder_is_kept_as_it_was_played(tmp_path, monkeypatch):
    monkeypatch.setattr(ladder, "ANCHORS", ("random", "greedy", "minimax:1", "mcts:1"))
    played = make_ladders.play_ladder("leyla", games=4, excluded={"mcts:1": "to see it said"})
    assert played.anchors == ("random", "greedy", "minimax:1")
    path = tmp_path / "ladder.json"
    make_ladders.store(played, path)
    (entry,) = json.loads(path.read_text())["rulesets"].values()
    assert entry["left_out"] == {"mcts:1": "to see it said"}
    assert [tuple(match["pairs"]) for match in entry["matches"]] == [match.counts for match in played.matches]
    assert {sum(match.counts) for match in played.matches} == {2}


def test_perfect_is_rated_over_fewer_games_and_nobody_has_to_wait_for_it(monkeypatch):
    monkeypatch.setattr(ladder, "ANCHORS", ("random", "greedy", "minimax:1"))
    monkeypatch.setattr(ladder, "SLOW_ANCHORS", ("minimax:1",))
    monkeypatch.setattr(make_ladders, "SLOW_OPPONENTS", ("greedy",))
    played = make_ladders.play_ladder("leyla", games=8, slow_games=4)
    games = {match[:2]: 2 * sum(match.counts) for match in played.matches}
    assert games == {("random", "greedy"): 8, ("greedy", "minimax:1"): 4}
    assert (played.opening_set, played.opening_turns) == ("balanced", 0)
    assert played.anchors == ("random", "greedy", "minimax:1")
    assert played.quick_anchors == ("random", "greedy")
    assert set(played.ratings().names) == {"random", "greedy", "minimax:1"}
    by_default = make_ladders.play_ladder("leyla", games=8)
    assert [2 * sum(match.counts) for match in by_default.matches] == [8, 64]


def test_the_ratings_of_a_ladder_that_calls_share_are_read_only():
    ratings = stored_ladder("leyla").ratings()
    assert ratings is stored_ladder("leyla").ratings()
    for array in (ratings.elo, ratings.low, ratings.high, ratings.games, ratings.replicates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_custom_ruleset_has_no_ladder():
    with raises(NoLadder, "custom", "layli_goobalay"):
        stored_ladder(rulesets.Ruleset(row_width=3))


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidResults):
        round_robin(["random", "greedy"], "leyla", games=2, results=tmp_path / "file" / "results.jsonl")
    assert os.listdir(tmp_path) == ["file"]


# Records


def test_recorded_games_are_the_games_that_were_played(tmp_path):
    """Records have the margins and openings of the match, both games of an opening together."""
    file = tmp_path / "games.txt"
    words: Any = {
        "seed": 3,
        "rounds": 2,
        "opening_turns": 4,
        "results": tmp_path / "results.jsonl",
        "records": file,
    }
    (match,) = round_robin(["random", "greedy"], "leyla", games=80, **words)
    games = list(records.read_games(file))
    assert len(games) == 80
    margins = []
    for game in games:
        assert (game.rounds, game.seed) == (2, 3)
        assert {game.south, game.north} == {"random", "greedy"}
        margin = game.verify().margin
        assert margin is not None
        margins.append(margin if game.south == "random" else -margin)
    as_played = {(game.opening, game.south): margin for game, margin in zip(games, margins, strict=True)}
    for number, (as_south, as_north) in enumerate(match.margins.tolist()):
        opening = f"4 random turns, evaluation, number {number}"
        assert (as_played[opening, "random"], as_played[opening, "greedy"]) == (as_south, as_north)
    for one, other in zip(games[::2], games[1::2], strict=True):
        assert (one.start, one.opening, one.south) == (other.start, other.opening, other.north)
    # Games of the results file are not played again, so they are not recorded again.
    round_robin(["random", "greedy"], "leyla", games=84, **words)
    assert len(list(records.read_games(file))) == 84


def test_recording_changes_nothing_of_a_match(tmp_path):
    alone = round_robin(["random", "mcts:20"], "gabata_five_holes", games=8)[0]
    recorded = round_robin(
        ["random", "mcts:20"], "gabata_five_holes", games=8, records=tmp_path / "games.txt"
    )[0]
    assert alone.margins.tolist() == recorded.margins.tolist()


def test_records_are_refused_where_they_cannot_be_written(tmp_path):
    with raises(OSError, "games"):
        round_robin(["random", "greedy"], "leyla", games=4, records=tmp_path / "nowhere" / "games.txt")
    checkpoint = tmp_path / "final.zip"
    checkpoint.write_bytes(b"PK and so on")
    with raises(records.InvalidRecord, "final.zip"):
        round_robin(["random", "greedy"], "leyla", games=4, records=checkpoint)
    assert checkpoint.read_bytes() == b"PK and so on"
    with raises(InvalidMatch, "games"):
        round_robin(
            ["random", "greedy"], "leyla", games=4, records=tmp_path / "games.txt", play_chunks=play_here
        )


@pytest.mark.parametrize(
    ("found", "start", "stop", "gaps"),
    [
        ([0, 1, 0, 0, 1, 0], 0, 6, [(0, 1), (2, 4), (5, 6)]),
        ([0, 1, 0, 0, 1, 0], 1, 5, [(2, 4)]),
        ([0, 0, 0], 0, 3, [(0, 3)]),
        ([1, 1, 1], 0, 3, []),
        ([1, 0], 1, 2, [(1, 2)]),
    ],
)
def test_openings_that_were_not_played_are_played_in_runs(found, start, stop, gaps):
    assert list(_gaps(np.array(found, np.bool_), start, stop)) == gaps


def test_the_progress_of_matches_begins_with_what_the_file_holds(tmp_path):
    path, told = tmp_path / "results.jsonl", []
    specs = ["random", "greedy", "minimax:1"]
    round_robin(specs[:2], "leyla", games=6, results=path)
    round_robin(specs, "leyla", games=6, results=path, progress=lambda *now: told.append(now))
    assert told == [(6, 18), (12, 18), (18, 18)]


def test_statistics_of_a_match_are_plain_data():
    margins = np.array([[3, 1], [2, -1], [0, 1], [5, 4]], np.int16)
    match = MatchResult("a", "b", "leyla", margins, None, "training", 3)
    assert match.as_dict() == {
        "first": "a",
        "second": "b",
        "ruleset": "leyla",
        "opening_set": "training",
        "opening_turns": 3,
        "games": 8,
        "num_openings": 4,
        "wins": 6,
        "draws": 1,
        "losses": 1,
        "as_south": [3, 1, 0],
        "as_north": [3, 0, 1],
        "win_rate": 6.5 / 8,
        "win_rate_interval": list(match.interval),
        "mean_margin": 15 / 8,
        "mean_margin_interval": list(match.margin_interval),
    }
    assert match.pair_counts.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("options", "defaults"),
    [
        (MatchOptions, {"games": 200, "rounds": 1, "seed": None, "num_threads": None}),
        (RoundRobinOptions, {"games": 200, "rounds": 1, "seed": 0, "results": None, "records": None}),
        (EvaluationOptions, {"games": 200, "rounds": 1, "seed": 0, "own_games": 0, "ladder": True}),
        (EvaluationOptions, {"regret": True}),
        (own_games_regret, {"max_positions": 100, "time_limit": 1.0, "memory_mb": 256}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_defaults_of_public_functions_stay(options, defaults):
    """Results without these arguments are comparable between versions."""
    given = inspect.signature(options).parameters
    assert {name: given[name].default for name in defaults} == defaults


def test_win_rates_stand_in_the_row_of_the_agent():
    """The table has the win rate of each agent against the other, from both sides."""
    margins = np.array([[3, 1], [2, -1], [0, 1], [5, 4]], np.int16)  # 6.5 of 8
    match = MatchResult("greedy", "random", "leyla", margins)
    figure = plot_win_rates([match], fit_ratings([match]), ("greedy", "random"))
    axes = figure.axes[0]
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert cells == {(1, 0): "81", (0, 1): "19"}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["greedy", "random"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["greedy", "random"]
    one = plot_win_rates([match], fit_ratings([match]), ("random",)).axes[0]
    assert [label.get_text() for label in one.get_yticklabels()] == ["random"]
    assert [text.get_text() for text in one.texts] == ["19"]


@pytest.mark.parametrize(("margin", "ink"), [(0, "#22303c"), (-9, "white"), (9, "white")])
def test_a_number_on_a_dark_cell_is_white(margin, ink):
    match = MatchResult("greedy", "minimax:2", "leyla", np.full((2, 2), margin, np.int16))
    (number,) = plot_win_rates([match], fit_ratings([match]), ("greedy",)).axes[0].texts
    assert number.get_color() == ink
