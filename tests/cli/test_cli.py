"""Every command and its errors; some commands run in a process of their own."""

import contextlib
import errno
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises

from mancala_env import Position, cli, rulesets, solver
from mancala_env._util.installation import pip_command
from mancala_env._util.package_data import bundled_file
from mancala_env.cli.progress import lines
from mancala_env.errors import InvalidArgument
from mancala_env.games import records, speed
from mancala_env.training.config import read_config
from mancala_env.version import __version__

# Three turns from the end: solved at once.
COMMANDS = (
    "evaluate",
    "compare",
    "train",
    "solve",
    "speed",
    "benchmark",
    "show",
    "replay",
    "play",
    "rulesets",
    "warmup",
)
NEAR_THE_END = "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"
ROUND_3 = f"{NEAR_THE_END} round=3"


def mancala(*arguments):
    """Run the command line as a user does."""
    return subprocess.run([sys.executable, "-m", "mancala_env", *arguments], capture_output=True, text=True)


@pytest.fixture
def mancala_here(capsys):
    """Return a function that runs the command line in this process, which saves seconds of imports."""

    def mancala_here(*arguments):
        status = cli.main(arguments)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    return mancala_here


@pytest.fixture
def json_of(capsys):
    """Return a function that runs a command in this process and returns its output as JSON."""

    def json_of(*arguments):
        status = cli.main([*arguments, "--json"])
        said = capsys.readouterr()
        assert (status, said.err) == (0, "")
        return json.loads(said.out)

    return json_of


@pytest.mark.slow
def test_evaluate_prints_tables_and_writes_a_report(tmp_path):
    report = tmp_path / "report.html"
    done = mancala("evaluate", "random", "greedy", "--games", "20", "--no_regret", "--report", str(report))
    assert done.returncode == 0, done.stderr
    assert "Ratings, layli_goobalay" in done.stdout
    assert "greedy" in done.stdout
    page = report.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in re.sub(r"http://(www\.w3\.org|purl\.org|creativecommons\.org)", "", page)
    pictures = page.split("<svg")[1:]
    assert len(pictures) == 2  # ratings and win rates
    for picture in pictures:
        ET.fromstring("<svg" + picture[: picture.index("</svg>")] + "</svg>")


def test_a_report_whose_name_is_too_long_is_refused_before_the_games(tmp_path, capsys):
    report = tmp_path / (300 * "r" + ".html")
    words = ["evaluate", "random", "greedy", "--games", "20", "--no_regret", "--report", str(report)]
    assert cli.main(words) == 2
    said = capsys.readouterr()
    assert "File name too long" in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_the_version_is_told():
    done = mancala("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mancala {__version__}\n", "")


def test_the_help_names_all_commands():
    done = mancala("--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("--version", *COMMANDS))


@pytest.mark.slow
def test_evaluate_as_json_on_the_ladder(json_of):
    found = json_of("evaluate", "minimax:3", "--ruleset", "layli_goobalay", "--games", "2")
    assert found["ruleset"] == "layli_goobalay"
    rated = {row["agent"]: row for row in found["ratings"]["agents"]}
    assert rated["random"]["elo"] == 0
    low, high = rated["minimax:3"]["interval"]
    assert low < rated["minimax:3"]["elo"] < high
    assert {match["second"] for match in found["matches"]} == set(rated) - {
        "minimax:3",
        "perfect",
        "perfect+traps",
    }
    assert found["opening_set"] == "balanced"
    assert found["exploitability"]["greedy"] == [37, 37]
    assert "minimax:3" not in found["exploitability"]
    (regret,) = found["regrets"]
    assert regret["overall"]["positions"] == sum(part["positions"] for part in regret["phases"]) > 100
    assert 0 < regret["overall"]["mean_regret"] < 20


@pytest.mark.slow
def test_solve_prints_the_value_and_every_turn(mancala_here):
    done = mancala_here("solve", NEAR_THE_END)
    assert done.returncode == 0, done.stderr
    solution = solver.solve(Position.from_text(NEAR_THE_END))
    assert f"value {solution.value:+d} for South" in done.stdout
    assert "S3" in done.stdout
    assert "S6" in done.stdout


def test_solve_refuses_no_threads(capsys):
    assert cli.main(["solve", "--num_threads", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert names(said.err, ["num_threads", 1024, 0])


@pytest.mark.slow
def test_solve_as_json(json_of):
    found = json_of("solve", *NEAR_THE_END.split())  # the position may be unquoted
    solution = solver.solve(Position.from_text(NEAR_THE_END))
    assert found["is_exact"]
    assert found["value"] == solution.value
    assert {row["action"]: row["lower"] for row in found["actions"]} == solution.action_values
    assert found["position"] == NEAR_THE_END
    assert found["principal_variation"][0].startswith("S")


@pytest.mark.slow
def test_solve_gives_bounds_when_time_is_up(json_of):
    found = json_of("solve", "--ruleset", "layli_goobalay_long", "--time_limit", "0.2")
    assert not found["is_exact"]
    assert found["value"] is None
    assert found["lower"] < found["upper"]


@pytest.mark.slow
def test_ctrl_c_shows_the_bounds_so_far():
    """Run on a terminal, whose progress bar shows that the search has started."""
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mancala_env", "solve", "--ruleset", "layli_goobalay_long"],
        stdout=subprocess.PIPE,
        stderr=its_end,
        # Processes that a shell's background job starts ignore SIGINT by default.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(its_end)
    shown = b""
    while b" nodes" not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # the error of a terminal whose other end is closed
        while more := os.read(terminal, 4096):
            shown += more
    os.close(terminal)
    assert process.communicate()[0] == b""
    assert process.returncode == 130
    assert b"Traceback" not in shown
    assert re.search(rb"mancala: interrupted; the value is [+-]\d+ to [+-]\d+", shown)


@pytest.mark.slow
def test_speed_refuses_what_is_not_a_time():
    wrong: list[Any] = ["2", None, 0, float("nan")]
    for seconds in wrong:
        with raises(InvalidArgument, "seconds", seconds):
            speed.measure(seconds=seconds)


def test_speed_measures_the_engine(json_of, mancala_here):
    rows = json_of("speed", "--seconds", "0.1", "--ruleset", "leyla", "--num_threads", "1")
    assert len(rows) == 2
    assert all(row["value"] > 0 and row["unit"] == "turns/s" and "leyla" in row["name"] for row in rows)
    assert "turns/s" in mancala_here("speed", "--seconds", "0.1").stdout


@pytest.mark.slow
def test_show_draws_a_position(json_of, mancala_here):
    done = mancala_here("show", NEAR_THE_END)
    assert done.stdout == f"{Position.from_text(NEAR_THE_END)}\n{NEAR_THE_END}\n"
    found = json_of("show", "gabata_3")
    assert found["player"] == 1
    assert found["legal_actions"] == list(Position("gabata_3").legal_actions)


def test_replay_checks_a_file_lists_its_games_and_shows_one(tmp_path, capsys):
    def said(*words):
        assert cli.main(["replay", str(file), *words]) == 0
        return capsys.readouterr().out

    file = tmp_path / "games.txt"
    start = Position.from_text("leyla 0,1,0,0,0,1/0,0,0,0,1,1 20-24 S")
    first = records.GameRecord("leyla", [(0, 1, "why?")], "Amina", start=start, resigned=1)
    second = records.GameRecord("gabata_i", [(0, 0)], comment="begun", headers={"Event": "an evening"})
    records.write_games(file, [first, second])
    assert said().splitlines() == [
        "game 1: leyla: Amina (South) - ? (North), 1 turn, South (resigned)",
        "game 2: gabata_i: ? (South) - ? (North), 1 turn, not over",
        "2 games; every turn is legal",
    ]
    shown = said("--game", "1")
    assert str(start) in shown
    assert "1. S2: 1 lap  {why?}" in shown
    assert shown.endswith("North resigned\n")
    shown = said("--game", "2")
    assert "Event: an evening\nbegun\n" in shown
    assert shown.endswith("the game is not over\n")
    after = Position("gabata_i")
    after.play(0)
    shown = said("--game", "2", "--turn", "1")
    assert shown.endswith(f"{after}\n{after.to_text()}\n")
    first_turn = json.loads(said("--game", "2", "--turn", "0", "--json"))
    assert first_turn["position"] == Position("gabata_i").to_text()
    assert [game["turns"] for game in json.loads(said("--json"))] == [["S2"], ["S1"]]


@pytest.mark.parametrize(
    ("text", "arguments", "why"),
    [
        (None, [], "games.txt"),
        ("", [], "games.txt"),
        (
            '[Ruleset "leyla"]\nS1 S2',
            [],
            ["line 2", "game 1", "turn 2", "S2", "N1"],
        ),
        ('[Ruleset "leyla"]', ["--game", "2"], ["--game", 1]),
        ('[Ruleset "leyla"]', ["--turn", "1"], ["--turn", 0]),
        ('[Ruleset "leyla"]\nS1', ["--turn", "2"], ["--turn", 0, 1]),
        ('[Ruleset "leyla"]\n[Ruleset "leyla"]', ["--turn", "1"], "--game"),
        ('[Ruleset "leyla"]', ["--game", "0"], ["--game", 1, 0]),
    ],
)
def test_replay_reports_an_error_in_one_line(text, arguments, why, tmp_path, capsys):
    file = tmp_path / "games.txt"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert cli.main(["replay", str(file), *arguments]) == 2
    said = capsys.readouterr().err
    assert names(said, why)
    assert said.count("\n") == 1


def test_evaluate_records_its_games(tmp_path, capsys):
    file = tmp_path / "games.txt"
    words = ["evaluate", "greedy", "random", "--games", "4", "--no_regret", "--json", "--ruleset", "leyla"]
    assert cli.main([*words, "--no_ladder", "--records", str(file)]) == 0
    (match,) = json.loads(capsys.readouterr().out)["matches"]
    games = list(records.read_games(file))
    assert len(games) == 4
    outcomes = [game.verify() for game in games]
    won = [
        one.winner == (game.north == "greedy") for one, game in zip(outcomes, games) if one.winner is not None
    ]
    assert (sum(won), len(won)) == (match["wins"], match["wins"] + match["losses"])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A checkpoint of another ruleset than the default, with random weights."""
    return str(write_checkpoint(tmp_path_factory.mktemp("run") / "agent.zip", identity_of("leyla")))


def test_evaluate_plays_a_checkpoint_at_its_own_ruleset(checkpoint, capsys):
    assert cli.main(["evaluate", checkpoint, "random", "--games", "4", "--no_regret", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ruleset"] == "leyla"
    assert found["agents"] == [checkpoint, "random"]


def test_show_says_what_a_checkpoint_is(checkpoint, capsys):
    assert cli.main(["show", checkpoint]) == 0
    shown = capsys.readouterr().out
    assert "leyla (Leyla (Wegi))" in shown
    assert re.search(r"^ environment steps +123 *$", shown, re.MULTILINE)
    assert not re.search(r"^ *turns\b", shown, re.MULTILINE)
    assert cli.main(["show", checkpoint, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ruleset"]["name"] == "leyla"


def test_show_writes_the_metrics_of_a_run(checkpoint, tmp_path, capsys):
    assert cli.main(["show", checkpoint, "--csv", "-"]) == 2
    assert names(capsys.readouterr().err, [checkpoint, "config.yaml"])
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    copies = [tmp_path / "run" / "final.zip", tmp_path / "run" / "checkpoints" / "123.zip"]
    for copy in copies:
        copy.write_bytes(Path(checkpoint).read_bytes())
    (tmp_path / "run" / "config.yaml").write_text("ruleset: leyla\n")
    (tmp_path / "run" / "metrics.jsonl").write_text('{"environment_steps": 64, "train/value_loss": 0.5}\n')
    printed = ""
    for path in (tmp_path / "run", *copies):
        assert cli.main(["show", str(path), "--csv", "-"]) == 0
        printed = capsys.readouterr().out
        head, row = printed.splitlines()
        assert head == "run,seed,environment_steps,train/value_loss"
        assert row.split(",")[::2] == ["run", "64"]
        assert row.endswith(",0.5")
    table = tmp_path / "table.csv"
    assert cli.main(["show", str(tmp_path / "run"), "--csv", str(table)]) == 0
    assert names(capsys.readouterr().out, ["leyla", str(table)])
    assert table.read_text() == printed
    metrics = tmp_path / "run" / "metrics.jsonl"
    before = metrics.read_bytes()
    assert cli.main(["show", str(copies[1]), "--csv", str(metrics)]) == 2
    assert names(capsys.readouterr().err, ["--csv", str(metrics)])
    assert metrics.read_bytes() == before
    for words in (["--game", "1"], ["--svg", "a.svg"], ["--ruleset", "leyla"]):
        assert cli.main(["show", str(tmp_path / "run"), "--csv", "-", *words]) == 2
        assert names(capsys.readouterr().err, ["--csv", words[0]])


def test_show_says_how_a_checkpoint_differs_from_its_configuration_and_with_all_every_setting(
    tmp_path, capsys
):
    config = read_config(["leyla", "--seed", "7", "--pool.opponents", "[greedy]"])[0].as_dict()
    path = str(write_checkpoint(tmp_path / "agent.zip", replace(identity_of("leyla"), config=config)))
    assert cli.main(["show", path]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^ seed +7 *$", shown, re.MULTILINE)
    assert re.search(r"^ network +2 hidden layers of 16 *$", shown, re.MULTILINE)
    assert "mancala train leyla --seed 7 --pool.opponents '[greedy]'" in shown
    assert not re.search(r"^ *(ppo\.)?gae_lambda\b", shown, re.MULTILINE)
    assert cli.main(["show", path, "--all"]) == 0
    assert re.search(r"^ ppo.gae_lambda +0\.9 *$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "kind", "ruleset"),
    [
        (["trained", "--ruleset", "leyla"], "policy", "leyla"),
        (["trained"], "policy", "layli_goobalay"),
        (["value+minimax:4", "--ruleset", "gabata_i"], "value", "gabata_i"),
        ([str(bundled_file("value", "leyla"))], "value", "leyla"),
        ([str(bundled_file("policy", "leyla"))], "policy", "leyla"),
    ],
)
def test_show_says_of_a_bundled_network_what_its_card_says(words, kind, ruleset, capsys):
    assert cli.main(["show", *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    card = bundled_file(kind, ruleset).with_suffix(".md")
    names = "command|version|environment steps|SHA-256|size"
    rows = re.findall(rf"^\| ({names}) \| `?(.*?)`? \|$", card.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 4
    for name, value in rows:
        assert f"{name} {value}" in shown
    assert f"card {card}" in shown
    if words[0] in ("trained", "value+minimax:4"):
        text = card.read_text(encoding="utf-8")
        _, _, exploited = text.partition("Exploitability")
        bounds = re.search(rf"^\| `{re.escape(words[0])}` \| (.*) \|$", exploited, re.MULTILINE)
        assert bounds
        assert f"exploitability in {ruleset}: {bounds[1]}" in shown


def test_show_says_as_json_what_a_value_network_is(capsys):
    path = str(bundled_file("value", "leyla"))
    for words in ([path], [f"value+mcts:100:{path}"], ["value+mcts:100", "--ruleset", "leyla"]):
        assert cli.main(["show", *words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        found = found.get("network", found)
        assert found["ruleset"]["name"] == "leyla"
        assert found["made"]["command"].endswith("--learners descent --minutes 30 --seeds 5 --rulesets leyla")


def test_show_takes_a_ruleset_for_agents_alone(checkpoint, tmp_path, capsys):
    for text in ("leyla", NEAR_THE_END, checkpoint):
        assert cli.main(["show", text, "--ruleset", "leyla"]) == 2
        assert names(capsys.readouterr().err, "--ruleset")
    file, picture = tmp_path / "games of today.txt", tmp_path / "x.svg"
    records.write_games(file, [records.GameRecord("leyla", [(0, 3), (1, 0)])])
    for text, *words in (["leyla"], ["leyla", "--action", "1"], [str(file), "--turn", "2"]):
        assert cli.main(["show", text, *words, "--ruleset", "gabata_i", "--svg", str(picture)]) == 2
        assert names(capsys.readouterr().err, ["--ruleset", text])
        assert not picture.exists()
    assert cli.main(["show", "trained", "--ruleset", "ludii_leyla_gobale_somaliland"]) == 2
    assert names(capsys.readouterr().err, "ludii_leyla_gobale_somaliland")


def test_show_tells_damaged_weights(checkpoint, tmp_path, capsys):
    content = bytearray(Path(checkpoint).read_bytes())
    with zipfile.ZipFile(checkpoint) as archive:
        weights = archive.getinfo("policy.pth")
    middle = weights.header_offset + weights.compress_size // 2
    content[middle : middle + 20] = bytes(byte ^ 0xFF for byte in content[middle : middle + 20])
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(content)
    assert cli.main(["show", str(damaged)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert names(err, damaged)


def test_a_checkpoint_of_another_ruleset_is_refused_with_both_named(checkpoint, capsys):
    assert cli.main(["evaluate", checkpoint, "--ruleset", "gabata_i"]) == 2
    assert names(capsys.readouterr().err, ["leyla", "gabata_i"])


def test_show_says_what_an_agent_is(capsys):
    assert cli.main(["show", "minimax:4"]) == 0
    shown = capsys.readouterr().out
    assert "alpha-beta" in shown
    assert "exploitability in layli_goobalay: 29.0 seeds" in shown
    assert cli.main(["show", "random"]) == 0
    assert "exploitability in layli_goobalay: not measured" in capsys.readouterr().out
    assert cli.main(["show", "minimax:4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exploitability"] == [29, 29]


@pytest.mark.slow
def test_rulesets_lists_all(json_of, mancala_here):
    done = mancala_here("rulesets")
    assert all(name in done.stdout for name in rulesets.names())
    assert [row["name"] for row in json_of("rulesets")] == list(rulesets.names())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    said = capsys.readouterr()
    assert (end.value.code, said.err) == (0, "")
    assert command in said.out.splitlines()[0]


def test_benchmark_takes_one_ruleset_or_several():
    parser = cli.parser_of("benchmark")
    assert parser.parse_args(["--ruleset", "leyla"]).rulesets == ["leyla"]
    assert parser.parse_args(["--rulesets", "leyla", "gabata_i"]).rulesets == ["leyla", "gabata_i"]


def test_benchmark_asks_for_no_entry(capsys):
    with pytest.raises(SystemExit):
        cli.main(["benchmark", "--help"])
    said = capsys.readouterr().out
    assert "entries" in said
    assert "(required)" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "--minutes", "0"], ["mancala train", "minutes", 0, 0.0]),
        (["train", "--nothing", "1"], ["mancala train", "--nothing"]),
        (["grow-value", "nothing"], ["mancala grow-value", "'nothing'"]),
        (["grow-value"], ["mancala grow-value", "mancala grow-value --help"]),
    ],
)
def test_commands_that_pass_arguments_on_report_errors_in_one_line(
    words, said, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    try:
        status = cli.main(words)
    except SystemExit as end:  # of a command line that cannot be parsed
        status = end.code
    assert status == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert names(err, said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "greedy", "--games", "x"], "--games must be a whole number, not 'x'"),
        (["benchmark", "--steps", "10", "1e6"], "--steps must be a whole number, not '1e6'"),
        (["speed", "--seconds", "nan"], "--seconds must be a finite number, not 'nan'"),
        (
            ["evaluate", "greedy", "--rounds", "some"],
            "--rounds must be a whole number or 'match', not 'some'",
        ),
        (
            ["evaluate", "greedy", "--opening_set", "some"],
            "--opening_set: invalid choice: 'some' "
            "(choose from 'all', 'training', 'evaluation', 'balanced', 'fair')",
        ),
        (["evaluate"], "the following arguments are required: SPEC"),
        (
            ["evaluate", "random", "--games", "2", "greedy"],
            "unexpected argument 'greedy'; arguments go before the options",
        ),
    ],
)
def test_an_error_of_type_names_the_valid_values(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert stop.value.code == 2
    assert re.fullmatch(
        rf"mancala: {re.escape(said)}; see mancala( {words[0]})? --help\n", capsys.readouterr().err
    )


def test_training_without_its_extra_names_the_pip_command():
    code = (
        "import sys; sys.modules['torch'] = None; from mancala_env import cli; sys.exit(cli.main(['train']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith(f"{pip_command('train')}\n")


def test_show_tells_what_runs_a_file_without_running_it(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("raise SystemExit('ran')", encoding="utf-8")
    assert cli.main(["show", f"python:{path}:make"]) == 0
    assert "your Python file" in capsys.readouterr().out


def test_what_a_checkpoint_is_called_cannot_move_the_cursor(tmp_path, capsys):
    identity = replace(identity_of(), config={"name": "\x1b[2Jmine", "clock": "\x1b[2Jsun"})
    assert cli.main(["show", str(write_checkpoint(tmp_path / "agent.zip", identity)), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert r"\x1b[2Jmine" in shown
    assert r"--clock '\x1b[2Jsun'" in shown


def test_a_pipe_that_closes_early_is_no_error():
    """The reader, `true`, ends before the program writes."""
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m mancala_env rulesets --json | true",
        shell=True,
        capture_output=True,
    )
    assert done.stderr == b""


def test_the_console_script_is_the_module():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="mancala")
    assert script.load() is cli.main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "gready", "--ruleset", "leyla"], ["'gready'", "greedy"]),
        (["evaluate", "random", "greedy", "--ruleset", "lyla"], ["'lyla'", "'leyla'"]),
        (["evaluate", "random", "greedy", "--games", "7"], ["games", "even", 7]),
        (["evaluate", "random", "greedy", "--own_games", "1"], ["own_games", "even", 1]),
        (["evaluate", "random", "greedy", "--games", "many"], ["--games", "'many'"]),
        (["evaluate", "random", "random"], "random"),
        (["evaluate", "random", "greedy", "--opening_turns", "99"], ["opening_turns", 0, 12, 99]),
        (["evaluate", "random", "greedy", "--report", "report.pdf"], [".html", ".png", "'report.pdf'"]),
        (["evaluate", "random", "greedy", "--report", "no/such/r.png"], "'no/such'"),
        (["benchmark", "--folder", ""], ["--folder", "''"]),
        (["evaluate", "nothing.zip"], "nothing.zip"),
        (["evaluate", "greedy", "--rounds", "match"], ["rounds='match'", "--no_ladder"]),
        (["evaluate", "random", "greedy", "--rounds", "some"], ["--rounds", "'match'", "'some'"]),
        (
            ["evaluate", "random", "greedy", "--own_games", "2", "--rounds", "match"],
            ["own_games=2", "rounds='match'"],
        ),
        (["play", "--start", ROUND_3, "--rounds", "2"], ["rounds", 3, 2]),
        (["evaluate"], "SPEC"),
        (["evaluate", "random", "--colour", "blue"], "--colour"),
        (["solve", "leyla", "4,4/4,4", "0-0", "S"], [12, "[4, 4, 4, 4]"]),
        (["solve", ""], ["''", "mancala show"]),
        (["solve", "layli_gobalay"], ["'layli_gobalay'", "'layli_goobalay'"]),
        (["solve", NEAR_THE_END, "--ruleset", "leyla"], [f"'{NEAR_THE_END}'", "'leyla'"]),
        (["solve", "--ruleset", "leyla", "--time_limit", "-1"], ["time_limit", 0, -1.0]),
        (["solve", "--ruleset", ""], ["ruleset", "''"]),
        (["evaluate", "random", "greedy", "--ruleset", ""], ["ruleset", "''"]),
        (["play", "--ruleset", ""], ["ruleset", "''"]),
        (["solve", "gabata_3", "--memory_mb", "9" * 18], "memory_mb=1e+18"),
        (["speed", "--seconds", "0"], ["seconds", 0, 0.0]),
        (["speed", "--seconds", "1e999"], ["--seconds", "'1e999'"]),
        (["speed", "--num_threads", "9" * 21], ["num_threads", 1, 1024, "9" * 21]),
        (["show", "leyla", "--png=--"], "--png=--"),
        (["evaluate", "random", "greedy", "--game", "2"], ["--game", "--games"]),
        (["show", "nothing"], ["'nothing'", "leyla"]),
        (["show", "nothing.zip"], "'nothing.zip'"),
        (
            ["evaluate", "greedy", "--no_ladder", "--no_regret"],
            "greedy",
        ),
        (["evaluate", "sample:nothing.zip"], "'nothing.zip'"),
        (["show", "sample:nothing.zip"], "'nothing.zip'"),
        (["show", "policy+minimax:6"], ["'policy+minimax:6'", "policy+minimax:DEPTH:CHECKPOINT"]),
        (["dance"], ["'dance'", "evaluate"]),
        (["--dance"], "--dance"),
        (["serve", "--browser", "maybe"], ["--browser", "true", "false", "'maybe'"]),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, list) else "",
)
def test_errors_are_one_line_that_names_the_value(arguments, said, capsys):
    try:
        status = cli.main(arguments)
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.startswith("mancala: ")
    assert err.count("\n") == 1
    assert names(err, said), err


def test_a_report_that_cannot_be_written_is_refused_before_the_games(tmp_path, capsys):
    folder, shut = tmp_path / "r.html", tmp_path / "shut"
    folder.mkdir()
    shut.mkdir(mode=0o500)
    wrongs = {folder: "folder"}
    if not os.access(shut, os.W_OK):  # root may write everywhere
        wrongs[shut / "r.html"] = os.strerror(errno.EACCES)
    for path, said in wrongs.items():
        assert cli.main(["evaluate", "random", "greedy", "--report", str(path)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert names(err, [path, said])


def test_an_error_in_a_process_of_its_own_has_no_traceback():
    done = mancala("evaluate", "gready", "--ruleset", "leyla")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_evaluate_resumes_from_a_results_file(tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    command = [
        "evaluate",
        "random",
        "greedy",
        "--games",
        "20",
        "--no_regret",
        "--results",
        str(path),
        "--json",
    ]
    assert cli.main(command) == 0
    once = capsys.readouterr().out
    content = path.read_bytes()
    assert cli.main(command) == 0
    assert capsys.readouterr().out == once
    assert path.read_bytes() == content


def test_a_missing_extra_names_its_pip_command():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from mancala_env import cli\n"
        "sys.exit(cli.main(['evaluate', 'random', 'greedy', '--report', 'r.png']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)  # nothing was played
    assert f"matplotlib: {pip_command('evaluation')}" in done.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["gabata_i", "--svg"], "board.svg"),
        (["gabata_i", "--width", "200", "--theme", "dark", "--png"], "board.png"),
        (["leyla", "--action", "1", "--width", "200", "--gif"], "turn.gif"),
        (["RECORDS", "--game", "2", "--width", "120", "--gif"], "game.gif"),
        (["RECORDS", "--game", "1", "--turn", "2", "--width", "120", "--gif"], "turn.gif"),
        (["RECORDS", "--game", "1", "--turn", "1", "--svg"], "after.svg"),
    ],
)
def test_show_draws_into_files(words, name, tmp_path, capsys):
    file, game = tmp_path / "games.txt", records.GameRecord("leyla", [(0, 3), (1, 0)])
    records.write_games(file, [game, game])
    words = [str(file) if word == "RECORDS" else word for word in words]
    assert cli.main(["show", *words, str(tmp_path / name)]) == 0
    assert capsys.readouterr().out == ""
    begins = {".svg": b"<svg", ".png": b"\x89PNG", ".gif": b"GIF89a"}
    assert (tmp_path / name).read_bytes().startswith(begins[(tmp_path / name).suffix])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["leyla", "--png", "x.jpg"], ["--png", ".png", "'x.jpg'"]),
        (["leyla", "--gif", "x.gif"], "x.gif"),
        (["leyla", "--svg", "a.svg", "--png", "b.png"], ["--svg", "--png"]),
        (["leyla", "--width", "300"], "--width"),
        (["leyla", "--turn", "1"], "--turn"),
        (["leyla", "--svg", "nowhere/a.svg"], "nowhere/a.svg"),
        (["RECORDS", "--gif", "a.gif", "--json"], ["--json", "--turn"]),
    ],
)
def test_show_says_what_it_cannot_draw(words, message, capsys, monkeypatch, tmp_path):
    (tmp_path / "drawn").mkdir()
    monkeypatch.chdir(tmp_path / "drawn")
    records.write_games("../games.txt", [records.GameRecord("leyla", [(0, 3)])])
    assert cli.main(["show", *("../games.txt" if word == "RECORDS" else word for word in words)]) == 2
    assert names(capsys.readouterr().err, message)
    assert not list((tmp_path / "drawn").iterdir())


def test_show_prints_json_beside_a_picture(tmp_path, capsys):
    assert cli.main(["show", "leyla", "--json"]) == 0
    alone = capsys.readouterr().out
    assert cli.main(["show", "leyla", "--json", "--svg", str(tmp_path / "a.svg")]) == 0
    assert capsys.readouterr().out == alone
    assert (tmp_path / "a.svg").is_file()
    # The position after the turn, as without a picture.
    assert cli.main(["show", "leyla", "--json", "--action", "1", "--gif", str(tmp_path / "a.gif")]) == 0
    assert json.loads(capsys.readouterr().out)["player"] == 1


def test_without_a_command_the_help_is_shown_and_a_wrong_one_names_the_nearest(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 0
    assert "rate agents and measure their regret" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        cli.main(["evalute"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("mancala: unknown command 'evalute' (did you mean 'evaluate'?); commands: ")
    assert said.count("\n") == 1


@pytest.fixture
def own(tmp_path):
    """The path of a ruleset file."""
    path = tmp_path / "mine.yaml"
    path.write_text("row_width: 2\nseeds_per_hole: 2\n", encoding="utf-8")
    return str(path)


def test_commands_take_a_ruleset_file(own, capsys):
    mine = Position(own)
    assert cli.main(["show", own]) == 0
    assert mine.to_text() in capsys.readouterr().out
    assert cli.main(["show", mine.to_text(), "--ruleset", own, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["position"] == mine.to_text()
    for words in ([own], ["--ruleset", own], [mine.to_text(), "--ruleset", own]):
        assert cli.main(["solve", *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["value"] == solver.solve(mine).value
    assert cli.main(["rulesets", own, "leyla", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["mine", "leyla"]
    assert cli.main(["speed", "--ruleset", own, "--seconds", "0.02", "--num_threads", "1", "--json"]) == 0
    capsys.readouterr()
    words = ["evaluate", "greedy", "random", "--ruleset", own, "--games", "2", "--no_regret", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["ruleset"] == "mine"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["show", "no.yaml"], "no.yaml"),
        (["show", "mine 2,2/2,2 0-0 S"], "mine"),
        (["show", "leyla 2,2/2,2 0-0 S", "--ruleset", "OWN"], ["--ruleset", "leyla", "mine"]),
        (["solve", "leyla", "--ruleset", "OWN"], ["leyla", "--ruleset"]),
        (["play", "--start", "leyla 2,2/2,2 0-0 S", "--ruleset", "OWN"], ["leyla", "--ruleset", "mine"]),
        (["rulesets", "lyla"], ["lyla", "leyla"]),
        (["serve", "--ruleset", "no.yaml", "--port", "0", "--browser", "false"], "no.yaml"),
        (["show", "trained", "--ruleset", "OWN"], ["mine", "mancala train"]),
        (["show", "value+minimax:4", "--ruleset", "OWN"], ["mine", "mancala grow-value"]),
        (["export", "trained", "--ruleset", "OWN", "--safetensors", "x.safetensors"], "mine"),
    ],
    ids=lambda value: " ".join(value)[:30],
)
def test_errors_name_a_ruleset_of_ones_own(words, named, own, capsys):
    assert cli.main([own if word == "OWN" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert names(said, named), said
    assert said.count("\n") == 1


@pytest.mark.parametrize("option", ["--games", "--own_games"])
def test_an_odd_number_of_games_is_refused_before_a_ruleset_is_prepared(
    option, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "cache"))
    rules = tmp_path / "small.yaml"
    rules.write_text("like: layli_goobalay\nrow_width: 2\nseeds_per_hole: 3\n", encoding="utf-8")
    assert cli.main(["evaluate", "greedy", "--ruleset", str(rules), option, "3"]) == 2
    said = capsys.readouterr().err
    assert names(said, [option.strip("-"), "even", 3]), said
    assert said.count("\n") == 1
    assert not (tmp_path / "cache").exists()


def test_every_search_shows_progress_from_its_start(capsys):
    with lines(quiet=False) as show:
        for text in ("South", "North"):
            for seconds in range(10):
                show(text, float(seconds))
    said = capsys.readouterr().err.splitlines()
    assert said == [f"{n} s: {text}" for text in ("South", "North") for n in (2, 4, 8)]
