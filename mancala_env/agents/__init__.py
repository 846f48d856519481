"""Agents: everything that can be put in a player's seat, made from a spec by :func:`make`."""

from mancala_env.agents.base import Agent, InvalidSpec
from mancala_env.agents.registry import AgentLike, Spec, make, spec_forms
from mancala_env.agents.user import from_function, from_policy

__all__ = ["Agent", "AgentLike", "InvalidSpec", "Spec", "from_function", "from_policy", "make", "spec_forms"]
