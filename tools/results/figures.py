"""Figures that README and the start page quote, each by name and computed from its data file.

A page marks a figure with a comment behind it: ``15.7 million<!-- figure: speed.engine -->``.
"""

import gzip
import json
import re
from pathlib import Path

from mancala_env import rulesets, solver
from mancala_env.evaluation import stored_ladder
from mancala_env.solver import rulesets_with_positions
from tools.results.measured import ROOT, card_ratings, newest_speeds, solved_starts
from tools.results.pages import rounded
from tools.results.regrets import stored_regrets

SPEEDS = {
    "engine": "random turns inside a kernel, layli_goobalay, 1 thread",
    "all_cores": "random turns, layli_goobalay, all cores",
    "batch": "Batch.step with observation and mask, layli_goobalay, 1 thread",
    "vector": "gym.make_vec, 1024 games, opponent random",
    "pettingzoo": "PettingZoo layli_goobalay_v0.env(), wrapped",
    "gymnasium": "gym.make, opponent random",
    "gymnasium_greedy": "gym.make, opponent greedy",
    "maskable_ppo": "MaskablePPO over MancalaVecEnv, afterstates, opponent greedy",
    "training_board": "training, board",
    "training_lines": "training, lines",
    "openspiel_random": "OpenSpiel oware from Python, random play",
    "openspiel_actions": "OpenSpiel oware from Python, actions given",
    "connect_four": "PettingZoo connect_four_v3.env(), wrapped",
}
"""Figures of `make bench` by a short name, for `speed.NAME`."""

MAKE_RUN = ROOT / "docs" / "results" / "make_run.json"
"""Results of `make run`, one number per seed."""

MARK = re.compile(r"<!-- figure: ([^ ]+) -->")
_QUOTED = re.compile(
    r"(?<![\w.])\d[\d,.]*(?: to \d[\d,.]*)?(?: (?:million|thousand|billion|Elo)\b| ?%|(?= seeds a move))"
    r"|(?<=regret )\d[\d.]*|(?<=Elo )\d+"
)
_CODE = re.compile(r"^```.*?^```|^~~~.*?^~~~", re.DOTALL | re.MULTILINE)


def figure(name: str) -> str:
    """Return a figure as pages quote it.

    Args:
        name: One of `speed.NAME`, `elo.RULESET.AGENT`, `regret.RULESET.AGENT`, `value.RULESET`,
            `solved.starts`, `solved.positions` and `recorded.games`.

    Raises:
        LookupError: If no data file has the figure.
    """
    kind, _, rest = name.partition(".")
    ruleset, _, agent = rest.partition(".")
    if kind == "speed" and rest in SPEEDS:
        return rounded(newest_speeds().values[SPEEDS[rest]])
    if kind == "elo" and ruleset in rulesets.names():
        return f"{_elo(ruleset, agent):z.0f}"
    if kind == "regret" and agent in stored_regrets()["rulesets"].get(ruleset, {}):
        return f"{stored_regrets()['rulesets'][ruleset][agent]['mean']:.2f}"
    if kind == "value" and rest in solved_starts():
        return str(solved_starts()[rest].value)
    if name == "solved.starts":
        return f"{len(solved_starts())} of {len(rulesets.names())}"
    if name == "solved.positions":
        return f"{sum(len(solver.positions(one)) for one in rulesets_with_positions()):,}"
    if name == "recorded.games":
        return str(_recorded_games())
    raise LookupError(f"no data file has the figure {name}")


def make_run_lines(path: Path = MAKE_RUN) -> str:
    """Return the results of `make run` as the README shows them: their range over seeds."""
    stored = json.loads(path.read_text(encoding="utf-8"))

    def ends(name: str, digits: int) -> str:
        return " to ".join(f"{end:.{digits}f}" for end in (min(stored[name]), max(stored[name])))

    return (
        f"against random   {ends('random', 0)} % of the games\n"
        f"against greedy   {ends('greedy', 0)} % of the games\n"
        f"regret           {ends('regret', 2)} seeds a move, against perfect play\n"
    )


def wrong_figures(text: str) -> list[str]:
    """Return the figures of a page that differ from their data, and those without a mark.

    Code blocks do not count. Figures without a mark are those with million, thousand, %, Elo or regret.
    """
    text = _CODE.sub("", text)
    found = []
    for mark in MARK.finditer(text):
        quoted, expected = text[: mark.start()].rpartition("\n")[2], figure(mark[1])
        if not re.search(rf"(?<![\d.,]){re.escape(expected)}$", quoted):
            found.append(f"{mark[1]}: {expected}, not {quoted[-30:]!r}")
    for number in _QUOTED.finditer(text):
        if not MARK.match(text, number.end()):
            found.append(f"no mark: {text[max(0, number.start() - 30) : number.end()]!r}")
    return found


def _elo(ruleset: str, agent: str) -> float:
    ladder = stored_ladder(ruleset)
    if agent in ladder.anchors:
        return ladder.ratings().of(agent)[0]
    rated = card_ratings(ruleset)
    if agent in rated:
        return rated[agent][0]
    raise LookupError(f"{agent} is not rated in {ruleset}")


def _recorded_games() -> int:
    count = 0
    for path in (ROOT / "tests" / "data").glob("ludii_*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            count += sum(1 for _ in lines)
    return count
