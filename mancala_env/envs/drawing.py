"""What environments draw: a position as text, SVG, pixels or in a window, the last turn's holes marked.

Nothing of it costs anything before somebody looks.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.coordinates import action_of
from mancala_env.envs.opponents import Duel
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.render.motion import ends_of, steps
from mancala_env.render.scene import Scene

# In a window, in frames of `render_fps`: what a seed takes to fall, and at most what a turn takes.
_SEED_FRAMES, _TURN_FRAMES = 0.2, 4.0
MOST_IN_A_WINDOW = 16
"""Games that a window shows at once."""
_GRID_WIDTH = 1280


class PlayedTurn(NamedTuple):
    """A turn: the position it was played in, and the action."""

    before: Position
    action: int


class Seen(NamedTuple):
    """A position to be drawn.

    Attributes:
        position: The position.
        turns: The turns that led to it, as far as they are known.
        ends: The holes of the last of them, where it left this position.
    """

    position: Position
    turns: tuple[PlayedTurn, ...] = ()
    ends: tuple[int, ...] = ()

    def scene(self) -> Scene:
        """Describe the picture."""
        return self.position.scene(last=self.ends)


def seen_after(begin: Position | None, holes: Sequence[int], now: Position) -> Seen:
    """Return a position with the turns that led to it, or without any where they do not lead there.

    Args:
        begin: The position they were played from; None: nobody knows.
        holes: Holes sown from, in order; new rounds are set up on the way.
        now: Where they are said to have led.
    """
    if begin is None or not holes:
        return Seen(now)
    ruleset, position, turns = now.ruleset, begin.copy(), []
    try:
        for hole in holes:
            if position.is_over:
                position = position.next_round() or position
            turns.append(PlayedTurn(position.copy(), action_of(ruleset, position.player, hole)))
            position.play(turns[-1].action)
        if position == now:
            return Seen(now, tuple(turns), ends_of(turns[-1].before.timeline(turns[-1].action)))
        is_next = position.is_over and position.next_round() == now
    except MancalaError:
        return Seen(now)
    return Seen(now, tuple(turns)) if is_next else Seen(now)


def seen_of(duel: Duel, b: int, now: Position) -> Seen:
    """Return the position of game b of a Duel with the turns of the last step."""
    played = duel.played(b)
    if played is None:
        return Seen(now)
    games, holes = played
    begin = Position.from_games(now.ruleset, games) if games.any() else None
    return seen_after(begin, holes, now)


def draw(render_mode: str, seen: Seen) -> Any:
    """Return the picture of a position as a render mode other than "human" has it."""
    match render_mode:
        case "ansi":
            return str(seen.position)
        case "svg":
            return seen.position.to_svg(last=seen.ends)
        case _:
            from mancala_env.render.pixels import pixels_of

            return pixels_of(seen.scene())


class Screen:
    """The window of an environment, opened when something is shown.

    Attributes:
        window: The window.
    """

    def __init__(self, title: str) -> None:
        """Open nothing yet."""
        from mancala_env.render.window import Window

        self.window: Window = Window(title)

    def show(self, seen: Seen, fps: float) -> None:
        """Show the turns that led to a position, seed by seed, and the position for 1 / fps seconds.

        Raises:
            NoDisplay: There is no display.
        """
        from mancala_env.games.pictures import frames_of_turn
        from mancala_env.render.pixels import pixels_of

        for turn in seen.turns:
            length = steps(turn.before.state, turn.before.timeline(turn.action), 1.0)[-1].start
            seconds = min(_SEED_FRAMES, _TURN_FRAMES / max(1.0, length)) / fps
            self.window.play(
                frames_of_turn(turn.before, turn.action, seed_seconds=seconds, rest_seconds=1 / fps)
            )
        if not seen.ends:  # else it has just been shown
            self.window.show(pixels_of(seen.scene()), 1 / fps)

    def show_many(self, seen: Sequence[Seen], fps: float) -> None:
        """Show several positions side by side."""
        from mancala_env.render.pixels import grid_of

        scenes = [one.scene() for one in seen]
        self.window.show(grid_of(scenes, ceil(sqrt(len(scenes))), width=_GRID_WIDTH), 1 / fps)

    def close(self) -> None:
        """Close the window."""
        self.window.close()


def tiles_of(seen: Sequence[Seen]) -> list[np.ndarray]:
    """Return the pictures of positions as pixels, small where there are many to stand side by side."""
    from mancala_env.render.pixels import WIDTH, pixels_of

    width = WIDTH if len(seen) == 1 else max(160, _GRID_WIDTH // ceil(sqrt(len(seen))))
    return [pixels_of(one.scene(), width=width) for one in seen]
