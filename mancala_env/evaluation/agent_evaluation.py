"""Evaluation of agents in one call: ratings on the ladder's scale, and regret against perfect play."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Unpack

from mancala_env._util.checks import refuse_swapped, several, truth, whole
from mancala_env._util.tabular import Tabular
from mancala_env.agents import AgentLike
from mancala_env.agents.registry import maker_hint
from mancala_env.engine.episode import Rounds
from mancala_env.evaluation.exploit import stored_exploitability
from mancala_env.evaluation.ladder import SCALE_ANCHORS, SLOW_ANCHORS, Ladder, stored_ladder
from mancala_env.evaluation.match_options import EvaluationKeywords, EvaluationOptions, Progress, ignored
from mancala_env.evaluation.matches import MatchResult, num_pairs
from mancala_env.evaluation.openings import InvalidMatch, Openings, openings_in_words, openings_to_evaluate
from mancala_env.evaluation.ratings import ZERO, Ratings, connected_agents, fit_ratings
from mancala_env.evaluation.regret import (
    FIXED_POSITIONS,
    NO_POSITIONS,
    Regret,
    RegretDifference,
    has_exact_positions,
    measure_regret,
    own_games_regret,
    regret_difference,
)
from mancala_env.evaluation.round_robin import Entrant, check_distinct, entrant, play_pairings
from mancala_env.rulesets import Ruleset, RulesetLike, lookup


@dataclass(frozen=True, eq=False)
class Evaluation(Tabular):
    """The result of an evaluation.

    `print` shows a line for each agent, with its Elo and its mean regret over the bundled positions.
    `to_frame()` has one row per measured number. `ratings`, `matches` and each of `regrets` also have
    `to_frame()`, with one row per agent, match and phase.

    Attributes:
        ruleset: Name of the ruleset.
        agents: Specs of the evaluated agents.
        matches: All matches, each with an evaluated agent as the first agent.
        ratings: Ratings of the evaluated agents and, with the ladder, of its anchors; None without matches.
            If an exception ended the games, agents that no games connect with the others are missing.
        regrets: Regret of each agent over the bundled positions and, on request, over its own games.
        notes: Notes on the results, for reports.
        regret_differences: Differences of regret between each pair of agents over the bundled positions.
        opening_set: Set of openings of the games.
        opening_turns: Number of random turns in an opening; 0 for balanced and fair openings.
        rounds: Number of rounds per game, or "match".
        seed: Random seed of all openings and agents.
        is_on_ladder: Whether the ratings are on the scale of the stored ladder.
        exploitability: Bundled bounds on the exploitability of agents and anchors, in seeds, by name.
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
    rounds: Rounds = 1
    seed: int = 0
    is_on_ladder: bool = False
    exploitability: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def openings(self) -> str:
        """The openings, in words."""
        return openings_in_words(self.opening_set, self.opening_turns)

    @property
    def scale(self) -> str:
        """The scale of the ratings, in words."""
        if self.ratings is None:
            return "no agent is rated"
        if self.is_on_ladder:
            return f"ratings are on the scale of the stored ladder of {self.ruleset} (random = 0)"
        zero = self.ratings.scale
        return f"ratings are from these games only ({zero}) and not comparable with other evaluations"

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "ruleset": "Name of the ruleset",
        "opening_set": "Set of openings of the games",
        "opening_turns": "Number of random turns in an opening",
        "rounds": 'Number of rounds per game, or "match"',
        "seed": "Random seed of openings and agents",
        "agent": "Spec of the agent",
        "measure": "elo, win_rate, mean_margin, mean_regret, optimal_share or regret_difference",
        "unit": "Unit of value, low and high",
        "against": "Opponent of win_rate and mean_margin, other agent of regret_difference; else None",
        "source": "Source of the positions of a regret; else None",
        "phase": 'Phase of the round of a regret, "all" for all phases; else None',
        "value": "The measured number",
        "low": "Lower end of its 95 % interval",
        "high": "Upper end of its 95 % interval",
        "count": "Number of games or positions",
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        terms = (self.ruleset, self.opening_set, self.opening_turns, self.rounds, self.seed)
        for row in (*self._games(), *self._regrets()):
            yield *terms, *row

    def _games(self) -> Iterator[Sequence[Any]]:
        if self.ratings is not None:
            unit = f"Elo ({self.ratings.scale})"
            for name, elo, low, high, games, _ in self.ratings._rows():
                yield name, "elo", unit, None, None, None, elo, low, high, games
        for one in self.matches:
            rate = (one.win_rate, *one.interval, one.games)
            margin = (one.mean_margin, *one.margin_interval, one.games)
            yield one.first, "win_rate", "share", one.second, None, None, *rate
            yield one.first, "mean_margin", "seeds", one.second, None, None, *margin

    def _regrets(self) -> Iterator[Sequence[Any]]:
        for regret in self.regrets:
            for _, agent, source, phase, count, *numbers in regret._rows():
                where = (None, source, phase)
                yield agent, "mean_regret", "seeds per move", *where, *numbers[:3], count
                yield agent, "optimal_share", "share", *where, *numbers[3:], count
        for one in self.regret_differences:
            numbers = (one.mean, *one.interval, one.positions)
            yield one.first, "regret_difference", "seeds per move", one.second, one.source, "all", *numbers

    def __str__(self) -> str:
        return "\n".join(map(self._line, self.agents))

    def _line(self, agent: str) -> str:
        """Return the Elo of an agent and its mean regret over the bundled positions, with 95 % intervals."""
        parts = list[str]()
        if self.ratings is not None and agent in self.ratings.names:
            elo, low, high = self.ratings.of(agent)
            parts.append(f"Elo {elo:z.0f} ({low:z.0f} to {high:z.0f}; {self.ratings.scale})")
        for one in self.regrets:
            if one.agent == agent and one.source == FIXED_POSITIONS:
                low, high = one.overall.interval
                parts.append(f"regret {one.overall.mean_regret:.2f} seeds a move ({low:.2f} to {high:.2f})")
        return f"{agent}: {', '.join(parts) or 'neither Elo nor regret was measured'}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        names = ("ruleset", "opening_set", "opening_turns", "rounds", "seed")
        return {name: getattr(self, name) for name in names} | {
            "agents": list(self.agents),
            "scale": self.scale if self.ratings is not None else None,
            "ratings": self.ratings.as_dict() if self.ratings is not None else None,
            "matches": [match.as_dict() for match in self.matches],
            "regrets": [regret.as_dict() for regret in self.regrets],
            "regret_differences": [difference.as_dict() for difference in self.regret_differences],
            "exploitability": {name: list(bounds) for name, bounds in self.exploitability.items()},
            "notes": self.notes,
        }


def evaluate(
    specs: AgentLike | Sequence[AgentLike], ruleset: RulesetLike, **options: Unpack[EvaluationKeywords]
) -> Evaluation:
    """Rate agents and measure their regret.

    >>> evaluation = evaluate("greedy", "leyla", games=20)
    >>> elo, low, high = evaluation.ratings.of("greedy")

    Args:
        specs: One or several agents, or their specs. Several agents also play each other.
        ruleset: The ruleset, or its name.
        options: Attributes of :class:`~mancala_env.evaluation.match_options.EvaluationOptions`.

    Raises:
        InvalidMatch: If an argument is out of range, an agent is a duplicate, there is nothing to measure, or
            the ladder does not allow the openings or the rounds.
        InvalidArgument: If the seed or the number of threads is invalid, or `ladder` or `regret` is not a
            bool.
        InvalidSpec: If a spec is invalid, or an agent cannot play the ruleset.
        NoLadder: If no ladder is stored for the ruleset.
        InvalidResults: If the results file cannot be used.
        InvalidRecord: If `records` exists and does not contain game records.
        OSError: If `records` cannot be written. If that happens during the games, they continue without
            being recorded, and the error is raised after all measurements.
    """
    refuse_swapped("evaluate(specs, ruleset)", ruleset, specs)
    ruleset, chosen = lookup(ruleset), _checked(EvaluationOptions(**options))
    entrants = _entrants(specs, ruleset, chosen)
    pairings = list(itertools.combinations(entrants, 2))
    fixed, notes = None, list[str]()
    if chosen.ladder:
        stored = stored_ladder(ruleset)
        if chosen.opening_set is None and chosen.opening_turns is None:
            chosen = replace(chosen, opening_set=stored.opening_set, opening_turns=stored.opening_turns)
        anchors, fixed = _anchors(stored, entrants, ruleset, chosen)
        pairings += list(itertools.product(entrants, anchors))
        notes += [f"anchor {anchor} is excluded: {why}" for anchor, why in stored.excluded.items()]
    if chosen.regret and not has_exact_positions(ruleset):
        chosen = replace(chosen, regret=False)
        notes.append(NO_POSITIONS.format(ruleset.name))
    opening_set, turns = openings_to_evaluate(chosen.opening_set, ruleset, chosen.opening_turns)
    names, seed = tuple(one.name for one in entrants), whole("seed", chosen.seed, 0)
    bundled = stored_exploitability(ruleset)
    known = {anchor: bundled[anchor] for anchor in (fixed.names if fixed else ()) if anchor in bundled}
    known |= {one.name: bundled[one.identity] for one in entrants if one.identity in bundled}
    found = Evaluation(ruleset.name, names, [], None, [], notes, [], opening_set, turns, chosen.rounds, seed)
    found = replace(found, exploitability=known)
    tell, record_errors = chosen.measured or ignored, list[OSError]()
    if pairings:
        rated = partial(_with_matches, found, fixed, record_errors)
        matches = play_pairings(
            pairings,
            ruleset,
            replace(chosen, progress=_stage(chosen, "games")),
            on_record_error=record_errors.append,
            on_failure=lambda matches: tell(rated(matches)),
        )
        found = rated(matches)
    tell(found)
    for regret in _regrets(found, entrants, ruleset, chosen):
        tell(found := _with_regret(found, regret))
    if record_errors:
        raise record_errors[0]
    return found


def _checked(options: EvaluationOptions) -> EvaluationOptions:
    """Check the options that are used only after the matches."""
    if options.own_games != 0:
        num_pairs(options.own_games, "own_games")
        if options.rounds != 1:
            raise InvalidMatch(
                f"own_games={options.own_games} cannot be used with rounds={options.rounds!r}: own games are "
                "single rounds"
            )
    return replace(options, ladder=truth("ladder", options.ladder), regret=truth("regret", options.regret))


def _entrants(
    specs: AgentLike | Sequence[AgentLike], ruleset: Ruleset, options: EvaluationOptions
) -> list[Entrant]:
    """Make the agents to evaluate, which must be distinct and give something to measure."""
    # A model or a function gets the error that names its maker.
    is_one = isinstance(specs, AgentLike) or maker_hint(specs)
    given: list[Any] = [specs] if is_one else several("specs", specs, "agents, one or more")
    if not given:
        raise InvalidMatch("specs must name at least one agent, not an empty list")
    if len(given) < 2 and not (options.ladder or options.regret or options.own_games):
        raise InvalidMatch(
            f"there is nothing to measure for {given[0]}: name a second agent, or switch the ladder or the "
            "regret on"
        )
    for name in ("results", "records"):
        if (file := getattr(options, name)) is not None and len(given) < 2 and not options.ladder:
            raise InvalidMatch(
                f"{name}={str(file)!r} would stay empty without games: name a second agent, or switch the "
                "ladder on"
            )
    entrants = [entrant(spec, ruleset, options.num_threads) for spec in given]
    check_distinct(entrants)
    return entrants


def _anchors(
    stored: Ladder, entrants: Sequence[Entrant], ruleset: Ruleset, options: EvaluationOptions
) -> tuple[list[Entrant], Ratings]:
    """Return the anchors to play, without evaluated agents, and the fixed ratings.

    The openings and rounds must be those of the ladder's games.
    """
    rated = (stored.opening_set, stored.opening_turns)
    openings = openings_to_evaluate(options.opening_set, ruleset, options.opening_turns)
    if (options.rounds, openings) != (1, rated):
        raise InvalidMatch(
            f"the ladder was rated over single rounds from {openings_in_words(*rated)}, so it cannot be used "
            f"with rounds={options.rounds!r} from {openings_in_words(*openings)}; switch the ladder off "
            "(ladder=False, --no_ladder) and name the opponents"
        )
    identities = {one.identity for one in entrants}
    others = [anchor for anchor in stored.quick_anchors if anchor not in identities]
    if options.max_anchors is not None:
        scale = [anchor for anchor in SCALE_ANCHORS if anchor in others]
        others = scale[: whole("max_anchors", options.max_anchors, 1)]
    # The random agent has 0 Elo by definition, even if it is evaluated.
    known = (*others, ZERO, *(slow for slow in SLOW_ANCHORS if slow not in identities))
    fixed = stored.ratings().only([anchor for anchor in stored.anchors if anchor in known])
    return [entrant(anchor, ruleset, options.num_threads) for anchor in others], fixed


def _with_matches(
    found: Evaluation, fixed: Ratings | None, record_errors: list[OSError], matches: list[MatchResult]
) -> Evaluation:
    connected = connected_agents(matches, fixed)  # all, unless an exception ended the games
    rated = [match for match in matches if {match.first, match.second} <= connected]
    ratings = fit_ratings(rated, fixed=fixed) if rated else None
    notes = [*found.notes, *(f"some games are not recorded: {error}" for error in record_errors)]
    notes += [f"{name} is not rated: too few games" for name in found.agents if name not in connected]
    is_on_ladder = fixed is not None
    return replace(found, matches=matches, ratings=ratings, notes=notes, is_on_ladder=is_on_ladder)


def _regrets(
    found: Evaluation, entrants: Sequence[Entrant], ruleset: Ruleset, options: EvaluationOptions
) -> Iterator[Regret]:
    for one in entrants:
        if options.regret:
            one.agent.seed(found.seed)
            yield measure_regret(one.agent, ruleset, progress=_stage(options, "fixed positions"))
        if options.own_games:
            yield own_games_regret(
                one.agent,
                games=options.own_games,
                opening_turns=found.opening_turns,
                opening_set=found.opening_set,
                seed=found.seed,
                progress=_stage(options, "own games"),
            )


def _with_regret(found: Evaluation, regret: Regret) -> Evaluation:
    regrets = [*found.regrets, regret]
    fixed = [one for one in regrets if one.source == FIXED_POSITIONS]
    differences = [regret_difference(*pair) for pair in itertools.combinations(fixed, 2)]
    return replace(found, regrets=regrets, regret_differences=differences)


def _stage(options: EvaluationOptions, stage: str) -> Progress | None:
    return None if options.progress is None else partial(options.progress, stage)
