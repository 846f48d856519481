"""Checkpoints as agents: they play as trained, reject what they cannot play, and run no code of the file."""

import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from boards import finished
from checkpoints import LAYLI, Planted, identity_of, weights_file, write_checkpoint
from error_checks import raises

from mancala_env import Batch, IllegalMove, Position, agents, observations, rulesets
from mancala_env.agents.network import CheckpointAgent
from mancala_env.cli import main
from mancala_env.envs.gym import MancalaEnv
from mancala_env.errors import MancalaError
from mancala_env.evaluation import play_matches, round_robin
from mancala_env.networks.checkpoint import InvalidCheckpoint, load_network, read_identity
from mancala_env.networks.policy import InvalidNetwork, NetworkConfig, build_network
from mancala_env.observations import games_from
from mancala_env.terminal.game import InteractiveGame


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "agent.zip", identity_of())


@pytest.mark.parametrize("kind", observations.KINDS)
def test_plays_legal_actions_and_the_best_of_its_network(tmp_path: Path, kind) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of(kind=kind))
    agent = agents.make(str(path), "layli_goobalay", seed=0, num_threads=1)
    assert isinstance(agent, CheckpointAgent)
    batch = Batch(LAYLI, 200, seed=2, num_threads=1)
    for _ in range(30):
        logits, values = agent.evaluate(batch.games)
        actions = agent.act(batch.games)
        assert (batch.legal_mask[np.arange(200), actions] == 1).all()
        assert (actions == np.where(batch.legal_mask, logits, -np.inf).argmax(axis=1)).all()
        assert (np.abs(values) <= 1).all()
        batch.step(actions)


def test_sampled_actions_follow_the_probabilities(checkpoint: Path) -> None:
    agent = agents.make(f"sample:{checkpoint}", "layli_goobalay", seed=0, num_threads=1)
    assert isinstance(agent, CheckpointAgent)
    games = np.repeat(Position(LAYLI).games, 4000, axis=0)
    drawn = np.bincount(agent.act(games), minlength=6) / 4000
    logits = agent.evaluate(games[:1])[0][0]
    chances = np.exp(logits - logits.max())
    assert drawn == pytest.approx(chances / chances.sum(), abs=0.05)
    agent.seed(9)
    first = agent.act(games)
    agent.seed(9)
    assert (agent.act(games) == first).all()
    alone = [agent.act_seeded(games[:1], np.array([n], np.uint64))[0] for n in range(30)]
    assert agent.act_seeded(games[:30], np.arange(30, dtype=np.uint64)).tolist() == alone


@pytest.mark.parametrize("spec", ["{}", "sample:{}"])
def test_a_finished_round_has_no_action(spec: str, checkpoint: Path) -> None:
    """The error once said that the network knows too few actions."""
    agent = agents.make(spec.format(checkpoint), LAYLI)
    with raises(IllegalMove, "game 0"):
        agent.act(finished(LAYLI, (20, 28)).games)


def test_plays_wherever_a_spec_is_taken(checkpoint: Path) -> None:
    env = gymnasium.make("mancala/LayliGoobalay-v0", opponent=str(checkpoint), seat="random")
    env.reset(seed=1)
    is_over = False
    while not is_over:
        masks = env.get_wrapper_attr("action_masks")()
        _, _, is_over, _, _ = env.step(int(np.flatnonzero(masks)[0]))
    agent = agents.make(str(checkpoint), LAYLI)
    position = Position(LAYLI)
    while not position.is_over:
        position.play(agent.choose(position))


def test_plays_in_pettingzoo(checkpoint: Path) -> None:
    from mancala_env import layli_goobalay_v0

    agent = agents.make(str(checkpoint), LAYLI)
    env = layli_goobalay_v0.env()
    env.reset(seed=1)
    for _ in env.agent_iter():
        seen, _, is_over, _, _ = env.last()
        if is_over:
            env.step(None)
            continue
        assert isinstance(seen, dict)
        action = int(agent.act(games_from(LAYLI, seen["observation"]))[0])
        assert seen["action_mask"][action] == 1
        env.step(action)


def test_identity_survives_the_file(checkpoint: Path) -> None:
    assert read_identity(checkpoint) == identity_of()


def test_another_ruleset_is_refused_and_both_named(checkpoint: Path) -> None:
    with raises(InvalidCheckpoint, "layli_goobalay", "leyla_gobale_ii", "seeds_per_hole"):
        agents.make(str(checkpoint), "leyla_gobale_ii")


def test_the_same_rule_options_under_another_name_are_the_same_game(checkpoint: Path) -> None:
    agents.make(str(checkpoint), replace(LAYLI, name="mine", title="Mine"))


def test_another_observation_version_is_refused_and_both_named(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "old.zip", replace(identity_of(), observation_version="0.9"))
    with raises(InvalidCheckpoint, 0.9, observations.version("replies")):
        agents.make(str(path), LAYLI)


def test_a_network_of_single_rounds_says_so_in_a_match_it_cannot_play(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of("gabata_i"))
    agent = agents.make(str(path), "gabata_i")
    position = Position("gabata_i", seeds=[0] * 6 + [1] + [0] * 5, territory=[0] * 7 + [1] * 5)
    with raises(InvalidCheckpoint, 5, "--rounds match"):
        agent.choose(position)
    whole = write_checkpoint(tmp_path / "match.zip", identity_of("gabata_i", rounds="match"))
    assert agents.make(str(whole), "gabata_i").choose(position) == 6


def test_a_network_of_single_rounds_is_refused_before_the_first_game_of_a_match(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of("gabata_i"))
    agent, guided = agents.make(str(path), "gabata_i"), agents.make(f"policy+mcts:1:{path}", "gabata_i")
    played: list[object] = []
    refused: tuple[Callable[[], object], ...] = (
        lambda: play_matches(agent, "random", "gabata_i", rounds="match"),
        lambda: round_robin(
            ["random", "greedy", agent], "gabata_i", rounds="match", progress=lambda *_: played.append(0)
        ),
        lambda: MancalaEnv("gabata_i", opponent=agent, rounds="match"),
        lambda: InteractiveGame("gabata_i", str(path), rounds="match"),
    )
    for play in refused:
        with raises(InvalidCheckpoint, 5, "rounds='match'", 11, "--rounds match"):
            play()
    assert not played
    MancalaEnv("gabata_i", opponent=agent)
    MancalaEnv("gabata_i", opponent=guided, rounds="match")
    layli = write_checkpoint(tmp_path / "layli.zip", identity_of("layli_goobalay"))
    agents.make(str(layli), "layli_goobalay").check_rounds("match")  # its territory never changes


def test_the_trap_of_these_tests_works(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Planted(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "member",
    [
        "data",
        "pytorch_variables.pth",
        "policy.optimizer.pth",
        "policy.pth",
        "identity.json",
        "system_info.txt",
    ],
)
@pytest.mark.parametrize("wrapped", [True, False], ids=["torch.save", "pickle"])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_nothing_planted_in_a_checkpoint_runs(tmp_path: Path, member: str, wrapped: bool) -> None:
    marker = tmp_path / "ran"
    content = pickle.dumps(Planted(marker))
    if wrapped:
        packed = io.BytesIO()
        torch.save({"network.policy_head.weight": Planted(marker)}, packed)
        content = packed.getvalue()
    path = write_checkpoint(tmp_path / "agent.zip", identity_of(), extra={"data": b"{}"})
    planted = tmp_path / "planted.zip"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(planted, "w") as target:
        for name in {*source.namelist(), member}:
            target.writestr(name, content if name == member else source.read(name))
    if member in ("policy.pth", "identity.json"):
        with pytest.raises(InvalidCheckpoint):
            agents.make(str(planted), LAYLI)
    else:
        agents.make(str(planted), LAYLI).choose(Position(LAYLI))
    assert not marker.exists()


def altered_identity(**changes: object) -> bytes:
    return json.dumps(json.loads(identity_of().to_json()) | changes).encode()


@pytest.mark.parametrize(
    ("identity", "says"),
    [
        (b"not json", []),
        (b"[]", []),
        (b"{}", []),
        (altered_identity(format="something else"), []),
        (altered_identity(format_version=99), 99),
        (altered_identity(ruleset={"row_width": 6, "speed": 3}), []),
        (altered_identity(ruleset={"row_width": 99}), "row_width"),
        (altered_identity(rounds="many"), "rounds"),
        (altered_identity(surprise=1), []),
        (
            altered_identity(
                network={"observation": "replies", "hidden": 10**9, "layers": 1, "seed_levels": 1}
            ),
            "hidden",
        ),
    ],
)
def test_damaged_identities_are_refused(checkpoint: Path, tmp_path: Path, identity: bytes, says: str) -> None:
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(checkpoint) as whole, zipfile.ZipFile(path, "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, identity if name == "identity.json" else whole.read(name))
    with raises(InvalidCheckpoint, says):
        agents.make(str(path), LAYLI)


@pytest.mark.parametrize(
    "weights",
    [b"", b"rubbish", weights_file({}), weights_file([1, 2]), weights_file({"network.x": torch.zeros(2)})],
    ids=["empty", "rubbish", "none", "list", "other"],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, weights: bytes) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of(), weights)
    with raises(InvalidCheckpoint, "policy.pth"):
        agents.make(str(path), LAYLI)


def test_weights_that_are_not_numbers_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    identity = identity_of()
    network = load_network(checkpoint, identity)
    weights = {f"network.{name}": value for name, value in network.state_dict().items()}
    weights["network.policy_head.bias"] = torch.full((1,), torch.nan)
    path = write_checkpoint(tmp_path / "nan.zip", identity, weights_file(weights))
    with raises(InvalidCheckpoint, "policy_head.bias"):
        agents.make(str(path), LAYLI)


def test_files_that_are_no_checkpoints_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.zip"
    text.write_text("hello", encoding="utf-8")
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme", "hello")
    cut = tmp_path / "cut.zip"
    cut.write_bytes(checkpoint.read_bytes()[:-300])
    damaged = tmp_path / "damaged.zip"
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    folder = tmp_path / "folder.zip"
    folder.mkdir()
    for path, says in (
        (text, "zip"),
        (other, "identity.json"),
        (cut, []),
        (damaged, []),
        (folder, []),
        (tmp_path / "missing.zip", []),
        (tmp_path / (300 * "m" + ".zip"), []),  # longer than a file name may be
        (tmp_path / (300 * "m" + ".safetensors"), []),
    ):
        with raises(InvalidCheckpoint, says) as caught:
            agents.make(str(path), LAYLI)
        assert isinstance(caught.value, MancalaError)
        assert path.name in str(caught.value)


def test_loading_leaves_torchs_generator_where_it_is(checkpoint: Path) -> None:
    before = torch.random.get_rng_state()
    agents.make(str(checkpoint), read_identity(checkpoint).ruleset)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.slow
def test_loading_needs_no_training_package(checkpoint: Path, tmp_path: Path) -> None:
    """Nor does it import torch's compiler, which takes a second."""
    code = (
        "import sys\n"
        "sys.modules['training'] = sys.modules['stable_baselines3'] = sys.modules['sb3_contrib'] = None\n"
        "from mancala_env import Position, agents\n"
        f"agent = agents.make({str(checkpoint)!r}, 'layli_goobalay')\n"
        "print(agent.choose(Position('layli_goobalay')))\n"
        "agents.make('trained', 'layli_goobalay')\n"
        "assert 'torch' in sys.modules and 'torch._dynamo' not in sys.modules\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() in set("012345")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"observation": "pixels"}, "observation"),
        ({"hidden": 0}, "hidden"),
        ({"layers": 1.5}, "layers"),
        ({"seed_levels": True}, "seed_levels"),
    ],
)
def test_impossible_networks_are_refused(changes: dict[str, object], says: str) -> None:
    plain = {"observation": "board", "hidden": 8, "layers": 1, "seed_levels": 2}
    with raises(InvalidNetwork, says):
        NetworkConfig(**(plain | changes))  # type: ignore[arg-type]


def test_a_networks_value_is_its_actions_values_weighed_by_their_chances() -> None:
    config = NetworkConfig(observation="afterstates", hidden=8, layers=1, seed_levels=3)
    network = build_network(LAYLI, 6, config)
    batch = Batch(LAYLI, 5, seed=1, num_threads=1)
    batch.play_random(7)
    seen = observations.Observer(LAYLI, "afterstates").observe(batch.games)
    legal = torch.from_numpy(batch.legal_mask == 1)
    network.requires_grad_(False)
    logits, values = network(torch.from_numpy(seen), legal)
    for b in range(5):
        total = 0.0
        for action in np.flatnonzero(batch.legal_mask[b]):
            alone = torch.zeros(1, 6, dtype=torch.bool)
            alone[0, action] = True
            _, value = network(torch.from_numpy(seen[b : b + 1]), alone)
            total += float(torch.softmax(logits[b], 0)[action] * value)
        assert float(values[b]) == pytest.approx(total, abs=1e-5)
    derived, _ = network(torch.from_numpy(seen))
    assert torch.equal(derived, logits)


@pytest.mark.parametrize("ruleset", [LAYLI, rulesets.lookup("gabata_i")])
def test_the_value_of_an_action_is_that_of_its_best_line(
    ruleset: rulesets.Ruleset,
) -> None:
    network = build_network(
        ruleset, 6, NetworkConfig(observation="leaves", hidden=8, layers=2, seed_levels=3)
    )
    network.requires_grad_(False)
    batch = Batch(ruleset, 2000, seed=1, num_threads=1)
    batch.play_random(24)
    observer = observations.Observer(ruleset, "leaves")
    seen, parts = torch.from_numpy(observer.observe(batch.games)), observer.parts
    num_replies = seen[:, :, parts["num_replies"].start]
    to_move = parts["position"].start + observations.parts(ruleset)["to_move"].start
    moves_again = (seen[:, :, to_move] == 1) & (num_replies > 0)
    legal = torch.from_numpy(batch.legal_mask == 1)
    logits, _ = network(seen, legal)
    leaves = slice(parts["leaves"].start, parts["leaves"].stop)
    # Each line alone, as if it were the only reply.
    alone = []
    for n in range(3):
        only = seen.clone()
        only[:, :, leaves] = (
            seen[:, :, leaves].unflatten(2, (3, -1))[:, :, n : n + 1].expand(-1, -1, 3, -1).flatten(2)
        )
        at = parts["num_replies"].start
        # The number of replies is a feature too, so it stays; three equal lines count as three.
        counted = only[:, :, at].clamp(1, 3)
        found, _ = network(only, legal)
        alone.append(torch.where(moves_again, found - counted.log(), found + counted.log()))
    lines = torch.stack(alone, dim=2)
    is_there = torch.arange(3) < num_replies.clamp(min=1).unsqueeze(2)
    worst = -torch.logsumexp((-lines).masked_fill(~is_there, -1e8), dim=2)
    best = torch.logsumexp(lines.masked_fill(~is_there, -1e8), dim=2)
    expected = torch.where(moves_again, best, worst)
    torch.testing.assert_close(logits[legal], expected[legal], rtol=1e-4, atol=1e-4)
    assert (num_replies[legal] == 1).any()
    assert (num_replies[legal] == 0).any()
    assert (moves_again & legal).any() == (ruleset.name == "gabata_i")


@pytest.mark.parametrize("ruleset", [LAYLI, rulesets.lookup("gabata_i")])
def test_who_has_learned_nothing_chooses_by_the_values_of_the_lines(ruleset: rulesets.Ruleset) -> None:
    config = NetworkConfig(observation="values", hidden=8, layers=2, seed_levels=3)
    network = build_network(ruleset, 6, config)
    network.requires_grad_(False)
    for name, weights in network.named_parameters():
        if name.startswith("policy_head"):
            weights.zero_()
    batch = Batch(ruleset, 2000, seed=1, num_threads=1)
    batch.play_random(24)
    observer = observations.Observer(ruleset, "values")
    seen = torch.from_numpy(observer.observe(batch.games))
    legal = torch.from_numpy(batch.legal_mask == 1)
    logits, _ = network(seen, legal)
    start = observer.parts["fourth_values"].start
    worths = seen[:, :, start : start + 3].float() / 16
    replies = seen[:, :, observer.parts["num_replies"].start]
    to_move = observer.parts["position"].start + observations.parts(ruleset)["to_move"].start
    sign = torch.where(seen[:, :, to_move] == 1, 1.0, -1.0)
    signed = sign.unsqueeze(2) * worths
    is_there = torch.arange(3) < replies.clamp(min=1).unsqueeze(2)
    expected = sign * torch.logsumexp(signed.masked_fill(~is_there, -1e8), dim=2)
    torch.testing.assert_close(logits[legal], expected[legal], rtol=1e-4, atol=1e-3)
    # The first line is that of the search; the others only lower its weight.
    assert ((logits - worths[:, :, 0]).abs()[legal] <= np.log(3) + 1e-3).all()
    assert {0, 1} < set(replies[legal].tolist())
    assert ((seen[:, :, to_move] == 1) & (replies > 0) & legal).any() == (ruleset.name == "gabata_i")


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_line_is_told_its_own_values_eight_seeds_to_a_one(column: int) -> None:
    config = NetworkConfig(observation="values", hidden=16, layers=2, seed_levels=3)
    network: Any = build_network(LAYLI, 6, config)
    network.requires_grad_(False)
    network.line_layer.weight.zero_()
    observer = observations.Observer(LAYLI, "values")
    part = observer.parts[("reply_values", "third_values", "fourth_values")[column]]
    rows = torch.zeros(1, observer.shape[1], dtype=torch.int16)
    rows[0, part.start : part.stop] = torch.arange(6) * 8 * 16
    told = network.worth_layer.weight[:, column]
    torch.testing.assert_close(network._lines(rows)[0], torch.stack([0 * told, told, 2 * told]))


def test_an_action_sees_leads_and_values_in_one_measure() -> None:
    config = NetworkConfig(observation="values", hidden=8, layers=2, seed_levels=3)
    network: Any = build_network(LAYLI, 6, config)
    observer = observations.Observer(LAYLI, "values")
    rows = torch.zeros(1, observer.shape[1], dtype=torch.int16)
    nothing = network._inputs(rows)
    for name, eight_seeds in (
        ("lead", 8),
        ("reply_values", 128),
        ("third_values", 128),
        ("fourth_values", 128),
    ):
        part = observer.parts[name]
        rows.zero_()
        rows[:, part.start : part.stop] = eight_seeds
        changed = network._inputs(rows) - nothing
        assert set(changed[0].tolist()) == {0, 1}
        assert changed.sum() == part.stop - part.start


def test_a_network_of_two_actions_is_told_the_last_line_again() -> None:
    config = NetworkConfig(observation="values", hidden=8, layers=2, seed_levels=3)
    network: Any = build_network(LAYLI, 2, config)
    parts = observations.Observer(LAYLI, "values", 2).parts
    starts = [parts[name].start for name in ("reply_values", "third_values", "fourth_values")]
    assert network._worth_columns.tolist() == [[start + n for start in starts] for n in (0, 1, 1)]


def test_a_checkpoint_that_saw_another_value_network_is_refused(tmp_path: Path, capsys) -> None:
    identity = identity_of(kind="values")
    kind, _, judge = identity.observation_version.rpartition(".")
    former = replace(identity, observation_version=f"{kind}.{'0' * len(judge)}")
    path = write_checkpoint(tmp_path / "former.zip", former)
    with raises(InvalidCheckpoint, former.observation_version, identity.observation_version):
        agents.make(str(path), "layli_goobalay")
    for option, name in (("--safetensors", "a.safetensors"), ("--onnx", "a.onnx")):
        assert main(["export", str(path), option, str(tmp_path / name)]) == 2
        assert former.observation_version in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["former.zip"]


def test_a_checkpoint_that_saw_values_is_named_where_there_are_none(tmp_path: Path) -> None:
    mine = replace(LAYLI, name="mine", seeds_per_hole=6)
    path = tmp_path / "mine.zip"
    identity = replace(identity_of(kind="values"), ruleset=mine)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("identity.json", identity.to_json())
    for load in (lambda: agents.make(str(path), mine), lambda: load_network(path, identity)):
        with raises(InvalidCheckpoint, "mine.zip", "values"):
            load()


def test_few_positions_are_judged_by_one_thread(checkpoint, monkeypatch):
    agent = agents.make(str(checkpoint), "layli_goobalay", num_threads=2)
    assert isinstance(agent, CheckpointAgent)
    asked = []
    forward = agent.network.forward

    def counted(*seen):
        asked.append(torch.get_num_threads())
        return forward(*seen)

    monkeypatch.setattr(agent.network, "forward", counted)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for size in (1, 511, 512):
            agent.act(Batch(LAYLI, size, seed=1, num_threads=1).games)
    finally:
        torch.set_num_threads(before)
    assert asked == [1, 1, 2]
