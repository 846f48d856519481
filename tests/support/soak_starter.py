"""A process that has imported everything and starts programs by forking itself, in milliseconds.

Most attacks start a training or an arena in order to kill it; from scratch that is some seconds of imports
each. The starter has one thread, so that its forks are as good as new processes.
"""

import atexit
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
"""A user that owns nothing, where this process may become another."""

# A training whose updates take milliseconds, with a checkpoint after each.
UPDATE = 256
TINY = (
    "--config", str(ROOT / "configs" / "smoke.yaml"), "--name", "run", "--threads", "1",
    "--selfplay.games", "64", "--ppo.steps", "4", "--ppo.batch_size", "128", "--network.hidden", "8",
    "--checkpoint_minutes", "0", "--evaluation.games", "2", "--evaluation.opponents", "[random]",
)  # fmt: skip


def _arena(results: str, games: str) -> int:
    from mancala_env.evaluation import round_robin

    specs = ["random", "greedy", "minimax:3"]
    round_robin(specs, "leyla", games=int(games), results=results, num_threads=1)
    return 0


def _program(name: str, words: list[str]) -> int:
    if name == "train":
        from mancala_env.training import run

        return run.main(words)
    if name == "arena":
        from mancala_env._util import command_line

        return command_line.run("arena", lambda: _arena(*words))
    if name == "mancala":
        from mancala_env import cli

        return cli.main(words)
    if name == "mancala in a thread":
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(_program, "mancala", words).result()
    if name == "book":
        from tools import make_book

        return make_book.main(words)
    raise ValueError(name)


def _child(order: dict[str, Any]) -> None:
    """Become the program that was asked for; never returns."""
    status = 1
    try:
        if order["reads"] is not None:
            os.dup2(os.open(order["reads"], os.O_RDONLY), 0)
        file = os.open(order["says"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.chdir(order["folder"])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        if order["largest"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest"], order["largest"]))
        if order["user"] is not None:
            os.setgroups([])
            os.setgid(order["user"])
            os.setuid(order["user"])
        status = _program(order["program"], order["words"])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve() -> None:
    """Warm up, then start what each line asks for, and wait for it where a line says so."""
    with tempfile.TemporaryDirectory() as place:
        said = sys.stdout
        sys.stdout = sys.stderr
        _program("train", [*TINY, "--folder", place, "--environment_steps", str(UPDATE)])
        _program("arena", [str(Path(place) / "games.jsonl"), "2"])
        sys.stdout = said
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            _child(order)
        print(json.dumps(pid), flush=True)


class Program:
    """A program that was started.

    Attributes:
        pid: Its process.
    """

    def __init__(self, starter: "Starter", pid: int, says: Path) -> None:
        self.pid, self._starter, self._says = pid, starter, says

    def send(self, number: int) -> None:
        """Send it a signal; it has not been waited for, so its number is its own."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Return its exit status; that of a signal is negative."""
        return self._starter.ask({"wait": self.pid})

    @property
    def said(self) -> str:
        """What it has written to both streams."""
        return self._says.read_text(errors="replace")


class Starter:
    """The other process, from this side."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        atexit.register(self._process.kill)
        self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, order: dict[str, Any]) -> Any:
        """Give an order and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def start(
        self,
        program: str,
        *words: str,
        folder: Path,
        user: int | None = None,
        says: Path | None = None,
        reads: Path | None = None,
        largest: int | None = None,
    ) -> Program:
        """Start a program in a folder.

        Args:
            program: "mancala", "mancala in a thread", "train", "arena" or "book".
            words: Its command line.
            folder: The folder it works in.
            user: The user it works as.
            says: The file or pipe that it writes its output to; None makes one.
            reads: The file or pipe that is its standard input.
            largest: Bytes that it may write into a file, as on a disk that is full then.
        """
        if says is None:
            handle, name = tempfile.mkstemp(dir=folder.parent if user is None else None, suffix=".said")
            os.close(handle)
            says = Path(name)
        order = {
            "program": program,
            "words": words,
            "folder": str(folder),
            "user": user,
            "says": str(says),
            "reads": None if reads is None else str(reads),
            "largest": largest,
        }
        return Program(self, self.ask(order), says)


@lru_cache
def starter() -> Starter:
    """Return the one starter of this process."""
    return Starter()


if __name__ == "__main__":
    serve()
