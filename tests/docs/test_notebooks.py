"""The notebooks run from the first cell to the last, and what they are stored with is what they print."""

import json
import re
import sys
from pathlib import Path

import execute
import nbformat
import pytest

NOTEBOOKS = sorted(execute.FOLDER.glob("*.ipynb"))
# Where a machine's own folders would show.
_PATHS = re.compile(r"(?<![\w.])/(home|root|tmp|Users|work|mnt|private|var)/|[A-Z]:\\\\Users")


def kinds(notebook) -> list[set[str]]:
    """Return what each code cell gives: text, pictures, values."""
    return [
        {key for output in cell.outputs for key in output.get("data", {"text": ""})}
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.generated
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_notebooks_ran_in_order_and_name_no_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    assert not _PATHS.search(path.read_text())
    assert path.stat().st_size < 400_000


def test_train_and_evaluate_trains_an_agent_that_beats_random_play(tmp_path: Path) -> None:
    path = execute.FOLDER / "train_and_evaluate.ipynb"
    facts = (
        "import sys\n"
        "print(json.dumps({'python': sys.executable, 'games': len(evaluation.matches[0].pair_scores) * 2, "
        "'won': {match.second: match.interval for match in evaluation.matches}, 'turns': num_turns}))"
    )
    notebook = execute.execute(path, tmp_path, facts)
    said = json.loads(notebook.cells.pop().outputs[0].text)
    assert said["python"] == sys.executable
    assert said["games"] == 40
    assert said["won"]["random"][0] > 0.5
    assert 5 < said["turns"] < 200
    assert kinds(notebook) == kinds(nbformat.read(path, as_version=4)), "run notebooks/execute.py again"
    assert sum("image/png" in kind for kind in kinds(notebook)) == 4
    assert (tmp_path / "runs" / "notebook" / "final.zip").is_file()
