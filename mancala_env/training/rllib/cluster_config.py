"""The configuration of a run on Ray; reading it needs no Ray."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mancala_env._util.settings import setting
from mancala_env.training.config import InvalidConfig, TrainConfig


@dataclass(kw_only=True)
class RayConfig(TrainConfig):
    """A run on Ray: everything in TrainConfig, and where it runs.

    `selfplay.games` is the number of games of all environment runners together, and `ppo.batch_size` the
    minibatch of all learners together, so a run learns the same on few machines and on many. `threads`
    are those of the process that is started here; `device` does not count: GPUs go to learners and
    runners by number.
    """

    address: str | None = setting(
        "null starts Ray here and stops it at the end, auto joins the cluster this machine belongs to, "
        "HOST:6379 or ray://HOST:10001 another one",
        None,
    )
    num_cpus: int | None = setting("that Ray started here may use; null takes all cores", None, low=1)
    # 75 is Ray's own limit.
    object_store_mb: int | None = setting("its shared memory in MiB; null lets Ray choose", None, low=75)
    num_env_runners: int = setting(
        "processes that play, on any machine of the cluster; 0 plays in this one", 2, low=0
    )
    num_envs_per_env_runner: int | None = setting(
        "games of each, in place of an equal share of selfplay.games", None, low=1
    )
    num_cpus_per_env_runner: int = setting("CPUs of each one, and threads of its engine", 1, low=1)
    num_gpus_per_env_runner: float = setting("GPUs, or part of one, of each one", 0.0, low=0)
    num_learners: int = setting(
        "processes that learn, their gradients averaged; 0 learns in this one", 0, low=0
    )
    num_gpus_per_learner: float = setting("GPUs of each learner; 0 learns on the CPU", 0.0, low=0)

    @classmethod
    def given_up(cls, values: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what gives way to Ray, of the files that are `mancala train`'s too: a search's labels."""
        return {"expert.share": 0.0}

    @property
    def games_per_runner(self) -> int:
        """Games of one environment runner."""
        return self.num_envs_per_env_runner or self.selfplay.games // max(1, self.num_env_runners)

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
        if self.expert.share:
            raise InvalidConfig(
                f"on Ray expert.share must be 0, not {self.expert.share:g}; mancala train learns from labels"
            )
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
