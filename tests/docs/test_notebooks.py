"""The notebooks run completely, and their stored output is up to date."""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from error_checks import raises
from jupyter_client.manager import AsyncKernelManager

from mancala_env import Position, solver
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


@pytest.fixture(scope="module")
def kernel() -> Iterator[AsyncKernelManager]:
    """One kernel for all notebooks: it imports torch only once, and forgets the names of each notebook."""
    with execute.new_kernel() as one:
        yield one


def run_short(
    path: Path, folder: Path, kernel: AsyncKernelManager, facts: str, **settings: int
) -> tuple[Any, dict[str, Any]]:
    """Run a notebook with small settings; return it and the facts, an expression of a dict in its names."""
    code = f"import json\nprint(json.dumps({facts}, default=float))"
    notebook = execute.execute(path, folder, kernel, code, settings)
    said = json.loads(notebook.cells.pop().outputs[0].text)
    assert kinds(notebook) == kinds(nbformat.read(path, as_version=4)), "run notebooks/execute.py again"
    return notebook, said


def printed(notebook: Any) -> str:
    """Return what all code cells print."""
    return "".join(output["text"] for output in outputs(notebook) if output["output_type"] == "stream")


def test_a_setting_that_a_notebook_does_not_have_is_refused(
    tmp_path: Path, kernel: AsyncKernelManager
) -> None:
    with raises(KeyError, "TURNS"):
        execute.execute(execute.FOLDER / "train_first_agent.ipynb", tmp_path, kernel, settings={"TURNS": 1})


@pytest.mark.slow
def test_the_lesson_shows_what_it_says(tmp_path: Path, kernel: AsyncKernelManager) -> None:
    path = execute.FOLDER / "learn_layli_goobalay.ipynb"
    notebook, said = run_short(path, tmp_path, kernel, "{'after': after.to_text(), 'final': final}")
    assert re.findall(r"^(S\d: .*)$", printed(notebook), re.MULTILINE) == [
        "S6: 1 lap, captures nothing",
        "S1: 2 laps, captures nothing",
        "S3: 5 laps, captures 7 seeds",
        "S4: 1 lap, captures 5 seeds",
        "S4: 1 lap, makes an uur of S5 and N2",
        "S4: 1 lap, captures nothing",
        "S4: 1 lap, captures nothing",
        "S3: 2 laps, makes an uur of S6 and N1",
        "S1: 3 laps, captures 6 seeds",
    ]
    assert "South and North count (28, 20)" in printed(notebook)
    assert said["after"] == "layli_goobalay 2,2,3,3,3,3/3,3,3,3,2,2 16-0 N round=2 starter=N"
    assert said["final"] == {"0": 4, "1": 0, "3": -4, "4": 0}
    drawn = ["".join(output.get("data", {}).get("image/svg+xml", "")) for output in outputs(notebook)]
    assert sum("@keyframes" in drawing for drawing in drawn) == 9


def exercises() -> list[Position]:
    """Return the positions of the exercises, as the lesson draws them."""
    notebook = nbformat.read(execute.FOLDER / "learn_layli_goobalay.ipynb", as_version=4)
    cells = iter(notebook.cells)
    while "## Three exercises" not in next(cells).source:
        pass
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return [
        Position.from_text(f"layli_goobalay {text}")
        for text in re.findall(r'^board\("(.*)"\)', code, re.MULTILINE)
    ]


def test_each_exercise_has_one_answer() -> None:
    uur, capture, win = exercises()
    turns = {action: uur.copy().play(action) for action in uur.legal_actions}
    assert [action for action, turn in turns.items() if turn.new_owned] == [2]
    turns = {action: capture.copy().play(action) for action in capture.legal_actions}
    assert [action for action, turn in turns.items() if turn.captured == 6] == [0]
    lead = win.stores[0] - win.stores[1]
    values = solver.solve(win).action_values
    assert [action for action, value in values.items() if value + lead > 0] == [0]
    assert win.copy().play(0).captured == 0
    assert win.copy().play(1).captured == 2


@pytest.mark.slow
def test_perfect_play_follows_a_game_and_measures_agents(tmp_path: Path, kernel: AsyncKernelManager) -> None:
    path = execute.FOLDER / "perfect_play.ipynb"
    facts = (
        "import json\nprint(json.dumps({'leads': leads, 'lost': [given_away(move) for move in moves], "
        "'movers': [move[0].player for move in moves], 'parts': {k: list(map(float, v)) for k, v in "
        "parts.items()}, 'regret': {name: one.overall.mean_regret for name, one in regrets.items()}}, "
        "default=int))"
    )
    notebook = execute.execute(path, tmp_path, kernel, facts, {"STEPS": 16_384})
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
def test_the_first_agent_is_trained_saved_and_measured(tmp_path: Path, kernel: AsyncKernelManager) -> None:
    path = execute.FOLDER / "train_first_agent.ipynb"
    facts = (
        "{'curves': [plain_curve.points, curve.points], 'lines': lines, "
        "'elo': result.ratings.of('first agent'), "
        "'worst': worst.regret, 'same': int((agents.from_policy(model, RULESET, observation='replies')"
        ".act(env.get_attr('position')[0].games) == agent.act(env.get_attr('position')[0].games)).all())}"
    )
    notebook, said = run_short(path, tmp_path, kernel, facts, STEPS=8192, GAMES=20)
    assert (tmp_path / "first_agent.zip").is_file()
    assert said["same"], "the loaded model plays as the saved one"
    for points in said["curves"]:
        steps, _, regrets = zip(*points, strict=True)
        assert (steps[0], steps[-1]) == (0, 8192)
        assert regrets[-1] < regrets[0]
    assert said["lines"].keys() == {"greedy", "minimax:2", "minimax:4"}
    assert said["elo"][1] < said["elo"][0] < said["elo"][2]
    assert said["worst"] > 0
    assert "against mcts:1000" in printed(notebook)


@pytest.mark.slow
def test_self_play_learns_with_the_sign_rule(tmp_path: Path, kernel: AsyncKernelManager) -> None:
    path = execute.FOLDER / "self_play_of_your_own.ipynb"
    facts = (
        "{'curve': curve, 'regrets': regrets, 'shape': found.policy.shape, "
        "'sum': found.policy.sum(axis=1).tolist()}"
    )
    notebook, said = run_short(path, tmp_path, kernel, facts, STEPS=20_000, GAMES=50)
    before, after = re.findall(r"^(?:before|after 50 games): regret (\S+)$", printed(notebook), re.MULTILINE)
    assert float(after) < float(before)
    assert "turns followed by a turn of the same player: 12" in printed(notebook)
    assert said["curve"][-1][1] < said["curve"][0][1]
    assert said["regrets"][-1] < said["regrets"][0], "the search helps"
    assert said["shape"] == [4, 6]
    assert said["sum"] == pytest.approx([1] * 4)
