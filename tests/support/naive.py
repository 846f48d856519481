"""The rules in slow, obvious Python: a reference that the engine has to equal in every game.

Written from docs/reference/rules.md alone, section by section and in its order, with its words. One position
at a time, lists and loops, nothing clever. Imports nothing from the package, so that a mistake there cannot
hide here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

SOUTH, NORTH = 0, 1
NO_PLAYER = -1
ENDLESS_LAPS = 1000  # section 3: the lap by which a turn must have ended
STALL_TURNS = 50  # section 4: turns without a change in the number of free seeds


@dataclass(frozen=True)
class Rules:
    """A ruleset (section 6, and 7 for Ludii's programs)."""

    width: int  # W
    seeds: int  # in each hole at the start
    clockwise: bool
    landing: str  # the column of section 3's table: "uur" Layli Goobalay, "pair" Leyla, "weg" Gabata
    captures_last: bool = True  # "uur": a capture takes the last seed too
    weg_side: str = "opponent"  # "weg": four makes a weg on this side, "opponent" or "either"
    ransoms_empty: bool = True  # a last seed into an empty owned hole of the opponent's is ransomed
    round_end: str = "mover_stuck"  # or "either_stuck", or "both_stuck" (one alone passes)
    match: str = "single"  # section 5: "mirror" 5.1, "loan" 5.2, "territory" 5.3, "single" no match
    opening: str = "free"  # "rightmost" South's first turn, "eights" Gabata 3


@dataclass
class Game:
    """One position. Per-hole lists are in hole order, per-player lists are [South, North]."""

    rules: Rules
    seeds: list[int]
    owner: list[int]  # NO_PLAYER (a free hole), SOUTH or NORTH
    territory: list[int]  # who may sow from the hole
    stores: list[int]
    player: int
    stall: int = 0  # turns in a row that did not change the number of free seeds
    round: int = 1
    starter: int = SOUTH
    debts: list[int] = field(default_factory=lambda: [0, 0])  # section 5.2
    end: str = ""  # "" running, "stuck", "stall", "endless"


@dataclass
class Turn:
    """The result of a turn."""

    laps: int = 0
    captured: int = 0  # seeds that went to the mover's store
    new_owned: list[int] = field(default_factory=list)  # holes that became the mover's
    endless: bool = False


# Section 2. Board and numbering


def row(rules: Rules, player: int) -> list[int]:
    """List a player's row in sowing order."""
    return [rules.width * player + place for place in range(rules.width)]


def row_from_the_right(rules: Rules, player: int) -> list[int]:
    """List a player's row from the rightmost hole, which anticlockwise is the last in sowing order."""
    return row(rules, player) if rules.clockwise else row(rules, player)[::-1]


def opposite(rules: Rules, hole: int) -> int:
    """Return the hole across the board."""
    return 2 * rules.width - 1 - hole


def hole_of(rules: Rules, player: int, action: int) -> int:
    """Return the hole that a player sees as this action."""
    return (action + rules.width * player) % (2 * rules.width)


def action_of(rules: Rules, player: int, hole: int) -> int:
    """Return the hole as seen from a player."""
    return (hole - rules.width * player) % (2 * rules.width)


# Section 3. A turn


def can_sow(game: Game, player: int, hole: int) -> bool:
    """Section 3, 1: a free hole with seeds in the player's territory."""
    return game.territory[hole] == player and game.owner[hole] == NO_PLAYER and game.seeds[hole] > 0


def has_turn(game: Game, player: int) -> bool:
    """Tell whether a player has any hole to sow."""
    return any(seeds and can_sow(game, player, hole) for hole, seeds in enumerate(game.seeds))


def legal(game: Game) -> list[int]:
    """List the actions of the player to move, ascending; none when the round is over."""
    if game.end:
        return []
    if is_forced_rightmost(game):
        return [action_of(game.rules, SOUTH, row_from_the_right(game.rules, SOUTH)[0])]
    holes = [hole for hole, seeds in enumerate(game.seeds) if seeds and can_sow(game, game.player, hole)]
    return sorted([action_of(game.rules, game.player, hole) for hole in holes])


def play(game: Game, action: int) -> Turn:
    """Play a whole turn: the sowing, then the end of the round or the next player's turn.

    Raises:
        ValueError: The action is not legal.
    """
    if action not in legal(game):
        choices = ", ".join(map(str, legal(game))) or "none, the round is over"
        raise ValueError(f"action {action} is not legal; legal actions: {choices}")
    free_seeds = num_free_seeds(game)
    turn = sow_turn(game, hole_of(game.rules, game.player, action))
    if not turn.endless:
        game.stall = game.stall + 1 if num_free_seeds(game) == free_seeds else 0
        settle(game)
    return turn


def sow_turn(game: Game, hole: int) -> Turn:
    """Sow lap after lap until the table ends the turn, or the turn proves endless."""
    turn = Turn()
    before = list(game.seeds)
    while True:
        hole = sow_lap(game, hole)
        turn.laps += 1
        if not land(game, turn, hole):
            return turn
        if turn.laps == ENDLESS_LAPS:
            game.seeds = before
            game.end = "endless"
            turn.endless = True
            return turn


def sow_lap(game: Game, hole: int) -> int:
    """Section 3, 2: sow a handful, one a hole, skipping none; return the hole of the last seed."""
    handful = game.seeds[hole]
    game.seeds[hole] = 0
    for _ in range(handful):
        hole = (hole + 1) % len(game.seeds)
        game.seeds[hole] += 1
    return hole


def land(game: Game, turn: Turn, j: int) -> bool:
    """Section 3, 3: apply the table's line for the last seed at j; return whether to relay."""
    rules, mover = game.rules, game.player
    b = game.seeds[j] - 1
    is_opponents_side = game.territory[j] != mover
    if game.owner[j] == mover:
        return False
    if game.owner[j] != NO_PLAYER:
        if rules.landing != "uur":
            ransom(game, turn, j, b)
        return False
    if b == 3 and rules.landing == "pair" and is_opponents_side:
        own(game, turn, j)
        own(game, turn, opposite(rules, j))
        return False
    if b == 3 and rules.landing == "weg" and (is_opponents_side or rules.weg_side == "either"):
        own(game, turn, j)
        return False
    if b > 0:
        return True
    if rules.landing == "uur" and not is_opponents_side:
        capture_or_make_uur(game, turn, j)
    return False


def ransom(game: Game, turn: Turn, j: int, b: int) -> None:
    """Take the last seed, and one more if there was one, out of the opponent's owned hole."""
    if b > 0:
        take(game, turn, j, 2)
    elif game.rules.ransoms_empty:
        take(game, turn, j, 1)


def capture_or_make_uur(game: Game, turn: Turn, j: int) -> None:
    """Layli Goobalay's last seed in an empty hole of one's own: what opposite(j) holds decides."""
    across = opposite(game.rules, j)
    if game.seeds[across] == 0:
        return
    if game.seeds[across] == 3:
        game.seeds[across] -= 1
        game.seeds[j] += 1
        own(game, turn, j)
        own(game, turn, across)
        return
    take(game, turn, across, game.seeds[across])
    if game.rules.captures_last:
        take(game, turn, j, 1)


def own(game: Game, turn: Turn, hole: int) -> None:
    """Make a hole the mover's owned hole."""
    game.owner[hole] = game.player
    turn.new_owned.append(hole)


def take(game: Game, turn: Turn, hole: int, seeds: int) -> None:
    """Move seeds from a hole to the mover's store."""
    game.seeds[hole] -= seeds
    game.stores[game.player] += seeds
    turn.captured += seeds


# Section 4. End of a round


def settle(game: Game) -> None:
    """After a turn: the opponent is to move, unless the round is over or they have to pass."""
    mover = game.player
    game.player = 1 - mover
    if is_stuck(game):
        game.end = "stuck"
    elif game.stall == STALL_TURNS:
        game.end = "stall"
    elif game.rules.round_end == "both_stuck":
        pass_on(game)


def is_stuck(game: Game) -> bool:
    """Tell whether the round ends for want of holes to sow."""
    if game.rules.round_end == "mover_stuck":
        return not has_turn(game, game.player)
    if game.rules.round_end == "either_stuck":
        return not (has_turn(game, SOUTH) and has_turn(game, NORTH))
    return not (has_turn(game, SOUTH) or has_turn(game, NORTH))


def pass_on(game: Game) -> None:
    """Gabata: a player without a hole to sow passes; the opponent is known to have one."""
    if not has_turn(game, game.player):
        game.player = 1 - game.player


def num_free_seeds(game: Game) -> int:
    """Count the seeds in free holes."""
    return sum(s for s, owner in zip(game.seeds, game.owner, strict=True) if owner == NO_PLAYER)


def counts(game: Game) -> tuple[int, int]:
    """Count each player's seeds: store, owned holes wherever they lie, free seeds in their territory."""
    south_north = list(game.stores)
    for hole, seeds in enumerate(game.seeds):
        owner = game.owner[hole]
        south_north[game.territory[hole] if owner == NO_PLAYER else owner] += seeds
    return south_north[SOUTH], south_north[NORTH]


# Section 5. From round to round


def new_game(rules: Rules, starter: int = SOUTH) -> Game:
    """Set up round 1: the same number of seeds in every hole. The opening has been played."""
    game = bare_game(rules, starter)
    game.seeds = [rules.seeds] * len(game.seeds)
    open_round(game)
    return game


def next_round(game: Game) -> Game | None:
    """Set up the round after this one, which is over; None when the match is over."""
    if game.rules.match == "single":
        return None
    new = bare_game(game.rules, 1 - game.starter)
    new.round = game.round + 1
    set_up = {"mirror": set_up_mirror, "loan": set_up_loan, "territory": set_up_territory}
    if not set_up[game.rules.match](new, counts(game), game.debts):
        return None
    open_round(new)
    return new


def bare_game(rules: Rules, starter: int) -> Game:
    """Return an empty board: nothing owned, each player's territory their row, the starter to move."""
    return Game(
        rules,
        seeds=[0] * (2 * rules.width),
        owner=[NO_PLAYER] * (2 * rules.width),
        territory=[SOUTH] * rules.width + [NORTH] * rules.width,
        stores=[0, 0],
        player=starter,
        starter=starter,
    )


def weaker_player(count: Sequence[int]) -> int:
    """Return the player with fewer seeds, South if equal (every set-up then treats both alike)."""
    return SOUTH if count[SOUTH] <= count[NORTH] else NORTH


def set_up_mirror(new: Game, count: Sequence[int], _debts: Sequence[int]) -> bool:
    """Section 5.1, Layli Goobalay: the loser spreads their seeds, the winner mirrors them."""
    loser = weaker_player(count)
    a = count[loser]
    width = new.rules.width
    if a < width:
        return False
    for place, hole in enumerate(row(new.rules, loser)):
        new.seeds[hole] = a // width + (1 if place < a % width else 0)
        new.seeds[opposite(new.rules, hole)] = new.seeds[hole]
    new.stores[1 - loser] = count[1 - loser] - a
    return True


def set_up_loan(new: Game, count: Sequence[int], debts: Sequence[int]) -> bool:
    """Section 5.2, Leyla: debts, then odd seeds, then holes of four."""
    held = list(count)
    new.debts = list(debts)
    for debtor in (SOUTH, NORTH):  # step 1
        if held[debtor] >= new.debts[debtor]:
            held[debtor] -= new.debts[debtor]
            held[1 - debtor] += new.debts[debtor]
            new.debts[debtor] = 0
    weaker = weaker_player(held)
    a = held[weaker]
    if a < 3:  # step 2
        return False
    from_stronger = {0: 0, 1: -1, 2: 2, 3: 1}[a % 4]  # step 3
    held[weaker] += from_stronger
    held[1 - weaker] -= from_stronger
    if a % 4 == 2:
        new.debts[weaker] += 2
    filled = min(held[weaker] // 4, new.rules.width)  # step 4
    for player in (SOUTH, NORTH):
        for hole in row_from_the_right(new.rules, player)[:filled]:
            new.seeds[hole] = 4
        new.stores[player] = held[player] - 4 * filled
    return True


def set_up_territory(new: Game, count: Sequence[int], _debts: Sequence[int]) -> bool:
    """Section 5.3, Gabata: four in every hole, and the stronger player gains holes."""
    weaker = weaker_player(count)
    e = count[1 - weaker] - 4 * new.rules.width
    gained = e // 4 + (1 if e % 4 == 3 else 0)
    if gained == new.rules.width:
        return False
    for hole in row_from_the_right(new.rules, weaker)[new.rules.width - gained :]:
        new.territory[hole] = 1 - weaker
    new.seeds = [4] * len(new.seeds)
    return True


def match_winner(game: Game) -> int:
    """Section 5.4: return the winner after the last round, NO_PLAYER for a draw.

    By 5.1 to 5.3 the player who cannot set up is the one with fewer seeds, so the last count decides
    whether the match ended by the rules or by a limit on rounds.
    """
    south, north = counts(game)
    return NO_PLAYER if south == north else SOUTH if south > north else NORTH


# Sections 6 and 7. Openings


def open_round(game: Game) -> None:
    """Play what is forced before the first choice."""
    if game.rules.opening == "eights":
        open_with_eights(game)
    elif game.rules.round_end == "both_stuck":
        pass_on(game)


def open_with_eights(game: Game) -> None:
    """Section 6, Gabata 3: gather pairs of holes into eights, then the starter sows the last of them.

    They pass where that hole is not in their territory. The stall counter starts after the opening.
    """
    width, starter = game.rules.width, game.starter
    for i in range(width):
        source = hole_of(game.rules, starter, width - 1 + 2 * i)
        target = hole_of(game.rules, starter, width + 2 * i)
        game.seeds[target] += game.seeds[source]
        game.seeds[source] = 0
        if i == 0:
            game.owner[target] = starter
    last_eight = hole_of(game.rules, starter, width - 2)
    if can_sow(game, starter, last_eight):
        sow_turn(game, last_eight)
    if not game.end:
        settle(game)


def is_forced_rightmost(game: Game) -> bool:
    """Section 7, Ludii's Somaliland: South's first turn, on the start board, is from the rightmost hole."""
    return (
        game.rules.opening == "rightmost"
        and game.player == SOUTH
        and set(game.seeds) == {game.rules.seeds}
        and set(game.owner) == {NO_PLAYER}
        and game.stores == [0, 0]
    )


# Section 6. The rulesets

LAYLI_GOOBALAY = Rules(width=6, seeds=4, clockwise=False, landing="uur", match="mirror")
LAYLI_GOOBALAY_LONG = Rules(width=12, seeds=4, clockwise=True, landing="uur")
LEYLA = Rules(width=6, seeds=4, clockwise=True, landing="pair", match="loan")
GABATA = Rules(width=6, seeds=4, clockwise=False, landing="weg", round_end="both_stuck", match="territory")

# Section 7. Ludii's programs for the same games

LUDII_SOMALILAND = replace(
    LAYLI_GOOBALAY,
    clockwise=True,
    captures_last=False,
    round_end="either_stuck",
    match="single",
    opening="rightmost",
)
LUDII_GABATA = replace(GABATA, weg_side="either", ransoms_empty=False, match="single")

NAIVE_RULESETS: dict[str, Rules] = {
    "layli_goobalay": LAYLI_GOOBALAY,
    "leyla_gobale_ii": replace(LAYLI_GOOBALAY, seeds=5),
    "layli_goobalay_long": LAYLI_GOOBALAY_LONG,
    "layli_goobalay_8": replace(LAYLI_GOOBALAY_LONG, width=8),
    "leyla": LEYLA,
    "gabata_i": GABATA,
    "gabata_five_holes": replace(GABATA, width=5),
    "gabata_seven_holes": replace(GABATA, width=7),
    "gabata_3": replace(GABATA, opening="eights"),
    "ludii_leyla": replace(LEYLA, round_end="either_stuck", match="single"),
    "ludii_leyla_gobale_somaliland": LUDII_SOMALILAND,
    "ludii_leyla_gobale_gabradarre": replace(LUDII_SOMALILAND, clockwise=False, seeds=5, opening="free"),
    "ludii_gabata_i": LUDII_GABATA,
    "ludii_gabata_five_holes": replace(LUDII_GABATA, width=5),
    "ludii_gabata_seven_holes": replace(LUDII_GABATA, width=7),
}


# Counting sequences of turns


def copy_of(game: Game) -> Game:
    """Copy a game so that playing on in one leaves the other alone."""
    return Game(
        game.rules,
        list(game.seeds),
        list(game.owner),
        list(game.territory),
        list(game.stores),
        game.player,
        game.stall,
        game.round,
        game.starter,
        list(game.debts),
        game.end,
    )


def perft(game: Game, depth: int) -> int:
    """Count the sequences of this many turns; a round that ends sooner contributes none."""
    if depth == 0:
        return 1
    total = 0
    for action in legal(game):
        after = copy_of(game)
        play(after, action)
        total += perft(after, depth - 1)
    return total
