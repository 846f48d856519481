"""The three wrappers of PettingZoo's classic games in one, for speed.

``OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(env)))`` passes every attribute
through three ``__getattr__`` calls, which take longer than 100 turns of the engine. :class:`Guard` behaves
the same, with the same warnings and errors, but uses properties. The error for an action outside the action
space also names the action, and is an IllegalMove.
"""

from typing import TYPE_CHECKING, Any

from gymnasium import spaces
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from mancala_env._util.checks import is_whole
from mancala_env.envs.options import as_scalar
from mancala_env.errors import IllegalMove

if TYPE_CHECKING:
    from mancala_env.envs.aec import MancalaAEC


def _of_the_env(name: str) -> Any:
    """Return a property for an attribute of the environment that exists after reset()."""

    def read(self: "Guard") -> Any:
        if not self._has_reset:
            raise AttributeError(f"{name} cannot be accessed before reset")
        return getattr(self.env, name)

    def write(self: "Guard", value: Any) -> None:
        setattr(self.env, name, value)

    return property(read, write, doc=f"`{name}` of the environment; an AttributeError before reset().")


class ActionOutOfRange(IllegalMove, AssertionError):
    """An action outside the action space; an AssertionError, as PettingZoo's own wrapper raises."""


class Guard(OrderEnforcingWrapper[str, Any, Any]):
    """Wrapper that checks the order of calls, and ends the episode with a loss at an illegal action."""

    env: "MancalaAEC"  # pyright: ignore[reportIncompatibleVariableOverride]
    agents: list[str] = _of_the_env("agents")
    agent_selection: str = _of_the_env("agent_selection")
    rewards: dict[str, float] = _of_the_env("rewards")
    terminations: dict[str, bool] = _of_the_env("terminations")
    truncations: dict[str, bool] = _of_the_env("truncations")
    infos: dict[str, dict[str, Any]] = _of_the_env("infos")
    num_agents: Any = _of_the_env("num_agents")
    _cumulative_rewards = _of_the_env("_cumulative_rewards")

    @property
    def unwrapped(self) -> "MancalaAEC":
        """The environment without this wrapper."""
        return self.env

    def action_space(self, agent: str) -> "spaces.Discrete[Any]":
        return self.env.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)
        self._has_reset = self._has_updated = True

    def step(self, action: Any) -> None:
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        env: Any = self.env
        self._has_updated = True
        if not env.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = env.agent_selection
        if action is not None or not (env.terminations[agent] or env.truncations[agent]):
            if type(action) is not int:
                action = as_scalar(action)
            most = env.action_spaces[agent].n - 1
            if not is_whole(action) or not 0 <= action <= most:  # Discrete accepts True, and fails at 2**63
                raise ActionOutOfRange(
                    f"action {action!r} is not in the action space of {agent}: choose from 0 to {most}, or "
                    "None once the agent's episode is over"
                )
        try:
            env.step(action)
        except IllegalMove:
            self._forfeit(env, agent)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _ = self.agent_selection  # raises before reset()
        return self.env.last(observe)

    def _forfeit(self, env: Any, agent: str) -> None:
        """End the episode as a loss of an agent, like TerminateIllegalWrapper."""
        EnvLogger.warn_on_illegal_move()
        env._cumulative_rewards[agent] = 0
        env.terminations = dict.fromkeys(env.agents, True)
        env.truncations = dict.fromkeys(env.agents, True)
        env.rewards = {one: -1.0 if one == agent else 0 for one in env.agents}
        env._accumulate_rewards()
        env._deads_step_first()

    def __str__(self) -> str:
        return str(self.env)
