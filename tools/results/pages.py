"""The pages of docs/results that are made of tables."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mancala_env import rulesets, solver
from mancala_env._util.package_data import rulesets_with
from mancala_env.agents import Spec
from mancala_env.benchmark import Results
from mancala_env.benchmark.summary import BenchmarkSummary
from mancala_env.evaluation import Ladder, stored_ladder
from mancala_env.evaluation.ladder import STORED
from mancala_env.solver import rulesets_with_positions
from tools.markdown import table
from tools.results.measured import (
    ROOT,
    SolvedStart,
    card_ratings,
    exploitability_of,
    newest_speeds,
    solved_starts,
)
from tools.results.networks import bundled_agents
from tools.results.regrets import AGENTS, BY_KIND, measured_in_words, stored_regrets
from tools.results.regrets import COMMAND as MEASURE

_TEMPLATES = Path(__file__).resolve().parent / "templates"
COMMAND = "python -m tools.results"
QUICK = ("greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "mcts:1000")
SLOW = ("perfect", "perfect+traps")
NETWORKS = ("value+minimax:6", "trained")
EXPLOITED = AGENTS[1:]  # not `random`
EXPLOITED_NETWORKS = tuple(spec for specs in BY_KIND.values() for spec in specs)
_SHOWN = "layli_goobalay"  # ruleset of the benchmark's page
_LEARNING = ROOT / "benchmarks" / "learning" / "results.jsonl"
# Rows of the page of speeds: what is measured, its figure in the history, and the unit.
_SPEEDS: dict[str, list[tuple[str, str, str]]] = {
    "Engine": [
        ("random turns in the engine", "random turns inside a kernel, layli_goobalay, 1 thread", "turns/s"),
        ("the same on two cores", "random turns, layli_goobalay, all cores", "turns/s"),
        (
            "`Batch.step`, with observation and mask",
            "Batch.step with observation and mask, layli_goobalay, 1 thread",
            "turns/s",
        ),
        ("OpenSpiel's oware, random play from Python", "OpenSpiel oware from Python, random play", "turns/s"),
        ("OpenSpiel's oware, actions given", "OpenSpiel oware from Python, actions given", "turns/s"),
    ],
    "Environments": [
        (
            "vector environment, 1,024 games against `random`",
            "gym.make_vec, 1024 games, opponent random",
            "steps/s",
        ),
        (
            "vector environment, 1,024 games against `greedy`",
            "gym.make_vec, 1024 games, opponent greedy",
            "steps/s",
        ),
        ("`gymnasium.make` against `random`", "gym.make, opponent random", "steps/s"),
        ("PettingZoo `raw_env`", "PettingZoo layli_goobalay_v0.raw_env()", "steps/s"),
        ("PettingZoo `env`", "PettingZoo layli_goobalay_v0.env(), wrapped", "steps/s"),
        ("PettingZoo's connect_four, `env`", "PettingZoo connect_four_v3.env(), wrapped", "steps/s"),
        (
            "MaskablePPO over `MancalaVecEnv`",
            "MaskablePPO over MancalaVecEnv, afterstates, opponent greedy",
            "steps/s",
        ),
    ],
    "Training": [
        ("self-play PPO, observation `board`", "training, board", "steps/s"),
        ("observation `afterstates`", "training, afterstates", "steps/s"),
        ("observation `replies`", "training, replies", "steps/s"),
        ("observation `lines`", "training, lines", "steps/s"),
    ],
    "Search": [
        ("`minimax:10`", "minimax:10 layli_goobalay", "million nodes/s"),
        ("`mcts:1000`", "mcts:1000 layli_goobalay", "thousand simulations/s"),
        ("OpenSpiel's MCTSBot, oware", "OpenSpiel MCTSBot (C++) oware", "thousand simulations/s"),
    ],
}


def all_pages() -> dict[str, str]:
    """Return the text of every page, by the name of its file."""
    blocks = {
        "leaderboard": leaderboard,
        "bundled_agents": bundled_agents,
        "solved": solved,
        "speed": speed,
        "benchmark": benchmark,
    }
    return {f"{name}.md": _filled(name, of() | {"command": COMMAND}) for name, of in blocks.items()}


def _filled(name: str, blocks: dict[str, str]) -> str:
    """Return a template with its marks replaced.

    Raises:
        KeyError: If the template has a mark without a block.
    """
    text = (_TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: blocks[mark[1]], text)


def rounded(value: float) -> str:
    """Return a speed with two or three digits: 15.7 million, 110,000, 8.6."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} million"
    if value >= 1000:
        return f"{round(value, -3):,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def leaderboard() -> dict[str, str]:
    """Return the tables of ratings and regret of the bundled agents."""
    ladders = {name: stored_ladder(name) for name in rulesets.names()}
    slow = {name: ladder for name, ladder in ladders.items() if set(SLOW) <= set(ladder.anchors)}
    stored = stored_regrets()
    rows = [_ladder_row(*found) for found in ladders.items()]
    return {
        "shown": rulesets.lookup(_SHOWN).title,
        "glance": _glance(ladders[_SHOWN], stored["rulesets"][_SHOWN]),
        "elo": table(("ruleset", "openings", *QUICK), rows, QUICK),
        "exploitability": _exploited(rulesets.names(), EXPLOITED),
        "exploitability_of_networks": _exploited(rulesets_with("value"), EXPLOITED_NETWORKS),
        "networks": table(("ruleset", *NETWORKS), _network_rows(), NETWORKS),
        "perfect": _perfect(slow),
        "traps": _traps(slow),
        "seeds": str(len(stored["seeds"])),
        "rated": json.loads(STORED.read_text(encoding="utf-8"))["date"],
        "measured": measured_in_words(stored),
        "measure": MEASURE,
        **_regret_tables(stored["rulesets"]),
    }


def _glance(ladder: Ladder, regrets: dict[str, dict[str, float]]) -> str:
    """Return the table of one ruleset, the strongest agent first."""
    elos = {spec: ladder.ratings().of(spec)[0] for spec in (*ladder.anchors,)}
    elos |= {spec: rated[0] for spec, rated in card_ratings(ladder.ruleset).items()}
    rows = []
    for spec, elo in sorted(elos.items(), key=lambda found: -found[1]):
        mean = regrets[spec]["mean"] if spec in regrets else 0.0 if spec in SLOW else None
        rows.append([f"`{spec}`", f"{elo:z.0f}", "" if mean is None else f"{mean:.2f}"])
    return table(("agent", "Elo", "mean regret"), rows, ("Elo", "mean regret"))


def _ladder_row(name: str, ladder: Ladder) -> list[str]:
    return [f"`{name}`", ladder.opening_set, *(_elo(ladder, spec) for spec in QUICK)]


def _elo(ladder: Ladder, spec: str) -> str:
    elo, low, high = ladder.ratings().of(spec)
    return f"{elo:z.0f} ± {(high - low) / 2:.0f}"


def _network_rows() -> list[list[str]]:
    rows = []
    for name in rulesets.names():
        rated = card_ratings(name)
        if rated:
            cells = [rated.get(spec) for spec in NETWORKS]
            rows.append([f"`{name}`", *(f"{c[0]} ± {(c[2] - c[1]) / 2:.0f}" if c else "" for c in cells)])
    return rows


def _perfect(ladders: dict[str, Ladder]) -> str:
    rows = []
    for name, ladder in ladders.items():
        cells = [f"`{name}`", f"{2 * _pairs(ladder, SLOW[0]).sum():.0f}"]
        for spec in SLOW:
            counts = _pairs(ladder, spec)
            share = counts @ np.arange(5) / 4 / counts.sum()
            cells += [_elo(ladder, spec), f"{share:.1%}".replace("%", " %")]
        rows.append(cells)
    heads = [head for spec in SLOW for head in (f"`{spec}`: Elo", "score")]
    return table(("ruleset", "games", *heads), rows, ("games", *heads))


def _exploited(names: Iterable[str], specs: tuple[str, ...]) -> str:
    rows = [[f"`{name}`", *(exploitability_of(spec, name) for spec in specs)] for name in names]
    return table(("ruleset", *specs), rows, specs)


def _pairs(ladder: Ladder, spec: str) -> np.ndarray:
    """Return the number of pairs against mcts:1000 in which an agent scored 0, 0.25, 0.5, 0.75 and 1."""
    for match in ladder.matches:
        if {match.first, match.second} == {"mcts:1000", spec}:
            counts = np.array(match.counts)
            return counts if match.first == spec else counts[::-1]
    raise LookupError(f"{spec} did not play mcts:1000 in {ladder.ruleset}")


def _traps(ladders: dict[str, Ladder]) -> str:
    rows = []
    for name, ladder in ladders.items():
        elo, low, high = ladder.ratings().difference(*reversed(SLOW))
        rows.append([f"`{name}`", f"{elo:+z.0f} ({low:z.0f} to {high:z.0f})"])
    head = ("ruleset", "Elo, with 95 % interval")
    return table(head, rows, head[1:])


def _regret_tables(stored: dict[str, dict[str, dict[str, float]]]) -> dict[str, str]:
    """Return the table of agents without a network, and that of agents with one."""
    networks = [spec for specs in BY_KIND.values() for spec in specs]
    numbers = ("positions", *networks)
    plain, with_network = [], []
    for name, found in stored.items():
        plain.append([f"`{name}`", *(f"{found[spec]['mean']:.2f}" for spec in AGENTS)])
        if set(networks) <= set(found):
            means = (f"{found[spec]['mean']:.2f}" for spec in networks)
            with_network.append([f"`{name}`", f"{found[networks[0]]['positions']}", *means])
    return {
        "regret": table(("ruleset", *AGENTS), plain, AGENTS),
        "regret_of_networks": table(("ruleset", *numbers), with_network, numbers),
    }


def solved() -> dict[str, str]:
    """Return the tables of solved starts and of the number of solved positions."""
    starts, shares = solved_starts(), ("90 % or more", "70 %", "50 %", "25 %", "less")
    phases = [f"{phase} ({share})" for phase, share in zip(solver.PHASES, shares, strict=True)]
    counts = [
        [f"`{name}`", *map(str, np.bincount(solver.positions(name).phase, minlength=len(phases)))]
        for name in rulesets.names()
        if name in rulesets_with_positions()
    ]
    head = ("ruleset", "value", "best first actions", "all first actions", "million nodes", "proof")
    return {
        "starts": table(head, [_start_row(*found) for found in starts.items()], head[1:]),
        "measured": _bench(),
        "unsolved": ", ".join(f"`{name}`" for name in rulesets.names() if name not in starts),
        "positions": table(("ruleset", *phases), counts, phases),
    }


def _bench() -> str:
    """Return date, revision and machine of the newest `make bench`."""
    speeds = newest_speeds()
    return f"{speeds.date}, revision `{speeds.commit}`, on {speeds.machine}"


def _start_row(name: str, start: SolvedStart) -> list[str]:
    opening = rulesets.lookup(name).opening
    note = " (after its forced opening, North to move)" if opening == "eights" else ""
    is_all = [*start.actions] == [*range(rulesets.lookup(name).row_width)]
    actions = ", ".join(f"{v}" if is_all else f"{a}: {v}" for a, v in start.actions.items())
    if len(start.actions) == 1:
        actions += " (the only one)"
    value = f"**{start.value:+d}**" if start.value else "**0**"
    nodes = "" if start.nodes is None else f"{start.nodes:.2g}" if start.nodes < 10 else f"{start.nodes:.0f}"
    file = ROOT / "proofs" / f"{name}.proof"
    proof = f"[{file.stat().st_size:,} bytes](../../proofs/{file.name})" if file.exists() else ""
    return [f"`{name}`{note}", value, ", ".join(map(str, start.best)), actions, nodes, proof]


def speed() -> dict[str, str]:
    """Return the tables of speeds."""
    values, parts, times = newest_speeds().values, [], []
    for title, rows in _SPEEDS.items():
        cells = [(what, rounded(values[figure]), unit) for what, figure, unit in rows]
        parts.append(f"## {title}\n\n{table(('what', 'speed', 'unit'), cells, ('speed', 'unit'))}")
    for name in solved_starts():
        alone = [value for figure, value in values.items() if figure.startswith(f"{name} opening: proc")]
        every = values.get(f"{name} opening, every action: processor time")
        if alone and every is not None:
            times.append([f"`{name}`", f"{alone[0]:.1f}", f"{every:.1f}"])
    head = ("ruleset", "value", "every first action")
    return {"measured": _bench(), "speeds": "\n\n".join(parts), "times": table(head, times, head[1:])}


def benchmark() -> dict[str, str]:
    """Return the table of the benchmark in one ruleset."""
    summary, rows = BenchmarkSummary(Results.read(_LEARNING)), []
    for contest in summary.contests():
        if contest.ruleset == _SHOWN:
            for n, one in enumerate(summary.standings(contest)):
                where = "" if n else f"{contest.limit}, `{contest.task}`, {one.seeds} seeds"
                scores = _estimate(one.regret, 2), _estimate(one.elo, 0)
                rows.append([where, f"`{one.entry}`", f"{one.core_minutes:.2f}", *scores])
    baselines, regrets = [], stored_regrets()["rulesets"][_SHOWN]
    for row in summary.baselines:
        if row.key.ruleset != _SHOWN:
            continue
        spec, regret, name = row.key.entry, row.score.regret, f"`{row.key.entry}`"
        if row.key.identity == Spec.parse(spec).on(rulesets.lookup(_SHOWN)).identity:
            regret = regrets[spec]["mean"]
        else:
            name += f", with the network of version {row.key.version}"
        baselines.append((regret, row.score.elo, name))
    for n, (regret, elo, name) in enumerate(sorted(baselines)):
        rows.append(["" if n else "no learning", name, "", f"{regret:.2f}", f"{elo:z.0f}"])
    lines = [json.loads(line) for line in _LEARNING.read_text(encoding="utf-8").splitlines()]
    days = sorted(line["time"][:10] for line in lines if "time" in line)
    head = ("budget, task and seeds", "entry", "core minutes", "mean regret", "Elo")
    return {
        "ruleset": _SHOWN,
        "first": days[0],
        "last": days[-1],
        "table": table(head, rows, head[2:]),
        "machines": "; ".join(sorted({line["machine"] for line in lines if "machine" in line})),
    }


def _estimate(found: Sequence[float], digits: int) -> str:
    value, low, high = (f"{each:.{digits}f}" for each in found)
    return f"{value} ({low} to {high})"
