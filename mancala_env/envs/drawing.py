"""Pictures of environments: text, SVG, pixels or a window. All but text mark the holes of the last turn."""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.coordinates import action_of
from mancala_env.envs.opponents import Duel
from mancala_env.envs.options import warn_of_no_render_mode
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.render.motion import ends_of, steps
from mancala_env.render.scene import Scene

# Durations in a window, in frames of `render_fps`: a seed that falls, and the longest turn.
_SEED_FRAMES, _TURN_FRAMES = 0.2, 4.0
MOST_IN_A_WINDOW = 16
"""Most games that a window shows."""
_GRID_WIDTH = 1280


class Seen(NamedTuple):
    """A position to draw, and the known turns that led to it: the position before each, and the action.

    `ends` are the holes of the last turn if it led directly to the position.
    """

    position: Position
    turns: tuple[tuple[Position, int], ...] = ()
    ends: tuple[int, ...] = ()

    def scene(self) -> Scene:
        """Describe the picture."""
        return self.position.scene(last=self.ends)


def seen_after(begin: Position | None, holes: Sequence[int], now: Position) -> Seen:
    """Return a position with the turns from `begin` that led to it, or without if they lead elsewhere."""
    if begin is None or not holes:
        return Seen(now)
    ruleset, position, turns = now.ruleset, begin.copy(), []
    try:
        for hole in holes:
            if position.is_over:
                position = position.next_round() or position
            turns.append((position.copy(), action_of(ruleset, position.player, hole)))
            position.play(turns[-1][1])
        if position == now:
            before, action = turns[-1]
            return Seen(now, tuple(turns), ends_of(before.timeline(action)))
        is_next = position.is_over and position.next_round() == now
    except MancalaError:
        return Seen(now)
    return Seen(now, tuple(turns)) if is_next else Seen(now)


def seen_of(duel: Duel, b: int, now: Position) -> Seen:
    """Return the position of game b of a Duel with the turns of the last step."""
    before, holes = duel.played(b)
    return seen_after(Position.from_games(now.ruleset, before), holes, now)


def draw(render_mode: str, seen: Seen) -> Any:
    """Return the picture of a position for a render mode other than "human"."""
    if render_mode == "ansi":
        return str(seen.position)
    if render_mode == "svg":
        return seen.position.to_svg(last=seen.ends)
    from mancala_env.render.pixels import pixels_of

    return pixels_of(seen.scene())


class Screen:
    """The window of an environment; it opens with the first picture."""

    def __init__(self, title: str) -> None:
        from mancala_env.render.window import Window

        self.window: Window = Window(title)

    def show(self, seen: Seen, fps: float) -> None:
        """Show the turns that led to a position, seed by seed, and the position for 1 / fps seconds."""
        from mancala_env.games.pictures import frames_of_turn
        from mancala_env.render.pixels import pixels_of

        for before, action in seen.turns:
            length = steps(before.state, before.timeline(action), 1.0)[-1].start
            seconds = min(_SEED_FRAMES, _TURN_FRAMES / max(1.0, length)) / fps
            self.window.play(frames_of_turn(before, action, seed_seconds=seconds, rest_seconds=1 / fps))
        if not seen.ends:  # otherwise the last frame of the turn shows it
            self.window.show(pixels_of(seen.scene()), 1 / fps)

    def show_many(self, seen: Sequence[Seen], fps: float) -> None:
        """Show several positions side by side."""
        from mancala_env.render.pixels import grid_of

        scenes = [one.scene() for one in seen]
        self.window.show(grid_of(scenes, ceil(sqrt(len(scenes))), width=_GRID_WIDTH), 1 / fps)


class DrawnEnv:
    """Mixin that draws an environment of one game; the environment sets the attributes."""

    metadata: Any
    position: Any
    render_mode: Any
    _screen: Screen | None

    def _seen(self) -> Seen:
        """Return the position, with the turns that led to it."""
        raise NotImplementedError

    def render(self) -> Any:
        """Draw the position; pictures, but not text, mark the holes of the last turn.

        Returns:
            By `render_mode`: "ansi" a text, "svg" an SVG document, "rgb_array" uint8 `[height, width, 3]`,
            and "human" None, because a window shows the turns of each step.
        """
        if self.render_mode is None:
            return warn_of_no_render_mode()
        if self._screen is None:
            return draw(self.render_mode, self._seen())
        return self._screen.show(Seen(self.position), self.metadata["render_fps"])

    def close(self) -> None:
        """Close the window of `render_mode` "human"."""
        if self._screen is not None:
            self._screen.window.close()

    def _show(self) -> None:
        """Show the turns that led to the position in the window, if there is one."""
        if self._screen is not None:
            self._screen.show(self._seen(), self.metadata["render_fps"])


def tiles_of(seen: Sequence[Seen]) -> list[np.ndarray]:
    """Return the pictures of positions as pixels, smaller if there are several."""
    from mancala_env.render.pixels import WIDTH, pixels_of

    width = WIDTH if len(seen) == 1 else max(160, _GRID_WIDTH // ceil(sqrt(len(seen))))
    return [pixels_of(one.scene(), width=width) for one in seen]
