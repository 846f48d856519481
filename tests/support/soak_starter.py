"""A process that has imported the package and starts programs by forking, in milliseconds.

Most attacks start a training or an evaluation and kill it. A new process would spend seconds on imports. The
starter has one thread, so that its forks behave like new processes.
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
NOBODY_UID = 65534
"""A user without rights, for a process that may change its user."""

# A training whose updates take milliseconds, with a checkpoint after each update.
UPDATE = 256
TINY = (
    "--config", str(ROOT / "configs" / "smoke.yaml"), "--name", "run", "--threads", "1",
    "--selfplay.games", "64", "--ppo.steps", "4", "--ppo.batch_size", "128", "--network.hidden", "8",
    "--checkpoint_minutes", "0", "--evaluation.games", "2", "--evaluation.opponents", "[random]",
)  # fmt: skip


def _evaluation(results: str, games: str) -> int:
    from mancala_env.evaluation import round_robin

    specs = ["random", "greedy", "minimax:3"]
    round_robin(specs, "leyla", games=int(games), results=results, num_threads=1)
    return 0


def _program(name: str, words: list[str]) -> int:
    if name == "train":
        from mancala_env.training import run

        return run.main(words)
    if name == "evaluation":
        from mancala_env._util import command_line

        return command_line.run("evaluation", lambda: _evaluation(*words))
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
    """Run the program of an order in this process; never returns."""
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
            sys.dont_write_bytecode = True  # Python does not notice an incomplete file of bytecode
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
    """Warm up, then carry out the order in each line: start a program or wait for one."""
    with tempfile.TemporaryDirectory() as place:
        said = sys.stdout
        sys.stdout = sys.stderr
        _program("train", [*TINY, "--folder", place, "--environment_steps", str(UPDATE)])
        _program("evaluation", [str(Path(place) / "games.jsonl"), "2"])
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
    """A started program.

    Attributes:
        pid: Its process id.
    """

    def __init__(self, starter: "Starter", pid: int, says: Path) -> None:
        self.pid, self._starter, self._says = pid, starter, says

    def send(self, number: int) -> None:
        """Send it a signal. Its process id cannot be reused before `wait`."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait for its end; returns the exit status, negative for a signal."""
        return self._starter.ask({"wait": self.pid})

    @property
    def said(self) -> str:
        """Its output so far, of both streams."""
        return self._says.read_text(errors="replace", encoding="utf-8")


class Starter:
    """The client of the starter process."""

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
        """Send an order; returns the answer."""
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
            program: "mancala", "mancala in a thread", "train", "evaluation" or "book".
            words: Its arguments.
            folder: Its working folder.
            user: Its user id.
            says: File or pipe of its output; by default a new file.
            reads: File or pipe of its standard input.
            largest: Maximum size in bytes of a file that it writes, to simulate a full disk.
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
    """Return the starter, which this process shares."""
    return Starter()


if __name__ == "__main__":
    serve()
