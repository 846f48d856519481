"""Attacks on a user's results: signals, closed pipes, full disks, odd names, failing opponents.

Each attack starts the real command, disturbs it, and reads the remaining files with the package.
"""

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from soak_starter import TINY, UPDATE, Program, starter

from mancala_env.evaluation.round_robin import ResultsFile
from mancala_env.games import records
from mancala_env.networks.checkpoint import read_identity

GAME = "leyla"
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAMES = (
    "Amina\u00a0Ali",
    "Xamdi \U0001f469\u200d\U0001f33e",
    "\u202eZahra",
    "caf\udce9",
    "tab\there",
    "x" * 20_000,
)
"""Names of players that a record, a report or a terminal has to escape."""
TIRED = """
from mancala_env import agents

turns = [0]

def first(position):
    turns[0] += 1
    if turns[0] > {after}:
        raise RuntimeError("tired")
    return position.legal_actions[0]

def tired(ruleset):
    return agents.from_function(first, ruleset)
"""
"""A file with an agent that fails after some turns."""


@contextmanager
def folder_of_work() -> Iterator[Path]:
    """Make a temporary working folder for programs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        yield folder


def mancala(folder: Path, *words: str, **given: object) -> Program:
    """Start `mancala` in a folder."""
    return starter().start("mancala", *words, folder=folder, **given)  # type: ignore[arg-type]


def training(updates: int, *words: str) -> tuple[str, ...]:
    """Return the arguments of a training in the folder run, with updates of some milliseconds."""
    steps = str(updates * UPDATE)
    return ("train", *TINY, "--folder", ".", "--environment_steps", steps, *words)


def evaluation(games: int, *words: str, others: tuple[str, ...] = ("random", "greedy")) -> tuple[str, ...]:
    """Return the arguments of an evaluation that writes records, results and a report."""
    return (
        "evaluate", *others, "--ruleset", GAME, "--games", str(games), "--no_ladder", "--no_regret",
        "--num_threads", "1", "--records", "games.txt", "--results", "results.jsonl",
        "--report", "report.html", *words,
    )  # fmt: skip


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < 300, f"waited in vain for {what}"
        time.sleep(0.02)


def games_in(path: Path) -> list[records.GameRecord]:
    """Return the games of a file; raises if one is incomplete or breaks the rules."""
    return list(records.read_games(path)) if path.exists() else []


def results_in(path: Path) -> int:
    """Return the number of games in a results file; raises if a line is incomplete."""
    found = ResultsFile.read(path)
    return sum(2 * len(margins) for chunks in found._chunks.values() for _, margins in chunks)


def check_run(run: Path, updates: int) -> None:
    """See that a run has its last checkpoint, its report and its figures."""
    assert read_identity(run / "final.zip").environment_steps >= updates * UPDATE
    assert (run / "report.html").read_text(encoding="utf-8").endswith("</html>\n")
    assert (run / "evaluation.json").stat().st_size


def check_evaluation(folder: Path, games: int) -> None:
    """Check that an evaluation has written its records, results and report."""
    assert len(games_in(folder / "games.txt")) == games
    assert results_in(folder / "results.jsonl") == games
    assert (folder / "report.html").read_text(encoding="utf-8").endswith("</html>\n")


@contextmanager
def a_game(folder: Path, *words: str, **given: object) -> Iterator[tuple[Program, int]]:
    """Start a recorded game in text mode; yields the program and the file descriptor of its input."""
    lines = folder.parent / "lines"
    os.mkfifo(lines)
    program = mancala(
        folder, "play", "--ruleset", GAME, "--plain", "--record", "games.txt", *words, reads=lines, **given
    )
    hand = os.open(lines, os.O_WRONLY)
    try:
        yield program, hand
    finally:
        os.close(hand)


def leave(pipe: Path, read: int) -> None:
    """Read some bytes of a pipe and close it."""
    reader = os.open(pipe, os.O_RDONLY)
    if read:
        os.read(reader, read)
    os.close(reader)


def stopped_game(seed: int) -> int:
    """Stop a game by a signal: its record is kept, and the status says the signal."""
    rng = random.Random(seed)
    number = STOPS[seed % len(STOPS)]
    with folder_of_work() as folder, a_game(folder, "--north", "minimax:1") as (program, hand):
        turns = rng.randrange(1, 4)
        for n in range(turns):
            wait_until(lambda n=n: program.said.count("your turn:") > n, "a turn")
            legal = program.said.rpartition("Legal: ")[2].partition(".")[0].split(", ")
            os.write(hand, f"{rng.choice(legal)}\n".encode())
        wait_until(lambda: program.said.count("your turn:") > turns, "a turn")
        # Python handles a signal that comes right before it begins to read only after it has read.
        time.sleep(0.2)
        program.send(number)
        status = program.wait()
        assert status == 128 + number, f"status {status}: {program.said[-400:]}"
        (game,) = games_in(folder / "games.txt")
        assert len(game.turns) >= 2 * turns
    return 1


def stopped_evaluation(seed: int) -> int:
    """Stop an evaluation by a signal: no game is damaged, and the same command resumes."""
    rng = random.Random(seed)
    number = STOPS[seed % len(STOPS)]
    with folder_of_work() as folder:
        program = mancala(folder, *evaluation(6_400))
        wait_until(lambda: (folder / "results.jsonl").exists(), "results")
        time.sleep(rng.uniform(0.0, 0.5))
        program.send(number)
        status = program.wait()
        assert status == 128 + number, f"status {status}: {program.said[-400:]}"
        kept = results_in(folder / "results.jsonl")
        assert len(games_in(folder / "games.txt")) >= kept
        program = mancala(folder, *evaluation(kept + 64))
        assert program.wait() == 0, program.said[-400:]
        assert results_in(folder / "results.jsonl") == kept + 64
    return 1


def stopped_training(seed: int) -> int:
    """Stop a training by a signal: it saves a checkpoint and writes its report."""
    rng = random.Random(seed)
    number = STOPS[seed % len(STOPS)]
    with folder_of_work() as folder:
        program = mancala(folder, *training(10**6))
        wait_until(lambda: any(folder.glob("run/checkpoints/*.zip")), "a checkpoint")
        time.sleep(rng.uniform(0.0, 0.3))
        program.send(number)
        status = program.wait()
        assert status == 0, f"status {status}: {program.said[-400:]}"
        assert f"Ended early by {signal.Signals(number).name}" in program.said
        check_run(folder / "run", 1)
    return 1


def no_reader(seed: int) -> int:
    """Close the reader of the output: the work is finished."""
    rng = random.Random(seed)
    with folder_of_work() as folder:
        pipe = folder.parent / "pipe"
        os.mkfifo(pipe)
        is_training = rng.random() < 0.5
        words = training(4) if is_training else evaluation(64)
        program = mancala(folder, *words, says=pipe)
        leave(pipe, rng.choice((0, 1)))
        status = program.wait()
        assert status == 0, f"status {status}"
        if is_training:
            check_run(folder / "run", 4)
        else:
            check_evaluation(folder, 64)
    return 1


def full_output(seed: int) -> int:
    """Write the output to a full disk: the work is finished, and the status reports the failure."""
    with folder_of_work() as folder:
        is_training = random.Random(seed).random() < 0.5
        words = training(4) if is_training else evaluation(64)
        status = mancala(folder, *words, says=Path("/dev/full")).wait()
        assert status == 2, f"status {status}"
        if is_training:
            check_run(folder / "run", 4)
        else:
            check_evaluation(folder, 64)
    return 1


def odd_name(seed: int) -> int:
    """Record a game of a person and an evaluation of an agent with odd names."""
    rng = random.Random(seed)
    name = rng.choice(NAMES)
    with folder_of_work() as folder:
        with a_game(folder, "--south", f"human:{name}", "--north", "random") as (program, hand):
            wait_until(lambda: "your turn:" in program.said, "a turn")
            legal = program.said.rpartition("Legal: ")[2].partition(".")[0].split(", ")
            os.write(hand, f"{legal[0]}\nquit\n".encode())
            status = program.wait()
            assert status == 0, f"status {status}: {program.said[-400:]}"
            assert games_in(folder / "games.txt")[0].turns
        (folder / "games.txt").unlink()
        file = folder / f"{name[:20]}.py"
        file.write_text(TIRED.format(after=10**6), encoding="utf-8")
        program = mancala(folder, *evaluation(4, others=(f"python:{file}:tired", "random")))
        status = program.wait()
        assert status == 0, f"status {status}: {program.said[-400:]}"
        check_evaluation(folder, 4)
    return 2


def failing_agent(seed: int) -> int:
    """Let an agent raise an exception: a game, results and a training are kept."""
    rng = random.Random(seed)
    with folder_of_work() as folder:
        (folder / "tired.py").write_text(TIRED.format(after=rng.randrange(1, 4)), encoding="utf-8")
        with a_game(folder, "--south", "random", "--north", "python:tired.py:tired") as (program, _):
            assert program.wait() != 0
            (game,) = games_in(folder / "games.txt")
            assert game.turns
        (folder / "games.txt").unlink()
        (folder / "tired.py").write_text(TIRED.format(after=rng.randrange(2_000, 4_000)), encoding="utf-8")
        tired = ("random", "python:tired.py:tired")
        program = mancala(folder, *evaluation(6_400, others=tired))
        assert program.wait() != 0
        assert "tired" in program.said, program.said[-400:]
        kept = results_in(folder / "results.jsonl")
        assert 0 < kept <= len(games_in(folder / "games.txt"))
        pool = ("--pool.share", "0.5", "--pool.opponents", "[python:tired.py:tired]")
        program = mancala(folder, *training(10**6, *pool, "--checkpoint_minutes", "60"))
        assert program.wait() != 0
        assert "tired" in program.said, program.said[-400:]
        assert (
            max(read_identity(path).environment_steps for path in folder.glob("run/checkpoints/*.zip"))
            > UPDATE
        )
    return 3


def full_record(seed: int) -> int:
    """Fill the disk of the record before the end of a game: the game is printed."""
    largest = random.Random(seed).randrange(0, 200)
    with folder_of_work() as folder:
        # The output goes into a pipe, to which the limit on file sizes does not apply.
        pipe = folder.parent / "pipe"
        os.mkfifo(pipe)
        (folder / "games.txt").write_bytes(b"")
        words = ("play", "--ruleset", GAME, "--plain", "--south", "greedy", "--north", "random")
        program = mancala(folder, *words, "--record", "games.txt", says=pipe, largest=largest)
        said = pipe.read_text(encoding="utf-8")
        assert program.wait() == 2, said
        assert "File too large" in said, said
        # A message of standard error comes before or after the record, as Python buffers the output.
        lines = said[said.index("[Ruleset ") :].splitlines()
        text = "\n".join(line for line in lines if not line.startswith("mancala: "))
        assert records.GameRecord.from_text(text).verify().is_over
        assert (folder / "games.txt").read_bytes() == b"", "half a game is left"
    return 1


def two_records(seed: int) -> int:
    """Let two programs add games to one file at the same time: the file holds all of them."""
    rng = random.Random(seed)
    with folder_of_work() as folder:
        words = ("play", "--ruleset", GAME, "--plain", "--south", "random", "--record", "games.txt")
        programs = [mancala(folder, *words, "--north", rng.choice(("random", "greedy"))) for _ in range(4)]
        assert [program.wait() for program in programs] == [0] * 4
        assert len(games_in(folder / "games.txt")) == 4
    return 4


ATTACKS: tuple[Callable[[int], int], ...] = (
    stopped_game,
    stopped_evaluation,
    stopped_training,
    no_reader,
    full_output,
    full_record,
    odd_name,
    failing_agent,
    two_records,
)


def losses(seed: int) -> int:
    """Run one of the attacks; returns its number of cases."""
    return ATTACKS[seed % len(ATTACKS)](seed // len(ATTACKS))
