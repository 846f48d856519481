"""Check a proof file of the format mancala-proof-1 (docs/reference/proofs.md) with Python 3.11 alone.

    python check.py leyla.proof

Prints VALID and what is proved (exit status 0), or INVALID and the reason (1), or fails to read the file (2).
Sections are those of docs/reference/rules.md. A board is a number: byte h has the seeds of hole h.
`board % 255` is the number of its seeds: 256 % 255 is 1, and a board has at most 254, as H is even.
"""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

N = "(?:0|[1-9][0-9]{0,9})"
OPTIONS = (
    f"ruleset=[!-~]{{1,64}} row_width={N} seeds_per_hole={N} direction=anticlockwise|clockwise "
    "landing=uur|pair|weg captures_last=true|false owns_on=opponent|either ransoms_empty=true|false "
    "round_end=mover_stuck|either_stuck|both_stuck opening=free|rightmost|eights position=start|set"
)
SET_POSITION = rf"seeds={N}(?:\x20{N})+ owners=[-SN]+ stores={N}\x20{N} mover=south|north stall={N}"
CLAIM = f"claim (south|north) ({N}) cap ({N}) leaf ({N}) letters ({N})"
WORDS = {"true": True, "false": False, "south": 0, "north": 1}


class InvalidProof(Exception):
    """The file differs from the format, or does not prove its claims."""


def require(condition, reason):
    if not condition:
        raise InvalidProof(reason)


def board_of(seeds):
    return sum(number << 8 * hole for hole, number in enumerate(seeds))


class Walk:
    # The rules, accounts and walk of one claim. A position is (key, got, whether the round is over), a key is
    # (free, levels, south, north, mover, stall): boards of free holes and of levels, 255 in each owned hole.

    def __init__(self, options, prover, need, cap, leaf, letters):
        self.__dict__.update(vars(options))
        self.prover, self.need, self.cap, self.leaf, self.letters = prover, need, cap, leaf, iter(letters)
        self.proved, self.refuted = {}, {}  # by key: `need` - `got`
        self.size, row = 2 * self.row_width, (1 << 8 * self.row_width) - 1
        self.full, self.rows = board_of([self.seeds_per_hole] * self.size), (row, row << 8 * self.row_width)
        fours = {"opponent": self.rows[::-1], "either": (-1, -1)}
        self.fours = (0, 0) if self.landing == "uur" else fours[self.owns_on]  # where a fourth seed owns
        self.laps = [[(0, hole)] for hole in range(self.size)]  # added to the board, and the last hole
        for hole, laps in enumerate(self.laps):
            for last in ((hole + 1 + hand) % self.size for hand in range(self.total)):
                laps.append((laps[-1][0] + (1 << 8 * last) - (1 << 8 * hole), last))

    def legal(self, key):
        """List the holes that the mover may sow, in hole order (section 3; section 7 for the forced turn)."""
        free, _, south, north, mover, _ = key
        if self.opening == "rightmost" and (free, south | north, mover) == (self.full, 0, 0):
            return [0 if self.direction == "clockwise" else self.row_width - 1]
        return [h for h in range(self.row_width * mover, self.row_width * (mover + 1)) if free >> 8 * h & 255]

    def play(self, key, got, hole):
        """Return the position after a turn (section 3)."""
        free, levels, south, north, mover, stall = key
        owned, fours, is_prover, made = south | north, self.fours[mover], mover == self.prover, ()
        board, hand = free, free >> 8 * hole & 255  # owned holes of the board are empty: they collect seeds
        for _ in range(1000):
            added, hole = self.laps[hole][hand]
            board += added
            hand = board >> 8 * hole & 255
            if hand == 1 or owned >> 8 * hole & 1 or (hand == 4 and fours >> 8 * hole & 1):
                break
        else:
            return key, got, True
        is_ransom, across = False, self.size - 1 - hole
        if owned >> 8 * hole & 1:
            is_ransom = self.landing != "uur" and (south if mover else north) >> 8 * hole & 1
            board -= is_ransom << 8 * hole
        elif hand == 4:
            made = (hole, across) if self.landing == "pair" else (hole,)
        elif self.landing == "uur" and hole // self.row_width == mover:
            if (facing := board >> 8 * across & 255) == 3:
                board, made = board + (1 << 8 * hole) - (1 << 8 * across), (hole, across)
            elif facing:
                board -= (facing << 8 * across) + (self.captures_last << 8 * hole)
                got += facing + self.captures_last if is_prover else 0
        for h in made:
            south, north = south | (255, 0)[mover] << 8 * h, north | (0, 255)[mover] << 8 * h
        if fell := board & (south | north):
            board, got = board - fell, got + (fell & (north if self.prover else south)) % 255
            levels += fell if self.cap >= self.total else 0
            for h in range(self.size) if 0 < self.cap < self.total else ():
                level = levels >> 8 * h & 255
                levels += min(fell >> 8 * h & 255, self.cap - level) << 8 * h
        if is_ransom:
            level, stays = levels >> 8 * hole & 255, not self.ransoms_empty
            change, gain = (0, -1) if level == self.cap else (-1, -1) if level else (stays, stays)
            if is_prover:
                change, gain = (-1, 2) if level else (stays and self.cap >= self.total, not stays)
            levels, got = levels + (change << 8 * hole), got + gain
        stall = stall + 1 if board % 255 == free % 255 else 0
        mover, is_over = self.hand_over(board, mover, stall)
        return (board, levels, south, north, mover, stall), got, is_over

    def hand_over(self, board, mover, stall):
        """Return who moves next, and whether the round is over (section 4)."""
        mine, theirs = board & self.rows[mover] != 0, board & self.rows[1 - mover] != 0
        runs = (mine and theirs) or {"mover_stuck": theirs, "both_stuck": mine or theirs}.get(self.round_end)
        return (1 - mover if theirs else mover), not runs or stall == 50

    def first_position(self):
        south, north = (board_of(255 * (mark == each) for mark in self.owners) for each in "SN")
        free = board_of(n if mark == "-" else 0 for mark, n in zip(self.owners, self.seeds))
        levels = board_of(0 if mark == "-" else min(n, self.cap) for mark, n in zip(self.owners, self.seeds))
        own = "SN"[self.prover]
        got = self.stores[self.prover] + sum(n for mark, n in zip(self.owners, self.seeds) if mark == own)
        key = (free, levels, south, north, self.mover, self.stall)
        if self.opening != "eights" or self.position == "set":
            return key, got, False
        key, got, is_over = self.play(key, got, self.row_width - 2)  # section 6
        return (*key[:5], 0), got, is_over

    def look_up(self, key, got, is_over):
        """Return whether a position holds, or None if that is not known."""
        if is_over:
            return got + (key[0] & self.rows[self.prover]) % 255 >= self.need
        left, n, ransoms = key[0] % 255, self.need - got, self.landing != "uur"
        if n <= (-left if ransoms and key[2 + self.prover] else 0) or n <= self.proved.get(key, -999):
            return True
        can_win = 2 * left if ransoms and key[3 - self.prover] else left
        return False if n > can_win or n >= self.refuted.get(key, 999) else None

    def known(self, key, got, is_over):
        """Return the same, after a search of a small position."""
        result = self.look_up(key, got, is_over)
        if result is None and key[0] % 255 <= self.leaf:
            result = self.search(key, got)
            (self.proved if result else self.refuted)[key] = self.need - got
        return result

    def search(self, key, got):
        wanted, row, unknown = key[4] == self.prover, self.rows[self.prover], []
        for hole in self.legal(key):  # look all turns up before one is searched
            (after, *_), new_got, _ = position = self.play(key, got, hole)
            result = self.look_up(*position)
            if result is wanted:
                return wanted
            if result is None:
                now = new_got + (after & row) % 255
                unknown.append((-now if wanted else now, after % 255, position))
        for *_, position in sorted(unknown):  # what looks best for the mover is searched first
            if self.known(*position) is wanted:
                return wanted
        return not wanted

    def prove(self, key, got):
        after = [self.play(key, got, hole) for hole in self.legal(key)]
        if key[4] == self.prover:
            if any(self.known(*position) for position in after):
                after = []
            elif len(after) > 1:
                chosen = ord(next(self.letters, "~")) - ord("a")
                require(0 <= chosen < len(after), "a letter is missing or names no turn")
                after = [after[chosen]]
        for position in after:
            if (known := self.known(*position)) is False:
                raise InvalidProof(f"the claim fails; letters left: {''.join(self.letters)[:40]}")
            if known is None:
                self.prove(*position[:2])
        self.proved[key] = self.need - got


def read(content):
    """Return a file's options and position, and its claims: player, count, cap, leaf, letters."""
    text, at, o, claims = content.decode("latin-1"), 0, SimpleNamespace(), []

    def fields(pattern):
        nonlocal at
        match = re.compile(pattern + "\n").match(text, at)
        require(match, f"line {text.count(chr(10), 0, at) + 1} differs from the format: {pattern!r}")
        at = match.end()
        return [int(word) if re.fullmatch(N, word) else WORDS.get(word, word) for word in match.groups()]

    fields("mancala-proof-1")
    lines = OPTIONS.split()
    for key, values in (line.split("=") for line in lines):
        setattr(o, key, fields(f"{key} ({values})")[0])
        lines += SET_POSITION.split() if key == "position" and o.position == "set" else []
    o.text = text[:at]
    while not claims or text[at : at + 1] == "c":
        claims.append(fields(CLAIM))
    require([claim[0] for claim in claims] in ([0], [1], [0, 1]), "the claims are not South's, then North's")
    fields("")
    for claim in claims:
        claim[4], at = text[at : at + claim[4]], at + claim[4]
        fields("")
    require(at == len(text), "bytes follow the last claim")
    size, most = 2 * o.row_width, 2 * o.row_width * o.seeds_per_hole
    require(4 <= size <= 24 and 1 <= most <= 255, "row_width or seeds_per_hole is out of range")
    is_plain = (o.direction, o.landing, o.round_end) == ("anticlockwise", "weg", "both_stuck")
    is_possible = o.ransoms_empty if o.landing == "uur" else o.captures_last
    is_possible &= (o.landing == "weg" or o.owns_on == "opponent") and (is_plain or o.opening != "eights")
    require(is_possible, "the options exclude each other")
    if o.position == "start":
        o.seeds, o.owners, o.stores, o.mover, o.stall = [o.seeds_per_hole] * size, "-" * size, [0, 0], 0, 0
        if o.opening == "eights":  # section 6: in W, W + 2, and so on
            o.seeds = [(h + o.row_width + 1) % 2 * 2 * o.seeds_per_hole for h in range(size)]
            o.owners = "-" * o.row_width + "S" + "-" * (o.row_width - 1)
    else:
        o.seeds, o.stores = [int(n) for n in o.seeds.split()], [int(n) for n in o.stores.split()]
    o.total = sum(o.seeds) + sum(o.stores)
    require(o.total <= most and o.stall < 50, "too many seeds, or a stall counter above 49")
    require(len(o.seeds) == len(o.owners) == size, "not one number and one owner for each hole")
    require(o.landing == "weg" or o.owners == o.owners[::-1], "owned holes are not opposite pairs")
    free = board_of(n if mark == "-" else 0 for mark, n in zip(o.owners, o.seeds))
    following = Walk(o, 0, 0, 0, 0, "").hand_over(free, 1 - o.mover, o.stall)
    require(following == (o.mover, False), "the round is over, or the mover passes")
    return o, claims


def check(content):
    """Return what a file proves, as text; raise InvalidProof if it does not."""
    (o, claims), proved = read(content), [0, 0]
    for player, count, cap, leaf, letters in claims:
        is_in_range = count <= o.total and max(cap, leaf) <= 255 and (cap == 0 or o.landing != "uur")
        require(is_in_range, f"count {count}, cap {cap} or leaf {leaf} is out of range")
        walk = Walk(o, player, count, cap, leaf, letters)
        first = walk.first_position()
        known = walk.known(*first)
        require(known is not False, f"player {player} does not get {count}")
        if known is None:
            walk.prove(*first[:2])
        require(next(walk.letters, "") == "", "letters are left over")
        proved[player] = count
    claimed = f"south at least {proved[0]}, north at least {proved[1]} of {o.total} seeds"
    return f"VALID {claimed}: {'exact' if sum(proved) == o.total else 'bounds'}\n{o.text}"


if __name__ == "__main__":
    sys.setrecursionlimit(10**6)  # a round has at most 50 turns for each seed
    if len(sys.argv) != 2:
        sys.exit(print("usage: python check.py FILE", file=sys.stderr) or 2)
    try:
        print(check(Path(sys.argv[1]).read_bytes()), end="")
    except InvalidProof as error:
        sys.exit(print("INVALID:", error) or 1)
    except (OSError, MemoryError) as error:
        sys.exit(print("usage: python check.py FILE;", str(error) or "out of memory", file=sys.stderr) or 2)
