"""Fit the value network that policy+minimax searches with to the games of a checkpoint.

mancala fit-value runs/layli_goobalay/final.zip

The checkpoint plays itself, its actions drawn by their probabilities, after openings and deviations that
lead to positions as a search meets them. A first network learns how each game ended from there. Then it
values the same positions by searching them a few turns deep, and a second one learns from both: the search
sees what is coming, the end of the game what the search is blind to. Boards that are held out for evaluation
are not learned from, wherever a game meets them. The checkpoint is replaced by one that holds the second
network too; everything else in it stays byte for byte.

Symbols: N positions, H holes, C codes, U units.
"""

import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, check_out, in_one_line
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents import Agent, make
from mancala_env.agents.minimax import MinimaxAgent
from mancala_env.engine.holdout import rows_in_set
from mancala_env.engine.state import PLAYER_COLUMN, SOUTH
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation.matches import MatchGames, play_matches
from mancala_env.evaluation.openings import (
    MAX_OPENING_TURNS,
    openings,
    openings_in_words,
    openings_to_evaluate,
    set_to_learn_from,
)
from mancala_env.networks.checkpoint import (
    IDENTITY_MEMBER,
    VALUE_NETWORK_MEMBER,
    Identity,
    InvalidCheckpoint,
    read_identity,
)
from mancala_env.networks.value import (
    NUM_CODES,
    NUM_UNITS,
    ValueNetworkConfig,
    ValueWeights,
    certain_leads,
    codes_of,
    position_values,
)
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import MOST_TURNS, Budget
from mancala_env.training.run_folder import write_atomically

GAMES, MOST_GAMES, DEPTH = 40_000, 10**7, 6
# Games side by side; what an agent sees of more would not fit the cache.
_GAMES_AT_ONCE = 4000
# A game deviates in so many of its turns until a turn drawn below _STEADY; only what follows is learned from.
_DEVIATIONS, _STEADY = 0.3, 14
# What the search says counts so much beside the end of the game.
_SEARCH_SHARE = 0.7
_BATCH, _EPOCHS, _RATE, _LAST_RATE = 4096, 8, 0.01, 0.0001
# Errors beyond so many seeds count linearly (Huber): relays make some games end anyhow.
_HUBER = 8.0
_HELD_OUT = 0.1
_MATCH = 400

Say = Callable[[str], None]


class Played(NamedTuple):
    """Positions of games, in the order of the games, with their ends.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, running games.
        margins: int64 `[N]`, seeds by which the player to move led at the end.
        game: int64 `[N]`, the number of the game each position is from.
        found: float64 `[N]`, seeds that the agent's search found each worth to its player to move; NaN where
            it is no MinimaxAgent.
        turns: Turns of those games, deviations too.
    """

    games: np.ndarray
    margins: np.ndarray
    game: np.ndarray
    found: np.ndarray
    turns: int


def play(agent: Agent, num_games: int, seed: int) -> Played:
    """Let an agent play itself and return the positions of its games from where it stopped deviating."""
    found = []
    for start in range(0, num_games, _GAMES_AT_ONCE):
        some = _play_some(agent, min(_GAMES_AT_ONCE, num_games - start), seed + start)
        found.append(some._replace(game=some.game + start))
    *arrays, turns = zip(*found, strict=True)
    return Played(*(np.concatenate(parts) for parts in arrays), turns=sum(turns))


def _play_some(agent: Agent, num_games: int, seed: int) -> Played:
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
        values = agent.last_values if isinstance(agent, MinimaxAgent) else np.full(len(rows), np.nan)
        found.append(values[is_steady])
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


def held_out(game: np.ndarray, seed: int) -> np.ndarray:
    """Draw a tenth of the games, of openings of every length, to see what was learned; bool `[N]`."""
    games = np.random.default_rng(seed).permutation(np.unique(game))
    return np.isin(game, games[: max(1, round(_HELD_OUT * len(games)))])


def check_learned(num_positions: int, num_games: int) -> None:
    """Check that games left something to learn from: most of a short one may be deviations and held out.

    Raises:
        InvalidArgument: They did not.
    """
    if not num_positions:
        raise InvalidArgument(
            f"games must be more than {num_games}: none of them left a position to learn from"
        )


def fit_to_play(agent: Agent, num_games: int, depth: int, seed: int, say: Say) -> ValueWeights:
    """Play, fit, search, and fit again.

    Args:
        agent: Who plays the games.
        num_games: How many.
        depth: Turns of the search that values positions with the first network; 0 keeps that one.
        seed: Seed of everything random.
        say: Told how far it is.

    Raises:
        InvalidArgument: The games are so few that there is nothing to learn from.
    """
    ruleset = agent.ruleset
    played = play(agent, num_games, seed)
    is_held_out = held_out(played.game, seed)
    is_learned = ~is_held_out & rows_in_set(ruleset, played.games, "training")
    games, margins = played.games[is_learned], played.margins[is_learned]
    check_learned(len(games), num_games)
    say(f"{len(games):,} positions of {num_games:,} games")
    weights = fit(ruleset, games, margins, seed)
    if depth:
        search = MinimaxAgent(
            ruleset,
            Budget(depth),
            spec=f"minimax:{depth}",
            seed=seed,
            num_threads=agent.num_threads,
            network=weights.packed(),
        )
        search.act(games)
        weights = fit(
            ruleset, games, _SEARCH_SHARE * search.last_values + (1 - _SEARCH_SHARE) * margins, seed
        )
    for name, found in (("the lead", None), ("the value network", weights.packed())):
        error = position_values(ruleset, played.games[is_held_out], found) - played.margins[is_held_out]
        away = np.sqrt((error**2).mean())
        say(f"{name} is {away:.1f} seeds off the end of games it has not seen (root mean square)")
    return weights


def fit_checkpoint(
    path: Path, out: Path, num_games: int = GAMES, depth: int = DEPTH, seed: int = 1, say: Say = print
) -> None:
    """Fit a value network to a checkpoint and write the checkpoint with it, whole or not at all.

    Args:
        path: The checkpoint; nothing in it is unpickled.
        out: Where to write; may be `path` itself.
        num_games: Games it plays.
        depth: See :func:`fit_to_play`.
        seed: The same seed gives the same file (on one thread of torch).
        say: Told how far it is.

    Raises:
        InvalidCheckpoint: It is none, or a safetensors file, which has no room for a second network.
        RunFolderError: `out` cannot be written.
    """
    identity = read_identity(path)
    for file in (path, out):
        if file.suffix == SUFFIX:
            raise InvalidCheckpoint(
                f"{file} holds one network alone, and no second one: fit it to the checkpoint (.zip) that it "
                f"was exported from, or grow one: mancala grow-value {identity.ruleset.name}"
            )
    agent = make(f"sample:{path}", identity.ruleset, seed=seed)
    weights = fit_to_play(agent, num_games, depth, seed, say)
    write_atomically(out, with_value_network(path, identity, weights))


def with_value_network(path: Path, identity: Identity, weights: ValueWeights) -> bytes:
    """Return the content of a checkpoint with that value network in place of any it has."""
    identity = replace(identity, value_network=ValueNetworkConfig(num_holes=identity.ruleset.num_holes))
    packed = BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w") as new:
        for member in old.infolist():
            if member.filename not in (IDENTITY_MEMBER, VALUE_NETWORK_MEMBER):
                new.writestr(member, old.read(member))
        new.writestr(VALUE_NETWORK_MEMBER, weights.to_bytes())
        new.writestr(IDENTITY_MEMBER, identity.to_json())
    return packed.getvalue()


@in_one_line("mancala fit-value")
def main(arguments: list[str] | None = None, program: str = "mancala fit-value") -> int:
    """Fit as the command line says; returns the exit status."""
    parser = Parser(prog=program, description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="a checkpoint, such as runs/first/final.zip")
    parser.add_argument("--out", type=Path, help="where to write; default: the checkpoint itself")
    parser.add_argument("--overwrite", action="store_true", help="replace another checkpoint that is there")
    parser.add_argument("--games", type=int, default=GAMES, help=f"games to play; default {GAMES}")
    parser.add_argument(
        "--depth", type=int, default=DEPTH, help=f"turns of the search; 0: none; default {DEPTH}"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of everything random; default 1")
    options = parser.parse_args(arguments)
    console = Console()
    torch.set_num_threads(1)  # operations this small gain nothing from a second one

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    whole("games", options.games, 1, MOST_GAMES)
    whole("depth", options.depth, 0, MOST_TURNS)
    whole("seed", options.seed, 0, 2**63 - 1)
    out = options.out or options.checkpoint
    if options.out is not None:
        is_itself = out.resolve() == options.checkpoint.resolve()
        check_out(out, read=read_identity, overwrite=options.overwrite or is_itself)
    fit_checkpoint(options.checkpoint, out, options.games, options.depth, options.seed, say)
    say(f"Written: {out}; play it as policy+minimax:6:{out} or policy+minimax:0.1s:{out}")
    ruleset = read_identity(out).ruleset
    result = play_matches(f"policy+minimax:4:{out}", "minimax:4", ruleset, games=_MATCH, seed=options.seed)
    low, high = result.interval
    where = openings_in_words(*openings_to_evaluate(None, ruleset, None))
    say(f"policy+minimax:4 scores {result.win_rate:.1%} ({low:.1%} to {high:.1%}) against minimax:4, {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
