"""Valid and invalid records, for the tests of Python and of the page."""

import random

_LEYLA = '[Ruleset "leyla"]\n'
_OWN = '[Ruleset "mine"]\n'
_OVER = "leyla 0,0,0,0,0,0/0,0,0,0,0,1 20-27 S"
_FEW_SEEDS = '[Start "leyla 1,0,0,0,0,0/1,0,0,0,0,0 0-0 S"]'

VALID = [
    f"{_LEYLA}S1",
    f"\ufeff{_LEYLA}S1",
    f"{_LEYLA}1. S1",
    f"{_LEYLA}1.S1",
    f"{_LEYLA}0001. S1",
    f"{_LEYLA}\v\tS1\f",
    f"{_LEYLA}Round 1: S1",
    f"{_LEYLA}Round \t01:S1",
    '[Ruleset\t"leyla"] \t\r\nS1',
    *(f'{_LEYLA}[Rounds "{rounds}"]\nS1' for rounds in ("match", "1", "02", "1000")),
    *(
        f'{_OWN}[Dials "{dials}"]\nS1'
        for dials in ("", "row_width=3", " row_width=03  ", "row_width=3 row_width=4")
    ),
    f'{_LEYLA}[Start ""]\nS1',
    f'{_LEYLA}[Start "  leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0  N"]\nN1',
    f'{_LEYLA}[End "resigned"]\n[Result "North"]\nS1',
    *(
        f"{_LEYLA}S1 {{{comment}}}"
        for comment in (
            "a",
            " a ",
            "a  b",
            "a\nb",
            "a\r\n\n  b ",
            "\n",
            "a\tb",
            "a\u00a0b",
            "a\u2028b",
            "a\x85b\x1c",
            "a\\}b",
        )
    ),
    f"{_LEYLA}S1{{a}}{{b}}",
    f"{_LEYLA}{{a}}S1",
    *(
        f"{_LEYLA}[{header}]\nS1"
        for header in (
            'South "a\\"\\\\b"',
            'South "' + 10_000 * "x" + '"',
            'South "é 漢 😀"',
            'Seed "007"',
            f'Seed "{2**128 - 1}"',
            f'Seed "{990 * "0"}12"',
            'Date ""',
            'Date "2024-02-29"',
            'Date "0001-01-01"',
            'Opening "1.e4"',
            f'A{39 * "b"} "a"',
        )
    ),
    _LEYLA + "".join(f'[E{n} ""]\n' for n in range(86)),
    f'{_OWN}[Dials "row_width=3"]\n[Title "My own"]\n[Region "here"]\n[Source "1. me"]\nS1',
    f'{_LEYLA}{_FEW_SEEDS}\n[Rounds "1"]\nS1',
    f'{_LEYLA}[Start "{_OVER}"]\n[Result "North by 8"]\n[End "stuck"]',
    f'{_LEYLA}[Start "{_OVER} round=3"]\n[Rounds "2"]\n',
    f"{_LEYLA}S1 {{{10_000 * 'x'}}}",
]

INVALID = [
    "",
    "S1",
    f"\ufeff\ufeff{_LEYLA}S1",
    f"{_LEYLA}\ufeffS1",
    *(f"{_LEYLA}1.{space}S1" for space in "\u00a0\u2028\u3000\x85\x1f"),
    *(f"{_LEYLA}S1{space}" for space in "\u00a0\u2028\u3000\x85\x1f"),
    *(f"{_LEYLA}{word}" for word in ("S١", "S１", "S01", "S0", "s1", "Ｓ1", "S1.", "S11111")),
    *(f"{_LEYLA}{word}" for word in ("١. S1", "2. S1", "S1 1.", "0000000001. S1", "1 . S1")),
    *(
        f"{_LEYLA}{word}"
        for word in ("Round 2: S1", "Round ١: S1", "Round\u00a01: S1", "Round1: S1", "S1 Round 1:")
    ),
    *(
        f'{_LEYLA}[Rounds "{rounds}"]\nS1'
        for rounds in (
            "",
            "0",
            "1001",
            "9999",
            "00002",
            "2.5",
            "0x2",
            "1e1",
            " 2",
            "2 ",
            "+2",
            "２",
            "٢",
            "Match",
        )
    ),
    *(
        f'{_OWN}[Dials "{dials}"]\nS1'
        for dials in (
            "row_width=３",
            "row_width=0003",
            "row_width=3=4",
            "row_width=3\u00a0seeds_per_hole=3",
            "colour=3",
        )
    ),
    f'{_OWN}[Dials "captures_last=no=yes"]\nS1',
    f'{_LEYLA}[Start "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0\u00a0N"]\nN1',
    f'{_LEYLA}[Start "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-٠ N"]\nN1',
    *(f'{_LEYLA}[End "resigned"]\n{result}S1' for result in ("", '[Result "north"]\n', '[Result "draw"]\n')),
    '[Ruleset\u00a0"leyla"]\nS1',
    '[Ruleset "leyla"]\u00a0\nS1',
    f'{_LEYLA}[south "a"]\nS1',
    f'{_LEYLA}[So_uth "a"]\nS1',
    f'{_LEYLA}[Söuth "a"]\nS1',
    f'{_LEYLA}[{"A" * 41} "a"]\nS1',
    f'{_LEYLA}[South "a\rb"]\nS1',
    f'{_LEYLA}[South "a"]\n[South "b"]\nS1',
    f'{_LEYLA}S1\n[South "a"]\n',
    # Headers: their form, place, number and values.
    f'{_LEYLA} [South "a"]\nS1',
    f'{_LEYLA}S1 [South "a"]',
    f'{_LEYLA}[South "a" S1',
    f"{_LEYLA}[South a]\nS1",
    f" {_LEYLA}S1",
    f'[South "a"]\n{_LEYLA}S1',
    f'{_LEYLA}{{a}}\n[South "a"]\n',
    f'{_LEYLA}[Ruleset\t"leyla"]\n',
    *(_LEYLA + "".join(f'[E{n} ""]\n' for n in range(number)) for number in (87, 100)),
    *(
        f"{_LEYLA}[{header}]\nS1"
        for header in (
            'South "' + 10_001 * "x" + '"',
            'South "a\x1b[2Jb"',
            'South "a\u00a0b"',
            'South "a\u200bb"',
            'South "a\u2028b"',
            'Event "a\x07"',
            'Seed ""',
            'Seed "-1"',
            'Seed "1.0"',
            'Seed "３"',
            f'Seed "{2**128}"',
            f'Seed "{1001 * "0"}"',
            'Date "today"',
            'Date "2026-2-3"',
            'Date "2023-02-29"',
            'Date "0000-01-01"',
            'Date "20260203"',
            'Date "2026-02-03T00:00"',
            'Dials "colour=3"',
            'Dials "title=3"',
            'Dials "row_width=7"',
            'Result ""',
            'End "stuck"',
        )
    ),
    *(f'[Ruleset "{name}"]\n[Dials ""]\nS1' for name in ("", "my game", "a\x07", "x" * 1001)),
    *(f'{_OWN}[Dials ""]\n[{word} "{"x" * 1001}"]\nS1' for word in ("Title", "Region", "Source")),
    f'{_OWN}[Dials "title=x"]\nS1',
    f'{_LEYLA}[Rounds "2"]\n{_FEW_SEEDS}\nS1',
    f'{_LEYLA}[Rounds "match"]\n{_FEW_SEEDS}\nS1',
    f'{_LEYLA}[Start "{_OVER}"]\n[Result "North"]\n[End "resigned"]\n',
    f'{_LEYLA}[Start "{_OVER}"]\nN1',
    # Turns, comments and lines.
    *(f"{_LEYLA}S1 {word}" for word in ("S1", "N99", "N7", "N1 N1", "]", "[x]", "}")),
    f"{_LEYLA}{{a\x1b}}S1",
    f"{_LEYLA}{{{10_001 * 'x'}}}S1",
    f"{_LEYLA}S1{{{6_000 * 'x'}}}{{{6_000 * 'x'}}}",
    f'{_LEYLA}S1 {{a\n[South "b"]',
    _LEYLA + 100_001 * " ",
]

_LETTERS = ' \t\n\r\v\u00a0\u2028\x1c\ufeff"""\\\\[[]]{{}}..::0123456789SN٣ＳéRuleset'


def mutants(number: int, seed: int) -> list[str]:
    """Return short valid records in which one to three letters are changed, added, removed or doubled."""
    draw = random.Random(seed)
    short = [text for text in VALID if len(text) < 200]
    found = []
    for _ in range(number):
        text = draw.choice(short)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text))
            new = draw.choice((text[at] * 2, "", draw.choice(_LETTERS), text[at] + draw.choice(_LETTERS)))
            text = text[:at] + new + text[at + 1 :]
        found.append(text)
    return found
