"""What an agent can be shown of a game: the board, or what each of its actions leads to.

``"board"`` is the plain observation of :mod:`mancala_env.observation`.

Sowing over many laps is a lookup no small network learns: one seed more or less in a hole changes where
everything ends up. The engine plays a turn in 50 ns, so these kinds play each legal action and show the
position *after* it, the afterstate, always from the side of the player who is to choose. The network is
left with what people do too: judge positions that lie still.

``"afterstates"`` shows each afterstate and the lead it leaves. ``"replies"`` adds the lead after each
reply of whoever moves next, ``"lines"`` also the leads that the best play of one and of two more turns
brings: a lookahead of one, two and four turns, done by the engine.

Symbols: B games, A actions, F features of the plain observation, G features of an action.
"""

from typing import Literal, NamedTuple

import numpy as np

from mancala_env import observation
from mancala_env.engine.batch import default_num_threads, run_in_slices
from mancala_env.engine.kernel import kernel
from mancala_env.engine.state import (
    NORTH,
    RUNNING,
    SOUTH,
    as_actions,
    count_of,
    encode,
    hole_of,
    load,
    nth_bit,
    num_bits,
)
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.observation import num_features, write_observation
from mancala_env.rulesets import Ruleset

ObservationKind = Literal["board", "afterstates", "replies", "lines"]
KINDS: tuple[ObservationKind, ...] = ("board", "afterstates", "replies", "lines")

_NO_LEAD = -1000  # below every lead
_HIGHEST = int(np.iinfo(np.int16).max)
# Changes whenever the meaning or the order of a feature of an action does.
_ACTION_VERSION = 1


class ActionPart(NamedTuple):
    """One named part of the features of an action."""

    start: int
    stop: int
    low: int
    high: int
    meaning: str


def version(kind: str) -> str:
    """Return the version of an observation kind; checkpoints carry it.

    It changes whenever the meaning or the order of a feature does.
    """
    if kind == "board":
        return str(observation.VERSION)
    return f"{observation.VERSION}.{_ACTION_VERSION}"


def shape(ruleset: Ruleset, kind: str, num_actions: int) -> tuple[int, ...]:
    """Return the shape of what is seen of one game: `(F,)` for "board", else `(A, G)`."""
    if kind == "board":
        return (num_features(ruleset),)
    return (num_actions, num_action_features(ruleset, kind, num_actions))


def dtype(kind: str) -> type[np.generic]:
    """Return the number type: float32 for "board", int16 for the others, which take up half of it."""
    return np.float32 if kind == "board" else np.int16


def bounds(ruleset: Ruleset, kind: str, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest value of what is seen, of :func:`shape` and :func:`dtype` each."""
    low, high = observation.bounds(ruleset)
    if kind == "board":
        return low, high
    parts = list(action_parts(ruleset, kind, num_actions).values())[1:]
    sizes = [part.stop - part.start for part in parts]
    # An action that is not legal is all zeros; rounds are counted as far as int16 goes.
    low = np.append(np.minimum(low, 0), np.repeat([part.low for part in parts], sizes))
    high = np.append(np.minimum(high, _HIGHEST), np.repeat([part.high for part in parts], sizes))
    both = np.stack([low, high]).astype(np.int16)
    return np.tile(both[0], (num_actions, 1)), np.tile(both[1], (num_actions, 1))


def action_parts(ruleset: Ruleset, kind: str, num_actions: int) -> dict[str, ActionPart]:
    """Return the parts of an action's features, in order, by name.

    ``position`` is laid out as :func:`mancala_env.observation.parts` says, which also bounds its features
    one by one. The features of an action that is not legal are all zero.
    """
    layout = [
        ("position", num_features(ruleset), "the observation of the afterstate, seen by who chooses now"),
        ("legal", 1, "1 where the action is legal"),
        ("lead", 1, "my count minus the opponent's after the action"),
    ]
    if kind in ("replies", "lines"):
        last = "reply" if kind == "replies" else "fourth turn"
        layout += [
            ("num_replies", 1, "legal actions of whoever moves next; 0 when the round is over"),
            (
                "reply_leads",
                num_actions,
                f"my count minus the opponent's after each reply, the replier's best {last} first; past the "
                "last reply its value again; when the round is over the lead",
            ),
        ]
    if kind == "lines":
        layout += [
            ("third_leads", num_actions, "the same after the turn with the best count that follows it"),
            ("fourth_leads", num_actions, "the same after best play of two turns that follow it"),
        ]
    # All others are leads.
    ranges = {"position": (-1, _HIGHEST), "legal": (0, 1), "num_replies": (0, num_actions)}
    result, start = {}, 0
    for name, size, meaning in layout:
        low, high = ranges.get(name, (-ruleset.total_seeds, ruleset.total_seeds))
        result[name] = ActionPart(start, start + size, low, high, meaning)
        start += size
    return result


def num_action_features(ruleset: Ruleset, kind: str, num_actions: int) -> int:
    """Return G, the features of one action under a kind that shows actions."""
    return list(action_parts(ruleset, kind, num_actions).values())[-1].stop


def write_seen(
    ruleset: Ruleset,
    kind: str,
    games: np.ndarray,
    out: np.ndarray,
    legal: np.ndarray | None = None,
    num_threads: int | None = None,
) -> None:
    """Write what the player to move sees of each game.

    Args:
        ruleset: The ruleset of the games.
        kind: One of KINDS.
        games: Games, uint64 `[B, NUM_COLUMNS]`; not changed.
        out: `[B, *shape(ruleset, kind, A)]` of :func:`dtype`, in one piece, overwritten.
        legal: bool or int8 `[B, A]`, overwritten with 1 where the action is legal.
        num_threads: CPU threads; None takes every core this process may use.
    """
    rules = encode(ruleset)
    threads = num_threads or default_num_threads()
    if legal is not None:
        run_in_slices(lambda a, b: _write_legal(rules, games, legal, a, b), len(games), threads)
    if kind == "board":
        run_in_slices(lambda a, b: _write_boards(rules, games, out, a, b), len(games), threads)
        return
    num_actions = out.shape[1]
    assert out.shape == (len(games), *shape(ruleset, kind, num_actions))
    assert out.flags.c_contiguous
    rows, base = out.reshape(-1, out.shape[2]), num_features(ruleset)
    plies = {"afterstates": 1, "replies": 2, "lines": 4}[kind]
    run_in_slices(
        lambda a, b: _write_actions(rules, games, num_actions, base, plies, rows, a, b),
        len(games),
        threads,
        fewest=128,  # a game is several turns here
    )


@kernel
def _write_legal(rules, games, legal, start, stop):
    for b in range(start, stop):
        game = load(games, b)
        actions = as_actions(rules, game.player, legal_holes(rules, game))
        for action in range(legal.shape[1]):
            legal[b, action] = (actions >> action) & 1


@kernel
def _write_boards(rules, games, out, start, stop):
    for b in range(start, stop):
        game = load(games, b)
        write_observation(rules, game, game.player, out, b)


@kernel
def _lead(rules, game, player):
    """Return the count of a player minus the other's."""
    south = count_of(rules, game, SOUTH) - count_of(rules, game, NORTH)
    return south if player == SOUTH else -south


@kernel
def _write_actions(rules, games, num_actions, base, plies, rows, start, stop):
    """Write the features of every action of games start to stop; row b * A + a is action a of game b."""
    for b in range(start, stop):
        game = load(games, b)
        mover = game.player
        legal = as_actions(rules, mover, legal_holes(rules, game))
        for action in range(num_actions):
            row = b * num_actions + action
            if not (legal >> action) & 1:
                for i in range(rows.shape[1]):
                    rows[row, i] = 0
                continue
            after = play_turn(rules, game, hole_of(rules, mover, action))[0]
            write_observation(rules, after, mover, rows, row)
            rows[row, base] = 1
            lead = _lead(rules, after, mover)
            rows[row, base + 1] = lead
            if plies > 1:
                _write_replies(rules, after, mover, lead, num_actions, base + 2, plies, rows, row)


@kernel
def _write_replies(rules, after, mover, lead, num_actions, at, plies, rows, row):
    """Write how many replies there are and the mover's leads after each, best for the replier first."""
    replier = after.player
    replies = as_actions(rules, replier, legal_holes(rules, after))
    num_replies = num_bits(replies) if after.end == RUNNING else 0
    rows[row, at] = num_replies
    first = at + 1
    for n in range(num_replies):
        reply = play_turn(rules, after, hole_of(rules, replier, nth_bit(replies, n)))[0]
        value = second = third = _lead(rules, reply, mover)
        if plies > 2:
            third = _best_lead(rules, reply, mover)
            value = _best_lead_of_two(rules, reply, mover)
        i = first + n
        j = i if plies == 2 else i + 2 * num_actions  # by what the replies are sorted
        while i > first and _is_better(value, rows[row, j - 1], replier == mover):
            rows[row, i] = rows[row, i - 1]
            if plies > 2:
                rows[row, i + num_actions] = rows[row, i + num_actions - 1]
                rows[row, j] = rows[row, j - 1]
            i -= 1
            j -= 1
        rows[row, i] = second
        if plies > 2:
            rows[row, i + num_actions] = third
            rows[row, j] = value
    for part in range(1 if plies == 2 else 3):
        start = first + part * num_actions
        last = rows[row, start + num_replies - 1] if num_replies else lead
        for i in range(start + num_replies, start + num_actions):
            rows[row, i] = last


@kernel
def _is_better(value, than, is_mine):
    """Tell whether a lead of the mover's is better for the replier, who may be the mover himself."""
    return value > than if is_mine else value < than


@kernel
def _best_lead(rules, game, mover):
    """Return the mover's lead after the turn that is best at once for whoever moves next."""
    if game.end != RUNNING:
        return _lead(rules, game, mover)
    player = game.player
    actions = as_actions(rules, player, legal_holes(rules, game))
    best = _NO_LEAD
    for n in range(num_bits(actions)):
        after = play_turn(rules, game, hole_of(rules, player, nth_bit(actions, n)))[0]
        best = max(best, _lead(rules, after, player))
    return best if player == mover else -best


@kernel
def _best_lead_of_two(rules, game, mover):
    """Return the mover's lead after best play over the next two turns."""
    if game.end != RUNNING:
        return _lead(rules, game, mover)
    player = game.player
    actions = as_actions(rules, player, legal_holes(rules, game))
    best = _NO_LEAD
    for n in range(num_bits(actions)):
        after = play_turn(rules, game, hole_of(rules, player, nth_bit(actions, n)))[0]
        best = max(best, _best_lead(rules, after, player))
    return best if player == mover else -best
