"""Tasks: what a learner may observe, and the check that its agent observes nothing else."""

from typing import NamedTuple

from mancala_env.agents import Agent
from mancala_env.agents.network import CheckpointAgent, SamplingAgent
from mancala_env.agents.user import PolicyAgent
from mancala_env.errors import MancalaError
from mancala_env.observations import ObservationKind


class Refused(MancalaError):
    """A learner that broke the rules of its budget, its task, or the interface of entries."""


class Task(NamedTuple):
    """What a learner may observe: "board", "afterstates" or "anything".

    Bundled learners use `observation`. The agent may use the kinds of observation in `allowed`; if that is
    empty, anything, including searches.
    """

    name: str
    observation: ObservationKind
    allowed: tuple[ObservationKind, ...]

    def check(self, agent: Agent) -> None:
        """Raise a Refused if an agent uses an observation that is not allowed, or an unknown one."""
        if not self.allowed:
            return
        kind = observation_kind_of(agent)
        if kind not in self.allowed:
            used = "an unknown observation" if kind is None else f"the observation {kind!r}"
            raise Refused(
                f"{agent.spec} uses {used}; the task {self.name!r} allows {' and '.join(self.allowed)}. The "
                "observation is known of agents.from_policy, agents.from_function(..., observation=...) and "
                "checkpoints"
            )


TASKS: dict[str, Task] = {
    "board": Task("board", "board", ("board",)),
    "afterstates": Task("afterstates", "afterstates", ("board", "afterstates")),
    "anything": Task("anything", "replies", ()),
}
"""All tasks by name."""


def observation_kind_of(agent: Agent) -> str | None:
    """Return the observation kind that an agent uses; None if the agent uses the game itself."""
    if isinstance(agent, PolicyAgent):
        return agent.observer.kind
    if type(agent) in (CheckpointAgent, SamplingAgent):  # the searches are subclasses
        assert isinstance(agent, CheckpointAgent)
        return agent.identity.network.observation
    return None
