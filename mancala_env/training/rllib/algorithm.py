"""Self-play as RLlib sees it: the module, the environment runner, the learner, the configuration.

RLlib's own MultiAgentEnvRunner steps each game in Python, about a thousand turns a second. The runner
here plays the same games as training/train.py, many at once in the engine, and computes their advantages
where it has the values at hand; RLlib distributes runners and learners, moves the data and the weights,
and restarts what fails. Both players share one module.

SelfPlayModule by itself also serves RLlib's own runner, over ``PettingZooEnv(layli_goobalay_v0.env())``.

Symbols: T steps of a rollout, B games of a runner, A actions.
"""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from mancala_env._util.command_line import needing
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset
from mancala_env.training.policy import NotFinite
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv

with needing("training on a cluster", "ray"):
    from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
    from ray.rllib.connectors.connector_v2 import ConnectorV2
    from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate, GeneralAdvantageEstimation
    from ray.rllib.core import COMPONENT_RL_MODULE
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env import INPUT_ENV_SINGLE_SPACES, INPUT_ENV_SPACES
    from ray.rllib.env.env_runner import EnvRunner
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
    from ray.rllib.evaluation.postprocessing import Postprocessing
    from ray.rllib.utils import metrics as names
    from ray.rllib.utils.checkpoints import Checkpointable
    from ray.rllib.utils.framework import get_device

SHARED = "shared"
"""The module that plays both seats."""
OPTIMIZER = f"{SHARED}_default_optimizer"
"""What RLlib calls its optimizer."""

POOL = "pool"
"""Where the results of a runner hold its scores against the pool: `[POOL][place][runner]`, 0 to 1.

By their place in the pool: RLlib keeps every name it has once heard, and snapshots come and go for days.
"""

SELFPLAY = "selfplay"
"""Where the results of a runner hold what its games of self-play look like, as sums."""


class SelfPlayModule(TorchRLModule, ValueFunctionAPI):
    """A network of mancala_env as an RLModule; illegal actions have no probability.

    Its observations are dicts of ``observation`` and ``action_mask``, as the PettingZoo environments give
    them. ``model_config``: ``ruleset`` and ``network``, Ruleset and NetworkConfig as plain data.
    """

    def setup(self) -> None:
        """Build the network."""
        plain = self.model_config
        self.network = build_network(
            Ruleset(**plain["ruleset"]),
            int(self.action_space.n),  # type: ignore[union-attr]
            NetworkConfig(**plain["network"]),
        )

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        logits, values = self.network(seen["observation"], seen["action_mask"].bool())
        # The same pass gives both; compute_values gets back what stands under EMBEDDINGS.
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Any:
        """Return the values `[N]` of positions to their player to move."""
        return self._forward(batch)[Columns.EMBEDDINGS] if embeddings is None else embeddings


def module_spec(ruleset: Ruleset, network: NetworkConfig) -> MultiRLModuleSpec:
    """Return the one module that both players share."""
    plain = {"ruleset": asdict(ruleset), "network": asdict(network)}
    spec = RLModuleSpec(module_class=SelfPlayModule, model_config=plain)
    return MultiRLModuleSpec(rl_module_specs={SHARED: spec})


def always_shared(*_: Any, **__: Any) -> str:
    """Map every player to the shared module."""
    return SHARED


class SelfPlayRunner(EnvRunner, Checkpointable):
    """Plays B games of SelfPlayEnv, T steps a sample.

    A sample is one piece a game, in order of play, whoever's turns they are; where a game ends within a
    piece the next one follows. Each turn comes with its advantage and its value target, computed per
    player by SelfPlayBuffer, so the learner need not know whose turn it was.
    """

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        """Set up the games, unless this is the local runner beside remote ones, which plays none."""
        super().__init__(config=config, **kwargs)
        self._settings: Any = self.config
        plain = self._settings.env_config
        self._ruleset, self._kind = Ruleset(**plain["ruleset"]), plain["kind"]
        self._num_actions = self._ruleset.num_actions(plain["rounds"])
        remote = bool(self.worker_index)
        self._device = get_device(self._settings, self._settings.num_gpus_per_env_runner if remote else 0)
        self._weights_seq_no = 0
        self._folder: TemporaryDirectory[str] | None = None
        self.make_module()
        if remote or not self._settings.num_env_runners:
            self.make_env()

    def make_module(self) -> None:
        """Build the shared module."""
        spec = self._settings.get_multi_rl_module_spec(spaces=self.get_spaces(), inference_only=True)
        self.module: Any = spec.build()
        self.module[SHARED].to(self._device)

    def make_env(self) -> None:
        """Start new games."""
        settings = self._settings
        plain = settings.env_config
        self.env = SelfPlayEnv(
            self._ruleset,
            self._kind,
            settings.num_envs_per_env_runner,
            rounds=plain["rounds"],
            reward=plain["reward"],
            opening_turns=plain["opening_turns"],
            opening_share=plain["opening_share"],
            pool=plain["pool"],
            pool_share=plain["pool_share"],
            pool_priority=plain["pool_priority"],
            seed=self._seed,
            num_threads=plain["threads"],
        )
        self._buffer = SelfPlayBuffer(
            int(settings.get_rollout_fragment_length()),
            self.env.observation_space,
            self.env.action_space,
            "cpu",
            gae_lambda=settings.lambda_,
            gamma=settings.gamma,
            n_envs=self.env.num_envs,
        )
        self._seen = self.env.reset()
        self._are_new = np.ones(self.env.num_envs, np.bool_)

    def set_pool(
        self, specs: list[str], snapshots: dict[str, bytes], scores: dict[str, float] | None = None
    ) -> None:
        """Change the opponents of pool games.

        Args:
            specs: Agents that every machine can make.
            snapshots: Checkpoints by file name; they travel as bytes, since no disk need be shared.
            scores: The learner's recent score against some of them, by spec or file name, where the run
                did not begin here.
        """
        if self.env is None or not self.env.pool_size:
            return
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="mancala-pool-")
        folder = Path(self._folder.name)
        # A snapshot keeps its path, so the pool knows those it has, and how it fared against them.
        for name, content in snapshots.items():
            if not (folder / name).exists():
                (folder / name).write_bytes(content)
        self.env.set_pool(
            [*specs, *(str(folder / name) for name in snapshots)],
            {
                str(folder / name) if name in snapshots else name: score
                for name, score in (scores or {}).items()
            },
        )
        # Agents have read their files by now.
        for path in folder.iterdir():
            if path.name not in snapshots:
                path.unlink()

    def sample(self, **_: Any) -> list[SingleAgentEpisode]:
        """Play T steps of every game, and return a piece of each."""
        with self.metrics.log_time(names.SAMPLE_TIMER):
            self._collect()
            pieces = self._pieces()
        buffer = self._buffer
        turns, ended = buffer.buffer_size * buffer.n_envs, int(self._num_ended)
        self.num_env_steps_sampled_lifetime += turns
        for name, value, lifetime in (
            (names.NUM_ENV_STEPS_SAMPLED, turns, names.NUM_ENV_STEPS_SAMPLED_LIFETIME),
            (names.NUM_EPISODES, ended, names.NUM_EPISODES_LIFETIME),
        ):
            self.metrics.log_value(name, value, reduce="sum")
            self.metrics.log_value(lifetime, value, reduce="lifetime_sum")
        for name, count in self.env.statistics.take().items():
            self.metrics.log_value((SELFPLAY, name), count, reduce="sum")
        for place, score in enumerate(self.env.pool_scores.values()):
            # Runners draw their opponents by scores of their own, so each one's are told.
            self.metrics.log_value((POOL, str(place), f"runner_{self.worker_index}"), score, window=1)
        return pieces

    def _collect(self) -> None:
        """Fill the buffer; see SelfPlayPPO.collect, which does the same in one process."""
        buffer, env = self._buffer, self.env
        network = self.module[SHARED].network
        buffer.reset()
        steps, games = buffer.buffer_size, buffer.n_envs
        self._logits = np.empty((steps, games, self._num_actions), np.float32)
        self._num_ended = 0
        for step in range(steps):
            legal = env.action_masks().copy()
            buffer.players[step] = env.players
            buffer.is_learned[step] = rows_to_learn(env.ruleset, env.games)
            logits, values = self._judge(network, legal)
            if not torch.isfinite(logits).all():
                raise NotFinite("an output of the network is not finite")
            log_probs = torch.log_softmax(logits, dim=1)
            actions = torch.multinomial(log_probs.exp(), 1)
            log_probs = log_probs.gather(1, actions).squeeze(1)
            self._logits[step] = logits.cpu().numpy()
            chosen = actions.squeeze(1).cpu().numpy()
            seen, rewards, dones, _ = env.step(chosen)
            buffer.add(self._seen, chosen, rewards, self._are_new, values, log_probs, action_masks=legal)
            self._seen, self._are_new = seen, dones
            self._num_ended += np.count_nonzero(dones)
        buffer.players[steps] = env.players
        _, values = self._judge(network, env.action_masks())
        buffer.compute_returns_and_advantage(last_values=values, dones=self._are_new)

    def _judge(self, network: torch.nn.Module, legal: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            return network(
                torch.as_tensor(self._seen, device=self._device), torch.as_tensor(legal, device=self._device)
            )

    def _pieces(self) -> list[SingleAgentEpisode]:
        buffer, games = self._buffer, self.env.num_envs
        # A piece has one observation more than turns; RLlib asks for it, and the advantages, which alone
        # depend on it, are done.
        legal = buffer.action_masks.astype(np.int8)
        observations = {
            "observation": _by_game(np.concatenate([buffer.observations, self._seen[None]])),
            "action_mask": _by_game(np.concatenate([legal, legal[-1:]])),
        }
        columns = {
            Columns.ACTION_DIST_INPUTS: _by_game(self._logits),
            Columns.ACTION_LOGP: _by_game(buffer.log_probs),
            Columns.LOSS_MASK: _by_game(buffer.is_learned),
            Postprocessing.ADVANTAGES: _by_game(buffer.advantages),
            Postprocessing.VALUE_TARGETS: _by_game(buffer.returns.astype(np.float32)),
        }
        actions, rewards = _by_game(buffer.actions[:, :, 0].astype(np.int64)), _by_game(buffer.rewards)
        pieces = []
        for b in range(games):
            seen: Any = {key: array[b] for key, array in observations.items()}
            piece: Any = SingleAgentEpisode(
                observations=InfiniteLookbackBuffer(seen),
                actions=InfiniteLookbackBuffer(actions[b]),
                rewards=InfiniteLookbackBuffer(rewards[b]),
                extra_model_outputs={key: InfiniteLookbackBuffer(array[b]) for key, array in columns.items()},
                len_lookback_buffer=0,
                agent_id=SHARED,
                module_id=SHARED,
            )
            # Without this the learner would take the pieces for those of one game.
            piece.multi_agent_episode_id = piece.id_
            pieces.append(piece)
        return pieces

    def get_metrics(self) -> Any:
        """Return the figures since the last call."""
        return self.metrics.reduce()

    def get_spaces(self) -> dict[str, Any]:
        """Return the spaces of the shared module, which are those of either player."""
        both = (
            spaces.Dict(
                {
                    "observation": Observer(self._ruleset, self._kind, self._num_actions).space,
                    "action_mask": spaces.Box(0, 1, (self._num_actions,), np.int8),
                }
            ),
            spaces.Discrete(self._num_actions),
        )
        return {INPUT_ENV_SPACES: both, INPUT_ENV_SINGLE_SPACES: both, SHARED: both}

    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the weights and how many turns were played; running games are not part of it."""
        state: dict[str, Any] = {names.NUM_ENV_STEPS_SAMPLED_LIFETIME: self.num_env_steps_sampled_lifetime}
        if self._check_component(COMPONENT_RL_MODULE, components, not_components):
            state[COMPONENT_RL_MODULE] = self.module.get_state(
                components=self._get_subcomponents(COMPONENT_RL_MODULE, components),
                not_components=self._get_subcomponents(COMPONENT_RL_MODULE, not_components),
                **kwargs,
            )
            state[names.WEIGHTS_SEQ_NO] = self._weights_seq_no
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over weights, unless they are older than those at hand, and the number of turns."""
        if COMPONENT_RL_MODULE in state:
            number = state.get(names.WEIGHTS_SEQ_NO, 0)
            if number == 0 or number > self._weights_seq_no:
                weights = state[COMPONENT_RL_MODULE]
                self.module.set_state(ray_get(weights))
            self._weights_seq_no = max(number, self._weights_seq_no)
        self.num_env_steps_sampled_lifetime = state.get(
            names.NUM_ENV_STEPS_SAMPLED_LIFETIME, self.num_env_steps_sampled_lifetime
        )

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what makes another runner like this one."""
        return (), {"config": self.config}

    def get_checkpointable_components(self) -> list[tuple[str, Any]]:
        """Return what RLlib checkpoints one by one."""
        return [(COMPONENT_RL_MODULE, self.module)]

    def assert_healthy(self) -> None:
        """Check that the constructor has finished."""
        assert self.module is not None

    def stop(self) -> None:
        """Delete the snapshots of the pool."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def ray_get(value: Any) -> Any:
    """Return what a reference refers to, or the value itself."""
    import ray

    return ray.get(value) if isinstance(value, ray.ObjectRef) else value


def _by_game(array: np.ndarray) -> np.ndarray:
    """Turn `[T, B, ...]` into `[B, T, ...]`, in one piece of memory."""
    return np.ascontiguousarray(array.swapaxes(0, 1))


def _selected(columns: dict[str, Any], rows: torch.Tensor) -> dict[str, Any]:
    """Return some rows of columns, which may stand in dictionaries of their own."""
    return {
        name: _selected(column, rows) if isinstance(column, dict) else column[rows]
        for name, column in columns.items()
    }


class LearnedTurns(ConnectorV2):
    """Leave turns out that nothing is learned from, and scale the advantages to mean 0 and deviation 1."""

    def __call__(self, *, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Change the batch."""
        for module, of_module in batch.items():
            is_learned = of_module.pop(Columns.LOSS_MASK)
            batch[module] = columns = _selected(of_module, is_learned)
            advantages = columns[Postprocessing.ADVANTAGES].float()
            columns[Postprocessing.ADVANTAGES] = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        return batch


class SelfPlayLearner(PPOTorchLearner):
    """RLlib's PPO learner on turns whose advantages are known.

    Attributes:
        learning_rate: Adam's step size in the next update.
    """

    learning_rate: float = 0.0

    def build(self) -> None:
        """Build the learner, without RLlib's way of computing advantages."""
        super().build()
        pipeline: Any = self._learner_connector
        pipeline.remove(AddOneTsToEpisodesAndTruncate)
        pipeline.remove(GeneralAdvantageEstimation)
        pipeline.append(LearnedTurns())

    def before_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """Set the step size."""
        super().before_gradient_based_update(timesteps=timesteps)
        for _, optimizer in self.get_optimizers_for_module(SHARED):
            self._set_optimizer_lr(optimizer, self.learning_rate)
