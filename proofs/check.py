"""Check a proof file of the format mancala-proof-1 (docs/reference/proofs.md) with Python alone.

    python check.py leyla.proof

Prints VALID and what is proved (exit status 0), or INVALID and the reason (1). The status is 2 if the file cannot
be read. Sections are those of docs/reference/rules.md. A board is a number: byte h has the seeds of hole h.
"""

import re
import sys
from pathlib import Path

N = "(?:0|[1-9][0-9]{0,9})"
OPTIONS = (
    f"ruleset=[!-~]{{1,64}} row_width={N} seeds_per_hole={N} direction=anticlockwise|clockwise "
    "landing=uur|pair|weg captures_last=true|false owns_on=opponent|either ransoms_empty=true|false "
    "round_end=mover_stuck|either_stuck|both_stuck opening=free|rightmost|eights position=start|set"
)
SET_POSITION = rf"seeds={N}(?:\x20{N})+ owners=[-SN]+ stores={N}\x20{N} mover=south|north stall={N}"
PLAYERS = ("south", "north")


class InvalidProof(Exception):
    """The file differs from the format, or does not prove its claims."""


def require(condition, reason):
    if not condition:
        raise InvalidProof(reason)


class Game:
    """The rules, and the accounts of one prover.

    A position is (key, got, end). A key is (free, levels, south, north, mover, stall): the board of the free holes,
    the board of the levels, the bits of South's and North's holes, 0 South or 1 North, the stall counter.
    An end is "" (the round is running), "over" or "stalled".
    """

    def __init__(self, options, prover, cap):
        self.options, self.prover, self.cap = options, prover, cap
        self.width, self.size, self.landing = (
            options["row_width"],
            2 * options["row_width"],
            options["landing"],
        )
        self.captures_last, self.ransoms_empty = (
            options["captures_last"] == "true",
            options["ransoms_empty"] == "true",
        )
        self.is_exact = int(cap >= options["total"])
        self.rows = [
            sum(255 << 8 * (h + self.width * player) for h in range(self.width)) for player in (0, 1)
        ]
        self.full = self.board([options["seeds_per_hole"]] * self.size)
        opponents = (~0 << self.width, ~(~0 << self.width))  # of each mover: the bits of the opponent's row
        self.fours = opponents if options["owns_on"] == "opponent" else (~0, ~0)  # where a fourth seed owns
        if options["landing"] == "uur":
            self.fours = (0, 0)
        self.laps = [[self.lap(hole, hand) for hand in range(256)] for hole in range(self.size)]

    def lap(self, hole, hand):
        """Return what a lap adds to the board, and its last hole."""
        rounds, rest = divmod(hand, self.size)
        added = [rounds + ((h - hole - 1) % self.size < rest) for h in range(self.size)]
        return self.board(added) - (hand << 8 * hole), (hole + hand) % self.size

    def board(self, seeds):
        return sum(number << 8 * hole for hole, number in enumerate(seeds))

    def num_seeds(self, board):
        return sum(board.to_bytes(self.size, "little"))

    def legal(self, key):
        """List the holes that the mover may sow, in hole order (section 3; section 7 for the forced turn)."""
        free, _, south, north, mover, _ = key
        if self.options["opening"] == "rightmost" and mover == 0 and free == self.full and not south | north:
            return [0 if self.options["direction"] == "clockwise" else self.width - 1]
        first = self.width * mover
        return [h for h in range(first, first + self.width) if free >> 8 * h & 255]

    def play(self, key, got, hole):
        """Return the position after a turn (section 3)."""
        free, levels, south, north, mover, stall = key
        board, owned, made, fours, is_prover = (
            free,
            south | north,
            (),
            self.fours[mover],
            mover == self.prover,
        )
        # The owned holes of `board` are empty before the turn, so they collect what falls into them.
        hand = board >> 8 * hole & 255
        for _ in range(1000):
            added, hole = self.laps[hole][hand]
            board += added
            hand = board >> 8 * hole & 255
            if hand == 1 or owned >> hole & 1 or (hand == 4 and fours >> hole & 1):
                break
        else:
            return key, got, "over"
        across = self.size - 1 - hole
        facing = board >> 8 * across & 255
        is_ransom = self.landing != "uur" and (south if mover else north) >> hole & 1
        if is_ransom:
            board -= 1 << 8 * hole
        elif hand == 4 and fours >> hole & 1 and not owned >> hole & 1:
            made = (hole, across) if self.landing == "pair" else (hole,)
        elif self.landing == "uur" and not owned >> hole & 1 and hole // self.width == mover and facing == 3:
            board += (1 << 8 * hole) - (1 << 8 * across)
            made = (hole, across)
        elif self.landing == "uur" and not owned >> hole & 1 and hole // self.width == mover and facing:
            board -= (facing << 8 * across) + (self.captures_last << 8 * hole)
            got += facing + self.captures_last if is_prover else 0
        if owned:
            for h, fell in enumerate(board.to_bytes(self.size, "little")):
                if fell and owned >> h & 1:
                    board -= fell << 8 * h
                    levels = self.changed(levels, h, fell)
                    got += fell if (north if self.prover else south) >> h & 1 else 0
        if is_ransom:
            level = levels >> 8 * hole & 255
            if is_prover:
                change, gain = (-1, 2) if level else (0, 1) if self.ransoms_empty else (self.is_exact, 0)
            elif level in (0, self.cap):
                change, gain = (0, -1) if level == self.cap else (0, 0) if self.ransoms_empty else (1, 1)
            else:
                change, gain = -1, -1
            levels, got = self.changed(levels, hole, change), got + gain
        for h in made:
            seeds = board >> 8 * h & 255
            board -= seeds << 8 * h
            levels = self.changed(levels, h, seeds)
            got += seeds if is_prover else 0
            south, north = (south, north | 1 << h) if mover else (south | 1 << h, north)
        stall = stall + 1 if self.num_seeds(board) == self.num_seeds(free) else 0
        mover, end = self.hand_over(board, mover, stall)
        return (board, levels, south, north, mover, stall), got, end

    def changed(self, levels, hole, change):
        """Return the levels after a change of one, which never rises above the cap."""
        level = levels >> 8 * hole & 255
        return levels + (min(level + change, self.cap) - level << 8 * hole)

    def hand_over(self, board, mover, stall):
        """Return who moves next, and the end of the round (section 4)."""
        can_sow = [board & row != 0 for row in self.rows]
        runs = {"mover_stuck": can_sow[1 - mover], "either_stuck": all(can_sow), "both_stuck": any(can_sow)}
        end = "over" if not runs[self.options["round_end"]] else "stalled" if stall == 50 else ""
        return (1 - mover if can_sow[1 - mover] else mover), end

    def first_position(self):
        options = self.options
        if options["position"] == "set":
            seeds, owners = options["seeds"], options["owners"]
            south, north = (sum(1 << h for h, mark in enumerate(owners) if mark == player) for player in "SN")
            free = self.board(n if mark == "-" else 0 for mark, n in zip(owners, seeds))
            levels = self.board(0 if mark == "-" else min(n, self.cap) for mark, n in zip(owners, seeds))
            held = sum(n for mark, n in zip(owners, seeds) if mark == "SN"[self.prover])
            key = (free, levels, south, north, PLAYERS.index(options["mover"]), options["stall"])
            return key, held + options["stores"][self.prover], ""
        if options["opening"] != "eights":
            return (self.full, 0, 0, 0, 0, 0), 0, ""
        eight, weg = 2 * options["seeds_per_hole"], self.width  # section 6
        board = self.board(eight if h != weg and (h - weg) % 2 == 0 else 0 for h in range(self.size))
        key = (board, min(eight, self.cap) << 8 * weg, 1 << weg, 0, 0, 0)
        key, got, end = self.play(key, 0 if self.prover else eight, self.width - 2)
        return (*key[:5], 0), got, end


class Walk:
    """The walk for one claim; it raises InvalidProof where the proof fails."""

    def __init__(self, game, need, leaf, letters):
        self.game, self.need, self.leaf = game, need, leaf
        self.letters = iter(letters)
        self.proved, self.refuted = {}, {}  # by key: `need` - `got`

    def look_up(self, key, got, end):
        """Return whether a position holds, or None if that is not known."""
        game = self.game
        if end:
            return got + game.num_seeds(key[0] & game.rows[game.prover]) >= self.need
        left = game.num_seeds(key[0])
        can_lose = left if game.landing != "uur" and key[2 + game.prover] else 0
        can_win = left if game.landing == "uur" or not key[3 - game.prover] else 2 * left
        if got - can_lose >= self.need:
            return True
        if got + can_win < self.need or self.need - got >= self.refuted.get(key, 999):
            return False
        return True if self.need - got <= self.proved.get(key, -999) else None

    def known(self, key, got, end):
        """Return the same, after a search of a small position."""
        result, game = self.look_up(key, got, end), self.game
        if result is not None or game.num_seeds(key[0]) > self.leaf:
            return result
        wanted = key[4] == game.prover
        after = [game.play(key, got, hole) for hole in game.legal(key)]
        results = [self.look_up(*position) for position in after]
        holds = wanted if wanted in results else not wanted
        for position, known in zip(after, results):
            if holds is not wanted and known is None:
                holds = self.known(*position)
        (self.proved if holds else self.refuted)[key] = self.need - got
        return holds

    def prove(self, key, got):
        game, turns = self.game, self.game.legal(key)
        after = [game.play(key, got, hole) for hole in turns]
        if key[4] != game.prover:
            for hole, position in zip(turns, after):
                known = self.known(*position)
                require(known is not False, f"the reply from hole {hole} refutes the claim")
                if known is None:
                    self.prove(*position[:2])
        elif not any(self.known(*position) for position in after):
            letter = "a" if len(turns) == 1 else next(self.letters, "")
            chosen = ord(letter) - ord("a") if letter else len(turns)
            require(0 <= chosen < len(turns), f"no letter, or letter {letter!r} of {len(turns)} turns")
            require(self.known(*after[chosen]) is None, f"the turn from hole {turns[chosen]} fails")
            self.prove(*after[chosen][:2])
        self.proved[key] = self.need - got


def read(content):
    """Return a file's options and position, and its claims: player, count, cap, leaf, letters."""
    text, at, options, claims = content.decode("latin-1"), 0, {}, []

    def fields(pattern):
        nonlocal at
        match = re.compile(pattern).match(text, at)
        require(match, f"line {text.count(chr(10), 0, at) + 1} differs from the format: {pattern!r}")
        at = match.end()
        return match.groups()

    fields("mancala-proof-1\n")
    lines = OPTIONS.split()
    for key, values in (line.split("=") for line in lines):
        word = fields(f"{key} ({values})\n")[0]
        numbers = [int(number) for number in word.split()] if N in values else []
        options[key] = word if not numbers else numbers if key in ("seeds", "stores") else numbers[0]
        if word == "set":
            lines += SET_POSITION.split()
    options["text"] = text[:at]
    while not claims or text[at : at + 1] == "c":
        player, *numbers = fields(f"claim (south|north) ({N}) cap ({N}) leaf ({N}) letters ({N})\n")
        claims.append([PLAYERS.index(player), *map(int, numbers)])
    require([claim[0] for claim in claims] in ([0], [1], [0, 1]), "the claims are not South's, then North's")
    fields("\n")
    for claim in claims:
        claim[4], at = text[at : at + claim[4]], at + claim[4]
        fields("\n")
    require(at == len(text), "the file goes on after the last claim")
    return options, claims


def check_options(options):
    """Add the number of all seeds, and refuse what the format excludes."""
    width, landing, owners = options["row_width"], options["landing"], options.get("owners", "")
    options["total"] = most = 2 * width * options["seeds_per_hole"]
    require(2 <= width <= 12 and 1 <= most <= 255, "row_width or seeds_per_hole is out of range")
    eights = (options["direction"], landing, options["round_end"]) == ("anticlockwise", "weg", "both_stuck")
    for key, value, is_allowed in (
        ("captures_last", "false", landing == "uur"),
        ("owns_on", "either", landing == "weg"),
        ("ransoms_empty", "false", landing != "uur"),
        ("opening", "eights", eights),
    ):
        require(options[key] != value or is_allowed, f"{key} {value} excludes another option")
    if options["position"] == "set":
        options["total"] = sum(options["seeds"]) + sum(options["stores"])
        require(len(options["seeds"]) == len(owners) == 2 * width, "not one number and owner for each hole")
        require(options["total"] <= most and options["stall"] < 50, "too many seeds, or stall above 49")
        require(landing == "weg" or owners == owners[::-1], "owned holes are not opposite pairs")
        game = Game(options, 0, 0)
        free, *_, mover, stall = game.first_position()[0]
        require(
            game.hand_over(free, 1 - mover, stall) == (mover, ""), "the round is over, or the mover passes"
        )


def check(content):
    """Return what a file proves, as text; raise InvalidProof if it does not."""
    options, claims = read(content)
    check_options(options)
    proved, total = [0, 0], options["total"]
    for player, count, cap, leaf, letters in claims:
        most_cap = 0 if options["landing"] == "uur" else 255
        require(count <= total and cap <= most_cap and leaf <= 255, "a number of a claim is out of range")
        walk = Walk(Game(options, player, cap), count, leaf, letters)
        position = walk.game.first_position()
        known = walk.known(*position)
        require(known is not False, f"{PLAYERS[player]} does not get {count}")
        if known is None:
            walk.prove(*position[:2])
        require(next(walk.letters, None) is None, "letters are left over")
        proved[player] = count
    result = "exact" if sum(proved) == total else "bounds"
    return f"VALID south at least {proved[0]}, north at least {proved[1]} of {total} seeds: {result}\n{options['text']}"


def main():
    sys.setrecursionlimit(10**6)  # a round has at most 50 turns for each seed
    try:
        print(check(Path(sys.argv[1]).read_bytes()), end="")
    except InvalidProof as error:
        print("INVALID:", error)
        return 1
    except (IndexError, OSError) as error:
        print("usage: python check.py FILE;", error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
