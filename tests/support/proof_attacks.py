"""Attacks on proof files: damaged files, false claims and changed rules.

A file that all three checkers accept must be true. So the solver finds the value of the position that the
file is about, and every turn that the file names must win.
"""

import random
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import naive
from compiled_checkers import Checkers, case_of, compare, random_cases, recorded_cases
from proof_checks import WORDS, damaged
from recorded_games import RECORDINGS, recorded
from strategies import POSSIBLE_DIALS
from twins import naive_rules, random_pair

from mancala_env import Position, Ruleset, rulesets, solver
from mancala_env.errors import InvalidArgument, MancalaError
from mancala_env.solver import certificate_walk as walks
from mancala_env.solver.certificate import DEFAULT_MEMORY_MB, Claim, InvalidProof, Proof, Walk, num_seeds
from mancala_env.solver.certificate_graph import question_at
from mancala_env.solver.certificate_search import ProofPlan, prove

_MOST_LEAF = 8
"""Free seeds of a position that a checker may have to search in a damaged file."""
_MOST_NODES = 200_000
_FOLDER: list[tempfile.TemporaryDirectory[str]] = []


def with_another_word(content: bytes, draw: random.Random) -> bytes:
    """Return a file with another rule, position, claim, cap or leaf."""
    lines = content.split(b"\n\n")[0].split(b"\n")
    n = draw.randrange(2, len(lines))
    words = lines[n].split(b" ")
    place = draw.randrange(1, len(words) - 2 if words[0] == b"claim" else len(words))
    word = words[place].decode()
    if words[0].decode() in WORDS:
        word = draw.choice(WORDS[words[0].decode()])
    elif word.isdecimal():
        word = str(max(0, int(word) + draw.choice((-2, -1, 1, 2))))
    elif words[0] == b"owners":
        hole = draw.randrange(len(word))
        word = word[:hole] + draw.choice("-SN") + word[hole + 1 :]
    words[place] = word.encode()
    lines[n] = b" ".join(words)
    return b"\n".join(lines) + content[content.index(b"\n\n") :]


def with_another_byte(content: bytes, draw: random.Random) -> bytes:
    """Return a file with a byte replaced, removed or added."""
    place = draw.randrange(len(content))
    byte = draw.choice((b"", bytes([draw.choice(content)]), bytes([draw.randrange(256)])))
    return content[:place] + byte + content[place + draw.randrange(2) :]


def assert_true(content: bytes, used: solver.Solver) -> bool:
    """Check the claims of an accepted file by the solver; return whether it found the value in time.

    The solver is a new one where it is for other rules.
    """
    proof = Proof.from_bytes(content)
    position = proof.position
    if position.ruleset != used.ruleset:
        used = solver.Solver(position.ruleset, memory_mb=16)
    value = used.value_within(position, _MOST_NODES)
    if value is None:
        return False
    player, total = position.player, num_seeds(position)
    count = (total + value + position.stores[player] - position.stores[1 - player]) // 2
    for claim in proof.claims:
        most = count if claim.player == player else total - count
        assert claim.least <= most, f"the player gets {most}, not {claim.heading}: {content!r}"
        if claim.cap >= total or position.ruleset.landing == "uur":  # the accounts are exact
            _assert_every_turn_wins(position, claim, used)
    return True


def _assert_every_turn_wins(position: Position, claim: Claim, used: solver.Solver) -> None:
    """Ask the solver about every turn that the letters of an accepted claim name."""
    walk, stride = Walk(position, claim, DEFAULT_MEMORY_MB), 1 + position.ruleset.num_holes
    for place, turn in enumerate(letter - ord("a") for letter in claim.letters):
        while (status := walk.resume()) == walks.PAUSED:
            pass
        assert status == walks.NEEDS_BYTE
        row = walk.register(walks.PLY) * stride + 1 + turn
        beta, is_provers = question_at(walk.claim, walk.line.games, row)
        games = walk.line.games[row][None]
        bound = used.within(_MOST_NODES, lambda games=games, beta=beta: used.prove(games, beta))
        assert bound is None or (bound >= beta) == is_provers, (claim, place)
        walk.add([turn])


def _proof(rng: random.Random) -> tuple[Proof, solver.Solver]:
    """Return a proof about a start or another position of a small board with random rules."""
    while True:
        dials = {**rng.choice(POSSIBLE_DIALS), "match": "single"}
        width, seeds = rng.randint(2, 4), rng.randint(1, 5)
        try:
            ruleset = Ruleset(name="own", row_width=width, seeds_per_hole=seeds, **dials)
        except MancalaError:
            continue
        position = Position(ruleset) if rng.random() < 0.3 else random_pair(ruleset, rng)[0]
        used = solver.Solver(ruleset, memory_mb=16)
        if position.is_over or used.value_within(position, _MOST_NODES) is None:
            continue
        cap, effort = rng.choice((255, 255, 255, 0, 1, 3)), rng.randint(0, 9)
        plan = ProofPlan(leaf=rng.randint(0, 4), cap=cap, effort=effort)
        try:
            return prove(position, plan, memory_mb=16), used
        except InvalidArgument as error:  # no proof with this cap
            if "cap=" not in str(error):
                raise


@lru_cache(maxsize=1)
def checkers() -> Checkers:
    """Compile the programs for this process."""
    _FOLDER.append(tempfile.TemporaryDirectory())
    return Checkers(Path(_FOLDER[0].name))


def proofs(seed: int) -> int:
    """Damage a proof in many ways: the checkers agree, and what they accept is true."""
    rng = random.Random(seed)
    proof, used = _proof(rng)
    content = proof.to_bytes()
    assert checkers().verdict_of_three(content)
    tried = 0
    for _ in range(100):
        other = content
        kinds = rng.choices((damaged, damaged, with_another_word, with_another_byte), k=rng.randint(1, 2))
        for damage in sorted(kinds, key=lambda kind: kind is with_another_byte):  # (it breaks the form last)
            other = damage(other, rng)
        try:
            is_long = max(claim.leaf for claim in Proof.from_bytes(other).claims) > _MOST_LEAF
        except InvalidProof:
            is_long = False
        if other == content or is_long:
            continue
        tried += 1
        if checkers().verdict_of_three(other):
            assert_true(other, used)
    return tried


def proof_turns(seed: int) -> int:
    """Play random turns, and those of a recorded game, with all three checkers and naive.py."""
    rng = random.Random(seed)
    ruleset = rulesets.lookup(rng.choice(rulesets.names()))
    if rng.random() < 0.7:
        dials = {**rng.choice(POSSIBLE_DIALS), "match": "single"}
        width = rng.randint(2, 12)
        seeds = rng.randint(1, 255 // (2 * width))
        try:
            ruleset = Ruleset(name="own", row_width=width, seeds_per_hole=seeds, **dials)
        except MancalaError:
            return 0
    ruleset = replace(ruleset, name="own", match="single")
    cases = random_cases(naive_rules(ruleset), rng, 200)
    for _ in range(200):
        game = random_pair(ruleset, rng)[1]
        if not game.end:
            cases.append(case_of(game, rng.choice(naive.legal(game))))
    compare(checkers(), cases, rng, ruleset)
    record = rng.choice(recorded(rng.choice(RECORDINGS)))
    replayed = list(recorded_cases(record))
    compare(checkers(), replayed, rng, rulesets.lookup(record["ruleset"]))
    return len(cases) + len(replayed)
