"""Tasks: what a learner may observe, and the check that its agent observes nothing else."""

from typing import NamedTuple, cast

from mancala_env._util.checks import one_of
from mancala_env.agents import Agent
from mancala_env.agents.network import CheckpointAgent, SamplingAgent
from mancala_env.agents.user import PolicyAgent
from mancala_env.errors import InvalidArgument, MancalaError
from mancala_env.observations import KINDS, ObservationKind


class Refused(MancalaError):
    """A learner that broke the rules of its budget, its task, or the interface of entries."""


class Task(NamedTuple):
    """What a learner may observe: "board", "afterstates" or "anything".

    Bundled learners use `observation`. The agent may use the kinds of observation in `allowed`; if that is
    empty, anything, including searches. If `is_fixed`, the agent must use `observation`.
    """

    name: str
    observation: ObservationKind
    allowed: tuple[ObservationKind, ...]
    is_fixed: bool = False

    def check(self, agent: Agent) -> None:
        """Raise a Refused if an agent uses an observation that is not allowed, or an unknown one."""
        allowed = (self.observation,) if self.is_fixed else self.allowed
        if not allowed:
            return
        kind = observation_kind_of(agent)
        if kind not in allowed:
            used = "an unknown observation" if kind is None else f"the observation {kind!r}"
            known = "agents.from_policy, agents.from_function(..., observation=...) and checkpoints"
            allows = f"the task {self.name!r} allows {' and '.join(allowed)}"
            raise Refused(f"{agent.spec} uses {used}; {allows}. The observation is known of {known}")


TASKS: dict[str, Task] = {
    "board": Task("board", "board", ("board",)),
    "afterstates": Task("afterstates", "afterstates", ("board", "afterstates")),
    "anything": Task("anything", "replies", ()),
}
"""All tasks by name."""


def task_named(name: str) -> Task:
    """Return a task by its name, or with one kind of observation, such as "anything@board".

    Raise InvalidArgument if the task or the kind is unknown, or the task does not allow the kind.

    >>> task_named("anything@board").observation
    'board'
    """
    task, _, kind = name.partition("@") if isinstance(name, str) else (name, "", "")
    found = TASKS[one_of("task", task, tuple(TASKS))]
    if not kind:
        return found
    allowed = found.allowed or KINDS
    if kind not in allowed:
        valid = f"observations of the task {task!r} must be some of {', '.join(allowed)}"
        raise InvalidArgument(f"{valid}, not {kind!r}")
    return found._replace(observation=cast(ObservationKind, kind), is_fixed=True)


def observation_kind_of(agent: Agent) -> str | None:
    """Return the observation kind that an agent uses; None if the agent uses the game itself."""
    if isinstance(agent, PolicyAgent):
        return agent.observer.kind
    if type(agent) in (CheckpointAgent, SamplingAgent):  # the searches are subclasses
        assert isinstance(agent, CheckpointAgent)
        return agent.identity.network.observation
    return None
