"""Records, results, reports and checkpoints survive signals, closed pipes, full disks and failures.

Some attacks are those of the soak test, with a few seeds each.
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from functools import partial
from multiprocessing import get_context

import pytest
import soak_losses
from benchmark_learners import HEAD
from error_checks import raises
from soak_losses import (
    a_game,
    check_run,
    evaluation,
    folder_of_work,
    games_in,
    leave,
    mancala,
    training,
    wait_until,
)
from soak_starter import starter

from mancala_env import Ruleset
from mancala_env import evaluation as evaluation_package
from mancala_env._util import command_line
from mancala_env.games.records import GameRecord, InvalidRecord, recordable, write_games, writer

GAME = soak_losses.GAME
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[=>])")


@pytest.mark.parametrize("attack", soak_losses.ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.slow
def test_an_attack_loses_nothing(attack, seed):
    assert attack(seed) > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", soak_losses.STOPS, ids=lambda number: signal.Signals(number).name)
def test_a_signal_keeps_a_game_and_is_named(number):
    with folder_of_work() as folder, a_game(folder, "--north", "human") as (program, hand):
        wait_until(lambda: "your turn:" in program.said, "a turn")
        os.write(hand, b"3\n")
        wait_until(lambda: program.said.count("your turn:") == 2, "a turn")
        time.sleep(0.2)  # until it reads; see soak_losses.stopped_game
        program.send(number)
        assert program.wait() == 128 + number
        last = program.said.splitlines()[-1]
        assert "the game so far is in games.txt" in last
        assert ("interrupted" if number == signal.SIGINT else signal.Signals(number).name) in last
        (game,) = games_in(folder / "games.txt")
        assert [str(turn) for turn in game.turns] == ["S3"]


@pytest.mark.parametrize("how", ["SIGTERM", "SIGHUP", "the terminal closes", "it closes, SIGHUP is ignored"])
@pytest.mark.slow
def test_a_game_on_the_screen_is_kept(how, tmp_path):
    pytest.importorskip("textual")
    master, terminal = pty.openpty()
    termios.tcsetwinsize(master, (24, 80))
    words = ["play", "--ruleset", GAME, "--north", "human", "--record", "games.txt", "--seed_seconds", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mancala_env", *words],
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        preexec_fn=partial(_with_terminal, signal.SIG_IGN if "ignored" in how else signal.SIG_DFL),
    )
    os.close(terminal)
    shown: list[bytes] = []
    is_closing = threading.Event()

    def read() -> None:
        # Never blocks in a read: the terminal would stay open until the read returns.
        while not is_closing.is_set():
            try:
                if select.select([master], [], [], 0.05)[0]:
                    shown.append(os.read(master, 65_536))
            except OSError:
                return

    def text() -> str:
        return ESCAPES.sub("", b"".join(shown).decode(errors="replace"))

    try:
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        wait_until(lambda: "Choose a hole" in text() or process.poll() is not None, "the board")
        assert process.poll() is None, text()[-400:]
        os.write(master, b"3")
        wait_until(lambda: "North to move" in text(), "the turn")
        if "closes" in how:
            is_closing.set()
            reader.join()
            os.close(master)
        else:
            process.send_signal(signal.Signals[how])
        status = process.wait(120)
        stopped_by = 128 + (signal.SIGTERM if how == "SIGTERM" else signal.SIGHUP)
        assert status == (0 if "ignored" in how else stopped_by), text()[-400:]
    finally:
        process.kill()
        process.wait()
        if "closes" not in how:
            os.close(master)
    (game,) = games_in(tmp_path / "games.txt")
    assert [str(turn) for turn in game.turns] == ["S3"]


def _with_terminal(at_hangup: signal.Handlers) -> None:
    """Start a session whose terminal is standard input, to receive its signals."""
    import fcntl

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in soak_losses.STOPS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, at_hangup)


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    child = get_context("fork").Process(target=_ignore_and_stop, args=(tmp_path / "stopped_by",))
    child.start()
    child.join(60)
    assert (tmp_path / "stopped_by").read_text() == "SIGTERM"


def _ignore_and_stop(file):
    from mancala_env.training.run import stop_on_signals

    class Run:
        stopped_by = ""

    def main():
        signal.raise_signal(signal.SIGHUP)
        with stop_on_signals(Run):
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
        file.write_text(Run.stopped_by)
        return 0

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    command_line.run("nohup", main)


@pytest.mark.parametrize("stream", ["output", "errors"])
@pytest.mark.slow
def test_a_reader_that_goes_away_does_not_end_the_work(stream, tmp_path):
    """As in a shell: `mancala evaluate ... | true`, and `2>&1 >/dev/null | true`."""
    joined = "" if stream == "output" else "2>&1 >/dev/null"
    words = " ".join(evaluation(64))
    script = f"{sys.executable} -m mancala_env {words} {joined} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n", done.stderr
    soak_losses.check_evaluation(tmp_path, 64)


@pytest.mark.slow
def test_a_listing_ends_where_its_reader_does(tmp_path):
    """`mancala replay` writes no file, so it ends when its reader is closed."""
    write_games(tmp_path / "games.txt", [GameRecord(GAME, [(0, 3), (1, 0)])] * 2_000)
    with (tmp_path / "games.txt").open("a", encoding="utf-8") as file:
        file.write("this is not a game, and it is not read\n")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = mancala(tmp_path, "replay", "games.txt", says=pipe)
    leave(pipe, 1)
    assert program.wait() == 0


def test_training_outside_of_the_main_thread():
    with folder_of_work() as folder:
        program = starter().start("mancala in a thread", *training(4), folder=folder)
        assert program.wait() == 0, program.said[-400:]
        check_run(folder / "run", 4)


@pytest.mark.parametrize("kind", ["html", "png"])
@pytest.mark.parametrize("name", soak_losses.NAMES[:5])
def test_a_report_takes_any_name(kind, name, tmp_path):
    file = tmp_path / f"{name}.py"
    file.write_text(soak_losses.TIRED.format(after=10**6), encoding="utf-8")
    found = evaluation_package.evaluate(
        [f"python:{file}:tired", "random"], GAME, games=2, ladder=False, regret=False
    )
    assert evaluation_package.write_report(found, tmp_path / f"report.{kind}").stat().st_size > 1_000


@pytest.mark.parametrize("name", soak_losses.NAMES)
def test_a_record_takes_any_name(name):
    record = GameRecord(GAME, [(0, 3)], south=recordable(name))
    assert GameRecord.from_text(record.to_text()) == record
    assert recordable("Amina Ali, caf\u00e9 \U0001f600") == "Amina Ali, caf\u00e9 \U0001f600"


def test_a_ruleset_that_no_record_can_hold_is_refused_before_the_games(tmp_path):
    ruleset = Ruleset(name="own", title=2_000 * "long")
    with raises(InvalidRecord, "title"):
        evaluation_package.round_robin(["random", "greedy"], ruleset, games=2, records=tmp_path / "games.txt")
    assert (tmp_path / "games.txt").read_bytes() == b""


@pytest.mark.parametrize("option", ["--report", "--records", "--results"])
def test_an_output_that_cannot_be_written_is_refused_before_the_games(option):
    """The file system rejects the name."""
    with folder_of_work() as folder:
        began = folder / "began.py"
        began.write_text(
            "from pathlib import Path\nfrom mancala_env import agents\n"
            "def agent(ruleset):\n    return agents.from_function(first, ruleset)\n"
            "def first(position):\n    Path('a game began').touch()\n    return position.legal_actions[0]\n",
            encoding="utf-8",
        )
        words = (
            "evaluate",
            f"python:{began}:agent",
            "random",
            "--ruleset",
            GAME,
            "--games",
            "2",
            "--no_regret",
        )
        program = mancala(folder, *words, option, 300 * "r" + ".html")
        assert program.wait() == 2
        assert "File name too long" in program.said
        assert not (folder / "a game began").exists()


def test_a_full_disk_costs_a_report_but_no_result_and_no_older_report():
    with folder_of_work() as folder:
        pipe = folder.parent / "pipe"
        os.mkfifo(pipe)
        (folder / "report.html").write_text("of yesterday", encoding="utf-8")
        words = ("evaluate", "random", "greedy", "--ruleset", GAME, "--games", "2", "--no_regret")
        program = mancala(folder, *words, "--report", "report.html", says=pipe, largest=2_000)
        said = pipe.read_text(encoding="utf-8")
        assert program.wait() == 2
        assert "File too large" in said
        assert "Ratings" in said
        assert (folder / "report.html").read_text(encoding="utf-8") == "of yesterday"
        assert [path.name for path in folder.iterdir()] == ["report.html"]


def test_a_game_that_is_not_written_whole_costs_no_other_program_its_game(tmp_path, monkeypatch):
    """Of two programs with one file, an incomplete game is removed and all other games are kept."""
    path, write_whole, half_written = tmp_path / "games.txt", writer._write_whole, threading.Event()

    def write(file, content):
        if b"torn" not in content:
            return write_whole(file, content)
        before = file.tell()
        file.write(content[:20])
        half_written.set()
        time.sleep(0.3)  # the other program appends now, unless the file is locked
        file.truncate(before)
        raise OSError("the disk is full")

    monkeypatch.setattr(writer, "_write_whole", write)
    second = GameRecord(GAME, south="second")
    other = threading.Thread(target=lambda: (half_written.wait(60), write_games(path, [second], append=True)))
    other.start()
    with raises(OSError, "disk"):
        write_games(path, [GameRecord(GAME, south="first"), GameRecord(GAME, south="torn")], append=True)
    other.join()
    assert [game.south for game in games_in(path)] == ["first", "second"]


# Halfway it waits for a file. It stores its steps at each measurement and resumes from them.
LEARNER = (
    HEAD
    + """
    import time
    from pathlib import Path

    file, steps = folder / "steps.json", 0
    if file.exists() and budget.resume(json.loads(file.read_text())):
        steps = json.loads(file.read_text())
    while budget.allows(steps + 100):
        steps += 100
        while steps > 500 and not Path("go").exists():
            Path("waits").touch()
            time.sleep(0.01)
        if budget.is_due(steps):
            yield Point(player(ruleset), steps)
            file.write_text(json.dumps(steps))
    yield Point(player(ruleset), steps)
"""
)


@pytest.mark.parametrize("number", soak_losses.STOPS, ids=lambda number: signal.Signals(number).name)
def test_a_signal_keeps_the_measurements_of_a_benchmark(number):
    with folder_of_work() as folder:
        (folder / "learner.py").write_text(LEARNER, encoding="utf-8")
        words = (
            "benchmark", "learner.py", "--folder", "found", "--tasks", "board", "--steps", "1000",
            "--seeds", "1", "--points", "3", "--games", "2", "--anchors", "random", "--lines",
        )  # fmt: skip
        program = mancala(folder, *words)
        wait_until((folder / "waits").exists, "the learner")
        program.send(number)
        assert program.wait() == 128 + number
        last = program.said.splitlines()[-1]
        assert "found/results.jsonl" in last
        assert ("interrupted" if number == signal.SIGINT else signal.Signals(number).name) in last
        kept = (folder / "found" / "results.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["steps"] for line in kept] == [300, 500]
        (folder / "go").touch()
        program = mancala(folder, *words)
        assert program.wait() == 0, program.said[-400:]
        lines = (folder / "found" / "results.jsonl").read_text(encoding="utf-8").splitlines()
        assert lines[:2] == kept
        assert [json.loads(line).get("steps") for line in lines[2:]] == [1000, None]
