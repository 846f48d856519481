"""match+mcts and its values: the states of a match, their successors and their values."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from boards import position
from error_checks import names, raises

from mancala_env import Position, agents, rulesets
from mancala_env._util.package_data import bundled_file, rulesets_with
from mancala_env.agents import match
from mancala_env.agents.match import (
    MatchMctsAgent,
    NoMatchValues,
    after_rounds,
    finished_rounds,
    match_values,
    options_in_bytes,
    read_values,
    search_table,
)
from mancala_env.agents.registry import entrant_of
from mancala_env.evaluation import play_matches
from mancala_env.search import uct
from tools import make_match_values
from tools.make_match_values import solve, started_by_north

WITH_MATCHES = [name for name in rulesets.names() if rulesets.lookup(name).match != "single"]
_PLAYER, _ROUND, _STARTER, _DEBTS = 7, 11, 12, 13


def one_number_a_state(ruleset):
    """Return values that distinguish all states and the rounds they start by the seeds on the board."""
    rounds, is_over, leads = after_rounds(ruleset, finished_rounds(ruleset, started_by_north(ruleset)))
    rounds[:, _ROUND] = 0
    values = np.sign(leads).astype(np.float32)
    known = {}
    for count in np.flatnonzero(~is_over):
        known.setdefault(rounds[count].tobytes(), np.float32((len(known) + 1) / 1000))
        values[count] = known[rounds[count].tobytes()]
    return values, known


def with_seats_exchanged(ruleset, games):
    """Return starts of rounds with South and North exchanged."""
    exchanged = games.copy()
    width, holes = ruleset.row_width, ruleset.num_holes
    board = np.ascontiguousarray(games[:, :3]).view(np.uint8)
    exchanged[:, :3] = np.hstack([board[:, width:holes], board[:, :width], board[:, holes:]]).view(np.uint64)
    for first, second in ((3, 4), (5, 6), (13, 14)):
        exchanged[:, [first, second]] = games[:, [second, first]]
    exchanged[:, _PLAYER], exchanged[:, _STARTER] = 1 - games[:, _PLAYER], 1 - games[:, _STARTER]
    theirs = ~games[:, 10] & np.uint64((1 << holes) - 1)
    exchanged[:, 10] = ((theirs >> np.uint64(width)) | (theirs << np.uint64(width))) & np.uint64(
        (1 << holes) - 1
    )
    return exchanged


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", [name for name in WITH_MATCHES if name != "gabata_3"])
def test_a_count_is_worth_what_the_round_that_really_follows_is_worth(ruleset):
    """Play random matches; `Position.next_round` gives the start of each next round."""
    rules = rulesets.lookup(ruleset)
    values, known = one_number_a_state(rules)
    draw = np.random.default_rng(1)
    seen, ends, debts = set(), 0, 0
    for _ in range(40):
        game = Position(rules)
        for _ in range(8):
            table = match_values(rules, values, game.games)[0]
            debts += bool(game.games[0, _DEBTS : _DEBTS + 2].any())
            while not game.is_over:
                game.play(int(draw.choice(game.legal_actions)))
            said = table[game.counts[0]]
            after = game.next_round()
            if after is None:
                assert said == {0: 1, 1: -1, None: 0}[game.match_winner]
                ends += 1
                break
            row = after.games.copy()
            row[0, _ROUND] = 0
            is_norths = row[0, _STARTER] == 1
            if is_norths:
                row = with_seats_exchanged(rules, row)
            assert said == (-known[row.tobytes()] if is_norths else known[row.tobytes()])
            seen.add(row.tobytes())
            game = after
    assert len(seen) > 5
    assert ends > 0 or rules.match == "territory"
    assert debts > 0 or rules.match != "loan"


@pytest.mark.parametrize("ruleset", WITH_MATCHES)
def test_worths_are_the_opposite_with_the_seats_exchanged(ruleset):
    rules = rulesets.lookup(ruleset)
    values, _ = one_number_a_state(rules)
    games = np.repeat(Position(rules).games, 2, axis=0)
    games[1, _STARTER] = 1
    debts = rules.match == "loan"
    games[0, _DEBTS], games[1, _DEBTS + 1] = 2 * debts, 2 * debts
    of_south, of_north = match_values(rules, values, games)
    assert (of_south == -of_north[::-1]).all()


def test_a_loan_is_repaid_before_the_next_round_is_thought_of():
    """Leyla: South owes two, so 26 seeds have the value of 24 without a debt."""
    rules = rulesets.lookup("leyla")
    values, _ = one_number_a_state(rules)
    games = np.repeat(Position(rules).games, 2, axis=0)
    games[1, _DEBTS] = 2
    free, owing = match_values(rules, values, games)
    assert owing[26] == free[24] != free[26]


def test_values_of_a_chain_worked_out_by_hand():
    """Two seeds in all. South, who starts, wins the match in half of the rounds, loses it in a quarter, and a
    quarter end 1-1, where North starts: V = 1/2 - 1/4 + 1/4 * -V, so V = 1/5.
    """
    states, goes_on, is_won = np.array([-1, 0, -1]), np.array([[0, 0.25, 0]]), np.array([0.25])
    assert solve(states, goes_on, is_won) == pytest.approx([-1, 0.2, 1])
    # Four seeds: with 1 the starter loses or gets 2, with 2 gets 1 or 3, with 3 gets 2 or wins:
    # a = -1/2 - b/2, b = -(a + c)/2 with the seats exchanged, that is -(c' + a')/2, c = 1/2 - b/2.
    states = np.array([-1, 0, 1, 2, -1])
    goes_on = np.array([[0, 0, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0.5, 0, 0]])
    assert solve(states, goes_on, np.array([-0.5, 0, 0.5])) == pytest.approx([-1, -0.5, 0, 0.5, 1])


def test_a_match_that_never_ends_is_decided_by_its_last_count():
    states, goes_on = np.array([-1, 0, 1, 2, -1]), np.eye(5)[[1, 2, 3]]
    assert solve(states, goes_on, np.zeros(3)) == pytest.approx([-1, -1, 0, 1, 1])


def test_values_are_made_by_the_command(tmp_path, capsys):
    arguments = ["gabata_five_holes", "--agent", "random", "--rounds", "20", "--folder", str(tmp_path)]
    assert make_match_values.main(arguments) == 0
    values = read_values(tmp_path / "match_gabata_five_holes.npz", rulesets.lookup("gabata_five_holes"))
    assert (values[0], values[40]) == (-1, 1)
    assert len(np.unique(values)) > 3
    assert capsys.readouterr().out.startswith("gabata_five_holes: ")


@pytest.mark.parametrize("ruleset", rulesets_with("match"))
def test_bundled_values_are_read_and_end_where_the_match_ends(ruleset):
    rules = rulesets.lookup(ruleset)
    values = read_values(bundled_file("match", ruleset), rules)
    _, is_over, leads = after_rounds(rules, finished_rounds(rules, started_by_north(rules)))
    assert (values[is_over] == np.sign(leads[is_over])).all()
    assert (np.abs(values[~is_over]) < 1).mean() > 0.5
    assert np.corrcoef(values, np.arange(len(values)))[0, 1] > 0.9


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.full(49, np.nan, np.float32), [-1, 1]),
        (np.full(49, 1.5, np.float32), [-1, 1]),
        (np.zeros(48, np.float32), "(49,)"),
        (np.zeros(49), ["float32", "(49,)"]),
    ],
)
def test_a_file_of_other_numbers_is_refused(tmp_path: Path, values, why):
    path = tmp_path / "match_leyla.npz"
    np.savez(path, values=values, dials=options_in_bytes(rulesets.lookup("leyla")))
    with raises(NoMatchValues, why):
        read_values(path, rulesets.lookup("leyla"))


def test_values_of_other_rules_are_refused():
    table = bundled_file("match", "leyla")
    with raises(NoMatchValues, "layli_goobalay", "match=loan"):
        agents.make(f"match+mcts:10:{table}", "layli_goobalay")
    same = replace(rulesets.lookup("leyla"), name="mine")
    assert (read_values(table, same) == read_values(table, rulesets.lookup("leyla"))).all()


@pytest.mark.parametrize("path", ["no/such.npz", ".", "\0"])
def test_what_is_no_file_holds_no_values(path):
    with pytest.raises(NoMatchValues):
        agents.make(f"match+mcts:10:{path}", "leyla")


def test_a_ruleset_without_a_match_or_without_values_is_refused(capsys):
    with raises(agents.InvalidSpec, "layli_goobalay_8", "match='single'"):
        agents.make("match+mcts:10", "layli_goobalay_8")
    own = replace(rulesets.lookup("layli_goobalay"), name="own", seeds_per_hole=3)
    with raises(agents.InvalidSpec, "own", "tools.make_match_values"):
        agents.make("match+mcts:10", own)
    assert make_match_values.main(["layli_goobalay_8"]) == 2
    assert names(capsys.readouterr().err, ["layli_goobalay_8", "match"])
    assert make_match_values.main(["leyla", "--folder", "no/such"]) == 2
    assert names(capsys.readouterr().err, "no/such")


@pytest.mark.slow
def test_a_table_of_a_file_plays_and_is_part_of_the_identity(tmp_path: Path):
    path = tmp_path / "mine.npz"
    dials = options_in_bytes(rulesets.lookup("layli_goobalay"))
    np.savez(path, values=np.linspace(-1, 1, 49, dtype=np.float32), dials=dials)
    mine = agents.make(f"match+mcts:10:{path}", "layli_goobalay")
    shipped = agents.make("match+mcts:10", "layli_goobalay")
    named = agents.make(f"match+mcts:10:{bundled_file('match', 'layli_goobalay')}", "layli_goobalay")
    assert mine.choose(Position("layli_goobalay")) in range(6)
    assert shipped.entrant == named.entrant == entrant_of(shipped) != mine.entrant
    assert shipped.entrant.startswith("match+mcts:10:sha256:")


def test_a_table_bounds_what_can_still_come():
    table = search_table(np.array([[-1, -0.2, -0.5, 0.6, 0.4, 1]]))[0]
    assert table[uct.EXACT].tolist() == [-200, -40, -100, 120, 80, 200]
    assert table[uct.LEAST].tolist() == [-200, -100, -100, 80, 80, 200]
    assert table[uct.MOST].tolist() == [-200, -40, -40, 120, 120, 200]


def best_worth(game, worth):
    """Return the value of a running round for South by trying all turns."""
    if game.is_over:
        return worth[game.counts[0]]
    found = []
    for action in game.legal_actions:
        after = game.copy()
        after.play(action)
        found.append(best_worth(after, worth))
    return max(found) if game.player == 0 else min(found)


@pytest.mark.parametrize(
    ("drawing", "player", "stores"),
    [
        ("0 0 0 0 0 1\n1 1 0 0 0 0", 0, (22, 23)),
        ("0 0 0 0 1 1\n1 1 0 0 0 0", 0, (22, 22)),
        ("1 0 0 0 0 1\n1 0 0 0 0 0", 1, (21, 24)),
    ],
)
def test_an_endgame_is_played_for_what_the_match_is_worth_then(monkeypatch, drawing, player, stores):
    """Against a search of all turns, for values that rise and fall with the count: seeds are not the aim."""
    draw = np.random.default_rng(1)
    game = position("layli_goobalay", drawing, player=player, stores=stores)
    for _ in range(5):
        drawn = np.rint(200 * draw.uniform(-1, 1, 49)) / 200
        monkeypatch.setattr(match, "match_values", lambda *_, drawn=drawn: drawn[None])
        agent = agents.make("match+mcts:20000", "layli_goobalay", seed=1, num_threads=1)
        assert isinstance(agent, MatchMctsAgent)
        after = game.copy()
        after.play(agent.choose(game))
        assert best_worth(after, drawn) == best_worth(game, drawn)


@pytest.mark.slow
def test_it_wins_matches_of_leyla():
    result = play_matches("match+mcts:50", "mcts:50", "leyla", games=100, seed=1, rounds="match")
    assert result.win_rate > 0.65
