"""The configuration of a run on Ray; reading it needs no Ray."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mancala_env._util.settings import setting
from mancala_env.training.config import InvalidConfig, TrainConfig


@dataclass(kw_only=True)
class RayConfig(TrainConfig):
    """The settings of a run on Ray: those of TrainConfig, and its resources.

    `selfplay.games` is the number of games of all environment runners together. `ppo.batch_size` is the size
    of a minibatch of all learners together. `device` is ignored: the numbers of GPUs are separate settings.
    """

    address: str | None = setting(
        "Ray cluster: null starts one here, auto joins this machine's, HOST:6379 or ray://HOST:10001 another",
        None,
    )
    num_cpus: int | None = setting("Number of CPUs of a cluster started here; null for all", None, low=1)
    num_env_runners: int = setting("Number of processes that play; 0 plays in this process", 2, low=0)
    num_cpus_per_env_runner: int = setting("Number of CPUs of an environment runner", 1, low=1)
    num_gpus_per_env_runner: float = setting("Number of GPUs of an environment runner", 0.0, low=0)
    num_learners: int = setting("Number of processes that learn; 0 learns in this process", 0, low=0)
    num_gpus_per_learner: float = setting("Number of GPUs of a learner; 0 learns on the CPU", 0.0, low=0)

    @classmethod
    def implied_settings(cls, values: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that Ray disables in configuration files shared with `mancala train`."""
        return {"expert.share": 0.0, "pool.share": 0.0, "distillation.positions": 0}

    @property
    def games_per_runner(self) -> int:
        """Games of one environment runner."""
        return self.selfplay.games // max(1, self.num_env_runners)

    @property
    def steps_per_update(self) -> int:
        """Number of environment steps per update."""
        return self.ppo.steps * self.games_per_runner * max(1, self.num_env_runners)

    @property
    def resources(self) -> dict[str, float]:
        """CPUs and GPUs of environment runners and learners, by Ray's names."""
        cpus = self.num_env_runners * self.num_cpus_per_env_runner + self.num_learners
        gpus = self.num_env_runners * self.num_gpus_per_env_runner
        return {"CPU": cpus, "GPU": gpus + max(1, self.num_learners) * self.num_gpus_per_learner}

    def _check(self) -> None:
        super()._check()
        for name in self.implied_settings({}, {}):
            if value := attrgetter(name)(self):
                raise InvalidConfig(f"on Ray {name} must be 0, not {value:g}; mancala train has it")
        if self.clock != "wall":
            raise InvalidConfig(f"on Ray clock must be wall: many processes compute, not {self.clock}")
        if self.games_per_runner < 1:
            least = f"num_env_runners ({self.num_env_runners})"
            raise InvalidConfig(f"selfplay.games must be at least {least}, not {self.selfplay.games}")
        if self.steps_per_update < self.ppo.batch_size:
            most = f"{self.steps_per_update} environment steps of an update (ppo.steps times all games)"
            raise InvalidConfig(f"ppo.batch_size must be at most the {most}, not {self.ppo.batch_size}")
