"""Position: one game, for scripts, notebooks and search."""

from collections.abc import Mapping, Sequence, Sized
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mancala_env._util.checks import cpu_array, is_whole, refuse_swapped, several, truth, whole
from mancala_env.engine import coordinates, single_game, validation
from mancala_env.engine import state as columns
from mancala_env.engine.state import NO_PLAYER, NORTH, PLAYERS, SOUTH, State, encode, unpack
from mancala_env.engine.timeline import Timeline, timeline_of
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition
from mancala_env.games import notation
from mancala_env.games.set_up import set_up
from mancala_env.render.scene import Scene, describe
from mancala_env.render.svg import Film, Theme, check_look, svg_of
from mancala_env.render.text import draw
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

_LAST_ROUND = int(np.iinfo(np.int32).max)


class Turn(NamedTuple):
    """Effect of a turn.

    Attributes:
        player: The player, 0 South or 1 North.
        action: The hole they chose, seen from them.
        laps: Number of laps, 1 to 1000.
        captured: Number of seeds that went to their store.
        new_owned: Holes that they own since this turn (uur, weg, captured holes), in hole order.
        endless: Whether the relay never ended. The seeds are then put back, and the round is over.
    """

    player: int
    action: int
    laps: int
    captured: int
    new_owned: tuple[int, ...]
    endless: bool


class Position:
    """One game of a ruleset: the board, the stores, the player to move and the state of the match.

    Holes are numbered in sowing order: 0 to W-1 are South's row, W to H-1 North's. An action is a hole
    seen from the player to move: actions 0 to W-1 are their own row. Players are 0 (South) and 1 (North).

    A position may hold fewer seeds than the game, for example without the captured seeds. Only
    :meth:`next_round` needs all seeds.

    >>> position = Position("layli_goobalay")
    >>> position.play(2)
    Turn(player=0, action=2, laps=5, captured=7, new_owned=(), endless=False)
    >>> position.legal_actions
    (0, 2, 3, 5)
    """

    __slots__ = ("_games", "_rules", "ruleset")

    def __init__(
        self,
        ruleset: RulesetLike,
        seeds: Sequence[int] | np.ndarray | None = None,
        owner: Sequence[int] | np.ndarray | None = None,
        stores: Sequence[int] = (0, 0),
        player: int = SOUTH,
        stall: int = 0,
        territory: Sequence[int] | np.ndarray | None = None,
        *,
        round: int = 1,
        starter: int | None = None,
        debts: Sequence[int] = (0, 0),
        endless: bool = False,
    ) -> None:
        """Set up a position; with a ruleset alone, the start of round 1.

        Args:
            ruleset: Name of a ruleset, or a Ruleset.
            seeds: `[H]`, seeds in each hole, in hole order. None is the start of round 1 with `player` as its
                starter, and allows no other argument. In Gabata 3 the other player is to move then, because
                the opening is forced.
            owner: `[H]`, owner of each hole: -1 free, 0 South, 1 North. None: all holes are free.
            stores: Captured seeds of South and North.
            player: The player to move. If they must pass, the opponent moves.
            stall: Number of turns in a row without a change in the number of free seeds, 0 to 50.
            territory: `[H]`, the player who may sow from each free hole, 0 or 1. None: each their own row.
            round: Number of the round in its match, from 1.
            starter: The player who moved first in this round; None: South.
            debts: Seeds that South and North owe each other (Leyla).
            endless: Whether an endless relay has ended the round.

        Raises:
            InvalidRuleset: The ruleset is unknown.
            InvalidPosition: No game of the ruleset can reach this position; the message names the value.
            InvalidArgument: `endless` is not a bool.
        """
        self.ruleset = lookup(ruleset)
        self._rules = encode(self.ruleset)
        endless = truth("endless", endless)
        if not is_whole(player) or player not in (SOUTH, NORTH):
            raise InvalidPosition(f"player must be 0 (South) or 1 (North), not {player!r}")
        if seeds is None:
            others: list[Any] = [owner, territory, starter, endless, stores, debts, stall, round]
            at_start: list[Any] = [None, None, None, False, (0, 0), (0, 0), 0, 1]
            if not all(map(np.array_equal, others, at_start)):
                raise InvalidPosition(
                    "without seeds a position is the start of round 1 and takes ruleset and player only"
                )
            self._games = np.zeros((1, columns.NUM_COLUMNS), np.uint64)
            single_game.start(self._rules, self._games, int(player))
            return
        match = {"stall": stall, "round": round, "starter": starter, "debts": debts}
        self._games = set_up(self.ruleset, seeds, owner, territory, stores, player, **match)
        if endless:
            self._games[0, columns.END_COLUMN] = columns.ENDLESS
        else:
            single_game.settle(self._rules, self._games)
        validation.check_set_up(self.ruleset, self._games)

    @classmethod
    def from_games(cls, ruleset: RulesetLike, games: np.ndarray, b: int | np.integer = 0) -> "Position":
        """Return game b of an engine array uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``.

        Raises:
            InvalidRuleset: The ruleset is unknown.
            InvalidPosition: The array has another shape or type, or the position is impossible.
        """
        refuse_swapped("Position.from_games(ruleset, games)", ruleset, games)
        ruleset, array = lookup(ruleset), cpu_array("games", games)
        if array.ndim != 2 or not is_whole(b) or not -len(array) <= b < len(array):
            raise InvalidPosition(f"index {b!r} is out of range for games of shape {array.shape}")
        return cls._of(ruleset, validation.check_games(ruleset, array[b][None], np.array([b])).copy())

    @classmethod
    def _of(cls, ruleset: Ruleset, games: np.ndarray) -> "Position":
        """Return a position that uses an array of games `[1, NUM_COLUMNS]` without a check or a copy."""
        position = cls.__new__(cls)
        position.ruleset = ruleset
        position._rules = encode(ruleset)
        position._games = games
        return position

    @classmethod
    def from_text(cls, text: str, ruleset: RulesetLike | None = None) -> "Position":
        """Read a position as text; :mod:`mancala_env.games.notation` has the format.

        Args:
            text: The position.
            ruleset: The ruleset, if the text names one that is not in the catalogue.

        Raises:
            InvalidPosition: The text does not parse, or the position is impossible. The message says why.
        """
        return cls(**notation.parse_position(text, ruleset))

    def to_text(self) -> str:
        """Write the whole position as one line of text; :meth:`from_text` reads it."""
        return notation.position_text(self.ruleset, self.state)

    @property
    def games(self) -> np.ndarray:
        """A copy of the position in the format of the engine, uint64 `[1, NUM_COLUMNS]`."""
        return self._games.copy()

    @property
    def state(self) -> State:
        """The position as a State of new arrays, with B = 1."""
        return unpack(self._games, self.ruleset.num_holes)

    @property
    def seeds(self) -> np.ndarray:
        """Seeds in each hole, int16 `[H]` in hole order; a copy."""
        return self.state.seeds[0]

    @property
    def owner(self) -> np.ndarray:
        """Owner of each hole, int8 `[H]`: -1 free, 0 South, 1 North; a copy."""
        return self.state.owner[0]

    @property
    def territory(self) -> np.ndarray:
        """The player who may sow from each free hole, int8 `[H]`: 0 or 1; a copy."""
        return self.state.territory[0]

    @property
    def stores(self) -> tuple[int, int]:
        """Captured seeds of South and North."""
        return int(self._games[0, columns.STORE_COLUMN]), int(self._games[0, columns.STORE_COLUMN + 1])

    @property
    def player(self) -> int:
        """The player to move, 0 South or 1 North; after the round, the player who would move next.

        After an endless relay it is the player of the last turn.
        """
        return int(self._games[0, columns.PLAYER_COLUMN])

    @property
    def stall(self) -> int:
        """Number of turns in a row without a change in the number of free seeds, 0 to 50."""
        return int(self._games[0, columns.STALL_COLUMN])

    @property
    def end(self) -> str:
        """Reason for the end of the round: "stuck", "stall" or "endless"; "" while it runs."""
        return columns.END_REASONS[int(self._games[0, columns.END_COLUMN])]

    @property
    def is_over(self) -> bool:
        """Whether the round is over."""
        return bool(self._games[0, columns.END_COLUMN] != columns.RUNNING)

    @property
    def round(self) -> int:
        """Number of the round in its match, from 1."""
        return int(self._games[0, columns.ROUND_COLUMN])

    @property
    def starter(self) -> int:
        """The player who moved first in this round."""
        return int(self._games[0, columns.STARTER_COLUMN])

    @property
    def debts(self) -> tuple[int, int]:
        """Seeds South and North owe each other (Leyla)."""
        return int(self._games[0, columns.DEBT_COLUMN]), int(self._games[0, columns.DEBT_COLUMN + 1])

    @property
    def counts(self) -> tuple[int, int]:
        """Current counts: store, owned holes, and free seeds in the territory of each player."""
        south, north = single_game.counts(self._rules, self._games)
        return int(south), int(north)

    @property
    def winner(self) -> int | None:
        """Winner of the round, 0 or 1; None while it runs, and for a draw."""
        south, north = self.counts
        if not self.is_over or south == north:
            return None
        return SOUTH if south > north else NORTH

    @property
    def match_winner(self) -> int | None:
        """Winner of the match if it ends with this round (RULES 5.4); None for a draw and a running round."""
        margin = single_game.match_margin(self._rules, self._games) if self.is_over else 0
        return None if margin == 0 else (SOUTH if margin > 0 else NORTH)

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """The actions of the player to move, ascending; empty when the round is over."""
        return _bits_set(int(single_game.legal_actions(self._rules, self._games)))

    @property
    def legal_holes(self) -> tuple[int, ...]:
        """The holes that the player to move may sow, in the order of :attr:`legal_actions`."""
        return tuple(coordinates.hole_of(self.ruleset, self.player, a) for a in self.legal_actions)

    def play(self, action: int | np.integer) -> Turn:
        """Play a turn, which changes this position, and return its effect.

        Args:
            action: A hole seen from the player to move.

        Raises:
            IllegalMove: The action is illegal. The message says why, and lists the legal ones. Nothing has
                changed.
        """
        player, laps, captured, taken = self.player, 0, 0, 0
        if is_whole(action) and 0 <= action < self.ruleset.num_holes:
            laps, captured, taken = single_game.play(self._rules, self._games, int(action))
        if laps == 0:
            raise self._not_legal(action)
        endless = bool(self._games[0, columns.END_COLUMN] == columns.ENDLESS)
        return Turn(player, int(action), int(laps), int(captured), _bits_set(int(taken)), endless)

    def timeline(self, action: int | np.integer) -> Timeline:
        """Return the events of a turn, in order: lifts, drops, relays and the effects of the landing.

        The position does not change. An ordinary turn has at most a few hundred events, an endless one
        (1,000 laps) several thousand.

        Raises:
            IllegalMove: The action is illegal.
        """
        if not is_whole(action) or int(action) not in self.legal_actions:
            raise self._not_legal(action)
        hole = coordinates.hole_of(self.ruleset, self.player, int(action))
        return timeline_of(self._rules, self._games, hole)

    def copy(self) -> "Position":
        """Return an independent copy."""
        return Position._of(self.ruleset, self._games.copy())

    __copy__ = copy

    def next_round(self) -> "Position | None":
        """Return the start of the next round (RULES 5); None if the match is over.

        Raises:
            InvalidPosition: The round is not over, seeds are missing, or the round has the highest number.
        """
        if not self.is_over:
            legal = _listed(self.legal_actions)
            raise InvalidPosition(f"round {self.round} is not over; legal actions: {legal}")
        total = self.ruleset.total_seeds
        if missing := total - sum(self.counts):
            raise InvalidPosition(
                f"the next round is set up from all {total} seeds, but {missing} are missing here; put "
                "captured seeds in stores"
            )
        if self.round == _LAST_ROUND:
            raise InvalidPosition(f"no round follows round {_LAST_ROUND:,}, the highest number")
        after = self.copy()
        return None if single_game.next_round(self._rules, after._games) else after

    def why_illegal(self, action: Any) -> str:
        """Return why an action is illegal, such as "it is empty"; "" for a legal action."""
        if self.is_over:
            return f"the round is over ({self.end})"
        if not is_whole(action):
            return "it is not a whole number"
        if not 0 <= action < self.ruleset.num_holes:
            return "there is no such hole"
        if action in self.legal_actions:
            return ""
        hole = coordinates.hole_of(self.ruleset, self.player, int(action))
        if self.owner[hole] != NO_PLAYER:
            return f"{PLAYERS[self.owner[hole]]} owns it"
        if self.territory[hole] != self.player:
            return f"it is {PLAYERS[1 - self.player]}'s"
        if self.seeds[hole] == 0:
            return "it is empty"
        return "the first turn is played from the rightmost hole"

    def _not_legal(self, action: Any) -> IllegalMove:
        if self.is_over:
            return IllegalMove(f"{self.why_illegal(action)}; hole {action} cannot be sown")
        hole = action if is_whole(action) else repr(action)
        why, legal = self.why_illegal(action), _listed(self.legal_actions)
        return IllegalMove(f"{PLAYERS[self.player]} cannot sow hole {hole}: {why}; legal holes: {legal}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return self.ruleset == other.ruleset and bool((self._games == other._games).all())

    # A position is mutable, so it has no hash; use `key` instead.
    __hash__ = None  # type: ignore[assignment]

    @property
    def key(self) -> tuple[Ruleset, bytes]:
        """A hashable key for sets and dicts; equal positions have equal keys."""
        return self.ruleset, self._games.tobytes()

    def __repr__(self) -> str:
        own = "" if self.ruleset.is_bundled else f", {self.ruleset!r}"
        return f"Position.from_text({self.to_text()!r}{own})"

    def to_svg(
        self,
        *,
        values: Mapping[int, float | str] | None = None,
        arrows: Sequence[tuple[int, int]] = (),
        last: Sequence[int] = (),
        action: int | np.integer | None = None,
        caption: str | None = None,
        theme: Theme = "auto",
        width: float | None = None,
    ) -> str:
        """Draw the position, or a turn from it, as one SVG document.

        Args:
            values: Value, probability or short word of each action, drawn as a badge at the hole. The highest
                number is marked as the best. Not with `action`.
            arrows: Pairs of holes (0 to H-1 in sowing order), drawn as arrows. Not with `action`.
            last: Holes of the last turn, drawn with a ring. Not with `action`.
            action: Draw the turn of this action as an animation. The position does not change.
            caption: Line under the board; None: the player to move, or the end of the round. Not with
                `action`.
            theme: "light", "dark" or "auto", which follows the system or the page.
            width: Width in pixels; None: the natural width, or less if there is less room.

        Returns:
            A complete SVG document. Its `data-position` is the position as text.

        Raises:
            InvalidArgument: An argument is invalid, or cannot be combined with `action`.
            IllegalMove: The action is illegal.
        """
        check_look(theme, width)
        if action is not None:
            refuse_for_animation(values=values, arrows=arrows, last=last, caption=caption)
            timeline, after = self.timeline(action), self.copy()
            after.play(action)
            return Film(self.ruleset, self.state, timeline, after.state).svg(theme, width, self.to_text())
        scene = self.scene(values=values, arrows=arrows, last=last, caption=caption)
        return svg_of(scene, theme=theme, width=width, position=self.to_text())

    def scene(
        self,
        *,
        values: Mapping[int, float | str] | None = None,
        arrows: Sequence[tuple[int, int]] = (),
        last: Sequence[int] = (),
        caption: str | None = None,
    ) -> Scene:
        """Describe the picture as plain shapes; see :meth:`to_svg` for arguments and errors."""
        if values is not None and not _is_by_action(values):
            raise InvalidArgument(
                f"values must be numbers or words by action, such as {{0: 2.5}}, not {values!r}"
            )
        if not isinstance(caption, str | None):
            raise InvalidArgument(f"caption must be a text, not {caption!r}")
        by_hole = {
            coordinates.hole_of(self.ruleset, self.player, action): value
            for action, value in (values or {}).items()
        }
        ringed = several("last", last, "a list of holes")
        pairs = several("arrows", arrows, "a list of pairs")
        ends = [several("an arrow", pair, "two holes", 2) for pair in pairs]
        for hole in (*ringed, *chain(*ends)):
            whole("a hole of last or arrows", hole, 0, self.ruleset.num_holes - 1)
        shown: dict[str, Any] = {"last": ringed, "values": by_hole, "arrows": ends, "caption": caption}
        return describe(self.ruleset, self.state, legal=self.legal_holes, **shown)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return draw(self.ruleset, self.state)


def check_position(value: Any) -> None:
    """Raise InvalidArgument if a value is not a Position, for example the name of a ruleset."""
    if not isinstance(value, Position):
        raise InvalidArgument(f"position must be a Position, such as Position('leyla'), not {value!r}")


def _bits_set(bits: int) -> tuple[int, ...]:
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)


def _listed(actions: Sequence[int]) -> str:
    return ", ".join(map(str, actions)) or "none"


def _is_by_action(values: Any) -> bool:
    known = str | int | float | np.integer | np.floating
    return isinstance(values, Mapping) and all(isinstance(value, known) for value in values.values())


def refuse_for_animation(**shown: Any) -> None:
    """Raise an InvalidArgument for arguments of a picture that an animation does not accept."""
    for name, value in shown.items():
        if value is not None and not (isinstance(value, Sized) and not len(value)):
            raise InvalidArgument(f"{name} is for the picture of a position, not for a turn or a game")
