"""The observation kinds with a row per action equal what Position plays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from error_checks import raises
from expected_observations import FOUR_TURNS, expected

from mancala_env import Batch, Position, agents, observations, rulesets
from mancala_env.agents.searchers import ValueMinimaxAgent
from mancala_env.errors import InvalidArgument
from mancala_env.networks.value import UNIT
from mancala_env.networks.value_files import NoValueNetwork
from mancala_env.observations import KINDS, Observer, kinds_of, observer, version

NUM_GAMES = 24


def seen_of(batch: Batch, kind: str, num_threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and legal actions of the players to move, written over rubbish."""
    observer = Observer(batch.ruleset, kind, batch.num_actions)
    seen = observer.empty(batch.num_games)
    seen[:] = 7
    legal = np.full((batch.num_games, batch.num_actions), 1, np.bool_)
    observer.write(batch.games, seen, legal, num_threads=num_threads)
    return seen, legal


def played(turns: int, ruleset: str, rounds: int | str = 1) -> Batch:
    batch = Batch(ruleset, NUM_GAMES, rounds, seed=3, num_threads=1)  # type: ignore[arg-type]
    batch.play_random(turns)
    return batch


SHOWN = [(kind, name) for name in rulesets.names() for kind in kinds_of(name)]


@pytest.mark.parametrize(("kind", "ruleset"), SHOWN)
def test_every_action_is_shown_as_position_plays_it(kind: str, ruleset: str) -> None:
    for turns in (0, 9, 12):
        batch = played(turns, ruleset)
        seen, legal = seen_of(batch, kind)
        assert (legal == batch.legal_mask).all()
        if kind == "board":
            assert (seen == batch.observation).all()
            continue
        # On the long board, four turns ahead are ten thousand lines.
        for b in range(0, NUM_GAMES, 12 if kind in FOUR_TURNS else 3):
            position = Position.from_games(batch.ruleset, batch.games, b)
            for action in range(batch.num_actions):
                wanted = expected(position, action, kind, batch.num_actions)
                assert seen[b, action].tolist() == wanted, (position.to_text(), action)


@pytest.mark.parametrize("kind", ["replies", "leaves", "values"])
def test_actions_on_captured_territory_are_shown(kind: str) -> None:
    batch = Batch("gabata_i", NUM_GAMES, "match", seed=1, num_threads=1)
    batch.play_random(300)
    seen, _ = seen_of(batch, kind)
    assert seen.shape[1] == 12
    shown = range(0, NUM_GAMES, 1 if kind == "replies" else 4)
    assert batch.legal_mask[shown, 6:].any()
    for b in shown:
        position = Position.from_games(batch.ruleset, batch.games, b)
        for action in range(12):
            assert seen[b, action].tolist() == expected(position, action, kind, 12)


@pytest.mark.parametrize("kind", ["replies", *FOUR_TURNS])
def test_of_more_replies_than_columns_the_best_are_shown(kind: str) -> None:
    # South has taken all of North's holes but one.
    board = "gabata_i 4,4,4,4,4,4/4,4,4,4,4,4 0-0 {} round=2 territory=SSSSSSSSSSSN"
    observer = Observer("gabata_i", kind)
    for position in (Position.from_text(board.format(player)) for player in "SN"):
        rows = observer.empty(2)  # the rows after the game's row must not change
        observer.write(position.games, rows[:1])
        assert not rows[1].any()
        for action in range(6):
            assert rows[0, action].tolist() == expected(position, action, kind, 6)


def test_parts_cover_every_feature_once() -> None:
    for kind in KINDS[1:]:
        ruleset = rulesets.lookup("leyla")
        observer = Observer(ruleset, kind, 6)
        parts = list(observer.parts.values())
        assert [part.start for part in parts] == [0, *[part.stop for part in parts[:-1]]]
        assert parts[-1].stop == observer.shape[1]


@pytest.mark.parametrize("kind", ["replies", "leaves", "values"])
def test_threads_change_nothing(kind: str) -> None:
    batch = Batch("layli_goobalay", 2000, seed=5, num_threads=1)
    batch.play_random(11)
    assert (seen_of(batch, kind, 1)[0] == seen_of(batch, kind, 3)[0]).all()


def test_versions_tell_the_kinds_apart() -> None:
    assert version("board") == str(observations.VERSION)
    assert version("afterstates").startswith(f"{observations.VERSION}.")


def test_the_version_of_values_tells_value_networks_apart() -> None:
    of_layli, of_leyla = version("values", "layli_goobalay"), version("values", rulesets.lookup("leyla"))
    assert of_layli != of_leyla
    assert of_layli.startswith(f"{version('leaves')}.")
    assert Observer("leyla", "values").version == of_leyla
    with pytest.raises(InvalidArgument):
        version("values")


def test_values_need_a_bundled_network() -> None:
    mine = replace(rulesets.lookup("layli_goobalay"), name="mine", seeds_per_hole=6)
    with raises(NoValueNetwork, "mine", "leyla"):
        Observer(mine, "values")
    assert kinds_of(mine) == KINDS[:-1]
    assert kinds_of("leyla") == KINDS
    with pytest.MonkeyPatch.context() as patch:  # as a new kind would refuse a ruleset

        def refuse(_: object) -> str:
            raise NoValueNetwork("none")

        patch.setattr(observer._KINDS["lines"], "version", refuse, raising=False)
        assert kinds_of("leyla") == tuple(kind for kind in KINDS if kind != "lines")
    # A network of single rounds does not depend on the set-up of the next round.
    matched = replace(rulesets.lookup("gabata_i"), name="mine", match="single")
    assert version("values", matched) == version("values", "gabata_i")


def test_values_are_those_of_a_search_with_the_network() -> None:
    batch = played(7, "leyla")
    seen, legal = seen_of(batch, "values")
    first = Observer("leyla", "values").parts["fourth_values"].start
    search = agents.make("value+minimax:4", "leyla")
    assert isinstance(search, ValueMinimaxAgent)
    found = search.action_values(batch.games)
    assert (seen[:, :, first][legal] / UNIT == found[legal]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_do_not_fit_are_refused_before_anything_is_written(kind: str) -> None:
    batch = Batch("leyla", 40, seed=1)
    observer = Observer("leyla", kind)
    good, legal = observer.empty(40), np.zeros((40, 6), np.int8)
    wrong: list[dict[str, Any]] = [
        {"out": observer.empty(10)},
        {"out": good.astype(np.float64)},
        {"out": observer.empty(80)[::2]},
        {"out": good, "legal": np.zeros((10, 6), np.int8)},
        {"out": good, "legal": np.zeros((40, 12), np.int8)},
        {"out": good, "legal": np.zeros((40, 6))},
        {"out": good, "players": 2},
        {"out": good, "players": np.zeros(39, int)},
        {"out": good, "where": [0, 1]},
        {"out": good, "games": batch.games.astype(np.int64)},
        {"out": good, "games": batch.games[:, :15]},
        {"out": good, "num_threads": 0},
    ]
    for arguments in wrong:
        with pytest.raises(InvalidArgument):
            observer.write(**({"games": batch.games, "legal": legal} | arguments))
    assert not good.any()
    assert not legal.any()


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_not_to_move_sees_the_board_but_no_action(kind: str) -> None:
    batch = played(9, "layli_goobalay")
    observer = Observer("layli_goobalay", kind)
    out, legal = observer.empty(NUM_GAMES), np.ones((NUM_GAMES, 6), np.bool_)
    observer.write(batch.games, out, legal, players=1 - batch.player)
    assert not legal.any()
    assert out.any() != observer.is_per_action


@pytest.mark.parametrize("name", ["out", "legal"])
def test_an_array_that_cannot_be_written_is_refused(name: str) -> None:
    seeing, batch = Observer("leyla"), Batch("leyla", 2)
    arrays = {"out": seeing.empty(2), "legal": np.zeros((2, 6), np.bool_)}
    arrays[name].setflags(write=False)
    with raises(InvalidArgument, name, "read-only"):
        seeing.write(batch.games, **arrays)
