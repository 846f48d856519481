"""Write the cards of bundled value networks: origin, measured strength and limits.

``python -m tools.make_value_cards value_leyla.safetensors`` writes ``value_leyla.md`` in the same folder.
"""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents import Spec, make
from mancala_env.errors import MancalaError
from mancala_env.evaluation.agent_evaluation import evaluate
from mancala_env.evaluation.exploit import exploitability_text, stored_exploitability
from mancala_env.evaluation.ladder import ANCHORS, NoLadder, stored_ladder
from mancala_env.evaluation.matches import MatchResult, play_matches
from mancala_env.evaluation.openings import openings_in_words, openings_to_evaluate
from mancala_env.evaluation.regret import Regret, has_exact_positions, measure_regret, regret_difference
from mancala_env.networks.value_files import read_value_file
from mancala_env.rulesets import Ruleset

GAMES, SEED = 1000, 1
EXPLOITABILITY = (
    "Exploitability: mean lead of the best reply from the start, in seeds (docs/results/exploitability.md):"
)
"""First line of the paragraph of :func:`exploitabilities`."""
# Opponents are the same searches without a value network, of equal depth and of equal time per position.
_DEPTHS, _TIME = (4, 6), "0.002s"
_RATED = "value+minimax:6"
_REGRET_DEPTHS = (4, 6)
_LIMITS = """\
- It evaluates positions of single rounds. In later rounds of a Gabata match, where territory has changed
  hands, the search uses the count instead.
- It was fitted to positions that searches visit. It may evaluate positions badly that no sensible play
  reaches.
- It is made for the leaves of a search. Alone, one turn deep, it plays weakly."""


def value_card(path: Path, games: int = GAMES, seed: int = SEED) -> str:
    """Measure a value network's strength and return its card as Markdown.

    Args:
        path: File of the network.
        games: Number of games per match; even. In matches at equal time, and against each anchor, 20 % of
            that are played.
        seed: Random seed of openings and agents.

    Raises:
        InvalidValueNetwork: If the file is not a value network.
        InvalidMatch: If `games` is out of range.
    """
    file = read_value_file(path)
    ruleset, few = file.ruleset, few_of(games)
    what = f"A value network for `{ruleset.name}` ({ruleset.title})"
    return Card(
        path,
        ruleset,
        title=f"{what}, for `value+minimax` and `value+mcts`.",
        origin=[[name, f"`{text}`" if name == "command" else text] for name, text in file.made.items()],
        matches=_matches(path, ruleset, games, few, seed),
        rating=rating(f"{_RATED}:{path}", ruleset, few, seed),
        regret=regrets(_compared(path), ruleset, seed),
        exploitability=exploitabilities([f"value+minimax:{n}:{path}" for n in _REGRET_DEPTHS], ruleset),
        limits=_LIMITS,
        command=f"python -m tools.make_value_cards {path.name} --games {games} --seed {seed}",
        seed=seed,
    ).to_markdown()


def few_of(games: int) -> int:
    """Return the number of games of slow matches: about 20 %, even."""
    return max(2, games // 10 * 2)


@dataclass(frozen=True)
class Card:
    """The card of a network.

    Attributes:
        path: File of the network.
        ruleset: The ruleset.
        title: Description of the network in a sentence.
        origin: Table rows about its origin.
        matches: Results of its matches.
        rating: Paragraph of :func:`rating`.
        regret: Paragraph of :func:`regrets`.
        exploitability: Paragraph of :func:`exploitabilities`.
        limits: Markdown list of its limits.
        command: Command that writes the card.
        seed: Random seed of openings and agents.
    """

    path: Path
    ruleset: Ruleset
    title: str
    origin: list[list[str]]
    matches: Iterable[MatchResult]
    rating: list[str]
    regret: list[str]
    exploitability: list[str]
    limits: str
    command: str
    seed: int

    def to_markdown(self) -> str:
        """Return the card as Markdown."""
        content = self.path.read_bytes()
        openings = openings_in_words(*openings_to_evaluate(None, self.ruleset, None))
        hash_and_size = [
            ["SHA-256", f"`{hashlib.sha256(content).hexdigest()}`"],
            ["size", f"{len(content):,} bytes"],
        ]
        lines = [
            f"# {self.path.name}",
            "",
            self.title,
            "",
            *table(["what", "value"], [*self.origin, *hash_and_size]),
            "",
            f"Matches from {openings}, each from both seats, seed {self.seed}:",
            "",
            *matches_table(self.matches),
            "",
            *self.rating,
            *self.regret,
            *self.exploitability,
            "Limits:",
            "",
            self.limits,
            "",
            f"Written by `{self.command}` on {date.today()}.",
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
    """Return the paragraph of a card with an agent's rating on the stored ladder; [] without a ladder.

    Args:
        spec: Spec of the agent.
        ruleset: The ruleset.
        games: Number of games against each quick anchor; even.
        seed: Random seed of openings and agents.
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
    """Return the paragraph of a card with the regret of agents; [] without solved positions.

    Args:
        pairs: Specs of two agents each; the second is compared with the first.
        ruleset: The ruleset.
        seed: Random seed of the agents.
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


def exploitabilities(specs: Sequence[str], ruleset: Ruleset) -> list[str]:
    """Return the paragraph of a card with the stored exploitability of agents and of the anchors."""
    stored = stored_exploitability(ruleset)
    rows = [
        [f"`{_short(one)}`", exploitability_text(stored.get(Spec.parse(one).on(ruleset).identity))]
        for one in (*specs, *(anchor for anchor in ANCHORS if anchor in stored))
    ]
    return [EXPLOITABILITY, "", *table(["agent", "exploitability"], rows), ""]


def matches_table(matches: Iterable[MatchResult]) -> list[str]:
    """Return the table of a card with the results of matches, as lines of Markdown."""
    rows = []
    for match in matches:
        low, high = match.interval
        score = f"{match.win_rate:.1%} ({low:.1%} to {high:.1%})"
        names = [f"`{_short(match.first)}`", f"`{match.second}`"]
        rows.append([*names, str(match.games), score, f"{match.mean_margin:+z.1f}"])
    return table(["agent", "against", "games", "score", "mean margin, seeds"], rows)


def _short(spec: str) -> str:
    """Return a spec without the path of its file."""
    words = spec.split(":")
    return ":".join(words[:1] if words[0] == "trained" else words[:2])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table as lines of Markdown."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


@in_one_line("make_value_cards", "finished cards are kept")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the cards of the given files and return the exit status."""
    parser = Parser(prog="python -m tools.make_value_cards", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=f"value networks, {SUFFIX} files")
    parser.add_argument(
        "--games", type=int, default=GAMES, help=f"number of games per match; even; default {GAMES}"
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help=f"random seed of openings and agents; default {SEED}"
    )
    options = parser.parse_args(arguments)
    for path in options.files:
        if path.suffix != SUFFIX:
            raise MancalaError(f"{path} must be the file of a network, such as value_leyla{SUFFIX}")
        write_whole(path.with_suffix(".md"), value_card(path, options.games, options.seed))
        print(path.with_suffix(".md"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
