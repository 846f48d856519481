"""RLlib's PPO on the PettingZoo environments; both players share one module, SHARED."""

from dataclasses import asdict
from typing import Any

from mancala_env._util.command_line import needing
from mancala_env.envs.aec import MancalaAEC
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.rulesets import Ruleset
from mancala_env.training.config_groups import RLLIB, renamed
from mancala_env.training.rllib.cluster_config import RayConfig

with needing("training on a cluster", "ray"):
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env

SHARED = "shared"
"""Name of the module that plays both seats."""
_ENVIRONMENT = "mancala-selfplay"


class SelfPlayModule(TorchRLModule, ValueFunctionAPI):
    """A network of mancala_env as an RLModule, for the observations of the PettingZoo environments.

    Illegal actions have probability 0. ``model_config`` has a Ruleset and a NetworkConfig as plain data.
    """

    def setup(self) -> None:
        """Build the network."""
        plain, num_actions = self.model_config, int(self.action_space.n)  # type: ignore[union-attr]
        network = NetworkConfig(**plain["network"])
        self.network = build_network(Ruleset(**plain["ruleset"]), num_actions, network)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        logits, values = self.network(seen["observation"], seen["action_mask"].bool())
        # One pass computes logits and values; RLlib passes EMBEDDINGS to compute_values.
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Any:
        """Return the values `[N]` of positions for their players to move."""
        return self._forward(batch)[Columns.EMBEDDINGS] if embeddings is None else embeddings


class SelfPlayRunner(MultiAgentEnvRunner):
    """RLlib's runner, which returns a single-agent episode for each player.

    RLlib slices episodes to distribute them among learners. Slices of a MultiAgentEpisode in which players
    alternate lose or misplace outputs of the module (Ray 2.60).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Make the games, each with a seed of its own."""
        super().__init__(*args, **options)
        if self._seed is not None:  # RLlib adds the number of the runner, and that of the game in its runner
            self._seed += (self.worker_index or 0) * (self.num_envs - 1)

    def sample(self, **options: Any) -> list[SingleAgentEpisode]:  # type: ignore[override]
        """Play, and return the episodes of the players."""
        return [player for game in super().sample(**options) for player in game.agent_episodes.values()]


class SelfPlayLearner(PPOTorchLearner):
    """RLlib's learner, for the episodes of SelfPlayRunner."""

    def update(self, *, training_data: Any, **options: Any) -> Any:  # type: ignore[override]
        """Learn from episodes; all are of SHARED, but slices have lost their agent and module."""
        for episode in training_data.episodes or ():
            episode.agent_id, episode.module_id = "player", SHARED
        return super().update(training_data=training_data, **options)


def module_spec(ruleset: Ruleset, network: NetworkConfig) -> MultiRLModuleSpec:
    """Return the spec of the module that both players share."""
    plain = {"ruleset": asdict(ruleset), "network": asdict(network)}
    shared = RLModuleSpec(module_class=SelfPlayModule, model_config=plain)
    return MultiRLModuleSpec(rl_module_specs={SHARED: shared})


def always_shared(*_: Any, **__: Any) -> str:
    """Map every player to the shared module."""
    return SHARED


def make_env(settings: dict[str, Any]) -> PettingZooEnv:
    """Make an environment from plain data: a ruleset and options of MancalaAEC."""
    options = dict(settings)
    return PettingZooEnv(MancalaAEC.make(Ruleset(**options.pop("ruleset")), **options))


def algorithm_config(config: RayConfig, seed: int, rate: float, steps_left: int | None) -> PPOConfig:
    """Return a run as RLlib's PPOConfig.

    The learning rate falls from `rate` to the configured final rate in `steps_left` environment steps. If
    `steps_left` is None, it stays constant.
    """
    register_env(_ENVIRONMENT, make_env)
    ppo, learners = config.ppo, max(1, config.num_learners)
    settings_of_env = {
        "ruleset": asdict(config.game),
        "observation": config.network.observation,
        "rounds": config.rounds,
        "opening_turns": config.selfplay.opening_turns,
        "opening_set": "training" if config.selfplay.opening_turns else "all",
        "first_player": "random",
    }
    schedule: Any = [[0, rate], [steps_left, ppo.final_learning_rate]] if steps_left else rate
    return (
        PPOConfig()
        # RLlib's check plays actions without their mask, and PettingZoo warns about each illegal one.
        .environment(_ENVIRONMENT, env_config=settings_of_env, disable_env_checking=True)
        .env_runners(
            env_runner_cls=SelfPlayRunner,
            num_env_runners=config.num_env_runners,
            num_envs_per_env_runner=config.games_per_runner,
            num_cpus_per_env_runner=config.num_cpus_per_env_runner,
            num_gpus_per_env_runner=config.num_gpus_per_env_runner,
        )
        .multi_agent(policies={SHARED}, policy_mapping_fn=always_shared)
        .rl_module(rl_module_spec=module_spec(config.game, config.network))
        .learners(
            learner_class=SelfPlayLearner,
            num_learners=config.num_learners,
            num_gpus_per_learner=config.num_gpus_per_learner,
        )
        .training(
            train_batch_size_per_learner=config.steps_per_update // learners,
            minibatch_size=max(1, ppo.batch_size // learners),
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            grad_clip_by="global_norm",
            **(renamed(ppo, RLLIB) | {"lr": schedule}),
        )
        .debugging(seed=seed)
    )
