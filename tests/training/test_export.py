"""mancala export: other programs compute the same numbers as torch."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises
from safetensors.numpy import load_file

from mancala_env import Batch, agents
from mancala_env.agents.network import CheckpointAgent
from mancala_env.agents.registry import bundled_policy
from mancala_env.cli import main
from mancala_env.networks.checkpoint import Identity, InvalidCheckpoint, read_identity
from mancala_env.networks.value_files import ValueFile
from mancala_env.observations import Observer
from mancala_env.rulesets import lookup

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "ruleset"),
    [("board", "leyla"), ("replies", "layli_goobalay"), ("leaves", "gabata_i"), ("values", "leyla")],
)
def test_onnx_computes_what_torch_computes(kind, ruleset: str, tmp_path: Path, capsys) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of(ruleset, kind))
    out = tmp_path / "agent.onnx"
    assert main(["export", str(path), "--onnx", str(out)]) == 0
    said = capsys.readouterr()
    assert (said.out.splitlines()[0].startswith(f"Written: {out}"), said.err) == (True, "")
    session = onnxruntime.InferenceSession(out)
    agent = agents.make(str(path), ruleset, num_threads=1)
    assert isinstance(agent, CheckpointAgent)
    identity = Identity.from_json(session.get_modelmeta().custom_metadata_map["identity"])
    assert identity == agent.identity
    batch = Batch(ruleset, 50, seed=1)
    observer = Observer(agent.ruleset, kind, batch.num_actions)
    for games in (1, 50):  # batches of any size
        for _ in range(3):
            batch.play_random(5)
            rows = batch.games[:games]
            observation, legal = observer.empty(games), np.empty((games, batch.num_actions), np.bool_)
            observer.write(rows, observation, legal)
            logits, values = session.run(None, {"observation": observation, "legal": legal})
            wanted = agent.evaluate(rows)
            np.testing.assert_allclose(logits[legal], wanted[0][legal], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(values, wanted[1], rtol=1e-4, atol=1e-5)
            assert (logits[~legal] < -1e7).all()


def test_safetensors_hold_the_weights_and_play_like_the_checkpoint(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of())
    out = tmp_path / "agent.safetensors"
    assert main(["export", str(path), "--safetensors", str(out)]) == 0
    before, after = (agents.make(str(file), "layli_goobalay", seed=1, num_threads=1) for file in (path, out))
    assert isinstance(before, CheckpointAgent)
    assert isinstance(after, CheckpointAgent)
    assert after.identity == before.identity
    weights = load_file(out)
    for name, value in before.network.state_dict().items():
        assert (torch.from_numpy(weights[name]) == value).all()
    batch = Batch("layli_goobalay", 100, seed=3)
    batch.play_random(4)
    assert (before.act(batch.games) == after.act(batch.games)).all()
    assert agents.Spec.parse(f"sample:{out}").ruleset == before.ruleset


def test_the_bundled_network_is_exported_by_its_name(tmp_path: Path, capsys) -> None:
    out = tmp_path / "shipped.safetensors"
    assert main(["export", "trained", "--ruleset", "leyla", "--safetensors", str(out)]) == 0
    assert read_identity(out) == read_identity(bundled_policy(lookup("leyla")))
    box, exported = (agents.make(spec, "leyla", seed=1, num_threads=1) for spec in ("trained", str(out)))
    games = Batch("leyla", 20, seed=1).games
    assert (box.act(games) == exported.act(games)).all()
    capsys.readouterr()
    for words, said in (
        (["trained"], ["--ruleset", "leyla"]),
        (["trained", "--ruleset", "gabata_3x"], "gabata_3x"),
        ([str(out), "--ruleset", "leyla"], ["--ruleset", out]),
    ):
        assert main(["export", *words, "--onnx", str(tmp_path / "no.onnx")]) == 2
        assert names(capsys.readouterr().err, said)
    assert not (tmp_path / "no.onnx").exists()


def test_what_cannot_be_exported_or_read_is_one_line(tmp_path: Path, capsys) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of())
    out = tmp_path / "agent.safetensors"
    assert main(["export", str(path)]) == 2
    assert main(["export", str(path), "--safetensors", str(tmp_path / "agent.bin")]) == 2
    assert main(["export", str(tmp_path / "nothing.zip"), "--safetensors", str(out)]) == 2
    assert main(["export", str(path), "--onnx", str(tmp_path / "nowhere" / "a.onnx")]) == 2
    assert main(["export", str(path), "--onnx", str(path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 5
    assert names(said[0], ["--onnx", "--safetensors"])
    assert names(said[1], ["--safetensors", ".safetensors", tmp_path / "agent.bin"])
    assert names(said[2], tmp_path / "nothing.zip")
    assert names(said[3], ["--onnx", tmp_path / "nowhere" / "a.onnx"])
    assert names(said[4], ["--onnx", ".onnx", path])
    assert main(["export", str(path), "--safetensors", str(out)]) == 0
    content = out.read_bytes()
    identity = json.dumps(read_identity(path).to_json())[1:-1]
    assert identity.encode() in content
    for wrong, message in (
        (content[:-4], [out.name, "safetensors"]),
        (content.replace(b'\\"hidden\\": 16', b'\\"hidden\\": 17'), []),
        (content.replace(b"policy network", b"polecy network"), out.name),
        (b"", out.name),
    ):
        out.write_bytes(wrong)
        with raises(InvalidCheckpoint, message):
            agents.make(str(out), "layli_goobalay")


def test_a_refused_export_leaves_no_file(tmp_path: Path, capsys, monkeypatch) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of())
    weights, model = tmp_path / "agent.safetensors", tmp_path / "agent.onnx"
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["export", str(path), "--safetensors", str(weights), "--onnx", str(model)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert names(said.err, "[onnx]")
    assert list(tmp_path.iterdir()) == [path]


def test_a_value_network_is_no_checkpoint(tmp_path: Path) -> None:
    from value_checkpoints import weights_of

    out = tmp_path / "value.safetensors"
    ruleset = identity_of().ruleset
    out.write_bytes(ValueFile(ruleset, weights_of(ruleset), {}).to_bytes())
    with raises(InvalidCheckpoint, "value"):
        agents.make(str(out), ruleset)
