"""Tasks: what a learner may be shown, and whether what it made keeps to that."""

from typing import NamedTuple

from mancala_env._util.checks import one_of
from mancala_env.agents import Agent
from mancala_env.agents.network import CheckpointAgent, SamplingAgent
from mancala_env.agents.user import PolicyAgent
from mancala_env.errors import MancalaError
from mancala_env.observations import ObservationKind


class Refused(MancalaError):
    """A learner that broke the terms: its budget, its task, or the form of an entry."""


class Task(NamedTuple):
    """What a learner is shown.

    Attributes:
        name: "board", "afterstates" or "anything".
        observation: The kind of observation that its learners take.
        allowed: Kinds that who plays may be shown; none where anything goes, searches too.
        meaning: The task in a line.
    """

    name: str
    observation: ObservationKind
    allowed: tuple[ObservationKind, ...]
    meaning: str

    def check(self, agent: Agent) -> None:
        """Refuse an agent that plays by more than the task shows.

        Raises:
            Refused: It is shown more, or what it is shown is not known.
        """
        if not self.allowed:
            return
        shown = shown_to(agent)
        if shown not in self.allowed:
            what = "by nobody knows what" if shown is None else f"by the observation {shown!r}"
            raise Refused(
                f"{agent.spec} plays {what}, and the task {self.name!r} allows {' and '.join(self.allowed)}; "
                "agents.from_policy, agents.from_function(..., observation=...) and checkpoints say what "
                "they are shown"
            )


TASKS: dict[str, Task] = {
    "board": Task("board", "board", ("board",), "the board alone; the learner finds out what turns do"),
    "afterstates": Task(
        "afterstates", "afterstates", ("board", "afterstates"), "the position that each action leads to"
    ),
    "anything": Task("anything", "replies", (), "whatever helps: lines, values, searches with the rules"),
}
"""All tasks by name."""


def task_named(name: str) -> Task:
    """Return a task.

    Raises:
        InvalidArgument: There is none of that name.
    """
    return TASKS[one_of("task", name, tuple(TASKS))]


def shown_to(agent: Agent) -> str | None:
    """Return the kind of observation that an agent plays by; None where it sees the game itself."""
    if isinstance(agent, PolicyAgent):
        return agent.observer.kind
    if type(agent) in (CheckpointAgent, SamplingAgent):  # the searches are subclasses
        assert isinstance(agent, CheckpointAgent)
        return agent.identity.network.observation
    return None
