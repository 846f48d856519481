"""Prompts for language models, and what their replies say; :mod:`mancala_env.envs.text` makes tasks of them.

>>> from mancala_env import Position
>>> score_move(Position("leyla"), "Perhaps S1. No, S4 is better. Answer: S4", {}).answer
'S4'
"""

import re
import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

from mancala_env._util.checks import refuse_swapped
from mancala_env.engine.coordinates import hole_of
from mancala_env.engine.state import NO_PLAYER, PLAYERS
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position, check_position
from mancala_env.render.motion import place_name
from mancala_env.rulesets.in_words import rules_in_words

INVALID_REWARD = -1.0
"""Reward of an invalid reply; no legal move has less."""

MOVE_QUESTION = (
    "You are {player}. You want the highest lead at the end: your count minus the opponent's. Which hole do "
    "you sow? Reason first if you like. End your reply with a line: Answer: <hole>"
)
SOW_QUESTION = (
    "{player} sows {hole}. Where does this turn end? Give the hole of the last seed sown, the number of "
    "laps, and the number of seeds that go to {player}'s store. Reason first if you like. End your reply "
    "with a line: Answer: <hole> <laps> <captured>"
)
_MOST_READ = 100_000
# Longer answers, such as thousands of spaces, would take the patterns below hours.
_MOST_OF_ANSWER = 100
# "Answer: S3", "**Answer:** hole 3", "<answer>3</answer>", "\boxed{3}" and "the answer is 3" begin an answer.
_MARK = re.compile(r"(?<!/)answer(?:\s+is)?\W{0,9}?[:=>\uff1a]|answer\s+is\b|\\boxed\s*(?=\{)", re.IGNORECASE)
_AROUND = r"[\s*_`$\"'(\[{<>:=\\]*(?:text|mathrm|mathbf)?[\s{]*"
_ONE_HOLE = re.compile(
    rf"{_AROUND}(?:hole[\s:]*)?([SN]?)[\s_{{]*([0-9]{{1,3}})(?![0-9.]*[0-9])", re.IGNORECASE
)
_MORE = re.compile(r"\W*(?:(?:or|and|to|then)\W+)?(?:hole\s*)?[SN]?\s*[0-9]", re.IGNORECASE)
_SOWING = re.compile(
    rf"{_AROUND}(?:hole)?[\s:=*]*([SN])\s*([0-9]{{1,3}})[\s,;*]*(?:laps)?[\s:=*]*([0-9]{{1,4}})[\s,;*]*"
    r"(?:captured)?[\s:=*]*([0-9]{1,3})(?![0-9.]*[0-9])",
    re.IGNORECASE,
)


class Score(NamedTuple):
    """The evaluation of a reply.

    Attributes:
        reward: Reward, -1 to 0; None if the exact values are unknown.
        answer: The hole that the reply names, such as "S3"; in the task "sow" hole, laps and captured seeds.
        regret: Exact number of seeds that the move gives away; None if unknown.
        error: Why the reply is invalid; "" for a valid one.
    """

    reward: float | None
    answer: str = ""
    regret: int | None = None
    error: str = ""


def summary(scores: Iterable[Score]) -> dict[str, Any]:
    """Return number of tasks, mean reward, mean known regret and share of invalid replies.

    >>> summary([Score(0.0, "S1", regret=0), Score(-1.0, error="no answer")])
    {'tasks': 2, 'reward': -0.5, 'regret': 0, 'invalid': 0.5}

    Raises:
        InvalidArgument: The scores are empty.
    """
    if not (scores := list(scores)):
        raise InvalidArgument(f"a summary needs at least one score, not {scores}")
    regrets = [score.regret for score in scores if score.regret is not None]
    return {
        "tasks": len(scores),
        "reward": round(statistics.mean(score.reward or 0.0 for score in scores), 4),
        "regret": round(statistics.mean(regrets), 3) if regrets else None,
        "invalid": round(statistics.mean(bool(score.error) for score in scores), 4),
    }


def board_text(position: Position) -> str:
    """Return the board as a drawing and as numbers, with stores and owners.

    >>> from mancala_env import Ruleset
    >>> print(board_text(Position(Ruleset(row_width=2, seeds_per_hole=3))).splitlines()[-1])
    S1=3 S2=3 N1=3 N2=3; stores: South 0, North 0; South to move
    """
    check_position(position)
    board = zip(position.seeds.tolist(), position.owner.tolist(), strict=True)
    holes = [
        f"{place_name(position.ruleset, hole)}={seeds}"
        + ("" if owner == NO_PLAYER else f" (owned by {PLAYERS[owner]})")
        for hole, (seeds, owner) in enumerate(board)
    ]
    south, north = position.stores
    drawing = str(position).partition("\n")[2]
    return (
        f"{drawing}\n{' '.join(holes)}; stores: South {south}, North {north}; "
        f"{PLAYERS[position.player]} to move"
    )


def prompt_of(position: Position, question: str) -> str:
    """Return rules, board and question as one text."""
    refuse_swapped("prompt_of(position, question)", position, question)
    rules, board = rules_in_words(position.ruleset), board_text(position)
    return f"Rules\n{rules}\n\nBoard (n, s: owned)\n{board}\n\n{question}"


def hole_name(position: Position, action: int) -> str:
    """Return the name of a hole of the player to move, such as "N4"."""
    return place_name(position.ruleset, hole_of(position.ruleset, position.player, action))


def move_question(position: Position) -> str:
    """Return the question for a move of the player to move."""
    return MOVE_QUESTION.format(player=PLAYERS[position.player])


def legal_text(position: Position) -> str:
    """Return the legal holes, to append to a prompt.

    >>> legal_text(Position("leyla"))
    'legal holes: S1, S2, S3, S4, S5, S6'
    """
    check_position(position)
    return "legal holes: " + ", ".join(hole_name(position, action) for action in position.legal_actions)


def last_answer(reply: str) -> str:
    """Return the first characters after the last mark of an answer in a reply, without hidden reasoning.

    Raises:
        InvalidArgument: An answer is missing.
    """
    if not isinstance(reply, str):
        raise InvalidArgument(f"a reply is a text, not {reply!r}")
    text = reply[-_MOST_READ:].rpartition("</think>")[2].partition("<think>")[0]
    marks = list(_MARK.finditer(text))
    if not marks and len(text.strip()) > 12:
        raise InvalidArgument(f"no answer in {reply[-60:]!r}; end with a line such as Answer: S1")
    # A closing tag ends the answer.
    return text[marks[-1].end() if marks else 0 :].partition("</")[0].strip()[:_MOST_OF_ANSWER]


def _parsed(reply: str, form: re.Pattern[str], meaning: str) -> re.Match[str]:
    answer = last_answer(reply)
    found = form.match(answer)
    if not found or _MORE.match(answer[found.end() :].split("\n")[0]):
        raise InvalidArgument(f"the answer must be {meaning}, not {answer[:40]!r}")
    return found


def parse_move(reply: str) -> tuple[str, int]:
    """Return the row ("S", "N", or "" if not given) and the number of the hole that a reply names last.

    >>> parse_move("Answer: 2. Or rather, **Answer:** hole S3.")
    ('S', 3)

    Raises:
        InvalidArgument: An answer is missing, or its last answer is not exactly one hole.
    """
    found = _parsed(reply, _ONE_HOLE, "one hole, such as S1")
    return found[1].upper(), int(found[2])


def parse_sowing(reply: str) -> str:
    """Return the last answer of a reply as hole, laps and captured seeds, such as "N2 5 0".

    Raises:
        InvalidArgument: An answer is missing, or its last answer is not of this form.
    """
    found = _parsed(reply, _SOWING, "hole, laps and captured seeds, such as N2 5 0")
    return f"{found[1].upper()}{int(found[2])} {int(found[3])} {int(found[4])}"


def score_move(position: Position, reply: str, values: dict[int, int]) -> Score:
    """Return the score of a reply to MOVE_QUESTION.

    Args:
        position: The position.
        reply: The reply of the model.
        values: Exact value of each legal action; empty if they are unknown.
    """
    check_position(position)
    try:
        row, number = parse_move(reply)
    except InvalidArgument as error:
        return Score(INVALID_REWARD, error=str(error))
    own, width = PLAYERS[position.player][0], position.ruleset.row_width
    answer = f"{row or own}{number}"
    why = "it is not in your row" if row not in ("", own) or not 1 <= number <= width else ""
    why = why or position.why_illegal(number - 1)
    if why:
        return Score(INVALID_REWARD, answer, error=f"{answer} cannot be sown: {why}; {legal_text(position)}")
    if not values:
        return Score(None, answer)
    regret = max(values.values()) - values[number - 1]
    return Score(-regret / (2 * position.ruleset.total_seeds), answer, regret)
