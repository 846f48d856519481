"""Run the notebooks with this Python, and keep what they print.

python notebooks/execute.py                      # all of them, in place
python notebooks/execute.py train_first_agent
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

from mancala_env._util.command_line import Parser, in_one_line

FOLDER = Path(__file__).resolve().parent
_KERNEL = "this-python"


@contextmanager
def new_kernel() -> Iterator[AsyncKernelManager]:
    """Return a kernel that starts when it is first used, and end it.

    Whatever kernels the machine has, it runs where the package is installed.
    """
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"]
    spec = {"argv": argv, "display_name": _KERNEL, "language": "python"}
    with TemporaryDirectory() as specs:
        where = Path(specs, "kernels", _KERNEL)
        where.mkdir(parents=True)
        (where / "kernel.json").write_text(json.dumps(spec))
        found = KernelSpecManager(kernel_dirs=[str(where.parent)])
        kernel = AsyncKernelManager(kernel_name=_KERNEL, kernel_spec_manager=found)
        try:
            yield kernel
        finally:
            if kernel.has_kernel:
                run_sync(kernel.shutdown_kernel)(now=True)


def execute(
    path: Path,
    folder: Path,
    kernel: AsyncKernelManager,
    more: str = "",
    settings: Mapping[str, int] | None = None,
) -> Any:
    """Run a notebook and return it with its output; the file does not change.

    Args:
        path: The notebook.
        folder: Where it runs, and writes.
        kernel: The kernel. Names of a notebook that ran in it before are deleted.
        more: Code of one more cell to run at the end, whose output is the last one's.
        settings: Other values of settings for a short run. A setting is a line such as ``STEPS = 400_000``.

    Raises:
        KeyError: The notebook does not have one of the settings.
        nbclient.exceptions.CellExecutionError: A cell raised an error.
    """
    notebook = nbformat.read(path, as_version=4)
    for name, value in (settings or {}).items():
        _set(notebook, name, value)
    if more:
        notebook.cells.append(nbformat.v4.new_code_cell(more))
    begin = nbformat.v4.new_code_cell(f"import os\nos.chdir({str(folder)!r})\n%reset -f")
    for one in (nbformat.v4.new_notebook(cells=[begin]), notebook):
        client = NotebookClient(one, km=kernel, timeout=600)
        client.execute()
        assert client.kc is not None
        client.kc.stop_channels()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the hour it ran
        if cell.cell_type == "code":  # what a first run says, and no later one
            cell.outputs = [output for output in cell.outputs if not _says_it_compiles(output)]
    return notebook


def _set(notebook: Any, name: str, value: int) -> None:
    """Change the value of a setting in the code of a notebook."""
    line, num_changed = re.compile(rf"^{name} = [\d_]+", re.MULTILINE), 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source, found = line.subn(f"{name} = {value}", cell.source)
            num_changed += found
    if num_changed != 1:
        raise KeyError(f"the notebook has {num_changed} settings {name}")


def _says_it_compiles(output: Any) -> bool:
    return output.get("name") == "stderr" and output.text.startswith("mancala_env: compiling kernels")


@in_one_line("execute", "the interrupted notebook is unchanged")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the notebooks named on the command line, or all, and rewrite them; returns the exit status."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    parser = Parser(prog="python notebooks/execute.py", description="Run the notebooks with this Python.")
    parser.add_argument(
        "names", nargs="*", help=f"which: {', '.join(path.stem for path in paths)}; all by default"
    )
    names = parser.parse_args(arguments).names
    if unknown := set(names) - {path.stem for path in paths}:
        parser.error(f"unknown notebook {', '.join(sorted(unknown))}")
    for path in paths:
        if not names or path.stem in names:
            plain = nbformat.read(path, as_version=4).metadata
            with TemporaryDirectory() as folder, new_kernel() as kernel:
                notebook = execute(path, Path(folder), kernel)
            notebook.metadata = plain
            nbformat.write(notebook, path)
            print(f"{path.name}: {len(notebook.cells)} cells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
