"""Entries: learning algorithms, each a Python file with `TASKS` and a generator function `learn`.

docs/guides/benchmark.md has an example and the meaning of the arguments. The file runs with your
permissions, so use only files that you trust.
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
from mancala_env.benchmark.tasks import TASKS, Task
from mancala_env.errors import MancalaError
from mancala_env.rulesets import Ruleset

# Maximum length of a name in the results file, in characters.
_LONGEST_NAME = 200


class InvalidEntry(MancalaError):
    """A file that is not an entry of the benchmark."""


class Point(NamedTuple):
    """A measuring point: the agent to measure, and the environment steps that its learner has made so far.

    The agent is an Agent, a spec, or the path of a checkpoint.
    """

    player: str | Path | Agent
    steps: int


Learn = Callable[[Task, Ruleset, LearningBudget, int, Path], Iterator[Point]]
"""Called with task, ruleset, budget, seed and the learner's own folder."""


class Entry(NamedTuple):
    """A learning algorithm of the benchmark, and the names of the tasks that it can learn.

    `name` is the stem of the file's name. `identity` is a hash of the file, 8 hexadecimal digits; a changed
    file is a different entry. `prepare` is called before the clock starts.
    """

    name: str
    path: Path
    identity: str
    tasks: tuple[str, ...]
    learn: Learn
    prepare: Callable[[Task, Ruleset], object]


def read_entry(path: str | Path) -> Entry:
    """Run an entry's file and return what it defines.

    Raises:
        InvalidEntry: If the file does not exist, cannot be run, or lacks `learn` or `TASKS`.
        ImportError: If a package that the file imports is not installed.
    """
    path = Path(path)
    if path.suffix != ".py":
        raise InvalidEntry(f"an entry is a Python file, such as training/benchmark/td.py, not {str(path)!r}")
    if not path.stem.isprintable() or len(path.stem) > _LONGEST_NAME:
        valid = f"at most {_LONGEST_NAME} printable characters"
        raise InvalidEntry(f"the name of an entry's file must have {valid}, not {path.stem[:99]!r}")
    if not path.is_file():
        raise InvalidEntry(f"no file {str(path)!r}; a checkout has entries in training/benchmark")
    identity = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    module = _run(path)
    learn = getattr(module, "learn", None)
    tasks = getattr(module, "TASKS", None)
    if not callable(learn):
        raise InvalidEntry(f"{path} lacks a function learn(task, ruleset, budget, seed, folder)")
    if not isinstance(tasks, tuple) or not tasks or not all(task in tuple(TASKS) for task in tasks):
        valid = f'a tuple of names from {", ".join(TASKS)}, such as ("board",)'
        raise InvalidEntry(f"{path}: TASKS must be {valid}, not {tasks!r}")
    prepare = getattr(module, "prepare", lambda task, ruleset: None)
    return Entry(path.stem, path, identity, tasks, cast(Learn, learn), prepare)


def _run(path: Path) -> ModuleType:
    # Registered in sys.modules, where numba and pickle look up functions.
    name = f"mancala_benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with needing(str(path), None):
            spec.loader.exec_module(module)
    except ImportError as error:
        if "pip install" in str(error):  # the entry's own message may also contain the command
            raise MissingPackage(str(error)) from error
        raise InvalidEntry(f"{path}: {error}") from error
    except SyntaxError as error:
        raise InvalidEntry(f"{path}, line {error.lineno or 1}: {error.msg}") from error
    except SystemExit as end:  # a script, which would silently end the program
        raise InvalidEntry(f"{path} called sys.exit({end.code!r}) when it was read") from end
    return module
