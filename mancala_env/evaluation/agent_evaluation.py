"""Evaluation of agents in one call: ratings on the ladder's scale, and regret against perfect play."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mancala_env._util.checks import several, truth, whole
from mancala_env.agents import AgentLike
from mancala_env.evaluation.ladder import SLOW_ANCHORS, Ladder, stored_ladder
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
from mancala_env.evaluation.round_robin import Entrant, PlayChunks, check_distinct, entrant, play_pairings
from mancala_env.rulesets import Ruleset, lookup

StageProgress = Callable[[str, int, int], Any]
"""Called from time to time as progress(stage, done, total)."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        ruleset: Name of the ruleset.
        agents: Specs of the evaluated agents.
        matches: All matches, each from the side of an evaluated agent.
        ratings: Ratings of the evaluated agents and, with the ladder, of its anchors; None without matches.
        regrets: Regret of each agent, over the fixed positions and over its own games if requested.
        notes: Notes for the reader.
        regret_differences: Differences of regret between each two agents over the fixed positions.
        opening_set: Set of openings of the games.
        opening_turns: Number of random turns in an opening; 0 for balanced openings.
        rounds: Number of rounds per game, or "match".
        seed: Random seed of all openings and agents.
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
        """The openings, in words."""
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
        specs: One or several agents, or their specs. Several agents also play each other.
        ruleset: The ruleset, or its name.
        games: Number of games per match; even.
        opening_turns: Number of random turns in an opening.
        opening_set: Set of openings. None for those of the ladder, which allows no others, and without the
            ladder as in :func:`play_matches`.
        ladder: Whether each agent plays the anchors of the stored ladder, whose ratings are fixed.
        regret: Whether to measure regret over the bundled solved positions.
        own_games: Number of games of each agent against itself for :func:`own_games_regret`; even, 0 for
            none.
        results: Results file; finished games are read from it, and new ones appended.
        records: File of game records that new games of the matches are appended to.
        seed: Random seed of all openings and agents.
        rounds: Number of rounds per game, or "match". The ladder and `own_games` require 1.
        num_threads: Number of CPU threads; None for all available cores.
        progress: Called as progress(stage, done, total).
        play_chunks: Plays the games; see :func:`round_robin`.
        measured: Called with the evaluation so far, after the matches and after each regret. If an agent
            raises an exception, the last one contains all measurements.

    Raises:
        InvalidMatch: If an argument is out of range, an agent is named twice, there is nothing to measure, or
            the ladder does not allow the openings or the rounds.
        InvalidArgument: If the seed or the number of threads is invalid, or `ladder` or `regret` is not a
            bool.
        InvalidSpec: If a spec is invalid, or an agent cannot play the ruleset.
        NoLadder: If the ruleset has no stored ladder.
        InvalidResults: If the results file cannot be used.
        InvalidRecord: If `records` exists and does not contain game records.
        OSError: If `records` cannot be written. If that happens during the games, they continue without
            being recorded, and the error is raised after all measurements.
    """
    ruleset, seed = lookup(ruleset), whole("seed", seed, 0)
    ladder, regret = truth("ladder", ladder), truth("regret", regret)
    if own_games != 0:
        num_pairs(own_games, "own_games")  # before the matches rather than after them
        if rounds != 1:
            raise InvalidMatch(
                f"own_games={own_games} cannot be used with rounds={rounds!r}: own games are single rounds"
            )
    entrants = _entrants(specs, ruleset, num_threads, can_be_one=bool(ladder or regret or own_games))
    pairings = list(itertools.combinations(entrants, 2))
    fixed: Ratings | None = None
    notes: list[str] = []
    if ladder:
        stored = stored_ladder(ruleset)
        if opening_set is None and opening_turns is None:
            opening_set, opening_turns = stored.opening_set, stored.opening_turns
        _check_ladder_terms(stored, openings_to_evaluate(opening_set, ruleset, opening_turns), rounds)
        anchors, fixed = _anchors(stored, entrants, ruleset, num_threads)
        pairings += list(itertools.product(entrants, anchors))
        notes += [f"anchor {anchor} is excluded: {why}" for anchor, why in stored.excluded.items()]
    chosen, turns = openings_to_evaluate(opening_set, ruleset, opening_turns)
    matches: list[MatchResult] = []
    record_errors: list[OSError] = []
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
            on_record_error=record_errors.append,
        )
    notes += [f"some games are not recorded: {error}" for error in record_errors]
    ratings = fit_ratings(matches, fixed=fixed) if matches else None
    if ratings is not None and not ratings.zero:
        notes.append("random did not play, so the mean rating of the agents is 0 Elo")
    if regret and not has_exact_positions(ruleset):
        regret = False
        notes.append(f"regret is not measured, because no solved positions are bundled for {ruleset.name}")
    names = tuple(one.name for one in entrants)
    found = Evaluation(ruleset.name, names, matches, ratings, [], notes, [], chosen, turns, rounds, seed)
    if measured is not None:
        measured(found)
    for each in _regrets(found, entrants, ruleset, regret, own_games, progress):
        found = _with_regret(found, each)
        if measured is not None:
            measured(found)
    if record_errors:
        raise record_errors[0]
    return found


def _entrants(
    specs: AgentLike | Sequence[AgentLike], ruleset: Ruleset, num_threads: int | None, can_be_one: bool
) -> list[Entrant]:
    """Make the agents to evaluate.

    Raises:
        InvalidMatch: If `specs` is empty, an agent is named twice, or a second agent is needed.
        InvalidSpec: If a spec is invalid, or an agent cannot play the ruleset.
    """
    given = [specs] if isinstance(specs, AgentLike) else several("specs", specs, "agents, one or more")
    if not given:
        raise InvalidMatch("specs must name at least one agent, not an empty list")
    if len(given) < 2 and not can_be_one:
        raise InvalidMatch(
            f"there is nothing to measure for {given[0]}: name a second agent, or switch the ladder or the "
            "regret on"
        )
    entrants = [entrant(spec, ruleset, num_threads) for spec in given]
    check_distinct(entrants)
    return entrants


def _check_ladder_terms(stored: Ladder, chosen: tuple[Openings, int], rounds: int | str) -> None:
    """Raise InvalidMatch unless the games have the openings and the rounds of the ladder's games."""
    rated = (stored.opening_set, stored.opening_turns)
    if (rounds, chosen) != (1, rated):
        raise InvalidMatch(
            f"the ladder was rated over single rounds from {openings_in_words(*rated)}, so it cannot be used "
            f"with rounds={rounds!r} from {openings_in_words(*chosen)}; switch the ladder off (ladder=False, "
            "--no_ladder) and name the opponents"
        )


def _anchors(
    stored: Ladder, entrants: Sequence[Entrant], ruleset: Ruleset, num_threads: int | None
) -> tuple[list[Entrant], Ratings]:
    """Return the anchors to play, without evaluated agents, and the fixed ratings."""
    identities = {one.identity for one in entrants}
    others = [anchor for anchor in stored.quick_anchors if anchor not in identities]
    # The random agent has 0 Elo by definition, even if it is evaluated.
    known = (*others, ZERO, *(slow for slow in SLOW_ANCHORS if slow not in identities))
    fixed = stored.ratings().only([anchor for anchor in stored.anchors if anchor in known])
    return [entrant(anchor, ruleset, num_threads) for anchor in others], fixed


def _regrets(
    found: Evaluation,
    entrants: Sequence[Entrant],
    ruleset: Ruleset,
    has_fixed: bool,
    own_games: int,
    progress: StageProgress | None,
) -> Iterator[Regret]:
    """Measure the regret of each agent over the fixed positions and over its own games."""
    for one in entrants:
        if has_fixed:
            one.agent.seed(found.seed)
            yield measure_regret(one.agent, ruleset, progress=_stage(progress, "fixed positions"))
        if own_games:
            yield own_games_regret(
                one.agent,
                games=own_games,
                opening_turns=found.opening_turns,
                opening_set=found.opening_set,
                seed=found.seed,
                progress=_stage(progress, "own games"),
            )


def _with_regret(found: Evaluation, regret: Regret) -> Evaluation:
    """Return a copy of an evaluation with another regret."""
    regrets = [*found.regrets, regret]
    fixed = [one for one in regrets if one.source == FIXED_POSITIONS]
    differences = [regret_difference(*pair) for pair in itertools.combinations(fixed, 2)]
    return replace(found, regrets=regrets, notes=[*found.notes], regret_differences=differences)


def _stage(progress: StageProgress | None, what: str) -> Progress | None:
    return None if progress is None else partial(progress, what)
