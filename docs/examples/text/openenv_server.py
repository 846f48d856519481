"""The text tasks as an environment of the library `openenv`: a server with a WebSocket.

With this folder in PYTHONPATH, this starts the server, which a client of the library plays:

    uvicorn openenv_server:app --port 8000

A reset takes `seed`, `task_kind` ("sow", "move" or "play"), `split` and `level`.
"""

import random
from typing import Any, Literal
from uuid import uuid4

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from mancala_env.envs import text
from mancala_env.errors import IllegalMove


class TextAction(Action):
    """The reply of a model."""

    reply: str = Field(description="The reply; its last answer counts")


class TextObservation(Observation):
    """What the model reads, and the error of its last reply."""

    prompt: str = Field(default="", description="Rules, board and question; later the board and question")
    error: str = Field(default="", description="Why the last reply is invalid; empty if it is valid")


class MancalaTextEnvironment(Environment[TextAction, TextObservation, State]):
    """One reply for "sow" and "move", a whole round for "play"."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        """Make an environment without a task; `reset` draws one."""
        super().__init__()
        self._state = State()
        self._task: text.Task | text.Round | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task_kind: Literal["sow", "move", "play"] = "move",
        split: text.Split = "evaluation",
        level: int | None = None,
        **kwargs: Any,
    ) -> TextObservation:
        """Begin the task of a seed; without one, of a random seed.

        Raises:
            InvalidArgument: An argument is out of range.
        """
        number = random.getrandbits(32) if seed is None else seed
        if task_kind == "play":
            self._task = text.Round(number, split=split, opponent=1 if level is None else level)
        else:
            self._task = text.make_task(task_kind, number, split=split, level=level or 0)
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return TextObservation(prompt=self._task.prompt)

    def step(self, action: TextAction, timeout_s: float | None = None, **kwargs: Any) -> TextObservation:
        """Score a reply; in a round, play it.

        Raises:
            IllegalMove: No task was begun, or it is over.
        """
        task = self._task
        if task is None:
            raise IllegalMove(
                f"reset the environment first; the reply {action.reply[:40]!r} cannot be scored"
            )
        self._state.step_count += 1
        if isinstance(task, text.Task):
            self._task = None
            score = task.score(action.reply)
            return TextObservation(done=True, reward=score.reward, error=score.error)
        score = task.step(action.reply)
        if task.is_over:
            self._task = None
            return TextObservation(done=True, reward=task.reward, error=score.error)
        # The reward of a round is the lead at its end.
        return TextObservation(prompt=task.update, reward=0.0)

    @property
    def state(self) -> State:
        """Identifier of the episode, and the number of replies."""
        return self._state


app = create_app(
    MancalaTextEnvironment, TextAction, TextObservation, env_name="mancala_text", max_concurrent_envs=64
)
