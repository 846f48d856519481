"""Run the tests as on a new machine.

python tests/support/fresh.py                           # all tests, with one process and then with two
python tests/support/fresh.py tests/engine tests/evaluation  # some of them
python tests/support/fresh.py --seed 7 tests/evaluation      # in the order of an earlier run

The tests of the last commit run in random order in a clone. Its path contains a space and a letter that is
not ASCII, and its time zone is far from UTC. $HOME, the temporary folder and the kernel cache
are empty before the first run; the second run keeps them. If you are root, the tests run without root rights.
They use this Python and its installed packages. A run starts even if an earlier one failed, and ends with a
line that says whether it passed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY_UID = 65534
# The tests must import the clone, not an installed copy of the package.
_CHECK = """
import sys, pytest_randomly, numba, mancala_env
if not mancala_env.__file__.startswith(sys.argv[1]):
    sys.exit(f"the tests would use {mancala_env.__file__}, not the clone {sys.argv[1]}")
"""


def private_folders(path: Path) -> list[Path]:
    """Return the parent folders of a path that other users may not enter."""
    return [folder for folder in path.parents if not folder.stat().st_mode & 0o001]


def as_nobody(folder: Path) -> list[str]:
    """Return the prefix of a command that runs it without root rights.

    The interpreter may be in a folder of root's, such as /root/.pyenv. Then a mount namespace shows the
    command the interpreter and hides the rest of that folder. The machine itself does not change.
    """
    words = ["setpriv", f"--reuid={NOBODY_UID}", f"--regid={NOBODY_UID}", "--clear-groups", "--no-new-privs"]
    script, hidden = [], []
    for number, needed in enumerate({Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}):
        for private in private_folders(needed)[-1:]:
            held = folder / f"held{number}"
            held.mkdir()
            script.append(f'mount --bind "{needed}" "{held}"')
            hidden.append((private, needed, held))
    for private in sorted({private for private, _, _ in hidden}):
        script.append(f'mount -t tmpfs -o mode=755 tmpfs "{private}"')
    for _, needed, held in hidden:
        script.append(f'mkdir -p "{needed}" && mount --bind "{held}" "{needed}"')
    if not script:
        return words
    return ["unshare", "--mount", "sh", "-ec", "\n".join([*script, 'exec "$@"']), "sh", *words]


def main() -> int:
    """Run the tests twice; returns the exit status of the last run that failed, or 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="seed of the random order")
    parser.add_argument("--keep", action="store_true", help="keep the clone and its folders")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="processes of each run")
    parser.add_argument("tests", nargs="*", help="folders or files of tests (default: all)")
    options = parser.parse_args()
    base = Path(
        tempfile.mkdtemp(prefix="fresh-", dir="/tmp")
    )  # short, because a socket's path has at most 107 characters
    base.chmod(0o755)
    clone = base / "mancala env é"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    subprocess.run(["git", "-C", str(clone), "checkout", "--quiet", "--detach", commit], check=True)
    if subprocess.check_output([*git, "status", "--porcelain"], text=True):
        print(f"fresh: changes since commit {commit[:7]} are not tested")
    folders = {"HOME": base / "home", "TMPDIR": base / "tmp", "NUMBA_CACHE_DIR": base / "kernels"}
    for folder in folders.values():
        folder.mkdir()
    before: list[str] = []
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        before = as_nobody(base)
        subprocess.run(["chown", "-R", f"{NOBODY_UID}:{NOBODY_UID}", clone, *folders.values()], check=True)
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "PYTEST_", "PYTHON"))
    }
    variables |= {name: str(folder) for name, folder in folders.items()}
    variables |= {"TZ": "Pacific/Kiritimati", "PYTHONPATH": str(clone)}

    def run(*words: str) -> int:
        return subprocess.run([*before, sys.executable, *words], cwd=clone, env=variables).returncode

    try:
        if run("-c", _CHECK, str(clone)):
            return 1
        failed = 0
        for processes in options.processes:
            name = f"fresh: commit {commit[:7]}, {processes} process(es), seed {options.seed}"
            print(name, flush=True)
            began = time.monotonic()
            workers = str(processes if processes > 1 else 0)
            words = ["-p", "randomly", f"--randomly-seed={options.seed}", "-n", workers]
            status = run("-m", "pytest", "-q", *words, "--dist", "loadfile", *options.tests)
            minutes = (time.monotonic() - began) / 60
            ended = f"failed (status {status})" if status else "passed"
            print(f"{name}: {ended} after {minutes:.1f} minutes", flush=True)
            failed = status or failed
        return failed
    finally:
        if options.keep:
            print(f"fresh: kept {base}")
        else:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
