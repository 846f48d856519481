"""What an agent is, and how a spec such as ``"greedy"`` or ``"minimax:6"`` becomes one."""

import difflib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mancala_env.engine.batch import default_num_threads
from mancala_env.engine.state import END_COLUMN, RUNNING, encode
from mancala_env.errors import IllegalMove, MancalaError
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset, lookup


class InvalidSpec(MancalaError):
    """A spec that names no agent, or an agent that cannot play the ruleset."""


class Agent(ABC):
    """A player of one ruleset: maps a batch of positions to actions.

    Agents carry nothing from one turn to the next but their random state, so one agent may play any
    number of games at once.

    Attributes:
        spec: The text that makes this agent.
        ruleset: The ruleset it plays.
        num_threads: CPU threads it may use.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and seed it (None: from the system)."""
        self.spec = spec
        self.ruleset = lookup(ruleset)
        self.num_threads = num_threads or default_num_threads()
        self._rules = encode(self.ruleset)
        self.seed(seed)

    def seed(self, seed: int | None) -> None:
        """Restart everything random from a seed; the same seed and positions give the same actions."""
        self._rng = np.random.default_rng(seed)

    @abstractmethod
    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``; not changed.

        Returns:
            int64 `[B]`, a legal action of each game's player to move.
        """

    def choose(self, position: Position) -> int:
        """Choose an action in one position.

        Raises:
            IllegalMove: The round is over.
            InvalidSpec: The position is of another ruleset.
        """
        if position.ruleset != self.ruleset:
            raise InvalidSpec(f"{self.spec} plays {self.ruleset.name}, not {position.ruleset.name}")
        if position.is_over:
            raise IllegalMove(f"the round is over ({position.end}); there is nothing to choose")
        return int(self.act(position.games)[0])

    def _running(self, games: np.ndarray) -> np.ndarray:
        """Return the games as kernels take them.

        Raises:
            IllegalMove: A game is over.
        """
        over = np.flatnonzero(games[:, END_COLUMN] != RUNNING)
        if len(over):
            raise IllegalMove(f"the round of game {over[0]} is over; there is nothing to choose")
        return np.array(games, np.uint64, order="C")

    def random_seeds(self, size: int) -> np.ndarray:
        """Draw seeds for the generators of kernels, uint64 `[size]`."""
        return self._rng.integers(0, 2**64, size, dtype=np.uint64)

    def __repr__(self) -> str:
        return f"agents.make({self.spec!r}, {self.ruleset.name!r})"


# name -> (module, class, form of the spec, what it is). Modules are imported when first asked for.
_AGENTS: dict[str, tuple[str, str, str, str]] = {
    "random": ("simple", "RandomAgent", "random", "each legal action equally likely"),
    "greedy": ("simple", "GreedyAgent", "greedy", "the turn with the best immediate count"),
    "minimax": (
        "minimax",
        "MinimaxAgent",
        "minimax:DEPTH",
        "alpha-beta search DEPTH turns deep (minimax:6), or for a time (minimax:0.1s)",
    ),
    "mcts": (
        "mcts",
        "MctsAgent",
        "mcts:SIMULATIONS",
        "Monte-Carlo tree search of so many simulations (mcts:1000), or for a time (mcts:0.1s)",
    ),
    "sample": (
        "checkpoint",
        "SamplingAgent",
        "sample:CHECKPOINT",
        "a trained network that draws its actions by their probabilities",
    ),
    "policy+minimax": (
        "policy_minimax",
        "PolicyMinimaxAgent",
        "policy+minimax:DEPTH:CHECKPOINT",
        "minimax of a depth or time whose leaves are judged by the checkpoint's value network",
    ),
    "policy+mcts": (
        "policy_mcts",
        "PolicyMctsAgent",
        "policy+mcts:SIMULATIONS:CHECKPOINT",
        "tree search of so many simulations, or for a time, guided by the checkpoint's policy and values",
    ),
    "perfect": (
        "perfect",
        "PerfectAgent",
        "perfect[:SECONDSs]",
        "exact play by the solver (perfect), or the best it proves in a time (perfect:0.5s)",
    ),
}
_CHECKPOINT_FORM = "a path to a checkpoint, such as runs/first/final.zip"


def spec_forms() -> dict[str, str]:
    """Return the forms a spec can take and what each makes."""
    forms = {form: meaning for _, _, form, meaning in _AGENTS.values()}
    return forms | {_CHECKPOINT_FORM: "a trained network"}


def make(
    spec: str | Agent,
    ruleset: str | Ruleset,
    *,
    seed: int | None = None,
    num_threads: int | None = None,
) -> Agent:
    """Make an agent from a spec.

    Args:
        spec: ``"random"``, ``"greedy"``, a path to a checkpoint, ...: :func:`spec_forms` lists them. An
            Agent comes back as it is.
        ruleset: The ruleset it is to play.
        seed: Seed of everything random in it; None draws one from the system.
        num_threads: CPU threads it may use; None takes every core this process may use.

    Raises:
        InvalidSpec: No such agent, or it cannot play the ruleset; the message says what would be right.
        InvalidRuleset: No such ruleset.
    """
    ruleset = lookup(ruleset)
    if isinstance(spec, Agent):
        if spec.ruleset != ruleset:
            raise InvalidSpec(f"{spec.spec} plays {spec.ruleset.name}, not {ruleset.name}")
        return spec
    name, colon, argument = spec.partition(":")
    if name in _AGENTS:
        module, class_name, form, _ = _AGENTS[name]
        takes_argument, needs_argument = ":" in form, ":" in form and "[" not in form
        if (colon and not takes_argument) or (needs_argument and not colon):
            raise InvalidSpec(f"spec {spec!r}: the form is {form}")
        built: Callable[..., Any] = getattr(
            importlib.import_module(f"mancala_env.agents.{module}"), class_name
        )
        arguments = (argument,) if colon else ()
        return built(ruleset, *arguments, spec=spec, seed=seed, num_threads=num_threads)
    if Path(spec).suffix == ".zip" or Path(spec).is_file():
        from mancala_env.agents.checkpoint import CheckpointAgent

        return CheckpointAgent(ruleset, spec, spec=spec, seed=seed, num_threads=num_threads)
    near = difflib.get_close_matches(name, _AGENTS, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise InvalidSpec(f"no agent {spec!r} and no such file; {hint}specs: {'; '.join(spec_forms())}")
