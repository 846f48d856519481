"""No function that reads checkpoints runs code planted in the file."""

import io
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from checkpoints import LAYLI, Planted

pytest.importorskip("ray", reason="Ray is not installed: mancala-env[ray]")
from mancala_env import Position, agents
from mancala_env.cli import main as mancala
from mancala_env.evaluation import play_matches, round_robin
from mancala_env.networks.checkpoint import InvalidCheckpoint
from mancala_env.training import run as command
from mancala_env.training.config import CONFIGS, read_config
from mancala_env.training.rollout import SelfPlayEnv
from mancala_env.training.run_folder import RunFolder

pytestmark = pytest.mark.filterwarnings(
    "ignore:Detected pickle protocol",
    "ignore:'torch.load' received a zip file that looks like",
    "ignore:`torch.jit.load` is deprecated",
    "ignore:Duplicate",
)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint of a run, with all its members."""
    words = ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path_factory.mktemp("run"))]
    config, _ = read_config([*words, "--network.hidden", "8", "--selfplay.games", "4"])
    folder = RunFolder.create(config)
    model = command.make_model(config, command.make_env(config, folder, 1), None)
    return folder.save(model, config).read_bytes()


def members(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(content: dict[str, bytes], *more: tuple[str, bytes]) -> bytes:
    """Return a zip archive without compression, as torch requires; `more` may repeat a name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in (*content.items(), *more):
            archive.writestr(name, data)
    return file.getvalue()


def planted_files(honest: bytes, marker: Path) -> dict[str, bytes]:
    """Return checkpoints with a trap in each possible place, by the name of the place."""
    outer = members(honest)
    inner = members(outer["policy.pth"])
    (data,) = (name for name in inner if name.endswith("data.pkl"))
    root = data.removesuffix("data.pkl")
    trap = pickle.dumps(Planted(marker))
    torch_file, legacy_file = io.BytesIO(), io.BytesIO()
    torch.save({"network.policy_head.weight": Planted(marker)}, torch_file)
    torch.save(
        {"network.policy_head.weight": Planted(marker)}, legacy_file, _use_new_zipfile_serialization=False
    )
    files = {}
    for name in outer:
        files[f"{name} = pickle"] = packed(outer | {name: trap})
        files[f"{name} = torch"] = packed(outer | {name: torch_file.getvalue()})
        files[f"{name} = legacy torch"] = packed(outer | {name: legacy_file.getvalue()})
    for name in ("extra.pkl", "../outside.pkl", "__init__.py", "data.pkl", "mancala_env/__init__.py"):
        files[f"and {name}"] = packed(outer | {name: trap})
    for name in ("policy.pth", "identity.json"):
        files[f"{name} twice"] = packed(outer, (name, trap))
    for name in inner:
        files[f"policy.pth/{name}"] = packed(outer | {"policy.pth": packed(inner | {name: trap})})
    for name in ("constants.pkl", "code/__torch__.py", "extra.pkl", "data.pkl.debug_pkl"):
        weights = packed(inner | {root + name: trap})
        files[f"policy.pth and {name}"] = packed(outer | {"policy.pth": weights})
    # The trap is after the weights: everything expected is present as well.
    weights = torch.load(io.BytesIO(outer["policy.pth"]), weights_only=True)
    both = io.BytesIO()
    torch.save({**weights, "more": Planted(marker)}, both)
    files["policy.pth, weights and a trap"] = packed(outer | {"policy.pth": both.getvalue()})
    return files


def choose(spec: str) -> None:
    agents.make(spec, LAYLI).choose(Position(LAYLI))


def play_gymnasium(spec: str) -> None:
    env: Any = gymnasium.make("mancala/LayliGoobalay-v0", opponent=spec, seat="north")
    env.reset(seed=1)
    env.step(env.unwrapped.action_masks().argmax())


def play_vector(spec: str) -> None:
    envs = gymnasium.make_vec("mancala/LayliGoobalay-v0", num_envs=2, opponent=spec)
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())


def play_pool(spec: str) -> None:
    env = SelfPlayEnv(LAYLI, "board", 4, pool=[spec], pool_share=1.0, seed=1, num_threads=1)
    env.reset()
    env.step(np.array([mask.argmax() for mask in env.action_masks()]))


DOORS: dict[str, Callable[[str], Any]] = {
    "agents.make": choose,
    "sample": lambda spec: choose(f"sample:{spec}"),
    "Gymnasium": play_gymnasium,
    "Gymnasium vector": play_vector,
    "match": lambda spec: play_matches(spec, "random", LAYLI, games=2, num_threads=1),
    "arena": lambda spec: round_robin([spec, "random"], LAYLI, games=2, num_threads=1),
    "pool": play_pool,
}


@pytest.mark.slow
def test_nothing_planted_anywhere_runs_through_any_entry_point(
    honest: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker, path = tmp_path / "ran", tmp_path / "agent.zip"
    files = planted_files(honest, marker)
    assert len(files) > 40
    refused, played, paths_named = [], [], set()
    for place, content in files.items():
        path.write_bytes(content)
        outcomes = set()
        for door, enter in DOORS.items():
            try:
                enter(str(path))
                outcomes.add("played")
            except InvalidCheckpoint as error:
                paths_named.add(str(path) in str(error))
                outcomes.add("refused")
            assert not marker.exists(), (place, door)
        assert len(outcomes) == 1, f"{place}: the functions disagree"
        (refused if outcomes == {"refused"} else played).append(place)
        assert mancala(["show", str(path)]) in (0, 2)
        if outcomes == {"refused"} or place.startswith(("data =", "and ../")):  # rating is slow
            status = mancala(["evaluate", str(path), "random", "--games", "2", "--no_regret", "--json"])
            assert status == (2 if outcomes == {"refused"} else 0), place
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert not marker.exists(), (place, "mancala")
    assert paths_named == {True}
    # Each trap is in a place that would have to be unpickled, or that nothing reads.
    assert "policy.pth = pickle" in refused
    assert "policy.pth, weights and a trap" in refused
    assert "data = pickle" in played
    assert "and ../outside.pkl" in played
    assert sorted(file.name for file in tmp_path.iterdir()) == ["agent.zip"], "nothing was unpacked"


def test_the_traps_are_armed(honest: bytes, tmp_path: Path) -> None:
    """Each trap works: it runs if its place is unpickled."""
    marker, sprung = tmp_path / "ran", []
    for place, content in planted_files(honest, marker).items():
        outer = members(content)
        for data in outer.values():
            for unpickle in (pickle.loads, lambda data: torch.load(io.BytesIO(data), weights_only=False)):
                with suppress(Exception):  # most members are not pickles
                    unpickle(data)
        if marker.exists():
            sprung.append(place)
            marker.rmdir()
    for name in ("policy.pth", "data", "identity.json"):
        assert {f"{name} = pickle", f"{name} = torch", f"{name} = legacy torch"} <= set(sprung)
    assert {"policy.pth, weights and a trap", "and extra.pkl", "policy.pth twice"} <= set(sprung)
    assert any(place.startswith("policy.pth/") for place in sprung)
