"""Regret: the seeds per move that an agent loses compared with perfect play.

The regret of a move is the exact value of the position minus the exact value of the move. It is measured over
the bundled solved positions or over the positions of an agent's own games; see docs/guides/evaluate.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from numba.core.event import install_recorder

from mancala_env._util.checks import refuse_swapped, whole
from mancala_env._util.tabular import Tabular, named_interval
from mancala_env.agents import Agent, AgentLike, make
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.intervals import mean_interval, regret_interval, share_interval
from mancala_env.evaluation.match_options import MatchKeywords, MatchOptions, Progress, ignored
from mancala_env.evaluation.matches import MatchGames, check_agent, num_pairs
from mancala_env.evaluation.openings import InvalidMatch, openings, openings_in_words, openings_to_evaluate
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.solver import ILLEGAL, PHASES, Solver, positions
from mancala_env.solver.position_sets import PositionSet, has_positions, phase_of

FIXED_POSITIONS = "fixed positions"
MOST_MISTAKES = 6
"""Number of worst moves stored with an agent's regret."""
_POSITIONS_AT_ONCE = 64
NO_POSITIONS = (
    "regret is not measured without solved positions of {}; evaluation.prepare makes them if 20 can be solved"
)
"""Note for a ruleset without solved positions, with a place for its name."""
# Expected cost of a mistake, as a share of all seeds, for rulesets without solved positions. In the bundled
# positions a mistake costs 8 to 27 % of all seeds.
_MISTAKE = 1 / 6


@dataclass(frozen=True)
class PhaseRegret:
    """Regret over the solved positions of one phase of a round, or of all phases.

    Attributes:
        phase: Name of the phase, or "all".
        positions: Number of positions; without any, the other numbers are NaN.
        mean_regret: Mean regret of a move, in seeds.
        interval: 95 % interval of `mean_regret`: low, high.
        optimal_share: Share of optimal moves, 0 to 1.
        optimal_interval: 95 % interval of `optimal_share`: low, high.
    """

    phase: str
    positions: int
    mean_regret: float
    interval: tuple[float, float]
    optimal_share: float
    optimal_interval: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; None for NaN, which JSON lacks."""
        numbers = {
            "mean_regret": self.mean_regret,
            "mean_regret_interval": list(self.interval),
            "optimal_share": self.optimal_share,
            "optimal_share_interval": list(self.optimal_interval),
        }
        known = numbers if self.positions else dict.fromkeys(numbers)
        return {"phase": self.phase, "positions": self.positions, **known}


class EvaluatedMove(NamedTuple):
    """A move of an agent with the exact values of the actions in the position.

    Attributes:
        position: The position before the move.
        action: The action of the agent.
        values: Exact value of each action in seeds, by action; actions without one are missing.
    """

    position: Position
    action: int
    values: dict[int, int]

    @property
    def regret(self) -> int:
        """The regret of the move, in seeds."""
        return max(self.values.values()) - self.values[self.action]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "position": self.position.to_text(),
            "action": self.action,
            "regret": self.regret,
            "values": {str(action): value for action, value in self.values.items()},
        }


@dataclass(frozen=True)
class Regret(Tabular):
    """The regret of an agent; `to_frame()` has one row per phase of a round, and one for all phases.

    Attributes:
        agent: Spec of the agent.
        ruleset: Name of the ruleset.
        source: Source of the positions.
        unsolved: Number of positions that were not solved in time; all other attributes exclude them.
        overall: Regret over all positions; see :class:`PhaseRegret`.
        phases: Regret by phase, in the order of a round.
        regrets: Regret in each position in seeds, `[N]`.
        worst: The moves with the highest regret, the worst first, at most MOST_MISTAKES.
        game: The ruleset itself; None: the one of the catalogue.
    """

    agent: str
    ruleset: str
    source: str
    unsolved: int
    overall: PhaseRegret
    phases: tuple[PhaseRegret, ...]
    regrets: np.ndarray = field(repr=False, compare=False)
    worst: tuple[EvaluatedMove, ...] = field(default=(), repr=False, compare=False)
    game: Ruleset | None = field(default=None, repr=False, compare=False)

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "ruleset": "Name of the ruleset",
        "agent": "Spec of the agent",
        "source": "Source of the positions",
        "phase": 'Phase of the round; "all" for all phases',
        "positions": "Number of positions",
        **named_interval("mean_regret", "Mean regret in seeds per move"),
        **named_interval("optimal_share", "Share of optimal moves, 0 to 1"),
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        for part in (*self.phases, self.overall):
            numbers = (part.mean_regret, *part.interval, part.optimal_share, *part.optimal_interval)
            known = numbers if part.positions else (None,) * len(numbers)
            yield self.ruleset, self.agent, self.source, part.phase, part.positions, *known

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {name: getattr(self, name) for name in ("agent", "ruleset", "source", "unsolved")} | {
            "overall": self.overall.as_dict(),
            "phases": [phase.as_dict() for phase in self.phases],
            "worst": [move.as_dict() for move in self.worst],
        }


@dataclass(frozen=True)
class RegretDifference:
    """The difference of two agents' regrets over the same positions.

    Attributes:
        first, second: Specs of the agents.
        ruleset: Name of the ruleset.
        source: Source of the positions.
        positions: Number of positions.
        mean: Mean regret of the first agent minus that of the second; below 0 if the first is better.
        interval: 95 % interval of the mean, over positions; see :mod:`mancala_env.evaluation.intervals`.
        first_better, second_better: Number of positions in which the agent has less regret than the other.
    """

    first: str
    second: str
    ruleset: str
    source: str
    positions: int
    mean: float
    interval: tuple[float, float]
    first_better: int
    second_better: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(self)
        plain["mean_difference"] = plain.pop("mean")
        plain["mean_difference_interval"] = list(plain.pop("interval"))
        return plain


def regret_difference(first: Regret, second: Regret) -> RegretDifference:
    """Compare the regrets of two agents over the same positions, from :func:`measure_regret`.

    A hard position is hard for both agents. So the interval of the difference is narrower than the two
    agents' intervals suggest.

    >>> from mancala_env import agents
    >>> two = [agents.make(spec, "leyla", seed=1) for spec in ("greedy", "random")]
    >>> regret_difference(*(measure_regret(agent, "leyla") for agent in two)).interval[1] < 0
    True

    Raises:
        InvalidMatch: If the rulesets differ, or the regrets are not over the fixed positions.
        InvalidArgument: If an argument is not a Regret.
    """
    for one in (first, second):
        if not isinstance(one, Regret):
            raise InvalidArgument(f"regrets must come from measure_regret, not {one!r}")
        if one.source != FIXED_POSITIONS:
            raise InvalidMatch(
                f"regrets are compared over the {FIXED_POSITIONS} only; the regret of {one.agent} is over "
                f"{one.source}"
            )
    if first.ruleset != second.ruleset or len(first.regrets) != len(second.regrets):
        raise InvalidMatch(
            f"regrets must be over the same positions: {first.agent} has {len(first.regrets)} of "
            f"{first.ruleset}, {second.agent} has {len(second.regrets)} of {second.ruleset}"
        )
    ruleset, other = (one.game or lookup(one.ruleset) for one in (first, second))
    if ruleset.options != other.options:
        raise InvalidMatch(
            f"regrets must be over the same positions: the rules named {ruleset.name} of {first.agent} "
            f"differ from those of {second.agent}"
        )
    apart = first.regrets.astype(np.float64) - second.regrets
    compared = (first.agent, second.agent, ruleset.name, first.source, len(apart))
    better = (int((apart < 0).sum()), int((apart > 0).sum()))
    return RegretDifference(*compared, float(apart.mean()), paired_interval(apart, ruleset), *better)


def paired_interval(apart: np.ndarray, ruleset: Ruleset) -> tuple[float, float]:
    """Return a 95 % interval of the mean of differences of regret `[N]`, one for each position."""
    most = 2.0 * ruleset.total_seeds
    return mean_interval(apart, expected_mistake(ruleset), -most, most)


def expected_mistake(ruleset: Ruleset) -> float:
    """Return the mean cost in seeds of a move that is not optimal, over the fixed positions."""
    # Not cached by ruleset, because positions may be made later.
    is_known = has_exact_positions(ruleset)
    return _mean_mistake(positions(ruleset)) if is_known else _MISTAKE * ruleset.total_seeds


@lru_cache
def _mean_mistake(solved: PositionSet) -> float:
    values = solved.action_values.astype(np.int64)
    regrets = values.max(axis=1, keepdims=True) - values
    costs = regrets[(values != ILLEGAL) & (regrets > 0)]
    return float(costs.mean()) if costs.size else _MISTAKE * solved.ruleset.total_seeds


def has_exact_positions(ruleset: RulesetLike) -> bool:
    """Return whether there are solved positions of exactly this ruleset; see :func:`prepare`."""
    return has_positions(lookup(ruleset))


def measure_regret(agent: AgentLike, ruleset: RulesetLike, *, progress: Progress | None = None) -> Regret:
    """Measure an agent's regret over the bundled solved positions.

    >>> from mancala_env import agents
    >>> regret = measure_regret(agents.make("random", "layli_goobalay", seed=1), "layli_goobalay")
    >>> regret.overall.mean_regret > 1
    True

    Args:
        agent: The agent, or its spec. It chooses one action in each position.
        ruleset: A ruleset with bundled solved positions, or its name.
        progress: Called as progress(positions done, positions).

    Raises:
        NoPositions: If no solved positions are bundled; see :func:`has_exact_positions`.
        InvalidSpec: If the spec is invalid, or the agent plays another ruleset.
    """
    refuse_swapped("measure_regret(agent, ruleset)", ruleset, agent)
    ruleset = lookup(ruleset)
    agent = make(agent, ruleset)
    solved = positions(ruleset)
    chosen = np.zeros(len(solved), np.int64)
    tell = progress or ignored
    for start in range(0, len(solved), _POSITIONS_AT_ONCE):
        tell(start, len(solved))
        some = slice(start, start + _POSITIONS_AT_ONCE)
        chosen[some] = agent.act(solved.games[some])
    tell(len(solved), len(solved))
    regrets = solved.regret(chosen)
    worst = []
    # Of equal regrets the earlier position comes first, because early mistakes are easier to understand.
    for n in np.argsort(-regrets, kind="stable")[:MOST_MISTAKES]:
        values = {a: int(value) for a, value in enumerate(solved.action_values[n]) if value != ILLEGAL}
        worst.append(EvaluatedMove(Position.from_games(ruleset, solved.games, n), int(chosen[n]), values))
    return _summarised(agent, FIXED_POSITIONS, regrets, solved.phase, worst)


def own_games_regret(
    agent: Agent,
    opponent: AgentLike | None = None,
    *,
    max_positions: int = 100,
    time_limit: float = 1.0,
    memory_mb: int = 256,
    **options: Unpack[MatchKeywords],
) -> Regret:
    """Measure an agent's regret over positions of its own games.

    Positions near the start of a round take longest to solve. So later positions have more weight if the time
    limit is short; see `unsolved` and the phases of the result. Positions with only one legal action do not
    count, as in the bundled set.

    Args:
        agent: The agent.
        opponent: The opponent, or its spec. None for self-play, in which the moves of both seats count.
        max_positions: Maximum number of positions to solve, drawn from those in which the agent moved.
        time_limit: Time limit per position in seconds.
        memory_mb: Size of the solver's transposition table in MB.
        options: Attributes of :class:`~mancala_env.evaluation.match_options.MatchOptions`. By default `games`
            is 20 and `seed`, which also chooses the positions, is 0. `rounds` must be 1. `progress` is called
            as progress(positions done, positions).

    Raises:
        InvalidMatch: If `games`, `opening_turns` or `opening_set` is out of range, or `rounds` is not 1.
        InvalidArgument: If `agent` is not an Agent, or a number is out of range.
        InvalidSpec: If the opponent's spec is invalid, or the opponent plays another ruleset.
    """
    check_agent("agent", agent)
    match = MatchOptions(**(MatchKeywords(games=20, seed=0) | options))
    if match.rounds != 1:
        raise InvalidMatch(f"rounds must be 1, because own games are single rounds, not {match.rounds!r}")
    whole("max_positions", max_positions, 1)
    rng = np.random.default_rng(whole("seed", match.seed, 0))
    moves, source = _own_moves(agent, opponent, match, rng)
    chosen = np.sort(rng.permutation(len(moves))[:max_positions])
    solver, tell = Solver(agent.ruleset, memory_mb=memory_mb), match.progress or ignored
    solved: list[EvaluatedMove] = []
    for done, n in enumerate(chosen):
        tell(done, len(chosen))
        position, action = moves[n]
        if (move := _evaluate_move(solver, position, action, time_limit)) is not None:
            solved.append(move)
    tell(len(chosen), len(chosen))
    regrets = np.array([move.regret for move in solved], np.int64)
    phase = np.array([phase_of(move.position) for move in solved], np.int64)
    worst = sorted(solved, key=lambda move: -move.regret)[:MOST_MISTAKES]
    return _summarised(agent, source, regrets, phase, worst, len(chosen) - len(solved))


def _own_moves(
    agent: Agent, opponent: AgentLike | None, match: MatchOptions, rng: np.random.Generator
) -> tuple[list[tuple[Position, int]], str]:
    """Play games; return the agent's moves among several legal actions, and a description of the games."""
    ruleset = agent.ruleset
    for_openings, for_agent, for_opponent = rng.integers(0, 2**63, 3).tolist()
    agent.seed(for_agent)
    opponent = agent if opponent is None else make(opponent, ruleset, num_threads=match.num_threads)
    if opponent is not agent:
        opponent.seed(for_opponent)
    opening_set, turns = openings_to_evaluate(match.opening_set, ruleset, match.opening_turns)
    pairs = num_pairs(match.games)
    # Against itself both seats of an opening give the same game.
    count = match.games if opponent is agent else pairs
    drawn = openings(ruleset, count, turns, for_openings, opening_set=opening_set)
    games = drawn if opponent is agent else np.concatenate([drawn, drawn])
    table = MatchGames(agent, opponent, games, keeps_turns=True)
    table.first_is_south[:count] = True
    while not table.is_over.all():
        table.play_turn()
    moves = [
        (Position.from_games(ruleset, before, n), action)
        for player, _, before, actions in table.turns
        if player is agent
        for n, action in enumerate(actions.tolist())
    ]
    name = "itself" if opponent is agent else opponent.spec
    source = f"own games against {name}, {openings_in_words(opening_set, turns)}"
    return [move for move in moves if len(move[0].legal_actions) > 1], source


def _evaluate_move(solver: Solver, position: Position, action: int, seconds: float) -> EvaluatedMove | None:
    """Return a move with the known exact values, or None if its regret was not found in time."""
    while True:
        with install_recorder("numba:compile") as compiled:
            bounds = solver.solve(position, time_limit=seconds, with_line=False).action_bounds
        best = max(low for low, _ in bounds.values())
        low, high = bounds[action]
        if low == high and not any(upper > best for _, upper in bounds.values()):
            break
        if not compiled.buffer:  # repeat if time was spent on compiling kernels
            return None
    return EvaluatedMove(position, action, {a: low for a, (low, high) in bounds.items() if low == high})


def _summarised(
    agent: Agent,
    source: str,
    regrets: np.ndarray,
    phase: np.ndarray,
    worst: Sequence[EvaluatedMove],
    unsolved: int = 0,
) -> Regret:
    """Summarise the regrets `[N]` of an agent, with the index `[N]` of each position's phase.

    `worst` has the moves with the highest regret, the worst first; optimal moves are dropped.
    """
    ruleset = agent.ruleset
    parts = tuple(_part(name, regrets[phase == i], ruleset) for i, name in enumerate(PHASES))
    overall = _part("all", regrets, ruleset)
    mistakes = tuple(move for move in worst if move.regret > 0)
    return Regret(agent.spec, ruleset.name, source, unsolved, overall, parts, regrets, mistakes, ruleset)


def _part(name: str, regrets: np.ndarray, ruleset: Ruleset) -> PhaseRegret:
    mean, share = (float(regrets.mean()), float((regrets == 0).mean())) if len(regrets) else (np.nan, np.nan)
    # A regret is at most twice the number of seeds.
    interval = regret_interval(regrets, expected_mistake(ruleset), 2.0 * ruleset.total_seeds)
    return PhaseRegret(name, len(regrets), mean, interval, share, share_interval(regrets == 0))
