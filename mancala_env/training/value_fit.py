"""Games of a search against itself, and a value network fitted to their positions.

Games begin with random openings and random deviations, which lead to positions as a search meets them.
:mod:`mancala_env.training.value_growth` repeats both, generation after generation.

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

# Games side by side; what an agent sees of more would not fit the cache.
_GAMES_AT_ONCE = 4000
# A game deviates in so many of its turns until a turn drawn below _STEADY; only what follows is learned from.
_DEVIATIONS, _STEADY = 0.3, 14
_BATCH, _EPOCHS, _RATE, _LAST_RATE = 4096, 8, 0.01, 0.0001
# Errors beyond so many seeds count linearly (Huber): relays make some games end anyhow.
_HUBER = 8.0


class Played(NamedTuple):
    """Positions of games, in the order of the games, with their ends.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, running games.
        margins: int64 `[N]`, seeds by which the player to move led at the end.
        game: int64 `[N]`, the number of the game each position is from.
        found: float64 `[N]`, value of each position to its player to move in the agent's search, in seeds.
        turns: Turns of those games, deviations included.
    """

    games: np.ndarray
    margins: np.ndarray
    game: np.ndarray
    found: np.ndarray
    turns: int


def play(agent: MinimaxAgent, num_games: int, seed: int) -> Played:
    """Let an agent play itself and return the positions of its games from where it stopped deviating."""
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
    """Draw openings that are not held out for evaluation, the shorter ones first.

    On a board so small that all openings of some length are held out, those are drawn from all.

    Args:
        ruleset: The ruleset.
        lengths: How many of 0 turns (the start, which no set has), of 1, and so on.
        seed: Seed of them all.

    Returns:
        uint64 `[N, NUM_COLUMNS]`.
    """
    # A seed for each length: with one for all, a longer opening would go on from a shorter.
    seeds = np.random.SeedSequence(seed).generate_state(len(lengths), np.uint64).tolist()
    return np.concatenate(
        [training_openings(ruleset, n, turns, seeds[turns]) for turns, n in enumerate(lengths) if n]
    )


def training_openings(ruleset: Ruleset, count: int, opening_turns: int, seed: int) -> np.ndarray:
    """Draw openings that are not held out for evaluation, or any where no others have so many turns.

    Returns:
        uint64 `[count, NUM_COLUMNS]`.
    """
    opening_set = set_to_learn_from(ruleset, opening_turns)
    return openings(ruleset, count, opening_turns, seed, opening_set=opening_set)


def fit(ruleset: Ruleset, games: np.ndarray, values: np.ndarray, seed: int) -> ValueWeights:
    """Fit a value network to positions.

    Args:
        ruleset: The ruleset.
        games: uint64 `[N, NUM_COLUMNS]`.
        values: `[N]`, seeds each is worth to its player to move.
        seed: Seed of the first weights and of the order of the positions.
    """
    draw = torch.Generator("cpu").manual_seed(seed)
    kind: Any = {"dtype": torch.float32, "device": "cpu"}  # whatever a program's defaults are
    codes = torch.from_numpy(codes_of(ruleset, games) + NUM_CODES * np.arange(ruleset.num_holes))
    wanted = torch.from_numpy((values - certain_leads(ruleset, games)).astype(np.float32))
    # Random numbers of such a size that units differ and their sums begin at a few seeds.
    weights: list[Tensor] = [
        0.15 * torch.randn(ruleset.num_holes * NUM_CODES, NUM_UNITS, generator=draw, **kind),
        torch.zeros(NUM_UNITS, **kind),
        torch.randn(NUM_UNITS, generator=draw, **kind),
        torch.zeros(1, **kind),
    ]
    embeddings, unit_biases, unit_weights, bias = (each.requires_grad_() for each in weights)
    optimizer = torch.optim.Adam(weights, lr=_RATE)
    steps = max(1, _EPOCHS * len(codes) // _BATCH)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = _RATE + (_LAST_RATE - _RATE) * step / steps
        some = torch.randint(len(codes), (min(_BATCH, len(codes)),), generator=draw, device="cpu")
        sums = nn.functional.embedding_bag(codes[some], embeddings, mode="sum")
        found = torch.relu(sums + unit_biases) @ unit_weights + bias
        loss = nn.functional.huber_loss(found, wanted[some], delta=_HUBER)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    shape = (ruleset.num_holes, NUM_CODES, NUM_UNITS)
    found_weights = [each.detach().numpy() for each in weights]
    return ValueWeights(found_weights[0].reshape(shape), *found_weights[1:])
