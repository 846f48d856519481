"""Measure the baselines of the text tasks: ``python -m tools.make_text_baselines``.

Bots that need no model answer the fixed tasks, the bundled solved positions of two rulesets, and rounds. The
results go to the leaderboard file, docs/results/text_leaderboard.json, and to the table in
docs/results/text_leaderboard.md. Entries of others in the file are kept.
"""

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from mancala_env import agents
from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env.envs import text
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import text_tasks
from mancala_env.games.position import Position
from mancala_env.version import __version__
from tools.markdown import table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "results"
FILE, PAGE = FOLDER / "text_leaderboard.json", FOLDER / "text_leaderboard.md"
SCHEMA = FOLDER / "text_leaderboard.schema.json"
CATALOGUE = ("layli_goobalay", "leyla")
"""Rulesets whose bundled solved positions are tasks "move" too, as in the regret tables."""
OPPONENTS = (1, 3, 5)
"""Levels of the opponents in rounds."""
Bot = Callable[[Position], str]
"""Replies to the question for a move in a position."""
_TITLE = """# Text leaderboard

Results of the [text tasks for language models](../guides/language_models.md), from `text_leaderboard.json`.
`python -m tools.make_text_baselines` measures the bots and makes this page.

- Rewards count an invalid reply as -1.
- Regret is the mean number of seeds that a valid move gives away. In rounds it counts the moves whose exact
  values are found quickly.
- `play:LEVEL` are rounds against an agent. Their reward is the final lead over all seeds, from -1 to 1, and
  `invalid` is the share of rounds that end with a forfeit.
- The answers of `perfect` to `sow` are the engine's own. It does not play rounds, because a few begin with a
  position that takes hours to solve. `perfect:1s` plays them with one second for each move.
"""


def bots(seed: int = 1) -> dict[str, Bot]:
    """Return the bots by name; `trained` answers only where a trained network is bundled."""

    def of_agent(spec: str) -> Bot:
        made: dict[str, agents.Agent] = {}

        def reply(position: Position) -> str:
            ruleset = position.ruleset
            if ruleset.name not in made:
                # An agent may hold a table of a gigabyte, and there are hundreds of fresh rulesets.
                made.clear()
                made[ruleset.name] = agents.make(spec, ruleset, seed=seed, num_threads=1)
            return f"Answer: {made[ruleset.name].choose(position) + 1}"

        return reply

    played = {spec: of_agent(spec) for spec in ("random", "greedy", "trained", "perfect", "perfect:1s")}
    return {**played, "hole 1": lambda _: "Answer: 1", "parser breaker": lambda _: "Answer: 1, 2 or 3"}


def play(bot: Bot, level: int, num_rounds: int) -> dict[str, Any]:
    """Return the result of a bot's rounds: mean lead, mean known regret, and the share it forfeits."""
    scores, rewards, forfeits = [], [], 0
    for seed in range(num_rounds):
        game = text.Round(seed, opponent=level)
        while not game.is_over:
            scores.append(game.step(bot(game.position)))
        rewards.append(game.reward)
        forfeits += game.forfeit is not None
    return {
        **text_tasks.summary(scores),
        "tasks": num_rounds,
        "reward": round(statistics.mean(rewards), 4),
        "invalid": forfeits / num_rounds,
    }


def measure(name: str, num_rounds: int) -> dict[str, Any]:
    """Return the entry of a bot for the leaderboard."""
    bot = bots()[name]
    results = {}
    if name not in ("trained", "perfect:1s"):  # networks are bundled for rulesets of the catalogue only
        results["move"] = text_tasks.summary(
            task.score(bot(task.position)) for task in text_tasks.fixed_tasks("move")
        )
    if name not in ("trained", "perfect"):  # a few rounds begin with a position that takes hours to solve
        for level in OPPONENTS:
            results[f"play:{level}"] = play(bot, level, num_rounds)
    # Perfect play takes minutes on large boards; its regret is 0 by definition.
    for ruleset in CATALOGUE if not name.startswith("perfect") else ():
        results[f"move:{ruleset}"] = text_tasks.summary(
            task.score(bot(task.position)) for task in text_tasks.solved_tasks(ruleset)
        )
    if name in ("perfect", "hole 1", "parser breaker"):
        replies = {"hole 1": "Answer: S1 1 0", "parser breaker": "Answer: 1, 2 or 3"}
        sowing = text_tasks.fixed_tasks("sow")
        results["sow"] = text_tasks.summary(
            task.score(replies.get(name, f"Answer: {task.solution}")) for task in sowing
        )
    print(name, results, flush=True)
    return {
        "name": name,
        "kind": "bot",
        "version": __version__,
        "date": str(date.today()),
        "results": results,
    }


def check(board: dict[str, Any]) -> None:
    """Raise InvalidArgument if the leaderboard does not follow its schema."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    if (error := best_match(validator.iter_errors(board))) is not None:
        raise InvalidArgument(f"{FILE.name} is invalid at {error.json_path}: {error.message}")


def page(board: dict[str, Any]) -> str:
    """Return the page of the leaderboard file."""
    columns = sorted({name for entry in board["entries"] for name in entry["results"]})
    dated = [(f"`{entry['name']}`", entry["version"], entry.get("date", "")) for entry in board["entries"]]
    parts = [_TITLE, f"{table(('entry', 'version', 'date'), dated)}\n"]
    for column in columns:
        answered = [entry for entry in board["entries"] if column in entry["results"]]
        rows = [(entry["name"], entry["results"][column]) for entry in answered]
        rows.sort(key=lambda row: -row[1]["reward"])
        cells = [
            (f"`{name}`", f"{r['reward']:.3f}", "" if r["regret"] is None else f"{r['regret']:.2f}",
             f"{100 * r['invalid']:.0f} %", str(r["tasks"]))
            for name, r in rows
        ]  # fmt: skip
        head = ("entry", "reward", "regret", "invalid", "tasks")
        parts.append(f"## {column}\n\n{table(head, cells, head[1:])}\n")
    return "\n".join(parts)


@in_one_line("make_text_baselines", "the results of finished bots are kept")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = Parser("python -m tools.make_text_baselines", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="number of rounds against each opponent")
    parser.add_argument(
        "--bots",
        nargs="*",
        choices=[*bots()],
        default=[*bots()],
        help="bots to measure; none: write the page",
    )
    options = parser.parse_args(arguments)
    whole("--rounds", options.rounds, 1)
    board = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"format": 1, "entries": []}
    board["hashes"] = text_tasks.FIXED_HASHES
    check(board)
    for name in options.bots:
        others = [entry for entry in board["entries"] if entry["name"] != name]
        board["entries"] = [*others, measure(name, options.rounds)]
        # Written after each bot, so that an interrupted run loses nothing.
        write_whole(FILE, json.dumps(board, indent=1) + "\n")
    write_whole(PAGE, page(board))
    return 0


if __name__ == "__main__":
    sys.exit(main())
