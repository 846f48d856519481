"""Cards: what a shipped network is, how it was made and how strong it is, measured and written by a command.

``python -m tools.make_value_cards value_leyla.safetensors`` writes ``value_leyla.md`` beside it.
"""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents import make
from mancala_env.errors import MancalaError
from mancala_env.evaluation.evaluate import evaluate
from mancala_env.evaluation.ladder import ANCHORS, NoLadder, stored_ladder
from mancala_env.evaluation.matches import MatchResult, play_matches
from mancala_env.evaluation.openings import openings_in_words, openings_to_evaluate
from mancala_env.evaluation.regret import Regret, has_exact_positions, measure_regret, regret_difference
from mancala_env.networks.value_files import read_value_file
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
    ruleset, few = file.ruleset, few_of(games)
    return card(
        path,
        ruleset,
        f"A value network for `{ruleset.name}` ({ruleset.title}), for `value+minimax` and `value+mcts`.",
        [[name, f"`{text}`" if name == "command" else text] for name, text in file.made.items()],
        _matches(path, ruleset, games, few, seed),
        rating(f"{_RATED}:{path}", ruleset, few, seed),
        regrets(_compared(path), ruleset, seed),
        _LIMITS,
        f"Written by `python -m tools.make_value_cards {path.name} --games {games} --seed {seed}`.",
        seed,
    )


def few_of(games: int) -> int:
    """Return how many games of a card are played where each takes long: a fifth, even."""
    return max(2, games // 10 * 2)


def card(
    path: Path,
    ruleset: Ruleset,
    what: str,
    made: Iterable[list[str]],
    matches: Iterable[MatchResult],
    rated: list[str],
    regret: list[str],
    limits: str,
    written: str,
    seed: int,
) -> str:
    """Put a card together, Markdown.

    Args:
        path: The file of the network.
        ruleset: The game.
        what: What it is, a sentence.
        made: Rows on how it was made.
        matches: Its matches.
        rated: As :func:`rating` returns it.
        regret: As :func:`regrets` returns it.
        limits: What it cannot do, a list.
        written: The command behind the card, a sentence.
        seed: Seed of openings and agents.
    """
    content = path.read_bytes()
    where = openings_in_words(*openings_to_evaluate(None, ruleset, None))
    of_file = [["SHA-256", f"`{hashlib.sha256(content).hexdigest()}`"], ["size", f"{len(content):,} bytes"]]
    lines = [
        f"# {path.name}",
        "",
        what,
        "",
        *table(["what", "value"], [*made, *of_file]),
        "",
        f"Matches from {where}, each from both seats, seed {seed}:",
        "",
        *matches_table(matches),
        "",
        *rated,
        *regret,
        "Limits:",
        "",
        limits,
        "",
        written,
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


def _compared(path: Path) -> Iterable[tuple[str, str]]:
    return [(f"minimax:{depth}", f"value+minimax:{depth}:{path}") for depth in _REGRET_DEPTHS]


def rating(spec: str, ruleset: Ruleset, games: int, seed: int) -> list[str]:
    """Return the paragraph of a card that places an agent on the stored ladder; nothing where there is none.

    Args:
        spec: The agent.
        ruleset: The game.
        games: Games against each quick anchor, even.
        seed: Seed of openings and agents.
    """
    try:
        ladder = stored_ladder(ruleset)
    except NoLadder:
        return []
    ratings = evaluate(spec, ruleset, games=games, regret=False, seed=seed, num_threads=1).ratings
    assert ratings is not None
    rows = [
        [f"`{_short(name)}`", *(f"{number:z.0f}" for number in ratings.of(name))]
        for name in (spec, *ANCHORS)
        if name in ratings.names
    ]
    return [
        f"Rating on the stored ladder, Elo (`random` = 0), over {games} games against each quick anchor "
        f"from {openings_in_words(ladder.opening_set, ladder.opening_turns)}:",
        "",
        *table(["agent", "Elo", "from", "to"], rows),
        "",
    ]


def regrets(pairs: Iterable[tuple[str, str]], ruleset: Ruleset, seed: int) -> list[str]:
    """Return the paragraph of a card with the regret of agents; nothing where no positions are solved.

    Args:
        pairs: Specs of two agents each, of which the second is compared with the first.
        ruleset: The game.
        seed: Seed of the agents.
    """
    if not has_exact_positions(ruleset):
        return []
    rows = []
    for pair in pairs:
        found: list[Regret] = [
            measure_regret(make(spec, ruleset, seed=seed, num_threads=1), ruleset) for spec in pair
        ]
        for regret in found:
            low, high = regret.overall.interval
            mean = f"{regret.overall.mean_regret:.2f} ({low:.2f} to {high:.2f})"
            best = f"{regret.overall.optimal_share:.0%}"
            rows.append([f"`{_short(regret.agent)}`", str(regret.overall.positions), mean, best, ""])
        low, high = (difference := regret_difference(found[1], found[0])).interval
        rows[-1][-1] = f"{difference.mean:+z.2f} ({low:+z.2f} to {high:+z.2f})"
    head = ["agent", "positions", "mean regret, seeds a move", "best moves", "difference"]
    return ["Regret over the solved positions, with 95 % intervals:", "", *table(head, rows), ""]


def matches_table(matches: Iterable[MatchResult]) -> list[str]:
    """Return the table of a card with the scores of matches, lines of Markdown."""
    rows = []
    for match in matches:
        low, high = match.interval
        score = f"{match.win_rate:.1%} ({low:.1%} to {high:.1%})"
        names = [f"`{_short(match.first)}`", f"`{match.second}`"]
        rows.append([*names, str(match.games), score, f"{match.mean_margin:+z.1f}"])
    return table(["agent", "against", "games", "score", "mean margin, seeds"], rows)


def _short(spec: str) -> str:
    """Return a spec without its file."""
    words = spec.split(":")
    return ":".join(words[:1] if words[0] == "trained" else words[:2])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table, lines of Markdown."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


@in_one_line("cards", "cards that are whole were written")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the cards of the files named on the command line; returns the exit status."""
    parser = Parser(prog="python -m tools.make_value_cards", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=f"a network, {SUFFIX}")
    parser.add_argument("--games", type=int, default=GAMES, help=f"games of a match; default {GAMES}")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of openings and agents; default {SEED}")
    options = parser.parse_args(arguments)
    for path in options.files:
        if path.suffix != SUFFIX:
            raise MancalaError(f"{path} must be a file of a network, such as value_leyla{SUFFIX}")
        write_whole(path.with_suffix(".md"), value_card(path, options.games, options.seed))
        print(path.with_suffix(".md"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
