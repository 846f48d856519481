"""Entries: learning algorithms, each a Python file with a function `learn`.

    TASKS = ("board", "afterstates", "anything")       # what it can take part in

    def prepare(task, ruleset):                         # may be left out: imports and compiles, not charged
        ...

    def learn(task, ruleset, budget, seed, folder):     # a generator
        steps = 0
        while budget.allows(steps + STEPS_OF_AN_UPDATE):
            ...                                         # learn
            steps += STEPS_OF_AN_UPDATE
            if budget.is_due(steps):
                yield Point(agent, steps)
        yield Point(agent, steps)

The file is run with all that its user may do, as any program is that they name on a command line.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, cast

from mancala_env._util.command_line import MissingPackage, needing
from mancala_env.agents import Agent
from mancala_env.benchmark.budget import LearningBudget
from mancala_env.benchmark.tasks import TASKS, Refused, Task
from mancala_env.errors import MancalaError, printable
from mancala_env.rulesets import Ruleset

# Letters of a name that a file of results takes.
_LONGEST_NAME = 200


class InvalidEntry(MancalaError):
    """A file that is no entry of the benchmark."""


class Point(NamedTuple):
    """What a learner yields to be measured.

    Attributes:
        player: Who plays: an agent, a spec, or the path of a checkpoint.
        steps: Environment steps that the learner has had by now.
    """

    player: str | Path | Agent
    steps: int


Learn = Callable[[Task, Ruleset, LearningBudget, int, Path], Iterator[Point]]
"""Called with task, ruleset, budget, seed and a folder of its own."""


class Entry(NamedTuple):
    """A learning algorithm that takes part.

    Attributes:
        name: The stem of its file.
        path: Its file.
        identity: A hash of the file, 8 hexadecimal digits: a changed file is another entry.
        title: The first line of the file's docstring.
        tasks: Names of the tasks it can take part in.
        learn: Its learner.
        prepare: What it does before its clock starts.
    """

    name: str
    path: Path
    identity: str
    title: str
    tasks: tuple[str, ...]
    learn: Learn
    prepare: Callable[[Task, Ruleset], object]


def read_entry(path: str | Path) -> Entry:
    """Run an entry's file and return what it defines.

    Raises:
        InvalidEntry: There is no such file, or it lacks something; the message says what.
        ImportError: It needs a package that is not installed; its message says which.
    """
    path = Path(path)
    if path.suffix != ".py":
        raise InvalidEntry(f"an entry is a Python file, such as training/benchmark/td.py, not {str(path)!r}")
    if not path.stem.isprintable() or len(path.stem) > _LONGEST_NAME:
        raise InvalidEntry(
            f"an entry's file has a name of {_LONGEST_NAME} printable letters at most, not {path.stem[:99]!r}"
        )
    if not path.is_file():
        raise InvalidEntry(f"there is no entry {str(path)!r}; those of a checkout lie in training/benchmark")
    content = path.read_bytes()
    module = _run(path)
    learn = getattr(module, "learn", None)
    tasks = getattr(module, "TASKS", None)
    if not callable(learn):
        raise InvalidEntry(f"{path} has no function learn(task, ruleset, budget, seed, folder)")
    if not isinstance(tasks, tuple) or not tasks or not all(task in tuple(TASKS) for task in tasks):
        raise InvalidEntry(
            f"{path}: TASKS must be a tuple of some of {', '.join(TASKS)}, not {tasks!r}; a tuple of one is "
            '("board",)'
        )
    title = printable((module.__doc__ or path.stem).strip().partition("\n")[0].rstrip("."))
    identity = hashlib.sha256(content).hexdigest()[:8]
    prepare = getattr(module, "prepare", lambda task, ruleset: None)
    return Entry(path.stem, path, identity, title, tasks, cast(Learn, learn), prepare)


def check_takes_part(entry: Entry, task: Task) -> None:
    """Refuse an entry in a task that it does not name.

    Raises:
        Refused: It names others.
    """
    if task.name not in entry.tasks:
        raise Refused(f"{entry.name} takes part in {' and '.join(entry.tasks)}, not in {task.name}")


def _run(path: Path) -> ModuleType:
    # Under a name of its own in sys.modules: numba and pickle look functions up there.
    name = f"mancala_benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InvalidEntry(f"{path} cannot be run as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with needing(str(path), None):
            spec.loader.exec_module(module)
    except ImportError as error:
        if "pip install" in str(error):  # also an entry's own words
            raise MissingPackage(str(error)) from error
        raise InvalidEntry(f"{path}: {error}") from error
    except SyntaxError as error:
        raise InvalidEntry(f"{path}, line {error.lineno or 1}: {error.msg}") from error
    return module
