"""Game records: writing, reading, and errors at the first invalid part."""

import importlib
import itertools
import random
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from error_checks import raises
from hypothesis import given
from hypothesis import strategies as st
from record_texts import INVALID, VALID
from recorded_games import RECORDINGS, recorded
from small_disk import largest_file
from strategies import any_ruleset, own_rulesets, reached

from mancala_env import Batch, InvalidPosition, InvalidRuleset, MancalaError, Position, Ruleset, rulesets
from mancala_env.errors import InvalidArgument
from mancala_env.games.records import (
    GameRecord,
    InvalidRecord,
    RecordedTurn,
    Replay,
    games_text,
    parse_games,
    read_games,
    values_comment,
    write_games,
    writer,
)
from mancala_env.games.records import reader as records_reader

DOCS = Path(__file__).parent.parent.parent / "docs" / "guides" / "records.md"
LEYLA = '[Ruleset "leyla"]\n'

printable = st.text(st.characters(categories=["L", "N", "P", "S"], include_characters=" "), max_size=30)


def played(start, rounds, rng, most_turns):
    """Play random turns from a position, and return them."""
    game, turns = Replay(start, rounds), []
    while not game.is_over and len(turns) < most_turns:
        turns.append((game.position.player, rng.choice(game.position.legal_actions)))
        game.play(RecordedTurn(*turns[-1]))
    return turns


@st.composite
def worded_rulesets(draw):
    """Draw a ruleset, sometimes with a name and title that need escaping."""
    ruleset = draw(any_ruleset)
    if ruleset.name != "own" or draw(st.booleans()):
        return ruleset
    name = draw(printable.map(lambda text: text.replace(" ", "")).filter(bool))
    if name in rulesets.names():
        return ruleset
    return replace(ruleset, name=name, title=draw(printable), region=draw(printable), source=draw(printable))


@st.composite
def any_record(draw):
    """Draw a game of any ruleset, length and start, with everything that a record can hold."""
    ruleset = draw(worded_rulesets())
    start = draw(st.just(None) | reached(st.just(ruleset)))
    rounds = draw(st.sampled_from((1, 2, 7, "match")))
    rng = random.Random(draw(st.integers(0, 2**32)))
    turns = played(start or Position(ruleset), rounds, rng, draw(st.integers(0, 150)))
    comments = draw(st.lists(printable, max_size=4))
    commented = [(*turn, comments.pop()) if comments and rng.random() < 0.1 else turn for turn in turns]
    record = GameRecord(
        ruleset,
        commented,
        south=draw(printable),
        north=draw(printable),
        rounds=rounds,
        start=start or "",
        seed=draw(st.none() | st.integers(0, 2**64)),
        opening=draw(printable),
        date=draw(st.just("") | st.dates().map(str)),
        comment=draw(printable),
        headers=draw(st.dictionaries(st.sampled_from(("Event", "Site", "Round2")), printable)),
    )
    if not record.verify().is_over and draw(st.booleans()):
        record = replace(record, resigned=draw(st.integers(0, 1)))
    return record


# Round trips


@pytest.mark.slow
@given(st.lists(any_record(), max_size=3))
def test_games_of_any_ruleset_are_read_back_as_they_were_written(games):
    assert parse_games(games_text(games)) == games


@given(own_rulesets())
def test_every_field_of_a_custom_ruleset_comes_back(ruleset):
    (again,) = parse_games(GameRecord(ruleset).to_text())
    assert {one.name: getattr(again.ruleset, one.name) for one in fields(Ruleset)} == {
        one.name: getattr(ruleset, one.name) for one in fields(Ruleset)
    }


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name[:-9])
def test_ludiis_games_are_written_and_read_back(path, tmp_path):
    games, boards = [], []
    for record in recorded(path):
        turns = [*record["turns"], record["last"]]
        games.append(
            GameRecord(
                record["ruleset"],
                [(turn["mover"], turn["action"]) for turn in turns],
                "Ludii",
                "Ludii",
                headers={"Game": str(record["game"])},
            )
        )
        boards.append([turn["seeds"] for turn in record["turns"]])
        outcome = games[-1].verify()
        assert (outcome.end, outcome.turns) == ("stuck", len(turns))
        assert outcome.margin == record["count"][0] - record["count"][1]
    file = tmp_path / "games.txt"
    assert write_games(file, games) == len(games)
    again = list(read_games(file))
    assert again == games
    for game, expected in zip(again, boards, strict=True):
        assert [position.seeds.tolist() for position in game.positions()][1:-1] == expected


def test_nothing_is_appended_to_a_file_of_something_else(tmp_path):
    file, game = tmp_path / "other.txt", GameRecord("leyla", [(0, 0)])
    for text in ("my notes\n", "[1, 2]\n", '[Event "a game of chess"]\n\n1. e4 e5\n'):
        file.write_text(text, encoding="utf-8")
        with raises(InvalidRecord, "other.txt"):
            write_games(file, [game], append=True)
        assert file.read_text(encoding="utf-8") == text
    for before in ("", "\n\n"):
        file.write_text(before, encoding="utf-8")
        write_games(file, [game], append=True)
        assert len(list(read_games(file))) == 1


def test_files_are_appended_to_with_an_empty_line_between(tmp_path):
    file = tmp_path / "games.txt"
    first, second = GameRecord("leyla", south="one"), GameRecord("leyla", [(0, 0)], south="two")
    write_games(file, [first])
    write_games(file, [second, first], append=True)
    assert list(read_games(file)) == [first, second, first]
    assert file.read_text(encoding="utf-8") == games_text([first, second, first])
    write_games(file, [second])
    assert list(read_games(file)) == [second]


def test_a_file_is_replaced_by_its_own_games(tmp_path):
    file = tmp_path / "games.txt"
    first, second = GameRecord("leyla", south="one"), GameRecord("leyla", [(0, 0)], south="two")
    write_games(file, [first, second])
    file.chmod(0o640)
    assert write_games(file, (game for game in read_games(file) if game.turns)) == 1
    assert list(read_games(file)) == [second]
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["games.txt"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_games_of_a_file_are_appended_to_it_once(tmp_path, newline, mark):
    file, games = tmp_path / "games.txt", [GameRecord("leyla", south="one"), GameRecord("leyla", south="two")]
    file.write_text(mark + games_text(games), encoding="utf-8", newline=newline)
    assert write_games(file, itertools.islice(read_games(file), 9), append=True) == 2
    assert list(read_games(file)) == games * 2


def test_a_file_that_cannot_be_replaced_whole_is_left_as_it_is(tmp_path):
    file, wrong = tmp_path / "games.txt", GameRecord("leyla", [(0, 3), (0, 3)])
    write_games(file, [GameRecord("leyla", [(0, 0)])])
    before = file.read_bytes()
    with raises(InvalidRecord, "game 2", "turn 2"):
        write_games(file, [GameRecord("leyla"), wrong])
    assert file.read_bytes() == before
    with raises(InvalidRecord, "game 2", "turn 2"):
        write_games(file, [GameRecord("leyla"), wrong], append=True)
    assert len(list(read_games(file))) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["games.txt"]
    with raises(FileNotFoundError, "nowhere/games.txt"):
        write_games(tmp_path / "nowhere" / "games.txt", [])


def test_games_go_to_where_a_link_points(tmp_path):
    file, link = tmp_path / "games.txt", tmp_path / "link.txt"
    write_games(file, [GameRecord("leyla")])
    link.symlink_to(file)
    write_games(link, [GameRecord("gabata_i")])
    assert link.is_symlink()
    assert list(read_games(file)) == [GameRecord("gabata_i")]


@pytest.mark.parametrize("first_read", [16, 1 << 16])
def test_nothing_is_appended_to_an_open_comment(tmp_path, monkeypatch, first_read):
    monkeypatch.setattr(writer, "_TAIL", first_read)
    file, game = tmp_path / "games.txt", GameRecord("leyla", [(0, 3)])
    closed = game.to_text().rstrip("\n") + " {as in\n[Ruleset 3, ...}\n"
    write_games(file, parse_games(closed * 2))
    write_games(file, [game], append=True)
    assert len(list(read_games(file))) == 3
    whole = closed + "\n" + closed.replace("}\n", "\n")
    file.write_text(whole, encoding="utf-8")
    with raises(InvalidRecord, "games.txt", "game 2", "comment"):
        write_games(file, [game], append=True)
    assert file.read_text(encoding="utf-8") == whole


@pytest.mark.parametrize(("before", "is_appended"), [("\n  \n", True), (" ", False), ("\n\t", False)])
def test_games_are_appended_only_to_what_can_be_read(tmp_path, before, is_appended):
    file, game = tmp_path / "games.txt", GameRecord("leyla")
    file.write_text(before + game.to_text(), encoding="utf-8")
    if is_appended:
        write_games(file, [game], append=True)
        assert list(read_games(file)) == [game, game]
    else:
        for call in (lambda: write_games(file, [game], append=True), lambda: list(read_games(file))):
            with raises(InvalidRecord, "games.txt"):
                call()


def test_half_a_game_at_the_end_is_told_before_games_are_appended(tmp_path):
    file, position, turns = tmp_path / "games.txt", Position("leyla"), []
    while not position.is_over:
        turns.append((position.player, position.legal_actions[0]))
        position.play(position.legal_actions[0])
    game = GameRecord("leyla", turns, south="one")
    whole = games_text([game])
    file.write_text(whole.rstrip("\n"), encoding="utf-8")  # as some editors leave it
    write_games(file, [game], append=True)
    assert list(read_games(file)) == [game, game]
    for cut in (whole[:10], whole[:-6]):
        file.write_text(whole + "\n" + cut, encoding="utf-8")
        with raises(InvalidRecord, "games.txt", "game 2"):
            write_games(file, [game], append=True)
        assert file.read_text(encoding="utf-8") == whole + "\n" + cut


def test_a_game_that_the_disk_has_no_room_for_is_not_there_by_half(tmp_path):
    file, game = tmp_path / "games.txt", GameRecord("leyla", [(0, 0)], comment="long " * 400)
    write_games(file, [game])
    size = file.stat().st_size
    with largest_file(2 * size + size // 2), raises(OSError, "File too large"):
        write_games(file, [game, game], append=True)
    assert list(read_games(file)) == [game, game]


def test_a_record_can_be_an_element_of_a_set():
    games = [GameRecord("leyla", headers={"Event": name}) for name in "aab"]
    assert len(set(games)) == 2


def test_the_example_of_the_documentation_is_what_is_written():
    text = DOCS.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    (game,) = parse_games(text)
    assert game.turns[10].values == {5: -12}
    assert game.to_text() == text


def test_a_text_written_by_hand_may_be_loose():
    text = '\ufeff[Ruleset   "gabata_i"]\r\n\r\n{a\n  comment\tin two lines \\} } S1 N2\n'
    text += "{of} {two parts}\n\n\n 3. S3"
    assert parse_games(text)[0] == GameRecord(
        "gabata_i", [(0, 0), (1, 1, "of two parts"), (0, 2)], comment="a comment in two lines }"
    )


# Contents of a record


def test_rounds_are_numbered_and_the_margin_is_the_matchs():
    rng = random.Random(1)
    turns = played(Position("leyla"), "match", rng, 10_000)
    game = GameRecord("leyla", turns, rounds="match")
    steps = list(game.replay())
    numbers = [int(number) for number in re.findall(r"^Round (\d+):$", game.to_text(), re.M)]
    assert numbers == list(range(1, steps[-1].after.round + 1))
    outcome = game.verify()
    assert outcome.is_over
    assert outcome.rounds == numbers[-1] > 1
    assert outcome.winner == steps[-1].after.match_winner
    assert str(outcome).startswith(("South by", "North by", "draw"))
    for before, after in itertools.pairwise(steps):
        assert before.following == after.before
        if before.after.is_over:
            assert before.after.next_round() == after.before


def test_a_limit_on_rounds_ends_the_game():
    rng = random.Random(2)
    turns = played(Position("layli_goobalay"), 2, rng, 10_000)
    outcome = GameRecord("layli_goobalay", turns, rounds=2).verify()
    assert (outcome.is_over, outcome.rounds) == (True, 2)
    assert not GameRecord("layli_goobalay", turns, rounds=3).verify().is_over


@pytest.mark.parametrize("rounds", [1, 2, "match"])
@pytest.mark.parametrize("name", rulesets.names())
def test_a_replay_is_an_episode_of_a_batch(name, rounds):
    game, batch, rng = (
        Replay(Position(name), rounds),
        Batch(name, 1, rounds, autoreset=False),
        random.Random(5),
    )
    batch.load(game.position.games)
    while not game.is_over and game.turns < 200:
        action = rng.choice(game.position.legal_actions)
        game.play(RecordedTurn(game.position.player, action))
        batch.step([action])
        assert batch.games.tolist() == game.position.games.tolist()
        assert batch.done[0] == game.is_over
    if game.margin is not None:
        assert batch.rewards[0, 0] == (game.margin > 0) - (game.margin < 0)


def test_positions_are_the_start_every_turn_and_every_new_round():
    turns = played(Position("leyla"), 3, random.Random(4), 10_000)
    boards = list(GameRecord("leyla", turns, rounds=3).positions())
    assert boards[0] == Position("leyla")
    last_round = boards[-1].round
    assert len(boards) == 1 + len(turns) + last_round - 1
    assert boards[-1].is_over


def test_playing_on_in_what_a_replay_gives_leaves_the_replay_as_it_is():
    game = GameRecord("gabata_i", played(Position("gabata_i"), 1, random.Random(3), 10))
    for step in game.replay():
        for position in (step.before, step.after, step.following):
            if not position.is_over:
                position.play(position.legal_actions[0])
    for position in game.positions():
        if not position.is_over:
            position.play(position.legal_actions[0])


def test_a_player_may_resign():
    game = GameRecord("leyla", [(0, 0)], resigned=0)
    assert '[Result "North"]\n[End "resigned"]' in game.to_text()
    outcome = GameRecord.from_text(game.to_text()).verify()
    assert (outcome.winner, outcome.margin, outcome.end) == (1, None, "resigned")
    over = GameRecord("leyla", played(Position("leyla"), 1, random.Random(0), 10_000))
    with raises(InvalidRecord, "South", "stuck"):
        replace(over, resigned=0).verify()


def test_values_in_a_comment():
    comment = values_comment(1, {0: -4, 11: 2.25, 3: 0}, "why not")
    assert comment == "[%values N1=-4 N12=+2.25 N4=+0] why not"
    assert values_comment(0, {0: -0.00001}, "") == "[%values S1=+0]"
    assert values_comment(0, {0: -999_999_999}) == "[%values S1=-999999999]"
    wrong: list[Any] = [1e9, -1e10, float("nan"), float("inf"), "3"]
    for value in wrong:
        with raises(InvalidArgument, "values", "999,999,999", value):
            values_comment(0, {0: value})
    assert RecordedTurn(1, 0, comment).values == {0: -4, 11: 2.25, 3: 0}
    for text in ("N1=x", "N0=5"):
        assert RecordedTurn(1, 0, f"[%values {text}]").values == {}


# Invalid records


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("S1 N1 S1 S2", "line 3, game 1, turn 4: S2 cannot be played: North is to move; legal: N1 N2"),
        ("S1 N1 S1 N4", "turn 4: N4 cannot be played: it is empty; legal: N1 N2 N5 N6"),
        ("S7", "turn 1: S7 cannot be played: it is North's; legal: S1 S2 S3 S4 S5 S6"),
        ("S99", "turn 1: S99 cannot be played: there is no such hole; legal: S1 S2"),
        ("S1 N1 x3", "turn 3: 'x3' is not a turn: S or N and a hole from 1; legal: S1"),
        ("S0", "'S0' is not a turn"),
        ("S١", "'S١' is not a turn"),
        ("s1", "'s1' is not a turn"),
        ("S" + "1" * 5000, "is not a turn"),
        ("1. S1 3. N1", "turn 2 comes next, not turn 3"),
        ("Round 2: S1", "round 2 does not begin here: it is round 1"),
        ("Round 1: S1 Round 1: N1", "round 1 does not begin here"),
        ("S1 {never ends", "a comment is not closed"),
        ("{" + "x" * 10_001 + "}", "comment must be one line of at most 10,000 printable characters"),
        ("{a\x1b[2Jb}", "comment must be one line of at most 10,000 printable characters"),
        ('S1\n[South "late"]', "header South comes after the turns; a new game begins with Ruleset"),
        ("S1 " * 40_000, "a line has at most 100,000 characters"),
    ],
)
def test_the_first_turn_that_does_not_fit_is_named(body, why, tmp_path):
    file = tmp_path / "games.txt"
    file.write_text(f"{LEYLA}\n{body}\n", encoding="utf-8")
    with pytest.raises(InvalidRecord) as error:
        list(read_games(file))
    assert why in str(error.value)
    assert str(error.value).startswith(f"{file}, line ")
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ('[South "x"]', r'a game begins with [Ruleset "..."], not with'),
        ("S1", r'a game begins with [Ruleset "..."]'),
        ('[Ruleset "leila"]', "did you mean 'leyla'"),
        (
            '[Ruleset "leyla"]\n[Dials "row_width=7"]',
            "row_width=6, not 7",
        ),
        ('[Ruleset "own"]\n[Dials "colour=red"]', "'colour' is not a rule option"),
        ('[Ruleset "own"]\n[Dials "row_width=many"]', "row_width must be a whole number, not 'many'"),
        ('[Ruleset "own"]\n[Dials "row_width=99"]', "row_width must be 2 to 12, not 99"),
        (
            '[Ruleset "own"]\n[Dials "captures_last=maybe"]',
            "captures_last must be True or False, not 'maybe'",
        ),
        ('[Ruleset "leyla"', "'[Ruleset \"leyla\"'"),
        ('[Ruleset "leyla"]\n[south "x"]', "'south'"),
        ('[Ruleset "leyla"]\n[South "x"]\n[South "x"]', "header South is a duplicate"),
        ('[Ruleset "leyla"]\n[Rounds "0"]', "rounds must be a whole number from 1 to 1000"),
        ('[Ruleset "leyla"]\n[Rounds "1e9"]', "rounds must be a whole number from 1 to 1000"),
        ('[Ruleset "leyla"]\n[Seed "-1"]', "header Seed must be a whole number, not '-1'"),
        ('[Ruleset "leyla"]\n[Date "22.11.2026"]', "date must be a day such as 2026-11-22"),
        ('[Ruleset "leyla"]\n[Start "leyla 4,4/4,4 0-0 S"]', "seeds must be 12 whole numbers"),
        (
            '[Ruleset "leyla"]\n[Start "gabata_i 4,4/4,4 0-0 S"]',
            "the text is of ruleset 'gabata_i', not of 'leyla'",
        ),
        ('[Ruleset "leyla"]\n[Result "draw"]', "header Result says 'draw', but the turns end in '*'"),
        ('[Ruleset "leyla"]\n[End "resigned"]', "header Result must be South or North"),
        ('[Ruleset "leyla"]\n[North "a\x07"]', "header North must be one line of at most"),
        (LEYLA + "".join(f'[E{n} ""]\n' for n in range(100)), "a game has at most 100 headers"),
        (
            '[Ruleset "leyla"]\n[Rounds "2"]\n[Start "leyla 1,0,0,0,0,0/1,0,0,0,0,0 0-0 S"]',
            "46 of 48 seeds are missing at the start, so no next round can be set up",
        ),
    ],
)
def test_headers_that_do_not_fit_are_refused(headers, why):
    with pytest.raises(InvalidRecord) as error:
        parse_games(headers)
    assert why in str(error.value)


def test_the_games_before_a_fault_are_read(tmp_path):
    file = tmp_path / "games.txt"
    file.write_text(f"{LEYLA}S1\n\n{LEYLA}S1 N1\n\n{LEYLA}N1", encoding="utf-8")
    games = read_games(file)
    assert [len(next(games).turns) for _ in range(2)] == [1, 2]
    with raises(InvalidRecord, "game 3", "turn 1", "N1"):
        next(games)


def test_a_result_that_the_turns_do_not_give_is_refused():
    game = GameRecord("leyla", played(Position("leyla"), 1, random.Random(0), 10_000))
    right = str(game.verify())
    wrong = game.to_text().replace(f'"{right}"', '"South by 48"')
    with raises(InvalidRecord, "Result", "South by 48", right):
        parse_games(wrong)
    text = game.to_text() + "S1"
    with raises(InvalidRecord, "S1", game.verify().end):
        parse_games(text)


def test_a_file_of_bytes_is_no_file_of_games(tmp_path):
    file = tmp_path / "games.txt"
    file.write_bytes(b"\xff\xfe\x00\x01")
    with raises(InvalidRecord, "games.txt", "UTF-8"):
        list(read_games(file))


def test_comments_without_end_take_little_memory(monkeypatch):
    monkeypatch.setattr(records_reader, "MAX_COMMENTS", 1000)
    with raises(InvalidRecord, "1,000"):
        parse_games(LEYLA + "S1 {" + "x" * 600 + "} N1 {" + "y" * 600 + "}")
    monkeypatch.setattr(records_reader, "MAX_TURNS", 2)
    with raises(InvalidRecord, 2):
        parse_games(LEYLA + "S1 N1 S1")


def test_many_comments_in_a_line_are_read():
    (game,) = parse_games(LEYLA + "S1 " + "{}" * 40_000)
    assert game.turns == (RecordedTurn(0, 0),)


@pytest.mark.slow
@given(st.text(max_size=200) | st.text(st.sampled_from('[]{}"\\ \nSN12.:Ruleset leyla'), max_size=200))
def test_any_other_text_is_read_or_refused(text):
    for whole in (text, LEYLA + text):
        try:
            games = parse_games(whole)
        except InvalidRecord:
            continue
        assert parse_games(games_text(games)) == games


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"ruleset": "leila"}, InvalidRuleset, "ruleset"),
        ({"turns": [(2, 0)]}, InvalidRecord, "turn"),
        ({"turns": [(0, -1)]}, InvalidRecord, "turn"),
        ({"turns": ["S1"]}, InvalidRecord, "turn"),
        ({"turns": [(0, 0, "a", "b")]}, InvalidRecord, "turn"),
        ({"turns": None}, InvalidArgument, ["turns", None]),
        ({"headers": 5}, InvalidArgument, ["headers", 5]),
        ({"turns": [(0, 0, "a\nb")]}, InvalidRecord, "comment"),
        ({"south": None}, InvalidRecord, "south"),
        ({"rounds": 0}, MancalaError, "rounds"),
        ({"seed": 2**128}, MancalaError, "seed"),
        ({"date": "today"}, InvalidRecord, "date"),
        ({"resigned": 2}, InvalidRecord, "resigned"),
        ({"resigned": False}, InvalidRecord, ["resigned", False]),
        ({"resigned": 1.0}, InvalidRecord, ["resigned", 1.0]),
        ({"headers": {"Ruleset": "x"}}, InvalidRecord, "header"),
        ({"headers": {"no name": "x"}}, InvalidRecord, "header"),
        (
            {"start": Position("gabata_i")},
            InvalidRecord,
            ["gabata_i", "leyla"],
        ),
        ({"start": "leyla"}, InvalidPosition, "position"),
        ({"ruleset": Ruleset(name="own", title="x" * 2000)}, InvalidRecord, "title"),
    ],
)
def test_what_is_no_record_is_refused_when_it_is_made(arguments, error, why):
    with raises(error, why):
        GameRecord(**({"ruleset": "leyla"} | arguments))


@pytest.mark.parametrize("action", [3.7, "3", None])
def test_a_turn_that_is_no_whole_number_is_not_added(action):
    with raises(InvalidRecord, ["turn", action]):
        GameRecord("leyla").with_turn(0, action)


@pytest.mark.parametrize(
    ("games", "said"),
    [
        (None, ["games", "GameRecords", "NoneType"]),
        (GameRecord("leyla"), ["games", "GameRecords", "GameRecord"]),
        ("text", ["game 1", "GameRecord", "str"]),
    ],
)
def test_what_is_no_game_is_not_written(games, said, tmp_path):
    path = tmp_path / "games.txt"
    write_games(path, [GameRecord("leyla")])
    before = path.read_bytes()
    for append in (False, True):
        with raises(InvalidArgument, said):
            write_games(path, games, append=append)
    with raises(InvalidArgument, said):
        games_text(games)
    assert path.read_bytes() == before


@pytest.mark.parametrize("path", ["", " ", "."])
def test_games_are_kept_in_a_file(path):
    for append in (False, True):
        with raises(InvalidArgument, "file"):
            write_games(path, [GameRecord("leyla")], append=append)
    with raises(InvalidArgument, "file"):
        next(read_games(path))


def test_games_are_read_from_a_text():
    with raises(InvalidArgument, "bytes"):
        parse_games(b"")  # pyright: ignore[reportArgumentType]


def test_a_record_with_a_turn_that_does_not_fit_is_not_written(tmp_path):
    game = GameRecord("leyla", [(0, 3), (0, 3)])
    with raises(InvalidRecord, "turn 2", "S4"):
        game.verify()
    with raises(InvalidRecord, "game 2", "turn 2", "S4"):
        write_games(tmp_path / "games.txt", [GameRecord("leyla"), game])
    with raises(InvalidRecord, 0):
        GameRecord.from_text("")


@pytest.mark.parametrize("text", VALID)
def test_a_record_of_the_grammar_is_read_and_written(text):
    written = GameRecord.from_text(text).to_text()
    assert GameRecord.from_text(written).to_text() == written


@pytest.mark.parametrize("text", INVALID)
def test_a_record_outside_of_the_grammar_is_refused(text):
    with pytest.raises(MancalaError):
        GameRecord.from_text(text)


@pytest.mark.parametrize(("round_number", "rounds"), [(1, 2), (1, "match"), (2, 3), (2, "match")])
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_a_start_without_all_seeds_has_no_next_round(ruleset, round_number, rounds):
    start = Position(ruleset, [1] * 12, round=round_number)
    with pytest.raises(InvalidPosition, match="36 of 48"):
        Replay(start, rounds)
    with pytest.raises(InvalidPosition, match="36 of 48"):
        GameRecord(ruleset, [], start=start, rounds=rounds).to_text()
    whole = Position(ruleset, [1] * 12, stores=(18, 18), round=round_number)
    assert not Replay(whole, rounds).is_over


@pytest.mark.parametrize(("round_number", "rounds"), [(1, 1), (2, 2), (2, 1), (7, 7)])
def test_a_start_without_all_seeds_is_played_to_the_end_of_its_round(round_number, rounds):
    game = Replay(Position("leyla", [0, 1] + [0] * 10, round=round_number), rounds)
    while not game.is_over:
        game.play(RecordedTurn(game.position.player, game.position.legal_actions[0]))
    assert game.position.round == round_number


def test_a_game_that_knows_one_round_only_needs_no_seeds_for_another():
    single = Ruleset(name="one_round", match="single")
    assert not Replay(Position(single, [1] * 12), "match").is_over


def test_the_public_name_of_the_records_is_importable():
    assert importlib.import_module("mancala_env.records").read_games is read_games
