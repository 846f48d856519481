"""Specs: how a text such as ``"greedy"`` or ``"minimax:6"`` becomes an agent."""

import difflib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mancala_env.agents.agent import Agent, InvalidSpec
from mancala_env.rulesets import Ruleset, lookup

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
