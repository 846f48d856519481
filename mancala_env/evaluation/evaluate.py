"""Say how good agents are: ratings on the ladder's scale, and regret against perfect play."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mancala_env._util.checks import several, truth, whole
from mancala_env.agents import AgentLike
from mancala_env.evaluation.ladder import SLOW_ANCHORS, stored_ladder
from mancala_env.evaluation.matches import MatchResult, Progress, num_pairs
from mancala_env.evaluation.openings import InvalidMatch, Openings, openings_in_words, openings_to_evaluate
from mancala_env.evaluation.ratings import ZERO, Ratings, fit_ratings
from mancala_env.evaluation.regret import (
    FIXED_POSITIONS,
    Regret,
    RegretDifference,
    has_exact_positions,
    measure_regret,
    own_games_regret,
    regret_difference,
)
from mancala_env.evaluation.round_robin import PlayChunks, check_distinct, entrant, play_pairings
from mancala_env.rulesets import Ruleset, lookup

StageProgress = Callable[[str, int, int], Any]
"""Called now and then as progress(what, done, total)."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came of evaluating some agents.

    Attributes:
        ruleset: Name of the ruleset.
        agents: Specs of the agents asked about.
        matches: Every match played, from the side of an agent asked about.
        ratings: Ratings of these agents, and of the ladder's anchors where they were played; None where
            there was nothing to rate.
        regrets: Regret of each agent over the fixed positions; empty where the ruleset has none.
        notes: What the reader of the numbers should know.
        regret_differences: The regrets of each two agents compared position by position.
        opening_set: Which openings the games started from.
        opening_turns: Random turns that made an opening; 0 for balanced ones.
        rounds: Rounds of a game, or "match".
        seed: Seed of all openings and agents.
    """

    ruleset: str
    agents: tuple[str, ...]
    matches: list[MatchResult]
    ratings: Ratings | None
    regrets: list[Regret]
    notes: list[str] = field(default_factory=list)
    regret_differences: list[RegretDifference] = field(default_factory=list)
    opening_set: Openings = "all"
    opening_turns: int = 4
    rounds: int | Literal["match"] = 1
    seed: int = 0

    @property
    def openings(self) -> str:
        """Which openings, in words."""
        return openings_in_words(self.opening_set, self.opening_turns)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "ruleset": self.ruleset,
            "agents": list(self.agents),
            "opening_set": self.opening_set,
            "opening_turns": self.opening_turns,
            "rounds": self.rounds,
            "seed": self.seed,
            "ratings": self.ratings.as_dict() if self.ratings is not None else None,
            "matches": [match.as_dict() for match in self.matches],
            "regrets": [regret.as_dict() for regret in self.regrets],
            "regret_differences": [difference.as_dict() for difference in self.regret_differences],
            "notes": self.notes,
        }


def evaluate(
    specs: AgentLike | Sequence[AgentLike],
    ruleset: str | Ruleset,
    *,
    games: int = 200,
    opening_turns: int | None = None,
    opening_set: Openings | None = None,
    ladder: bool = True,
    regret: bool = True,
    own_games: int = 0,
    results: str | Path | None = None,
    records: str | Path | None = None,
    seed: int = 0,
    rounds: int | Literal["match"] = 1,
    num_threads: int | None = None,
    progress: StageProgress | None = None,
    play_chunks: PlayChunks | None = None,
    measured: Callable[[Evaluation], Any] | None = None,
) -> Evaluation:
    """Rate agents and measure their regret.

    >>> evaluation = evaluate("greedy", "leyla", games=20)
    >>> elo, low, high = evaluation.ratings.of("greedy")

    Args:
        specs: An agent, or several, which then also play each other.
        ruleset: The game.
        games: Games of each match, even.
        opening_turns: Random turns that make an opening.
        opening_set: Which openings; None for the ladder's, which takes no others, and without the ladder
            as in :func:`play_matches`.
        ladder: Whether each agent plays the anchors of the stored ladder. Their ratings stand as stored.
        regret: Whether to measure regret over the exact positions shipped with the package.
        own_games: Games of each agent against itself to measure regret over too, 0 or even; see
            :func:`own_games_regret`.
        results: File the margins of the games are appended to, and taken from where they have been played
            already.
        records: File the games of the matches that are played now are appended to, turn by turn.
        seed: Seed of all openings and agents.
        rounds: Rounds of a game, or "match"; the ladder and `own_games` are for 1.
        num_threads: CPU threads; None takes every core this process may use.
        progress: Called as progress(what, done, total).
        play_chunks: What plays the games; see :func:`round_robin`.
        measured: Called with the evaluation so far, after the matches and after each regret. If an agent
            raises, the last one holds all that was measured.

    Raises:
        InvalidMatch: An argument is out of range, an agent is named twice, nothing is asked, or the ladder
            was asked for under other conditions than its own.
        InvalidArgument: The seed or the number of threads is none, or `ladder` or `regret` is not True or
            False.
        InvalidSpec: A spec names no agent, or an agent cannot play the ruleset.
        NoLadder: The ruleset has no stored ladder.
        InvalidResults: The results file cannot be used.
        InvalidRecord: The file of records is one of something else.
        OSError: The file of records cannot be written.
    """
    ruleset, seed = lookup(ruleset), whole("seed", seed, 0)
    ladder, regret = truth("ladder", ladder), truth("regret", regret)
    if own_games != 0:
        num_pairs(own_games, "own_games")  # said now rather than after the matches
        if rounds != 1:
            raise InvalidMatch(
                f"own_games are single rounds, so they cannot be asked for with rounds={rounds!r}; leave one "
                "of them out"
            )
    asked = [specs] if isinstance(specs, AgentLike) else several("specs", specs, "agents, one or more")
    if not asked:
        raise InvalidMatch("specs must be agents, one or more, not none at all")
    if len(asked) < 2 and not (ladder or regret or own_games):
        raise InvalidMatch(
            f"nothing is asked about {asked[0]}: name a second agent to play, or "
            "leave the ladder or the regret in"
        )
    entrants = [entrant(spec, ruleset, num_threads) for spec in asked]
    check_distinct(entrants)
    pairings = list(itertools.combinations(entrants, 2))
    fixed = None
    notes: list[str] = []
    if ladder:
        stored = stored_ladder(ruleset)
        rated = (stored.opening_set, stored.opening_turns)
        if opening_set is None and opening_turns is None:
            opening_set, opening_turns = rated
        asked_for = openings_to_evaluate(opening_set, ruleset, opening_turns)
        if (rounds, asked_for) != (1, rated):
            raise InvalidMatch(
                f"the ladder was rated over single rounds from {openings_in_words(*rated)}, so it cannot be "
                f"used with rounds={rounds!r} from {openings_in_words(*asked_for)}; leave the ladder out "
                "(ladder=False, --no_ladder) and name whom to play"
            )
        identities = {one.identity for one in entrants}
        others = [anchor for anchor in stored.quick_anchors if anchor not in identities]
        seated = [entrant(anchor, ruleset, num_threads) for anchor in others]
        pairings += list(itertools.product(entrants, seated))
        # The random agent is at 0 by definition, whether or not it is one of those asked about.
        known = (*others, ZERO, *(slow for slow in SLOW_ANCHORS if slow not in identities))
        fixed = stored.ratings().only([anchor for anchor in stored.anchors if anchor in known])
        notes += [f"anchor {anchor} is left out: {why}" for anchor, why in stored.left_out.items()]
    chosen, turns = openings_to_evaluate(opening_set, ruleset, opening_turns)
    matches: list[MatchResult] = []
    if pairings:
        matches = play_pairings(
            pairings,
            ruleset,
            games=games,
            opening_turns=turns,
            opening_set=chosen,
            seed=seed,
            rounds=rounds,
            results=results,
            records=records,
            progress=_stage(progress, "games"),
            play_chunks=play_chunks,
        )
    ratings = fit_ratings(matches, fixed=fixed) if matches else None
    if ratings is not None and not ratings.zero:
        notes.append("random did not play, so 0 Elo is the mean of the agents")
    regrets: list[Regret] = []

    def so_far() -> Evaluation:
        fixed_regrets = [one for one in regrets if one.source == FIXED_POSITIONS]
        differences = [regret_difference(*pair) for pair in itertools.combinations(fixed_regrets, 2)]
        names = tuple(one.name for one in entrants)
        return Evaluation(
            ruleset.name,
            names,
            matches,
            ratings,
            [*regrets],
            [*notes],
            differences,
            chosen,
            turns,
            rounds,
            seed,
        )

    def add(found: Regret) -> None:
        regrets.append(found)
        if measured is not None:
            measured(so_far())

    if regret and not has_exact_positions(ruleset):
        notes.append(f"no exact positions are shipped for {ruleset.name}, so regret is not measured there")
    if measured is not None:
        measured(so_far())
    for one in entrants:
        if regret and has_exact_positions(ruleset):
            one.agent.seed(seed)
            add(measure_regret(one.agent, ruleset, progress=_stage(progress, "fixed positions")))
        if own_games:
            stage = _stage(progress, "own games")
            add(
                own_games_regret(
                    one.agent,
                    games=own_games,
                    opening_turns=turns,
                    opening_set=chosen,
                    seed=seed,
                    progress=stage,
                )
            )
    return so_far()


def _stage(progress: StageProgress | None, what: str) -> Progress | None:
    return None if progress is None else partial(progress, what)
