"""`mancala serve` over real sockets: answers, rejected requests, and many pages at once."""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from error_checks import raises
from page_server import CHECKPOINT, served
from websockets.asyncio.client import connect as connect_soon
from websockets.exceptions import ConnectionClosed, InvalidStatus

from mancala_env import Position, rulesets
from mancala_env.cli import main as mancala
from mancala_env.cli.serve import _listening
from mancala_env.errors import InvalidArgument
from mancala_env.solver import solve
from mancala_env.version import __version__
from mancala_env.web import requests
from mancala_env.web.requests import BadRequest, Limits, spec_of
from mancala_env.web.server import _Server, _Session

# Generous for busy machines; the defaults are five and ten seconds.
get, post = partial(httpx.get, timeout=60), partial(httpx.post, timeout=60)
connect = partial(connect_soon, open_timeout=60)

OVER = "layli_goobalay 0,0,0,0,0,0/1,0,0,0,0,0 20-27 S"
LATE = "leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 N"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("checkpoints")
    shutil.copy(CHECKPOINT, folder / "small.zip")
    (folder / "outside.zip").symlink_to("/etc/hostname")
    with served(checkpoints=folder, memory_mb=64, limits=Limits(a_second=10_000, sessions=120)) as address:
        yield address


async def ask(socket, **request):
    """Send a request and return all its answers."""
    await socket.send(json.dumps(request))
    answers = []
    while not answers or not {"done", "error", "cancelled"} & set(answers[-1]):
        answer = json.loads(await asyncio.wait_for(socket.recv(), 60))
        if answer["id"] == request.get("id"):
            answers.append(answer)
    return answers


def talk(address, *requests, **options):
    """Connect, send requests one after another, and return the last answer to each."""

    async def run():
        async with connect(f"ws://{address}/api/session", **options) as socket:
            return [(await ask(socket, **request))[-1] for request in requests]

    return asyncio.run(run())


def test_about_lists_agents_and_checkpoints_inside_the_folder(server):
    answer = get(f"http://{server}/api/about").json()
    assert answer["checkpoints"] == ["small.zip"]
    assert "minimax:DEPTH" in answer["specs"]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["random", "greedy", "minimax:4", "mcts:50", "perfect"])
def test_an_agent_chooses_a_legal_action(server, agent):
    position = Position("gabata_i") if agent != "perfect" else Position.from_text(LATE)
    (answer,) = talk(server, {"id": 7, "do": "choose", "position": position.to_text(), "agent": agent})
    assert answer["id"] == 7
    assert answer["action"] in position.legal_actions


def test_a_checkpoint_plays_as_it_does_elsewhere(server):
    from mancala_env.agents import make
    from mancala_env.networks.checkpoint import read_identity

    position = Position(read_identity(CHECKPOINT).ruleset)
    request = {
        "do": "choose",
        "position": position.to_text(),
        "checkpoint": "small.zip",
        "agent": "checkpoint",
    }
    (answer,) = talk(server, {"id": 1, **request})
    assert answer["action"] == make(str(CHECKPOINT), position.ruleset).choose(position)


def test_a_network_of_single_rounds_is_refused_a_match_at_its_first_turn(server):
    position = Position("gabata_five_holes")
    request = {"do": "choose", "position": position.to_text(), "agent": "trained"}
    one, match = talk(server, {"id": 1, **request}, {"id": 2, **request, "rounds": "match"})
    assert one["action"] in position.legal_actions
    assert "trained on single rounds" in match["error"]


def test_an_error_names_a_checkpoint_as_the_page_does(server):
    request = {"do": "choose", "position": LATE, "agent": "checkpoint", "checkpoint": "small.zip"}
    (answer,) = talk(server, {"id": 1, **request})
    assert answer["error"].startswith("small.zip was trained on")


def test_a_custom_ruleset_is_played(server):
    dials = {"name": "tiny", "row_width": 3, "landing": "weg", "round_end": "both_stuck"}
    position = Position(rulesets.Ruleset(**dials))
    request = {"id": 1, "do": "choose", "position": position.to_text(), "dials": dials, "agent": "minimax:3"}
    assert talk(server, request)[0]["action"] in position.legal_actions


@pytest.mark.slow
def test_analysis_ends_with_the_exact_values(server):
    position = Position.from_text(LATE)
    (answer,) = talk(server, {"id": 3, "do": "analyse", "position": LATE, "seconds": 30})
    exact = solve(position).action_values
    assert answer["exact"]
    assert answer["actions"] == {str(action): [value, value] for action, value in exact.items()}


def test_bounds_close_and_an_analysis_can_be_cancelled(server):
    text = Position("gabata_seven_holes").to_text()

    async def run():
        async with connect(f"ws://{server}/api/session") as socket:
            await socket.send(json.dumps({"id": 1, "do": "analyse", "position": text, "seconds": 60}))
            bounds = []
            while len(bounds) < 3:
                answer = json.loads(await asyncio.wait_for(socket.recv(), 60))
                if answer["nodes"]:  # a slice of a busy machine may end before the first node
                    bounds.append(answer)
            cancelled = (await ask(socket, id=2, do="cancel", of=1))[-1]
            while True:
                answer = json.loads(await asyncio.wait_for(socket.recv(), 20))
                if answer["id"] == 1 and answer.get("cancelled"):
                    break
            return bounds, cancelled, (await ask(socket, id=1, do="about"))[-1]

    bounds, cancelled, after = asyncio.run(run())
    nodes = [answer["nodes"] for answer in bounds]
    assert 0 < nodes[0] < nodes[1] < nodes[2]  # of the whole analysis, not of the last slice
    widths = [answer["upper"] - answer["lower"] for answer in bounds]
    assert widths == sorted(widths, reverse=True)
    assert not bounds[-1]["exact"]
    assert cancelled["cancelled"]
    assert "version" in after


@pytest.mark.parametrize("way", ["cancel", "close"])
def test_after_an_analysis_that_was_ended_its_ruleset_is_analysed(server, way):
    hard = "leyla 1,1,9,8,1,3/3,5,9,1,1,6 0-0 S"

    async def run():
        async with connect(f"ws://{server}/api/session") as socket:
            await socket.send(json.dumps({"id": 1, "do": "analyse", "position": hard, "seconds": 60}))
            for _ in range(3):
                assert "lower" in json.loads(await asyncio.wait_for(socket.recv(), 60))
            if way == "cancel":
                await ask(socket, id=2, do="cancel", of=1)
                return (await ask(socket, id=3, do="analyse", position=LATE, seconds=60))[-1]
        async with connect(f"ws://{server}/api/session") as socket:
            return (await ask(socket, id=3, do="analyse", position=LATE, seconds=60))[-1]

    assert asyncio.run(run())["exact"]


def test_an_id_is_of_one_request_at_a_time(server):
    async def run():
        asked = {"do": "analyse", "position": Position("gabata_seven_holes").to_text(), "seconds": 60}
        async with connect(f"ws://{server}/api/session") as socket:
            await socket.send(json.dumps({"id": 1, **asked}))
            await socket.recv()
            await socket.send(json.dumps({"id": 1, "do": "about"}))
            while "error" not in (answer := json.loads(await asyncio.wait_for(socket.recv(), 60))):
                assert "version" not in answer
            still = json.loads(await asyncio.wait_for(socket.recv(), 60))
            cancelled = (await ask(socket, id=2, do="cancel", of=1))[-1]
            while not (ended := json.loads(await asyncio.wait_for(socket.recv(), 60))).get("done"):
                pass
            return answer, still, cancelled, ended, (await ask(socket, id=1, do="about"))[-1]

    refused, still, cancelled, ended, again = asyncio.run(run())
    assert refused["id"] == 1
    assert "request 1" in refused["error"]
    assert "lower" in still  # the first continues
    assert cancelled == {"id": 2, "cancelled": True}
    assert ended == {"id": 1, "cancelled": True, "done": True}
    assert "version" in again


def test_a_request_that_is_not_there_cannot_be_cancelled(server):
    done, cancelled = talk(server, {"id": 1, "do": "about"}, {"id": 2, "do": "cancel", "of": 1})
    assert done["done"]
    assert cancelled == {"id": 2, "cancelled": False}


def test_as_many_requests_as_the_limit_are_worked_on_at_once():
    asked = {"do": "analyse", "position": Position("gabata_seven_holes").to_text(), "seconds": 60}

    async def run(address):
        async with connect(f"ws://{address}/api/session") as socket:
            refused = set()
            for number in (1, 2, 3):
                await socket.send(json.dumps({"id": number, **asked}))
            while not refused:
                answer = json.loads(await asyncio.wait_for(socket.recv(), 60))
                if "error" in answer:
                    refused.add(answer["id"])
                    assert "at most 2" in answer["error"]
            await ask(socket, id=4, do="cancel", of=1)
            while not (answer := json.loads(await asyncio.wait_for(socket.recv(), 60))).get("done"):
                assert answer["id"] in (1, 2)
            return refused, (await ask(socket, id=5, do="about"))[-1]

    with served(limits=Limits(at_once=2), memory_mb=8) as address:
        refused, after = asyncio.run(run(address))
    assert refused == {3}
    assert "version" in after


BAD = [
    ({"do": "dance"}, "do must be"),
    ({"do": "choose"}, "position must be"),
    ({"do": "choose", "position": LATE, "agent": "greedy", "roundz": 2}, "unknown field 'roundz'"),
    ({"do": "analyse", "position": LATE, "rounds": 2}, "unknown field 'rounds'"),
    ({"do": "choose", "position": "leyla"}, "leyla"),
    ({"do": "choose", "position": "chess 1,2/3,4 0-0 S"}, "chess"),
    ({"do": "choose", "position": LATE, "agent": "minimax"}, "minimax:DEPTH"),
    ({"do": "choose", "position": LATE, "agent": "minimax:60"}, "at most 10"),
    ({"do": "choose", "position": LATE, "agent": "mcts:900000"}, "at most 20000"),
    ({"do": "choose", "position": LATE, "agent": "mcts:100s"}, "at most 10 seconds"),
    ({"do": "choose", "position": LATE, "agent": "python:/tmp/x.py:f"}, "without files"),
    ({"do": "choose", "position": LATE, "agent": "/etc/passwd"}, "without files"),
    (
        {"do": "choose", "position": LATE, "agent": "checkpoint", "checkpoint": "../x.zip"},
        "unknown checkpoint",
    ),
    (
        {"do": "choose", "position": LATE, "agent": "checkpoint", "checkpoint": "outside.zip"},
        "unknown checkpoint",
    ),
    (
        {"do": "choose", "position": LATE, "agent": "sample", "checkpoint": "/etc/passwd"},
        "unknown checkpoint",
    ),
    ({"do": "choose", "position": LATE, "agent": ["random"]}, "without files"),
    ({"do": "choose", "position": LATE, "dials": {"row_width": 99, "name": "x"}}, "row_width"),
    ({"do": "choose", "position": LATE, "dials": {"colour": "red"}}, "dials must be"),
    ({"do": "choose", "position": LATE, "agent": "greedy", "rounds": 0}, "rounds must be"),
    ({"do": "choose", "position": LATE, "agent": "greedy", "rounds": ["match"]}, "rounds must be"),
    ({"do": "analyse", "position": LATE, "seconds": -1}, "seconds must be"),
    ({"do": "analyse", "position": LATE, "seconds": 1e9}, "seconds must be"),
    ({"do": "cancel", "of": "all"}, "of must be"),
    ({"do": "choose", "position": OVER, "agent": "greedy"}, "over"),
    ({"do": "analyse", "position": OVER}, "over"),
]


@pytest.mark.parametrize(("request_", "said"), BAD)
def test_an_invalid_request_is_answered_with_the_valid_values(server, request_, said):
    (answer,) = talk(server, {"id": 5, **request_})
    assert answer["id"] == 5
    assert said in answer["error"]


def test_a_thousand_malformed_requests_are_answered_and_the_page_continues(server):
    rng = random.Random(4)
    good = json.dumps({"id": 1, "do": "choose", "position": LATE, "agent": "greedy"})

    def malformed() -> str | bytes:
        match rng.randrange(6):
            case 0:
                return rng.randbytes(rng.randrange(200))
            case 1:
                letters = list(good)
                for _ in range(rng.randrange(1, 6)):
                    letters[rng.randrange(len(letters))] = chr(rng.randrange(1, 0x2FF))
                return "".join(letters)
            case 2:
                return "[" * rng.randrange(5_000)
            case 3:
                return json.dumps({"id": rng.choice([None, -1, 1.5, "1", [], 2**99]), "do": "about"})
            case 4:
                return good[: rng.randrange(len(good))]
            case _:
                position = rng.choice([None, 7, {}, "x" * 9_000])
                return json.dumps({"id": 2, "do": "choose", "position": position})

    async def run():
        answered = 0
        async with connect(f"ws://{server}/api/session") as socket:
            for number in range(1, 1001):
                await socket.send(malformed())
                answers = [json.loads(await asyncio.wait_for(socket.recv(), 20))]
                answered += len(answers)
                if number % 100 == 0:
                    asked = {"do": "choose", "position": LATE, "agent": "greedy"}
                    assert "action" in (await ask(socket, id=10_000 + number, **asked))[-1]
        return answered

    assert asyncio.run(run()) == 1000
    outside = ("/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd")
    for path in ("/nothing", *outside, "/server.py", "/" + "a" * 9_000, "/%00"):
        status = get(f"http://{server}{path}").status_code
        assert 400 <= status < 500, (path, status)
    assert post(f"http://{server}/api/about", content=b"x" * 100_000).status_code in (404, 405)


def test_nothing_but_nonsense_ends_the_session(server):
    async def run():
        async with connect(f"ws://{server}/api/session") as socket:
            for _ in range(500):
                await socket.send("nonsense")
            while True:
                await socket.recv()

    with pytest.raises(ConnectionClosed):
        asyncio.run(run())


def test_a_page_of_another_origin_is_refused(server):
    with pytest.raises(InvalidStatus):
        talk(server, {"id": 1, "do": "about"}, origin="http://evil.example")
    assert talk(server, {"id": 1, "do": "about"}, origin=f"http://{server}")[0]["done"]
    port = int(server.rsplit(":", 1)[1])
    host = server.rsplit(":", 1)[0]
    for other in (f"http://{host}:{port + 1}", f"http://{host}", f"http://localhost:{port}", "null"):
        with pytest.raises(InvalidStatus):  # another server on this machine, or a local file
            talk(server, {"id": 1, "do": "about"}, origin=other)


def test_another_sites_name_for_this_machine_is_refused(server):
    assert get(f"http://{server}/api/about", headers={"Host": "evil.example"}).status_code == 400


def test_too_many_requests_a_second_are_told(server):
    with served(limits=Limits(a_second=5)) as slow:
        answers = talk(slow, *({"id": number, "do": "about"} for number in range(40)))
    assert any("at most 5 per second" in answer.get("error", "") for answer in answers)
    assert any("version" in answer for answer in answers)


def test_more_pages_than_there_may_be_are_asked_to_wait():
    async def run(address):
        async with connect(f"ws://{address}/api/session"):
            with pytest.raises(InvalidStatus):
                async with connect(f"ws://{address}/api/session"):
                    pass

    with served(limits=Limits(sessions=1)) as address:
        asyncio.run(run(address))
        asyncio.run(run(address))  # a disconnected page frees a place


def test_a_page_may_be_wrong_often_if_it_is_right_between():
    wrong, right = {"do": "dance"}, {"do": "about"}

    async def run(address):
        async with connect(f"ws://{address}/api/session") as socket:
            for number in range(120):
                await ask(socket, id=number, **wrong)
            await ask(socket, id=1000, **right)
            for number in range(120):
                await ask(socket, id=number, **wrong)
            return (await ask(socket, id=1001, **right))[-1]

    with served(limits=Limits(a_second=10_000)) as address:
        assert "version" in asyncio.run(run(address))


@pytest.mark.parametrize(("num_wrong", "is_closed"), [(199, False), (200, True)])
def test_a_page_that_is_only_wrong_is_closed_after_two_hundred(num_wrong, is_closed):
    async def run(address):
        async with connect(f"ws://{address}/api/session") as socket:
            for number in range(num_wrong):
                await ask(socket, id=number, do="dance")
            return (await ask(socket, id=1000, do="about"))[-1]

    with served(limits=Limits(a_second=10_000)) as address:
        if is_closed:
            with pytest.raises(ConnectionClosed):
                asyncio.run(run(address))
        else:
            assert "version" in asyncio.run(run(address))


def test_threads_end_with_the_server():
    before = set(threading.enumerate())
    with served() as address:
        talk(address, {"id": 1, "do": "choose", "position": LATE, "agent": "greedy"})
        started = {thread for thread in threading.enumerate() if thread.name.startswith("mancala-serve")}
        assert started - before
    for thread in started - before:
        thread.join(30)
        assert not thread.is_alive()


def test_what_is_not_there_and_what_is_only_read_are_told_apart(server):
    missing = get(f"http://{server}/nothing.html")
    python = get(f"http://{server}/server.py")
    read_only = post(f"http://{server}/")
    assert [missing.status_code, python.status_code, read_only.status_code] == [404, 404, 405]
    assert missing.json() == python.json()
    assert missing.json()["error"] != read_only.json()["error"]
    assert "read" in read_only.json()["error"]
    page = get(f"http://{server}/")
    for answer in (page, missing, get(f"http://{server}/api/about")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert page.headers["Content-Type"].startswith("text/html")


def test_a_failure_of_the_server_is_told_apart_from_a_refusal(server, monkeypatch):
    def fail(*_):
        raise RuntimeError("a secret")

    monkeypatch.setattr("mancala_env.web.analysis.AnalysisService.analyse", fail)
    monkeypatch.setattr("mancala_env.web.analysis.AnalysisService.choose", fail)
    position = {"position": LATE}
    analysed, chosen, refused = talk(
        server,
        {"id": 1, "do": "analyse", **position},
        {"id": 2, "do": "choose", "agent": "greedy", **position},
        {"id": 3, "do": "choose", "agent": "minimax:60", **position},
    )
    for answer in (analysed, chosen):
        assert answer["failed"] is True
        assert "secret" not in answer["error"]
    assert "failed" not in refused


@pytest.mark.slow
def test_a_hundred_pages_play_and_analyse_at_once(server):
    """Each page plays a round of greedy against random and analyses every fifth position."""

    async def play(number):
        rng = random.Random(number)
        position = Position(("layli_goobalay", "leyla", "gabata_i")[number % 3])
        turns = 0
        async with connect(f"ws://{server}/api/session") as socket:
            while not position.is_over and turns < 12:
                turns += 1
                request = {"position": position.to_text(), "agent": "greedy" if turns % 2 else "minimax:2"}
                answer = (await ask(socket, id=turns, do="choose", **request))[-1]
                assert answer["action"] in position.legal_actions
                position.play(answer["action"])
                if position.is_over:
                    break
                position.play(rng.choice(position.legal_actions))
                if turns % 5 == 0 and not position.is_over:
                    request = {"position": position.to_text(), "seconds": 0.05}
                    answers = await ask(socket, id=1000 + turns, do="analyse", **request)
                    assert {"lower", "upper", "actions"} <= set(answers[-1])
        return turns

    async def run():
        return await asyncio.gather(*(play(number) for number in range(100)))

    assert min(asyncio.run(run())) > 3


@pytest.mark.parametrize("stop", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_command_prints_its_address_and_ends_by_a_signal(stop: str) -> None:
    command = [sys.executable, "-m", "mancala_env", "serve", "--port", "0", "--browser", "false"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address = line.split("at ")[1].split(" ")[0]
            assert get(f"{address}api/about").status_code == 200
            process.send_signal(signal.Signals[stop])
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0
            assert "Traceback" not in errors
        finally:
            process.kill()


def test_a_second_signal_does_not_wait_for_an_agent(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(
        "import pathlib, time\n\ndef slow(position):\n"
        f"    pathlib.Path({str(tmp_path / 'begun')!r}).touch()\n    time.sleep(900)\n"
    )
    spec = f"python:{file}:slow"
    command = [sys.executable, "-m", "mancala_env", "serve", "--port", "0", "--browser", "false"]
    with subprocess.Popen(
        [*command, "--agents", spec], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split("//")[1].split("/")[0]

        async def stop() -> None:
            async with connect(f"ws://{address}/api/session") as page:
                await page.send(json.dumps({"id": 1, "do": "choose", "position": LATE, "agent": spec}))
                while not (tmp_path / "begun").exists():
                    await asyncio.sleep(0.05)
                process.send_signal(signal.SIGINT)
                await asyncio.to_thread(read_until, "press Ctrl-C again")
                process.send_signal(signal.SIGINT)

        def read_until(text: str) -> None:
            assert process.stderr is not None
            while text not in process.stderr.readline():
                assert process.poll() is None

        try:
            asyncio.run(asyncio.wait_for(stop(), 300))
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0
            assert errors == "mancala serve: stopped\n"
        finally:
            process.kill()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_text_browser_that_runs_in_the_foreground_gets_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    browser = {"BROWSER": f"curl --silent --max-time 300 --output {page} %s"}
    command = [sys.executable, "-m", "mancala_env", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **browser}) as process:
        try:
            deadline = time.monotonic() + 300
            while not (page.exists() and "</html>" in page.read_text(encoding="utf-8")):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            process.terminate()


def test_who_comes_before_the_server_runs_waits_for_it():
    with _listening("127.0.0.1", 0) as listening:
        socket.create_connection(listening.getsockname(), timeout=10).close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "99999"], "port must be a whole number from 0 to 65535"),
        (["--host", ""], "--host must be an address or a name, not ''"),
        (["--host", "no.such.host.invalid"], "cannot listen on"),
        (["--checkpoints", "nowhere"], "--checkpoints must be an existing folder, not 'nowhere'"),
        (["--checkpoints", ""], "--checkpoints must be an existing folder, not ''"),
        (["--agents", "random", "nowhere.zip"], "there is no checkpoint 'nowhere.zip'"),
        (["--agents", "minmax:3"], "did you mean 'minimax'"),
        (["--agents", "python:none.py:f"], "none.py cannot be read"),
    ],
)
def test_bad_options_of_the_command_are_one_line(capsys, words, said):
    try:
        status = mancala(["serve", "--browser", "false", *words])
    except SystemExit as end:
        status = end.code
    assert status == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("agent", ["perfect", "perfect+traps"])
def test_an_agent_that_takes_its_time_is_given_some(agent: str) -> None:
    assert str(spec_of({"agent": agent}, Limits(), None, ())) == f"{agent}:10s"
    assert str(spec_of({"agent": f"{agent}:0.5s"}, Limits(), None, ())) == f"{agent}:0.5s"
    with raises(BadRequest, 10):
        spec_of({"agent": f"{agent}:11s"}, Limits(), None, ())


LIMITS = Limits(seconds=2.0, depth=4, simulations=300, analysis_seconds=5.0, message_bytes=100)


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ("minimax:4", "minimax:5"),
        ("mcts:300", "mcts:301"),
        ("value+mcts:300", "value+mcts:301"),
        ("value+minimax:4", "value+minimax:5"),
        ("mcts:2s", "mcts:2.1s"),
        ("minimax:2s", "minimax:2.1s"),
        ("minimax:4+5000nodes", "minimax:5000nodes"),
        ("mcts:400+2s", "mcts:300+2.1s"),
        ("perfect:2s", "perfect:2.1s"),
    ],
)
def test_an_agent_may_take_what_the_limits_allow_and_no_more(within: str, beyond: str) -> None:
    assert str(spec_of({"agent": within}, LIMITS, None, ())) == within
    with pytest.raises(BadRequest) as refused:
        spec_of({"agent": beyond}, LIMITS, None, ())
    assert "at most" in str(refused.value)


def test_agents_that_are_offered_are_taken_as_they_are() -> None:
    assert str(spec_of({"agent": "minimax:9"}, LIMITS, None, ("minimax:9",))) == "minimax:9"
    with pytest.raises(BadRequest):  # not together with a checkpoint
        spec_of({"agent": "minimax:9", "checkpoint": "x.zip"}, LIMITS, None, ("minimax:9",))


def test_the_seconds_of_an_analysis_are_within_the_limit() -> None:
    assert requests.seconds_of({}, LIMITS) == 5.0
    assert requests.seconds_of({"seconds": 5}, LIMITS) == 5.0
    assert requests.seconds_of({"seconds": 0.001}, LIMITS) == 0.001
    for seconds in (0, -0.0, 5.001, True, "1", None, [1]):
        with pytest.raises(BadRequest) as refused:
            requests.seconds_of({"seconds": seconds}, LIMITS)
        assert repr(seconds) in str(refused.value)


def test_a_request_has_an_id_and_a_length_within_the_limits() -> None:
    for number in (0, 2**53):
        assert requests.read(json.dumps({"id": number, "do": "about"}), LIMITS)["id"] == number
        assert requests.cancelled_id({"of": number}) == number
    for number in (-1, 2**53 + 1, 1.0, True, "1", None):
        with raises(InvalidArgument, "id", 0, 2**53, repr(number)):
            requests.read(json.dumps({"id": number, "do": "about"}), LIMITS)
        with raises(InvalidArgument, "of", 0, 2**53, repr(number)):
            requests.cancelled_id({"of": number})
    text = json.dumps({"id": 1, "do": "about"})
    assert requests.read(text.ljust(100), LIMITS)["do"] == "about"
    with pytest.raises(BadRequest) as refused:
        requests.read(text.ljust(101), LIMITS)
    assert "101" in str(refused.value)
    for constant in ("NaN", "Infinity"):
        with pytest.raises(BadRequest):
            requests.read(f'{{"id": 1, "do": "about", "x": {constant}}}', LIMITS)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('{"id": 7, "do": "dance"}', 7),
        ('{"id": true}', None),
        ('{"id": "7"}', None),
        ("[7]", None),
        ("{", None),
        ("[" * 5_000, None),
    ],
)
def test_the_id_of_a_bad_request_is_found_where_it_has_one(text: str, number: int | None) -> None:
    assert requests.id_of(text) == number


def test_checkpoints_are_listed_in_order_up_to_a_thousand(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    (folder / "runs").mkdir(parents=True)
    (folder / "folder.zip").mkdir()
    (folder / "note.txt").touch()
    (tmp_path / "outside.zip").touch()
    (folder / "link.zip").symlink_to(tmp_path / "outside.zip")
    for name in ("b.zip", "a.zip", "runs/c.zip"):
        (folder / name).touch()
    with suppress(OSError):  # a file system of Unicode names
        Path(os.fsdecode(bytes(folder) + b"/\xff.zip")).touch()
    assert requests.checkpoints_in(None) == []
    assert requests.checkpoints_in(folder) == ["a.zip", "b.zip", "runs/c.zip"]
    for number in range(1000):
        (folder / "runs" / f"{number:04}.zip").touch()
    listed = requests.checkpoints_in(folder)
    assert len(listed) == 1000
    assert listed == sorted(listed)
    assert listed[-1] == "runs/0997.zip"


def test_a_long_value_is_cut_in_a_message() -> None:
    for length, is_whole in ((58, True), (59, False)):
        with pytest.raises(BadRequest) as refused:
            requests.position_of({"position": ["x" * (length - 2)]})
        assert (repr(["x" * (length - 2)]) in str(refused.value)) is is_whole


def test_a_moment_of_many_requests_is_allowed_and_then_so_many_a_second(monkeypatch) -> None:
    now = 0.0
    monkeypatch.setattr("mancala_env.web.server.time.monotonic", lambda: now)
    session = _Session(None, _Server(None, Limits(a_second=4)))  # type: ignore[arg-type]

    def allowed() -> int:
        count = 0
        while True:
            try:
                session._check_rate()
            except BadRequest:
                return count
            count += 1

    assert allowed() == 12
    assert allowed() == 0
    now = 1.0
    assert allowed() == 4
    now = 1.3  # enough for 1.2 requests: one now, and the rest counts for the next
    assert allowed() == 1
    now = 100.0
    assert allowed() == 12


class _FakeSocket:
    """A socket that receives the given messages, and waits before it disconnects until the test says so."""

    def __init__(self, *requests: object) -> None:
        self.texts = [one if isinstance(one, str | bytes) else json.dumps(one) for one in requests]
        self.answers: list[dict] = []
        self.codes: list[int] = []
        self.may_leave, self.has_left, self.is_shut = asyncio.Event(), False, False

    async def receive(self) -> dict:
        assert not self.has_left, "nothing can be received after the end"
        if self.texts:
            text = self.texts.pop(0)
            return {"type": "websocket.receive", "text" if isinstance(text, str) else "bytes": text}
        await self.may_leave.wait()
        self.has_left = True
        return {"type": "websocket.disconnect"}

    async def send_text(self, text: str) -> None:
        if self.is_shut:
            raise RuntimeError("the socket is closed")
        self.answers.append(json.loads(text))

    async def close(self, code: int) -> None:
        self.codes.append(code)

    async def until(self, count: int) -> list[dict]:
        """Wait for a number of answers."""
        while len(self.answers) < count:
            await asyncio.sleep(0.001)
        return self.answers


class _FakeService:
    """A service whose agents fail, and whose analyses yield given solutions, then wait if `is_endless`."""

    def __init__(self, error: BaseException | None = None, solutions: tuple = (), is_endless: bool = False):
        self.error, self.solutions, self.is_endless, self.cancelled = error, solutions, is_endless, 0

    async def choose(self, *_: object) -> int:
        if self.error is not None:
            raise self.error
        return 3

    async def analyse(self, *_: object):
        for solution in self.solutions:
            yield solution
        if self.is_endless:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise


def session_of(
    socket: _FakeSocket, service: _FakeService, limits: Limits | None = None, folder=None
) -> _Session:
    return _Session(socket, _Server(service, limits or Limits(), folder))  # type: ignore[arg-type]


CHOOSE = {"id": 1, "do": "choose", "position": LATE, "agent": "greedy"}
ANALYSE = {"id": 1, "do": "analyse", "position": LATE, "seconds": 60}


@pytest.mark.parametrize(
    ("error", "said", "is_failure"),
    [
        (FileNotFoundError(2, "No such file", "/secret/x.zip"), "No such file", False),
        (TimeoutError(), "TimeoutError", False),
        (ImportError("it needs torch"), "it needs torch", False),
        (BadRequest("/secret/folder/x.zip is damaged"), "x.zip is damaged", False),
        (ZeroDivisionError("secret"), "", True),
        (SystemExit("secret"), "", True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_why_an_agent_cannot_play_is_told_without_paths(error, said, is_failure, tmp_path, caplog):
    folder = tmp_path.resolve()
    if isinstance(error, BadRequest):
        error = BadRequest(f"{folder}/x.zip is damaged")

    async def run() -> dict:
        socket = _FakeSocket(CHOOSE)
        serving = asyncio.create_task(session_of(socket, _FakeService(error), folder=folder).serve())
        (answer,) = await socket.until(1)
        socket.may_leave.set()
        await serving
        return answer

    answer = asyncio.run(run())
    assert answer["id"] == 1
    assert answer["error"].endswith(said)
    assert "secret" not in answer["error"]
    assert str(folder) not in answer["error"]
    assert answer.get("failed", False) is is_failure
    assert any("request 1 failed" in message for message in caplog.messages) is is_failure


def test_a_page_that_leaves_ends_its_session_and_its_requests():
    async def run() -> _FakeService:
        solution = SimpleNamespace(lower=-1, upper=2, action_bounds={0: (-1, 2)}, nodes=5, is_exact=False)
        socket, service = _FakeSocket(ANALYSE), _FakeService(solutions=(solution,), is_endless=True)
        session = session_of(socket, service)
        serving = asyncio.create_task(session.serve())
        await socket.until(1)
        socket.is_shut = True
        socket.may_leave.set()
        await asyncio.wait_for(serving, 60)
        await asyncio.sleep(0.01)
        assert not session._tasks
        assert socket.codes == []
        return service

    assert asyncio.run(run()).cancelled == 1


def test_an_analysis_adds_up_its_slices_and_repeats_the_last_bounds_at_its_end():
    solutions = tuple(
        SimpleNamespace(
            lower=-n, upper=n, action_bounds={1: (-n, n), 4: (0, n)}, nodes=10 * n, is_exact=n == 1
        )
        for n in (3, 2, 1)
    )

    async def run(service: _FakeService, count: int) -> list[dict]:
        socket = _FakeSocket(ANALYSE)
        serving = asyncio.create_task(session_of(socket, service).serve())
        answers = await socket.until(count)
        socket.may_leave.set()
        await serving
        return answers

    answers = asyncio.run(run(_FakeService(solutions=solutions), 4))
    seconds = [answer.pop("seconds") for answer in answers]
    assert seconds == sorted(seconds)
    assert 0 <= seconds[0] <= seconds[-1] < 60
    bounds = [
        {
            "id": 1,
            "lower": -n,
            "upper": n,
            "actions": {"1": [-n, n], "4": [0, n]},
            "nodes": nodes,
            "exact": n == 1,
        }
        for n, nodes in ((3, 30), (2, 50), (1, 60))
    ]
    assert answers == [*bounds, {**bounds[-1], "done": True}]
    assert asyncio.run(run(_FakeService(), 1)) == [{"id": 1, "done": True}]


def test_requests_that_come_together_are_all_answered():
    cancel = {"do": "cancel", "of": 1}

    async def run(*requests: object, service: _FakeService) -> dict[int, dict]:
        socket = _FakeSocket(*requests)
        serving = asyncio.create_task(session_of(socket, service).serve())
        answers = await asyncio.wait_for(socket.until(len(requests)), 20)
        socket.may_leave.set()
        await serving
        return {answer["id"]: answer for answer in answers}

    requests = (json.dumps(CHOOSE).encode(), {"id": 2, "do": "about"}, {"id": 3, **cancel})
    answers = asyncio.run(run(*requests, service=_FakeService()))
    assert 0 <= answers[1].pop("seconds") < 60
    assert answers[1] == {"id": 1, "action": 3, "done": True}
    assert (answers[2]["version"], answers[2]["done"]) == (__version__, True)
    assert answers[3] == {"id": 3, "cancelled": False}
    answers = asyncio.run(run(ANALYSE, {"id": 3, **cancel}, service=_FakeService(is_endless=True)))
    assert answers[1] == {"id": 1, "cancelled": True, "done": True}
    assert answers[3] == {"id": 3, "cancelled": True}


def test_a_session_of_errors_alone_is_closed_by_the_policy():
    async def run() -> tuple[list[dict], list[int]]:
        socket = _FakeSocket(*['{"id": 7}'] * 250)
        await session_of(socket, _FakeService(), Limits(a_second=10_000)).serve()
        return socket.answers, socket.codes

    answers, codes = asyncio.run(run())
    assert (len(answers), codes) == (200, [1008])
    assert {answer["id"] for answer in answers} == {7}


def test_errors_are_counted_from_the_last_request_that_was_right():
    async def run() -> _FakeSocket:
        wrong = ['{"id": 7}'] * 199
        socket = _FakeSocket(*wrong, {"id": 1, "do": "about"}, *wrong, {"id": 2, "do": "about"})
        serving = asyncio.create_task(session_of(socket, _FakeService(), Limits(a_second=10_000)).serve())
        await asyncio.wait_for(socket.until(400), 60)
        socket.may_leave.set()
        await serving
        return socket

    socket = asyncio.run(run())
    assert socket.codes == []
    assert {answer["id"] for answer in socket.answers if "version" in answer} == {1, 2}


def test_the_limits_of_a_page_are_those_that_are_documented(server):
    assert Limits() == Limits(10.0, 10, 20_000, 600.0, 256, 8, 20, 16_384)
    limits = get(f"http://{server}/api/about").json()["limits"]
    assert limits == {**asdict(Limits()), "a_second": 10_000, "sessions": 120}


def test_an_error_of_ours_is_answered_without_its_text(server, monkeypatch):
    def fail(_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(requests, "checkpoints_in", fail)
    answer = get(f"http://{server}/api/about")
    assert answer.status_code == 500
    assert "error" in answer.json()
    assert "secret" not in answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_an_analysis_can_be_cancelled_when_no_more_requests_are_allowed():
    Position.from_text(LATE)  # compiles, if it must

    async def run():
        others = [{"id": number, "do": "about"} for number in (2, 3, 4)]
        socket = _FakeSocket(ANALYSE, *others, {"id": 5, "do": "cancel", "of": 1})
        session = session_of(socket, _FakeService(is_endless=True), Limits(a_second=1))
        serving = asyncio.create_task(session.serve())
        while not any(answer["id"] == 5 for answer in socket.answers):
            await asyncio.sleep(0.001)
        socket.may_leave.set()
        await serving
        return {answer["id"]: answer for answer in socket.answers}

    answers = asyncio.run(run())
    assert "too many requests" in answers[4]["error"]
    assert answers[5] == {"id": 5, "cancelled": True}
