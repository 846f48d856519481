"""Keys and conditions of proofs: a proof is used only if its conditions hold."""

from typing import Any

import numba
import numpy as np
import pytest
from solver_campaign import random_group, random_ruleset

from mancala_env import Batch, Position, solver
from mancala_env.engine.state import END_COLUMN, RUNNING, encode, load
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.solver import proofs, table
from mancala_env.solver.book import keys_of as book_keys

SHARED = proofs.Scope(np.uint64(0), np.uint64(0), 1)
WHOLE = SHARED._replace(shares=0)


@numba.njit
def store_at(rules, games, scope, words, is_lower, conditions):
    game = load(games, 0)
    proved = proofs.ProvedBound(7, conditions, 2 if is_lower else table.NO_MOVE)
    proofs.store(words, game, proofs.keys_of(rules, game, scope), scope, proved, 0)


@numba.njit
def look_up_at(rules, games, scope, words):
    game = load(games, 0)
    return proofs.look_up(words, game, proofs.keys_of(rules, game, scope))


def pairs(seed: int, count: int) -> list[tuple[Position, Position]]:
    """Pairs of positions that differ only in contents and stall counter."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Position, Position]] = []
    while len(found) < count:
        group = [p for p in random_group(rng, random_ruleset(rng), 6) if p.player == 0]
        found += [(a, b) for a in group for b in group][:12]
    return found[:count]


def contents(position: Position, player: int) -> np.ndarray:
    return position.seeds[position.owner == player]


def holds(at: Position, proved: Position, is_lower: bool, chain: int, need: int, drain: int) -> bool:
    """Return whether a proof of one position holds for another, as the module's docstring defines it."""
    is_for = proved.player if is_lower else 1 - proved.player
    if proved.stall + chain >= STALL_LIMIT:
        if at.stall != proved.stall:
            return False
    elif at.stall + chain >= STALL_LIMIT:
        return False
    here, there = contents(at, 1 - is_for), contents(proved, 1 - is_for)
    many = need if need < table.EXACT_CONTENTS else 1_000
    if not ((here >= many) | (here >= there)).all() and need:
        return False
    here, there = contents(at, is_for), contents(proved, is_for)
    many = drain if drain < table.EXACT_CONTENTS else 1_000
    return not drain or bool((((here >= many) & (there >= many)) | (here <= there)).all())


@pytest.mark.slow
def test_a_proof_is_found_only_where_its_conditions_hold_and_always_where_it_was_made() -> None:
    rng = np.random.default_rng(5)
    found_elsewhere = 0
    for proved, at in pairs(seed=1, count=4_000):
        rules, owners = encode(proved.ruleset), (proved.owner >= 0).any() and proved.ruleset.landing != "uur"
        is_lower = bool(rng.integers(2))
        chain = int(rng.choice([0, 1, 5, STALL_LIMIT - proved.stall]))
        chain = min(chain, STALL_LIMIT - proved.stall)
        need, drain = (int(rng.choice([0, 0, 1, 3, 8, 9, 14, 15])) if owners else 0 for _ in range(2))
        words = table.new_table(0.01)
        conditions = proofs.Conditions(chain, need, drain)
        store_at(rules, proved.games, SHARED, words, is_lower, conditions)
        for position in (proved, at):
            lower, at_least, upper, at_most, _ = look_up_at(rules, position.games, SHARED, words)
            bound, left = (lower, at_least) if is_lower else (upper, at_most)
            if position is proved or position == proved:
                assert bound == 7, (proved.to_text(), is_lower, conditions)
                assert left.need >= need or not need
                assert left.drain >= drain or not drain
                assert left.chain >= chain
            elif bound == 7:
                found_elsewhere += 1
                assert holds(position, proved, is_lower, chain, need, drain), (proved, position, conditions)
    assert found_elsewhere > 500


def test_without_sharing_a_proof_is_found_for_the_whole_position_alone() -> None:
    for proved, at in pairs(seed=2, count=1_000):
        words, rules = table.new_table(0.01), encode(proved.ruleset)
        store_at(rules, proved.games, WHOLE, words, True, proofs.Conditions(3, 2, 1))
        lower = look_up_at(rules, at.games, WHOLE, words)[0]
        is_same = at.stall == proved.stall and (at.seeds == proved.seeds).all()
        assert (lower == 7) == is_same


@numba.njit
def write_hashes(rules, games, scope, words, found):
    for b in range(len(games)):
        keys = proofs.keys_of(rules, load(games, b), scope)
        found[b, 0], found[b, 1] = keys.key, np.uint64(proofs._bucket_of(words, keys))
        found[b, 2] = keys.check


@pytest.mark.parametrize("scope", [SHARED, WHOLE])
@pytest.mark.parametrize("name", ["layli_goobalay", "gabata_i", "layli_goobalay_long"])
def test_keys_in_a_bucket_agree_in_no_bits(name: str, scope: proofs.Scope) -> None:
    """The bucket was once a part of the key, so that keys in a bucket agreed in many bits."""
    batch, rows = Batch(name, 2000, seed=1, num_threads=1), []
    for _ in range(40):
        batch.play_random(1)
        rows.append(batch.games.copy())
    games = np.concatenate(rows)
    games = games[games[:, END_COLUMN] == RUNNING]
    found, words = np.zeros((len(games), 3), np.uint64), np.zeros(table.WORDS_PER_BUCKET << 10, np.uint64)
    write_hashes(encode(batch.ruleset), games, scope, words, found)
    key, bucket, _ = np.unique(found, axis=0).T
    assert len(key) > 20_000
    for shift in range(0, 60, 6):  # pairs in a bucket whose keys agree in ten bits
        _, counts = np.unique(
            (key >> np.uint64(shift) & np.uint64(1023)) << np.uint64(32) | bucket, return_counts=True
        )
        pairs = (counts * (counts - 1) // 2).sum()
        expected = len(key) ** 2 / 2**21
        assert 0.7 * expected < pairs < 1.3 * expected


def test_an_entry_comes_back_as_it_was_packed() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        bounds = rng.integers(-511, 512, 2)
        small = [int(rng.integers(2**bits)) for bits in (6, 6, 6, 5, 5, 4, 4)]
        entry = table.Entry(int(bounds[0]), int(bounds[1]), *small)
        check = np.uint64(rng.integers(256))
        data = table.packed(entry, check)
        assert table.unpacked(np.uint64(data)) == entry
        assert table.check_in(np.uint64(data)) == check


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("layli_goobalay 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S", 4879398954918347983),
        ("leyla 4,0,5s,3,2,1/1,0,1,1s,1,1 0-0 N stall=7", 4913740726991402179),
        ("ludii_gabata_i 3s,0,0,5,1,4s/1,0,1,0,0,0 0-0 N", 13809725625471965794),
        ("ludii_gabata_i 0s,0,0,5,1,0s/1,0,1,0n,0,0 0-0 S", 16509956331897226711),
        ("gabata_seven_holes 6,4,2,3,1,1,38n/0,0,0,0,0,0,0 0-0 S", 7775224009712322963),
    ],
)
def test_books_keep_their_keys(text: str, key: int) -> None:
    position = Position.from_text(text)
    assert int(book_keys(position.ruleset, position.games)[0]) == key


def test_a_proof_counts_ransoms_before_it() -> None:
    position = Position.from_text("ludii_gabata_i 3s,0,0,5,1,4s/1,0,1,2n,0,0 0-0 S")
    game: Any = load(position.games, 0)
    none = proofs.Conditions(2, 0, 0)
    assert proofs.before(game, True, 0, proofs.RANSOM, none) == (0, 1, 0)
    assert proofs.before(game, True, 1, proofs.NO_RANSOM, none) == (3, 0, 0)
    assert proofs.before(game, False, 4, proofs.RANSOM_FROM_EMPTY, none) == (3, 0, 1)
    assert proofs.before(game, False, 4, proofs.RANSOM, proofs.Conditions(0, 0, 3)) == (1, 0, 4)
    assert proofs.before(game, True, 0, proofs.RANSOM, proofs.Conditions(0, 15, 15)) == (0, 15, 15)


def test_values_do_not_depend_on_whether_proofs_are_shared() -> None:
    compared = 0
    for position, _ in pairs(seed=6, count=300)[::6]:
        alone = solver.Solver(position.ruleset, memory_mb=1, share_proofs=False)
        solution = alone.solve(position, time_limit=2, with_line=False)
        if solution.is_exact:
            assert solution.action_values == solver.solve(position, memory_mb=1).action_values
            compared += 1
    assert compared >= 30
