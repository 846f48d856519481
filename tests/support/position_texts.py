"""Valid and invalid texts of positions, for the tests of Python and of the page."""

import random

START = "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S"
_NINES = "9" * 5000

# Text -> the text that is written after reading it.
VALID = {
    START: START,
    f"  {START}\n": START,
    START.replace(" ", "\t"): START,
    START.replace(" ", "\r\n"): START,
    START.replace(" ", "\v\f"): START,
    f"\ufeff{START}": START,
    f"\ufeff \n{START}": START,
    START.replace("4", "04"): START,
    f"{START} stall=0 round=1 starter=S debts=0-0": START,
    f"{START} round=0000000000000000000000000000000000000002": f"{START} round=2",
    f"{START} round=2147483647": f"{START} round=2147483647",
    f"{START} stall=3 stall=4": f"{START} stall=4",
    "leyla 4,4s,4,4,4,4/4,4,4,4,4s,4 0-0 N stall=50 debts=2-0": (
        "leyla 4,4s,4,4,4,4/4,4,4,4,4s,4 0-0 N stall=50 debts=2-0"
    ),
    "gabata_i 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S territory=SSSSSSSSNNNN": (
        "gabata_i 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S territory=SSSSSSSSNNNN"
    ),
    "layli_goobalay 3,2,1,8,1,8/0,1,0,3,0,1 0-0 S end=endless": (
        "layli_goobalay 3,2,1,8,1,8/0,1,0,3,0,1 0-0 S end=endless"
    ),
}

INVALID = [
    # 5 and 7 holes.
    "leyla 4,4,4,4,4/4,4,4,4,4,4,4 0-0 S",
    "",
    " \n",
    "\ufeff",
    # Only one byte order mark, at the start, is skipped.
    f"\ufeff\ufeff{START}",
    f" \ufeff{START}",
    f"{START}\ufeff",
    START.replace("leyla ", "leyla\ufeff "),
    # Unicode spaces are part of a word.
    *(START.replace(" ", space) for space in "\u00a0\u1680\u2003\u2028\u2029\u202f\u3000\x85\x1c\x1f\u200b"),
    *(f"{START}{space}" for space in "\u00a0\u2028\x85\x1c\x1f\u200b\0"),
    # Digits of other scripts, and other text that looks like a number.
    *(START.replace("4,", f"{digit},", 1) for digit in "٤४４④⁴፬"),
    *(
        START.replace("0-0", stores)
        for stores in ("٠-0", "0-０", "+0-0", "-0-0", "0--0", "0-0-0", "0", "0-", "-0")
    ),
    *(
        f"{START} {word}"
        for word in ("stall=٣", "round=２", "debts=0-٠", "round=1e0", "round=0x1", "round=1.0")
    ),
    *(
        f"{START} {word}"
        for word in ("round=1_0", "round=+1", "round= 1", "round=", "round", "round=1=2", "=")
    ),
    f"{START} round={'0' * 40}1",
    f"{START} round={_NINES}",
    f"{START} round=0",
    f"{START} round=2147483648",
    f"{START} round=9007199254740993",
    f"{START} stall=51",
    START.replace("0-0", f"0-{_NINES}"),
    START.replace("0-0", "1-0"),
    START.replace(" S", " s"),
    START.replace(" S", " SN"),
    START.replace(" S", " Ｓ"),
    START.replace("leyla", "Leyla"),
    START.replace("leyla", "__proto__"),
    START.replace("/", ","),
    START.replace("/", "//"),
    START.replace("/", "⁄"),
    START.replace("/4,", "/,4,"),
    START.replace("4/", "4,/"),
    START.replace("4/", "4sn/"),
    START.replace("4/", "4S/"),
    START.replace("4/", "4ſ/"),
    START.replace("4/", "s/"),
    START.replace("4/", "4 /"),
    START.replace("4,", "49,", 1),
    START.replace("4,", "256,", 1),
    START.replace("4,", "4s,", 1),  # owned holes come in pairs
    f"{START} territory=SSSSSSSNNNNN",
    f"{START} territory=",
    f"{START} starter=",
    f"{START} starter=1",
    f"{START} end=endless=",
    f"{START} end=stuck",
    f"{START} END=endless",
    f"{START} constructor=1",
]

_LETTERS = " \t\n\u00a0\u2028\x1c\ufeff0123456789٣４snSNſ,,//--==abcdefghijklmnopqrstuvwxyz_.+\0é"


def mutants(number: int, seed: int) -> list[str]:
    """Return valid texts in which one to three letters are changed, added, removed or doubled."""
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        text = draw.choice(list(VALID))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text))
            new = draw.choice((text[at] * 2, "", draw.choice(_LETTERS), text[at] + draw.choice(_LETTERS)))
            text = text[:at] + new + text[at + 1 :]
        found.append(text)
    return found
