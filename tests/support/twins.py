"""Compare the engine with its twin, the slow reference implementation of the rules in naive.py."""

import random

import naive

from mancala_env import Position, Ruleset, Turn


def naive_rules(ruleset: str | Ruleset) -> naive.Rules:
    """Return the twin of a ruleset: from the twin's catalogue, or from the rule options of a custom one."""
    if isinstance(ruleset, str):
        return naive.NAIVE_RULESETS[ruleset]
    return naive.Rules(
        width=ruleset.row_width,
        seeds=ruleset.seeds_per_hole,
        clockwise=ruleset.direction == "clockwise",
        landing=ruleset.landing,
        captures_last=ruleset.captures_last,
        weg_side=ruleset.owns_on,
        ransoms_empty=ruleset.ransoms_empty,
        round_end=ruleset.round_end,
        match=ruleset.match,
        opening=ruleset.opening,
    )


def fields_of_position(position: Position) -> dict[str, object]:
    """Return all fields of a position and its legal actions."""
    state = position.state
    return {
        "seeds": state.seeds[0].tolist(),
        "owner": state.owner[0].tolist(),
        "territory": state.territory[0].tolist(),
        "stores": state.stores[0].tolist(),
        "player": int(state.player[0]),
        "stall": int(state.stall[0]),
        "round": int(state.round[0]),
        "starter": int(state.starter[0]),
        "debts": state.debts[0].tolist(),
        "end": position.end,
        "counts": position.counts,
        "legal": list(position.legal_actions),
    }


def fields_of_naive(game: naive.Game) -> dict[str, object]:
    """Return the same fields of the twin."""
    return {
        "seeds": game.seeds,
        "owner": game.owner,
        "territory": game.territory,
        "stores": game.stores,
        "player": game.player,
        "stall": game.stall,
        "round": game.round,
        "starter": game.starter,
        "debts": game.debts,
        "end": game.end,
        "counts": naive.counts(game),
        "legal": naive.legal(game),
    }


def assert_same(position: Position, game: naive.Game) -> None:
    """Check that the engine and the twin have the same position."""
    assert fields_of_position(position) == fields_of_naive(game), f"\n{position}"


def play_both(position: Position, game: naive.Game, action: int) -> Turn:
    """Play an action in both and check that the results are equal."""
    before = position.copy()
    turn, twin = position.play(action), naive.play(game, action)
    happened = (turn.laps, turn.captured, list(turn.new_owned), turn.endless)
    assert happened == (twin.laps, twin.captured, sorted(twin.new_owned), twin.endless), f"{before!r}"
    assert fields_of_position(position) == fields_of_naive(game), f"{before!r}, action {action}\n{position}"
    return turn


def play_match(ruleset: str | Ruleset, starter: int, rng: random.Random, most_rounds: int) -> int:
    """Play a random match in both; returns the number of turns."""
    position, game = Position(ruleset, player=starter), naive.new_game(naive_rules(ruleset), starter)
    assert_same(position, game)
    turns = 0
    while True:
        while not position.is_over:
            play_both(position, game, rng.choice(position.legal_actions))
            turns += 1
        following, twin = position.next_round(), naive.next_round(game)
        if following is None or twin is None:
            assert following is None
            assert twin is None
            won = naive.match_winner(game)
            assert position.match_winner == (None if won == naive.NO_PLAYER else won)
            return turns
        if position.round == most_rounds:
            return turns
        position, game = following, twin
        assert_same(position, game)


def random_pair(ruleset: str | Ruleset, rng: random.Random) -> tuple[Position, naive.Game]:
    """Return a random set-up in both, reachable or not: all the seeds, some holes owned."""
    rules = naive_rules(ruleset)
    width, num_holes = rules.width, 2 * rules.width
    seeds = random_heaps(num_holes, num_holes * rules.seeds, rng)
    owner = [naive.NO_PLAYER] * num_holes
    for hole in range(num_holes):
        if rng.random() < 0.15:
            owner[hole] = rng.randrange(2)
            if rules.landing != "weg":
                owner[naive.opposite(rules, hole)] = owner[hole]
    in_store = rng.randint(0, num_holes * rules.seeds - sum(seeds))
    stores = [in_store, num_holes * rules.seeds - sum(seeds) - in_store]
    game = naive.bare_game(rules, rng.randrange(2))
    if rules.match == "territory" and rng.random() < 0.5:
        loser, lost = rng.randrange(2), rng.randrange(width)
        for hole in naive.row_from_the_right(rules, loser)[width - lost :]:
            game.territory[hole] = 1 - loser
    game.seeds, game.owner, game.stores = list(seeds), list(owner), list(stores)
    game.player, game.round, game.stall = rng.randrange(2), rng.randint(1, 9), rng.randrange(50)
    if rules.match == "loan":
        game.debts = [rng.choice([0, 2, 4]), rng.choice([0, 2, 4])]
    position = Position(
        ruleset,
        seeds,
        owner,
        stores,
        game.player,
        game.stall,
        game.territory,
        round=game.round,
        starter=game.starter,
        debts=game.debts,
    )
    game.player = 1 - game.player  # settle passes the turn to the opponent
    naive.settle(game)
    return position, game


def random_heaps(num_holes: int, total: int, rng: random.Random) -> list[int]:
    """Return seeds by hole, at most `total`: sometimes many small numbers, sometimes a few large ones."""
    seeds = [0] * num_holes
    favourites = rng.sample(range(num_holes), rng.randint(1, num_holes))
    for _ in range(rng.randint(1, total)):
        seeds[rng.choice(favourites)] += 1
    return seeds
