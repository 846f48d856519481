"""Results are kept if an agent raises, a disk is full, a process is killed, or two processes share a file."""

import errno
import json
import sys
import threading
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_checks import raises
from small_disk import largest_file
from soak_losses import TIRED

from mancala_env import Position, Ruleset, cli, rulesets
from mancala_env.agents import Agent, from_function
from mancala_env.errors import MancalaError
from mancala_env.evaluation import (
    Evaluation,
    InvalidMatch,
    InvalidResults,
    evaluate,
    ladder,
    round_robin,
    write_report,
)
from mancala_env.evaluation.ladder import Ladder
from mancala_env.evaluation.ratings import PairCounts
from mancala_env.evaluation.round_robin import PAIRS_PER_CHUNK, MatchKey, ResultsFile
from mancala_env.games import records
from tools import make_ladders

RULESET = "gabata_five_holes"
CHUNKS = 4
GAMES = 2 * PAIRS_PER_CHUNK * CHUNKS


class Mine(Agent):
    """Plays the lowest legal action, and raises after a number of calls."""

    def __init__(self, error: BaseException | None = None, after: int = 0) -> None:
        super().__init__(RULESET, spec="mine")
        self.error, self.left = error, after

    def act(self, games: np.ndarray) -> np.ndarray:
        self.left -= 1
        if self.error is not None and self.left < 0:
            raise self.error
        positions = [Position.from_games(self.ruleset, games, b) for b in range(len(games))]
        return np.array([position.legal_actions[0] for position in positions])


def play(agent: Agent, results: Path, games: int = GAMES, **options: Any) -> list[list[int]]:
    """Play against greedy; returns the margins of greedy, as in the file."""
    (match,) = round_robin([agent, "greedy"], RULESET, games=games, results=results, **options)
    return match.flipped().margins.tolist()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of games without a failure."""
    path = tmp_path_factory.mktemp("whole") / "results.jsonl"
    play(Mine(), path)
    assert len(path.read_bytes().splitlines()) == CHUNKS
    return path


def margins_in(path: Path, pairs: int = GAMES // 2) -> tuple[list[bool], list[list[int]]]:
    """Return the openings in a file and their margins."""
    lines = path.read_text().splitlines()
    if not lines:
        return [False] * pairs, [[0, 0]] * pairs
    fields = json.loads(lines[0])
    found, margins = ResultsFile.read(path).margins(
        MatchKey(**{name: fields[name] for name in MatchKey._fields}), pairs
    )
    return found.tolist(), margins.tolist()


# An agent that raises


@pytest.mark.parametrize(
    "error", [RuntimeError("out of luck"), MemoryError(), KeyboardInterrupt(), SystemExit(3)], ids=repr
)
def test_an_agent_that_raises_in_a_match_costs_the_games_under_way_alone(error, tmp_path, whole) -> None:
    path, recorded = tmp_path / "results.jsonl", tmp_path / "games.txt"
    steady = Mine(after=10**9)
    play(steady, tmp_path / "first", games=GAMES // 2)
    turns_of_half = 10**9 - steady.left
    with pytest.raises(type(error)) as caught:
        play(Mine(error, turns_of_half + 3), path, records=recorded)
    assert caught.value is error
    kept = path.read_bytes()
    assert margins_in(path)[0] == [True] * (GAMES // 4) + [False] * (GAMES // 4)
    assert len(list(records.read_games(recorded))) == GAMES // 2
    resumed = play(Mine(), path, records=recorded)
    assert path.read_bytes().startswith(kept)
    assert resumed == margins_in(whole)[1] == margins_in(path)[1]
    played = [(game.opening, game.south) for game in records.read_games(recorded)]
    assert len(played) == len(set(played)) == GAMES


def test_an_agent_that_raises_costs_no_match_of_others(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    with pytest.raises(RuntimeError, match="out of luck"):
        round_robin(
            ["greedy", "random", Mine(RuntimeError("out of luck"))], RULESET, games=GAMES, results=path
        )
    (line,) = map(json.loads, path.read_text().splitlines())
    assert {line["first"], line["second"]} == {"greedy", "random"}
    matches = round_robin(["greedy", "random", Mine()], RULESET, games=GAMES, results=path)
    assert matches[0].margins[: line["stop"]].tolist() == line["margins"]


def test_an_evaluation_tells_the_games_that_are_finished_before_an_agent_raises(tmp_path, whole) -> None:
    steady = Mine(after=10**9)
    play(steady, tmp_path / "first", games=GAMES // 2)
    turns_of_half = 10**9 - steady.left
    seen: list[Any] = []
    unlucky = Mine(RuntimeError("out of luck"), turns_of_half + 3)
    with pytest.raises(RuntimeError, match="out of luck"):
        evaluate(["greedy", unlucky], RULESET, games=GAMES, ladder=False, regret=False, measured=seen.append)
    (found,) = seen
    (match,) = found.matches
    assert match.margins.tolist() == margins_in(whole)[1][: GAMES // 4]
    assert found.ratings.games.tolist() == [GAMES // 2] * 2


def test_nothing_is_told_if_an_agent_raises_before_the_first_games_are_finished() -> None:
    seen: list[Any] = []
    with pytest.raises(RuntimeError, match="out of luck"):
        evaluate(["greedy", Mine(RuntimeError("out of luck"))], RULESET, ladder=False, measured=seen.append)
    assert seen == []


def test_agents_that_have_not_met_the_ladder_before_an_exception_are_not_rated_on_it(tmp_path) -> None:
    """Games between new agents alone gave ratings around 0 on the ladder's scale."""

    seen: list[Any] = []

    def first_action(position: Position) -> int:
        return position.legal_actions[0]

    new = [from_function(first_action, "leyla", name=name) for name in ("one", "two")]

    def interrupt(stage: str, done: int, total: int) -> None:
        if done == total // (5 if not seen else 1):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            evaluate(
                new, "leyla", games=4, regret=False, max_anchors=2, progress=interrupt, measured=seen.append
            )
    few, some = seen
    assert few.ratings is None
    assert [match.games for match in few.matches] == [4]
    assert [note for note in few.notes if "not rated" in note] == few.notes
    assert len(few.notes) == 2
    assert "Elo" not in str(few).replace("neither Elo nor", "")
    assert set(few.agents) < set(some.ratings.names)
    for found in seen:
        assert "Matches" in write_report(found, tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("error", ["MancalaError", "KeyboardInterrupt"])
def test_a_command_prints_the_games_that_are_finished_before_an_agent_raises(error, tmp_path, capsys) -> None:
    file = tmp_path / "mine.py"
    raises = f"from mancala_env.errors import MancalaError\n        raise {error}"
    file.write_text(TIRED.format(after=5000).replace('raise RuntimeError("tired")', raises))
    words = ["evaluate", f"python:{file}:tired", "greedy", "--ruleset", RULESET, "--games", "1000"]
    assert cli.main([*words, "--no_ladder", "--no_regret", "--json"]) == (
        2 if error == "MancalaError" else 130
    )
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["matches"][0]["games"] < 1000
    assert "mean = 0" in found["scale"]
    (incomplete,) = found["notes"]
    assert error in incomplete


class Unlucky(Agent):
    """Plays matches, but raises for many positions at once, as a regret measurement asks."""

    def act(self, games: np.ndarray) -> np.ndarray:
        if len(games) > 8:
            raise MancalaError("out of luck")
        positions = [Position.from_games(self.ruleset, games, b) for b in range(len(games))]
        return np.array([position.legal_actions[0] for position in positions])


def test_an_evaluation_tells_what_it_has_measured_before_an_agent_raises() -> None:
    seen: list[Any] = []
    unlucky = Unlucky(RULESET, spec="unlucky")
    with pytest.raises(MancalaError, match="out of luck"):
        evaluate(["greedy", unlucky], RULESET, games=4, ladder=False, measured=seen.append)
    assert [[one.agent for one in found.regrets] for found in seen] == [[], ["greedy"]]
    without = evaluate(["greedy", unlucky], RULESET, games=4, ladder=False, regret=False)
    alone = evaluate(["greedy"], RULESET, ladder=False)
    assert without.ratings is not None
    for found in seen:
        assert found.matches[0].as_dict() == without.matches[0].as_dict()
        assert found.ratings.as_dict() == without.ratings.as_dict()
        assert found.agents == ("greedy", "unlucky")
    assert seen[-1].as_dict()["regrets"] == alone.as_dict()["regrets"]


def test_the_last_that_an_evaluation_tells_is_what_it_returns() -> None:
    seen: list[Any] = []
    found = evaluate(["greedy", "random"], RULESET, games=4, ladder=False, measured=seen.append)
    assert seen[-1].as_dict() == found.as_dict()
    assert [len(one.regret_differences) for one in seen] == [0, 0, 1]


@pytest.mark.parametrize(("error", "status"), [(MancalaError("out of luck"), 2), (KeyboardInterrupt(), 130)])
def test_a_command_prints_what_was_measured_before_an_agent_raises(
    error, status, tmp_path, monkeypatch, capsys
) -> None:
    def unlucky(agent, ruleset, **options):
        raise error

    monkeypatch.setattr("mancala_env.evaluation.agent_evaluation.measure_regret", unlucky)
    words = ["evaluate", "greedy", "random", "--ruleset", RULESET, "--games", "4"]
    report = tmp_path / "report.html"
    assert cli.main([*words, "--report", str(report)]) == status
    shown, said = capsys.readouterr()
    assert f"Ratings, {RULESET}" in shown
    assert type(error).__name__ in shown
    assert type(error).__name__ in report.read_text()
    assert ("out of luck" if status == 2 else "interrupted") in said
    assert cli.main([*words, "--json"]) == status
    found = json.loads(capsys.readouterr().out)
    assert found["matches"][0]["games"] == 4
    assert type(error).__name__ in found["notes"][-1]


# A full disk


@pytest.mark.parametrize("missing", [1, 2, 100, None], ids=lambda missing: f"{missing} bytes short")
def test_a_disk_that_is_full_at_the_last_line_costs_that_line_alone(missing, tmp_path, whole) -> None:
    content = whole.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1
    path = tmp_path / "results.jsonl"
    path.write_bytes(content[:last])
    # The length of a chunk's seconds varies by a few bytes.
    size = len(content) - 20 - missing if missing else last
    with largest_file(size), pytest.raises(OSError, match="results") as caught:
        play(Mine(), path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == content[:last], "nothing of the last line, and all before it"
    assert play(Mine(), path) == margins_in(whole)[1]
    assert margins_in(path) == margins_in(whole)


def test_a_line_that_was_not_written_does_not_spoil_the_next(tmp_path) -> None:
    """The disk may have free space again while the program runs."""
    path = tmp_path / "results.jsonl"
    key = MatchKey("0", RULESET, "", 1, 0, 0, "a", "b")
    margins = np.ones((40, 2), np.int16)
    with ResultsFile(path) as file:
        file.append(key, 0, margins, 0.0)
        before = path.read_bytes()
        with largest_file(len(before) + 50), pytest.raises(OSError, match="results"):
            file.append(key, 40, margins, 0.0)
        assert path.read_bytes() == before
        file.append(key, 80, margins, 0.0)
    found, _ = ResultsFile.read(path).margins(key, 120)
    assert found.tolist() == [True] * 40 + [False] * 40 + [True] * 40


def test_games_that_cannot_be_recorded_are_played_again(tmp_path, whole) -> None:
    path, recorded = tmp_path / "results.jsonl", tmp_path / "games.txt"
    play(Mine(), path, games=GAMES // 2, records=recorded)
    with largest_file(recorded.stat().st_size + 3000), pytest.raises(OSError, match="large"):
        play(Mine(), path, records=recorded)
    assert sum(margins_in(path)[0]) == GAMES // 4
    assert len(list(records.read_games(recorded))) >= GAMES // 2, "whole games alone"
    assert play(Mine(), path, records=recorded) == margins_in(whole)[1]
    played = {(game.opening, game.south) for game in records.read_games(recorded)}
    assert len(played) == GAMES


# A killed process


def test_a_file_cut_off_anywhere_keeps_every_whole_line(tmp_path, whole) -> None:
    content, pairs = whole.read_bytes(), GAMES // 2
    key = MatchKey(**{name: json.loads(content.splitlines()[0])[name] for name in MatchKey._fields})
    _, margins = ResultsFile.read(whole).margins(key, pairs)
    path = tmp_path / "results.jsonl"
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        num_lines = content[:length].count(b"\n")
        is_kept = np.arange(pairs) < num_lines * PAIRS_PER_CHUNK
        read = ResultsFile.read(path)
        assert path.stat().st_size == length, "reading does not change the file"
        with ResultsFile(path) as opened:
            for file in (read, opened):
                found, kept = file.margins(key, pairs)
                assert (found == is_kept).all(), length
                assert (kept[is_kept] == margins[is_kept]).all(), length
        assert path.read_bytes() == content[: content.rfind(b"\n", 0, length) + 1], length


# A second program on the same file


def test_a_second_program_is_refused_before_it_plays_and_changes_nothing(tmp_path, whole) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(whole.read_bytes()[:-10])  # an incomplete line that the first program is still writing
    idle = Mine(AssertionError("this agent does not play"))
    with path.open("a+b") as first:
        import fcntl

        fcntl.flock(first, fcntl.LOCK_EX)
        with pytest.raises(InvalidResults, match="results"):
            play(idle, path)
        assert path.read_bytes() == whole.read_bytes()[:-10]
        first.write(whole.read_bytes()[-10:])
    assert play(idle, path) == margins_in(whole)[1]


def test_games_of_two_programs_are_recorded_whole(tmp_path) -> None:
    """Both find the file empty, and append to it in turn."""
    path = tmp_path / "games.txt"
    one, other = (records.GameRecord("leyla", [(0, hole), (1, 0)], south=f"{hole}") for hole in (2, 3))

    def games():
        for _ in range(3):
            records.write_games(path, [other], append=True)
            yield one

    assert records.write_games(path, games(), append=True) == 3
    assert [game.south for game in records.read_games(path)] == ["3", "2"] * 3


def test_a_full_disk_of_records_costs_no_result(tmp_path, monkeypatch) -> None:
    """Games after the disk is full are played and rated; the error is raised at the end."""
    written: list[int] = []

    def write_games(path, games, *, append):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(len(games))

    monkeypatch.setattr(sys.modules[ResultsFile.__module__], "write_games", write_games)
    so_far: list[Evaluation] = []
    with raises(OSError, "No space left on device"):
        evaluate(
            ["random", "greedy"], "leyla", games=400, ladder=False, regret=False,
            records=tmp_path / "games.txt", measured=so_far.append,
        )  # fmt: skip
    (found,) = so_far
    assert found.matches[0].games == 400
    assert any("No space left on device" in note for note in found.notes)
    assert written[0] < 400, "the disk was full before the last game"


# Ladders


def a_ladder(name: str, pairs: int = 5) -> Ladder:
    return Ladder(name, (PairCounts("greedy", "random", (0, 0, 0, 0, pairs)),), 4, {"perfect": "too slow"})


def test_a_ladder_that_is_stored_leaves_the_others_as_they_were(tmp_path) -> None:
    path = tmp_path / "ladders.json"
    for name in ("leyla", "layli_goobalay", "mine"):
        make_ladders.store(a_ladder(name), path)
    before = json.loads(path.read_text())["rulesets"]
    assert list(before) == ["layli_goobalay", "leyla", "mine"], "those of the catalogue first, in its order"
    days = {str(date.today())}
    make_ladders.store(a_ladder("leyla", 7), path)
    assert json.loads(path.read_text())["date"] in days | {str(date.today())}
    after = json.loads(path.read_text())["rulesets"]
    assert after["leyla"]["matches"][0]["pairs"] == [0, 0, 0, 0, 7]
    assert {name: entry for name, entry in after.items() if name != "leyla"} == {
        name: entry for name, entry in before.items() if name != "leyla"
    }


def test_ladders_that_are_stored_at_once_are_all_there(tmp_path, monkeypatch) -> None:
    path, written = tmp_path / "ladders.json", make_ladders._compact_json
    names = rulesets.names()[:5]

    def slowly(stored: dict[str, Any]) -> str:
        time.sleep(0.02)
        return written(stored)

    monkeypatch.setattr(make_ladders, "_compact_json", slowly)
    threads = [threading.Thread(target=make_ladders.store, args=(a_ladder(name), path)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(json.loads(path.read_text())["rulesets"]) == list(names)


def test_a_ladder_that_was_interrupted_resumes(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ladder, "ANCHORS", ("random", "greedy", "minimax:1"))
    path, mine = tmp_path / "results.jsonl", Ruleset(row_width=4, seeds_per_hole=3)
    seen = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_ladders.play_ladder(mine, games=80, results=path, progress=stop)
    kept = path.read_bytes()
    assert kept.count(b"\n") == 1
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        make_ladders.play_ladder(mine, games=80, results=path, progress=stop)
    assert seen == [(2 * PAIRS_PER_CHUNK, 3 * 80)]
    resumed = make_ladders.play_ladder(mine, games=80, results=path)
    assert path.read_bytes().startswith(kept)
    straight = make_ladders.play_ladder(mine, games=80)
    assert resumed.matches == straight.matches
    assert resumed.opening_set == straight.opening_set == "evaluation"


@pytest.mark.parametrize("name", ["results", "records"])
def test_a_file_that_would_stay_empty_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    options: dict[str, Any] = {name: file}
    with raises(InvalidMatch, name, file):
        evaluate("greedy", RULESET, ladder=False, **options)
    assert not file.exists()


def test_results_and_records_in_one_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "games"
    with raises(InvalidMatch, "results", "records", file):
        round_robin(["random", "greedy"], RULESET, games=2, results=file, records=tmp_path / "." / "games")
    assert not file.exists()
