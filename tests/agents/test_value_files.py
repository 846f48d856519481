"""Files of value networks: reading, writing and rejection of invalid files."""

import json
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from error_checks import raises
from safetensors.numpy import load_file, save
from value_checkpoints import weights_of

from mancala_env import Batch, Position, agents, rulesets
from mancala_env._util import tensors
from mancala_env.agents import Spec
from mancala_env.agents.registry import entrant_of
from mancala_env.agents.searchers import PuctAgent
from mancala_env.evaluation import play_matches, round_robin
from mancala_env.networks import value_files as value_file
from mancala_env.networks.value import InvalidValueNetwork, position_values
from mancala_env.networks.value_files import NoValueNetwork, ValueFile, read_for, read_value_file
from mancala_env.rulesets import Ruleset
from mancala_env.search import tree_growth

LAYLI = rulesets.lookup("layli_goobalay")


def written(folder: Path, ruleset: Ruleset = LAYLI, texts: dict[str, str] | None = None) -> Path:
    """Write a network of random weights with other metadata."""
    path = folder / "network.safetensors"
    content = ValueFile(ruleset, weights_of(ruleset), {"command": "by hand"}).to_bytes()
    if texts:
        path.write_bytes(content)
        content = tensors.pack(tensors.unpack(path, 1 << 20), tensors.texts_of(path) | texts)
    path.write_bytes(content)
    return path


def test_what_is_written_is_read_back_and_by_the_library_of_the_format(tmp_path: Path) -> None:
    path = written(tmp_path)
    file = read_value_file(path)
    assert (file.ruleset, file.made) == (LAYLI, {"command": "by hand"})
    theirs = load_file(path)
    for name, ours in weights_of(LAYLI)._asdict().items():
        assert (getattr(file.weights, name) == ours).all()
        assert (theirs[name] == ours).all()
    assert file.to_bytes() == path.read_bytes()


def test_what_the_library_of_the_format_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.safetensors"
    arrays = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.ones(1, np.float32)}
    path.write_bytes(save(arrays, metadata={"who": "they"}))
    found = tensors.unpack(path, 28)
    assert all((found[name] == array).all() for name, array in arrays.items())
    assert tensors.texts_of(path) == {"who": "they"}
    with raises(tensors.InvalidTensors, 27, "bytes"):
        tensors.unpack(path, 27)


@pytest.mark.slow
def test_a_spec_names_a_network_and_is_filed_by_its_content(tmp_path: Path) -> None:
    path = written(tmp_path)
    spec = Spec.parse(f"value+minimax:3:{path}")
    assert (spec.kind, spec.network, spec.files, spec.ruleset) == ("value+minimax", str(path), (path,), LAYLI)
    assert str(spec) == f"value+minimax:3:{path}"
    assert spec.identity.startswith("value+minimax:3:sha256:")
    agent = agents.make(spec, LAYLI, seed=1)
    batch = Batch(LAYLI, 20, seed=2)
    batch.play_random(6)
    network = weights_of(LAYLI).packed()
    values = agents.make(f"value+minimax:1:{path}", LAYLI).action_values(batch.games)  # type: ignore[attr-defined]
    for b in range(20):
        position = Position.from_games(LAYLI, batch.games, b)
        for action in position.legal_actions:
            after = position.copy()
            after.play(action)
            if not after.is_over:
                value = position_values(LAYLI, after.games, network)[0]
                value = value if after.player == position.player else -value
                assert values[b, action] == pytest.approx(value)
    assert agent.choose(Position(LAYLI)) in Position(LAYLI).legal_actions
    assert agents.make(f"value+mcts:50:{path}", LAYLI).choose(Position(LAYLI)) in range(6)


@pytest.mark.parametrize("name", rulesets.names())
def test_every_ruleset_has_a_network_that_beats_plain_search(name: str) -> None:
    result = play_matches("value+minimax:3", "minimax:3", name, games=200, seed=3)
    # In gabata_3 the opening decides every round, so the margin is compared.
    assert (result.win_rate, result.mean_margin) > (0.5, 0.0), result
    agent = agents.make("value+mcts:100", name, seed=1)
    assert agent.choose(Position(name)) in Position(name).legal_actions
    shipped = value_file.bundled_network(rulesets.lookup(name))
    assert read_value_file(shipped).ruleset == rulesets.lookup(name)


def test_large_trees_are_searched_one_at_a_time_and_stop_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(budget: str, kind: str = "value+mcts") -> int:
        agent = agents.make(f"{kind}:{budget}", LAYLI)
        assert isinstance(agent, PuctAgent)
        slices = tree_growth.slices(600, LAYLI.row_width, agent.limit, agent.guide)
        sizes = [some.stop - some.start for some in slices]
        assert sum(sizes) >= 600
        return max(sizes)

    assert at_once("1000") == 256
    assert 1 < at_once("0.05s") < 256
    assert at_once("10000000") == at_once("30s") == 1
    assert at_once("0.1s", "policy+mcts") > 100  # torch judges many positions at once
    monkeypatch.setattr(tree_growth, "MAX_NODES", 100_000)
    agent = agents.make("value+mcts:100000", LAYLI, seed=1)
    assert isinstance(agent, PuctAgent)
    assert agent.choose(Position(LAYLI)) in Position(LAYLI).legal_actions
    assert 10_000 < agent.last_simulations[0] < 40_000  # four or five nodes per simulation


def test_a_bundled_network_is_part_of_the_identity() -> None:
    agent = agents.make("value+minimax:4", LAYLI)
    path = value_file.bundled_network(LAYLI)
    assert agent.spec == "value+minimax:4"
    named = agents.make(f"value+minimax:4:{path}", LAYLI)
    assert agent.entrant == named.entrant == entrant_of(agent)
    assert agent.entrant.startswith("value+minimax:4:sha256:")
    (match,) = round_robin(["value+minimax:2", "value+mcts:20"], LAYLI, games=4)
    assert (match.first, match.second) == ("value+minimax:2", "value+mcts:20")


def test_a_bundled_network_plays_only_rulesets_of_the_same_rule_options() -> None:
    named = replace(LAYLI, name="mine", title="Mine", match="single")
    assert value_file.bundled_network(named) == value_file.bundled_network(LAYLI)
    with raises(NoValueNetwork, "mine", "mancala grow-value"):
        agents.make("value+minimax:4", replace(named, seeds_per_hole=3))
    path = value_file.bundled_network(LAYLI)
    with raises(InvalidValueNetwork, "layli_goobalay", "leyla", "direction"):
        agents.make(f"value+mcts:4:{path}", "leyla")


@pytest.mark.slow
def test_it_plays_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from mancala_env import Position, agents\n"
        "for spec in ('value+minimax:3', 'value+mcts:20'):\n"
        "    print(agents.make(spec, 'leyla', seed=1).choose(Position('leyla')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("value+minimax", "value+minimax:DEPTH[:NETWORK]"),
        ("value+minimax:0", ["DEPTH", 99]),
        ("value+mcts:", "SIMULATIONS"),
        ("value+mcts:6:", "value+mcts:SIMULATIONS[:NETWORK]"),
    ],
)
def test_an_invalid_spec_is_answered_with_the_valid_ones(text: str, said: str) -> None:
    with raises(agents.InvalidSpec, said):
        Spec.parse(text)


def header_of(content: bytes) -> tuple[dict, bytes]:
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def with_header(header: object, numbers: bytes, length: int | None = None) -> bytes:
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head) if length is None else length) + head + numbers


def changed(path: Path, **changes: object) -> bytes:
    """Return a network's file with other metadata of its embeddings."""
    header, numbers = header_of(path.read_bytes())
    header["embeddings"] |= changes
    return with_header(header, numbers)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: b"", "safetensors"),
        (lambda path: b"PK\x03\x04" + bytes(40), "safetensors"),
        (lambda path: struct.pack("<Q", 1 << 60) + b"{}", "safetensors"),
        (lambda path: struct.pack("<Q", 4) + b"null", "safetensors"),
        (lambda path: struct.pack("<Q", 1 << 20) + b"[" * (1 << 20), "safetensors"),
        (lambda path: path.read_bytes()[:-1], "safetensors"),
        (lambda path: path.read_bytes() + b"\0", "safetensors"),
        (lambda path: changed(path, dtype="I32"), ["I32", "F32"]),
        (lambda path: changed(path, dtype="I64"), "safetensors"),
        (lambda path: changed(path, shape=[1 << 40, 1 << 40]), "safetensors"),
        (lambda path: changed(path, shape=[1] * 99 + [12, 24, 16]), "safetensors"),
        (lambda path: changed(path, shape=[1.0]), "safetensors"),
        (lambda path: changed(path, shape=[True]), "safetensors"),
        (lambda path: changed(path, shape={}, data_offsets=[0, 4]), "safetensors"),
        (lambda path: changed(path, shape="", data_offsets=[0, 4]), "safetensors"),
        (lambda path: changed(path, shape=[12, 16, 24]), []),
        (lambda path: changed(path, data_offsets=[0, -4]), "safetensors"),
        (lambda path: changed(path, data_offsets=[8, 18440]), "safetensors"),
        (lambda path: tensors.pack({}, {}), "mancala-env"),
        (
            lambda path: tensors.pack({}, tensors.texts_of(path)),
            "{}",
        ),
    ],
)
def test_a_damaged_file_is_refused(make, said: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(make(path))
    with raises(InvalidValueNetwork, said):
        read_value_file(path)
    with pytest.raises(InvalidValueNetwork):
        agents.make(f"value+minimax:2:{path}", LAYLI)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"ruleset": "{}"}, []),
        ({"ruleset": "[]"}, []),
        ({"ruleset": "["}, []),
        ({"network": '{"num_holes": 12, "num_units": 1000000}'}, "num_units=16"),
        ({"network": '{"num_holes": 12, "version": 2}'}, "version=1"),
        ({"network": '{"num_holes": 12.0}'}, "num_holes=12"),
        ({"network": '{"num_holes": 12, "version": true}'}, "version=1"),
        ({"made": '{"command": "\\u001b[2J"}'}, "printable"),
    ],
)
def test_what_a_file_says_is_checked(texts: dict[str, str], said: str, tmp_path: Path) -> None:
    path = written(tmp_path, texts=texts)
    if texts == {"ruleset": "{}"}:  # a custom ruleset with the default rule options: rounds of the same game
        assert read_for(path, LAYLI) is not None
        return
    with raises(InvalidValueNetwork, said):
        read_value_file(path)


def test_numbers_that_no_search_can_use_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    weights = weights_of(LAYLI)
    weights.embeddings[3, 4, 5] = np.nan
    path.write_bytes(ValueFile(LAYLI, weights, {}).to_bytes())
    with raises(InvalidValueNetwork, "finite"):
        read_value_file(path)
    with pytest.raises(InvalidValueNetwork):
        read_value_file(tmp_path / "nowhere")
