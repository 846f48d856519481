"""The API reference: the modules of each page, documented by autodoc from their docstrings."""

from typing import NamedTuple

from in_words import hidden_contents, table


class Chapter(NamedTuple):
    """A page of the reference: its title, a sentence, and its modules in order."""

    title: str
    about: str
    modules: tuple[str, ...]


CHAPTERS = {
    "games": Chapter(
        "Games",
        "One game, many games, and the rules as data. Everything here is imported with `import mancala_env`.",
        (
            "mancala_env",
            "mancala_env.rulesets",
            "mancala_env.engine.coordinates",
            "mancala_env.games.notation",
            "mancala_env.games.records.model",
            "mancala_env.games.records.replay",
            "mancala_env.games.records.reader",
            "mancala_env.games.records.writer",
        ),
    ),
    "turns": Chapter(
        "Turns and pictures",
        "What happens in a turn, in order, and what draws it.",
        (
            "mancala_env.engine.timeline",
            "mancala_env.games.pictures",
            "mancala_env.render.scene",
            "mancala_env.render.motion",
            "mancala_env.render.svg",
            "mancala_env.render.pixels",
            "mancala_env.render.window",
            "mancala_env.render.text",
        ),
    ),
    "environments": Chapter(
        "Environments",
        "The games for PettingZoo, Gymnasium, Stable-Baselines3 and OpenSpiel. "
        "[Environments](../guides/environments.md) says which is for what.",
        (
            "mancala_env.layli_goobalay_v0",
            "mancala_env.leyla_v0",
            "mancala_env.gabata_v0",
            "mancala_env.envs.families",
            "mancala_env.envs.aec",
            "mancala_env.envs.gym",
            "mancala_env.envs.vector",
            "mancala_env.envs.sb3",
            "mancala_env.envs.options",
            "mancala_env.envs.opponents",
            "mancala_env.envs.spaces",
            "mancala_env.envs.open_spiel",
        ),
    ),
    "observation": Chapter(
        "Observations",
        "What a player is shown of a game.",
        ("mancala_env.observations", "mancala_env.networks.value_files"),
    ),
    "agents": Chapter(
        "Agents",
        "Everything that can take a player's seat. [Agents](../reference/agents.md) says how strong each is.",
        (
            "mancala_env.agents",
            "mancala_env.agents.scripted",
            "mancala_env.agents.searchers",
            "mancala_env.agents.match",
            "mancala_env.agents.perfect",
            "mancala_env.networks.checkpoint",
            "mancala_env.networks.policy",
            "mancala_env.agents.network",
            "mancala_env.agents.user",
        ),
    ),
    "search": Chapter(
        "Search",
        "Tree search with your own network. [Your network in the search](../guides/search.md) shows it.",
        ("mancala_env.search",),
    ),
    "solver": Chapter(
        "Solver",
        "Exact values of positions. [The solver](../explanation/solver.md) says how it works.",
        ("mancala_env.solver", "mancala_env.solver.prover", "mancala_env.solver.book"),
    ),
    "evaluation": Chapter(
        "Evaluation",
        "Matches, ratings, regret. [Evaluating agents](../guides/evaluate.md) says how to read the numbers.",
        (
            "mancala_env.evaluation",
            "mancala_env.evaluation.match_options",
            "mancala_env.evaluation.intervals",
            "tools.interval_coverage",
            "mancala_env.evaluation.report",
            "mancala_env.evaluation.plots",
            "mancala_env.evaluation.html_page",
            "mancala_env.evaluation.ray_matches",
        ),
    ),
    "serving": Chapter(
        "Serving",
        "A page that plays, served from this machine. [Serving](../guides/serve.md) says what it can do.",
        ("mancala_env.web.analysis", "mancala_env.web.requests", "mancala_env.web.server"),
    ),
    "training": Chapter(
        "Training",
        "Self-play training. [Training](../guides/train.md) says how a run goes.",
        (
            "mancala_env.training.config",
            "mancala_env.training.config_groups",
            "mancala_env.training.run",
            "mancala_env.training.hooks",
            "mancala_env.training.rollout",
            "mancala_env.training.ppo",
            "mancala_env.training.labels",
            "mancala_env.training.policy",
            "mancala_env.training.pool",
            "mancala_env.training.distillation",
            "mancala_env.training.expert_labels",
            "mancala_env.training.schedule",
            "mancala_env.training.run_folder",
            "mancala_env.training.run_results",
            "mancala_env.training.seeds",
            "mancala_env.benchmark.run_comparison",
            "mancala_env.training.run_report",
            "mancala_env.training.run_plots",
        ),
    ),
}


def all_pages() -> dict[str, str]:
    """Return the text of every page, by its path on the site."""
    written = {f"api/{name}.md": _page(chapter) for name, chapter in CHAPTERS.items()}
    return written | {"api/index.md": _index()}


def _page(chapter: Chapter) -> str:
    parts = [f"# {chapter.title}", chapter.about]
    for module in chapter.modules:
        parts += [
            f"## {module}",
            f"```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :show-inheritance:\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _index() -> str:
    rows = [(f"[{chapter.title}]({name}.md)", chapter.about) for name, chapter in CHAPTERS.items()]
    return "\n\n".join(
        [
            "# API reference",
            "From the docstrings. Symbols: W holes in a row, H = 2W holes, A actions, F features, B games.",
            table(("page", "what is on it"), rows),
            hidden_contents(CHAPTERS),
            "",
        ]
    )
