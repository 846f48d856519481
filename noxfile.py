"""Run the tests in other environments than `make test` does: `make matrix`, or `.venv/bin/nox -s SESSION`.

torch keeps its pinned version in every session: its wheel is too large to download for each environment.
"""

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False

if shutil.which("pyenv"):  # nox finds pyenv's interpreters, but they run only if PYENV_VERSION selects them
    bare = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=True).stdout
    os.environ["PYENV_VERSION"] = ":".join(line.strip() for line in bare.splitlines())

PINS = Path("constraints.txt").read_text().splitlines()
TORCH = next(pin for pin in PINS if pin.startswith("torch=="))
# Test folders that need neither torch nor a browser. test_learners.py needs other learning libraries.
ENVIRONMENTS = ("tests/engine", "tests/games", "tests/envs", "--ignore=tests/envs/test_learners.py")
GAMES = (*ENVIRONMENTS, "tests/util", "tests/observations", "tests/solver", "tests/render")
# pytest-asyncio is here because pytest rejects settings of plugins that are not installed.
TOOLS = ("pytest>=8", "pytest-asyncio>=1.0", "pytest-timeout>=2.3", "hypothesis>=6", "scipy", "choix")


def pins_of(session: nox.Session) -> Path:
    """Return the file for a session's pinned versions.

    It is not in `create_tmp`, because that changes TMPDIR to a path where Ray hangs.
    """
    return session.cache_dir.resolve() / f"{session.name}.txt"


def only_torch_pinned(session: nox.Session) -> str:
    """Write a constraints file that pins torch only."""
    path = pins_of(session).with_suffix(".torch.txt")
    path.write_text(TORCH + "\n")
    return str(path)


def run_tests(session: nox.Session, *what: str, **variables: str) -> None:
    """Run pytest on the installed package: PYTHONPATH is not passed on."""
    session.run(
        "python", "-m", "pytest", "-q", *(session.posargs or what), env={"PYTHONPATH": None, **variables}
    )


@nox.session(python="3.11")
def newest(session: nox.Session) -> None:
    """Run every test with the newest versions of all dependencies."""
    everything = ".[ray,openspiel,window,play,serve,onnx]"
    session.install("--upgrade", "-c", only_torch_pinned(session), "-e", everything, "--group", "test")
    run_tests(session)


@nox.session(python="3.11")
def gymnasium(session: nox.Session) -> None:
    """Test the environments with the newest Gymnasium and PettingZoo, which Ray excludes from `newest`."""
    session.install("--upgrade", "-e", ".[evaluation,window]", "gymnasium", "pettingzoo", *TOOLS)
    run_tests(session, *ENVIRONMENTS)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml allows."""
    session.install("uv")
    pins = pins_of(session)
    session.run(
        *("uv", "pip", "compile", "--quiet", "pyproject.toml", "--extra", "train", "--extra", "window"),
        *("--resolution", "lowest-direct", "--constraints", only_torch_pinned(session)),
        *(word for folder in find_links() for word in ("--find-links", folder)),
        *("--python-version", "3.11", "--no-header", "--no-annotate", "--output-file", str(pins)),
    )
    session.install("-r", str(pins), *TOOLS)
    session.install("--no-deps", "-e", ".")
    run_tests(session, *GAMES, "tests/agents", "tests/evaluation", "tests/training")


@nox.session(python=["3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """Test games and environments on the other Python versions of this machine. `make test` covers 3.11."""
    session.install("-c", "constraints.txt", "-e", ".[evaluation,window]", *TOOLS)
    run_tests(session, *GAMES)


@nox.session(python="3.11")
def agilerl(session: nox.Session) -> None:
    """Run the AgileRL example without TorchRL, whose TensorDict breaks it. AgileRL does not declare peft."""
    session.install("-c", only_torch_pinned(session), "-e", ".[evaluation]", "agilerl", "peft", *TOOLS)
    run_tests(session, "tests/docs/test_examples.py", "-k", "agilerl")


@nox.session(python="3.11")
def fresh(session: nox.Session) -> None:
    """Run every test twice, in random order, with an empty home, temporary folder and kernel cache."""
    everything = ".[ray,openspiel,window,play,serve,onnx]"
    session.install("-c", "constraints.txt", "-e", everything, "--group", "test", "--group", "docs")
    session.run("python", "tests/support/fresh.py", *session.posargs)


@nox.session(python="3.11")
def wheel(session: nox.Session) -> None:
    """Test the wheel in an empty environment: its dependencies are installed from scratch."""
    session.install("-c", "constraints.txt", "build", "hatchling", "pip", *TOOLS)
    run_tests(session, "tests/packaging", "--noconftest", CLEAN_INSTALL="1")


def find_links() -> list[str]:
    """Return the wheel folders in PIP_FIND_LINKS, which uv does not read."""
    return os.environ.get("PIP_FIND_LINKS", "").split()
