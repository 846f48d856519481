"""Networks play the same with any default type and device of torch."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from mancala_env import agents
from mancala_env._util.package_data import bundled_file
from mancala_env.agents.base import Agent
from mancala_env.agents.network import CheckpointAgent
from mancala_env.games.batch import Batch
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.observations import KINDS
from mancala_env.rulesets import lookup

torch = pytest.importorskip("torch")

RULESETS = ("leyla", "gabata_3")  # its network does not see lines
SPECS = ("trained", "policy+mcts:8", "value+minimax:2", "sample:{}")


def made(ruleset: str) -> list[Agent]:
    checkpoint = bundled_file("policy", ruleset)
    return [agents.make(spec.format(checkpoint), ruleset, seed=1, num_threads=1) for spec in SPECS]


def chosen(players: list[Agent], ruleset: str) -> list[list[int]]:
    batch = Batch(ruleset, 8, seed=3)
    batch.play_random(3)
    for player in players:
        player.seed(1)
    return [player.act(batch.games).tolist() for player in players]


@pytest.fixture(params=["float64", "bfloat16", "meta"])
def other_default(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """Set another default. The device "meta" replaces a GPU: its numbers cannot be read."""

    def set_default(name: str) -> None:
        if name == "meta":
            torch.set_default_device("meta")
        else:
            torch.set_default_dtype(getattr(torch, name))

    yield lambda: set_default(request.param)
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("ruleset", RULESETS)
def test_agents_made_before_and_after_play_as_without(ruleset, other_default):
    before = made(ruleset)
    expected = chosen(before, ruleset)
    network = before[0]
    assert isinstance(network, CheckpointAgent)
    games = Batch(ruleset, 8, seed=3).games
    judged = network.evaluate(games)
    other_default()
    assert chosen(before, ruleset) == expected
    after = made(ruleset)
    assert chosen(after, ruleset) == expected
    for each in (before[0], after[0]):
        assert isinstance(each, CheckpointAgent)
        for found, wanted in zip(each.evaluate(games), judged, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("observation", KINDS)
def test_a_network_is_of_float32(observation, other_default):
    ruleset = lookup("leyla")
    config = NetworkConfig(observation=observation, hidden=8, layers=2, seed_levels=4)
    expected = [each.dtype for each in build_network(ruleset, 6, config).state_dict().values()]
    other_default()
    with torch.device("cpu"):
        network = build_network(ruleset, 6, config)
    assert [each.dtype for each in network.state_dict().values()] == expected
    assert {each.dtype for each in network.buffers() if each.is_floating_point()} <= {torch.float32}
    assert {each.dtype for each in network.parameters()} == {torch.float32}
