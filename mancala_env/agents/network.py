"""Agents that play a trained network: by its highest score, or drawn by its probabilities."""

from pathlib import Path

import numpy as np

from mancala_env.agents.base import Agent
from mancala_env.agents.torch_threads import within_torch_threads
from mancala_env.engine.episode import Rounds
from mancala_env.engine.validation import check_games
from mancala_env.networks.checkpoint import InvalidCheckpoint, check_ruleset, load_network, read_identity
from mancala_env.networks.policy import torch
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset


class CheckpointAgent(Agent):
    """Play the action the network gives the highest score; of equal ones the lowest action.

    Attributes:
        path: The checkpoint.
        identity: What it is.
        network: The network, in evaluation mode.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        path: str | Path,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Load a checkpoint to play a ruleset; arguments as of :class:`Agent`.

        Raises:
            InvalidCheckpoint: No such file, damaged, or trained on another ruleset or observation; the
                message names both.
        """
        super().__init__(ruleset, spec=spec, seed=seed, num_threads=num_threads)
        self.path = Path(path)
        self.identity = read_identity(path)
        check_ruleset(self.path, self.identity, self.ruleset)
        self._num_actions = self.ruleset.num_actions(self.identity.rounds)
        self.network = load_network(path, self.identity)
        self._observer = Observer(self.ruleset, self.identity.network.observation, self._num_actions)

    def check_rounds(self, rounds: Rounds) -> None:
        """Refuse rounds of which the network does not know all actions; see :meth:`Agent.check_rounds`.

        Raises:
            InvalidCheckpoint: It was trained on single rounds, and between these territory changes hands.
        """
        most = self.ruleset.num_actions(rounds)
        if self._num_actions < most:
            raise self._knows_too_little(f"games of rounds={rounds!r} have 0 to {most - 1}")

    def _knows_too_little(self, where: str) -> InvalidCheckpoint:
        rounds = "single rounds" if self.identity.rounds == 1 else f"{self.identity.rounds} rounds"
        return InvalidCheckpoint(
            f"{self.path} was trained on {rounds} and knows actions 0 to "
            f"{self._num_actions - 1}; {where}; mancala train --rounds match trains one that knows them all, "
            "and policy+mcts plays on with this one"
        )

    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game; see :meth:`Agent.act`."""
        logits, _ = self.judge(games)
        return logits.argmax(axis=1)

    def judge(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the network makes of running games.

        Returns:
            Logits float32 `[B, A]`, hugely negative where not legal, and values float32 `[B]`, from -1
            (a certain loss for the player to move) to 1.

        Raises:
            InvalidCheckpoint: A player to move has no legal action that the network knows.
            InvalidPosition: The ruleset cannot have such a game.
        """
        logits, values, is_known = self._judge(check_games(self.ruleset, games))
        if not is_known.all():
            raise self._knows_too_little("here the player to move has none of them")
        return logits, values

    def _judge(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what :meth:`judge` does, and bool `[B]`: whether the network knows a legal action."""
        observation = self._observer.empty(len(games))
        legal = np.empty((len(games), self._num_actions), np.bool_)
        self._observer.write(games, observation, legal, num_threads=self.num_threads)
        with within_torch_threads(self.num_threads, len(games)), torch.inference_mode():
            logits, values = self.network(torch.from_numpy(observation), torch.from_numpy(legal))
        if not (torch.isfinite(logits).all() and torch.isfinite(values).all()):
            raise InvalidCheckpoint(f"{self.path}: its weights are so large that its outputs are not finite")
        return logits.numpy(), values.numpy(), np.asarray(legal.any(axis=1))


class SamplingAgent(CheckpointAgent):
    """Draw each action with the probability the network gives it: weaker, never twice the same game."""

    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game; see :meth:`Agent.act`."""
        logits, _ = self.judge(games)
        # The largest of Gumbel-shifted logits falls on each action with its softmax probability.
        return (logits + self._rng.gumbel(size=logits.shape)).argmax(axis=1)
