"""No network is trained on a board that is held out for evaluation."""

from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from mancala_env import rulesets
from mancala_env.engine.holdout import rows_in_set, rows_to_learn
from mancala_env.observations import games_from
from mancala_env.training.config import CONFIGS, read_config
from mancala_env.training.policy import SelfPlayPolicy
from mancala_env.training.run import train
from mancala_env.training.run_folder import RunFolder


@pytest.mark.parametrize(
    "more",
    [
        ["--ruleset", "gabata_i", "--pool.share", "0.25"],
        ["--distillation.positions", "2000", "--distillation.spec", "minimax:2"],
        ["--expert.share", "0.25", "--expert.spec", "minimax:2"],
    ],
    ids=["ppo", "distillation", "expert iteration"],
)
def test_no_network_is_fitted_to_held_out_boards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    config, _ = read_config(
        ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--environment_steps", "8192",
         "--network.observation", "board", "--evaluation.checkpoint_games", "0", *more]
    )  # fmt: skip
    fitted: list[torch.Tensor] = []
    seen: list[torch.Tensor] = []

    def note(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        (fitted if module.training and torch.is_grad_enabled() else seen).append(inputs[0].detach().clone())

    build = SelfPlayPolicy.__init__

    def watched(self: SelfPlayPolicy, *args: object, **kwargs: object) -> None:
        build(self, *args, **kwargs)  # type: ignore[arg-type]
        self.network.register_forward_pre_hook(note)

    monkeypatch.setattr(SelfPlayPolicy, "__init__", watched)
    train(config, RunFolder.create(config), Console(quiet=True))
    ruleset = rulesets.lookup(config.ruleset)
    learned, met = (
        games_from(ruleset, np.concatenate([each.numpy() for each in some])) for some in (fitted, seen)
    )
    assert len(learned) > 4000
    assert rows_in_set(ruleset, met, "evaluation").mean() > 0.1, "held-out boards are played"
    assert rows_to_learn(ruleset, learned).all()
