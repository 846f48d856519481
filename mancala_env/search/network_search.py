"""A tree search guided by your own network: :func:`puct`.

>>> import numpy as np
>>> from mancala_env import Batch, search
>>> def evaluate(observations, legal):  # of N positions: a network that knows nothing
...     return np.zeros(legal.shape), np.zeros(len(legal))
>>> batch = Batch("leyla", 3, seed=1)
>>> found = search.puct("leyla", batch, evaluate, search.Limit(simulations=50), seed=1)
>>> found.policy.shape, found.values.shape, found.simulations.tolist()
((3, 6), (3,), [50, 50, 50])
>>> batch.step(found.actions)

Symbols: B games, N positions, A actions.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np

from mancala_env._util.checks import is_number, refuse_swapped, seed_of, truth
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.threads import num_threads_of
from mancala_env.engine.validation import check_running
from mancala_env.errors import InvalidArgument, did_you_mean
from mancala_env.games.batch import Batch
from mancala_env.games.position import Position
from mancala_env.networks.value import position_values
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.search.limit import Limit, check_limit
from mancala_env.search.tree_growth import Guide, PuctResults, RootOptions, search_games
from mancala_env.search.tree_search import reward_of

EvaluateObservations: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[Any, Any]]
"""Your network: maps observations `[N, *shape]` and legal actions, bool `[N, A]`, to logits and values.

Logits are `[N, A]`; those of illegal actions are ignored. Values are `[N]`, for the player to move, from -1
(a certain loss) to 1; others are clipped. Both may be arrays of NumPy, torch or JAX. N differs from call to
call.
"""


class PuctOptions(TypedDict, total=False):
    """Keyword arguments of :func:`puct`.

    Attributes:
        observation: One of ``mancala_env.observations.KINDS``; default "board".
        rounds: Rounds of an episode, which determine A; see :meth:`Ruleset.num_actions`. Default 1. The
            search ends with the round: proven values are those of the round, not of the match.
        noise: Share of Dirichlet noise in the priors at the root, 0 to 1; default 0. AlphaZero trains with
            0.25.
        alpha: Concentration of that noise; None, the default: 10 divided by the number of legal actions.
        temperature: 0, the default: play the most visited action, or a proven best one. Above 0: draw
            actions in proportion to ``policy ** (1 / temperature)``. A number, or one for each game, `[B]`.
        gumbel: Select actions at the root by sequential halving with Gumbel noise; `policy` is then the
            improved policy. `temperature` scales the noise: 1 to train, 0 to play. Default False.
        margin_share: Weight of the margin in your network's values, 0 to 1: 0, the default, if they predict
            the outcome, 1 if they predict the margin divided by the number of seeds.
        seed: Random seed, a NumPy generator, or None for a seed from the operating system.
        num_threads: CPU threads that write observations; None: all cores of this process.
    """

    observation: str
    rounds: Rounds
    noise: float
    alpha: float | None
    temperature: float | np.ndarray
    gumbel: bool
    margin_share: float
    seed: int | np.random.Generator | None
    num_threads: int | None


def puct(
    ruleset: RulesetLike,
    games: np.ndarray | Batch | Position | Sequence[Position],
    evaluate: EvaluateObservations,
    limit: Limit,
    **options: Unpack[PuctOptions],
) -> PuctResults:
    """Search games by PUCT (Silver et al. 2017), guided by your network.

    Up to 256 games are searched side by side, so `evaluate` is called with many positions at once. Proven
    endgames are not evaluated. The same seed gives the same results. The search of a game depends on its
    position and its row, not on the other games. With a time limit, results depend on the machine.

    Args:
        ruleset: Ruleset name, or a ruleset.
        games: Running games: uint64 `[B, 16]` such as ``Batch.games``, a Batch, a Position or several; not
            changed.
        evaluate: Your network; see :data:`EvaluateObservations`.
        limit: Simulations or seconds for each game. The first simulation evaluates the position itself.
        options: See :class:`PuctOptions`.

    Returns:
        Actions, policy and values; see :class:`PuctResults`.

    Raises:
        InvalidArgument: An option or the limit is invalid, or `evaluate` returned other shapes or NaN.
        InvalidPosition: A game is over, or impossible in the ruleset or in episodes of `rounds` rounds.
    """
    refuse_swapped("search.puct(ruleset, games, evaluate, limit)", ruleset, games)
    for name in set(options) - set(PuctOptions.__annotations__):
        raise InvalidArgument(f"unknown option {name!r}{did_you_mean(name, PuctOptions.__annotations__)}")
    rules, rounds = lookup(ruleset), options.get("rounds", 1)
    array = np.array(check_running(rules, rounds, _games_of(rules, games)), order="C")
    root = _root_options(options, len(array))
    check_search_limit(limit, root.gumbel)
    observer = Observer(rules, options.get("observation", "board"), rules.num_actions(rounds))
    margin_share = fraction("margin_share", options.get("margin_share", 0.0))
    threads = num_threads_of(options.get("num_threads"))
    guide = guide_of(evaluate, observer, margin_share, lambda: threads)
    seed = options.get("seed")
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_of(seed))
    seeds = rng.integers(0, 2**64, len(array), dtype=np.uint64)
    return search_games(rules, array, limit, guide, seeds, observer.num_actions, root)


def guide_of(
    evaluate: EvaluateObservations, observer: Observer, margin_share: float, num_threads: Callable[[], int]
) -> Guide:
    """Return a guide of the search that observes positions and calls a network; see :func:`puct`.

    `num_threads` is called at each evaluation, because the threads of an agent may change. In later
    rounds a player may have only actions that a network of single rounds does not know. The value of such a
    position is the margin of counts.
    """
    if not callable(evaluate):
        raise InvalidArgument(f"evaluate must be a function of observations and masks, not {evaluate!r}")

    def evaluate_games(games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        observations = observer.empty(len(games))
        legal = np.empty((len(games), observer.num_actions), np.bool_)
        observer.write(games, observations, legal, num_threads=num_threads())
        logits, values = _checked(evaluate(observations, legal), legal)
        is_known = legal.any(axis=1)
        if not is_known.all():
            margins = position_values(observer.ruleset, games[~is_known], None)
            values[~is_known] = reward_of(margins, margin_share, observer.ruleset)
        return logits, values

    return Guide(None, evaluate_games, margin_share)


def _checked(found: Any, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and values as float32; raise InvalidArgument for other shapes, and for NaN."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        parts = f" of {len(found)}" if isinstance(found, tuple | list) else ""
        raise InvalidArgument(f"evaluate must return (logits, values), not {type(found).__name__}{parts}")
    logits, values = _array("logits", found[0]), _array("values", found[1])
    if logits.shape != legal.shape:
        raise InvalidArgument(f"evaluate must return logits of shape {legal.shape}, not {logits.shape}")
    if values.shape != legal.shape[:1]:
        hint = "; remove the last axis" if values.shape == (len(legal), 1) else ""
        raise InvalidArgument(
            f"evaluate must return values of shape {legal.shape[:1]}, not {values.shape}{hint}"
        )
    wrong = np.argwhere(~np.isfinite(logits) & legal)
    if len(wrong):
        row, action = map(int, wrong[0])
        raise InvalidArgument(
            f"evaluate returned logit {logits[row, action]} for legal action {action} of position {row}; "
            "logits of legal actions must be finite"
        )
    if np.isnan(values).any():
        raise InvalidArgument(f"evaluate returned value nan for position {int(np.isnan(values).argmax())}")
    return logits, np.clip(values, -1, 1)


def _array(name: str, found: Any) -> np.ndarray:
    """Return an array of NumPy, torch or JAX as a writable float32 array."""
    if hasattr(found, "detach"):  # a torch tensor, maybe with a gradient, on a GPU, or of bfloat16
        found = found.detach().cpu().float()
    try:
        array = np.asarray(found)
        if array.dtype.kind in "cSU":
            raise TypeError(f"its numbers are {array.dtype}, not real")
        return np.require(array, np.float32, ["C", "W"])
    except (TypeError, ValueError) as error:
        what = " ".join(repr(found).split())[:60]
        raise InvalidArgument(f"evaluate must return an array as {name}, not {what}: {error}") from error


def _games_of(ruleset: Ruleset, games: Any) -> Any:
    """Return the games of an array, a Batch, a Position or several; see :func:`puct`."""
    several: list[Any] = [*games] if isinstance(games, list | tuple) else [games]
    if not several or not all(isinstance(each, Batch | Position) for each in several):
        return games
    for each in several:
        if each.ruleset != ruleset:
            raise InvalidArgument(f"a game of {each.ruleset.name} cannot be searched as {ruleset.name}")
    return np.concatenate([each.games for each in several])


def _root_options(options: PuctOptions, size: int) -> RootOptions:
    gumbel = truth("gumbel", options.get("gumbel", False))
    noise = fraction("noise", options.get("noise", 0.0))
    if gumbel and noise:
        raise InvalidArgument(f"noise={noise} and gumbel=True exclude each other: Gumbel noise explores")
    alpha = options.get("alpha")
    temperature: Any = options.get("temperature", 0.0)
    if isinstance(temperature, np.ndarray):
        is_valid = temperature.shape == (size,) and temperature.dtype.kind in "iuf"
        if not is_valid or not (np.isfinite(temperature) & (temperature >= 0)).all():
            raise InvalidArgument(
                f"temperature must be a number of at least 0, or one for each of {size} games, not "
                f"{temperature!r}"
            )
    else:
        temperature = _number("temperature", temperature, 0)
    return RootOptions(noise, None if alpha is None else _number("alpha", alpha, 1e-3), temperature, gumbel)


def fraction(name: str, value: Any) -> float:
    """Return a number from 0 to 1; raise InvalidArgument for another value."""
    return _number(name, value, 0, 1)


def _number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    if not is_number(value) or not least <= value <= most or math.isinf(value):
        allowed = f"of at least {least}" if math.isinf(most) else f"from {least} to {most}"
        raise InvalidArgument(f"{name} must be a number {allowed}, not {value!r}")
    return float(value)


def check_search_limit(limit: Any, gumbel: bool) -> Limit:
    """Return a limit of a search by PUCT; raise InvalidArgument if it is invalid."""
    if gumbel:
        return check_limit(limit, ("simulations",), "a search with gumbel=True")
    return check_limit(limit, ("simulations", "seconds"), "puct")
