"""Pure functions on arrays of games, for JAX and for searches of your own.

:func:`start` and :func:`step` return new arrays and never change their input. :class:`Batch` calls the same
kernel and rewrites its arrays in place.

>>> import mancala_env
>>> first = mancala_env.start("leyla", num_games=3)
>>> after = mancala_env.step("leyla", first.games, [0, 1, 5])
>>> after.player.tolist(), after.is_over.tolist()
([1, 1, 1], [False, False, False])

Symbols: B games, A actions.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from mancala_env._util.checks import one_of, refuse_swapped, whole_actions
from mancala_env.engine.episode import EpisodeSettings, Rounds, encode_episode
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.jit.threads import num_threads_of, run_in_slices
from mancala_env.engine.state import END_COLUMN, ENDLESS, NORTH, RUNNING, SOUTH, Rules, encode
from mancala_env.engine.validation import check_array, check_games, check_running
from mancala_env.games import batch as kernels
from mancala_env.games.batch import Batch, illegal_action
from mancala_env.observations import KINDS, Observer
from mancala_env.rulesets import Ruleset, RulesetLike, lookup


class TimeStep(NamedTuple):
    """Games after a step, and what the players need for the next one.

    A NamedTuple is a pytree, so JAX functions can take and return it.

    Attributes:
        games: uint64 `[B, 16]`, the games in the format of the engine, such as ``Batch.games``.
        player: int8 `[B]`, the player to move: 0 South, 1 North.
        legal_mask: int8 `[B, A]`, 1 for the legal actions of the player to move; zeros where `is_over`.
        observation: float32 `[B, F]`, or int16 `[B, A, G]`, of the player to move; see
            :mod:`mancala_env.observations`.
        rewards: float32 `[B, 2]`, rewards of South and North where this step ended the episode, otherwise 0.
        reward: float32 `[B]`, reward of the player who moved in this step.
        is_over: bool `[B]`, whether the episode is over, since this step or earlier.
        is_truncated: bool `[B]`, whether this step ended a match at the limit of 1,000 rounds (RULES 5.4).
        counts: int16 `[B, 2]`, counts of South and North after the turn.
    """

    games: np.ndarray
    player: np.ndarray
    legal_mask: np.ndarray
    observation: np.ndarray
    rewards: np.ndarray
    reward: np.ndarray
    is_over: np.ndarray
    is_truncated: np.ndarray
    counts: np.ndarray


def start(
    ruleset: RulesetLike,
    num_games: int = 1,
    *,
    rounds: Rounds = 1,
    seed: int | None = None,
    first_player: Literal[0, 1, "random"] = 0,
    opening_turns: int = 0,
    opening_set: OpeningSet = "all",
    observation: str = "board",
) -> TimeStep:
    """Return the starts of episodes; :class:`mancala_env.Batch` describes the arguments and the errors.

    >>> first = start("gabata_i", 2, rounds="match")
    >>> first.games.shape, first.legal_mask.shape, first.rewards.tolist()
    ((2, 16), (2, 12), [[0.0, 0.0], [0.0, 0.0]])
    """
    refuse_swapped("start(ruleset, num_games)", ruleset, num_games)
    batch = Batch(
        ruleset,
        num_games,
        rounds,
        seed,
        first_player=first_player,
        opening_turns=opening_turns,
        opening_set=opening_set,
        observation=observation,
    )
    return _time_step(batch.games, batch._outputs, batch.observation, batch.done)


def step(
    ruleset: RulesetLike,
    games: Any,
    actions: Any,
    *,
    rounds: Rounds = 1,
    reward: Literal["outcome", "margin"] = "outcome",
    illegal: Literal["raise", "lose"] = "raise",
    observation: str = "board",
    num_threads: int | None = None,
) -> TimeStep:
    """Play one turn in every game and return the next games; the input does not change.

    A game whose episode is over does not change. Its reward is 0, and its action is ignored. Arrays of torch
    and JAX on the CPU are accepted.

    >>> first = start("layli_goobalay", 2)
    >>> after = step("layli_goobalay", first.games, [2, 4])
    >>> after.legal_mask[0].nonzero()[0].tolist()
    [0, 2, 3, 5]
    >>> lost = step("layli_goobalay", after.games, [1, 0], illegal="lose")      # 1 is illegal in game 0
    >>> lost.is_over.tolist(), lost.reward.tolist()
    ([True, False], [-1.0, 0.0])

    Args:
        ruleset: Ruleset name, or a ruleset.
        games: uint64 `[B, 16]`, such as ``TimeStep.games``, ``Batch.games`` or ``Position.games``.
        actions: Integers `[B]`, an action of the player to move in each game.
        rounds: Most rounds of an episode, 1 to 1,000, or "match". Use the same value for each step.
        reward: "outcome" (+1, 0, -1) or "margin" (difference of the counts divided by all seeds).
        illegal: Effect of an illegal action: "raise" an IllegalMove, or "lose": the mover's reward is -1, and
            the game ends with its board unchanged and the end "endless".
        observation: Kind of observation, as for :class:`mancala_env.Batch`.
        num_threads: CPU threads; None uses every core that this process may use.

    Raises:
        IllegalMove: An action is illegal, and `illegal` is "raise"; the message names the game.
        InvalidPosition: `games` has another shape or type, or a game is impossible. Or `rounds` is 1 and
            territory has changed hands. Or a next round would lack seeds.
        InvalidRuleset: The ruleset is unknown.
        NoValueNetwork: The observation is "values", and no value network of the ruleset is bundled.
        InvalidArgument: Another argument is invalid, or an array is not on the CPU.
    """
    refuse_swapped("step(ruleset, games, actions)", ruleset, games)
    ruleset, settings = lookup(ruleset), encode_episode(rounds, reward=reward)
    loses = one_of("illegal", illegal, ("raise", "lose")) == "lose"
    observer = _observer(ruleset, one_of("observation", observation, KINDS), ruleset.num_actions(rounds))
    threads = num_threads_of(num_threads)
    after = _checked(ruleset, rounds, games).copy()
    chosen = whole_actions("actions must be", actions, len(after))
    out = _outputs(observer, after)
    _play(encode(ruleset), settings, after, chosen, out, loses, threads)
    is_over = after[:, END_COLUMN] != RUNNING
    observed = out.observation
    if observed is None:  # a kind that the kernel cannot write
        observed = observer.empty(len(after))
        observer.write(after, observed, where=~is_over, num_threads=threads)
    return _time_step(after, out, observed, is_over)


def _time_step(games: np.ndarray, out: Any, observation: np.ndarray, is_over: np.ndarray) -> TimeStep:
    return TimeStep(
        games=games,
        player=out.player,
        legal_mask=out.legal_mask,
        observation=observation,
        rewards=out.rewards,
        reward=out.reward,
        is_over=is_over,
        is_truncated=out.truncated,
        counts=out.counts,
    )


def _play(
    rules: Rules,
    settings: EpisodeSettings,
    games: np.ndarray,
    actions: np.ndarray,
    out: Any,
    loses: bool,
    num_threads: int,
) -> None:
    """Play the actions in the running games, in place, and write `out`; refuse or punish illegal ones."""
    size = len(games)

    def run(kernel: Callable[..., Any], *arguments: Any) -> None:
        run_in_slices(lambda a, b: kernel(*arguments, a, b), size, num_threads)

    run(kernels.view_rows, rules, games, out, np.ones(size, np.bool_))
    mover, is_running = out.player.copy(), games[:, END_COLUMN] == RUNNING
    is_inside = (actions >= 0) & (actions < out.legal_mask.shape[1])
    is_legal = is_inside & (out.legal_mask[np.arange(size), np.where(is_inside, actions, 0)] != 0)
    is_illegal = is_running & ~is_legal
    if is_illegal.any():
        b = int(is_illegal.argmax())
        if not loses:
            raise illegal_action(b, int(mover[b]), int(actions[b]), out.legal_mask[b])
        games[is_illegal, END_COLUMN] = ENDLESS
        run(kernels.view_rows, rules, games, out, is_illegal)
        out.reward[is_illegal] = -1
        out.rewards[is_illegal] = np.where(mover[is_illegal, None] == (SOUTH, NORTH), -1, 1)
    generators = np.zeros(size, np.uint64)  # only an automatic reset draws numbers
    run(kernels.step_rows, rules, settings, False, games, generators, actions, is_running & is_legal, out)


def _outputs(observer: Observer, games: np.ndarray) -> Any:
    """Return the arrays that the kernels of Batch write; those of final games are not needed here."""
    size = len(games)
    observation = observer.for_kernels(observer.empty(size))
    return kernels.Outputs(
        player=np.zeros(size, np.int8),
        legal_mask=np.zeros((size, observer.num_actions), np.int8),
        observation=observation,
        rewards=np.zeros((size, 2), np.float32),
        reward=np.zeros(size, np.float32),
        done=np.zeros(size, np.bool_),
        truncated=np.zeros(size, np.bool_),
        counts=np.zeros((size, 2), np.int16),
        final_observation=observation,  # the kernel writes the observation afterwards
        final_games=games,
    )


def _checked(ruleset: Ruleset, rounds: Rounds, games: Any) -> np.ndarray:
    """Return games whose episodes are running or over, or raise an InvalidPosition."""
    array = check_array(games)
    is_over = array[:, END_COLUMN] != RUNNING
    if not is_over.any():
        return check_running(ruleset, rounds, array)
    over, running = np.flatnonzero(is_over), np.flatnonzero(~is_over)
    check_games(ruleset, array[over], over)
    check_running(ruleset, rounds, array[running], running)
    return array


@lru_cache
def _observer(ruleset: Ruleset, kind: str, num_actions: int) -> Observer:
    return Observer(ruleset, kind, num_actions)
