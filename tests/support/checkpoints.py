"""Checkpoints for tests: small networks with random weights, and an object that runs code when unpickled."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import torch

import mancala_env
from mancala_env import observations, rulesets
from mancala_env.networks.checkpoint import Identity
from mancala_env.networks.policy import NetworkConfig, build_network

LAYLI = rulesets.lookup("layli_goobalay")


def identity_of(
    ruleset: rulesets.RulesetLike = "layli_goobalay",
    kind: observations.ObservationKind = "replies",
    rounds: int | Literal["match"] = 1,
) -> Identity:
    return Identity(
        ruleset=rulesets.lookup(ruleset),
        rounds=rounds,
        observation_version=observations.version(kind, ruleset),
        network=NetworkConfig(observation=kind, hidden=16, layers=2, seed_levels=4),
        environment_steps=123,
        config={"seed": 1},
        versions={"mancala-env": mancala_env.__version__},
    )


def write_checkpoint(
    path: Path, identity: Identity, weights: bytes | None = None, extra: dict[str, bytes] | None = None
) -> Path:
    """Write a checkpoint with random weights, without the training package."""
    if weights is None:
        torch.manual_seed(4)
        network = build_network(
            identity.ruleset, identity.ruleset.num_actions(identity.rounds), identity.network
        )
        packed = io.BytesIO()
        torch.save({f"network.{name}": value for name, value in network.state_dict().items()}, packed)
        weights = packed.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("identity.json", identity.to_json())
        archive.writestr("policy.pth", weights)
        for name, content in (extra or {}).items():
            archive.writestr(name, content)
    return path


class Planted:
    """Runs a command when unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.marker),)


def weights_file(weights: object) -> bytes:
    packed = io.BytesIO()
    torch.save(weights, packed)
    return packed.getvalue()
