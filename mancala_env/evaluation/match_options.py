"""Options of matches, round robins and evaluations, as records and as keyword arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from mancala_env.engine.episode import Rounds
from mancala_env.evaluation.openings import Openings

if TYPE_CHECKING:
    from mancala_env.evaluation.agent_evaluation import Evaluation
    from mancala_env.evaluation.round_robin import PlayChunks

Progress = Callable[[int, int], Any]
"""Called from time to time as progress(done, total)."""


def ignored(*told: Any) -> None:
    """Do nothing, as the default of callbacks."""


class MatchKeywords(TypedDict, total=False):
    """Keyword arguments of :func:`~mancala_env.evaluation.play_matches`; see :class:`MatchOptions`."""

    games: int
    opening_turns: int | None
    opening_set: Openings | None
    seed: int | None
    rounds: Rounds
    num_threads: int | None
    progress: Callable[..., Any] | None


class RoundRobinKeywords(MatchKeywords, total=False):
    """Keyword arguments of :func:`~mancala_env.evaluation.round_robin`; see :class:`RoundRobinOptions`."""

    results: str | Path | None
    records: str | Path | None
    play_chunks: "PlayChunks | None"


class EvaluationKeywords(RoundRobinKeywords, total=False):
    """Keyword arguments of :func:`~mancala_env.evaluation.evaluate`; see :class:`EvaluationOptions`."""

    ladder: bool
    max_anchors: int | None
    regret: bool
    own_games: int
    measured: "Callable[[Evaluation], Any] | None"


@dataclass(frozen=True, kw_only=True)
class MatchOptions:
    """Options of :func:`~mancala_env.evaluation.play_matches`.

    Attributes:
        games: Number of games per match; even, because each opening is played from both seats.
        opening_turns: Number of uniformly random turns in an opening, 0 to 12; not for balanced or fair
            openings.
        opening_set: "balanced", "fair", "evaluation", "training" or "all"; see
            :func:`~mancala_env.evaluation.openings`. None for the bundled balanced openings. If there are
            none, or `opening_turns` is given, None means "evaluation". If fewer than 20 openings are held
            out, it means "all".
        seed: Random seed of the openings and of all agents, including agents passed as objects. None, only in
            a single match, for a random seed.
        rounds: Number of rounds per game, or "match" to play until the match is over (at most 1,000 rounds).
        num_threads: Number of CPU threads of agents made from specs; None for all available cores.
        progress: Called as progress(finished games, games).
    """

    games: int = 200
    opening_turns: int | None = None
    opening_set: Openings | None = None
    seed: int | None = None
    rounds: Rounds = 1
    num_threads: int | None = None
    progress: Callable[..., Any] | None = None


@dataclass(frozen=True, kw_only=True)
class RoundRobinOptions(MatchOptions):
    """Options of :func:`~mancala_env.evaluation.round_robin`: those of a match, and these.

    Attributes:
        seed: Random seed of the openings and of all agents.
        results: Results file; finished games are read from it, and new games are appended. Games read from it
            count as finished for `progress`.
        records: File of game records that new games are appended to; see :mod:`mancala_env.games.records`.
            The games of a chunk are recorded before its results. If the process is killed in between, these
            games are replayed and recorded again. No game is missing.
        play_chunks: Plays the games; None plays them in this process.
            :class:`mancala_env.evaluation.ray_matches.RayChunks` plays them on a Ray cluster, with the same
            results.
    """

    seed: int | None = 0
    results: str | Path | None = None
    records: str | Path | None = None
    play_chunks: "PlayChunks | None" = None


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(RoundRobinOptions):
    """Options of :func:`~mancala_env.evaluation.evaluate`: those of a round robin, and these.

    Attributes:
        opening_set: Set of openings. With the ladder, None selects the ladder's openings, and no others are
            allowed. Without the ladder, None has the same meaning as in a match.
        ladder: Whether each agent plays the anchors of the stored ladder, whose ratings are fixed; only with
            rounds=1.
        max_anchors: Maximum number of anchors that each agent plays, of
            :data:`~mancala_env.evaluation.ladder.SCALE_ANCHORS`. Two place an agent on the ladder's scale in
            a short time. None for all but the slow anchors.
        regret: Whether to measure regret over the bundled solved positions.
        own_games: Number of games of each agent against itself, in which its regret is measured; even; 0 for
            none; only with rounds=1.
        progress: Called as progress(stage, done, total).
        measured: Called with the evaluation so far, after the matches and after each regret. If an exception
            stops the matches, it is called with the finished games. So the last call has all measurements.
    """

    ladder: bool = True
    max_anchors: int | None = None
    regret: bool = True
    own_games: int = 0
    measured: "Callable[[Evaluation], Any] | None" = None
