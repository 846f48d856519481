"""Malicious checkpoints are rejected with one message, at little cost, and none of their code runs."""

import bz2
import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_fuzzing import fuzz, members, packed
from checkpoints import LAYLI, identity_of, weights_file, write_checkpoint
from error_checks import raises
from value_checkpoints import checkpoint_of

from mancala_env import Position, agents
from mancala_env.networks.checkpoint import (
    Identity,
    InvalidCheckpoint,
    check_undamaged,
    load_value_weights,
    read_identity,
)

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate", "ignore:Detected pickle protocol")

HUGE = {"observation": "replies", "hidden": 4096, "layers": 16, "seed_levels": 4}
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_checkpoint(tmp_path_factory.mktemp("honest") / "agent.zip", identity_of()).read_bytes()


def altered(honest: bytes, **changes: Any) -> bytes:
    content = members(honest)
    identity = json.loads(content["identity.json"]) | changes
    return packed(content | {"identity.json": json.dumps(identity).encode()})


def with_inner(honest: bytes, change: Callable[[dict[str, bytes]], dict[str, bytes]], **how: Any) -> bytes:
    content = members(honest)
    inner = change(members(content["policy.pth"]))
    return packed(content | {"policy.pth": packed(inner, **how)})


def with_pickle(honest: bytes, pickled: bytes) -> bytes:
    return with_inner(honest, lambda inner: inner | {name: pickled for name in inner if "data.pkl" in name})


def with_claimed_size(archive: bytes, member: str, size: int) -> bytes:
    """Change the unpacked size in the directory and in the member's header."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        offset = opened.getinfo(member).header_offset
    content = bytearray(archive)
    content[offset + 22 : offset + 26] = struct.pack("<L", size)
    directory = content.rfind(b"PK\x01\x02", 0, content.rfind(member.encode()))
    content[directory + 24 : directory + 28] = struct.pack("<L", size)
    return bytes(content)


def legacy(size: int) -> bytes:
    """Return a file in the old format of torch.save, which declares the sizes of its storages."""
    file = io.BytesIO()
    torch.save({"network.x": torch.zeros(size)}, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def hostile_files(honest: bytes) -> dict[str, bytes]:
    """Return files that would cost gigabytes or minutes if their declared sizes were trusted."""
    content = members(honest)
    zeros = bytes(253_000_000)  # more than the 200 MB that the test allows
    unpacks = packed(content | {"identity.json": zeros}, zipfile.ZIP_DEFLATED)
    expanded = {  # one number, expanded to a gigabyte
        "network.body.0.weight": torch.zeros(1).expand(4096, 4096),
    }
    return {
        "a network of a gigabyte, claimed": altered(honest, network=HUGE),
        "an identity that unpacks to 253 MB": unpacks,
        "an identity that unpacks to 253 MB and claims 1 KB": with_claimed_size(
            unpacks, "identity.json", 1024
        ),
        "weights that unpack to 253 MB": packed(content | {"policy.pth": zeros}, zipfile.ZIP_DEFLATED),
        "a huge network, and weights that unpack to its size": packed(
            members(altered(honest, network=HUGE | {"hidden": 2048})) | {"policy.pth": zeros},
            zipfile.ZIP_DEFLATED,
        ),
        "weights that claim 1 GB": with_claimed_size(
            altered(honest, network=HUGE), "policy.pth", 1_009_000_000
        ),
        "an identity behind bz2": packed(content | {"identity.json": bytes(MEGABYTE)}, zipfile.ZIP_BZIP2),
        "weights behind lzma": packed(content, zipfile.ZIP_LZMA),
        "a record that unpacks to 220 MB": with_inner(
            honest,
            lambda inner: inner | {"archive/data/0": zeros[: 220 * MEGABYTE]},
            method=zipfile.ZIP_DEFLATED,
        ),
        "a pickle that asks for 8 GB": with_pickle(
            honest, b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R."
        ),
        "a pickle that asks for a tensor of 40 GB": with_pickle(
            honest, b"\x80\x02ctorch\nTensor\nJ\x00\xe1\xf5\x05K\x64\x86R."
        ),
        "a pickle by name on the stack": with_pickle(honest, b"\x80\x04\x8c\x02os\x8c\x06system\x93."),
        "a pickle that never ends": with_pickle(honest, b"\x80\x02" + b"]" * 1000),
        "a large pickle": with_pickle(honest, b"\x80\x02" + b"N0" * (MEGABYTE // 4) + b"N."),
        "old torch": packed(content | {"policy.pth": legacy(20_000)}),
        "one number shown as many": packed(
            members(altered(honest, network=HUGE | {"layers": 1})) | {"policy.pth": weights_file(expanded)}
        ),
        "a hundred thousand members": packed(content | {f"{n}": b"" for n in range(100_000)}),
        "half a megabyte of brackets": packed(content | {"identity.json": b"[" * (MEGABYTE // 2)}),
        "a link": packed(content | {"identity.json": b"/etc/passwd"}),
        "bz2 itself": bz2.compress(bytes(MEGABYTE)),
    }


@pytest.mark.slow
def test_what_claims_gigabytes_is_refused_before_they_are_taken(honest: bytes, tmp_path: Path) -> None:
    """Runs in a process of its own to measure the peak of memory."""
    files = hostile_files(honest)
    for number, content in enumerate(files.values()):
        (tmp_path / f"{number:02}.zip").write_bytes(content)
    (tmp_path / "honest.zip").write_bytes(honest)
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from mancala_env import agents\n"
        "from mancala_env.networks.checkpoint import InvalidCheckpoint\n"
        "folder = Path(sys.argv[1])\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "agents.make(str(folder / 'honest.zip'), 'layli_goobalay')\n"
        "before = peak()\n"
        "for path in sorted(folder.glob('[0-9]*.zip')):\n"
        "    try:\n"
        "        agents.make(str(path), 'layli_goobalay')\n"
        "        print(path.name, 'taken')\n"
        "    except InvalidCheckpoint as error:\n"
        "        assert path.name in str(error) and str(error).isprintable()\n"
        "        assert 'was trained on' not in str(error), 'refused for another reason'\n"
        "    if peak() - before > 200 * 1024:\n"
        "        print(path.name, (peak() - before) // 1024, 'MB')\n"
        "        before = peak()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    names = dict(zip((f"{number:02}.zip" for number in range(len(files))), files))
    assert [names[line.split()[0]] + line[6:] for line in done.stdout.splitlines()] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"config": None},
        {"config": []},
        {"versions": None},
        {"versions": {"torch": 2}},
        {"versions": ["torch"]},
        {"turns": "many"},
        {"turns": -1},
        {"turns": True},
        {"rounds": None},
        {"rounds": [1]},
        {"rounds": 10**30},
        {"network": None},
        {"network": []},
        {"network": HUGE | {"observation": ["board"]}},
        {"ruleset": None},
        {"ruleset": {"name": "leyla", "title": 3}},
        {"ruleset": {"name": "leyla", "title": ["x"]}},
        {"ruleset": {"name": "leyla", "\x1b[2J": 1}},
        {"observation_version": None},
        {"observation_version": 1.1},
        {"value_network": 3},
        {"config": {"x": json.loads("1e999")}},
        {"format_version": [1]},
        {"format_version": "\x1b[2J"},
        {"title": "no such field"},
    ],
    ids=lambda value: str(value)[:50].encode("unicode_escape").decode(),
)
def test_wrong_types_are_an_invalid_checkpoint(honest: bytes, tmp_path: Path, changes: dict) -> None:
    path = tmp_path / "agent.zip"
    path.write_bytes(altered(honest, **changes))
    with raises(InvalidCheckpoint, path) as caught:
        agents.make(str(path), LAYLI)
    assert str(caught.value).isprintable()


def test_other_compression_is_refused_before_it_is_read(tmp_path: Path, honest: bytes) -> None:
    path, content = tmp_path / "lzma.zip", io.BytesIO(honest)
    with zipfile.ZipFile(content, "a") as archive:
        archive.getinfo("policy.pth").compress_type = zipfile.ZIP_LZMA
        archive.writestr("other", "")  # so that the directory is written again
    path.write_bytes(content.getvalue())
    with raises(InvalidCheckpoint, "lzma.zip", "deflate"):
        check_undamaged(path)


@pytest.mark.parametrize("num_holes", ["12", 10**9, 12.0])
def test_a_wrong_value_network_is_an_invalid_checkpoint(tmp_path: Path, num_holes: object) -> None:
    path = checkpoint_of(tmp_path / "agent.zip")
    agents.make(f"policy+minimax:2:{path}", LAYLI)
    path.write_bytes(altered(path.read_bytes(), value_network={"num_holes": num_holes}))
    with raises(InvalidCheckpoint, path):
        agents.make(f"policy+minimax:2:{path}", LAYLI)


def test_a_deep_config_is_refused(honest: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    config: dict[str, Any] = {}
    for _ in range(500):
        config = {"inner": config}
    path.write_bytes(altered(honest, config=config))
    with raises(InvalidCheckpoint, 20):
        read_identity(path)


@pytest.mark.parametrize("text", ["\x1b]0;owned\x07", "a\nb", "\u202eabc", "\ud800", "a\x9bb", "\u2028"])
@pytest.mark.parametrize("word", ["name", "title", "region", "source"])
def test_names_that_are_not_printable_are_refused(
    honest: bytes, tmp_path: Path, word: str, text: str
) -> None:
    path = tmp_path / "agent.zip"
    ruleset = json.loads(identity_of().to_json())["ruleset"] | {word: text}
    path.write_bytes(altered(honest, ruleset=ruleset))
    with raises(InvalidCheckpoint, word) as caught:
        read_identity(path)
    assert str(caught.value).isprintable()


def test_a_member_that_is_there_twice_is_refused(honest: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    path.write_bytes(honest)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("identity.json", b"{}")
    with raises(InvalidCheckpoint, "identity.json"):
        read_identity(path)


def test_weights_so_large_that_nothing_comes_of_them_are_refused(tmp_path: Path) -> None:
    identity = identity_of()
    path = write_checkpoint(tmp_path / "agent.zip", identity)
    weights = torch.load(io.BytesIO(members(path.read_bytes())["policy.pth"]), weights_only=True)
    huge = {name: torch.full_like(value, 3e38) for name, value in weights.items()}
    path = write_checkpoint(tmp_path / "huge.zip", identity, weights_file(huge))
    with raises(InvalidCheckpoint, "finite"):
        agents.make(str(path), LAYLI).choose(Position(LAYLI))


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    identity = identity_of()
    path = write_checkpoint(tmp_path / "agent.zip", identity)
    weights = torch.load(io.BytesIO(members(path.read_bytes())["policy.pth"]), weights_only=True)
    name, value = next((name, value) for name, value in weights.items() if value.ndim == 2)
    path = write_checkpoint(
        tmp_path / "wide.zip", identity, weights_file(weights | {name: value.t().contiguous()})
    )
    with raises(InvalidCheckpoint, str(path), name.removeprefix("network."), list(value.shape)):
        agents.make(str(path), LAYLI)


def test_a_value_network_of_another_size_is_refused(tmp_path: Path) -> None:
    fields = json.loads(identity_of().to_json()) | {"value_network": {"num_holes": 12}}
    identity = Identity.from_json(json.dumps(fields))
    for content in (b"", bytes(100), bytes(50 * MEGABYTE)):
        path = write_checkpoint(
            tmp_path / "agent.zip", identity, weights=b"", extra={"value_network.f32": content}
        )
        with raises(InvalidCheckpoint, "value_network.f32"):
            load_value_weights(path, identity)


def test_a_model_of_stable_baselines_is_named(tmp_path: Path) -> None:
    from sb3_contrib import MaskablePPO

    model = MaskablePPO("MlpPolicy", "mancala/Leyla-v0", n_steps=16, batch_size=16, device="cpu")
    model.save(tmp_path / "mine.zip")
    with raises(InvalidCheckpoint, "Stable-Baselines3", "agents.from_policy", "python:FILE.py:FUNCTION"):
        agents.make(str(tmp_path / "mine.zip"), "leyla")


@pytest.mark.slow
def test_mutated_checkpoints_play_or_are_refused(tmp_path: Path) -> None:
    outcomes = fuzz(seed=7, count=300, folder=tmp_path)
    assert set(outcomes) == {"played", "refused"}
    assert outcomes["refused"] > 100
    assert outcomes["played"] > 10, "some mutations change unused bytes"


def test_results_files_of_strangers_are_refused_in_one_way(tmp_path: Path) -> None:
    from mancala_env.evaluation import InvalidResults, round_robin

    path = tmp_path / "results.jsonl"
    round_robin(["random", "greedy"], "leyla", games=2, results=path)
    line = json.loads(path.read_text(encoding="utf-8"))
    for changes in (
        {"start": -5, "stop": -4},
        {"start": 0.0, "stop": 1.0},
        {"start": 10**30, "stop": 10**30 + 1},
        {"first": ["x"]},
        {"seed": {}},
        {"margins": [[10**6, 0]]},
        {"margins": [[0.5, 0]]},
        {"margins": None},
        {"format": [1]},
    ):
        path.write_text(json.dumps(line | changes) + "\n", encoding="utf-8")
        with raises(InvalidResults, "line 1"):
            round_robin(["random", "greedy"], "leyla", games=2, results=path)
    path.write_text("[" * 100_000 + "\n", encoding="utf-8")
    with raises(InvalidResults, "line 1"):
        round_robin(["random", "greedy"], "leyla", games=2, results=path)


def test_the_shapes_of_these_files_are_what_they_say(honest: bytes, tmp_path: Path) -> None:
    """The files above are rejected for their damage: without it, they are valid checkpoints."""
    path = tmp_path / "agent.zip"
    for same in (packed(members(honest)), packed(members(honest), zipfile.ZIP_DEFLATED), altered(honest)):
        path.write_bytes(same)
        agent = agents.make(str(path), LAYLI)
        assert np.isin(agent.act(Position(LAYLI).games), range(6)).all()
    path.write_bytes(with_inner(honest, lambda inner: inner))
    agents.make(str(path), LAYLI)
