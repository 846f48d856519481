"""The wheel: its contents, and training and evaluation from it in an empty folder.

Its environment holds the wheel alone; the packages it needs are seen in the environment of the tests, for
installing them takes minutes. With CLEAN_INSTALL=1 they are installed (nox session `wheel`).
"""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLEAN = os.environ.get("CLEAN_INSTALL") == "1"
# Short runs; other tests cover the rest.
QUICKLY = ("--distillation.positions", "0", "--network.hidden", "16", "--evaluation.games", "2")
MY_YAML = """\
ruleset: leyla
minutes: 0.005
network: {observation: board, hidden: 16}
evaluation: {games: 2}
"""
COMMANDS = """\
import contextlib, io, json, sys
from mancala_env import cli

outputs = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        if cli.main(words):
            sys.exit(f"mancala {words}: {said.getvalue()}")
    outputs.append(said.getvalue())
print(json.dumps(outputs))
"""


def files_of(folder: str) -> set[str]:
    """Return the files of a folder of the checkout, as paths below it."""
    top = ROOT / folder
    return {
        path.relative_to(top).as_posix()
        for path in top.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution, and the wheel from it, as a release does."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def members(wheel: Path) -> list[str]:
    """Return the names of the files in the wheel."""
    return zipfile.ZipFile(wheel).namelist()


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and an empty working folder."""

    scripts: Path
    folder: Path
    variables: dict[str, str]

    def run(self, program: str, *words: str) -> str:
        """Run a program of the environment in the folder; returns its output."""
        command = [str(self.scripts / program), *words]
        done = subprocess.run(command, cwd=self.folder, env=self.variables, capture_output=True, text=True)
        assert done.returncode == 0, f"{program} {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_commands(self, *commands: tuple[str, ...]) -> list[str]:
        """Run commands of `mancala` in one process, which imports torch once; returns the output of each."""
        return json.loads(self.run("python", "-c", COMMANDS, json.dumps(commands)).splitlines()[-1])


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    paths = sysconfig.get_paths("venv", vars={"base": str(home), "platbase": str(home)})
    pip = [sys.executable, "-m", "pip", "--python", str(home), "install", "--quiet"]
    if CLEAN:
        pip += ["-c", str(ROOT / "constraints.txt"), f"{wheel}[train]"]
    else:
        pip += ["--no-deps", "--no-index", str(wheel)]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(pip, check=True, env=variables)
    if not CLEAN:
        # Folders named in a .pth file are searched, but .pth files in them are not read. So the
        # checkout, which the environment of the tests finds by a .pth file, stays hidden.
        seen = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        Path(paths["purelib"], "dependencies.pth").write_text("\n".join(seen), encoding="utf-8")
    # Kernels of the wheel and of the checkout have the same sources, so they share the cache of the tests.
    variables |= {"OMP_NUM_THREADS": "1"}
    return Installed(Path(paths["scripts"]), tmp_path_factory.mktemp("empty"), variables)


@pytest.mark.slow
def test_the_package_is_the_only_one(members):
    tops = {name.partition("/")[0] for name in members}
    (info,) = tops - {"mancala_env"}
    assert info.endswith(".dist-info")


def test_every_file_of_the_package_is_in_it(members):
    inside = {name.removeprefix("mancala_env/") for name in members if name.startswith("mancala_env/")}
    assert {"py.typed", "data/ladder.json", "configs/default.yaml", "configs/layli_goobalay.yaml"} <= inside
    assert inside == files_of("mancala_env") | {f"configs/{name}" for name in files_of("configs")}


def test_what_it_says_of_itself(wheel, members):
    (path,) = (name for name in members if name.endswith(".dist-info/METADATA"))
    said = Parser().parsestr(zipfile.ZipFile(wheel).read(path).decode())
    assert f"mancala_env-{said['Version']}-py3-none-any.whl" == wheel.name
    assert (
        (ROOT / "mancala_env" / "version.py")
        .read_text(encoding="utf-8")
        .rstrip()
        .endswith(f'"{said["Version"]}"')
    )
    extras = set(said.get_all("Provides-Extra", []))
    assert {"evaluation", "arena", "train", "ray"} <= extras
    # These are dependency groups, which only developers install.
    assert not extras & {"dev", "test", "lint", "bench"}
    needed = {need.partition(";")[0].strip() for need in said.get_all("Requires-Dist", [])}
    assert {need for need in needed if need.startswith("torch")} == {"torch>=2.6"}


def test_the_sources_hold_what_the_tests_need(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "configs/default.yaml", "training/train.py"} <= names
    assert {"tests/packaging/test_wheel.py", "tools/make_book.py"} <= names
    assert not {name.partition("/")[0] for name in names} & {".venv", ".nox", "runs", "build", "dist"}


@pytest.mark.slow
def test_the_wheel_is_what_is_imported(installed):
    code = "import mancala_env as m, importlib.util as u; print(m.__file__, u.find_spec('training'))"
    path, training = installed.run("python", "-c", code).split()
    assert Path(path).is_relative_to(installed.scripts.parent)
    assert training == "None"


@pytest.mark.slow
def test_a_missing_extra_names_a_command_that_pip_accepts(installed, wheel):
    """pip records that the package came from the wheel; the package is on no index."""
    code = (
        "import sys; sys.modules['torch'] = None; from mancala_env import cli; sys.exit(cli.main(['train']))"
    )
    command = [str(installed.scripts / "python"), "-c", code]
    done = subprocess.run(
        command, cwd=installed.folder, env=installed.variables, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "torch" in done.stderr
    words = shlex.split(done.stderr)
    wanted = words[words.index("install") + 1 :]
    assert wanted == [f"mancala-env[train] @ {wheel.as_uri()}"]
    python = str(installed.scripts / "python")
    offline = ["--dry-run", "--no-deps", "--no-index", "--quiet"]
    check = [sys.executable, "-m", "pip", "--python", python, "install", *offline, *wanted]
    assert subprocess.run(check, capture_output=True, text=True).returncode == 0


@pytest.mark.slow
def test_train_grow_and_evaluate_in_an_empty_folder(installed):
    installed.run("mancala", "train", "layli_goobalay", "--minutes", "0.005", *QUICKLY)
    assert (installed.folder / "runs" / "layli_goobalay" / "final.zip").is_file()

    (installed.folder / "my.yaml").write_text(MY_YAML, encoding="utf-8")
    checkpoint = str(Path("runs", "my", "final.zip"))
    small = ("--games", "100", "--depth", "2", "--generations", "1")
    said = installed.run_commands(
        ("train", "--config", "my.yaml"),
        ("show", checkpoint),
        ("grow-value", "leyla", *small, "--out", "runs/value.safetensors"),
        ("evaluate", checkpoint, "--games", "2", "--json"),
    )
    assert "Leyla" in said[1]
    assert "value+minimax:6:runs/value.safetensors" in said[2]
    found = json.loads(said[3])
    assert found["ruleset"] == "leyla"
    assert {path.name for path in installed.folder.iterdir()} == {"runs", "my.yaml"}
