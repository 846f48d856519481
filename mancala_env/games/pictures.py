"""Positions, turns and games as picture files: SVG and PNG, animations also as GIF and MP4.

    from mancala_env import Position, records
    from mancala_env.games import pictures

    pictures.save("board.png", Position("gabata_i"))            # a position
    pictures.save("turn.gif", Position("gabata_i"), action=2)   # a turn, seed by seed
    pictures.save("game.mp4", next(records.read_games("games.txt")))

PNG, GIF and MP4 need pillow (`pip install ".[render]"`). MP4 needs the program ffmpeg as well. No format
needs a display.
"""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mancala_env._util.checks import is_number, one_of, whole
from mancala_env._util.command_line import needing
from mancala_env._util.files import written_whole
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position, refuse_for_animation
from mancala_env.games.records import GameRecord
from mancala_env.render.motion import MAX_LAPS_SHOWN, SEED_SECONDS, caption, ends_of, steps
from mancala_env.render.scene import describe

if TYPE_CHECKING:
    from mancala_env.render.pixels import Frame

FORMATS = (".svg", ".png", ".gif", ".mp4")
"""Endings of the files that can be written."""
MIN_WIDTH, MAX_WIDTH = 40, 8_000
"""Limits of the width of a picture, in pixels."""
_GAME_SEED_SECONDS = 0.1  # shorter than in a single turn, because a game has many turns
# Pauses after a turn and a round of a game, and after a turn that is shown alone.
_TURN_SECONDS, _ROUND_SECONDS, _LAST_SECONDS = 0.9, 2.5, 3.0
_FPS = 25
_LONGEST = 60  # seconds that a seed may take to fall
_SHORTEST = 0.02  # viewers show shorter frames of a GIF for longer


class FfmpegMissing(OSError):
    """The program ffmpeg, which writes MP4, is not installed."""


def save(
    path: str | Path,
    what: Position | GameRecord,
    *,
    action: int | None = None,
    theme: str | None = None,
    width: int | None = None,
    seed_seconds: float | None = None,
    **shown: Any,
) -> None:
    """Draw a position, a turn from it, or a recorded game into a file.

    SVG and PNG files also contain the position as text; for a turn, the position before it. SVG has it in
    `data-position` of the root element, PNG in the text field "Position".

    Args:
        path: The file. Its extension is the format: .svg, .png, .gif or .mp4.
        what: A position, drawn as a picture or with `action` as a turn; or a record, drawn as an animation.
        action: Draw the turn of this action as an animation: .svg, .gif or .mp4.
        theme: "light" or "dark"; for .svg also "auto", which follows the page. None: "auto" for .svg,
            "light" for other formats.
        width: Width in pixels; None: the natural width.
        seed_seconds: Seconds that a seed takes to fall in a .gif or .mp4, at most 60; None: 0.18 in a turn,
            0.1 in a game.
        shown: `values`, `arrows`, `last` and `caption` of a picture; see :meth:`Position.to_svg`.

    Raises:
        InvalidArgument: The extension does not fit, or an argument is invalid.
        IllegalMove: The action is illegal.
        InvalidRecord: A turn of the record does not fit the rules.
        ImportError: pillow is not installed.
        FfmpegMissing: ffmpeg is not installed.
        OSError: The file cannot be written.
    """
    path = Path(path)
    kind = _kind_of(path, what, action)
    one_of("theme", theme, (None, *(("auto",) if kind == ".svg" else ()), "light", "dark"))
    if action is not None or isinstance(what, GameRecord):
        refuse_for_animation(**shown)
    if width is not None:
        whole("width", width, MIN_WIDTH, MAX_WIDTH)
    if seed_seconds is not None and kind in (".svg", ".png"):
        raise InvalidArgument(f"seed_seconds is for .gif and .mp4, not for {kind}")
    if seed_seconds is not None and not (is_number(seed_seconds) and 0 < seed_seconds <= _LONGEST):
        raise InvalidArgument(f"seed_seconds must be above 0 and at most {_LONGEST}, not {seed_seconds!r}")
    looks: Any = {"theme": theme or "light"} | ({} if width is None else {"width": width})
    if isinstance(what, GameRecord):
        frames = game_frames(what, seed_seconds=seed_seconds or _GAME_SEED_SECONDS, **looks)
    elif kind == ".svg":
        svg = what.to_svg(action=action, theme=theme or "auto", width=width, **shown)  # type: ignore[arg-type]
        path.write_text(svg + "\n", encoding="utf-8")
        return
    elif action is None:
        _write_png(path, what, shown, looks)
        return
    else:
        frames = frames_of_turn(what, action, seed_seconds=seed_seconds or SEED_SECONDS, **looks)
    (write_gif if kind == ".gif" else write_mp4)(path, frames)


def _kind_of(path: Path, what: Position | GameRecord, action: int | None) -> str:
    """Return the extension of a file, or raise an InvalidArgument that names the valid ones."""
    if isinstance(what, GameRecord):
        if action is not None:
            raise InvalidArgument("action is for a position, not for a record")
        subject, allowed = "a game", (".gif", ".mp4")
    elif not isinstance(what, Position):
        raise InvalidArgument(f"what must be a Position or a GameRecord, not {type(what).__name__}")
    elif action is None:
        subject, allowed = "a position", (".svg", ".png")
    else:
        subject, allowed = "a turn", (".svg", ".gif", ".mp4")
    kind = path.suffix.lower()
    if kind not in allowed:
        endings = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise InvalidArgument(
            f"{subject} is drawn into a file with the extension {endings}, not {path.name!r}"
        )
    return kind


def _write_png(path: Path, position: Position, shown: dict[str, Any], looks: dict[str, Any]) -> None:
    from mancala_env.render.pixels import image_of

    image = image_of(position.scene(**shown), **looks)
    from PIL.PngImagePlugin import PngInfo  # the import above has a message if there is no pillow

    texts = PngInfo()
    texts.add_text("Position", position.to_text())
    image.save(path, format="PNG", optimize=True, pnginfo=texts)


def frames_of_turn(
    position: Position,
    action: int,
    *,
    seed_seconds: float = SEED_SECONDS,
    max_laps: int = MAX_LAPS_SHOWN,
    rest_seconds: float = _LAST_SECONDS,
    **looks: Any,
) -> Iterator["Frame"]:
    """Draw a turn with a frame for each event, a ring around its hole, and a badge with the seeds in hand.

    Args:
        position: Position before the turn; it does not change.
        action: The action.
        seed_seconds: Time that a seed takes to fall.
        max_laps: Most laps of a relay that are shown.
        rest_seconds: Duration of the last frame, which shows the position after the turn.
        looks: `width` and `theme` of :func:`mancala_env.render.pixels.pixels_of`.

    Raises:
        IllegalMove: The action is illegal.
        ImportError: pillow is not installed.
    """
    from mancala_env.render.pixels import Frame, pixels_of

    ruleset, timeline = position.ruleset, position.timeline(action)
    for step in steps(position.state, timeline, seed_seconds, max_laps)[:-1]:
        scene = describe(
            ruleset,
            step.state,
            last=[hole for hole in (step.event.hole,) if hole >= 0 and hole != step.source],
            hand=(step.source, step.in_hand) if step.source >= 0 else None,
            caption=caption(ruleset, timeline, step),
        )
        yield Frame(pixels_of(scene, **looks), step.seconds)
    after = position.copy()
    after.play(action)
    yield Frame(pixels_of(after.scene(last=ends_of(timeline)), **looks), rest_seconds)


def game_frames(record: GameRecord, *, max_laps: int = 6, **looks: Any) -> Iterator["Frame"]:
    """Draw a recorded game as frames: the start, every turn, and the start and end of each round.

    Args:
        record: The game.
        max_laps: Most laps of a relay that are shown.
        looks: `seed_seconds` of :func:`frames_of_turn`; `width` and `theme` of
            :func:`mancala_env.render.pixels.pixels_of`.

    Raises:
        InvalidRecord: A turn does not fit the rules.
        ImportError: pillow is not installed.
    """
    from mancala_env.render.pixels import Frame, pixels_of

    still: Any = {name: looks[name] for name in ("width", "theme") if name in looks}
    yield Frame(pixels_of(record.start_position.scene(), **still), _ROUND_SECONDS)
    for step in record.replay():
        rest = _ROUND_SECONDS if step.after.is_over else _TURN_SECONDS
        yield from frames_of_turn(
            step.before, step.turn.action, max_laps=max_laps, rest_seconds=rest, **looks
        )
        if step.following.round != step.after.round:
            yield Frame(pixels_of(step.following.scene(), **still), _ROUND_SECONDS)


def write_gif(path: str | Path, frames: Iterable["Frame"]) -> None:
    """Write frames as a GIF that repeats.

    Raises:
        OSError: The file cannot be written.
    """
    with needing("a GIF", "render"):
        from PIL import Image

    def shown() -> Iterator[Any]:
        palette = None
        for frame in frames:
            image = Image.fromarray(frame.pixels)
            if palette is None:  # one palette for all frames, so that unchanged pixels are not written again
                palette = _palette_for(image)
            image = image.quantize(palette=palette, dither=Image.Dither.NONE)
            image.info["duration"] = round(100 * max(_SHORTEST, frame.seconds)) * 10
            yield image

    images = shown()
    with written_whole(Path(path)) as file:
        next(images).save(
            file, format="GIF", save_all=True, append_images=images, loop=0, optimize=False, disposal=1
        )


def _palette_for(image: Any) -> Any:
    """Return a palette with the colours of a theme and the mixtures at their edges."""
    from PIL import Image

    from mancala_env.render.colours import PALETTES, rgb

    corner = image.getpixel((0, 0))
    palette = next((one for one in PALETTES.values() if rgb(one["paper"]) == corner), PALETTES["light"])
    grounds = [rgb(palette[name]) for name in ("paper", "board", "hole", "badge", "seed", "seed_edge")]
    colours = dict.fromkeys(grounds)
    for part, colour, ground in product((1.0, 0.66, 0.33), palette.values(), grounds):
        mixed = (round(part * c + (1 - part) * g) for c, g in zip(rgb(colour), ground))
        colours |= {tuple(mixed): None}
    swatch = Image.new("P", (1, 1))
    swatch.putpalette([value for colour in list(colours)[:256] for value in colour])
    return swatch


def write_mp4(path: str | Path, frames: Iterable["Frame"], *, fps: int = _FPS) -> None:
    """Write frames as an MP4 video with ffmpeg. If it cannot be written, an existing file is unchanged.

    Raises:
        FfmpegMissing: ffmpeg is not installed.
        OSError: The file cannot be written.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise FfmpegMissing(
            "an MP4 needs the program ffmpeg: install it with the system's packages (apt install ffmpeg, "
            "brew install ffmpeg), or write a GIF"
        )
    with written_whole(path) as file:
        _encode(program, file.name, iter(frames), fps)


def _encode(program: str, file: str, frames: Iterator["Frame"], fps: int) -> None:
    """Write a video with ffmpeg, whose path is `program`."""
    first = next(frames)
    height, width = first.pixels.shape[:2]
    command = [
        program, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", str(fps), "-i", "-", "-an",
        # Formats that all players show: sides of even length, colours at half the resolution.
        "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
        "-f", "mp4", file,
    ]  # fmt: skip
    ffmpeg = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ffmpeg.stdin is not None
    seconds, written = 0.0, 0
    try:
        for frame in chain([first], frames):
            seconds += frame.seconds
            times, written = round(seconds * fps) - written, round(seconds * fps)
            for _ in range(times):
                ffmpeg.stdin.write(frame.pixels)
    except BrokenPipeError:
        pass  # ffmpeg has ended; its message is read below
    except BaseException:
        ffmpeg.kill()
        ffmpeg.communicate()
        raise
    said = ffmpeg.communicate()[1].decode(errors="replace").strip()
    if ffmpeg.returncode:
        why = said.splitlines()[-1] if said else "no reason given"
        raise OSError(f"ffmpeg could not make the video: {why}")
