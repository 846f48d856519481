"""The plain text program: lines of input and output over a pipe, without colours."""

import contextlib
import io
import os
import pty
import subprocess
import sys

import pytest
from error_checks import names

from mancala_env import Position, cli
from mancala_env._util.installation import pip_command
from mancala_env.games import records
from mancala_env.terminal.game import InteractiveGame
from mancala_env.terminal.plain import PlainPlay

NEAR_THE_END = "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"


def told(game, *lines):
    """Return the program's output for some lines of input."""
    output = io.StringIO()
    PlainPlay(game, lines, output, values_seconds=60).run()
    return output.getvalue().splitlines()


def test_a_turn_is_told_in_words():
    said = told(InteractiveGame("layli_goobalay"), "3")
    assert said[:5] == [
        "Layli Goobalay: human (South) - human (North).",
        "Type a hole, or type help.",
        "South to move. South's row in sowing order: 4, 4, 4, 4, 4, 4. "
        "North's row in sowing order: 4, 4, 4, 4, 4, 4. "
        "Stores: South 0, North 0. Legal: S1, S2, S3, S4, S5, S6.",
        "South, your turn:",
        "1. S3.",
    ]
    told_of_turn = said[5 : said.index("North, your turn:") - 1]
    assert told_of_turn[0] == "South lifts 4 seeds from S3, the last falls into N1."
    assert told_of_turn[-1] == "7 seeds into South's store."
    assert said[-2:] == ["North, your turn:", "The game is not over."]


@pytest.mark.parametrize("words", ["3", "S3", "s3", " 3 \n"])
def test_a_hole_may_be_written_as_people_do(words):
    game = InteractiveGame("layli_goobalay")
    told(game, words)
    assert [str(step.turn) for step in game.steps] == ["S3"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("1", "You cannot sow S1: it is empty. Legal: S3, S6."),
        ("9", "You cannot sow S9: it is North's. Legal: S3, S6."),
        ("N2", "'N2' is neither a hole nor a command."),
        ("13", "'13' is neither a hole nor a command."),
        ("\x1b[2Jx", r"'\\x1b[2Jx' is neither a hole nor a command."),
        ("undo", "There is no turn to take back."),
        ("save", "Name a file, for example: save games.txt"),
        ("save /nowhere/games.txt", "Not saved: "),
        ("save .", "Not saved: games are kept in a file, such as games.txt, not in '.'"),
        ("hint", "Hint: S"),
        ("help", "A number or a turn, such as 3 or S3: sow that hole."),
        ("b", "Layli Goobalay, round 1: South to move"),
    ],
)
def test_what_is_asked_is_answered_and_changes_nothing(words, answer):
    game = InteractiveGame(Position.from_text(NEAR_THE_END))
    said = told(game, words)
    assert any(line.startswith(answer) for line in said), said
    assert game.position == Position.from_text(NEAR_THE_END)
    assert "".join(said).isprintable()


def test_values_are_told_turn_by_turn():
    said = told(InteractiveGame(Position.from_text(NEAR_THE_END)), "values")
    assert any(line.startswith("With best play South ends the round") for line in said)
    assert {line.partition(":")[0] for line in said} >= {"S3", "S6"}


def test_undo_and_save(tmp_path):
    file = tmp_path / "games.txt"
    game = InteractiveGame("leyla", "human", "greedy", seed=1)
    said = told(game, "3", "undo", "2", f"save {file}", "quit", "1")
    assert "2 turns taken back." in said
    (record,) = records.read_games(file)
    assert str(record.turns[0]) == "S2"
    assert said[-1] == "The game is not over."
    file.write_text("my notes", encoding="utf-8")
    said = told(game, f"save {file}", "quit")
    assert any(line.startswith("Not saved: ") and str(file) in line for line in said), said


def test_rounds_are_announced():
    game = InteractiveGame("leyla", "greedy", "greedy", rounds=2, seed=1)
    said = told(game)
    counts = game.steps[-1].after.counts
    assert "Round 2 begins." in said
    assert f"Round 2 is over: South {counts[0]}, North {counts[1]}." in said
    assert "wins by" in said[-1] or "draw" in said[-1]


# The program


def play(*arguments, lines="", **environment):
    return subprocess.run(
        [sys.executable, "-m", "mancala_env", "play", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


@pytest.mark.slow
def test_a_whole_game_over_a_pipe_without_colour_is_recorded(tmp_path):
    file = tmp_path / "games.txt"
    done = play(
        "--ruleset", "gabata_five_holes", "--north", "greedy", "--seed", "3", "--record", str(file),
        lines="1\n2\n3\n4\n5\n" * 100,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "wins by" in done.stdout.splitlines()[-1]
    (record,) = records.read_games(file)
    assert record.verify().is_over
    assert (record.south, record.north, record.seed) == ("human", "greedy", 3)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--ruleset", "leila"], ["'leila'", "'leyla'"]),
        (["--north", "gready"], ["'gready'", "greedy"]),
        (["--rounds", "0"], ["rounds", 1, 1000, 0]),
        (["--seed", "-1"], ["seed", 0, -1]),
        (["--start", "leyla 4,4/4,4 0-0 S"], [12, "[4, 4, 4, 4]"]),
        (
            ["--start", Position("leyla").to_text(), "--ruleset", "gabata_i"],
            ["leyla", "gabata_i"],
        ),
        (["--values_seconds", "0"], ["--values_seconds", "above 0", 3600, 0.0]),
        (["--seed_seconds", "-1"], ["--seed_seconds", "at least 0", 3600, -1.0]),
        (["--record", "/nowhere/games.txt"], "/nowhere/games.txt"),
    ],
)
def test_a_mistake_is_one_line(arguments, why, capsys):
    assert cli.main(["play", "--plain", *arguments]) == 2
    said = capsys.readouterr().err
    assert names(said, why), said
    assert said.count("\n") == 1


def in_a_terminal(command, keys, **environment):
    """Run a command in a terminal of 80 x 24 and type at its prompts; returns status and screen."""
    terminal, its_end = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        command, stdin=its_end, stdout=its_end, stderr=its_end, env=os.environ | environment, close_fds=True
    )
    os.close(its_end)
    shown = b""
    with contextlib.suppress(OSError):  # the error of a terminal whose other end is closed
        while more := os.read(terminal, 65536):
            shown += more
            for wanted, key in list(keys):
                if wanted in shown:
                    keys.remove((wanted, key))
                    os.write(terminal, key)
                    shown = b""
                break
    os.close(terminal)
    return process.wait(), shown


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_lines():
    command = [sys.executable, "-m", "mancala_env", "play", "--ruleset", "leyla"]
    status, shown = in_a_terminal(command, [(b"your turn:", b"quit\n")], TERM="dumb")
    assert status == 0
    assert b"The game is not over." in shown
    assert b"\x1b" not in shown


@pytest.mark.slow
def test_without_textual_one_line_names_the_extra():
    script = (
        "import sys; sys.modules['textual'] = None; from mancala_env import cli; sys.exit(cli.main(['play']))"
    )
    status, shown = in_a_terminal([sys.executable, "-c", script], [], TERM="xterm-256color")
    assert status == 2
    assert shown.strip().count(b"\n") == 0
    assert pip_command("play").encode() in shown


@pytest.mark.slow
def test_the_board_in_a_terminal_is_played_quit_and_recorded(tmp_path):
    pytest.importorskip("textual")
    file = tmp_path / "games.txt"
    command = [sys.executable, "-m", "mancala_env", "play", "--north", "human", "--record", str(file),
               "--seed_seconds", "0"]  # fmt: skip
    keys = [(b"Choose a hole", b"3"), (b"North", b"q")]
    status, _ = in_a_terminal(command, keys, TERM="xterm-256color")
    assert status == 0
    (record,) = records.read_games(file)
    assert [str(turn) for turn in record.turns] == ["S3"]


def test_input_that_is_not_utf_8_is_no_command():
    command = [sys.executable, "-m", "mancala_env", "play", "--plain", "--south", "human", "--north", "human"]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, input=b"\xff\n3\n", capture_output=True, env=strict, check=False)
    assert done.returncode == 0
    assert b"neither a hole nor a command" in done.stdout
    assert b"1. S3." in done.stdout
