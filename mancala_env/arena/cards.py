"""Cards: what a shipped network is, how it was made and how strong it is, measured and written by a command.

``python -m mancala_env.arena.cards value_leyla.safetensors`` writes ``value_leyla.md`` beside it.
"""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mancala_env.agents import make
from mancala_env.agents.tensors import SUFFIX
from mancala_env.agents.value_file import read_value_file
from mancala_env.arena.evaluation import evaluate
from mancala_env.arena.ladder import ANCHORS, NoLadder, stored_ladder
from mancala_env.arena.matches import MatchResult, play_matches
from mancala_env.arena.openings import openings_in_words, openings_to_evaluate
from mancala_env.arena.regret import Regret, has_exact_positions, measure_regret, regret_difference
from mancala_env.errors import MancalaError
from mancala_env.programs import Parser, in_one_line
from mancala_env.rulesets import Ruleset

GAMES, SEED = 1000, 1
# Against the same search on the count: of the same depth, and of the same time for a position.
_DEPTHS, _TIME = (4, 6), "0.002s"
_RATED = "value+minimax:6"
_REGRET_DEPTHS = (4, 6)
_LIMITS = """\
- It judges positions of single rounds. In later rounds of a Gabata match, where territory has changed hands,
  the search falls back on the count.
- It knows positions as the search meets them; a position that no sensible play leads to may be judged badly.
- It is a leaf of a search. Alone, one turn deep, it is no strong player."""


def value_card(path: Path, games: int = GAMES, seed: int = SEED) -> str:
    """Measure a value network in matches, in regret and on the ladder; return its card, Markdown.

    Args:
        path: Its file.
        games: Games of each match, even; a fifth of them in matches for a time, and against each anchor.
        seed: Seed of openings and agents.

    Raises:
        InvalidValueNetwork: There is no such network.
        InvalidMatch: games is out of range.
    """
    file = read_value_file(path)
    ruleset, content = file.ruleset, path.read_bytes()
    few = max(2, games // 10 * 2)
    where = openings_in_words(*openings_to_evaluate(None, ruleset, None))
    lines = [
        f"# {path.name}",
        "",
        f"A value network for `{ruleset.name}` ({ruleset.title}), for `value+minimax` and `value+mcts`.",
        "",
        *_table(
            ["what", "value"],
            [
                *([name, f"`{text}`" if name == "command" else text] for name, text in file.made.items()),
                ["SHA-256", f"`{hashlib.sha256(content).hexdigest()}`"],
                ["size", f"{len(content):,} bytes"],
            ],
        ),
        "",
        f"Matches from {where}, each from both seats, seed {seed}:",
        "",
        *_matches_table(_matches(path, ruleset, games, few, seed)),
        "",
        *_rating(path, ruleset, few, seed),
        *_regrets(path, ruleset, seed),
        "Limits:",
        "",
        _LIMITS,
        "",
        f"Written by `python -m mancala_env.arena.cards {path.name} --games {games} --seed {seed}`.",
    ]
    return "\n".join(lines) + "\n"


def _matches(path: Path, ruleset: Ruleset, games: int, few: int, seed: int) -> Iterable[MatchResult]:
    for depth in _DEPTHS:
        yield play_matches(
            f"value+minimax:{depth}:{path}",
            f"minimax:{depth}",
            ruleset,
            games=games,
            seed=seed,
            num_threads=1,
        )
    for kind in ("minimax", "mcts"):
        yield play_matches(
            f"value+{kind}:{_TIME}:{path}", f"{kind}:{_TIME}", ruleset, games=few, seed=seed, num_threads=1
        )


def _rating(path: Path, ruleset: Ruleset, few: int, seed: int) -> list[str]:
    try:
        stored_ladder(ruleset)
    except NoLadder:
        return []
    spec = f"{_RATED}:{path}"
    ratings = evaluate(spec, ruleset, games=few, regret=False, seed=seed, num_threads=1).ratings
    assert ratings is not None
    rows = [
        [f"`{name}`", *(f"{number:.0f}" for number in ratings.of(name))]
        for name in (spec, *ANCHORS)
        if name in ratings.names
    ]
    rows[0][0] = f"`{_RATED}`"
    return [
        f"Rating on the stored ladder, Elo (`random` = 0), over {few} games against each quick anchor:",
        "",
        *_table(["agent", "Elo", "from", "to"], rows),
        "",
    ]


def _regrets(path: Path, ruleset: Ruleset, seed: int) -> list[str]:
    if not has_exact_positions(ruleset):
        return []
    rows = []
    for depth in _REGRET_DEPTHS:
        found: list[Regret] = [
            measure_regret(make(spec, ruleset, seed=seed, num_threads=1), ruleset)
            for spec in (f"minimax:{depth}", f"value+minimax:{depth}:{path}")
        ]
        for regret in found:
            low, high = regret.overall.interval
            mean = f"{regret.overall.mean_regret:.2f} ({low:.2f} to {high:.2f})"
            best = f"{regret.overall.optimal_share:.0%}"
            rows.append([f"`{_short(regret.agent)}`", str(regret.overall.positions), mean, best, ""])
        low, high = (difference := regret_difference(found[1], found[0])).interval
        rows[-1][-1] = f"{difference.mean:+.2f} ({low:+.2f} to {high:+.2f})"
    head = ["agent", "positions", "mean regret, seeds a move", "best moves", "difference"]
    return ["Regret over the solved positions, with 95 % intervals:", "", *_table(head, rows), ""]


def _matches_table(matches: Iterable[MatchResult]) -> list[str]:
    rows = []
    for match in matches:
        low, high = match.interval
        score = f"{match.win_rate:.1%} ({low:.1%} to {high:.1%})"
        names = [f"`{_short(match.first)}`", f"`{match.second}`"]
        rows.append([*names, str(match.games), score, f"{match.mean_margin:+.1f}"])
    return _table(["agent", "against", "games", "score", "mean margin, seeds"], rows)


def _short(spec: str) -> str:
    """Return a spec without its file."""
    return ":".join(spec.split(":")[:2])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


@in_one_line("cards", "cards that are whole were written")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the cards of the files named on the command line; returns the exit status."""
    parser = Parser(prog="python -m mancala_env.arena.cards", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=f"a network, {SUFFIX}")
    parser.add_argument("--games", type=int, default=GAMES, help=f"games of a match; default {GAMES}")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of openings and agents; default {SEED}")
    options = parser.parse_args(arguments)
    for path in options.files:
        if path.suffix != SUFFIX:
            raise MancalaError(f"{path} must be a file of a network, such as value_leyla{SUFFIX}")
        path.with_suffix(".md").write_text(value_card(path, options.games, options.seed))
        print(path.with_suffix(".md"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
