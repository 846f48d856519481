"""Self-play of a search agent, and a value network fitted to the positions of its games.

Games start with random openings and random deviations, which lead to the kinds of positions that occur in a
search. :mod:`mancala_env.training.value_growth` repeats self-play and fitting, generation after generation.

Symbols: N positions, H holes, C codes, U units.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mancala_env.agents import make
from mancala_env.agents.searchers import MinimaxAgent
from mancala_env.engine.state import PLAYER_COLUMN, SOUTH
from mancala_env.evaluation.matches import MatchGames
from mancala_env.evaluation.openings import MAX_OPENING_TURNS, openings, set_to_learn_from
from mancala_env.networks.value import NUM_CODES, NUM_UNITS, ValueWeights, certain_leads, codes_of
from mancala_env.rulesets import Ruleset

# Number of parallel games; more would not fit the processor's cache.
_GAMES_AT_ONCE = 4000
# Share of random turns in the first part of a game, which ends at a random turn below _STEADY. The network
# learns only from positions after it.
_DEVIATIONS, _STEADY = 0.3, 14
_BATCH, _EPOCHS, _RATE, _LAST_RATE = 4096, 8, 0.01, 0.0001
# Larger errors in seeds count linearly (Huber): long relays make some outcomes nearly random.
_HUBER = 8.0


class Played(NamedTuple):
    """Positions of games, in the order of the games.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, running games.
        margins: int64 `[N]`, final lead of the player to move, in seeds.
        game: int64 `[N]`, index of the position's game.
        found: float64 `[N]`, value of the position for its player to move in the agent's search, in seeds.
        turns: Number of turns of the games, including deviations.
    """

    games: np.ndarray
    margins: np.ndarray
    game: np.ndarray
    found: np.ndarray
    turns: int


def play(agent: MinimaxAgent, num_games: int, seed: int) -> Played:
    """Let an agent play itself, and return the positions of its games after the last deviation."""
    found = []
    for start in range(0, num_games, _GAMES_AT_ONCE):
        some = _play_some(agent, min(_GAMES_AT_ONCE, num_games - start), seed + start)
        found.append(some._replace(game=some.game + start))
    *arrays, turns = zip(*found, strict=True)
    return Played(*(np.concatenate(parts) for parts in arrays), turns=sum(turns))


def _play_some(agent: MinimaxAgent, num_games: int, seed: int) -> Played:
    draw = np.random.default_rng(seed)
    chance = make("random", agent.ruleset, seed=seed)
    lengths = np.bincount(draw.integers(0, MAX_OPENING_TURNS + 1, num_games))
    table = MatchGames(agent, agent, openings_of_lengths(agent.ruleset, lengths, seed))
    steady = draw.integers(0, _STEADY, num_games)
    games, rows_of, found, turn, turns = [], [], [], 0, 0
    while not table.is_over.all():
        rows = np.flatnonzero(~table.is_over)
        before = table.games[rows]
        is_steady = turn >= steady[rows]
        games.append(before[is_steady])
        rows_of.append(rows[is_steady])
        actions = agent.act(before)
        found.append(agent.last_values[is_steady])
        deviates = ~is_steady & (draw.random(len(rows)) < _DEVIATIONS)
        if deviates.any():
            actions[deviates] = chance.act(before[deviates])
        table.play(agent, rows, actions)
        turn += 1
        turns += len(rows)
    rows = np.concatenate(rows_of)
    order = np.argsort(rows, kind="stable")
    positions, south = np.concatenate(games)[order], table.margins[rows][order]
    margins = np.where(positions[:, PLAYER_COLUMN] == SOUTH, south, -south)
    return Played(positions, margins, rows[order], np.concatenate(found)[order], turns)


def openings_of_lengths(ruleset: Ruleset, lengths: np.ndarray, seed: int) -> np.ndarray:
    """Draw `lengths[i]` openings of i turns each, uint64 `[N, NUM_COLUMNS]`; 0 turns is the start."""
    # With one seed for all lengths, a longer opening would continue a shorter one.
    seeds = np.random.SeedSequence(seed).generate_state(len(lengths), np.uint64).tolist()
    return np.concatenate(
        [training_openings(ruleset, n, turns, seeds[turns]) for turns, n in enumerate(lengths) if n]
    )


def training_openings(ruleset: Ruleset, count: int, opening_turns: int, seed: int) -> np.ndarray:
    """Draw openings that are not held out for evaluation, uint64 `[count, NUM_COLUMNS]`.

    If all openings of this length are held out, as on a very small board, they are drawn from all openings.
    """
    opening_set = set_to_learn_from(ruleset, opening_turns)
    return openings(ruleset, count, opening_turns, seed, opening_set=opening_set)


class ValueNetwork(nn.Module):
    """A value network to train: the expected further margin of the player to move, in seeds."""

    def __init__(self, num_holes: int, draw: torch.Generator) -> None:
        """Draw the initial weights."""
        super().__init__()
        kind: Any = {"dtype": torch.float32, "device": "cpu"}  # a program may have set other defaults
        # With initial weights of this size, units differ and their sums are a few seeds.
        embeddings = 0.15 * torch.randn(num_holes * NUM_CODES, NUM_UNITS, generator=draw, **kind)
        self.embeddings = nn.Parameter(embeddings)
        self.unit_biases = nn.Parameter(torch.zeros(NUM_UNITS, **kind))
        self.unit_weights = nn.Parameter(torch.randn(NUM_UNITS, generator=draw, **kind))
        self.bias = nn.Parameter(torch.zeros(1, **kind))
        self._first_codes = NUM_CODES * torch.arange(num_holes, device="cpu")

    def forward(self, codes: Tensor) -> Tensor:
        """Return the further margins of positions with the codes int64 `[N, H]`, float32 `[N]`."""
        sums = nn.functional.embedding_bag(codes + self._first_codes, self.embeddings, mode="sum")
        return torch.relu(sums + self.unit_biases) @ self.unit_weights + self.bias

    def weights(self) -> ValueWeights:
        """Return a copy of the weights."""
        embeddings, *others = (each.detach().numpy().copy() for each in self.parameters())
        return ValueWeights(embeddings.reshape(-1, NUM_CODES, NUM_UNITS), *others)


def fit(ruleset: Ruleset, games: np.ndarray, values: np.ndarray, seed: int) -> ValueWeights:
    """Fit a value network to games, uint64 `[N, NUM_COLUMNS]`, and targets in seeds for the players to move.

    `values` `[N]` are the targets. The seed determines the initial weights and the order of the positions.
    """
    draw = torch.Generator("cpu").manual_seed(seed)
    codes = torch.from_numpy(codes_of(ruleset, games))
    wanted = torch.from_numpy((values - certain_leads(ruleset, games)).astype(np.float32))
    network = ValueNetwork(ruleset.num_holes, draw)
    optimizer = torch.optim.Adam(network.parameters(), lr=_RATE)
    steps = max(1, _EPOCHS * len(codes) // _BATCH)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = _RATE + (_LAST_RATE - _RATE) * step / steps
        some = torch.randint(len(codes), (min(_BATCH, len(codes)),), generator=draw, device="cpu")
        loss = nn.functional.huber_loss(network(codes[some]), wanted[some], delta=_HUBER)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.weights()
