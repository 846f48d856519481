"""The text tasks as an environment of the library `textarena`.

Importing this module registers it:

    import mancala_textarena
    env = textarena.make("Mancala-v0", task_kind="play", level=2)

One player answers "sow" and "move", or plays a round against an agent. Two players play a round together.
"""

import random
from typing import Any, Literal

import textarena as ta

from mancala_env.envs import text
from mancala_env.errors import InvalidArgument


class MancalaTextArena(ta.Env):
    """One reply for "sow" and "move", a whole round for "play". Of two players, player 0 is South."""

    def __init__(
        self,
        task_kind: Literal["sow", "move", "play"] = "move",
        split: text.Split = "evaluation",
        level: int | None = None,
    ) -> None:
        """Choose the tasks; `level` is the difficulty of "sow", or the level of the opponent of "play"."""
        self.task_kind, self.split, self.level = task_kind, split, level

    def reset(self, num_players: int, seed: int | None = None) -> None:
        """Begin the task of a seed; without one, of a random seed.

        Raises:
            InvalidArgument: An argument is out of range, or two players and not "play".
        """
        if num_players == 2 and self.task_kind != "play":
            raise InvalidArgument(f"two players need task_kind 'play', not {self.task_kind!r}")
        number = random.getrandbits(32) if seed is None else seed
        if self.task_kind == "play":
            opponent = None if num_players == 2 else 1 if self.level is None else self.level
            self.game: text.Task | text.Round = text.Round(number, opponent=opponent, split=self.split)
        else:
            self.game = text.make_task(self.task_kind, number, split=self.split, level=self.level or 0)
        kind = ta.TwoPlayerState if num_players == 2 else ta.SinglePlayerState
        self.state = kind(num_players, seed=seed)
        self.state.reset(role_mapping={0: "South", 1: "North"} if num_players == 2 else {0: "Player"})
        self._new_players = set(range(num_players))
        self._ask()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Score a reply; in a round, play it. An invalid reply ends the episode."""
        state, game = self.state, self.game
        player = state.current_player_id
        state.add_observation(action, ta.ObservationType.PLAYER_ACTION, from_id=player, to_id=player)
        score = game.score(action) if isinstance(game, text.Task) else game.step(action)
        state.step_info = score._asdict()
        state.done = isinstance(game, text.Task) or game.is_over
        if state.done:
            state.rewards = {0: score.reward}
            if isinstance(game, text.Round):
                state.rewards = dict(enumerate(game.rewards)) if state.num_players == 2 else {0: game.reward}
            state.game_info[player] |= {"invalid_move": bool(score.error), "reason": score.error}
        else:
            self._ask()
        return state.step(False) if state.num_players == 2 else state.step()

    def _ask(self) -> None:
        """Show the player to move the whole prompt at first, and later the board."""
        player = self.game.player if self.state.num_players == 2 else 0
        is_new = player in self._new_players
        self._new_players.discard(player)
        kind = ta.ObservationType.PROMPT if is_new else ta.ObservationType.GAME_BOARD
        self.state.current_player_id = player
        self.state.add_observation(self.game.prompt if is_new else self.game.update, kind, to_id=player)


ta.register("Mancala-v0", MancalaTextArena, default_wrappers=[ta.wrappers.LLMObservationWrapper])
