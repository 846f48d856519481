"""The notebooks run completely, and their stored output is up to date."""

import itertools
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

from mancala_env import rulesets
from notebooks import execute

NOTEBOOKS = sorted(execute.FOLDER.glob("*.ipynb"))
# Places where paths of a machine could appear.
_PATHS = re.compile(r"(?<![\w.])/(home|root|tmp|Users|work|mnt|private|var)/|[A-Z]:\\\\Users")


def kinds(notebook) -> list[set[str]]:
    """Return the output of a code cell: texts, pictures, values."""
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
    assert not _PATHS.search(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 400_000


@pytest.mark.slow
def test_rules_tour_shows_what_it_says(tmp_path: Path) -> None:
    path = execute.FOLDER / "rules_tour.ipynb"
    facts = "print(json.dumps({'end': position.end, 'counts': position.counts, 'names': rulesets.names()}))"
    notebook = execute.execute(path, tmp_path, "import json\n" + facts)
    said = json.loads(notebook.cells.pop().outputs[0].text)
    assert kinds(notebook) == kinds(nbformat.read(path, as_version=4)), "run notebooks/execute.py again"
    assert said["end"] == "stuck"
    assert sum(said["counts"]) == 48
    shown = [output["data"].get("text/plain", "") for output in outputs(notebook) if "data" in output]
    turns = [text for text in shown if text.startswith("Turn(")]
    relay, capture, uur, pair, weg, ransom = turns
    assert "laps=5" in relay
    assert "captured=5, new_owned=()" in capture
    assert "new_owned=(4, 7)" in uur
    assert "new_owned=(4, 7)" in pair
    assert "new_owned=(7,)" in weg
    assert "captured=2" in ransom
    drawn = ["".join(output.get("data", {}).get("image/svg+xml", "")) for output in outputs(notebook)]
    assert sum("@keyframes" in drawing for drawing in drawn) == len(turns)
    last = "".join(map(str, notebook.cells[-1].outputs))
    for name in said["names"]:
        title = rulesets.lookup(name).title
        assert f"{title}, round 1" in last or f"{name}: {title}" in last


@pytest.mark.slow
def test_perfect_play_follows_a_game_and_measures_agents(tmp_path: Path) -> None:
    path = execute.FOLDER / "perfect_play.ipynb"
    facts = (
        "import json\nprint(json.dumps({'leads': leads, 'lost': [given_away(move) for move in moves], "
        "'movers': [move[0].player for move in moves], 'parts': {k: list(map(float, v)) for k, v in "
        "parts.items()}, 'regret': {name: one.overall.mean_regret for name, one in regrets.items()}}, "
        "default=int))"
    )
    notebook = execute.execute(path, tmp_path, facts)
    said = json.loads(notebook.cells.pop().outputs[0].text)
    assert kinds(notebook) == kinds(nbformat.read(path, as_version=4)), "run notebooks/execute.py again"
    assert said["leads"][0] == 8
    steps = [after - before for before, after in itertools.pairwise(said["leads"])]
    given = [-lost if mover == 0 else lost for lost, mover in zip(said["lost"], said["movers"], strict=True)]
    assert steps == given, "the line moves by what the mover gave away, and by nothing else"
    assert said["regret"].keys() == {"greedy", "mcts:100", "network"}
    assert all(0 < regret < 10 for regret in said["regret"].values())
    assert all(sum(part) == pytest.approx(1) for part in said["parts"].values())


def outputs(notebook) -> list[dict]:
    """Return the output of all code cells in order."""
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.slow
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
