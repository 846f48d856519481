"""Pictures in pixels: the tests count seeds, compare numbers and follow animations."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from error_checks import raises
from PIL import Image
from scipy import ndimage

from mancala_env import Batch, Position, Ruleset, rulesets
from mancala_env.engine.episode import Rounds
from mancala_env.errors import InvalidArgument
from mancala_env.games import pictures, records
from mancala_env.render.colours import PALETTES, rgb
from mancala_env.render.motion import ends_of
from mancala_env.render.pixels import Frame, grid_of, pixels_of
from mancala_env.render.scene import HOLE, MAX_SEEDS_DRAWN, layout_of


def seeds_seen(pixels, position, hole, theme="light"):
    """Count the seeds in a hole of a picture."""
    layout = layout_of(position.ruleset)
    scale = pixels.shape[1] / layout.width
    x, y = (scale * value for value in layout.hole(hole))
    top, left, size = int(y - scale * HOLE), int(x - scale * HOLE), int(2 * scale * HOLE) + 2
    part = pixels[top : top + size, left : left + size].astype(int)
    rows, columns = np.indices((size, size))
    is_inside = np.hypot(rows + 0.5 + top - y, columns + 0.5 + left - x) < scale * (HOLE - 3)
    seed, ground = (np.array(rgb(PALETTES[theme][role])) for role in ("seed", "hole"))
    is_seed = np.abs(part - seed).sum(axis=2) < 0.4 * np.abs(ground - seed).sum()
    _, count = ndimage.label(is_seed & is_inside)  # type: ignore[misc]
    return count


def colour_at(pixels, position, point):
    """Return the colour of a picture at a point of its scene."""
    scale = pixels.shape[1] / layout_of(position.ruleset).width
    return tuple(pixels[round(point[1] * scale), round(point[0] * scale)].tolist())


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("width", [400, 640, 1000])
def test_the_seeds_that_are_seen_are_the_seeds_there_are(width, theme):
    position = Position("gabata_i", seeds=[0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 0, 1])
    pixels = pixels_of(position.scene(), width=width, theme=theme)
    assert [seeds_seen(pixels, position, hole, theme) for hole in range(12)] == position.seeds.tolist()
    many = Position("gabata_i", seeds=[30, 12] + [0] * 10)
    pixels = pixels_of(many.scene(), width=width, theme=theme)
    assert seeds_seen(pixels, many, 0, theme) == seeds_seen(pixels, many, 1, theme) == MAX_SEEDS_DRAWN


@pytest.mark.parametrize("direction", ["anticlockwise", "clockwise"])
@pytest.mark.parametrize("width", range(2, 13))
def test_every_width_and_both_directions(width, direction):
    ruleset = Ruleset(row_width=width, direction=direction, seeds_per_hole=10)
    seeds = [min(hole, 11) for hole in range(2 * width)]
    position = Position(ruleset, seeds=seeds)
    pixels = pixels_of(position.scene(), width=90 * width)
    assert [seeds_seen(pixels, position, hole) for hole in range(2 * width)] == seeds


def test_a_clockwise_board_is_mirrored():
    """Hole 0 is at South's left in anticlockwise rulesets and at South's right in clockwise ones."""
    for name, left in (("gabata_i", True), ("leyla", False)):
        position = Position(name, seeds=[1] + [0] * 11)
        pixels = pixels_of(position.scene()).astype(int)
        lower = pixels[pixels.shape[0] // 2 :]
        seeds = np.argwhere(np.abs(lower - np.array(rgb(PALETTES["light"]["seed"]))).sum(axis=2) == 0)
        # the letters are darker than seeds
        assert (seeds[:, 1].mean() < pixels.shape[1] / 2) == left


def test_a_picture_is_drawn_the_same_and_is_the_callers():
    scene = Position("leyla").scene()
    one = pixels_of(scene)
    one[:] = 0
    assert pixels_of(scene).any()
    np.testing.assert_array_equal(pixels_of(scene), pixels_of(Position("leyla").scene()))
    assert one.dtype == np.uint8
    assert one.flags.writeable


def test_numbers_are_told_apart_and_stand_where_they_should():
    """A change of seeds changes the number of the hole, the hole and the score, and nothing else."""
    position = Position("gabata_i")
    layout = layout_of(position.ruleset)
    pictures_of = [
        pixels_of(Position("gabata_i", seeds=[seeds, 0] + [1] * 10).scene(), width=400) for seeds in range(20)
    ]
    scale = 400 / layout.width
    x, y = (scale * value for value in layout.number(0))
    numbers = [one[round(y - 11) : round(y + 2), round(x - 12) : round(x + 12)] for one in pictures_of]
    for i, one in enumerate(numbers):
        assert np.ptp(one.astype(int)) > 150  # dark on light
        for other in numbers[:i]:
            assert np.abs(one.astype(int) - other).max() > 60


def test_owner_territory_and_the_last_turn_are_seen():
    position = Position("gabata_i", seeds=[4] * 12, owner=[0, 1] + [-1] * 10)
    pixels = pixels_of(position.scene(last=(4,)))
    layout, palette = layout_of(position.ruleset), PALETTES["light"]
    x, y = layout.hole(0)
    assert colour_at(pixels, position, (x - 43, y)) == rgb(palette["south"])
    x, y = layout.hole(1)
    assert colour_at(pixels, position, (x - 43, y)) == rgb(palette["north"])
    x, y = layout.hole(4)
    changed = np.argwhere((pixels_of(position.scene()) != pixels).any(axis=2))
    scale = pixels.shape[1] / layout.width
    assert np.hypot(changed[:, 0] - y * scale, changed[:, 1] - x * scale).min() > HOLE * scale
    assert len(changed) > 100
    later = Position("gabata_i", seeds=[4] * 12, territory=[0] * 6 + [0, 0, 1, 1, 1, 1], round=2)
    pixels = pixels_of(later.scene())
    for hole, role in ((6, "south"), (7, "south"), (8, "north"), (0, "south")):
        left, _, top = layout_of(later.ruleset).strip(hole)
        assert colour_at(pixels, later, (left + 8, top + 2.5)) == rgb(palette[role])


def test_text_of_any_kind_is_drawn():
    ruleset = Ruleset(name="mine", title="Gäbät'a \u1308\u1260\u1323 \N{SLIGHTLY SMILING FACE} " + "x" * 200)
    assert pixels_of(Position(ruleset).scene()).shape[1] == 640


def test_a_grid_holds_its_pictures():
    scenes = [Position("leyla").scene(), Position("leyla", player=1).scene(), Position("leyla").scene()]
    whole = grid_of(scenes, 2, width=800)
    one = pixels_of(scenes[1], width=400)
    np.testing.assert_array_equal(whole[: len(one), 400:], one)
    assert whole.shape[0] == 2 * len(one)


# Animations


def frames_of_gif(path):
    with Image.open(path) as image:
        for i in range(image.n_frames):  # pyright: ignore[reportAttributeAccessIssue]
            image.seek(i)
            yield np.asarray(image.convert("RGB")).astype(int), image.info["duration"]


@pytest.mark.parametrize(("name", "action"), [("layli_goobalay", 2), ("leyla", 0), ("gabata_i", 4)])
def test_a_turn_as_a_gif(name, action, tmp_path):
    position = Position(name)
    timeline = position.timeline(action)
    pictures.save(tmp_path / "turn.gif", position, action=action, width=400)
    frames = list(frames_of_gif(tmp_path / "turn.gif"))
    shown = [event for event in timeline.events if event.kind not in ("relay", "next", "end")]
    assert len(frames) == len(shown) + 1  # a relay looks like the drop before it
    assert [round(seconds) for _, seconds in frames[:2]] == [270, 180]  # a lift, a drop
    after = position.copy()
    after.play(action)
    wanted = pixels_of(after.scene(last=ends_of(timeline)), width=400).astype(int)
    assert np.abs(frames[-1][0] - wanted).mean() < 1.5  # 256 colours
    assert [seeds_seen(frames[-1][0], after, hole) for hole in range(12)] == after.seeds.tolist()
    assert position == Position(name)


def test_seeds_are_sown_one_by_one(tmp_path):
    position = Position("gabata_i", seeds=[0, 3, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0])
    frames = list(pictures.frames_of_turn(position, 1))
    seen = [[seeds_seen(frame.pixels, position, hole) for hole in range(5)] for frame in frames]
    assert seen[:4] == [[0, 3, 0, 0, 0], [0, 2, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]


def test_a_long_relay_is_cut_short():
    position = Position("layli_goobalay", seeds=[3, 2, 1, 8, 1, 8, 0, 1, 0, 3, 0, 1])
    frames = list(pictures.frames_of_turn(position, 5, max_laps=3, width=200))
    assert len(frames) < 40
    np.testing.assert_array_equal(
        frames[-1].pixels, pixels_of(_played(position, 5).scene(last=(5,)), width=200)
    )


def _played(position, action):
    after = position.copy()
    after.play(action)
    return after


def game(name, turns, rounds: Rounds = 1):
    position, played, random = Position(name), [], np.random.default_rng(3)
    for _ in range(turns):
        action = int(random.choice(position.legal_actions))
        played.append((position.player, action))
        position.play(action)
        if position.is_over:
            position = position.next_round() if rounds != 1 else None
        if position is None:
            break
    return records.GameRecord(name, played, rounds=rounds)


def test_a_game_shows_every_turn():
    record = game("gabata_five_holes", 6)
    steps = list(record.replay())
    frames = [frame.pixels for frame in pictures.game_frames(record, width=200, seed_seconds=0.02)]
    np.testing.assert_array_equal(frames[0], pixels_of(record.start_position.scene(), width=200))
    at = 0
    for step in steps:
        wanted = pixels_of(step.after.scene(last=ends_of(step.before.timeline(step.turn.action))), width=200)
        at = next(i for i in range(at, len(frames)) if (frames[i] == wanted).all())
    assert at == len(frames) - 1


def test_the_next_round_is_shown_too():
    record = game("gabata_five_holes", 30, rounds="match")
    followed = [step.following for step in record.replay() if step.following.round != step.after.round]
    assert followed
    frames = [frame.pixels for frame in pictures.game_frames(record, width=80, max_laps=1)]
    wanted = pixels_of(followed[0].scene(), width=80)
    assert any((frame == wanted).all() for frame in frames)


@pytest.mark.skipif(shutil.which("ffprobe") is None, reason="ffmpeg is not installed here")
def test_a_turn_as_an_mp4(tmp_path):
    position = Position("leyla")
    pictures.save(tmp_path / "turn.mp4", position, action=1, width=301, seed_seconds=0.05)
    fields = ["-show_entries", "stream=codec_name,width,height,pix_fmt:format=duration", "-of", "csv=p=0"]
    said = subprocess.run(
        ["ffprobe", "-v", "error", *fields, str(tmp_path / "turn.mp4")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    _, width, height, kind = said[0].split(",")
    assert (int(width) % 2, int(height) % 2, int(width), kind) == (0, 0, 302, "yuv420p")
    wanted = sum(frame.seconds for frame in pictures.frames_of_turn(position, 1, seed_seconds=0.05, width=80))
    assert float(said[1]) == pytest.approx(wanted, abs=0.1)


def test_without_ffmpeg_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(pictures.FfmpegMissing, "apt install ffmpeg"):
        pictures.save(tmp_path / "turn.mp4", Position("leyla"), action=1)


def test_stills(tmp_path):
    position = Position("leyla")
    pictures.save(tmp_path / "board.png", position, width=500, theme="dark", values={0: 3})
    with Image.open(tmp_path / "board.png") as image:
        np.testing.assert_array_equal(
            np.asarray(image), pixels_of(position.scene(values={0: 3}), width=500, theme="dark")
        )
        assert Position.from_text(image.info["Position"]) == position
    pictures.save(tmp_path / "board.svg", position, theme="dark")
    assert (tmp_path / "board.svg").read_text(encoding="utf-8") == position.to_svg(theme="dark") + "\n"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("board.jpg", {}, [".svg", ".png", "board.jpg"]),
        ("board.gif", {}, [".svg", ".png"]),
        ("turn.png", {"action": 1}, [".svg", ".gif", ".mp4"]),
        ("board.png", {"width": 3}, "width"),
        ("board.png", {"width": 10**6}, "width"),
        ("board.png", {"theme": "auto"}, "theme"),
        ("turn.gif", {"action": 1, "seed_seconds": 0}, "seed_seconds"),
        ("turn.gif", {"action": 1, "seed_seconds": float("inf")}, "seed_seconds"),
        ("turn.gif", {"action": 1, "seed_seconds": "fast"}, "seed_seconds"),
        ("turn.svg", {"action": 1, "seed_seconds": 2.0}, ["seed_seconds", ".svg"]),
        ("turn.gif", {"action": 99}, []),
        ("turn.gif", {"action": 1, "values": {0: 1}}, "values"),
    ],
)
def test_what_cannot_be_drawn_is_refused(name, options, message, tmp_path):
    with raises(ValueError, message):
        pictures.save(tmp_path / name, Position("leyla"), **options)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("what", ["leyla", None, Batch("leyla", 2)], ids=lambda what: type(what).__name__)
@pytest.mark.parametrize("name", ["x.png", "x.svg", "x.gif"])
def test_what_is_no_position_is_not_drawn(name, what, tmp_path):
    with raises(InvalidArgument, type(what).__name__):
        pictures.save(tmp_path / name, what, action=0)
    assert not (tmp_path / name).exists()


def test_a_game_is_a_film(tmp_path):
    record = game("leyla", 2)
    with raises(InvalidArgument, ".gif", ".mp4"):
        pictures.save(tmp_path / "game.svg", record)
    with raises(InvalidArgument, "caption"):
        pictures.save(tmp_path / "game.gif", record, caption="hm")
    pictures.save(tmp_path / "game.gif", record, width=200)
    assert len(list(frames_of_gif(tmp_path / "game.gif"))) > 5


def test_every_ruleset_is_drawn():
    for name in rulesets.names():
        position = Position(name)
        pixels = pixels_of(position.scene(), width=500)
        assert [seeds_seen(pixels, position, hole) for hole in range(position.ruleset.num_holes)] == (
            np.minimum(position.seeds, MAX_SEEDS_DRAWN).tolist()
        )


def test_a_game_that_cannot_be_drawn_leaves_the_old_picture(tmp_path):
    path = tmp_path / "game.gif"
    path.write_bytes(b"old")
    with raises(records.InvalidRecord, "turn 2"):
        pictures.save(path, records.GameRecord("leyla", [(0, 1), (1, 99)]), width=80)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_line_break_in_a_text_is_shown_escaped():
    one, other = (pixels_of(Position("leyla").scene(caption=text)) for text in ("a\nb", r"a\nb"))
    assert np.array_equal(one, other)


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """Return a function that puts a program in the place of ffmpeg."""
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def install(script):
        program.write_text(f'#!/bin/sh\nfor last in "$@"; do :; done\n{script}\n')
        program.chmod(0o755)

    return install


FRAME = Frame(np.zeros((4, 4, 3), np.uint8), 1.0)


def test_a_video_that_cannot_be_drawn_leaves_the_old_one(tmp_path, ffmpeg):
    ffmpeg('exec cat > "$last"')  # opens its output at once, as ffmpeg does
    video = tmp_path / "old.mp4"
    video.write_bytes(b"old")

    def broken():
        yield FRAME
        raise ValueError("cannot be drawn")

    with pytest.raises(ValueError, match="cannot be drawn"):
        pictures.write_mp4(video, broken())
    assert video.read_bytes() == b"old"
    pictures.write_mp4(video, [FRAME], fps=2)
    assert video.read_bytes() == bytes(2 * 4 * 4 * 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "old.mp4"]


def test_what_a_video_cannot_be_written_for_is_said(tmp_path, ffmpeg):
    ffmpeg('cat > "$last"; echo the disk is full >&2; exit 1')
    video = tmp_path / "old.mp4"
    video.write_bytes(b"old")
    with raises(OSError, "ffmpeg", "the disk is full"):
        pictures.write_mp4(video, [FRAME])
    assert video.read_bytes() == b"old"
    with raises(OSError, "nowhere", "No such file or directory"):
        pictures.write_mp4(tmp_path / "nowhere" / "new.mp4", [FRAME])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "old.mp4"]
