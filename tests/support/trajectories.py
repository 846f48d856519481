"""Hashes of games played from fixed seeds by every class that steps them.

``python tests/support/trajectories.py > tests/data/trajectories.json`` writes the table that
``test_trajectories.py`` compares with. Write it again only when a rule or an observation changes.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from mancala_env import Batch, Position, Ruleset, gabata_v0, layli_goobalay_v0, leyla_v0, rulesets
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv

_FAMILIES = {"uur": layli_goobalay_v0, "pair": leyla_v0, "weg": gabata_v0}


class Digest:
    """A hash of arrays and numbers."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, *values: Any) -> None:
        """Add the types, shapes and contents of values."""
        for value in values:
            array = np.ascontiguousarray(value)
            self._sha.update(f"{array.dtype.str}{array.shape}".encode())
            self._sha.update(array.tobytes())

    def __str__(self) -> str:
        return self._sha.hexdigest()[:16]


def _chosen(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random legal action of each row; 0 for a row without legal actions."""
    return (masks * (1.0 - rng.random(masks.shape))).argmax(axis=-1)


def batch(ruleset: Ruleset, digest: Digest, steps: int, rounds: Any, **options: Any) -> None:
    """Step a Batch."""
    rng = np.random.default_rng(steps)
    games = Batch(ruleset, 5, rounds, seed=3, num_threads=1, **options)
    for step in range(steps):
        where = rng.random(5) < 0.9 if step % 3 == 0 else None
        games.step(_chosen(games.legal_mask, rng), where)
        digest.add(games.player, games.legal_mask, games.observation, games.rewards, games.reward)
        digest.add(games.done, games.truncated, games.counts, games.games)
        digest.add(games.final_observation[games.done], games.final_games[games.done])
    games.play_random(steps)
    digest.add(games.games, games.legal_mask, games.observation, games.counts)


def batch_until_over(ruleset: Ruleset, digest: Digest) -> None:
    """Play a Batch without autoreset until all games are over."""
    rng = np.random.default_rng(2)
    games = Batch(ruleset, 3, 3, seed=13, num_threads=1, autoreset=False, opening_set="training")
    over = games.done.copy()
    while not over.all():
        games.step(_chosen(games.legal_mask, rng), ~over)
        over |= games.done
        digest.add(games.games, games.legal_mask, games.observation, games.reward, games.done, games.counts)


def position(ruleset: Ruleset, digest: Digest, steps: int, starter: int = 0) -> None:
    """Play a match on a Position, and the next one."""
    rng = np.random.default_rng(steps)
    game = Position(ruleset, player=starter)
    for _ in range(steps):
        if game.is_over:
            digest.add(game.games, game.counts)
            game = game.next_round() or Position(ruleset, player=1 - starter)
            continue
        actions = game.legal_actions
        turn = game.play(actions[int(rng.random() * len(actions))])
        digest.add(actions, turn[:4], turn.new_owned, turn.endless, game.games, game.counts)


def aec(ruleset: Ruleset, digest: Digest, steps: int, **options: Any) -> None:
    """Play episodes of the PettingZoo environment."""
    rng = np.random.default_rng(steps)
    env = _FAMILIES[ruleset.landing].raw_env(ruleset=ruleset, **options)
    env.reset(seed=5)
    for _ in range(steps):
        if not any(env.terminations.values()) and not any(env.truncations.values()):
            seen = [env.observe(agent) for agent in env.possible_agents]
            for one in seen:
                digest.add(one["observation"], one["action_mask"])
            digest.add(env.agent_selection == "player_1")
            mask = env.observe(env.agent_selection)["action_mask"]
            env.step(int(_chosen(mask, rng)))
        else:
            digest.add(*env.rewards.values(), *env.terminations.values(), *env.truncations.values())
            digest.add(env.position.games)
            env.reset()


def single(ruleset: Ruleset, digest: Digest, steps: int, **options: Any) -> None:
    """Play episodes of the Gymnasium environment."""
    rng = np.random.default_rng(steps)
    env = MancalaEnv(ruleset, **options)
    seen, info = env.reset(seed=7)
    for _ in range(steps):
        digest.add(seen, info["action_mask"])
        action = int(_chosen(info["action_mask"], rng)) if rng.random() < 0.97 else int(rng.random() * 4)
        seen, reward, terminated, truncated, info = env.step(action)
        digest.add(reward, terminated, truncated)
        if terminated or truncated:
            digest.add(seen)
            seen, info = env.reset()


def vector(ruleset: Ruleset, digest: Digest, steps: int, **options: Any) -> None:
    """Step the Gymnasium vector environment."""
    rng = np.random.default_rng(steps)
    env = MancalaVectorEnv(4, ruleset, num_threads=1, **options)
    seen, info = env.reset(seed=9)
    for _ in range(steps):
        digest.add(seen, info["action_mask"])
        seen, reward, terminated, truncated, info = env.step(_chosen(info["action_mask"], rng))
        digest.add(reward, terminated, truncated)


def vec_env(ruleset: Ruleset, digest: Digest, steps: int, **options: Any) -> None:
    """Step the vector environment of Stable-Baselines3."""
    rng = np.random.default_rng(steps)
    env = MancalaVecEnv(4, ruleset, seed=11, num_threads=1, **options)
    seen: Any = env.reset()
    for _ in range(steps):
        masks = np.stack(env.env_method("action_masks"))
        digest.add(seen, masks)
        seen, reward, done, infos = env.step(_chosen(masks, rng))
        digest.add(reward, done)
        for info in infos:
            if "terminal_observation" in info:
                digest.add(info["terminal_observation"], info["TimeLimit.truncated"])


Play = Callable[[Ruleset, Digest], None]

PLAYED: dict[str, Play] = {
    "batch": lambda r, d: batch(r, d, 60, 1, first_player="random", opening_turns=3),
    "batch of matches": lambda r, d: batch(r, d, 150, "match", reward="margin"),
    "batch without autoreset": batch_until_over,
    "position": lambda r, d: position(r, d, 150),
    "aec": lambda r, d: aec(r, d, 60, rounds=2, first_player="random"),
    "single": lambda r, d: single(r, d, 40, opponent="greedy", seat="random", illegal="random"),
    "vector": lambda r, d: vector(
        r, d, 40, opponent="random", seat="north", autoreset_mode=AutoresetMode.NEXT_STEP
    ),
    "vec_env": lambda r, d: vec_env(r, d, 40, opponent=["random", "greedy"], rounds=2, reward="margin"),
}


def hash_of(play: Play, ruleset: Ruleset) -> str:
    """Return the hash of the games of a ruleset."""
    digest = Digest()
    play(ruleset, digest)
    return str(digest)


def table() -> dict[str, dict[str, str]]:
    """Return the hashes by ruleset and class."""
    return {
        name: {played: hash_of(play, rulesets.lookup(name)) for played, play in PLAYED.items()}
        for name in rulesets.names()
    }


if __name__ == "__main__":
    json.dump(table(), sys.stdout, indent=2)
    print()
