"""Proof files: what is proved is true, what is false or damaged is rejected, and files are read exactly."""

import dataclasses
import gc
import json
import random
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_checkers import play_in_accounts
from error_checks import names, raises
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import reached

from mancala_env import Position, Ruleset, rulesets, solver
from mancala_env._util.package_data import rulesets_with
from mancala_env.cli import main
from mancala_env.engine.state import NORTH, encode
from mancala_env.errors import InvalidArgument, InvalidPosition
from mancala_env.evaluation import fair_openings
from mancala_env.solver import certificate_graph, certificate_search
from mancala_env.solver import certificate_walk as walks
from mancala_env.solver.certificate import Claim, InvalidProof, Proof, Walk, verify
from mancala_env.solver.certificate_search import ProofPlan, ProofProgress, prove
from tools.make_proofs import FAIR, file_of

SMALL = {
    "layli_goobalay": ("uur", {}),
    "leyla": ("pair", {}),
    "gabata_i": ("weg", {"round_end": "both_stuck"}),
    "ludii_gabata_i": ("weg", {"round_end": "both_stuck", "ransoms_empty": False, "owns_on": "either"}),
}
PROOFS = Path(__file__).parents[2] / "proofs"
PLAN = ProofPlan()


def proved(position: Position, plan: ProofPlan = PLAN, **options: Any) -> Proof:
    """Make a proof with a small table."""
    return prove(position, plan, memory_mb=8, **options)


def small(name: str) -> Ruleset:
    """Return the rules of a game on a board of six holes."""
    landing, options = SMALL[name]
    return Ruleset(name=f"small_{name}", row_width=3, seeds_per_hole=4, landing=landing, **options)


def late(name: str, count: int) -> list[tuple[Position, int]]:
    """Return solved positions of the bundled set and their values, the latest first."""
    solved = solver.positions(name)
    rows = np.argsort(-solved.phase, kind="stable")
    found = []
    for row in rows:
        position = Position.from_games(name, solved.games, row)
        own_rows = np.arange(position.ruleset.num_holes) // position.ruleset.row_width
        if position.legal_actions and (position.territory == own_rows).all():
            found.append((position, int(solved.action_values[row].max())))
    return found[:count]


# What is proved is true.


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("leaf", [0, 5])
def test_a_proof_of_a_start_has_the_solvers_value(name: str, leaf: int) -> None:
    position = Position(small(name))
    value = solver.Solver(position.ruleset, memory_mb=8).value(position)
    proof = proved(position, ProofPlan(leaf=leaf))
    assert verify(proof).bounds == (value, value)
    assert Proof.from_bytes(proof.to_bytes()) == proof


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.endswith("long") else [])
        for name in rulesets.names()
    ],
)
def test_a_proof_of_a_solved_position_has_its_value(name: str) -> None:
    for position, value in late(name, 10):
        proof = proved(position, ProofPlan(leaf=3))
        read = Proof.from_bytes(proof.to_bytes())
        assert verify(read).bounds == (value, value)
        assert read.position.to_text().split()[1:4] == position.to_text().split()[1:4]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leyla", "gabata_i", "ludii_gabata_i"])
def test_a_small_cap_proves_less_and_never_more(name: str) -> None:
    num_proved, refused = 0, []
    for position, value in late(name, 30):
        for cap in (0, 1, 3):
            try:
                proof = proved(position, ProofPlan(leaf=0, cap=cap))
            except InvalidArgument as error:
                refused.append(str(error))
                continue
            num_proved += 1
            assert verify(proof).bounds == (value, value)
    assert num_proved
    assert all("cap=" in message for message in refused)


def test_one_claim_proves_a_bound() -> None:
    proof = proved(Position(small("leyla")))
    south, north = proof.claims
    value = proof.bounds[0]
    assert verify(Proof(proof.position, (south,))).bounds == (value, proof.position.ruleset.total_seeds)
    assert verify(Proof(proof.position, (north,))).bounds == (-proof.position.ruleset.total_seeds, value)


# The search finds small proofs.

MIDDLE = {"like": "gabata_i", "row_width": 4, "seeds_per_hole": 4, "name": "middle"}


def search_of(position: Position, effort: int, seed: int = 0) -> certificate_graph.Attempt:
    """Return a finished attempt to prove what South gets at least."""
    oracle = solver.Solver(position.ruleset, memory_mb=8, use_book=False)
    value = oracle.value(position) * (1 if position.player == 0 else -1)
    least = (position.ruleset.total_seeds + value) // 2
    attempt = certificate_graph.Attempt(position, Claim(0, least, 255, 0, b""), oracle, effort, seed)
    while not attempt.step():
        pass
    return attempt


def cost_of(attempt: certificate_graph.Attempt) -> int:
    """Return the positions of the found proof, counted once for each way to them."""
    graph = attempt._search.graph
    slot = certificate_graph._slot_of(graph, certificate_graph._START_HASH)
    return int(graph[slot, 1]) >> certificate_graph._COST_SHIFT


@pytest.mark.parametrize("name", SMALL)
def test_the_proof_is_the_smallest_one_if_no_estimate_is_too_large(name: str) -> None:
    careful = search_of(Position(small(name)), 20)
    for effort, seed in ((0, 0), (0, 1), (2, 2), (5, 3)):
        assert cost_of(careful) <= cost_of(search_of(Position(small(name)), effort, seed))


def test_much_effort_makes_a_much_smaller_proof() -> None:
    position = Position(MIDDLE)
    hasty, careful = search_of(position, 0), search_of(position, 8)
    assert careful.positions > 2 * hasty.positions
    assert 3 * len(careful.letters) < 2 * len(hasty.letters)


def test_another_seed_makes_another_proof() -> None:
    position = Position(small("gabata_i"))
    found = {search_of(position, 0, seed).letters for seed in range(4)}
    assert len(found) > 1
    assert search_of(position, 0, 3).letters in found


def test_questions_that_the_solver_did_not_answer_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    position = Position(small("leyla"))
    answered = proved(position, ProofPlan(leaf=0))
    monkeypatch.setattr(certificate_graph, "_FIRST_NODES", 1)
    asked_again = proved(position, ProofPlan(leaf=0), solver=solver.Solver(position.ruleset, use_book=False))
    assert verify(asked_again).bounds == answered.bounds


def test_a_search_that_needs_too_much_memory_takes_less_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    position = Position(MIDDLE)
    plain = search_of(position, 0)
    monkeypatch.setattr(certificate_graph, "_FIRST_ENTRIES", 64)
    entries = 64
    while entries * 7 // 10 < 2 * plain.positions:
        entries *= 2
    monkeypatch.setattr(certificate_graph, "_MOST_ENTRIES", entries)
    with pytest.raises(certificate_graph.GraphTooLarge):
        search_of(position, 20)
    proof = proved(position, ProofPlan(leaf=0, effort=20))
    assert verify(proof).bounds == proof.bounds
    monkeypatch.setattr(certificate_graph, "_MOST_ENTRIES", 64)
    with raises(InvalidArgument, "positions are too many"):
        proved(position, ProofPlan(leaf=0))


# What is false or damaged is rejected.


@pytest.mark.parametrize("name", SMALL)
def test_a_false_claim_is_rejected_with_any_letters(name: str) -> None:
    proof = proved(Position(small(name)), ProofPlan(leaf=0))
    rng = random.Random(1)
    for claim in proof.claims:
        more = claim._replace(least=claim.least + 1)
        longer = claim.letters + bytes(rng.choices(b"abc", k=200))
        for letters in [claim.letters, longer, *(bytes(rng.choices(b"abc", k=50)) for _ in range(50))]:
            with raises(InvalidProof, more.least):
                verify(Proof(proof.position, (more._replace(letters=letters),)))


@pytest.mark.parametrize("name", SMALL)
def test_a_damaged_proof_is_rejected_or_is_another_proof(name: str) -> None:
    proof = proved(Position(small(name)), ProofPlan(leaf=0))
    rng = random.Random(2)
    num_rejected = 0
    for claim in proof.claims:
        for _ in range(100):
            letters = bytearray(claim.letters or b"a")
            letters[rng.randrange(len(letters))] = rng.choice(b"abcz")
            try:
                verify(Proof(proof.position, (claim._replace(letters=bytes(letters)),)))
            except InvalidProof:
                num_rejected += 1
    assert num_rejected
    longest = max(proof.claims, key=lambda claim: len(claim.letters))
    for letters, said in ((longest.letters[:-1], "letters end"), (longest.letters + b"a", "1 letters")):
        with pytest.raises(InvalidProof, match=said):
            verify(Proof(proof.position, (longest._replace(letters=letters),)))


def test_other_rules_make_a_proof_invalid() -> None:
    proof = proved(Position(small("leyla")), ProofPlan(leaf=0))
    rules = Ruleset(name="other", row_width=3, landing="weg", round_end="both_stuck")
    with pytest.raises(InvalidProof, match="letter"):
        verify(Proof(Position(rules), proof.claims))


def test_a_claim_that_no_file_can_have_is_rejected() -> None:
    """With the landing "uur" a cap above 0 would count seeds in owned holes twice."""
    position = Position(small("layli_goobalay"))
    value = solver.Solver(position.ruleset, memory_mb=8).value(position)
    least = (position.ruleset.total_seeds + value) // 2 + 1
    with raises(InvalidProof, 255):
        verify(Proof(position, (Claim(0, least, 255, 60, b""),)))


def test_a_position_may_have_128_seeds_in_the_last_hole_of_a_word() -> None:
    """As a signed integer, that word of the board would be negative."""
    board = [11, 13, 18, 10, 9, 20, 30, 131]
    position = Position(
        Ruleset(name="own", row_width=4, seeds_per_hole=31, landing="weg"), board, stores=(0, 6)
    )
    verified = verify(Proof(position, (Claim(1, 6, 255, 0, b""),)))
    assert verified.positions <= 1
    with pytest.raises(InvalidProof, match="letters end"):
        verify(Proof(position, (Claim(0, 1, 255, 0, b""),)))


@pytest.mark.slow
def test_the_table_of_small_positions_grows() -> None:
    """In a table that stays small, the positions of long cycles replace each other."""
    position = Position("leyla", [1, 0, 2, 0, 0, 1, 0, 0, 3, 0, 1, 0], stores=(20, 20))
    found = verify(Proof(position, (Claim(0, 24, 255, 8, b""),)))
    assert found.searched < 20_000_000


# The accounts, seed by seed, as docs/reference/proofs.md has them.


class Accounts:
    """The accounts of a prover, written from the table of the page."""

    def __init__(self, position: Position, prover: int, cap: int) -> None:
        self.rules, self.prover, self.cap = position.ruleset, prover, cap
        self.owner = position.owner.tolist()
        self.total = int(position.seeds.sum()) + sum(position.stores)
        self.got = position.stores[prover]
        self.levels = position.seeds.tolist()
        for hole, owner in enumerate(self.owner):
            if owner == prover:
                self.got += self.levels[hole]
            if owner >= 0:
                self.levels[hole] = min(self.levels[hole], cap)

    def drop(self, hole: int) -> None:
        if self.owner[hole] == self.prover:
            self.got += 1
        self.levels[hole] += 1
        if self.owner[hole] >= 0:
            self.levels[hole] = min(self.levels[hole], self.cap)

    def ransom(self, hole: int, mover: int) -> None:
        level, empty = self.levels[hole], self.rules.ransoms_empty
        if mover == self.prover:
            self.got += 2 if level else int(empty)
            left = int(not empty and self.cap >= self.total)
            self.levels[hole] = level - 1 if level else left
        elif level == self.cap:
            self.got -= 1
        elif level:
            self.got -= 1
            self.levels[hole] -= 1
        elif not empty:
            self.got += 1
            self.levels[hole] = 1

    def play(self, mover: int, hole: int, laps: int, captured: int, owned: tuple[int, ...]) -> None:
        holes = len(self.levels)
        for lap in range(laps):
            handful, self.levels[hole] = self.levels[hole], 0
            for seed in range(handful):
                hole = (hole + 1) % holes
                is_last = lap == laps - 1 and seed == handful - 1
                if is_last and self.owner[hole] == 1 - mover and self.rules.landing != "uur":
                    self.ransom(hole, mover)
                    return
                self.drop(hole)
        if self.rules.landing == "uur" and (owned or captured):
            across = holes - 1 - hole
            if owned:
                self.levels[hole] = self.levels[across] = 2
            else:
                self.levels[across] = 0
                self.levels[hole] = 0 if self.rules.captures_last else 1
            if mover == self.prover:
                self.got += captured
        for new in owned:
            if mover == self.prover:
                self.got += self.levels[new]
            self.levels[new] = min(self.levels[new], self.cap)
            self.owner[new] = mover


@settings(max_examples=300, deadline=None)
@given(reached(), st.integers(0, 1), st.integers(0, 5) | st.just(255), st.randoms())
@pytest.mark.slow
def test_turns_in_accounts_are_those_of_the_page(
    position: Position, prover: int, cap: int, rng: random.Random
) -> None:
    own_rows = np.arange(position.ruleset.num_holes) // position.ruleset.row_width
    if not (position.territory == own_rows).all():
        return
    cap = 0 if position.ruleset.landing == "uur" else cap
    rules = encode(position.ruleset)
    expected = Accounts(position, prover, cap)
    claim = walks.Claim(prover, 1, cap, 0, expected.total)
    line = walks.new_line(position.ruleset, 2)
    walks.start(claim, line, position.games)
    while position.legal_actions:
        action = rng.choice(position.legal_actions)
        mover = position.player
        hole = (action + position.ruleset.row_width * mover) % position.ruleset.num_holes
        turn = position.play(action)
        if turn.endless:
            return
        expected.play(mover, hole, turn.laps, turn.captured, turn.new_owned)
        play_in_accounts(rules, claim, line.games, hole)
        found = Position._of(position.ruleset, line.games[:1].copy())
        assert found.seeds.tolist() == expected.levels
        assert found.stores[prover] == expected.got
        assert found.stores[1 - prover] == 0
        assert (found.owner.tolist(), found.stall) == (position.owner.tolist(), position.stall)
        assert (found.player, found.end) == (position.player, position.end)
        # They never favour the prover.
        owned = position.owner == prover
        assert expected.got <= position.stores[prover] + int(position.seeds[owned].sum())
        if cap >= expected.total:
            assert expected.got == position.stores[prover] + int(position.seeds[owned].sum())


# Files.


def example() -> bytes:
    return proved(Position(small("leyla")), ProofPlan(leaf=0)).to_bytes()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mancala-proof-1", "mancala-proof-2", "mancala-proof-1"),
        ("row_width 3", "row_width 03", "03"),
        ("row_width 3", "row_width  3", "row_width"),
        ("row_width 3", "row_width 13", "13"),
        ("row_width 3", "width 3", "row_width"),
        ("landing pair", "landing pairs", "pairs"),
        ("captures_last true", "captures_last false", "captures_last"),
        ("captures_last true", "captures_last True", "True"),
        ("position start", "position begin", "begin"),
        ("claim south", "claim east", "east"),
        ("claim south", "claim north", "South's and North's"),
        (" cap 255", " cap 256", "256"),
        (" leaf 0", " leaf -1", "-1"),
        ("\n\n", "\n\n\n", "letters"),
        ("ruleset small_leyla", "ruleset small leyla", "small leyla"),
        ("ruleset small_leyla", "ruleset " + "x" * 65, "x" * 65),
        ("mancala", "\ufeffmancala", "ASCII"),
    ],
)
def test_a_file_that_differs_from_the_format_is_rejected(old: str, new: str, said: str) -> None:
    content = example().decode()
    assert old in content
    with pytest.raises(InvalidProof) as error:
        Proof.from_bytes(content.replace(old, new, 1).encode())
    assert said in str(error.value)


def test_every_cut_and_every_extra_byte_is_rejected() -> None:
    content = example()
    for damaged in (
        content[:-1],
        content + b"\n",
        content + b"a",
        content.replace(b"\n", b"\r\n"),
        b"",
        b"\n",
    ):
        with pytest.raises(InvalidProof):
            Proof.from_bytes(damaged)


def test_a_set_position_is_read_as_written() -> None:
    text = "leyla 1,2,4n,0,0,1/0,3,0,4n,1,0 10-12 N stall=7"
    proof = proved(Position.from_text(text))
    read = Proof.from_bytes(proof.to_bytes())
    assert (read, read.position.to_text()) == (proof, text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("owners --N------N--", "owners --N------S--"),
        ("seeds 1 2 4", "seeds 1 2 44"),
        ("mover north", "mover west"),
        ("stall 7", "stall 50"),
        ("stores 10 12", "stores 10 40"),
        ("seeds 1 2 4 0 0 1 0 3 0 4 1 0", "seeds 1 2 4 0 0 1 0 0 0 4 0 0"),  # North has no turn
    ],
)
def test_an_impossible_position_is_rejected(old: str, new: str) -> None:
    proof = proved(Position.from_text("leyla 1,2,4n,0,0,1/0,3,0,4n,1,0 10-12 N stall=7"))
    content = proof.to_bytes().decode()
    assert old in content
    with pytest.raises(InvalidProof):
        Proof.from_bytes(content.replace(old, new).encode())


def test_positions_outside_the_format_are_refused() -> None:
    over = Position("leyla", [0] * 12, stores=(24, 24))
    with raises(InvalidPosition, over.to_text()):
        proved(over)
    later = Position("gabata_i", [4] * 12, territory=[0] * 8 + [1] * 4, round=2)
    with raises(InvalidPosition, later.to_text()):
        proved(later)
    for name in ("leyla_à_moi", "x" * 65):
        named = Position(dataclasses.replace(small("leyla"), name=name))
        with raises(InvalidPosition, name):
            proved(named)
        with raises(InvalidPosition, name):
            Proof(named, (Claim(0, 0, 0, 0, b""),)).to_bytes()


# Limits and resumption.


@pytest.mark.parametrize(("name", "value"), [("leaf", -1), ("cap", 256), ("seeds", 0), ("effort", 21)])
def test_settings_out_of_range_are_refused(name: str, value: int) -> None:
    with raises(InvalidArgument, name, value):
        ProofPlan(**{name: value})


def test_a_leaf_that_takes_too_long_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mancala_env.solver.certificate_graph._MOST_SEARCHED", 0)
    monkeypatch.setattr("mancala_env.solver.certificate_graph._SEARCHED_EACH", 0)
    proof = proved(Position(small("leyla")), ProofPlan(leaf=5))
    assert max(claim.leaf for claim in proof.claims) < 5
    assert verify(proof).bounds == proof.bounds


def test_a_table_that_is_too_small_is_refused() -> None:
    walk = Walk(Position("leyla"), Claim(0, 16, 255, 0, b""), 2)
    walk.enlarge()
    with raises(InvalidArgument, "memory_mb=2"):
        walk.enlarge()


def interrupted(position: Position, plan: ProofPlan, checkpoint: Path) -> dict[str, Any]:
    """Interrupt a proof when the claim of the first player is proved, and return the checkpoint's content."""

    def stop(now: ProofProgress) -> None:
        if now.least is not None and now.player == NORTH:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mancala_env.solver.certificate_search._PROGRESS_SECONDS", 0.0)
        with pytest.raises(KeyboardInterrupt):
            proved(position, plan, checkpoint=checkpoint, progress=stop)
    return json.loads(checkpoint.read_text())


def test_an_interrupted_proof_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, position, plan = tmp_path / "part", Position(small("leyla")), ProofPlan(leaf=0, seeds=2)
    kept = interrupted(position, plan, checkpoint)["letters"]
    assert list(kept) == ["0 0 0", "0 0 1"]
    with raises(InvalidArgument, str(checkpoint)):
        proved(position, ProofPlan(leaf=1), checkpoint=checkpoint)
    made = []
    attempt = certificate_graph.Attempt
    monkeypatch.setattr(certificate_search, "Attempt", lambda *given: made.append(given) or attempt(*given))
    proof = proved(position, plan, checkpoint=checkpoint)
    assert [given[1].player for given in made] == [1, 1]
    assert proof.to_bytes() == proved(position, plan).to_bytes()
    assert proof.claims[0].letters.decode() == min(kept.values(), key=len)
    made.clear()
    assert proved(position, plan, checkpoint=checkpoint).to_bytes() == proof.to_bytes()
    assert not made


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "part"
    checkpoint.write_text("{")
    with raises(InvalidArgument, str(checkpoint)):
        proved(Position(small("leyla")), checkpoint=checkpoint)


def test_a_checkpoint_with_letters_of_other_turns_is_refused(tmp_path: Path) -> None:
    checkpoint, position, plan = tmp_path / "part", Position(small("leyla")), ProofPlan(leaf=0)
    kept = interrupted(position, plan, checkpoint)
    kept["letters"] = dict.fromkeys(kept["letters"], "z")
    checkpoint.write_text(json.dumps(kept))
    with raises(InvalidArgument, "delete"):
        proved(position, plan, checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("key", "letters"),
    [(None, 5), (None, 0), (None, None), ("0 x 0", ""), (None, "-"), (None, "\ud800"), (None, ".")],
)
def test_damaged_letters_of_a_checkpoint_are_refused(key: str | None, letters: Any, tmp_path: Path) -> None:
    checkpoint, position, plan = tmp_path / "part", Position(small("leyla")), ProofPlan(leaf=0)
    kept = interrupted(position, plan, checkpoint)
    ((found, whole),) = kept["letters"].items()
    kept["letters"] = {key or found: whole[:-1] if letters == "-" else letters}
    checkpoint.write_text(json.dumps(kept))
    with raises(InvalidArgument, checkpoint, "delete it"):
        proved(position, plan, checkpoint=checkpoint)


# The commands.


def run(capsys: Any, *words: str) -> tuple[int, str]:
    status = main(words)
    return status, capsys.readouterr().out


def test_a_file_that_does_not_fit_the_memory_is_not_called_invalid(capsys: Any, monkeypatch: Any) -> None:
    def out_of_memory(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("mancala_env.cli.verify.verify", out_of_memory)
    file = str(Path(__file__).parents[2] / "proofs" / "leyla.proof")
    status, out = run(capsys, "verify", file, file)
    assert (status, out.count("NOT CHECKED")) == (2, 2)


def test_the_commands_prove_and_verify(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small("leyla").save("small.yaml")
    assert run(capsys, "prove", "small.yaml", "--leaf", "0", "--memory_mb", "8", "--out", "all.proof")[0] == 0
    status, out = run(capsys, "verify", "all.proof")
    assert (status, out.split()[0]) == (0, "VALID")
    content = Path("all.proof").read_bytes()
    Path("bad.proof").write_bytes(content[:-2] + b"\n")
    status, out = run(capsys, "verify", "bad.proof", "all.proof")
    assert (status, [line.split()[0] for line in out.splitlines()]) == (1, ["INVALID", "VALID"])
    large = str(PROOFS / "leyla.proof")
    status, out = run(capsys, "verify", "none.proof", large, "bad.proof", "all.proof", "--memory_mb", "1")
    assert (status, [line.split(": ")[0] for line in out.splitlines()]) == (
        2,
        ["NOT CHECKED none.proof", f"NOT CHECKED {large}", "INVALID bad.proof", "VALID all.proof"],
    )
    assert run(capsys, "prove", "small.yaml", "--actions", "--memory_mb", "8", "--out", "all.proof")[0] == 0
    values = solver.Solver(small("leyla"), memory_mb=8).action_values(Position(small("leyla")))
    for action, value in values.items():
        after = Position(small("leyla"))
        after.play(action)
        proof = Proof.read(f"all-S{action + 1}.proof")
        assert (proof.position.to_text().split()[1:], -proof.bounds[0]) == (
            after.to_text().split()[1:],
            value,
        )


def test_finished_files_of_actions_are_kept(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small("leyla").save("small.yaml")
    words = ("prove", "small.yaml", "--actions", "--memory_mb", "8", "--out", "all.proof", "--leaf")
    run(capsys, *words, "3")
    first, other, *rest = sorted(Path().glob("all-*.proof"))
    assert rest
    kept = {file: file.read_bytes() for file in rest}
    first.write_bytes(Proof.read(first).to_bytes()[:-2] + b"z\n")  # not a proof any more
    other.write_bytes(rest[0].read_bytes())  # a proof of another position
    status, out = run(capsys, *words, "0")
    assert (status, [line.split()[-1] for line in out.splitlines()]) == (
        0,
        ["verified"] * 2 + ["kept"] * len(rest),
    )
    assert {file: file.read_bytes() for file in rest} == kept
    assert [verify(Proof.read(file)).proof.claims[0].leaf for file in (first, other)] == [0, 0]


def test_an_interrupt_before_the_value_is_known_names_no_checkpoint(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mancala_env.cli.prove.prove", interrupted)
    assert main(["prove", "leyla"]) == 130
    assert ".part" not in capsys.readouterr().err


def test_the_table_of_a_proof_is_freed(monkeypatch) -> None:
    made = []

    class Watched(solver.Solver):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            made.append(weakref.ref(self))

    monkeypatch.setattr(certificate_search, "Solver", Watched)
    gc.disable()
    try:
        prove(Position(small("leyla")), PLAN, memory_mb=8)
        assert [each() for each in made] == [None]
    finally:
        gc.enable()


def test_a_proof_uses_a_given_solver_and_its_table() -> None:
    position = Position(small("leyla"))
    shared = solver.Solver(position.ruleset, memory_mb=8, use_book=False)
    counts: list[int] = []
    proof = prove(position, PLAN, solver=shared)
    first = shared.nodes
    again = prove(position, PLAN, solver=shared, progress=lambda now: counts.append(now.nodes))
    assert again.bounds == proof.bounds == prove(position, PLAN, memory_mb=8).bounds
    assert 0 <= shared.nodes - first < first
    assert all(count <= shared.nodes - first for count in counts)
    with pytest.raises(solver.SolverInputError, match="this solver is for"):
        prove(Position("leyla"), PLAN, solver=shared)
    cancelled = solver.Solver(position.ruleset, memory_mb=8, use_book=False)
    cancelled.cancel()
    with pytest.raises(solver.OutOfTime):
        prove(position, PLAN, solver=cancelled)


@pytest.mark.parametrize("name", ["plan", "solver"])
def test_settings_of_a_proof_of_another_type_are_refused(name: str) -> None:
    wrong: dict[str, Any] = {name: "leyla"}
    with pytest.raises(InvalidArgument, match=f"{name} must be a .*, not 'leyla'"):
        prove(Position(small("leyla")), **wrong)


@pytest.mark.parametrize("file", sorted(PROOFS.glob("*.proof")), ids=lambda file: file.stem)
def test_the_published_proofs_claim_a_value_of_a_start(file: Path) -> None:
    """The tests of the checkers verify them."""
    proof = Proof.read(file)
    lower, upper = proof.bounds
    assert lower == upper
    assert proof.position == Position(file.stem)


@pytest.mark.parametrize("file", sorted((PROOFS / "first_turns").glob("*.proof")), ids=lambda file: file.stem)
def test_the_published_proofs_of_first_turns_have_the_values_of_the_book(file: Path) -> None:
    name, turn = file.stem.split("-")
    after = Position(name)
    after.play(int(turn[1:]) - 1)
    proof = Proof.read(file)
    assert Proof(after, proof.claims).to_bytes() == proof.to_bytes()
    lead = after.stores[after.player] - after.stores[1 - after.player]
    known = solver.solve(Position(name)).action_values[int(turn[1:]) - 1]
    assert proof.bounds == (-known - lead, -known - lead)


@pytest.mark.parametrize("name", rulesets_with("fair"))
def test_the_published_proofs_of_fair_openings_have_their_values(name: str) -> None:
    openings = fair_openings(name)
    expected = {file_of(name, opening.turns, FAIR)[0]: opening for opening in openings if opening.turns}
    files = {*(PROOFS / FAIR).glob(f"{name}-*.proof")}
    assert files == expected.keys()
    for file in files:
        opening, proof = expected[file], Proof.read(file)
        after = opening.position
        assert Proof(after, proof.claims).to_bytes() == proof.to_bytes()
        lead = after.stores[after.player] - after.stores[1 - after.player]
        assert proof.bounds == (opening.margin - lead, opening.margin - lead)


@pytest.mark.parametrize("out", ["", "/"])
def test_proofs_of_turns_need_the_name_of_a_file(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "leyla", "--actions", "--out", out]) == 2
    assert "--out" in capsys.readouterr().err


def test_a_proof_resumes_after_a_leaf_was_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, position, plan = tmp_path / "part", Position(small("leyla")), ProofPlan(leaf=5)
    for name in ("_MOST_SEARCHED", "_SEARCHED_EACH"):
        monkeypatch.setattr(f"mancala_env.solver.certificate_graph.{name}", 0)
    (key,) = interrupted(position, plan, checkpoint)["letters"]
    assert key != "0 5 0"
    assert proved(position, plan, checkpoint=checkpoint).to_bytes() == proved(position, plan).to_bytes()


@pytest.mark.parametrize("part", ["letters", "settings"])
def test_a_checkpoint_without_its_parts_is_refused(part: str, tmp_path: Path) -> None:
    checkpoint, position = tmp_path / "part", Position(small("leyla"))
    kept = interrupted(position, ProofPlan(), checkpoint)
    for content in ({**kept, part: []}, {name: value for name, value in kept.items() if name != part}):
        checkpoint.write_text(json.dumps(content))
        with raises(InvalidArgument, checkpoint):
            proved(position, ProofPlan(), checkpoint=checkpoint)


@pytest.mark.parametrize("more", [[], ["--actions"]])
def test_a_finished_position_is_not_proved(more: list[str], capsys) -> None:
    over = "leyla 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S"
    assert main(["prove", *more, over]) == 2
    assert names(capsys.readouterr().err, "running round")
