"""mancala grow-value: targets, determinism, and a network stronger than the count of seeds."""

import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from error_checks import names, raises

from mancala_env import Batch, Ruleset, rulesets
from mancala_env._util.stop_signals import Terminated
from mancala_env.cli import main
from mancala_env.engine.holdout import rows_in_set
from mancala_env.engine.state import PLAYER_COLUMN
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import play_matches
from mancala_env.networks.value_files import read_value_file
from mancala_env.training import value_growth
from mancala_env.training.value_fit import Played
from mancala_env.training.value_growth import targets
from tools.make_value_cards import main as cards

TINY = ["--games", "300", "--depth", "3", "--generations", "2"]


def played(found: list[float], players: list[int], ends: list[int], game: list[int]) -> Played:
    """Return artificial games with given search values and final leads `ends`."""
    games = Batch("leyla", len(found) + 1, seed=1).games[:-1].copy()
    games[:, PLAYER_COLUMN] = players
    return Played(games, np.array(ends), np.array(game), np.array(found), turns=len(game))


def test_a_target_is_a_mean_of_what_was_found_there_and_later() -> None:
    # Game 0: South, North, North move; South ends 8 ahead. Game 1: North moves and ends 2 ahead.
    some = played([4.0, 0.0, -6.0, 1.0], [0, 1, 1, 1], [8, -8, -8, 2], [0, 0, 0, 1])
    assert targets(some, later=0.0).tolist() == [4, 0, -6, 1]
    assert targets(some, later=1.0).tolist() == [8, -8, -8, 2]
    last = 0.5 * 6 + 0.5 * 8  # South's
    middle = 0.5 * 0 + 0.5 * last
    assert targets(some, later=0.5).tolist() == [0.5 * 4 + 0.5 * middle, -middle, -last, 1.5]
    assert not len(targets(played([], [], [], [])))


@pytest.mark.slow
def test_the_same_seed_grows_the_same_network_and_it_beats_the_count(tmp_path: Path, capsys) -> None:
    one, same, other = (tmp_path / f"{name}.safetensors" for name in ("one", "same", "other"))
    for path, seed in ((one, "5"), (same, "5"), (other, "6")):
        assert main(["grow-value", "gabata_five_holes", *TINY, "--seed", seed, "--out", str(path)]) == 0
    assert one.read_bytes() == same.read_bytes() != other.read_bytes()
    said = capsys.readouterr().out
    assert "generation 2:" in said
    assert f"value+minimax:6:{one}" in said
    file = read_value_file(one)
    assert file.ruleset == rulesets.lookup("gabata_five_holes")
    assert file.made["command"].endswith("--depth 3 --generations 2 --seed 5")
    result = play_matches(f"value+minimax:3:{one}", "minimax:3", file.ruleset, games=400, seed=1)
    assert result.interval[0] > 0.5, result
    assert cards([str(one), "--games", "10"]) == 0
    card = one.with_suffix(".md").read_text(encoding="utf-8")
    for part in (file.made["command"], "`minimax:6` | 10 |", "SHA-256", "Rating", "Regret", "Limits"):
        assert part in card


def test_held_out_boards_are_not_learned_from(monkeypatch) -> None:
    leyla, learned, fitted = rulesets.lookup("leyla"), [], value_growth.fit

    def fit(ruleset, games, values, seed):
        learned.append((games, values))
        return fitted(ruleset, games, values, seed)

    monkeypatch.setattr(value_growth, "fit", fit)
    settings = value_growth.GrowthSettings(games=100, depth=2, generations=2)
    grown = list(value_growth.generations_of(leyla, settings))
    assert [one.positions for one in grown] == [len(games) for games, _ in learned]
    for games, values in learned:
        assert len(games) == len(values) > 0
        assert rows_in_set(leyla, games, "training").all()


def test_games_that_leave_nothing_to_learn_from_are_refused() -> None:
    settings = value_growth.GrowthSettings(games=1, depth=1, seed=9)
    with raises(InvalidArgument, "games", 1):
        list(value_growth.generations_of(rulesets.lookup("layli_goobalay"), settings))


def test_ctrl_c_keeps_the_best_generation_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, whole = tmp_path / "value.safetensors", value_growth.generations_of
    words = ["grow-value", "gabata_five_holes", *TINY, "--out", str(path)]

    def interrupted(after: int, stop: BaseException | type[BaseException] = KeyboardInterrupt) -> None:
        def some(
            ruleset: Ruleset, settings: value_growth.GrowthSettings
        ) -> Iterator[value_growth.Generation]:
            yield from islice(whole(ruleset, settings), after)
            raise stop

        monkeypatch.setattr(value_growth, "generations_of", some)

    interrupted(0)
    assert main(words) == 130
    assert not path.exists()
    interrupted(1)
    assert main(words) == 130
    assert names(capsys.readouterr().err, [path, "generation 1"])
    assert read_value_file(path).made["generations"] == "1, the best is number 1; interrupted"
    path.unlink()
    interrupted(1, Terminated(signal.SIGTERM))
    assert main(words) == 143
    assert names(capsys.readouterr().err, [path, "generation 1"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "'nothing'"),
        (["leyla", "--games", "0"], ["games", 1, 0]),
        (["--ruleset", "leyla", "--games", "0"], ["games", 1, 0]),
        (["--games", "1"], ["ruleset"]),
        (["leyla", "--ruleset", "gabata_i"], ["leyla", "gabata_i"]),
        (["--ruleset", "nowhere"], ["nowhere"]),
        (["leyla", "--seed", "-1"], ["seed", 0, -1]),
        (["leyla", "--depth", "100"], ["depth", 1, 99, 100]),
        (["leyla", "--depth", "many"], ["--depth", "'many'"]),
        (["leyla", "--out", "nowhere/at/all.safetensors"], ["--out", "nowhere/at/all.safetensors"]),
        (["leyla", "--games", "1", "--depth", "1", "--seed", str(2**63 - 1)], ["games", 1]),
    ],
)
def test_a_mistake_is_one_line(words: list[str], said: object, capsys) -> None:
    try:
        status = main(["grow-value", *words])
    except SystemExit as error:
        status = error.code
    assert status == 2
    err = capsys.readouterr().err
    assert names(err, said), err
    assert err.count("\n") == 1
