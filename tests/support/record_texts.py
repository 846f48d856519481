"""Valid and invalid records, for the tests of Python and of the page."""

_LEYLA = '[Ruleset "leyla"]\n'
_OWN = '[Ruleset "mine"]\n'

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
]
