"""The start page: index.md with the demonstration, the figures and the contents of the site.

Every figure comes from a data file of the repository when the site is built.
"""

import html
import re
from collections.abc import Collection, Iterable
from pathlib import Path

import ruleset_pages

from mancala_env import Position
from mancala_env.engine.state import PLAYERS
from mancala_env.rulesets import Ruleset, lookup, names
from mancala_env.solver import positions
from tools.results.figures import SPEEDS, figure
from tools.results.measured import newest_speeds
from tools.results.regrets import stored_regrets

_HERE = Path(__file__).resolve().parent
_SHOWN = "layli_goobalay"
_WITHOUT_NETWORK = ("random", "greedy", "minimax", "mcts")  # in the other colour of the chart

DEMONSTRATED = ("layli_goobalay", "leyla")
"""The rulesets of the demonstration: those with a book, so that the solver answers at once."""

_AGENTS = ("perfect", "minimax:4", "mcts:1000", "value+minimax:4", "greedy", "random")

SECTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "Start": ("", {"install": "Install", "rulesets/index": "The games"}),
    "Tutorials": (
        "notebooks",
        {
            "notebooks/train_first_agent": "Train your first agent",
            "notebooks/learn_layli_goobalay": "Learn Layli Goobalay",
            "notebooks/self_play_of_your_own": "Self-play of your own",
            "notebooks/perfect_play": "Perfect play",
        },
    ),
    "Guides": (
        "guides",
        {
            "guides/environments": "Environments",
            "guides/choosing": "Choose observation and algorithm",
            "guides/opponents": "Choose an opponent",
            "guides/libraries": "Other libraries",
            "guides/language_models": "Language models",
            "guides/train": "Train",
            "guides/evaluate": "Evaluate",
            "guides/exploitability": "Measure exploitability",
            "guides/compare": "Compare in tables",
            "guides/extend": "Extend",
            "guides/own_ruleset": "Your own ruleset",
            "guides/search": "Your network in a search",
            "guides/cluster": "Train on a cluster",
            "guides/benchmark": "Benchmark an algorithm",
            "guides/browser": "The browser page",
            "guides/serve": "Serve it",
            "guides/webassembly": "WebAssembly",
            "guides/terminal": "Play in the terminal",
            "guides/pictures": "Pictures",
            "guides/records": "Game records",
        },
    ),
    "Reference": (
        "reference",
        {
            "reference/rules": "The rules",
            "reference/agents": "Agents",
            "reference/observations": "Observations",
            "reference/settings": "Training settings",
            "reference/command_line": "Command line",
            "reference/files": "File formats",
            "reference/proofs": "Proofs of values",
            "data": "Data files",
            "api/index": "Python API",
        },
    ),
    "Explanation": (
        "explanation",
        {
            "explanation/sowing": "Why relays are hard",
            "explanation/rewards": "Rewards and signs",
            "explanation/openings": "Openings and intervals",
            "explanation/searches": "The searches",
            "explanation/solver": "The solver",
            "explanation/solved": "Solved games and their proofs",
            "explanation/architecture": "Architecture",
            "explanation/kernels": "Kernels",
        },
    ),
    "Results": (
        "results",
        {
            "results/leaderboard": "Leaderboard",
            "results/bundled_agents": "Bundled agents",
            "results/exploitability": "Exploitability",
            "results/text_leaderboard": "Text leaderboard",
            "results/solved": "Solved games",
            "results/configurations": "Configurations",
            "results/benchmark": "Learning algorithms",
            "results/speed": "Speed",
            "benchmarks": "Speed, every figure",
            "results/reliability": "Reliability",
        },
    ),
    "Research": ("", {"research/index": "Research notes"}),
}
"""For each section of the site: a folder whose pages it has, and titles of its first pages in order."""

_ABOUT = {
    "faq": "Questions and answers",
    "glossary": "Glossary",
    "comparison": "Compared with other libraries",
    "citing": "Cite",
    "renamed": "Names changed since 0.1",
    "contributing": "Contributing",
    "changelog": "Changelog",
}
"""The first pages of the last section, which has every page that no other section has."""


def start_page(written: Iterable[str]) -> str:
    """Return the start page, whose contents reach all pages.

    Args:
        written: The paths of all pages of the site.
    """
    stems = {path.rsplit(".", 1)[0] for path in written if path.endswith((".md", ".ipynb"))} - {"index"}
    text = (_HERE / "index.md").read_text(encoding="utf-8")
    for mark, content in {
        "demonstration": demonstration(),
        "figures": _figures(stems),
        "regret": _regret(),
        "games": _games(),
        "contents": _contents(stems),
    }.items():
        text = text.replace(f"<!-- {mark} -->", content)
    return text


def demonstration() -> str:
    """Return the demonstration as HTML: a picture, and the controls that start.js needs."""
    picture = ruleset_pages.drawn_turn(lookup(_SHOWN), to_root="")
    colours = re.findall(r"<style>(.*?)</style>", picture)[0]
    rulesets = [(name, lookup(name).title) for name in DEMONSTRATED]
    agents = [(name, name) for name in _AGENTS]
    template = (_HERE / "demonstration.html").read_text(encoding="utf-8")
    for mark, content in {
        "colours": colours,
        "figure": picture.strip(),
        "rulesets": _options(rulesets, _SHOWN),
        "south": _options(agents, "perfect"),
        "north": _options(agents, "minimax:4"),
    }.items():
        template = template.replace(f"<!-- {mark} -->", content)
    return template


def _options(choices: Iterable[tuple[str, str]], chosen: str) -> str:
    marks = {chosen: " selected"}
    return "".join(
        f'<option value="{value}"{marks.get(value, "")}>{html.escape(shown)}</option>'
        for value, shown in choices
    )


def _regrets() -> dict[str, float]:
    """Return the mean regret of agents in the shown ruleset, in seeds a move."""
    stored = stored_regrets()["rulesets"][_SHOWN]
    return {"perfect": 0.0} | {name: one["mean"] for name, one in stored.items()}


def _figures(stems: Collection[str]) -> str:
    speed = newest_speeds().values[SPEEDS["all_cores"]] / 1e6
    agent, regret = min(
        ((name, regret) for name, regret in _regrets().items() if name != "perfect"),
        key=lambda found: found[1],
    )
    speeds = "results/speed" if "results/speed" in stems else "benchmarks"
    shown = [
        (f"{speed:.0f} million", f'turns a second on two cores (<a href="{speeds}.html">speed</a>)'),
        (
            figure("solved.starts"),
            f"games solved from the start, and {figure('solved.positions')} positions "
            '(<a href="results/solved.html">solved</a>)',
        ),
        (
            f"{regret:.2f} seeds",
            f"lost a move by <code>{agent}</code> in Layli Goobalay "
            '(<a href="results/leaderboard.html">leaderboard</a>)',
        ),
    ]
    items = "".join(f"<li><b>{number}</b><span>{what}</span></li>" for number, what in shown)
    return f'<ul class="figures">{items}</ul>'


def _regret() -> str:
    regrets = sorted(_regrets().items(), key=lambda found: -found[1])
    largest = max(regret for _, regret in regrets)
    bars = "".join(
        f"<dt>{html.escape(name)}</dt><dd{'' if name.startswith(_WITHOUT_NETWORK) else ' class=ours'} "
        f'style="--share: {100 * regret / largest:.0f}">{regret:.2f}</dd>'
        for name, regret in regrets
    )
    return (
        "The regret of a move is the number of seeds that it loses against perfect play. The chart shows the "
        f"mean over {len(positions(_SHOWN))} solved positions of Layli Goobalay, in seeds a move:\n\n"
        f'<dl class="bars">{bars}</dl>\n\n'
        "`trained` is a bundled policy network without a search. `value+minimax` is a search with a bundled "
        "value network."
    )


def _games() -> str:
    """Return a card for each ruleset of the written sources."""
    cards = []
    for name in names():
        ruleset = lookup(name)
        if not name.startswith("ludii_"):
            seeds = 2 * ruleset.row_width * ruleset.seeds_per_hole
            cards.append(
                f'<li><a href="rulesets/{name}.html">{html.escape(ruleset.title)}</a>'
                f"2 x {ruleset.row_width} holes, {seeds} seeds. {html.escape(ruleset.region)}.<br>"
                f"{_outcome(ruleset)}</li>"
            )
    return f'<ul class="games">{"".join(cards)}</ul>'


def _outcome(ruleset: Ruleset) -> str:
    value, player = ruleset_pages.opening_value(ruleset), PLAYERS[Position(ruleset).player]
    if value is None:
        return "Not solved from the start."
    if value == 0:
        return "Solved: <b>a draw</b>."
    return f"Solved: <b>{player} {'wins' if value > 0 else 'loses'} by {abs(value)}</b>."


def _contents(stems: Collection[str]) -> str:
    left, lists = set(stems), []
    for caption, (folder, titles) in SECTIONS.items():
        others = sorted(stem for stem in stems if folder and stem.startswith(f"{folder}/"))
        lists.append(
            _list(caption, [*titles, *(stem for stem in others if stem not in titles)], titles, stems)
        )
        left -= {*titles, *others}
    rest = sorted(stem for stem in left if "/" not in stem and stem not in _ABOUT)
    lists.append(_list("About", [*_ABOUT, *rest], _ABOUT, stems))
    return "\n".join(lists)


def _list(caption: str, listed: Iterable[str], titles: dict[str, str], stems: Collection[str]) -> str:
    lines = [f"{titles[stem]} <{stem}>" if stem in titles else stem for stem in listed if stem in stems]
    return "\n".join(
        ["```{toctree}", f":caption: {caption}", ":hidden:", ":maxdepth: 1", "", *lines, "```", ""]
    )
