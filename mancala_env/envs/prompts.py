r"""What a language model reads, and the answer in its reply.

These replies mean the same: ``Answer: S3``, ``**Answer:** hole 3``, ``<answer>3</answer>``, ``\boxed{3}``,
and a reply that is only ``3``. The last answer counts. Text before ``</think>`` is ignored.
"""

import re
from typing import Literal, get_args

from mancala_env._util.checks import one_of
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.state import NO_PLAYER, PLAYERS
from mancala_env.errors import InvalidArgument
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position, check_position
from mancala_env.render.motion import place_name
from mancala_env.rulesets.in_words import rules_in_words

Kind = Literal["sow", "move"]
"""What a task asks for: where a turn ends, or the best move."""
Split = OpeningSet
"""The boards of tasks: held out for evaluation, the others, or all."""
# Only the end of a reply and the start of an answer are read, because patterns take hours on long ones.
_MOST_READ, _MOST_OF_ANSWER = 100_000, 100
# "Answer: 3", "**Answer:** 3", "<answer>3</answer>", "\boxed{3}", "the answer is 3" and "Answer" above "3".
_SIGN, _NEXT_LINE = r"\W{0,9}?[:=>\uff1a\u2013\u2014]", r"[*_]{0,3}[ \t]{0,3}\n(?=\W{0,9}[SN]?[0-9])"
_MARK = re.compile(rf"(?<!/)answer(?:\s+is\b|{_SIGN}|{_NEXT_LINE})|\\boxed\b", re.IGNORECASE)
_DECORATION = re.compile(r"[*_`$\"'()\[\]{}<>:=\\]|hole|number|text|mathrm|mathbf", re.IGNORECASE)
# Another number in the same line is a second answer, unless other words precede it.
_LAST = r"([0-9]+)(?![^\w\n]*(?:(?:or|and|to|then|[SN])[^\w\n]*)*[0-9])"
_NEXT = r"([0-9]+)[\s,;]+(?:(?:laps?|captured)[\s,;]*)?"
_FORMS = {"move": rf"([SN]?)\s*{_LAST}", "sow": rf"([SN])\s*{_NEXT}{_NEXT}{_LAST}"}
_MEANINGS = {"move": "one hole", "sow": "hole, laps and captured seeds"}
_EXAMPLES = {"move": "S1", "sow": "N2 5 0"}
_END = "Reason first if you like. End your reply with a line: Answer: "


def prompt_of(position: Position, question: str) -> str:
    """Return rules, board and question as one text."""
    board = board_text(position)
    return f"Rules\n{rules_in_words(position.ruleset)}\n\nBoard (n, s: owned)\n{board}\n\n{question}"


def move_question(position: Position) -> str:
    """Return the question for the best move."""
    return (
        f"You are {PLAYERS[position.player]}. You want the highest lead at the end: your count minus the "
        f"opponent's. Which hole do you sow? {_END}<hole>"
    )


def sow_question(position: Position, action: int) -> str:
    """Return the question where the turn of an action ends."""
    player = PLAYERS[position.player]
    return (
        f"{player} sows {turn_text(position.player, action)}. Where does this turn end? Give the hole of the "
        f"last seed sown, the number of laps, and the number of seeds that go to {player}'s store. "
        f"{_END}<hole> <laps> <captured>"
    )


def board_text(position: Position) -> str:
    """Return the board as a drawing and as numbers, with stores and owners.

    >>> from mancala_env import Ruleset
    >>> print(board_text(Position(Ruleset(row_width=2, seeds_per_hole=3))).splitlines()[-1])
    S1=3 S2=3 N1=3 N2=3; stores: South 0, North 0; South to move
    """
    check_position(position)
    _, _, drawing = str(position).partition("\n")
    holes = []
    for hole, (seeds, owner) in enumerate(zip(position.seeds, position.owner, strict=True)):
        owned = "" if owner == NO_PLAYER else f" (owned by {PLAYERS[owner]})"
        holes.append(f"{place_name(position.ruleset, hole)}={seeds}{owned}")
    stores = "stores: South {}, North {}".format(*position.stores)
    return f"{drawing}\n{' '.join(holes)}; {stores}; {PLAYERS[position.player]} to move"


def legal_text(position: Position) -> str:
    """Return the legal holes, to append to a prompt.

    >>> legal_text(Position("leyla"))
    'legal holes: S1, S2, S3, S4, S5, S6'
    """
    check_position(position)
    holes = [turn_text(position.player, action) for action in position.legal_actions]
    return "legal holes: " + (", ".join(holes) or "none")


def parse_answer(kind: Kind, reply: str) -> str:
    """Return the last answer of a reply: a hole, such as "S3" or "3"; for "sow" also laps and captured seeds.

    >>> parse_answer("move", "Answer: 2. Or rather, **Answer:** hole S3.")
    'S3'

    Raises:
        InvalidArgument: An answer is missing, the last one is of another form, or the kind is unknown.
    """
    one_of("kind", kind, get_args(Kind))
    if not isinstance(reply, str):
        raise InvalidArgument(f"a reply is a text, not {reply!r}")
    text = reply.rpartition("</think>")[2].partition("<think>")[0][-_MOST_READ:]
    *before, answer = _MARK.split(text)
    if not before and len(text.strip()) > 12:
        example = f"a line such as Answer: {_EXAMPLES[kind]}"
        raise InvalidArgument(f"no answer in {reply[-60:]!r}; end with {example}")
    # A closing tag ends the answer.
    answer = answer.partition("</")[0].strip()[:_MOST_OF_ANSWER]
    found = re.match(_FORMS[kind], _DECORATION.sub(" ", answer).strip(), re.IGNORECASE)
    if not found:
        form = f"{_MEANINGS[kind]}, such as {_EXAMPLES[kind]}"
        raise InvalidArgument(f"the answer must be {form}, not {answer[:40]!r}")
    row, *numbers = found.groups()
    return row.upper() + " ".join(str(int(number)) for number in numbers)
