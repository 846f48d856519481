"""Observer: the observations of one kind, of games of one ruleset.

Other modules use an :class:`Observer`, and do not depend on the kind.

Symbols: B games, A actions, F features of the board, G features of an action.
"""

import math
from contextlib import suppress
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from gymnasium import spaces

from mancala_env._util.checks import mask, one_of, refuse_swapped, truth, whole
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.threads import num_threads_of, run_in_slices
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH, encode, load
from mancala_env.engine.turn import write_mask
from mancala_env.engine.validation import check_array
from mancala_env.errors import InvalidArgument
from mancala_env.networks.value_files import NoValueNetwork
from mancala_env.observations.board import BoardKind, Part
from mancala_env.observations.per_action import NUM_LINES, ActionKind
from mancala_env.rulesets import RulesetLike, lookup

ObservationKind = Literal["board", "afterstates", "replies", "lines", "leaves", "values"]
KINDS: tuple[ObservationKind, ...] = get_args(ObservationKind)
"""The kinds of observation."""
_KINDS: dict[str, BoardKind | ActionKind] = {
    "board": BoardKind(),
    "afterstates": ActionKind(1),
    "replies": ActionKind(2),
    "lines": ActionKind(4),
    "leaves": ActionKind(4, NUM_LINES),
    "values": ActionKind(4, NUM_LINES, has_network=True),
}

_TO_MOVE = -1


class Observer:
    """Writer of one kind of observation, for games of one ruleset.

    Attributes:
        ruleset: The ruleset.
        kind: One of KINDS.
        num_actions: A.
        is_flat: Whether observations are flattened to one vector.
        shape: Shape of the observation of one game: `(F,)` for "board"; `(A, G)`, or `(A * G,)` if flat, for
            other kinds.
        dtype: float32 for "board", int16 for other kinds.
        version: Version of the features and their order; checkpoints store it. The version of "values" ends
            with a hash of the value network.
        is_per_action: Whether the first axis is the actions.
        low, high: Bounds of each feature, of `shape` and `dtype`.
    """

    def __init__(
        self,
        ruleset: RulesetLike,
        kind: str = "board",
        num_actions: int | None = None,
        *,
        flatten: bool = False,
    ) -> None:
        """Prepare a kind of observation.

        Args:
            ruleset: Name of a ruleset, or a Ruleset.
            kind: One of KINDS.
            num_actions: A, such as ``Batch.num_actions``; None: W, for single rounds.
            flatten: Whether to write one vector, whatever the kind. The order of features does not change.

        Raises:
            InvalidRuleset: The ruleset is unknown.
            NoValueNetwork: The kind is "values", and no value network of the ruleset is bundled.
            InvalidArgument: The kind is unknown, `num_actions` is out of range, or `flatten` is not a bool.
        """
        refuse_swapped("Observer(ruleset, kind)", ruleset, kind)
        self.ruleset = lookup(ruleset)
        self.kind: ObservationKind = one_of("observation", kind, KINDS)
        given = self.ruleset.num_actions() if num_actions is None else num_actions
        self.num_actions = whole("num_actions", given, 1, self.ruleset.num_holes)
        self._kind = _KINDS[self.kind]
        self._rules = encode(self.ruleset)
        self.is_flat = truth("flatten", flatten)
        num_features = list(self.parts.values())[-1].stop
        leading = (self.num_actions,) if self._kind.is_per_action else ()
        self._written_shape = (*leading, num_features)
        self.is_per_action = self._kind.is_per_action and not self.is_flat
        self.shape: tuple[int, ...] = (
            (math.prod(self._written_shape),) if self.is_flat else self._written_shape
        )
        self.dtype = np.dtype(self._kind.dtype)
        self.version = self._kind.version(self.ruleset)
        low, high = self._kind.bounds(self.ruleset, self.num_actions)
        self.low, self.high = low.reshape(self.shape), high.reshape(self.shape)

    @cached_property
    def space(self) -> spaces.Box:
        """The Gymnasium space of one observation."""
        return spaces.Box(self.low, self.high, dtype=self.dtype.type)  # pyright: ignore[reportArgumentType]

    @property
    def parts(self) -> dict[str, Part]:
        """The parts of the features by name, in order: of the board, or of one action."""
        return self._kind.parts(self.ruleset, self.num_actions)

    def empty(self, num_games: int) -> np.ndarray:
        """Return zeros for `num_games` games, `[B, *shape]` of `dtype`."""
        return np.zeros((num_games, *self.shape), self.dtype)

    def observe(self, games: np.ndarray, players: int | np.ndarray | None = None) -> np.ndarray:
        """Return observations of games, `[B, *shape]`; see :meth:`write` for the arguments.

        Raises:
            InvalidPosition: `games` is not uint64 `[B, NUM_COLUMNS]`.
            InvalidArgument: `players` is invalid.
        """
        games = check_array(games)
        out = self.empty(len(games))
        self.write(games, out, players=players)
        return out

    def write(
        self,
        games: np.ndarray,
        out: np.ndarray,
        legal: np.ndarray | None = None,
        *,
        players: int | np.ndarray | None = None,
        where: np.ndarray | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Write observations of games.

        For the player who does not move, the mask and the features of actions are zeros; the board is
        complete.

        Args:
            games: Games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``. They are not checked.
            out: `[B, *shape]` of `dtype`, contiguous; overwritten.
            legal: bool or int8 `[B, A]`, contiguous; overwritten with 1 where the action is legal.
            players: The observing player, 0 or 1 for all games or integers `[B]`; None: the player to move.
            where: bool `[B]`, the games to write; None writes all.
            num_threads: CPU threads; None uses every core that this process may use.

        Raises:
            InvalidArgument: An array has another shape, type or layout. Nothing has been written.
        """
        batch = len(games)
        _check_array("games", games, (batch, NUM_COLUMNS), (np.uint64,))
        _check_array("out", out, (batch, *self.shape), (self.dtype.type,), is_written=True)
        seen_by = np.full(batch, _TO_MOVE, np.int8)
        if players is not None:
            given = np.asarray(players)
            if given.shape not in ((), (batch,)) or not np.isin(given, (SOUTH, NORTH)).all():
                raise InvalidArgument(f"players must be 0 or 1, or {batch} of them, not {players!r}")
            seen_by[:] = given
        if not games.flags.writeable:
            games = games.copy()  # numba would compile the kernels a second time
        wanted = np.ones(batch, np.bool_) if where is None else mask("where", where, batch)
        threads = num_threads_of(num_threads)
        if legal is not None:
            _check_array("legal", legal, (batch, self.num_actions), (np.bool_, np.int8), is_written=True)
            marks = legal.view(np.int8)
            run_in_slices(
                lambda a, b: _write_legal(self._rules, games, seen_by, wanted, marks, a, b), batch, threads
            )
        written = out.reshape(batch, *self._written_shape)  # a view, because out is contiguous
        self._kind.write(self.ruleset, games, seen_by, wanted, written, threads)

    def for_kernels(self, out: np.ndarray) -> np.ndarray | None:
        """Return `out` if step kernels can write this kind; None if the caller must use :meth:`write`."""
        return None if self._kind.is_per_action else out

    def __repr__(self) -> str:
        return f"Observer({self.ruleset.name!r}, {self.kind!r}, num_actions={self.num_actions})"


def _check_array(
    name: str, array: np.ndarray, shape: tuple[int, ...], types: tuple[type, ...], *, is_written: bool = False
) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype not in types:
        allowed = " or ".join(np.dtype(kind).name for kind in types)
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
        raise InvalidArgument(f"{name} must be {allowed} of shape {shape}, not {found}")
    if not array.flags.c_contiguous:
        raise InvalidArgument(f"{name} must be contiguous; use np.ascontiguousarray")
    if is_written and not array.flags.writeable:
        raise InvalidArgument(f"{name} must be writable, not read-only")


@kernel
def _write_legal(rules, games, players, wanted, legal, start, stop):
    for b in range(start, stop):
        if wanted[b]:
            game = load(games, b)
            write_mask(rules, game, game.player if players[b] < 0 else players[b], legal, b)


def observe(ruleset: RulesetLike, games: np.ndarray, players: int | np.ndarray | None = None) -> np.ndarray:
    """Return observations of the kind "board", float32 `[B, F]`; see :meth:`Observer.write`.

    Raises:
        InvalidRuleset: The ruleset is unknown.
        InvalidPosition: `games` is not uint64 `[B, NUM_COLUMNS]`.
        InvalidArgument: `players` is invalid.
    """
    refuse_swapped("observe(ruleset, games)", ruleset, games)
    return Observer(ruleset).observe(games, players)


def kinds_of(ruleset: RulesetLike) -> tuple[ObservationKind, ...]:
    """Return the kinds that a ruleset has: those that need no value network, or whose network is bundled."""
    ruleset = lookup(ruleset)
    found: list[ObservationKind] = []
    for kind in KINDS:
        with suppress(NoValueNetwork):
            version(kind, ruleset)
            found.append(kind)
    return tuple(found)


def version(kind: str, ruleset: RulesetLike | None = None) -> str:
    """Return the version of an observation kind; only "values" needs the ruleset.

    Raises:
        NoValueNetwork: The kind is "values", and no value network of the ruleset is bundled.
        InvalidArgument: The kind is unknown, or it is "values" without a ruleset.
    """
    chosen = _KINDS[one_of("observation", kind, KINDS)]
    return chosen.version(None if ruleset is None else lookup(ruleset))
