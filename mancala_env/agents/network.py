"""Agents that play a trained network: its best action, a sample of its actions, or a search with it."""

from pathlib import Path
from typing import Unpack

import numpy as np

from mancala_env.agents.base import Agent, AgentSettings
from mancala_env.agents.policy_draws import sampled
from mancala_env.agents.searchers import PuctAgent
from mancala_env.agents.torch_threads import within_torch_threads
from mancala_env.engine.episode import Rounds
from mancala_env.networks.checkpoint import (
    InvalidCheckpoint,
    check_ruleset,
    load_network,
    load_value_weights,
    read_identity,
)
from mancala_env.networks.policy import torch
from mancala_env.observations import Observer
from mancala_env.rulesets import RulesetLike
from mancala_env.search.limit import Limit, check_limit
from mancala_env.search.network_search import guide_of
from mancala_env.search.tree_growth import Guide
from mancala_env.search.tree_search import MARGIN_SHARE


class CheckpointAgent(Agent):
    """Play the action with the highest logit of a network; of equal actions, the one with the lowest number.

    `network` is in evaluation mode.
    """

    def __init__(self, ruleset: RulesetLike, path: str | Path, **settings: Unpack[AgentSettings]) -> None:
        """Load a checkpoint to play a ruleset; settings of :class:`Agent`.

        Raises:
            InvalidCheckpoint: The file is missing, damaged, or of another ruleset or observation.
        """
        super().__init__(ruleset, **settings)
        self.path = Path(path)
        self.identity = read_identity(path)
        check_ruleset(self.path, self.identity, self.ruleset)
        self._num_actions = self.ruleset.num_actions(self.identity.rounds)
        self.network = load_network(path, self.identity)
        self._observer = Observer(self.ruleset, self.identity.network.observation, self._num_actions)

    def check_rounds(self, rounds: Rounds) -> None:
        most = self.ruleset.num_actions(rounds)
        if self._num_actions < most:
            raise self._knows_too_little(f"games of rounds={rounds!r} have 0 to {most - 1}")

    def _knows_too_little(self, where: str) -> InvalidCheckpoint:
        rounds = "single rounds" if self.identity.rounds == 1 else f"{self.identity.rounds} rounds"
        return InvalidCheckpoint(
            f"{self.path} was trained on {rounds} and knows actions 0 to "
            f"{self._num_actions - 1}; {where}; mancala train --rounds match trains one for all of them, "
            "and policy+mcts can play these games with this one"
        )

    def act(self, games: np.ndarray) -> np.ndarray:
        logits, _ = self.evaluate(games)
        return logits.argmax(axis=1)

    def evaluate(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate running games.

        Returns:
            Logits float32 `[B, A]`, hugely negative where illegal, and values float32 `[B]` for the player to
            move, from -1 (a certain loss) to 1.

        Raises:
            IllegalMove: A game is over.
            InvalidCheckpoint: A player to move has no legal action that the network knows.
            InvalidPosition: A game is impossible in the ruleset.
        """
        games = self._running(games)
        observation = self._observer.empty(len(games))
        legal = np.empty((len(games), self._num_actions), np.bool_)
        self._observer.write(games, observation, legal, num_threads=self.num_threads)
        if not legal.any(axis=1).all():
            raise self._knows_too_little("here no legal action is among them")
        return self._forward(observation, legal)

    def _forward(self, observation: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return logits and values of observations `[B, *shape]` with legal actions, bool `[B, A]`."""
        with within_torch_threads(self.num_threads, len(legal)), torch.inference_mode():
            logits, values = self.network(torch.from_numpy(observation), torch.from_numpy(legal))
        if not (torch.isfinite(logits).all() and torch.isfinite(values).all()):
            raise InvalidCheckpoint(f"{self.path}: outputs of the network are not finite")
        return logits.numpy(), values.numpy()


class SamplingAgent(CheckpointAgent):
    """Sample actions from the network's policy. The play is weaker, but the games vary."""

    is_drawing = True

    def act(self, games: np.ndarray) -> np.ndarray:
        logits, _ = self.evaluate(games)
        return sampled(logits, self.random_seeds(len(logits)))


class PolicyMctsAgent(PuctAgent, CheckpointAgent):
    """Play the turn with the most visits of a search guided by a checkpoint, or the proven best one.

    The checkpoint's value network guides the search if it has one. Otherwise its policy network does.
    """

    def __init__(
        self, ruleset: RulesetLike, limit: Limit, path: str | Path, **settings: Unpack[AgentSettings]
    ) -> None:
        """Bind the agent to a ruleset and a number of simulations or a time, and load the checkpoint."""
        CheckpointAgent.__init__(self, ruleset, path, **settings)
        self.limit = check_limit(limit, ("simulations", "seconds"), self.spec)
        if self.identity.value_network is not None:
            weights = load_value_weights(path, self.identity)
            self.guide = Guide(weights.packed(), None, MARGIN_SHARE)
        else:
            selfplay = self.identity.config.get("selfplay")
            # Values predict rewards: outcomes, or margins divided by the number of seeds.
            share = float(isinstance(selfplay, dict) and selfplay.get("reward") == "margin")
            self.guide = guide_of(self._forward, self._observer, share, lambda: self.num_threads)

    def check_rounds(self, rounds: Rounds) -> None:
        """Accept all rounds, also with actions that the network does not know; see :func:`guide_of`."""
