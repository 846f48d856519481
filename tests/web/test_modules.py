"""The page's books, game lines and records equal those of Python."""

import random
import re

import pytest
from page_in_node import answers
from position_texts import INVALID, VALID, mutants
from record_texts import INVALID as INVALID_RECORDS
from record_texts import VALID as VALID_RECORDS
from record_texts import mutants as record_mutants

from mancala_env import InvalidPosition, MancalaError, Position, rulesets
from mancala_env._util.package_data import rulesets_with
from mancala_env.errors import printable
from mancala_env.games import records
from mancala_env.games.notation import parse_position
from mancala_env.solver.book import certain_part, load_book


def test_the_books_have_the_same_values() -> None:
    questions, wanted = [], []
    draw = random.Random(3)
    for name in rulesets_with("book"):
        book = load_book(rulesets.lookup(name))
        assert book is not None
        rows = draw.sample(range(len(book.games)), min(150, len(book.games)))
        positions = [Position.from_games(name, book.games, row) for row in rows]
        questions.append(("book", {"name": name, "texts": [position.to_text() for position in positions]}))
        wanted.append([_value(book.rest(position.games), position) for position in positions])
    for asked, ours, theirs in zip(questions, wanted, answers(questions), strict=True):
        assert ours == [value for value, _ in theirs], asked[1]["name"]
        # The value of an opening is that of its best move.
        for value, moves in theirs:
            if value is not None and moves:
                assert max(moves.values()) <= value
        assert sum(value is not None for value in ours) >= min(20, len(ours) // 2)


def _value(rest: int | None, position: Position) -> int | None:
    return None if rest is None else rest + certain_part(position.games)


def test_the_books_do_not_know_games_in_which_territory_has_changed_hands() -> None:
    for name in ("gabata_i", "gabata_five_holes"):
        width, book = rulesets.lookup(name).row_width, load_book(rulesets.lookup(name))
        assert book is not None
        texts, in_round_2, changed, position = [], [], [], Position(name)
        for action in book.line[:6]:
            texts.append(position.to_text())
            in_round_2.append(f"{position.to_text()} round=2")
            for territory in ("S" * (width + 1) + "N" * (width - 1), "N" + "S" * (width - 1) + "N" * width):
                changed.append(f"{position.to_text()} round=2 territory={territory}")
            position.play(action)
        parts = [texts, in_round_2, changed]
        known, again, other = answers([("book", {"name": name, "texts": part}) for part in parts])
        assert all(value is not None for value, _ in known)
        assert [value for value, _ in again] == [value for value, _ in known]
        assert [value for value, _ in other] == [None] * len(changed)
        known, again, other = answers([("lineOfBook", {"name": name, "texts": part}) for part in parts])
        assert known == again == list(book.line[:6])
        assert other == [None] * len(changed)


def test_the_page_reads_the_positions_that_python_reads() -> None:
    changed = mutants(4000, seed=6)
    wanted = [*VALID.values(), *[None] * len(INVALID), *map(_as_read, changed)]
    assert sum(text is not None for text in wanted) > 100
    (found,) = answers([("positions", {"texts": [*VALID, *INVALID, *changed]})])
    for text, ours, theirs in zip([*VALID, *INVALID, *changed], wanted, found, strict=True):
        assert theirs == ours, text


def _as_read(text: str) -> str | None:
    try:
        return Position.from_text(text).to_text()
    except InvalidPosition:
        return None


def test_a_match_continues_and_ends_as_in_python() -> None:
    draw = random.Random(4)
    questions, wanted = [], []
    for name in ("layli_goobalay", "leyla", "gabata_i", "leyla_gobale_ii", "ludii_leyla"):
        for _ in range(3):
            position, actions = Position(name), []
            rounds = draw.choice([1, 2, None])
            start = position.to_text()
            while len(actions) < 300:
                if position.is_over:
                    is_last = rounds is not None and position.round >= rounds
                    following = (
                        None if is_last or position.ruleset.match == "single" else position.next_round()
                    )
                    if following is None:
                        break
                    position = following
                    continue
                actions.append(int(draw.choice(position.legal_actions)))
                position.play(actions[-1])
            if position.is_over and (rounds is None or position.round < rounds):
                following = position.next_round() if position.ruleset.match != "single" else None
                position = following or position
            questions.append(("line", {"text": start, "rounds": rounds, "actions": actions}))
            margin = records.Replay(position, rounds or "match").margin
            assert (margin is None) != position.is_over
            wanted.append({"text": position.to_text(), "isOver": position.is_over, "margin": margin})
    for asked, ours, theirs in zip(questions, wanted, answers(questions), strict=True):
        assert theirs == ours, asked


def test_debts_count_at_the_end_of_a_match_as_in_python() -> None:
    questions, margins = [], []
    for text in (
        "leyla 4n,4n,0,0,10n,0/0,10n,0,1,1n,0n 2-16 S stall=1 round=2 starter=N debts=2-0",
        "leyla 0,0,0,0,12s,0/1,8s,0,0,0,1 24-2 S stall=1 round=2 starter=N debts=0-2",
        "leyla 10s,1,1,0,0,1/0,0,0,0,0,7s 24-4 N stall=1 round=3 debts=0-2",
    ):
        for rounds in (1, 2, 3, None):
            questions.append(("line", {"text": text, "rounds": rounds, "actions": []}))
            margins.append(records.Replay(Position.from_text(text), rounds or "match").margin)
        assert margins[-4] != margins[-3] == margins[-1]  # a single round settles no debts
    for asked, margin, theirs in zip(questions, margins, answers(questions), strict=True):
        assert theirs["margin"] == margin, asked


def test_records_are_read_and_written_as_python_does() -> None:
    draw = random.Random(5)
    texts = []
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        for rounds in (1, 2, "match"):
            turns, position = [], Position(ruleset)
            record = records.GameRecord(ruleset, south="greedy", north='a "name" \\ }', rounds=rounds)
            game = records.Replay(position, rounds)
            while not game.is_over and len(turns) < 150:
                action = int(draw.choice(game.position.legal_actions))
                note = "a } \\ comment" if draw.random() < 0.1 else ""
                turns.append((game.position.player, action, note))
                game.play(records.RecordedTurn(game.position.player, action))
            resigned = 0 if not game.is_over and draw.random() < 0.5 else None
            record = records.GameRecord(
                ruleset,
                turns,
                south="greedy",
                north='a "name" \\ }',
                rounds=rounds,
                resigned=resigned,
                date="2026-11-22",
                headers={"Event": "A test"},
            )
            texts.append(record.to_text())
    late = Position.from_text("layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S")
    texts.append(records.GameRecord("layli_goobalay", [(0, 5)], start=late).to_text())
    own = rulesets.Ruleset(name="mine", title="My own", row_width=3)
    texts.append(records.GameRecord(own, [(0, 1)]).to_text())
    for ours, theirs in zip(texts, answers([("record", {"text": text}) for text in texts]), strict=True):
        assert theirs == ours
        assert records.GameRecord.from_text(theirs).to_text() == ours
    file = "\ufeff" + "\r\n\n".join(texts) + "\n\n"
    (listed,) = answers([("list", {"text": file})])
    assert listed == [[game.south or "", len(game.turns)] for game in records.parse_games(file)]


def test_the_page_reads_the_records_that_python_reads() -> None:
    changed = record_mutants(3000, seed=7)
    texts = [*VALID_RECORDS, *INVALID_RECORDS, *changed]
    wanted = [*map(_record_as_read, VALID_RECORDS), *[None] * len(INVALID_RECORDS)]
    assert None not in wanted[: len(VALID_RECORDS)]
    wanted += map(_record_as_read, changed)
    assert sum(text is not None for text in wanted) > 200
    found = answers([("recordOrError", {"text": text}) for text in texts])
    for text, ours, theirs in zip(texts, wanted, found, strict=True):
        assert theirs == ours, text


def _record_as_read(text: str) -> str | None:
    """Return a record as Python writes it; None if it is invalid."""
    try:
        return records.GameRecord.from_text(text).to_text()
    except MancalaError:
        return None


def test_an_invalid_record_has_the_same_message_in_the_page() -> None:
    found = answers([("wrongRecord", {"text": text}) for text in INVALID_RECORDS])
    for text, theirs in zip(INVALID_RECORDS, found, strict=True):
        with pytest.raises(MancalaError) as error:
            records.parse_games(text or "S1")
        assert _comparable(str(error.value)) == _comparable(theirs), text


def test_an_invalid_position_has_the_same_message_in_the_page() -> None:
    wanted = {text: message for text in INVALID if (message := _parse_error(text))}
    assert len(wanted) > 50
    (found,) = answers([("wrongPositions", {"texts": list(wanted)})])
    for text, theirs in zip(wanted, found, strict=True):
        assert _comparable(theirs) == _comparable(wanted[text]), text


def _parse_error(text: str) -> str:
    """Return the error of a text whose ruleset is known; "" if its parts can be read."""
    try:
        parse_position(text)
    except InvalidPosition as error:
        return "" if "unknown ruleset" in str(error) else str(error)  # the page suggests no similar names
    return ""


def _comparable(message: str) -> str:
    """Return a message of either language without line and game, with double quotes and escapes of Python."""
    message = re.sub(r"^line \d+(, game \d+)?(, |: )", "", message)
    return printable(message.replace("'", '"')).replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with"),
        ("S1 N2", "begins with"),
        ('[Ruleset "gabata"]\nS1', "unknown ruleset"),
        ('[Ruleset "leyla"]\n1. S9', "turn 1: S9 cannot be played: it is North's; legal: S1 S2 S3 S4 S5 S6"),
        ('[Ruleset "leyla"]\n1. S1 S1', "turn 2: S1 cannot be played: North is to move; legal: N"),
        ('[Ruleset "leyla"]\n1. hello', '"hello" is not a turn'),
        ('[Ruleset "leyla"]\n1. S1 {never closed', "comment is not closed"),
        ('[Ruleset "leyla"]\n[Result "South by 4"]\n1. S1', "header Result"),
        ('[Ruleset "leyla"]\n[Dials "row_width=7"]\n', "row_width=6, not 7"),
        ('[Ruleset "mine"]\n[Dials "colour=7"]\n', "is not a rule option"),
        ('[Ruleset "mine"]\n[Dials "row_width=99"]\n', "row_width must be"),
    ],
)
def test_an_error_of_a_record_is_named(text: str, said: str) -> None:
    (message,) = answers([("wrongRecord", {"text": text})])
    assert message is not None
    assert said in message


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ('[Ruleset "leyla"]\n1. S1 {never closed', "game 2: a comment is not closed"),
        ('[Ruleset "leyla"]\n[South "a"]\n[South "b"]', "game 2: header South is a duplicate"),
        ('{a comment with\n[Ruleset "leyla"] in it}\n[Ruleset "leyla"]\n1. {', "game 2: a comment is not"),
    ],
)
def test_the_game_of_a_file_that_cannot_be_read_is_named(second: str, said: str) -> None:
    (message,) = answers([("wrongRecord", {"text": f'[Ruleset "leyla"]\n1. S1\n\n{second}', "list": True})])
    assert message is not None
    assert said in message
