"""Agents: everything that can be put in a player's seat, made from a spec by :func:`make`."""

from mancala_env.agents.agent import Agent, InvalidSpec
from mancala_env.agents.specs import make, spec_forms

__all__ = ["Agent", "InvalidSpec", "make", "spec_forms"]
