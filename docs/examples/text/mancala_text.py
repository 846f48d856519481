"""The text tasks as a taskset of the library `verifiers` (its `verifiers.v1` interface).

With this folder in PYTHONPATH, the library finds the taskset by the name of this file:

    vf-eval mancala_text --env.taskset.task-kind move --env.player.runtime.type subprocess --no-push

In the task "play" :class:`MancalaTextEnv` plays the opponent's turns between the replies.
"""

from collections.abc import Iterator
from typing import Literal

import verifiers.v1 as vf

from mancala_env.envs import text

__all__ = ["MancalaTaskset", "MancalaTextEnv"]


class MancalaConfig(vf.TasksetConfig):
    """Settings of the taskset.

    Attributes:
        task_kind: "sow", "move" or "play".
        split: "training", "evaluation" (held-out positions) or "all".
        num_tasks: Number of tasks, the seeds from 0.
        level: Difficulty of "sow" (1 to 5), or level of the opponent of "play" (1 to 8). None: drawn, or 1.
    """

    task_kind: Literal["sow", "move", "play"] = "move"
    split: text.Split = "evaluation"
    num_tasks: int = 200
    level: int | None = None


class MancalaData(vf.TaskData):
    """What a task needs to be made again; the model sees the prompt only."""

    kind: Literal["sow", "move", "play"]
    seed: int
    split: text.Split
    level: int | None


class MancalaTask(vf.Task[MancalaData, vf.State, vf.TaskConfig]):
    """A task whose reward is exact; "play" is rewarded by the environment."""

    @vf.reward
    async def exact(self, trace: vf.Trace) -> dict[str, float]:
        """Return minus the regret over twice the seeds of the game, or for "sow" 0 if right; else -1."""
        if self.data.kind == "play":
            return {}
        task = _begin(self.data)
        assert isinstance(task, text.Task)
        return {"exact": task.score(trace.last_reply).reward or 0.0}


def _begin(data: MancalaData) -> text.Task | text.Round:
    if data.kind == "play":
        opponent = 1 if data.level is None else data.level
        return text.Round(data.seed, split=data.split, opponent=opponent)
    return text.make_task(data.kind, data.seed, split=data.split, level=data.level or 0)


class MancalaTaskset(vf.Taskset[MancalaTask, MancalaConfig]):
    """The tasks of the seeds from 0."""

    def load(self) -> Iterator[MancalaTask]:
        """Yield the tasks."""
        config = self.config
        for seed in range(config.num_tasks):
            data = MancalaData(
                name=f"{config.task_kind}-{config.split}-{seed}",
                kind=config.task_kind,
                seed=seed,
                split=config.split,
                level=config.level,
            )
            yield MancalaTask(data.model_copy(update={"prompt": _begin(data).prompt}), config.task)


class MancalaTextEnvConfig(vf.EnvConfig):
    """The one seat: the model."""

    player: vf.AgentConfig = vf.AgentConfig()


class MancalaTextEnv(vf.Env[MancalaTextEnvConfig]):
    """One reply for "sow" and "move", a whole round for "play"."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Run one episode."""
        data = task.data
        if data.kind != "play":
            await agents.player.run(task)
            return
        game = _begin(data)
        assert isinstance(game, text.Round)
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                game.step(segment.last_reply)
                if game.is_over:
                    break
                segment = await interaction.turn(game.update)
        interaction.trace.record_reward("lead", game.reward, 1.0)
