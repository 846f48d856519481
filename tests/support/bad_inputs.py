"""Generate invalid inputs: values of the wrong type, shape or range for every argument of public functions.

Each must raise a ValueError (IllegalMove, InvalidArgument, ...) with a message within a second.
"""

import random
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np

import mancala_env
from mancala_env import Batch, Position, Ruleset, agents, evaluation, layli_goobalay_v0, solver
from mancala_env.engine import coordinates
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.observations import Observer

_MOST_SECONDS = 5.0  # the aim is one second; a busy machine needs more

NUMBERS: tuple[Any, ...] = (
    -1,
    -(2**70),
    2**70,
    1.5,
    float("nan"),
    float("inf"),
    "3",
    None,
    True,
    [1],
    b"1",
    {},
)
TEXTS: tuple[Any, ...] = ("", "nonsense", "a b", "\x1b[31m", 7, None, ["leyla"], b"leyla", "leyla " * 99)
SPECS: tuple[Any, ...] = (
    "",
    "gredy",
    "minimax",
    "minimax:0",
    "minimax:-1",
    "minimax:x",
    "minimax:1e9",
    "mcts:0",
    "mcts:0s",
    "mcts:-1s",
    "perfect:0s",
    "perfect:x",
    "random:1",
    "policy+minimax:4",
    "policy+minimax:4:no.zip",
    "sample:",
    "sample:no.zip",
    "no/such/file.zip",
    "\x1b[31m",
    7,
    None,
    ["greedy"],
)
POSITIONS: tuple[Any, ...] = (
    "",
    "leyla",
    "leyla 4,4 0-0 S",
    "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 X",
    "leyla x,4,4,4,4,4/4,4,4,4,4,4 0-0 S",
    "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0 S",
    "leyla 99,4,4,4,4,4/4,4,4,4,4,4 0-0 S",
    "none 4/4 0-0 S",
    "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S stall=99",
    "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S round=0",
    "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S nothing=1",
)
MASKS: tuple[Any, ...] = (
    [0, 1],
    [1.0, float("nan")],
    [True],
    "all",
    np.ones(3, bool),
    np.ones((2, 1), bool),
    1,
)
ACTIONS: tuple[Any, ...] = (
    [0],
    [0, 1, 2],
    [0.0, 1.0],
    ["0", "1"],
    [99, 0],
    [-1, 0],
    None,
    [2**70, 0],
    [[0], [1]],
)
ONE_ACTION: tuple[Any, ...] = (-1, 99, 1.5, "0", None, 2**70, [0], float("nan"))
GAMES: tuple[Any, ...] = (
    np.zeros((2, 16), np.uint64),
    np.zeros((2, 15), np.uint64),
    np.zeros((3, 16), np.uint64),
    [[0] * 16] * 2,
    None,
    np.full((2, 16), 2**64 - 1, np.uint64),
    np.zeros((2, 16), np.int64),
    "games",
)

Case = tuple[str, Callable[[Any], Any], tuple[Any, ...]]


def _batch() -> Batch:
    return Batch("leyla", 2, seed=1)


def _env() -> Any:
    env: Any = MancalaEnv("leyla", seat="south")
    env.reset(seed=1)
    return env


def _vector() -> Any:
    envs: Any = MancalaVectorEnv(2, "leyla")
    envs.reset(seed=1)
    return envs


def _position() -> Position:
    return Position("leyla")


CASES: tuple[Case, ...] = (
    ("Position(ruleset)", Position, TEXTS),
    ("Position(seeds)", lambda v: Position("leyla", v), ([1], [4.0] * 12, [-1] * 12, [99] * 12, "4" * 12, 7)),
    (
        "Position(owner)",
        lambda v: Position("leyla", [4] * 12, v),
        ([1], [2] * 12, [0.5] * 12, [0] + [-1] * 11, 7),
    ),
    ("Position(player)", lambda v: Position("leyla", [4] * 12, player=v), (2, -1, "S", 1.5, None, [0])),
    ("Position(stall)", lambda v: Position("leyla", [4] * 12, stall=v), NUMBERS[:9]),
    ("Position(round)", lambda v: Position("leyla", [4] * 12, round=v), NUMBERS[:9]),
    (
        "Position(stores)",
        lambda v: Position("leyla", [4] * 12, stores=v),
        ((1,), (-1, 0), (99, 0), "ab", 7, None),
    ),
    ("Position.from_text", lambda v: Position.from_text(v), POSITIONS),
    ("Position.from_games", lambda v: Position.from_games("leyla", v), GAMES[:2] + GAMES[3:]),
    ("Position.play", lambda v: _position().play(v), ONE_ACTION),
    ("Ruleset(row_width)", lambda v: Ruleset(row_width=v), (1, 13, 2.5, "6", None, True)),
    ("Ruleset(seeds)", lambda v: Ruleset(seeds_per_hole=v), (0, 99, 2.5, "4", None)),
    ("Ruleset(landing)", lambda v: Ruleset(landing=v), TEXTS[:6]),
    ("Batch(num_games)", lambda v: Batch("leyla", v), (0, *NUMBERS[:2], *NUMBERS[3:])),
    ("Batch(rounds)", lambda v: Batch("leyla", 1, v), (0, 1001, *NUMBERS, "Match")),
    ("Batch(seed)", lambda v: Batch("leyla", 1, seed=v), (-1, 1.5, "3", True, [1])),
    ("Batch(opening_turns)", lambda v: Batch("leyla", 1, opening_turns=v), NUMBERS),
    ("Batch(first_player)", lambda v: Batch("leyla", 1, first_player=v), (2, -1, "south", True, None, 0.5)),
    ("Batch(reward)", lambda v: Batch("leyla", 1, reward=v), TEXTS[:6]),
    ("Batch(observation)", lambda v: Batch("leyla", 1, observation=v), TEXTS[:6]),
    ("Batch.step", lambda v: _batch().step(v), ACTIONS),
    ("Batch.step(where)", lambda v: _batch().step([0, 0], v), MASKS),
    ("Batch.reset(where)", lambda v: _batch().reset(where=v), MASKS),
    ("Batch.load", lambda v: _batch().load(v), GAMES),
    ("Batch.play_random", lambda v: _batch().play_random(v), (-1, 1.5, "3", None, True)),
    ("step(games)", lambda v: mancala_env.step("leyla", v, [0, 0]), GAMES),
    ("step(actions)", lambda v: mancala_env.step("leyla", _batch().games, v), ACTIONS),
    ("step(illegal)", lambda v: mancala_env.step("leyla", _batch().games, [0, 0], illegal=v), TEXTS[:6]),
    ("Observer(kind)", lambda v: Observer("leyla", v), TEXTS[:6]),
    ("Observer(num_actions)", lambda v: Observer("leyla", "board", v), (0, 99, 1.5, "6", True)),
    (
        "Observer.write(out)",
        lambda v: Observer("leyla").write(_batch().games, v),
        (*GAMES, np.zeros((2, 34))),
    ),
    ("squares.hole_of(action)", lambda v: coordinates.hole_of("leyla", 0, v), ONE_ACTION),
    ("squares.action_of(player)", lambda v: coordinates.action_of("leyla", v, 0), (2, -1, "S", None, 0.5)),
    ("squares.square_of", lambda v: coordinates.square_of("leyla", v), ONE_ACTION),
    ("agents.make", lambda v: agents.make(v, "leyla"), SPECS),
    ("agents.make(ruleset)", lambda v: agents.make("greedy", v), TEXTS),
    ("MancalaEnv(opponent)", lambda v: MancalaEnv("leyla", opponent=v), (*SPECS[:-1], [], ["gredy"], [7])),
    ("MancalaEnv(seat)", lambda v: MancalaEnv("leyla", seat=v), (*TEXTS[:6], 0, 1)),
    ("MancalaEnv(illegal)", lambda v: MancalaEnv("leyla", illegal=v), TEXTS[:6]),
    ("MancalaEnv(render_mode)", lambda v: MancalaEnv("leyla", render_mode=v), ("", "rgb", 7, ["ansi"])),
    ("MancalaEnv(rounds)", lambda v: MancalaEnv("leyla", rounds=v), (0, 1001, *NUMBERS)),
    ("MancalaEnv.step", lambda v: _env().step(v), ONE_ACTION),
    (
        "MancalaEnv.reset(options)",
        lambda v: _env().reset(options=v),
        ({"sat": 1}, {"position": "x"}, {"position": 7}),
    ),
    ("MancalaVectorEnv(num_envs)", lambda v: MancalaVectorEnv(v, "leyla"), (0, *NUMBERS[:2], *NUMBERS[3:])),
    ("MancalaVectorEnv.step", lambda v: _vector().step(v), ACTIONS),
    ("layli_goobalay_v0.env", lambda v: cast(Any, layli_goobalay_v0.env)(v), TEXTS[:4] + TEXTS[6:]),
    (
        "evaluation.play_matches(games)",
        lambda v: evaluation.play_matches("random", "greedy", "leyla", games=v),
        (1, 3, *NUMBERS),
    ),
    (
        "evaluation.play_matches(opening_turns)",
        lambda v: evaluation.play_matches("random", "greedy", "leyla", games=2, opening_turns=v),
        (13, *[value for value in NUMBERS if value is not None]),
    ),
    (
        "evaluation.round_robin",
        lambda v: evaluation.round_robin(v, "leyla", games=2),
        ([], ["random"], ["random"] * 2, [7, 8]),
    ),
    ("Solver(memory_mb)", lambda v: solver.Solver("leyla", memory_mb=v), (0, -1, float("nan"), "64", None)),
    ("Solver(num_threads)", lambda v: solver.Solver("leyla", num_threads=v), (0, -1, 1.5, "2", None)),
    (
        "solver.solve(time_limit)",
        lambda v: solver.solve(_position(), time_limit=v),
        (0, -1, float("nan"), "1", [1]),
    ),
)


def try_bad_inputs(seed: int) -> int:
    """Pass invalid values to some arguments; raises for the first that is not rejected correctly."""
    rng = random.Random(seed)
    tried = 0
    for name, call, values in rng.sample(CASES, 12):
        value = rng.choice(values)
        spent = _seconds_to_refuse(name, call, value)
        if spent >= _MOST_SECONDS:  # the first call may include the compilation of a kernel
            spent = _seconds_to_refuse(name, call, value)
        assert spent < _MOST_SECONDS, f"{name} with {value!r} took {spent:.1f} s to be refused"
        tried += 1
    return tried


def _seconds_to_refuse(name: str, call: Callable[[Any], Any], value: Any) -> float:
    """Pass an invalid value; return the seconds until the error, and raise if none is correct."""
    began = time.monotonic()
    try:
        call(value)
    except ValueError as error:
        if not str(error).strip():
            raise AssertionError(f"{name} with {value!r}: an empty message") from error
        return time.monotonic() - began
    except Exception as error:
        raise AssertionError(f"{name} with {value!r}: {type(error).__name__}: {error}") from error
    raise AssertionError(f"{name} takes {value!r}")


def every_bad_input() -> list[str]:
    """Return a message for each case that is not rejected correctly."""
    found = []
    for name, call, values in CASES:
        for value in values:
            try:
                call(value)
                found.append(f"{name} takes {value!r}"[:150])
            except ValueError as error:
                if not str(error).strip():
                    found.append(f"{name} with {value!r}: an empty message"[:150])
            except Exception as error:
                found.append(f"{name} with {value!r}: {type(error).__name__}: {error}"[:200])
    return found
