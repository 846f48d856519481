"""Regret: how far an agent's moves are from perfect play, in seeds a move.

The regret of a move is the exact value of the position minus the exact value of the move: 0 for an
optimal move. It is measured over the fixed positions shipped with the package (the same for every agent,
so two agents can be compared position by position), or over an agent's own games (what it costs the agent
where it goes).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba.core.event import install_recorder

from mancala_env._util.checks import whole
from mancala_env.agents import Agent, AgentLike, make
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.intervals import mean_interval, regret_interval, share_interval
from mancala_env.evaluation.matches import Progress, Table, num_pairs
from mancala_env.evaluation.openings import (
    InvalidMatch,
    Openings,
    openings,
    openings_in_words,
    openings_to_evaluate,
)
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver import (
    ILLEGAL,
    PHASES,
    PositionSet,
    Solver,
    positions,
    rulesets_with_positions,
)
from mancala_env.solver.position_sets import phase_of

FIXED_POSITIONS = "fixed positions"
MOST_MISTAKES = 6
"""How many of an agent's worst moves are kept with its regret."""
_POSITIONS_AT_ONCE = 64
# What a mistake is expected to cost where no exact positions say it: over those that are shipped, a move that
# is not optimal costs a twelfth to a quarter of all seeds.
_MISTAKE = 1 / 6


@dataclass(frozen=True)
class PhaseRegret:
    """Regret over the positions of one phase of a round, or of all.

    Attributes:
        phase: Its name.
        positions: Positions with an exact value.
        mean_regret: In seeds a move.
        interval: 95 % interval of it; see :func:`~mancala_env.evaluation.intervals.regret_interval`.
        optimal_share: Share of the moves without regret.
        optimal_interval: 95 % interval of it.
    """

    phase: str
    positions: int
    mean_regret: float
    interval: tuple[float, float]
    optimal_share: float
    optimal_interval: tuple[float, float]


class JudgedMove(NamedTuple):
    """A move of an agent beside the exact values of what it could have played.

    Attributes:
        position: The position it moved in.
        action: What it played.
        values: The exact value of each action that has one.
    """

    position: Position
    action: int
    values: dict[int, int]

    @property
    def regret(self) -> int:
        """The seeds it gave away."""
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
class Regret:
    """Regret of an agent.

    Attributes:
        agent: Its spec.
        ruleset: Name of the ruleset.
        source: Where the positions are from.
        unsolved: Positions whose exact value was not found in time; they are in no number here.
        overall: Over all positions.
        phases: Phase by phase, in the order of a round.
        regrets: `[N]`, the regret in each position.
        worst: The moves that gave most away, the worst first, MOST_MISTAKES at most.
    """

    agent: str
    ruleset: str
    source: str
    unsolved: int
    overall: PhaseRegret
    phases: tuple[PhaseRegret, ...]
    regrets: np.ndarray = field(repr=False, compare=False)
    worst: tuple[JudgedMove, ...] = field(default=(), repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "agent": self.agent,
            "ruleset": self.ruleset,
            "source": self.source,
            "unsolved": self.unsolved,
            "overall": _as_dict(self.overall),
            "phases": [_as_dict(phase) for phase in self.phases],
            "worst": [move.as_dict() for move in self.worst],
        }


def _as_dict(part: PhaseRegret) -> dict[str, Any]:
    return {
        "phase": part.phase,
        "positions": part.positions,
        # JSON has no NaN: a phase without positions says null.
        "mean_regret": part.mean_regret if part.positions else None,
        "mean_regret_interval": list(part.interval) if part.positions else None,
        "optimal_share": part.optimal_share if part.positions else None,
        "optimal_share_interval": list(part.optimal_interval) if part.positions else None,
    }


@dataclass(frozen=True)
class RegretDifference:
    """How two agents' regrets differ, position by position.

    Attributes:
        first: Spec of the agent whose side the numbers take.
        second: Spec of the other.
        ruleset: Name of the ruleset.
        source: Where the positions are from.
        positions: How many.
        mean: Mean regret of the first minus that of the second: below 0 where the first is better.
        interval: 95 % interval of it, over positions; see
            :func:`~mancala_env.evaluation.intervals.mean_interval`.
        first_better: Positions in which the first agent's move has less regret.
        second_better: Positions in which the second's has.
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
        return {
            "first": self.first,
            "second": self.second,
            "ruleset": self.ruleset,
            "source": self.source,
            "positions": self.positions,
            "mean_difference": self.mean,
            "mean_difference_interval": list(self.interval),
            "first_better": self.first_better,
            "second_better": self.second_better,
        }


def regret_difference(first: Regret, second: Regret) -> RegretDifference:
    """Compare two agents over the same positions.

    What is hard about a position is the same for both, so the interval is narrower than the two agents'
    own intervals suggest.

    >>> from mancala_env import agents
    >>> two = [agents.make(spec, "leyla", seed=1) for spec in ("greedy", "random")]
    >>> regret_difference(*(measure_regret(agent, "leyla") for agent in two)).interval[1] < 0
    True

    Args:
        first: From :func:`measure_regret`.
        second: From :func:`measure_regret`, of the same ruleset.

    Raises:
        InvalidMatch: They are of two rulesets, or not over the fixed positions.
        InvalidArgument: One is no Regret.
    """
    for one in (first, second):
        if not isinstance(one, Regret):
            raise InvalidArgument(f"regrets must be of measure_regret, not {one!r}")
        if one.source != FIXED_POSITIONS:
            raise InvalidMatch(
                f"regrets are compared over the {FIXED_POSITIONS}, the same for all; those of {one.agent} "
                f"are over its {one.source}"
            )
    if first.ruleset != second.ruleset or len(first.regrets) != len(second.regrets):
        raise InvalidMatch(
            f"the regret of {first.agent} is over {len(first.regrets)} positions of {first.ruleset}, that of "
            f"{second.agent} over {len(second.regrets)} of {second.ruleset}"
        )
    apart = first.regrets.astype(np.float64) - second.regrets
    most = 2.0 * lookup(first.ruleset).total_seeds
    return RegretDifference(
        first.agent,
        second.agent,
        first.ruleset,
        first.source,
        len(apart),
        float(apart.mean()),
        mean_interval(apart, expected_mistake(lookup(first.ruleset)), -most, most),
        int((apart < 0).sum()),
        int((apart > 0).sum()),
    )


@lru_cache
def expected_mistake(ruleset: Ruleset) -> float:
    """Return the seeds a move costs that is not optimal: the mean of all those in the fixed positions."""
    if not has_exact_positions(ruleset):
        return _MISTAKE * ruleset.total_seeds
    values = positions(ruleset).action_values.astype(np.int64)
    regrets = values.max(axis=1, keepdims=True) - values
    return float(regrets[(values != ILLEGAL) & (regrets > 0)].mean())


def has_exact_positions(ruleset: str | Ruleset) -> bool:
    """Tell whether exact positions of a ruleset are shipped with the package."""
    ruleset = lookup(ruleset)
    return ruleset.name in rulesets_with_positions() and lookup(ruleset.name) == ruleset


def measure_regret(agent: AgentLike, ruleset: str | Ruleset, *, progress: Progress | None = None) -> Regret:
    """Measure an agent's regret over the fixed positions shipped with the package.

    >>> from mancala_env import agents
    >>> regret = measure_regret(agents.make("random", "layli_goobalay", seed=1), "layli_goobalay")
    >>> regret.overall.mean_regret > 1
    True

    Args:
        agent: The agent, or its spec; it is asked once for each position.
        ruleset: A ruleset of which exact positions are shipped.
        progress: Called as progress(positions played, positions).

    Raises:
        NoPositions: None are; see :func:`has_exact_positions`.
        InvalidSpec: The spec names no agent, or the agent plays another ruleset.
    """
    ruleset = lookup(ruleset)
    agent = make(agent, ruleset)
    shipped = positions(ruleset)
    chosen = np.zeros(len(shipped), np.int64)
    for start in range(0, len(shipped), _POSITIONS_AT_ONCE):
        if progress is not None:
            progress(start, len(shipped))
        some = slice(start, start + _POSITIONS_AT_ONCE)
        chosen[some] = agent.act(shipped.games[some])
    if progress is not None:
        progress(len(shipped), len(shipped))
    regrets = shipped.regret(chosen)
    # The earlier of equal regrets goes first: a mistake near the start is the easier one to follow.
    worst = [
        _shipped_move(shipped, n, int(chosen[n])) for n in np.argsort(-regrets, kind="stable")[:MOST_MISTAKES]
    ]
    return summarised(agent, FIXED_POSITIONS, regrets, shipped.phase, shipped.phases, 0, worst)


def _shipped_move(shipped: PositionSet, n: int, action: int) -> JudgedMove:
    values = {a: int(value) for a, value in enumerate(shipped.action_values[n]) if value != ILLEGAL}
    return JudgedMove(Position.from_games(shipped.ruleset, shipped.games, n), action, values)


def own_games_regret(
    agent: Agent,
    opponent: AgentLike | None = None,
    *,
    games: int = 20,
    opening_turns: int | None = None,
    opening_set: Openings | None = None,
    seed: int = 0,
    max_positions: int = 100,
    time_limit: float = 1.0,
    memory_mb: int = 256,
    progress: Progress | None = None,
) -> Regret:
    """Measure an agent's regret where its own games lead it.

    Positions near the start of a round take longest to solve, so with a short time limit the later ones
    weigh more: `unsolved` and the numbers by phase say how much. Moves without a choice do not count,
    as in the fixed positions.

    Args:
        agent: The agent.
        opponent: Whom it plays, or a spec; None: itself, and the moves of both sides count.
        games: Games to play, even.
        opening_turns: Random turns that make an opening.
        opening_set: Which openings; None as in :func:`~mancala_env.evaluation.play_matches`.
        seed: Seed of the openings, both agents and the choice of positions.
        max_positions: Most positions to solve, drawn from all it moved in.
        time_limit: Seconds to give each of them.
        memory_mb: Memory of the solver's table.
        progress: Called as progress(positions tried, positions).

    Raises:
        InvalidArgument: `agent` is none, or a number is out of range.
        InvalidSpec: The opponent's spec names no agent, or it plays another ruleset.
    """
    if not isinstance(agent, Agent):
        raise InvalidArgument(f"agent must be one, such as agents.make('greedy', 'leyla'), not {agent!r}")
    ruleset = agent.ruleset
    whole("seed", seed, 0)
    whole("max_positions", max_positions, 1)
    rng = np.random.default_rng(seed)
    for_openings, for_agent, for_opponent = rng.integers(0, 2**63, 3).tolist()
    agent.seed(for_agent)
    opponent = agent if opponent is None else make(opponent, ruleset)
    if opponent is not agent:
        opponent.seed(for_opponent)
    chosen_set, turns = openings_to_evaluate(opening_set, ruleset, opening_turns)
    pairs = num_pairs(games)
    # Against itself the other seat would play the same game again.
    count = games if opponent is agent else pairs
    drawn = openings(ruleset, count, turns, for_openings, opening_set=chosen_set)
    met, actions = _moves_of(agent, opponent, drawn)
    positions_met = [Position.from_games(ruleset, met, n) for n in range(len(met))]
    has_choice = np.array([len(position.legal_actions) > 1 for position in positions_met])
    chosen = np.sort(rng.permutation(np.flatnonzero(has_choice))[:max_positions])
    solving = Solver(ruleset, memory_mb=memory_mb)
    moves: list[JudgedMove] = []
    for done, n in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen))
        judged = _judged(solving, positions_met[n], int(actions[n]), time_limit)
        if judged is not None:
            moves.append(judged)
    if progress is not None:
        progress(len(chosen), len(chosen))
    source = "own games against " + ("itself" if opponent is agent else opponent.spec)
    source += f", {openings_in_words(chosen_set, turns)}"
    return summarised(
        agent,
        source,
        np.array([move.regret for move in moves], np.int64),
        np.array([phase_of(move.position) for move in moves], np.int64),
        PHASES,
        len(chosen) - len(moves),
        sorted(moves, key=lambda move: -move.regret)[:MOST_MISTAKES],
    )


def _moves_of(agent: Agent, opponent: Agent, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Play openings; return every position the agent moved in, and its actions.

    Another opponent meets each from both seats.
    """
    table = Table(agent, opponent, drawn if opponent is agent else np.concatenate([drawn, drawn]))
    table.first_is_south[: len(drawn)] = True
    met, actions = [], []
    while not table.is_over.all():
        for index, player in enumerate(table.agents):
            rows = table.rows_to_move(index)
            if len(rows):
                before = table.games[rows]
                chosen = player.act(before)
                table.play(player, rows, chosen)
                if player is agent:
                    met.append(before)
                    actions.append(chosen)
    return np.concatenate(met), np.concatenate(actions)


def _judged(solving: Solver, position: Position, action: int, time_limit: float) -> JudgedMove | None:
    """Return a move beside the values that are known, or None where the time did not do for its regret."""
    while True:
        with install_recorder("numba:compile") as compiled:
            bounds = solving.solve(position, time_limit=time_limit, with_line=False).action_bounds
        best = max(low for low, _ in bounds.values())
        low, high = bounds[action]
        if low == high and not any(upper > best for _, upper in bounds.values()):
            break
        if not compiled.buffer:  # else its time went into compiling kernels
            return None
    return JudgedMove(position, action, {a: low for a, (low, high) in bounds.items() if low == high})


def summarised(
    agent: Agent,
    source: str,
    regrets: np.ndarray,
    phase: np.ndarray,
    phases: tuple[str, ...],
    unsolved: int,
    worst: Sequence[JudgedMove] = (),
) -> Regret:
    """Summarise regrets.

    Args:
        agent: Whose they are.
        source: Where the positions are from.
        regrets: `[N]`, regret of each move, in seeds.
        phase: `[N]`, index of each position's phase.
        phases: Names of the phases.
        unsolved: Positions left out.
        worst: The moves that gave most away, the worst first; those that gave nothing away are left out.
    """
    ruleset = agent.ruleset
    parts = tuple(_part(name, regrets[phase == i], ruleset) for i, name in enumerate(phases))
    overall = _part("all", regrets, ruleset)
    mistakes = tuple(move for move in worst if move.regret > 0)
    return Regret(agent.spec, ruleset.name, source, unsolved, overall, parts, regrets, mistakes)


def _part(name: str, regrets: np.ndarray, ruleset: Ruleset) -> PhaseRegret:
    """Summarise regrets `[N]` under a name."""
    mean, share = (float(regrets.mean()), float((regrets == 0).mean())) if len(regrets) else (np.nan, np.nan)
    # A regret is at most twice the seeds there are.
    interval = regret_interval(regrets, expected_mistake(ruleset), 2.0 * ruleset.total_seeds)
    return PhaseRegret(name, len(regrets), mean, interval, share, share_interval(regrets == 0))
