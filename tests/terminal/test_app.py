"""The Textual program: snapshots of its screens, and games played by keys and mouse."""

import asyncio
import re
import threading
from importlib.metadata import version
from pathlib import Path
from time import monotonic

import pytest

pytest.importorskip("textual")
pytest.importorskip("pytest_textual_snapshot")

from error_checks import names
from terminal_picture import PICTURE, drawn
from textual.binding import Binding
from textual.geometry import Offset

from mancala_env import Position
from mancala_env.games import records
from mancala_env.terminal.app import Help, PlayApp
from mancala_env.terminal.board_drawing import BoardLayout
from mancala_env.terminal.game import InteractiveGame
from mancala_env.terminal.widgets import HELP, Board

LATE = "gabata_i 1,5,0,2,8n,0/0,3s,2,1,0,2 9-15 S"
TERMINAL_PAGE = Path(__file__).parents[2] / "docs" / "guides" / "terminal.md"
ONE_TURN = "leyla 0,1,0,0,0,0/0,0,0,0,0,0 20-27 S"
PICTURES_OF = {"textual": "8.2.8", "pytest-textual-snapshot": "1.0.0"}
"""Versions of Textual and of the plugin that made the snapshots. Other versions draw differently."""

of_this_version = pytest.mark.skipif(
    any(version(name) != wanted for name, wanted in PICTURES_OF.items()),
    reason=f"pictures are of {PICTURES_OF}",
)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    """Let Textual draw, and wait until the program is idle, at four times the usual rate.

    Another version of Textual may lack these names. Then the tests take longer.
    """
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", 1 / 240, raising=False)
    monkeypatch.setattr("textual._wait.SLEEP_GRANULARITY", 1 / 200, raising=False)
    monkeypatch.setattr("textual._wait.SLEEP_IDLE", 1 / 4000, raising=False)


async def until(pilot, is_so):
    """Let the program run until a condition holds."""
    for _ in range(20_000):
        if is_so():
            await pilot.pause()
            return
        await pilot.pause(0.003)
    raise AssertionError("it never was so")


def said(app):
    return str(app.query_one("#said").render())


def status(app):
    return str(app.query_one("#status").render())


# Pictures


@of_this_version
def test_picture_of_the_start(snap_compare):
    assert snap_compare(PlayApp(InteractiveGame("layli_goobalay"), 0), terminal_size=(80, 24))


@of_this_version
def test_picture_in_the_middle_of_a_turn(snap_compare):
    keys = ["space", "3", *["full_stop"] * 9]
    assert snap_compare(PlayApp(InteractiveGame("gabata_i"), 0.1), terminal_size=(80, 24), press=keys)


@of_this_version
def test_picture_of_a_hint(snap_compare):
    app = PlayApp(
        InteractiveGame(Position.from_text("layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S")), 0, 600
    )

    app.analyst.hint_seconds = 600

    async def ask(pilot):
        await pilot.press("right", "h")
        await until(pilot, lambda: said(app).startswith("Hint: S"))

    assert snap_compare(app, terminal_size=(80, 24), run_before=ask)


@of_this_version
def test_picture_of_values_with_the_turns_beside(snap_compare):
    app = PlayApp(InteractiveGame(Position.from_text(LATE)), 0, 600)

    async def ask(pilot):
        await pilot.press("4", "v")
        await until(pilot, lambda: said(app).startswith("With best play"))

    assert snap_compare(app, terminal_size=(120, 30), run_before=ask)


@of_this_version
def test_picture_of_the_end_of_a_round(snap_compare):
    game = InteractiveGame(Position.from_text(ONE_TURN), rounds="match")
    assert snap_compare(PlayApp(game, 0), terminal_size=(80, 24), press=["2"])


@of_this_version
def test_picture_of_the_end_of_a_game_in_a_clockwise_one(snap_compare):
    game = InteractiveGame(Position.from_text(ONE_TURN), "human:Amina")
    assert snap_compare(PlayApp(game, 0), terminal_size=(80, 24), press=["2"])


@of_this_version
def test_picture_of_a_wide_board(snap_compare):
    keys = ["1", "2", "3", "right"]
    assert snap_compare(
        PlayApp(InteractiveGame("layli_goobalay_long"), 0), terminal_size=(120, 30), press=keys
    )


@pytest.mark.slow
@of_this_version
def test_picture_of_a_wide_board_in_a_narrow_terminal(snap_compare):
    keys = ["1", "2", "3", "right"]
    assert snap_compare(
        PlayApp(InteractiveGame("layli_goobalay_long"), 0), terminal_size=(60, 20), press=keys
    )


@of_this_version
def test_picture_of_a_narrow_light_terminal(snap_compare):
    keys = ["1", "2", "c"]
    assert snap_compare(PlayApp(InteractiveGame("leyla"), 0), terminal_size=(60, 20), press=keys)


@of_this_version
def test_picture_of_the_help(snap_compare):
    assert snap_compare(PlayApp(InteractiveGame("leyla"), 0), terminal_size=(80, 24), press=["question_mark"])


@of_this_version
@pytest.mark.generated
@pytest.mark.asyncio
async def test_the_picture_of_the_documentation_is_as_it_would_be_drawn_today():
    assert PICTURE.read_text(encoding="utf-8") == await drawn()


@pytest.mark.parametrize("text", [HELP, TERMINAL_PAGE.read_text(encoding="utf-8")], ids=["help", "page"])
def test_the_keys_are_listed(text):
    keys = [binding.key for binding in PlayApp.BINDINGS if isinstance(binding, Binding)]
    letters = {key for key in keys if key.isalpha() and len(key) == 1}
    assert letters == set(re.findall(r"(?:\[b\]|`)([a-z])(?:\[/b\]|`)", text.split("## Plain lines")[0]))


# Games


@pytest.mark.asyncio
@pytest.mark.slow
async def test_a_match_is_played_by_keys_to_its_end():
    game = InteractiveGame("leyla", "human", "greedy", rounds=2, seed=1)
    app = PlayApp(game, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        rounds = 0
        while app.stage != "over":
            await until(pilot, lambda: app.stage in ("choose", "round", "over"))
            if app.stage == "choose":
                await pilot.press(str(game.position.legal_actions[0] + 1))
            elif app.stage == "round":
                assert "Enter: the next round" in said(app)
                rounds += 1
                await pilot.press("enter")
            await pilot.pause()
        assert rounds == 1
        assert game.is_over
        assert game.result() in said(app)
        assert "The game is over" in status(app)
        assert game.record().verify().rounds == 2
        before = len(game.steps)
        await pilot.press("u")  # a turn of a finished game can be taken back too
        assert app.stage == "choose"
        assert len(game.steps) < before
        await pilot.press("q")


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.parametrize("key", ["space", "g"])
async def test_between_rounds_agents_continue_after_a_pause_and_a_person_with_a_key(monkeypatch, key):
    monkeypatch.setattr("mancala_env.terminal.app._WAIT_SECONDS", 60)  # a busy machine presses late
    loop = asyncio.get_running_loop()
    app = PlayApp(InteractiveGame("leyla", "greedy", "random", rounds=2, seed=1), 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.stage == "round")
        await pilot.press("space")
        monkeypatch.setattr(loop, "time", lambda: monotonic() + 100)
        await pilot.pause(0.1)
        assert app.stage == "round"
        monkeypatch.setattr("mancala_env.terminal.app._WAIT_SECONDS", 0.1)
        await pilot.press("space", "u")
        await until(pilot, lambda: app.stage == "over")
    app = PlayApp(InteractiveGame("leyla", "human", "greedy", rounds=2, seed=1), 0)
    async with app.run_test(size=(80, 24)) as pilot:
        while app.stage != "round":
            await until(pilot, lambda: app.stage in ("choose", "round"))
            if app.stage == "choose":
                await pilot.press(str(app.game.position.legal_actions[0] + 1))
        await pilot.press(key)
        await until(pilot, lambda: app.stage == "choose")
        assert app.game.position.round == 2


@pytest.mark.asyncio
async def test_two_agents_play_by_themselves_with_seeds_in_motion():
    game = InteractiveGame(Position.from_text(LATE), "greedy", "random", rounds=1, seed=4)
    app = PlayApp(game, 0.0001)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("plus")
        await until(pilot, lambda: app.stage == "over")
    assert game.is_over


@pytest.mark.asyncio
@pytest.mark.slow
async def test_every_moment_of_a_turn_shows_all_the_seeds():
    game = InteractiveGame("gabata_i")
    app = PlayApp(game, 0.1)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("space", "3")
        board, moments = app.query_one("#board"), 0
        while app.stage == "move":
            state = board.view.state  # type: ignore[attr-defined]
            assert state.seeds.sum() + state.stores.sum() == 48
            assert "South sows S3" in status(app) or "to move" in status(app)
            await pilot.press("full_stop")
            moments += 1
        assert moments > len(game.timelines[0].events) - 3
        assert board.view.state.seeds[0].tolist() == game.position.seeds.tolist()  # type: ignore[attr-defined]


@pytest.mark.asyncio
async def test_a_hole_is_sown_by_click_cursor_or_number_and_said_why_not():
    game = InteractiveGame("gabata_i")
    app = PlayApp(game, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        board = app.query_one("#board")
        plan = BoardLayout(game.ruleset, board.size.width, board.size.height)
        x, y = plan.corner(7)
        await pilot.click("#board", offset=(x + 2, y + 1))
        assert names(said(app), ["S8", "North"])
        x, y = plan.corner(2)
        await pilot.hover("#board", offset=(x + 2, y + 1))
        assert board.view.cursor == 2  # type: ignore[attr-defined]
        await pilot.click("#board", offset=(x + 2, y + 1))
        assert [str(step.turn) for step in game.steps] == ["S3"]
        await pilot.press("right", "enter")  # the leftmost of North's row
        first = max(game.steps[-1].before.legal_actions)
        assert game.steps[-1].turn.action == first
        await pilot.press("left")
        await pilot.press("9")
        assert "9" in said(app)
        await pilot.click("#board", offset=Offset(0, 0))
        assert len(game.steps) == 2


@pytest.mark.asyncio
@pytest.mark.slow
async def test_a_click_or_enter_skips_to_the_end_of_a_turn():
    game = InteractiveGame("gabata_i")
    app = PlayApp(game, 60)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        assert app.stage == "move"
        await pilot.press("enter")
        assert app.stage == "choose"
        await pilot.press(str(game.position.legal_actions[0] + 1))
        assert app.stage == "move"
        await pilot.press("u")  # taken back during the animation
        assert app.stage == "choose"
        assert len(game.steps) == 1


@pytest.mark.asyncio
async def test_the_eleventh_and_twelfth_hole_have_keys():
    game = InteractiveGame("layli_goobalay_long")
    app = PlayApp(game, 0)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("0", "minus", "equals_sign")
        assert [str(step.turn) for step in game.steps] == ["S10", "N11", "S12"]


@pytest.mark.asyncio
async def test_holes_won_from_the_opponent_have_keys():
    start = Position("gabata_i", [4] * 12, territory=[0] * 11 + [1])
    assert 10 in start.legal_actions
    game = InteractiveGame(start, rounds="match")
    app = PlayApp(game, 0)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("minus")
        assert [str(step.turn) for step in game.steps] == ["S11"]


@pytest.mark.asyncio
async def test_an_answer_to_what_was_taken_back_is_dropped(monkeypatch):
    """The agent's choice arrives after its turn was taken back."""
    game = InteractiveGame("gabata_i", "human", "greedy", seed=1)
    may_answer, has_answered = threading.Event(), threading.Event()

    def choose(position):
        assert may_answer.wait(60)
        has_answered.set()
        return position.legal_actions[0]

    monkeypatch.setattr(game.players[1], "choose", choose)
    app = PlayApp(game, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        assert app.stage == "think"
        assert "is thinking" in status(app)
        await pilot.press("u")
        assert app.stage == "choose"
        may_answer.set()
        assert has_answered.wait(60)
        await pilot.pause(0.1)
        assert game.steps == []
        assert app.stage == "choose"


@pytest.mark.asyncio
async def test_an_agent_thinks_in_one_thread_at_a_time(monkeypatch):
    """A turn that is taken back and played again used to start a second search of the same solver."""
    game = InteractiveGame("gabata_i", "human", "greedy", seed=1)
    may_answer, asked, running, at_once = threading.Event(), [], [], []

    def choose(position):
        asked.append(position)
        running.append(position)
        at_once.append(len(running))
        assert may_answer.wait(60)
        running.pop()
        return position.legal_actions[0]

    monkeypatch.setattr(game.players[1], "choose", choose)
    app = PlayApp(game, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3", "u", "2", "u", "1")  # its reply to the second turn is not needed
        await pilot.pause(0.1)
        may_answer.set()
        await until(pilot, lambda: app.stage == "choose")
    assert at_once == [1, 1]
    assert asked[1] == game.steps[1].before


@pytest.mark.asyncio
async def test_values_follow_the_game_and_go_away():
    game = InteractiveGame(Position.from_text(LATE))
    app = PlayApp(game, 0, 600)
    async with app.run_test(size=(80, 24)) as pilot:
        board = app.query_one("#board")
        await pilot.press("v")
        await until(pilot, lambda: said(app).startswith("With best play South"))
        assert any("★" in text for text, _ in board.view.badges.values())  # type: ignore[attr-defined]
        await pilot.press("4")
        await until(pilot, lambda: said(app).startswith("With best play North"))
        await pilot.press("v")
        assert board.view.badges == {}  # type: ignore[attr-defined]


@pytest.mark.asyncio
async def test_a_position_that_is_not_solved_in_time_has_bounds():
    app = PlayApp(InteractiveGame("layli_goobalay_long"), 0, 0.3)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("v")
        await until(pilot, lambda: said(app).startswith("Not solved in"))
        assert "with best play South ends between" in said(app)


@pytest.mark.asyncio
async def test_w_writes_the_game_into_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    game = InteractiveGame("leyla")
    app = PlayApp(game, 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3", "w")
        assert "games.txt" in said(app)
    (record,) = records.read_games(tmp_path / "games.txt")
    assert record == game.record()
    app = PlayApp(game, 0, record="mine.txt")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        assert "mine.txt" in said(app)


@pytest.mark.asyncio
async def test_help_opens_and_closes():
    app = PlayApp(InteractiveGame("leyla"), 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        assert isinstance(app.screen, Help)
        await pilot.press("escape")
        assert not isinstance(app.screen, Help)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_any_size_of_terminal_is_drawn():
    app = PlayApp(InteractiveGame("layli_goobalay_long"), 0)
    async with app.run_test(size=(200, 60)) as pilot:
        for size in ((20, 5), (40, 12), (60, 20), (110, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert app.screen.has_class("wide")


SIZES = [
    (20, 6),
    (60, 20),
    (5, 3),
    (140, 40),
    (20, 6),
    (109, 24),
    (110, 24),
    (1, 1),
    (60, 20),
    (20, 60),
    (140, 6),
]


async def seen(app, pilot, wanted=None):
    """Return the screen, text and style of every line, once it is as wanted or no longer changes."""
    before, found = None, []
    for _ in range(100):
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        found = [[(segment.text, segment.style) for segment in strip.simplify()] for strip in strips]
        if found == (wanted or before) and app.screen_stack[0].query("FooterKey"):
            break
        before = found
    return found


@pytest.mark.asyncio
@pytest.mark.parametrize("has_colours", [True, False])
@pytest.mark.parametrize(
    ("game", "keys", "starts_small"),
    [
        pytest.param("leyla", [], True, marks=pytest.mark.slow),
        pytest.param("leyla", ["right"], False, marks=pytest.mark.slow),
        pytest.param("leyla", ["space", "3", "full_stop", "full_stop"], True, marks=pytest.mark.slow),
        pytest.param("leyla", ["question_mark"], False, marks=pytest.mark.slow),
        pytest.param("layli_goobalay_long", ["3"], True, marks=pytest.mark.slow),
        pytest.param(ONE_TURN, ["2"], False, marks=pytest.mark.slow),
    ],
)
async def test_a_terminal_that_changes_its_size_shows_what_a_new_one_does(
    game, keys, starts_small, has_colours, monkeypatch
):
    """With NO_COLOR, a resize used to raise an error and leave the status cut off.

    Each program takes one half of the sizes with colours, and the other half without.
    """
    sizes = SIZES[:6] if starts_small == has_colours else SIZES[5:]

    def program():
        if not has_colours:
            monkeypatch.setenv("NO_COLOR", "1")  # Textual removes it from the environment
        position = Position.from_text(game) if " " in game else Position(game)
        app = PlayApp(InteractiveGame(position), 0.1 if "space" in keys else 0)
        assert app.no_color != has_colours
        return app

    wanted = {}
    for size in set(sizes):
        app = program()
        async with app.run_test(size=size) as pilot:
            await pilot.press(*keys)
            wanted[size] = await seen(app, pilot)
    app = program()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press(*keys)
        for size in sizes:
            await pilot.resize_terminal(*size)
            assert await seen(app, pilot, wanted[size]) == wanted[size], size


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("ruleset", "too_small", "enough", "needed"),
    [
        ("leyla", (80, 14), (80, 15), "15 rows"),
        ("leyla", (40, 16), (40, 17), "17 rows"),
        ("leyla", (25, 30), (26, 30), "26 columns"),
        ("layli_goobalay_long", (20, 5), (50, 17), "50 columns and 17 rows"),
    ],
)
async def test_a_terminal_that_is_too_small_for_the_board_says_how_large_it_must_be(
    ruleset, too_small, enough, needed
):
    def south_row(app):
        width, height = app._board.size
        x, y = BoardLayout(app.game.ruleset, width, height).label(5)
        return x < width and y < height

    app = PlayApp(InteractiveGame(ruleset), 0)
    async with app.run_test(size=too_small) as pilot:
        await pilot.pause()
        assert str(app.query_one("#title").render()) == f"Needs {needed} to show the board"
        await pilot.resize_terminal(*enough)
        await pilot.pause()
        assert str(app.query_one("#title").render()) == app.game.title
        assert south_row(app)


@pytest.mark.asyncio
@pytest.mark.parametrize("width", [17, 20, 30, 38, 39, 40, 60, 200])
async def test_who_is_to_move_is_seen_at_any_width(width):
    app = PlayApp(InteractiveGame("leyla"), 0)
    async with app.run_test(size=(width, 6)) as pilot:
        await pilot.press("right")
        assert "South to move" in status(app)
        assert len(status(app)) <= width - 2
        assert ("South 24 : 24 North" in status(app)) == (width >= 38)


@pytest.mark.asyncio
async def test_a_fault_of_an_agent_is_not_lost(monkeypatch):
    game = InteractiveGame("leyla", "greedy", "human", seed=1)
    monkeypatch.setattr(game.players[0], "choose", lambda position: 1 / 0)
    app = PlayApp(game, 0)
    with pytest.raises(ZeroDivisionError):
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: not app.is_running)


@pytest.mark.asyncio
async def test_a_hint_does_not_end_the_values():
    app = PlayApp(InteractiveGame("layli_goobalay_long"), 0, 3600)
    app.analyst.hint_seconds = 0.1
    try:
        async with app.run_test(size=(120, 30)) as pilot:
            await pilot.press("v")
            await until(pilot, lambda: said(app).startswith("Solving"))
            await pilot.press("h")
            await until(pilot, lambda: app._hint is not None)
            await until(pilot, lambda: said(app).startswith("Solving"))
    finally:
        app.analyst.ask(None)  # its thread would search for an hour, beside all later tests


@pytest.mark.asyncio
async def test_values_in_the_middle_of_a_turn_leave_the_seeds_where_they_are():
    app = PlayApp(InteractiveGame("gabata_i"), 0.1)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("space", "3", *["full_stop"] * 9)
        before = app.query_one(Board).view, status(app)
        await pilot.press("v")
        assert (app.query_one(Board).view, status(app)) == before
