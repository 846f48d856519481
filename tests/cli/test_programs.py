"""Errors of the programs in tools/ and training/."""

import argparse
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from error_checks import names

from mancala_env import cli, rulesets
from mancala_env._util.command_line import Interrupted, MissingPackage, Parser, in_one_line
from mancala_env._util.installation import pip_command
from mancala_env._util.package_data import bundled_file
from mancala_env.errors import MancalaError
from mancala_env.solver.book import UNKNOWN, Book
from mancala_env.training import run as train
from mancala_env.training import value_growth
from mancala_env.training.config import CONFIGS, read_config
from tools import (
    make_book,
    make_fair_openings,
    make_ladders,
    make_page_files,
    make_positions,
)
from training import cluster_run as rllib_train
from training.experiments import ceiling, figures, tune

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [
        (MancalaError("no game\n  'x'"), 2, "prog: no game 'x'\n"),
        (
            FileNotFoundError(2, "No such file or directory", "x.npz"),
            2,
            "prog: No such file or directory: 'x.npz'\n",
        ),
        (MissingPackage('x needs y: pip install ".[train]"'), 2, 'pip install ".[train]"\n'),
        (MancalaError("title \x1b]0;owned\x07 \u202e"), 2, "prog: title \\x1b]0;owned\\x07 \\u202e\n"),
        (KeyboardInterrupt(), 130, "prog: interrupted; all is kept\n"),
        (Interrupted("half is kept"), 130, "prog: interrupted; half is kept\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_wrong_is_one_line_and_a_status(problem, status, said, capsys):
    @in_one_line("prog", "all is kept")
    def main() -> int:
        raise problem

    assert main() == status
    shown = capsys.readouterr().err
    assert shown.endswith(said)
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--games", "1e6"], ["--games", "'1e6'", "prog --help"]),
        (["--share", "half"], ["--share", "'half'", "prog --help"]),
        (["--games", "1_000"], ["--games", "'1_000'"]),
        (["--games", "\u0663"], ["--games", "'\u0663'"]),
        (["--share", "1_0.5"], ["--share", "'1_0.5'"]),
        (["--share", "-\u0663"], ["--share", "-\u0663"]),
    ],
)
def test_an_error_of_a_number_names_the_valid_values(words, said, capsys):
    parser = Parser(prog="prog")
    parser.add_argument("--games", type=int)
    parser.add_argument("--share", type=float)
    assert parser.parse_args(["--games", "6", "--share", "0.5"]) == argparse.Namespace(games=6, share=0.5)
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    assert names(capsys.readouterr().err, said)


@pytest.mark.parametrize("bug", [KeyError("x"), ValueError("x"), ImportError("cannot import name 'x'")])
def test_a_bug_of_ours_is_not_hidden(bug):
    @in_one_line("prog")
    def main() -> int:
        raise bug

    with pytest.raises(type(bug)):
        main()


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (make_book.main, ["leyla", "lyla"], ["make_book", "'lyla'", "'leyla'"]),
        (make_book.main, ["leyla", "--folder", "no/such"], ["--folder", "no/such"]),
        (make_book.main, ["leyla", "--turns", "-1", "--folder", "."], ["--turns", 0, -1]),
        (make_fair_openings.main, ["gabata_3", "--folder", "no/such"], "no/such"),
        (make_fair_openings.main, ["gabata_3", "--turns", "-1", "--folder", "."], ["turns", 0, -1]),
        (make_positions.main, ["leyla", "lyla"], ["make_positions", "'lyla'", "'leyla'"]),
        (make_positions.main, ["leyla", "--folder", "no/such"], ["--folder", "no/such"]),
        (make_ladders.main, ["lyla"], ["make_ladders", "'lyla'", "'leyla'"]),
        (value_growth.main, ["leyla", "--seed", "-1"], ["mancala grow-value", "seed", 0, -1]),
        (value_growth.main, ["leyla", "--depth", "100"], ["mancala grow-value", "depth", 1, 99, 100]),
        (value_growth.main, ["leyla", "--out", "."], ["mancala grow-value", "--out", "not ."]),
        (cli.main, ["compare", "nothing", "--report", "no/such/x.png"], ["mancala", "no/such"]),
        (cli.main, ["compare", "nothing", "--csv", "no/such/x.csv"], ["mancala", "--csv", "no/such/x.csv"]),
        (train.main, ["leyla", "--seeds", "0"], ["mancala train", "--seeds", "'0'"]),
        (train.main, ["leyla", "--seeds", "1,1"], ["mancala train", "--seeds", "'1,1'"]),
        (train.main, ["leyla", "--seeds", "2", "--seed", "3"], ["mancala train", "--seeds", "--seed"]),
        (train.main, ["--seeds=2", "--resume", "runs/a"], ["mancala train", "--seeds", "--resume"]),
        (rllib_train.main, ["--seeds", "2"], ["rllib_train.py", "--seeds"]),
        (ceiling.main, ["--ruleset", "lyla"], ["ceiling.py", "'lyla'", "'leyla'"]),
        (train.main, ["--minutes", "0"], ["mancala train", "minutes", 0, 0.0]),
        (train.main, ["--evaluation.opponents", "[gredy]"], ["mancala train", "'gredy'", "greedy"]),
        (
            train.main,
            ["--pool.share", "0.5", "--pool.opponents", "[minimax:0.1]"],
            ["'minimax:0.1'", "DEPTH"],
        ),
        (train.main, ["--minuts", "1"], ["mancala train", "--minuts", "--minutes"]),
        (train.main, ["--config", "no/such.yaml"], ["mancala train", "no/such.yaml"]),
        (rllib_train.main, ["--minutes", "0"], ["rllib_train.py", "minutes", 0, 0.0]),
        (make_ladders.main, ["--games", "many"], ["make_ladders", "--games", "'many'"]),
        (make_book.main, ["leyla", "--turns", "many"], ["make_book", "--turns", "'many'"]),
        (make_positions.main, ["leyla", "--nothing"], ["make_positions", "--nothing"]),
        (make_page_files.main, ["--nothing"], ["make_page_files", "--nothing"]),
        (value_growth.main, ["leyla", "--games", "0"], ["mancala grow-value", "games", 1, 0]),
        (tune.main, ["--nothing"], "tune.py"),
        (figures.main, ["--nothing"], ["figures.py", "--nothing"]),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, list) else "",
)
def test_mistakes_are_one_line_and_leave_nothing_behind(main, words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert names(err, said), err
    assert not list(tmp_path.iterdir())


def test_a_value_network_is_replaced_only_where_it_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "value_leyla.safetensors"
    path.write_bytes(before := bundled_file("value", "leyla").read_bytes())
    words = ["grow-value", "leyla", "--games", "40", "--depth", "1", "--generations", "1"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert names(said, ["mancala grow-value", path.name, "--overwrite", "--out"])
    assert path.read_bytes() == before
    assert cli.main([*words, "--overwrite"]) == 0
    assert path.read_bytes() != before


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["evaluate", "run", "--ruleset", "leyla"], "mancala"),
        (["show", "run"], "mancala"),
        (["export", "run", "--safetensors", "run.safetensors"], "mancala export"),
    ],
)
def test_the_folder_of_a_run_is_not_taken_for_its_checkpoint(words, program, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "final.zip").touch()
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{program}: ")
    assert names(said, Path("run", "final.zip"))


def test_show_refuses_an_agent_that_is_none(capsys):
    assert cli.main(["show", "minimax:deep"]) == 2
    assert names(capsys.readouterr().err, "DEPTH")
    assert cli.main(["show", "minimax"]) == 0  # an agent


@pytest.mark.parametrize("main", [train.main, rllib_train.main])
def test_a_folder_that_is_resumed_runs_no_file_that_it_names(main, tmp_path, capsys):
    own = tmp_path / "own.py"
    own.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef make(ruleset): ...\n", encoding="utf-8")
    words = ["--config", str(CONFIGS / "smoke.yaml")]
    config, _ = read_config(words)
    config.evaluation.opponents = [f"python:{own}:make"]
    (tmp_path / "config.yaml").write_text(config.to_yaml(), encoding="utf-8")
    assert main(["--resume", str(tmp_path)]) == 2
    assert names(capsys.readouterr().err, own)
    assert not (tmp_path / "ran").exists()


def book_of(path: Path) -> Book:
    return Book.of_file(rulesets.lookup("layli_goobalay"), path)


@pytest.mark.slow
def test_ctrl_c_leaves_a_whole_book(tmp_path):
    """The signal comes during a position that takes very long."""
    path = tmp_path / "book_layli_goobalay.npz"
    words = ["layli_goobalay", "--turns", "1", "--folder", str(tmp_path), "--memory_mb", "64"]
    maker = subprocess.Popen(
        [sys.executable, "-m", "tools.make_book", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert maker.stdout is not None
    try:
        assert maker.stdout.readline().startswith("layli_goobalay: 0/1")  # it solves now
        maker.send_signal(signal.SIGINT)
        _, said = maker.communicate(timeout=300)
    finally:
        maker.kill()
    assert maker.returncode == 130
    assert said == ("make_book: interrupted; the values so far are saved; run the same command to resume\n")
    assert set(book_of(path).rests) == {UNKNOWN}
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_book_keeps_the_turns_it_has(tmp_path, capsys):
    shipped = ROOT / "mancala_env" / "data" / "book_layli_goobalay.npz"
    path = tmp_path / shipped.name
    path.write_bytes(shipped.read_bytes())
    assert make_book.main(["layli_goobalay", "--turns", "1", "--budget", "0", "--folder", str(tmp_path)]) == 0
    before, after = book_of(shipped), book_of(path)
    assert after.turns == before.turns > 1
    known = before.rests != UNKNOWN
    assert (after.rests[known] == before.rests[known]).all()
    assert after.line == before.line


def test_a_file_that_is_not_a_book_is_named_and_kept(tmp_path, capsys):
    path = tmp_path / "book_layli_goobalay.npz"
    path.write_bytes(b"not a book")
    assert make_book.main(["layli_goobalay", "--turns", "1", "--folder", str(tmp_path)]) == 2
    assert names(capsys.readouterr().err, path)
    assert path.read_bytes() == b"not a book"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "words", "said"),
    [
        ("ray", ["training/rllib_train.py", "--help"], ["rllib_train.py", pip_command("ray")]),
        ("torch", ["training/train.py", "--help"], ["mancala train", pip_command("train")]),
        ("yaml", ["training/train.py", "--help"], ["mancala train", "yaml", "pip install"]),
    ],
)
def test_a_missing_extra_is_one_line(missing, words, said):
    code = (
        f"import runpy, sys; sys.modules[{missing!r}] = None; sys.argv = {words!r}\n"
        f"runpy.run_path({words[0]!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert names(done.stderr, said), done.stderr


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (
            cli.main,
            ["evaluate", "random", "--num-threads", "1"],
            "--num-threads (did you mean '--num_threads'",
        ),
        (cli.main, ["benchmark", "x", "--core-minutes=3"], "--core-minutes (did you mean '--core_minutes'"),
        (make_ladders.main, ["leyla", "--slow-games", "2"], "--slow-games (did you mean '--slow_games'"),
    ],
)
def test_an_option_that_there_is_not_is_told_the_nearest(main, words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert re.fullmatch(
        rf"(python -m )?(mancala|tools)\S*: unknown option {re.escape(said)}.*; see .* --help\n",
        capsys.readouterr().err,
    )
