"""The agent minimax: equal to plain minimax, random among ties, repeatable, and stronger when deeper."""

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest
from boards import finished, position
from error_checks import raises

from mancala_env import Batch, IllegalMove, Position, Ruleset, agents, rulesets
from mancala_env.agents import Spec
from mancala_env.agents.searchers import ILLEGAL, MinimaxAgent, action_values
from mancala_env.engine.state import END_COLUMN, RUNNING, STORE_COLUMN
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import play_matches
from mancala_env.search import Limit, piecewise

EXACT = json.loads((Path(__file__).parent.parent / "data" / "exact.json").read_text(encoding="utf-8"))
# With this many free seeds, a full-width search reaches the end of the round within a second.
FEW_SEEDS = 10


def minimax(depth, ruleset: str | Ruleset = "layli_goobalay", **options):
    agent = agents.make(f"minimax:{depth}", ruleset, **{"seed": 1, "num_threads": 1} | options)
    assert isinstance(agent, MinimaxAgent)
    return agent


def south_margin(game, depth):
    """Return South's margin under plain minimax, without pruning."""
    if game.is_over or depth == 0:
        return game.counts[0] - game.counts[1]
    margins = []
    for action in game.legal_actions:
        after = game.copy()
        after.play(action)
        margins.append(south_margin(after, depth - 1))
    return max(margins) if game.player == 0 else min(margins)


def plain_values(game, depth, num_actions):
    values = np.full(num_actions, ILLEGAL)
    for action in game.legal_actions:
        after = game.copy()
        after.play(action)
        margin = south_margin(after, depth - 1)
        values[action] = margin if game.player == 0 else -margin
    return values


def reached(ruleset, turns, seed):
    """Return a running position after a number of random turns."""
    draw = random.Random(seed)
    while True:
        game = Position(ruleset)
        for _ in range(turns):
            if not game.is_over:
                game.play(draw.choice(game.legal_actions))
        if not game.is_over:
            return game


def with_stall(game, stall):
    return Position(
        game.ruleset, game.seeds, game.owner, game.stores, game.player, stall=stall, territory=game.territory
    )


@pytest.mark.parametrize("ruleset", rulesets.names())
def test_values_equal_plain_minimax(ruleset):
    for turns, seed in ((0, 0), (3, 1), (12, 2), (25, 3)):
        game = reached(ruleset, turns, seed)
        for depth in (1, 2, 3, 4):
            wanted = plain_values(game, depth, game.ruleset.row_width)
            agent = minimax(depth, ruleset)
            assert (agent.action_values(game.games)[0] == wanted).all()
            assert wanted[agent.choose(game)] == wanted.max()


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_five_holes"])
def test_six_turns_deep_equals_plain_minimax(ruleset):
    game = reached(ruleset, 14, seed=4)
    wanted = plain_values(game, 6, game.ruleset.row_width)
    agent = minimax(6, ruleset)
    assert (agent.action_values(game.games)[0] == wanted).all()
    assert wanted[agent.choose(game)] == wanted.max()


@pytest.mark.parametrize("stall", [45, 46, 47, 48, 49])
def test_a_stall_within_reach_is_seen(stall):
    """Use one agent, to show errors of its table for the same board with another counter."""
    agent = minimax(5, "leyla")
    for seed in range(8):
        game = reached("leyla", 15, seed)
        assert (agent.action_values(game.games)[0] == plain_values(game, 5, 6)).all()
        game = with_stall(game, stall)
        assert (agent.action_values(game.games)[0] == plain_values(game, 5, 6)).all()


def test_a_player_who_passes_does_not_change_the_sign():
    """North cannot sow, so South plays every turn."""
    game = position("gabata_i", "0 0 0 0 0 0\n3 0 0 1 0 0")
    assert (minimax(1, "gabata_i").action_values(game.games)[0] == plain_values(game, 1, 6)).all()
    for depth in (2, 3, 4, 5):
        assert (minimax(depth, "gabata_i").action_values(game.games)[0] == plain_values(game, depth, 6)).all()


def test_later_rounds_of_a_match_use_every_hole():
    batch = Batch("gabata_i", 40, rounds="match", seed=3)
    batch.play_random(300)
    territory = [Position.from_games("gabata_i", batch.games, b).territory for b in range(40)]
    moved = [b for b in range(40) if any(territory[b][6:] == 0) or any(territory[b][:6] == 1)]
    assert moved
    values = action_values("gabata_i", batch.games, 2, batch.num_actions)
    assert values.shape == (40, 12)
    for b in moved[:5]:
        game = Position.from_games("gabata_i", batch.games, b)
        assert (values[b] == plain_values(game, 2, 12)).all()
    for _ in range(20):
        batch.step(minimax(2, "gabata_i").act(batch.games))
    with raises(ValueError, "num_actions=6", 12):
        action_values("gabata_i", batch.games[moved], 2)


@pytest.mark.parametrize("wrong", [5, 0, -1, 13, 6.0, True], ids=repr)
def test_values_of_fewer_actions_than_a_row_has_are_refused(wrong):
    """They were cut off silently."""
    with raises(InvalidArgument, "num_actions", wrong):
        action_values("leyla", Position("leyla").games, 2, wrong)


def free_seeds(entry):
    return sum(seeds for seeds, owner in zip(entry["seeds"], entry["owner"], strict=True) if owner < 0)


@pytest.mark.parametrize(
    "entry", [entry for entry in EXACT if free_seeds(entry) <= FEW_SEEDS], ids=lambda entry: entry["ruleset"]
)
def test_a_round_seen_to_its_end_is_played_perfectly(entry):
    game = Position(entry["ruleset"], entry["seeds"], entry["owner"])
    agent = minimax(60, entry["ruleset"])
    best = max(entry["actions"].values())
    assert entry["actions"][str(agent.choose(game))] == best
    values = agent.action_values(game.games)[0]
    assert {str(a): values[a] for a in game.legal_actions} == entry["actions"]


def test_the_search_stops_where_the_round_is_seen_through():
    game = position("layli_goobalay", "0 0 0 0 0 1\n1 0 0 0 0 0")
    agent = minimax(99)
    agent.action_values(game.games)
    assert agent.last_depth[0] < 99


def test_depth_one_is_greedy():
    games = Batch("gabata_i", 300, seed=5, opening_turns=7).games
    assert (minimax(1, "gabata_i").act(games) == agents.make("greedy", "gabata_i", seed=1).act(games)).all()


def test_equally_good_turns_are_equally_likely():
    game = position("layli_goobalay", "2 2n 5 4 1 0\n2 2n 3 2 1 5", stores=(14, 5))
    values = action_values("layli_goobalay", game.games, 4)[0]
    best = np.flatnonzero(values == values.max())
    assert len(best) == 3
    times = np.bincount(minimax(4).act(np.repeat(game.games, 6000, axis=0)), minlength=6)
    assert times[best].sum() == 6000
    assert (abs(times[best] - 2000) < 4.5 * np.sqrt(6000 * 2 / 9)).all()


@pytest.mark.parametrize("depth", [2, 5])
def test_a_choice_depends_on_the_position_and_the_seed_alone(depth):
    games = Batch("layli_goobalay", 64, seed=6, opening_turns=5).games
    together = minimax(depth).act(games)
    assert (minimax(depth, num_threads=2).act(games) == together).all()
    alone = minimax(depth)
    assert [alone.act(games[b : b + 1])[0] for b in range(64)] == together.tolist()
    used = minimax(depth)
    used.act(games[::-1])
    used.seed(1)
    assert (used.act(games) == together).all()


def test_searching_changes_nothing():
    batch = Batch("leyla", 10, seed=1, opening_turns=4)
    before = batch.games.copy()
    batch.games.flags.writeable = False
    minimax(4, "leyla").act(batch.games)
    assert (batch.games == before).all()


def test_no_games_need_no_search():
    assert minimax(3).act(Position("layli_goobalay").games[:0]).shape == (0,)


def test_a_round_that_is_over_is_refused():
    over = finished("leyla", (24, 24))
    with raises(IllegalMove, "game 1"):
        minimax(3, "leyla").act(np.concatenate([Position("leyla").games, over.games]))


def test_any_ruleset_can_be_searched():
    for mine in (
        Ruleset(row_width=2, seeds_per_hole=3),
        Ruleset(row_width=12, seeds_per_hole=10, landing="pair"),
    ):
        agent = minimax(3, mine)
        game = Position(mine)
        assert (agent.action_values(game.games)[0] == plain_values(game, 3, mine.row_width)).all()


@pytest.mark.parametrize(
    "spec", ["minimax:0", "minimax:x", "minimax:", "minimax:-1s", "minimax:0s", "minimax:6.5", "minimax:100"]
)
def test_a_wrong_depth_or_time_is_refused(spec):
    with raises(agents.InvalidSpec, f"'{spec}'", "DEPTH", 99):
        agents.make(spec, "leyla")


def test_depth_and_time_are_read():
    assert minimax(6).limit == Limit(depth=6)
    assert minimax("0.1s").limit == Limit(seconds=0.1)
    assert minimax(".5s").limit.seconds == 0.5
    assert minimax("2s").limit.seconds == 2


def test_nodes_limit_a_search_and_it_is_deterministic():
    games = Batch("layli_goobalay", 3, seed=1, opening_turns=4).games
    depths = []
    for nodes in (1, 3000, 100_000):
        spec = Spec("minimax", Limit(nodes=nodes))
        agent, again = (agents.make(spec, "layli_goobalay", seed=1) for _ in range(2))
        assert isinstance(agent, MinimaxAgent)
        assert agent.act(games).tolist() == again.act(games).tolist()
        assert (agent.last_nodes <= nodes + 250).all()
        depths.append(int(agent.last_depth.min()))
    assert depths[0] >= 1
    assert depths == sorted(set(depths))


@pytest.mark.parametrize("spec", ["minimax:300nodes", "minimax:3000nodes", "value+minimax:2000nodes"])
def test_searches_before_do_not_change_one_with_a_number_of_nodes(spec):
    batch = Batch("layli_goobalay", 60, seed=2, opening_turns=6)
    games = batch.games[batch.games[:, END_COLUMN] == RUNNING]
    seeds = np.arange(len(games), dtype=np.uint64)
    agent = agents.make(spec, "layli_goobalay", num_threads=1)
    first = agent.act_seeded(games, seeds)
    np.testing.assert_array_equal(agent.act_seeded(games[::-1], seeds[::-1])[::-1], first)
    alone = [int(agent.act_seeded(games[b : b + 1], seeds[b : b + 1])[0]) for b in range(len(games))]
    assert alone == first.tolist()


def test_more_time_searches_deeper(monkeypatch):
    """The clock advances a millisecond per check, so the depth depends only on the number of pieces."""
    game = reached("layli_goobalay", 5, seed=1)
    games = np.repeat(game.games, 2, axis=0)
    depths = []
    for seconds in (0.001, 0.02, 0.4):
        looks = itertools.count()
        monkeypatch.setattr(piecewise, "perf_counter", lambda looks=looks: next(looks) / 1000)
        agent = minimax(f"{seconds}s")
        actions = agent.act(games)
        assert set(actions) <= set(game.legal_actions)
        values = agent.action_values(games)
        assert (values[:, list(game.legal_actions)] > ILLEGAL).all()
        depths.append(agent.last_depth[1])
    assert 1 <= depths[0] < depths[1] < depths[2]


def test_a_time_limit_of_the_real_clock_gives_legal_actions():
    batch = Batch("gabata_i", 6, seed=2, opening_turns=3)
    agent = minimax("0.005s", "gabata_i", num_threads=2)
    for _ in range(5):
        batch.step(agent.act(batch.games))
    assert (agent.last_depth >= 1).all()


def test_an_interrupted_search_leaves_no_trace():
    game = reached("layli_goobalay", 5, seed=1)
    agent = minimax("0.000001s")
    for _ in range(3):  # each search stops within a depth
        agent.choose(game)
    other = reached("layli_goobalay", 9, seed=2)
    agent.limit = Limit(depth=4)
    assert (agent.action_values(other.games)[0] == plain_values(other, 4, 6)).all()


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_minimax_beats_random_and_deeper_beats_shallower(ruleset):
    assert play_matches("minimax:2", "random", ruleset, games=300, seed=1).win_rate > 0.65
    assert play_matches("minimax:6", "minimax:1", ruleset, games=300, seed=1).win_rate > 0.55


def line_of(ruleset, seed, turns=40):
    """Return the positions of a game of random turns."""
    draw, game, line = random.Random(seed), Position(ruleset), []
    while not game.is_over and len(line) < turns:
        line.append(game.copy())
        game.play(draw.choice(game.legal_actions))
    return line


@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
@pytest.mark.parametrize("depth", [4, 5])
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_five_holes"])
def test_what_an_agent_was_asked_before_changes_no_value(ruleset, depth, order):
    """In backward order, the table holds positions at a greater depth, with another horizon."""
    agent = minimax(depth, ruleset)
    for game in itertools.chain.from_iterable(line_of(ruleset, seed)[::order] for seed in range(3)):
        wanted = minimax(depth, ruleset).action_values(game.games)
        assert (agent.action_values(game.games) == wanted).all(), game.to_text()


@pytest.mark.parametrize("depth", [4, 5])
def test_positions_that_differ_beside_the_board_have_values_of_their_own(depth):
    """One agent searches positions that differ in stall counter, stores, owners or the player to move."""
    width = 6
    alike = []
    for game in line_of("leyla", 4)[8:24:4]:
        for stall in (0, 50 - depth - 1, 50 - depth, 50 - depth + 1, 48, 49):
            alike.append(with_stall(game, stall))
        other = Position(game.ruleset, game.seeds, game.owner, (0, 0), 1 - game.player)
        unowned = Position(game.ruleset, game.seeds, None, game.stores, game.player)
        alike += [one for one in (other, unowned) if not one.is_over]
    agent = minimax(depth, "leyla")
    for game in (*alike, *alike[::-1]):
        wanted = minimax(depth, "leyla").action_values(game.games, width)
        assert (agent.action_values(game.games, width) == wanted).all(), game.to_text()


@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_five_holes"])
def test_the_stores_change_no_choice_of_a_search_with_a_value_network(ruleset, depth):
    """All seeds off the board are in one store or in the other. `mancala exploit` needs equal choices."""
    boards = list(itertools.chain.from_iterable(line_of(ruleset, seed, 200)[4:] for seed in range(60)))
    games = np.concatenate([board.games for board in boards])
    taken = games[:, STORE_COLUMN] + games[:, STORE_COLUMN + 1]
    souths, norths = games.copy(), games.copy()
    souths[:, STORE_COLUMN], souths[:, STORE_COLUMN + 1] = taken, 0
    norths[:, STORE_COLUMN], norths[:, STORE_COLUMN + 1] = 0, taken
    agent = agents.make(f"value+minimax:{depth}", ruleset, num_threads=1)
    seeds = np.arange(len(games), dtype=np.uint64)
    together = agent.act_seeded(np.concatenate([souths, norths]), np.concatenate([seeds, seeds]))
    assert (together[: len(games)] == together[len(games) :]).all()
    assert (agent.act_seeded(norths[::-1].copy(), seeds[::-1].copy())[::-1] == together[: len(games)]).all()


@pytest.mark.parametrize("depth", [4, 5])
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_stall_counters_within_reach_are_told_apart(ruleset, depth):
    """With few seeds, most turns keep the number of free seeds, so that the counter reaches its limit."""
    agent, draw, counted = minimax(depth, ruleset), random.Random(7), 0
    for _ in range(12):
        seeds = [draw.choice((0, 0, 0, 1, 2)) for _ in range(12)]
        values = []
        for stall in (0, 49, 50 - depth - 1, 50 - depth, 50 - depth + 1, 47, 48, 0):
            game = Position(ruleset, seeds, stores=(10, 10), stall=stall)
            if game.is_over:
                continue
            wanted = plain_values(game, depth, 6)
            assert (agent.action_values(game.games)[0] == wanted).all(), game.to_text()
            values.append(wanted.tolist())
        counted += any(value != values[0] for value in values)
    assert counted >= 3, "the counter hardly matters in these positions"


@pytest.mark.parametrize("board", ["0,2,0,0,0,0/0,1,0,0,1,0 {} N", "2,2,0,1,1,0/0,0,0,0,0,0 {} S"])
def test_a_board_without_its_captured_seeds_has_values_of_its_own(board):
    """No value of a network is larger than all seeds, which are fewer without the captured ones."""
    bare, whole = (Position.from_text(f"layli_goobalay {board.format(s)}") for s in ("0-0", "20-20"))
    agent, fresh = (agents.make("value+minimax:4", "layli_goobalay", num_threads=1) for _ in range(2))
    assert isinstance(agent, MinimaxAgent)
    assert isinstance(fresh, MinimaxAgent)
    agent.action_values(whole.games)
    assert (agent.action_values(bare.games) == fresh.action_values(bare.games)).all()
