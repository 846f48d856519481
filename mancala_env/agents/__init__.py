"""Agents: everything that can be put in a player's seat, made from a spec by :func:`make`."""

from mancala_env.agents.agent import Agent, InvalidSpec
from mancala_env.agents.own import from_function, from_policy
from mancala_env.agents.specs import AgentLike, Spec, make, spec_forms

__all__ = ["Agent", "AgentLike", "InvalidSpec", "Spec", "from_function", "from_policy", "make", "spec_forms"]
