"""policy+minimax: minimax with the value network of an old checkpoint, and no damaged one."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from boards import position
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises
from value_checkpoints import checkpoint_of, weights_of

from mancala_env import Batch, Position, agents, rulesets
from mancala_env.agents.searchers import ILLEGAL, MinimaxAgent
from mancala_env.networks import export
from mancala_env.networks.checkpoint import VALUE_NETWORK_MEMBER, Identity, InvalidCheckpoint, read_identity
from mancala_env.networks.export import to_safetensors
from mancala_env.networks.value import (
    UNIT,
    ValueNetworkConfig,
    certain_leads,
    codes_of,
    position_values,
)
from mancala_env.training import value_growth

EXACT = json.loads((Path(__file__).parent.parent / "data" / "exact.json").read_text(encoding="utf-8"))


def search(depth: object, path: Path, ruleset: str = "layli_goobalay", **options) -> MinimaxAgent:
    spec = f"policy+minimax:{depth}:{path}"
    agent = agents.make(spec, ruleset, **{"seed": 1, "num_threads": 1} | options)
    assert isinstance(agent, MinimaxAgent)
    return agent


def reached(ruleset: str, turns: int) -> Batch:
    batch = Batch(ruleset, 30, seed=turns, num_threads=1)
    batch.play_random(turns)
    return batch


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_seven_holes", "layli_goobalay_long"])
def test_kernels_compute_the_network_they_were_given(ruleset):
    weights = weights_of(ruleset)
    for turns in (0, 4, 25):
        games = reached(ruleset, turns).games
        sums = np.take_along_axis(
            weights.embeddings[None], codes_of(rulesets.lookup(ruleset), games)[:, :, None, None], axis=2
        ).sum(axis=(1, 2))
        further = np.maximum(sums + weights.unit_biases, 0) @ weights.unit_weights + weights.bias[0]
        total = rulesets.lookup(ruleset).total_seeds
        wanted = np.clip(certain_leads(rulesets.lookup(ruleset), games) + further, -total, total)
        found = position_values(rulesets.lookup(ruleset), games, weights.packed())
        assert np.abs(found - wanted).max() < 1.5 / UNIT


def test_what_a_network_sees_turns_with_the_player_to_move():
    """Holes with more than 21 seeds look alike; owned holes show their owner, not their seeds."""
    drawing = "1 2n 3 4 5 22\n0 2n 4 0 3 0"
    south = position("layli_goobalay", drawing, stores=(2, 0))
    assert codes_of(south.ruleset, south.games)[0].tolist() == [0, 23, 4, 0, 3, 0, 21, 5, 4, 3, 23, 1]
    assert certain_leads(south.ruleset, south.games) == [2 - 4]
    north = position("layli_goobalay", drawing, stores=(2, 0), player=1)
    assert codes_of(north.ruleset, north.games)[0].tolist() == [21, 5, 4, 3, 22, 1, 0, 22, 4, 0, 3, 0]
    assert certain_leads(north.ruleset, north.games) == [4 - 2]


def plain_value(game: Position, depth: int, network: np.ndarray) -> float:
    """Return South's value under plain minimax, without pruning."""
    if game.is_over or depth == 0:
        value = position_values(game.ruleset, game.games, network)[0]
        if game.is_over:
            return game.counts[0] - game.counts[1]
        return value if game.player == 0 else -value
    values = []
    for action in game.legal_actions:
        after = game.copy()
        after.play(action)
        values.append(plain_value(after, depth - 1, network))
    return max(values) if game.player == 0 else min(values)


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_values_equal_plain_minimax_on_the_same_leaves(tmp_path, ruleset):
    path = checkpoint_of(tmp_path / "agent.zip", ruleset)
    network = weights_of(ruleset).packed()
    for turns in (0, 12, 25):
        games = reached(ruleset, turns).games[:3]
        for depth in (1, 2, 4):
            agent = search(depth, path, ruleset)
            values = agent.action_values(games)
            actions = agent.act(games)
            for b in range(3):
                game = Position.from_games(ruleset, games, b)
                for action in range(6):
                    if action not in game.legal_actions:
                        assert values[b, action] == ILLEGAL
                        continue
                    after = game.copy()
                    after.play(action)
                    wanted = plain_value(after, depth - 1, network)
                    assert values[b, action] == (wanted if game.player == 0 else -wanted)
                assert values[b, actions[b]] == values[b].max() == agent.last_values[b]


def test_a_player_who_passes_does_not_change_the_sign(tmp_path):
    """North cannot sow, so South plays every turn."""
    path = checkpoint_of(tmp_path / "agent.zip", "gabata_i")
    game = position("gabata_i", "0 0 0 0 0 0\n3 0 0 1 0 0")
    for depth in (1, 2, 3):
        agent = search(depth, path, "gabata_i")
        agent.choose(game)
        assert agent.last_values[0] == plain_value(game, depth, weights_of("gabata_i").packed())


@pytest.mark.parametrize("ruleset", sorted({entry["ruleset"] for entry in EXACT}))
def test_a_round_seen_to_its_end_is_played_perfectly(tmp_path, ruleset):
    path = checkpoint_of(tmp_path / "agent.zip", ruleset)
    for entry in EXACT:
        free = sum(seeds for seeds, owner in zip(entry["seeds"], entry["owner"], strict=True) if owner < 0)
        if entry["ruleset"] == ruleset and free <= 8:
            game = Position(ruleset, entry["seeds"], entry["owner"])
            values = search(60, path, ruleset).action_values(game.games)[0]
            assert {str(a): values[a] for a in game.legal_actions} == entry["actions"]


def test_a_choice_depends_on_the_position_and_the_seed_alone(tmp_path):
    path = checkpoint_of(tmp_path / "agent.zip")
    games = Batch("layli_goobalay", 40, seed=6, opening_turns=5).games
    together = search(5, path).act(games)
    assert (search(5, path, num_threads=2).act(games) == together).all()
    alone = search(5, path)
    assert [alone.act(games[b : b + 1])[0] for b in range(40)] == together.tolist()


def test_time_is_a_budget_too(tmp_path):
    path = checkpoint_of(tmp_path / "agent.zip")
    agent = search("0.002s", path)
    game = Position("layli_goobalay")
    assert agent.choose(game) in game.legal_actions
    assert agent.last_depth[0] >= 1


def test_where_territory_has_changed_hands_leaves_are_counted(tmp_path):
    path = checkpoint_of(tmp_path / "agent.zip", "gabata_i")
    batch = Batch("gabata_i", 40, rounds="match", seed=3)
    batch.play_random(300)
    plain = agents.make("minimax:3", "gabata_i", seed=1, num_threads=1)
    territory = [Position.from_games("gabata_i", batch.games, b).territory for b in range(40)]
    moved = [b for b in range(40) if any(territory[b][6:] == 0) or any(territory[b][:6] == 1)]
    assert moved
    assert (search(3, path, "gabata_i").act(batch.games[moved]) == plain.act(batch.games[moved])).all()


def test_a_checkpoint_without_a_value_network_is_told_the_command(tmp_path):
    path = write_checkpoint(tmp_path / "agent.zip", identity_of())
    with raises(InvalidCheckpoint, "mancala grow-value layli_goobalay", "agent.zip"):
        search(4, path)


def test_another_ruleset_is_refused(tmp_path):
    path = checkpoint_of(tmp_path / "agent.zip")
    with raises(InvalidCheckpoint, "layli_goobalay", "leyla"):
        search(4, path, "leyla")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("policy+minimax:6", "policy+minimax:DEPTH:CHECKPOINT"),
        ("policy+minimax:6:", "policy+minimax:DEPTH:CHECKPOINT"),
        ("policy+minimax:x:{path}", "DEPTH"),
    ],
)
def test_a_wrong_spec_is_refused(tmp_path, spec, says):
    path = checkpoint_of(tmp_path / "agent.zip")
    with raises(agents.InvalidSpec, says):
        agents.make(spec.format(path=path), "layli_goobalay")


def with_member(path: Path, content: bytes | None, identity: Identity | None = None) -> Path:
    """Rewrite a checkpoint with another value network, or none, and maybe another identity."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if identity is not None:
        members["identity.json"] = identity.to_json().encode()
    del members[VALUE_NETWORK_MEMBER]
    with zipfile.ZipFile(path, "w") as archive:
        for name, kept in members.items():
            archive.writestr(name, kept)
        if content is not None:
            archive.writestr(VALUE_NETWORK_MEMBER, content)
    return path


def test_a_damaged_value_network_is_refused(tmp_path):
    path = checkpoint_of(tmp_path / "agent.zip")
    good = weights_of("layli_goobalay")
    numbers = good.bias.copy()
    numbers[0] = np.nan
    huge = good.unit_weights * 1e9
    for content, says in (
        (None, VALUE_NETWORK_MEMBER),
        (good.to_bytes()[:-4], "bytes"),
        (b"cos\nsystem\n(S'false'\ntR.", "bytes"),
        (good._replace(bias=numbers).to_bytes(), "finite"),
        (good._replace(unit_weights=huge).to_bytes(), 10000),
    ):
        checkpoint_of(path)
        with raises(InvalidCheckpoint, says):
            search(4, with_member(path, content))


def test_another_version_or_board_is_refused(tmp_path):
    path = checkpoint_of(tmp_path / "agent.zip")
    identity = read_identity(path)
    right = ValueNetworkConfig(num_holes=12)
    assert identity.value_network == right
    for wrong in (
        replace(right, version=99),
        replace(right, num_holes=14),
        replace(right, num_units=1 << 40),
    ):
        checkpoint_of(path)
        with_member(path, weights_of("layli_goobalay").to_bytes(), replace(identity, value_network=wrong))
        with raises(InvalidCheckpoint, "version"):
            search(4, path)


def test_an_exported_policy_has_no_value_network(tmp_path):
    exported = tmp_path / "agent.safetensors"
    exported.write_bytes(to_safetensors(checkpoint_of(tmp_path / "agent.zip")))
    with raises(InvalidCheckpoint, "agent.safetensors", "mancala grow-value layli_goobalay"):
        search(2, exported)


def test_programs_replace_no_file_of_another_kind(tmp_path, capsys):
    checkpoint = checkpoint_of(tmp_path / "agent.zip")
    others = {
        "value.safetensors": (export.main, [str(checkpoint), "--safetensors"]),
        "copy.zip": (value_growth.main, ["leyla", "--games", "20", "--generations", "1", "--out"]),
    }
    for name, (program, words) in others.items():
        other = tmp_path / name
        other.write_bytes(checkpoint.read_bytes() if name == "copy.zip" else b"of somebody")
        content = other.read_bytes()
        assert program([*words, str(other)]) == 2
        out, said = capsys.readouterr()
        assert (out, said.count("\n")) == ("", 1)
        assert names(said, [other])
        assert other.read_bytes() == content
