"""Draw the pictures of README.md into docs/img.

python docs/site/readme_pictures.py            # the board and the turn
python docs/site/readme_pictures.py --curve    # also train the README's agent and draw its curve

A test says when the board or the turn is stale. The curve takes some minutes; its figures are in
docs/img/learning.json.
"""

import contextlib
import io
import json
import sys
from datetime import date
from typing import Any

import numpy as np
from pages import ROOT
from ruleset_pages import turn_to_show

from mancala_env import Position, agents, rulesets
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.evaluation import measure_regret, play_matches
from mancala_env.evaluation.plots import ANCHOR, ASKED, INK, figure_of, finish, new_axes
from mancala_env.solver import ILLEGAL, positions

FOLDER = ROOT / "docs" / "img"
_RULESET = "layli_goobalay"  # in motion
_VALUED = "leyla_gobale_ii"  # with exact values
LEARNING = FOLDER / "learning.json"
_KIND = "lines"  # the observation of the README's agent
_GAMES, _TURNS = 256, 32  # games side by side, and their steps between two updates
_PARTS, _UPDATES, _SEEDS = 12, 3, (1, 2, 3)  # a point of the curve after each part, which has some updates
# Agents to compare with. The regret of perfect play is 0.
_LINES = ("greedy", "minimax:2", "minimax:4", "trained")
_NUM_MATCH_GAMES = 200


def drawings() -> dict[str, str]:
    """Return the drawings by the name of their file."""
    before, action = turn_to_show(rulesets.lookup(_RULESET))
    return {"readme-turn.svg": before.to_svg(action=action), "readme-board.svg": _board_with_values()}


def _board_with_values() -> str:
    """Draw the first bundled position in which each player owns two holes, with exact values."""
    bundled = positions(_VALUED)
    for n in range(len(bundled)):
        position = Position.from_games(_VALUED, bundled.games, n)
        if (
            all(np.sum(position.owner == player) == 2 for player in (0, 1))
            and len(position.legal_actions) > 3
        ):
            values = {a: int(v) for a, v in enumerate(bundled.action_values[n]) if v != ILLEGAL}
            return position.to_svg(values=values)
    raise LookupError("no bundled position has two holes of each player's")


def regret_of(agent: Any) -> float:
    """Return the mean regret of an agent over the solved positions, in seeds per move."""
    return measure_regret(agent, _RULESET).overall.mean_regret


def train(seed: int) -> tuple[list[tuple[int, float]], float]:
    """Train as the README does.

    Returns:
        Environment steps and regret of evenly spaced points, and the win rate at the end against `greedy`.
    """
    from sb3_contrib import MaskablePPO

    options: dict[str, Any] = {"opponent": "greedy", "observation": _KIND}
    env = MancalaVecEnv(_GAMES, _RULESET, opening_set="training", seed=seed, **options)
    settings: dict[str, Any] = {"n_steps": _TURNS, "batch_size": 1024, "n_epochs": 4, "gamma": 1.0}
    model = MaskablePPO("MlpPolicy", env, device="cpu", seed=seed, **settings)
    points = []
    for part in range(_PARTS + 1):
        if part:
            model.learn(_UPDATES * _TURNS * _GAMES, reset_num_timesteps=False)
        agent = agents.from_policy(model, _RULESET, observation=_KIND)
        points.append((model.num_timesteps, regret_of(agent)))
    agent = agents.from_policy(model, _RULESET, observation=_KIND)
    return points, play_matches(agent, "greedy", _RULESET, games=_NUM_MATCH_GAMES).win_rate


def printed_by_readme() -> str:
    """Run the first Python script of the README and return what it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    script = text.partition("```python\n")[2].partition("```")[0]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(script, {})
    return output.getvalue().strip()


def measure_curve() -> None:
    """Train an agent for each seed and store the figures of the learning curve."""
    runs = [train(seed) for seed in _SEEDS]
    figures = {
        "command": "python docs/site/readme_pictures.py --curve",
        "date": str(date.today()),
        "ruleset": _RULESET,
        "observation": _KIND,
        "seeds": _SEEDS,
        "steps": [steps for steps, _ in runs[0][0]],
        "regret": [[regret for _, regret in points] for points, _ in runs],
        "win_rate": [round(win_rate, 3) for _, win_rate in runs],
        "lines": {spec: regret_of(agents.make(spec, _RULESET, seed=1)) for spec in _LINES} | {"perfect": 0},
        "printed": printed_by_readme(),
    }
    LEARNING.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def draw_curve() -> None:
    """Draw the stored learning curve: the mean of the runs, their range, and the agents to compare with."""
    figures = json.loads(LEARNING.read_text(encoding="utf-8"))
    steps, regret = figures["steps"], np.array(figures["regret"])
    mean, last = regret.mean(axis=0), steps[-1]
    axes = new_axes(7.5, 3.4)
    axes.fill_between(steps, regret.min(axis=0), regret.max(axis=0), color=ASKED, alpha=0.15, linewidth=0)
    axes.plot(steps, mean, color=ASKED, linewidth=2.2, marker="o", markersize=4)
    style: Any = {"textcoords": "offset points", "fontsize": 9, "color": INK}
    above = style | {"color": ASKED, "ha": "right", "weight": "bold"}
    axes.annotate("MaskablePPO", (last, mean[-1]), (-8, -14), **above)
    for label, height in figures["lines"].items():
        axes.axhline(height, color=ANCHOR, linestyle="--", linewidth=1)
        axes.annotate(label, (last, height), (8, 0), va="center", **style)
    finish(axes, "regret: seeds that an average move loses", (-0.3, None))
    axes.set_xlim(0, last)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure_of(axes).savefig(FOLDER / "learning.png", dpi=130)


@in_one_line("readme_pictures.py")
def main() -> int:
    """Read the command line and draw."""
    parser = Parser(prog="readme_pictures.py", description="Draw the pictures of README.md.")
    parser.add_argument("--curve", action="store_true", help="train and draw the learning curve too")
    options = parser.parse_args()
    for name, drawing in drawings().items():
        (FOLDER / name).write_text(drawing + "\n", encoding="utf-8")
    if options.curve:
        measure_curve()
        draw_curve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
