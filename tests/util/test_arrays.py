"""Public functions accept arrays of NumPy, torch and JAX on the CPU, and refuse those of other devices."""

from typing import Any

import numpy as np
import pytest
import torch
from error_checks import raises

import mancala_env
from mancala_env import Batch, Position, agents
from mancala_env._util.checks import cpu_array
from mancala_env.engine.validation import first_impossible
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.errors import InvalidArgument
from mancala_env.observations import observe

GAMES = Batch("leyla", 3, seed=1, opening_turns=4).games


def jax_array(array):
    jax = pytest.importorskip("jax", reason="jax is not installed here")
    with jax.enable_x64(True):
        return jax.numpy.asarray(array)


LIBRARIES = {"numpy": np.asarray, "torch": torch.from_numpy, "jax": jax_array}


class OnDevice:
    """An array in the memory of another device, as DLPack describes it."""

    device = "cuda:0"

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **options):
        raise AssertionError("an array of another device is not read")


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_array_of_any_library_becomes_one_of_numpy(library):
    for array in (np.arange(6, dtype=np.uint64), np.array([True, False]), np.array(3), np.zeros((2, 3))):
        taken = cpu_array("x", LIBRARIES[library](array))
        assert type(taken) is np.ndarray
        assert taken.dtype == array.dtype
        assert (taken == array).all()
        assert taken.flags.c_contiguous
        assert taken.flags.writeable


def test_a_tensor_shares_its_memory_and_may_have_a_gradient():
    tensor = torch.zeros(3, requires_grad=True)
    taken = cpu_array("x", tensor)
    taken[1] = 7
    assert tensor.tolist() == [0, 7, 0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_games_and_actions_may_be_of_any_library(library):
    of = LIBRARIES[library]
    actions = Batch("leyla", 3, autoreset=False).legal_mask.argmax(axis=1)
    games = of(GAMES.copy())
    first = mancala_env.start("leyla", 3).games
    expected = mancala_env.step("leyla", first, actions)
    after = mancala_env.step("leyla", of(first), of(actions))
    assert all((one == other).all() for one, other in zip(after, expected, strict=True))
    batch = Batch("leyla", 3)
    batch.step(of(actions), of(np.array([True, False, True])))
    assert (batch.games[[0, 2]] == expected.games[[0, 2]]).all()
    batch.load(games)
    assert (batch.games == GAMES).all()
    assert (observe("leyla", games) == observe("leyla", GAMES)).all()
    assert Position.from_games("leyla", games, 1) == Position.from_games("leyla", GAMES, 1)
    agent = agents.make("minimax:2", "leyla", seed=1)
    assert agent.act(games).tolist() == agents.make("minimax:2", "leyla", seed=1).act(GAMES).tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_environments_take_actions_of_any_library(library):
    of = LIBRARIES[library]
    one, many, vec = MancalaEnv("leyla"), MancalaVectorEnv(2, "leyla"), MancalaVecEnv(2, "leyla")
    _, info = one.reset(seed=1)
    _, infos = many.reset(seed=1)
    vec.reset()
    one.step(of(np.array(info["action_mask"].argmax())))
    many.step(of(infos["action_mask"].argmax(axis=1)))
    vec.step(of(vec.action_masks().argmax(axis=1)))
    assert one.position.games.tolist() == many.position(0).games.tolist()


def test_an_array_of_another_device_is_refused():
    env = MancalaVectorEnv(2, "leyla")
    env.reset(seed=1)
    vec = MancalaVecEnv(2, "leyla")
    vec.reset()
    away: list = [OnDevice()]
    for call in (
        lambda array: cpu_array("x", array),
        lambda array: Batch("leyla", 2).step(array),
        lambda array: mancala_env.step("leyla", GAMES, array),
        lambda array: mancala_env.step("leyla", array, [0, 0, 0]),
        lambda array: agents.make("minimax:2", "leyla").act(array),
        env.step,
        vec.step,
    ):
        with raises(InvalidArgument, "cuda:0", ".cpu()"):
            call(away[0])


@pytest.mark.parametrize(
    ("tensor", "wrong"),
    [
        (torch.zeros(2, dtype=torch.int64, device="meta"), "meta"),
        (torch.eye(2, dtype=torch.int64).to_sparse(), "Sparse"),
        (torch.zeros(2, dtype=torch.bfloat16), "BFloat16"),
    ],
    ids=["meta", "sparse", "bfloat16"],
)
def test_a_tensor_that_numpy_cannot_read_is_refused(tensor, wrong):
    with raises(InvalidArgument, "actions", wrong):
        Batch("leyla", 2).step(tensor)


def test_an_array_that_jax_traces_is_refused():
    jax = pytest.importorskip("jax", reason="jax is not installed here")
    traced = jax.jit(lambda actions: mancala_env.step("leyla", GAMES, actions).games)
    with raises(InvalidArgument, "actions", "jax.pure_callback"):
        traced(np.zeros(3, np.int32))


@pytest.mark.skipif(not hasattr(first_impossible, "signatures"), reason="the JIT is off")
def test_a_read_only_array_compiles_no_kernel_again():
    mancala_env.step("leyla", GAMES, [0, 0, 0], illegal="lose")
    kernel: Any = first_impossible
    before = len(kernel.signatures)
    games = GAMES[::-1].copy()
    games.flags.writeable = False
    mancala_env.step("leyla", games, [0, 0, 0], illegal="lose")
    mancala_env.step("leyla", GAMES[::-1], [0, 0, 0], illegal="lose")
    assert len(kernel.signatures) == before
