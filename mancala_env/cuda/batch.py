"""CudaBatch: many games on a GPU, with the interface of Batch."""

from typing import Any, Literal

import numpy as np
import torch

from mancala_env._util.checks import cpu_array, refuse_swapped, seed_of, truth, whole
from mancala_env.cuda.device import as_array, is_available, launch, torch_device
from mancala_env.engine.episode import Rounds, encode_episode
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.state import MOST_GAMES, State, encode, unpack
from mancala_env.engine.validation import check_running
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition
from mancala_env.games.batch import Batch, Outputs, illegal_action
from mancala_env.rulesets import RulesetLike, lookup


class CudaBatch:
    """B games of one ruleset on torch's current GPU, stepped together (experimental).

    It has the interface of :class:`mancala_env.Batch` and plays equal games from equal seeds and actions. Its
    arrays are torch tensors on the GPU, and the observation is of the kind "board". Calls start work on
    torch's current stream and do not wait for its end.

    So an illegal action raises no error. It sets `illegal`, and the game does not change. Call
    :meth:`check_actions` to raise the error later.

    Attributes:
        device: The torch device of the tensors.
        illegal: bool `[B]`, the games with an illegal action since the last reset, load or check.

    Other attributes are those of Batch.
    """

    player: torch.Tensor
    legal_mask: torch.Tensor
    observation: torch.Tensor
    rewards: torch.Tensor
    reward: torch.Tensor
    done: torch.Tensor
    truncated: torch.Tensor
    counts: torch.Tensor
    final_observation: torch.Tensor
    final_games: torch.Tensor
    games: torch.Tensor
    illegal: torch.Tensor

    def __init__(
        self,
        ruleset: RulesetLike,
        num_games: int,
        rounds: Rounds = 1,
        seed: int | None = None,
        *,
        first_player: Literal[0, 1, "random"] = 0,
        opening_turns: int = 0,
        opening_set: OpeningSet = "all",
        reward: Literal["outcome", "margin"] = "outcome",
        autoreset: bool = True,
    ) -> None:
        """Set up the games and start their first episodes; arguments and errors are those of Batch.

        Raises:
            InvalidArgument: torch and numba find no GPU.
        """
        refuse_swapped("CudaBatch(ruleset, num_games)", ruleset, num_games)
        self.ruleset = lookup(ruleset)
        self.num_games = whole("num_games", num_games, 1, MOST_GAMES)
        self._settings = encode_episode(rounds, first_player, opening_turns, reward, opening_set)
        self.rounds: Rounds = rounds
        self.num_actions = self.ruleset.num_actions(rounds)
        self.autoreset = truth("autoreset", autoreset)
        self._rules = encode(self.ruleset)
        if not is_available():
            raise InvalidArgument("CudaBatch needs a GPU that torch and numba-cuda can use; Batch needs none")
        self.device = torch_device()
        self._allocate()
        self.reset(seed)

    def _allocate(self) -> None:
        """Allocate every tensor once, and the array of each one for kernels."""
        one = Batch(self.ruleset, 1, self.rounds, seed=0, num_threads=1)
        names = (*Outputs._fields, "games")
        samples = {name: torch.from_numpy(getattr(one, name)) for name in names}
        samples |= dict.fromkeys(("illegal", "wanted"), samples["done"])
        samples["rng_states"] = samples["games"][:, 0]
        samples["actions"] = torch.zeros(1, dtype=torch.int64)
        self._tensors = {
            name: torch.zeros((self.num_games, *each.shape[1:]), dtype=each.dtype, device=self.device)
            for name, each in samples.items()
        }
        self._arrays = {name: as_array(tensor) for name, tensor in self._tensors.items()}
        self._outputs = Outputs(**{name: self._arrays[name] for name in Outputs._fields})
        for name in (*names, "illegal"):
            setattr(self, name, self._tensors[name])

    @property
    def state(self) -> State:
        """The games as a State of new arrays of NumPy."""
        return unpack(self.games.cpu().numpy(), self.ruleset.num_holes)

    def reset(self, seed: int | None = None, where: Any = None) -> None:
        """Start new episodes, as ``Batch.reset`` does; `where` is a bool tensor `[B]` or None."""
        wanted = self._set_wanted(where)
        seed = seed_of(seed)
        if where is None or seed is not None:
            states, rows = self._tensors["rng_states"].cpu().numpy().copy(), wanted.cpu().numpy()
            drawn = np.random.SeedSequence(seed).generate_state(self.num_games, np.uint64)
            states[rows] = drawn[rows]
            self._tensors["rng_states"].copy_(torch.from_numpy(states))
        self._launch("reset", self._settings, "games", "rng_states", "wanted")
        self._show(wanted)

    def load(self, games: Any, where: Any = None) -> None:
        """Replace games by others, as ``Batch.load`` does; they are checked on the processor.

        Raises:
            InvalidPosition: A game is over or impossible, or the shape is wrong. Nothing has changed.
        """
        wanted = self._set_wanted(where)
        others = cpu_array("games", games.cpu() if isinstance(games, torch.Tensor) else games)
        if others.shape != self.games.shape:
            raise InvalidPosition(f"games must be of shape {tuple(self.games.shape)}, not {others.shape}")
        rows = np.flatnonzero(wanted.cpu().numpy())
        after = self.games.cpu().numpy().copy()
        after[rows] = check_running(self.ruleset, self.rounds, others[rows], rows)
        self.games.copy_(torch.from_numpy(after))
        self._show(wanted)

    def step(self, actions: Any, where: Any = None) -> None:
        """Play one turn in every game and rewrite the tensors.

        Where an action is illegal, the game does not change, its rewards are 0, and `illegal` is True.

        Args:
            actions: Integer tensor `[B]`, an action of the player to move in each game.
            where: bool tensor `[B]`, the games to play in; None plays in all.

        Raises:
            IllegalMove: `actions` are not B integers.
        """
        chosen = torch.as_tensor(actions)
        if chosen.shape != (self.num_games,) or chosen.dtype.is_floating_point or chosen.dtype == torch.bool:
            found = f"{chosen.dtype} of shape {tuple(chosen.shape)}"
            raise IllegalMove(f"actions must be {self.num_games} integers, not {found}")
        self._set_wanted(where)
        self._tensors["actions"].copy_(chosen)
        state = self._settings, self.autoreset, "games", "rng_states"
        self._launch("step", *state, "actions", "wanted", self._outputs, "illegal")

    def check_actions(self) -> None:
        """Wait for the GPU; raise IllegalMove if `illegal` has a game, and clear it.

        Check after each step for the action in the message; later it is the last action of that game.
        """
        for b in self.illegal.nonzero().flatten().tolist():
            self.illegal.zero_()
            action, player = int(self._tensors["actions"][b]), int(self.player[b])
            raise illegal_action(b, player, action, self.legal_mask[b].cpu().numpy())

    def play_random(self, turns_per_game: int) -> int:
        """Play uniformly random turns in each game, as ``Batch.play_random`` does; returns their number."""
        turns = whole("turns_per_game", turns_per_game, 0)
        if not self.autoreset and bool(self.done.any()):
            raise InvalidArgument("an episode is over; call reset() before more random play")
        self._launch("play_random", self._settings, "games", "rng_states", turns)
        self._show(self._set_wanted(None))
        return self.num_games * turns

    def copy(self) -> "CudaBatch":
        """Return an independent copy, with the same random generators."""
        other = CudaBatch.__new__(CudaBatch)
        vars(other).update(vars(self))
        other._allocate()
        for name, tensor in self._tensors.items():
            other._tensors[name].copy_(tensor)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> "CudaBatch":
        return self.copy()

    def _set_wanted(self, where: Any) -> torch.Tensor:
        """Write a mask, or True for None, to the tensor that kernels read; return that tensor."""
        wanted = self._tensors["wanted"]
        if where is None:
            return wanted.fill_(True)
        mask = torch.as_tensor(where)
        if mask.shape != (self.num_games,) or mask.dtype != torch.bool:
            found = f"{mask.dtype} of shape {tuple(mask.shape)}"
            raise InvalidArgument(f"where must be {self.num_games} values of type bool, not {found}")
        return wanted.copy_(mask)

    def _show(self, wanted: torch.Tensor) -> None:
        """Rewrite the tensors of the wanted games after something other than a step."""
        for tensor in (self.reward, self.done, self.truncated, self.illegal):
            tensor.masked_fill_(wanted, 0)
        self.rewards.masked_fill_(wanted[:, None], 0)
        self._launch("view", "games", self._outputs, "wanted")

    def _launch(self, kernel: str, *arguments: Any) -> None:
        """Start a kernel; a text among the arguments is the name of a tensor."""
        passed = [self._arrays[each] if isinstance(each, str) else each for each in arguments]
        launch(kernel, self.num_games, self._rules, *passed)

    def __repr__(self) -> str:
        return f"CudaBatch({self.ruleset.name!r}, num_games={self.num_games}, rounds={self.rounds!r})"
