"""The configuration of a run on Ray; reading it needs no Ray."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mancala_env._util.settings import setting
from mancala_env.training.config import InvalidConfig, TrainConfig


@dataclass(kw_only=True)
class RayConfig(TrainConfig):
    """A run on Ray: TrainConfig, and where it runs.

    `selfplay.games` is the number of games of all environment runners together, `ppo.batch_size` the
    minibatch of all learners together. `device` is ignored: GPUs go to learners and runners by number.
    """

    address: str | None = setting(
        "Cluster to join: HOST:6379, ray://HOST:10001, or auto for the one that this machine belongs to; "
        "null to start Ray on this machine for the run",
        None,
    )
    num_cpus: int | None = setting(
        "Number of CPU cores that a Ray started for the run may use; null for all", None, low=1
    )
    num_env_runners: int = setting(
        "Number of processes that play, on any machine of the cluster; 0 to play in this process", 2, low=0
    )
    num_cpus_per_env_runner: int = setting(
        "Number of CPU cores and engine threads of each process that plays", 1, low=1
    )
    num_gpus_per_env_runner: float = setting(
        "Number of GPUs, or fraction of one, of each process that plays", 0.0, low=0
    )
    num_learners: int = setting(
        "Number of processes that learn and average their gradients; 0 to learn in this process", 0, low=0
    )
    num_gpus_per_learner: float = setting(
        "Number of GPUs of each process that learns; 0 to learn on the CPU", 0.0, low=0
    )

    @classmethod
    def implied_settings(cls, values: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that Ray turns off in files that are `mancala train`'s too."""
        return {"expert.share": 0.0, "pool.share": 0.0, "distillation.positions": 0}

    @property
    def games_per_runner(self) -> int:
        """Games of one environment runner."""
        return self.selfplay.games // max(1, self.num_env_runners)

    @property
    def steps_per_update(self) -> int:
        """Environment steps that one update learns from."""
        return self.ppo.steps * self.games_per_runner * max(1, self.num_env_runners)

    @property
    def resources(self) -> dict[str, float]:
        """What environment runners and learners take, by Ray's names."""
        return {
            "CPU": self.num_env_runners * self.num_cpus_per_env_runner + self.num_learners,
            "GPU": self.num_env_runners * self.num_gpus_per_env_runner
            + max(1, self.num_learners) * self.num_gpus_per_learner,
        }

    def _check(self) -> None:
        super()._check()
        for name, value in (
            ("expert.share", self.expert.share),
            ("pool.share", self.pool.share),
            ("distillation.positions", self.distillation.positions),
        ):
            if value:
                raise InvalidConfig(f"on Ray {name} must be 0, not {value:g}; mancala train has it")
        if self.clock != "wall":
            raise InvalidConfig(f"on Ray clock must be wall: many processes compute, not {self.clock}")
        if self.games_per_runner < 1:
            raise InvalidConfig(
                f"selfplay.games must be at least num_env_runners ({self.num_env_runners}), so that each has "
                f"a game to play, not {self.selfplay.games}"
            )
        if self.steps_per_update < self.ppo.batch_size:
            raise InvalidConfig(
                f"ppo.batch_size must be at most the {self.steps_per_update} environment steps of an update "
                f"(ppo.steps times all games), not {self.ppo.batch_size}"
            )
