"""The page's check of proof files agrees with proofs/check.py and with `mancala verify`."""

import base64
import functools
import json
import random
import re
from collections.abc import Sequence
from typing import Any

import naive
import pytest
from page_in_node import FOLDER, answers
from proof_checks import (
    FORMAT_CHANGES,
    ROOT,
    SMALL,
    WORDS,
    WRONG_POSITIONS,
    accounts,
    by_python,
    damaged,
    options_of,
    python_verdict,
    set_position,
)

from mancala_env import Position
from mancala_env._util.package_data import rulesets_with
from mancala_env.evaluation import fair_openings
from mancala_env.solver.certificate import Proof, verify
from mancala_env.solver.certificate_search import ProofPlan, prove
from tools.make_page_files import MOST_PROOF_BYTES
from tools.make_proofs import FAIR, file_of

LIST = json.loads((FOLDER / "proofs" / "list.json").read_text(encoding="utf-8"))


LATE = (
    "layli_goobalay 2,0,0,1,0,3/1,3,0,0,5,1 16-16 S",
    "leyla 0,0,3,0,6n,1/0,4n,0,2,5,1 13-13 S",
    "gabata_i 1,5,0,2,8n,0/0,3s,2,1,0,2 9-15 S",
)


@functools.cache
def late_proof(text: str) -> bytes:
    """Return a proof of a late position, which takes check.py a few milliseconds."""
    return prove(Position.from_text(text), ProofPlan(leaf=2), memory_mb=16).to_bytes()


def by_the_page(contents: Sequence[bytes]) -> list[dict[str, Any]]:
    return answers([("proof", {"content": base64.b64encode(content).decode()}) for content in contents])


def as_python_says(found: dict[str, Any]) -> str:
    """Return what the page found as check.py says it; "" for an invalid file."""
    if "wrong" in found:
        assert found["wrong"]
        return ""
    (south, north), total = found["counts"], found["total"]
    kind = "exact" if south + north == total else "bounds"
    return f"VALID south at least {south}, north at least {north} of {total} seeds: {kind}"


def check_agreement(contents: Sequence[bytes]) -> list[str]:
    """Return the verdicts, which are those of check.py."""
    verdicts = [as_python_says(found) for found in by_the_page(contents)]
    for content, verdict in zip(contents, verdicts, strict=True):
        assert verdict == python_verdict(content).partition("\n")[0], content[:400]
    return verdicts


def check_shipped(rows: Sequence[dict[str, Any]]) -> list[tuple[bytes, int]]:
    """Return each file with the number of positions that were checked."""
    contents = [(FOLDER / "proofs" / row["file"]).read_bytes() for row in rows]
    found_all = by_the_page(contents)
    for row, content, found in zip(rows, contents, found_all, strict=True):
        proof = Proof.from_bytes(content)
        assert found["counts"] == row["counts"] == [claim.least for claim in proof.claims]
        assert sum(found["counts"]) == found["total"] == row["total"]
        assert found["position"] == row["position"] == proof.position.to_text()
    return [(content, found["positions"]) for content, found in zip(contents, found_all, strict=True)]


def test_small_proofs_of_the_page_are_valid() -> None:
    rows = [row for row in LIST if row["size"] < 1000 or row["file"].startswith("ludii_leyla_gobale")]
    assert len(rows) >= 3
    check_shipped(rows)


@pytest.mark.slow
def test_every_proof_of_the_page_is_valid() -> None:
    for content, positions in check_shipped(LIST):
        assert positions == verify(Proof.from_bytes(content)).positions


def test_the_page_has_the_small_proofs() -> None:
    folder = ROOT / "proofs"
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.proof")}
    fair = {file_of(name, fair_openings(name)[0].turns, FAIR)[0] for name in rulesets_with("fair")}
    small = {
        name
        for name, path in files.items()
        if path.stat().st_size <= MOST_PROOF_BYTES and (path.parent.name != FAIR or path in fair)
    }
    assert sum(name.startswith(FAIR) for name in small) == 8
    assert {row["file"] for row in LIST} == small
    on_the_page = {path.relative_to(FOLDER / "proofs").as_posix() for path in FOLDER.rglob("*.proof")}
    assert on_the_page == small


@pytest.mark.slow
def test_a_hundred_damaged_proofs_are_refused_as_by_python() -> None:
    """Proofs of late positions of three rulesets, and a few damaged copies of a larger proof."""
    for content, count in ((SMALL.read_bytes(), 10), *((late_proof(text), 30) for text in LATE)):
        draw = random.Random(2)
        valid = python_verdict(content).partition("\n")[0]
        assert valid
        verdicts = check_agreement([damaged(content, draw) for _ in range(count)])
        assert set(verdicts) <= {"", valid}  # an accepted one is another proof of the same claims
        assert verdicts.count("") > count / 2


@pytest.mark.slow
def test_damaged_bytes_are_refused_as_by_python() -> None:
    """Damage each byte of the head of a small proof, and every fourth one of a larger proof."""
    draw, changed = random.Random(3), []
    for content, step in ((SMALL.read_bytes(), 4), (late_proof(LATE[1]), 1)):
        for place in range(0, content.index(b"\n\n") + 2, step):
            byte = draw.choice(b"\x00\t\n -/09az\r\x80\xff")
            kept = content[place + 1 :], content[place:], content[place + 1 :]
            kind = draw.randrange(3)
            changed.append(content[:place] + (b"" if kind == 0 else bytes([byte])) + kept[kind])
    check_agreement(changed)


def test_false_claims_and_changed_rules_are_refused() -> None:
    content = SMALL.read_bytes()
    others: set[bytes] = set()
    for player, count in re.findall(rb"claim (\w+) (\d+)", content):
        claim = b"claim " + player + b" %d"
        others |= {content.replace(claim % int(count), claim % (int(count) + more)) for more in (1, 2, 7)}
    for option, words in {**WORDS, "row_width": ("5", "6", "7"), "seeds_per_hole": ("3", "4", "5")}.items():
        line = option.encode() + rb" \S+"
        others |= {re.sub(line, f"{option} {word}".encode(), content) for word in words}
    others.discard(content)
    assert len(others) == 6 + 14
    assert all("wrong" in found for found in by_the_page(sorted(others)))


def test_files_that_differ_from_the_format_are_refused() -> None:
    contents = [change(SMALL.read_bytes()) for change in FORMAT_CHANGES]
    contents += [set_position(**changes) for changes in WRONG_POSITIONS]
    assert set(check_agreement(contents)) == {""}


def test_the_game_of_a_set_position_has_the_rules_of_the_file() -> None:
    owned = {"owners": "S" + "-" * 10 + "S", "seeds": "4 0 1 0 0 2 0 1 0 0 0 1", "stores": "20 19"}
    names = (b"12", b"constructor", b"layli_goobalay")  # the last one has other rules
    contents = [set_position(**owned)]
    contents += [set_position().replace(b"ludii_leyla_gobale_somaliland", name) for name in names]
    found = [found["position"] for found in by_the_page(contents)]
    assert found[0] == "custom 4s,0,1,0,0,2/0,1,0,0,0,1s 20-19 S"
    assert found[1:] == ["custom 0,0,1,0,0,2/0,1,0,0,0,0 22-20 S"] * 3


def test_the_wrong_line_is_named() -> None:
    content = SMALL.read_bytes()
    number = content.replace(b"row_width 6", b"row_width 06")
    ends, longer = content[: content.index(b"landing")], content.replace(b"\n\n", b"\n\na")
    said = [found["wrong"] for found in by_the_page([number, ends, longer])]
    for words, wrong in zip((("line 3", "row_width 06"), ("line 6",), ("line 16", "259")), said, strict=True):
        assert all(word in wrong for word in words), wrong


def compare_turns(names: Sequence[str], num_turns: int) -> None:
    questions, wanted = [], []
    for name in names:
        rules, draw, turns = naive.NAIVE_RULESETS[name], random.Random(name), []
        options, game = options_of(rules), naive.new_game(rules)
        while len(turns) < num_turns:
            if game.end:
                game = naive.new_game(rules)
            prover, cap = draw.randrange(2), 0 if rules.landing == "uur" else draw.choice((0, 1, 2, 4, 255))
            seeds, owners, got = accounts(game, prover, cap)
            hole = naive.hole_of(rules, game.player, draw.choice(naive.legal(game)))
            held = {"seeds": [int(n) for n in seeds], "owners": owners, "got": int(got), "hole": int(hole)}
            turns.append({"player": prover, "cap": cap, "mover": game.player, "stall": game.stall, **held})
            wanted.append(by_python(options, prover, cap, game, seeds, owners, got, hole))
            naive.play(game, naive.action_of(rules, game.player, hole))
        asked = {"options": {**vars(options), "position": "set"}, "total": options.total, "turns": turns}
        questions.append(("proofTurns", asked))
    found = [after for turns in answers(questions) for after in turns]
    for ours, theirs in zip(wanted, found, strict=True):
        if ours[0]:  # the round is over: the next mover does not matter
            theirs[1] = ours[1]
        assert theirs == ours


def test_turns_equal_those_of_python() -> None:
    compare_turns(list(naive.NAIVE_RULESETS), 40)


@pytest.mark.slow
def test_many_turns_equal_those_of_python() -> None:
    compare_turns(list(naive.NAIVE_RULESETS), 400)
