"""The tests in environments other than `make`'s own: `make matrix`, or `.venv/bin/nox -s SESSION`.

torch stays as pinned everywhere: its wheel is the one thing too large to fetch for each environment.
"""

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False

if shutil.which("pyenv"):  # whose python3.12 is found but runs only where it has been chosen
    bare = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=True).stdout
    os.environ["PYENV_VERSION"] = ":".join(line.strip() for line in bare.splitlines())

PINS = Path("constraints.txt").read_text().splitlines()
TORCH = next(pin for pin in PINS if pin.startswith("torch=="))
# What needs no torch, pages or notebooks: rooms of tests/, less the learners of other libraries.
WITHOUT_LEARNERS = "--ignore=tests/envs/test_learners.py"
GAMES = ("tests/rules", "tests/envs", WITHOUT_LEARNERS, "tests/solver", "tests/render")
# (pytest-asyncio: pytest refuses settings that it does not know.)
TOOLS = ("pytest>=8", "pytest-asyncio>=1.0", "pytest-timeout>=2.3", "hypothesis>=6", "scipy", "choix")


def pins_of(session: nox.Session) -> Path:
    """Return where a session writes its versions: not `create_tmp`, which moves TMPDIR to where Ray hangs."""
    return session.cache_dir.resolve() / f"{session.name}.txt"


def only_torch_pinned(session: nox.Session) -> str:
    """Write a constraints file that holds torch alone."""
    path = pins_of(session).with_suffix(".torch.txt")
    path.write_text(TORCH + "\n")
    return str(path)


def run_tests(session: nox.Session, *what: str, **variables: str) -> None:
    """Run pytest on what is installed, not on what PYTHONPATH names."""
    session.run(
        "python", "-m", "pytest", "-q", *(session.posargs or what), env={"PYTHONPATH": None, **variables}
    )


@nox.session(python="3.11")
def newest(session: nox.Session) -> None:
    """Every test with the newest versions of everything."""
    everything = ".[ray,openspiel,window,play,serve,onnx]"
    session.install("--upgrade", "-c", only_torch_pinned(session), "-e", everything, "--group", "test")
    run_tests(session)


@nox.session(python="3.11")
def gymnasium(session: nox.Session) -> None:
    """The environments with the newest Gymnasium and PettingZoo, which Ray holds back in `newest`."""
    session.install("--upgrade", "-e", ".[arena,window]", "gymnasium", "pettingzoo", *TOOLS)
    run_tests(session, "tests/rules", "tests/envs", WITHOUT_LEARNERS)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """The lowest versions that pyproject.toml allows."""
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
    """The games and environments on every other Python of this machine; `make test` is for the first."""
    session.install("-c", "constraints.txt", "-e", ".[arena,window]", *TOOLS)
    run_tests(session, *GAMES)


@nox.session(python="3.11")
def agilerl(session: nox.Session) -> None:
    """AgileRL's example: it pins a TensorDict that TorchRL refuses, and needs peft without saying so."""
    session.install("-c", only_torch_pinned(session), "-e", ".[arena]", "agilerl", "peft", *TOOLS)
    run_tests(session, "tests/docs/test_examples.py", "-k", "agilerl")


@nox.session(python="3.11")
def fresh(session: nox.Session) -> None:
    """Every test twice, in random order, as on a machine where nothing was ever run before."""
    everything = ".[ray,openspiel,window,play,serve,onnx]"
    session.install("-c", "constraints.txt", "-e", everything, "--group", "test", "--group", "docs")
    session.run("python", "tests/support/fresh.py", *session.posargs)


@nox.session(python="3.11")
def wheel(session: nox.Session) -> None:
    """The wheel in an environment with nothing else, all dependencies installed anew."""
    session.install("-c", "constraints.txt", "build", "hatchling", "pip", *TOOLS)
    run_tests(session, "tests/packaging", "--noconftest", CLEAN_INSTALL="1")


def find_links() -> list[str]:
    """Return the folders of wheels that pip is told of, and uv is not."""
    return os.environ.get("PIP_FIND_LINKS", "").split()
