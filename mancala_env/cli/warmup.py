"""`mancala warmup`: compile the kernels that common programs need, so that none of them waits for it."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numba.core.event import install_recorder

from mancala_env import Batch, Position, agents, layli_goobalay_v0, search
from mancala_env._util.command_line import Parser
from mancala_env.cli.options import DEFAULT_RULESET, add_outputs
from mancala_env.cli.tables import print_json
from mancala_env.engine.jit.decorator import ANNOUNCER, cache_folder
from mancala_env.envs.families import FAMILIES
from mancala_env.errors import MancalaError
from mancala_env.evaluation.exploit import exploitability
from mancala_env.evaluation.matches import play_matches
from mancala_env.evaluation.regret import measure_regret
from mancala_env.games.records.replay import Replay
from mancala_env.observations.observer import KINDS
from mancala_env.rulesets import lookup
from mancala_env.solver import Solver
from mancala_env.solver.certificate_search import prove

DESCRIPTION = (
    "Compile the kernels that positions, environments, agents, the solver, evaluation and training use. "
    "Later programs read them from the cache. One version serves all rulesets."
)


class Warmed(NamedTuple):
    """A part of the package: the number of kernels compiled for it, and the seconds this took."""

    part: str
    kernels: int
    seconds: float


def add_arguments(parser: Parser) -> None:
    add_outputs(parser, "json")


def run(options: Any) -> int:
    folder = cache_folder(Path(__file__).resolve())
    if folder is None or not os.access(folder, os.W_OK):
        hint = "set NUMBA_CACHE_DIR to a folder that can"
        raise MancalaError(f"{folder or 'the cache folder'} cannot be written; {hint}")
    ANNOUNCER.is_silent = True
    found = []
    for warmed in warm_up():
        found.append(warmed)
        print(f"{warmed.part}: {warmed.kernels} kernels, {warmed.seconds:.1f} s", file=sys.stderr, flush=True)
    kernels, seconds = sum(each.kernels for each in found), sum(each.seconds for each in found)
    if options.json:
        print_json({"folder": str(Path(folder).parent), "parts": [each._asdict() for each in found]})
    else:
        print(f"{kernels} kernels compiled in {seconds:.0f} s; cache: {Path(folder).parent}")
    return 0


def warm_up() -> Iterator[Warmed]:
    """Compile the kernels of each part of the package that is installed."""
    for name, part in _PARTS.items():
        start = time.perf_counter()
        with install_recorder("numba:compile") as compiled:
            part()
        # Each compilation has two events.
        yield Warmed(name, len(compiled.buffer) // 2, time.perf_counter() - start)


def _positions() -> None:
    position = Position(DEFAULT_RULESET)
    position.timeline(position.legal_actions[0])
    position.play(position.legal_actions[0])
    Position.from_text(position.to_text())
    over = Position(DEFAULT_RULESET, [0] * 12, stores=(20, 28))
    _ = over.winner, over.match_winner, over.next_round()
    Replay(over)


def _batches() -> None:
    for kind in KINDS:
        batch = Batch(DEFAULT_RULESET, 2, seed=0, observation=kind)
        batch.step(batch.legal_mask.argmax(axis=1))
        batch.load(batch.games)
    Batch(DEFAULT_RULESET, 2, seed=0).play_random(1)


def _environments() -> None:
    for kind in ("board", "afterstates"):
        env = layli_goobalay_v0.env(observation=kind)
        env.reset(seed=0)
        env.step(2)
        gym_id = FAMILIES[DEFAULT_RULESET].gym_id
        single = gymnasium.make(gym_id, observation=kind)
        _, info = single.reset(seed=0)
        single.step(int(info["action_mask"].argmax()))
        for opponent in ("greedy", "minimax:1"):
            many = gymnasium.make_vec(gym_id, 2, observation=kind, opponent=opponent, rounds="match")
            _, infos = many.reset(seed=0)
            many.step(infos["action_mask"].argmax(axis=1))


def _agents() -> None:
    games = Position(DEFAULT_RULESET).games
    specs = ["random", "greedy", "minimax:2", "value+minimax:2", "mcts:4", "value+mcts:4", "match+mcts:4"]
    specs += ["perfect:0.01s", "perfect+traps:0.01s"]
    if find_spec("torch") is not None:
        specs += ["trained", "policy+mcts:4"]
    for spec in specs:
        agents.make(spec, DEFAULT_RULESET, seed=0, num_threads=1).act(np.repeat(games, 2, axis=0))


def _search() -> None:
    def evaluate(_: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(legal.shape), np.zeros(len(legal))

    for gumbel in (False, True):
        games, limit = Batch(DEFAULT_RULESET, 2, seed=0), search.Limit(simulations=16)
        search.puct(DEFAULT_RULESET, games, evaluate, limit, gumbel=gumbel, seed=0)


def _solver() -> None:
    near_the_end = Position(DEFAULT_RULESET, [0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0], stores=(22, 22))
    Solver(DEFAULT_RULESET, use_book=False).solve(near_the_end)
    prove(Position({"like": DEFAULT_RULESET, "row_width": 4}), memory_mb=16)


def _evaluation() -> None:
    play_matches("random", "greedy", DEFAULT_RULESET, games=2, opening_turns=2, seed=0)
    measure_regret(agents.make("random", DEFAULT_RULESET, seed=0), DEFAULT_RULESET)
    exploitability("greedy", DEFAULT_RULESET)


def _training() -> None:
    if find_spec("sb3_contrib") is None:
        return
    from mancala_env.training.expert_labels import label_positions
    from mancala_env.training.rollout import SelfPlayEnv

    ruleset = lookup(DEFAULT_RULESET)
    for kind in KINDS:
        env = SelfPlayEnv(ruleset, kind, 4, opening_turns=1, opening_share=0.5, seed=0)
        env.reset()
        env.step(env.action_masks().argmax(axis=1))
    label_positions("value+minimax:2", ruleset, 1, exploration=0.0, num_games=1, seed=0)


_PARTS: dict[str, Callable[[], None]] = {
    "positions": _positions,
    "batches and observations": _batches,
    "environments": _environments,
    "agents": _agents,
    "search": _search,
    "solver": _solver,
    "evaluation": _evaluation,
    "training": _training,
}
