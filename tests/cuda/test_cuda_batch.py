"""CudaBatch equals Batch: on a GPU, in numba's simulator, or as generated code that this processor runs.

`pytest -m gpu` runs these tests; on a machine with a GPU, they use it. Without one, they run the LLVM code of
numba-cuda. The last test runs all others in the simulator, which is chosen when a process starts.
"""

import os
import subprocess
import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Batch, Position, rulesets
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition, InvalidRuleset
from mancala_env.games.batch import Outputs

SIMULATOR = "NUMBA_ENABLE_CUDASIM"
IS_SIMULATED = os.environ.get(SIMULATOR) == "1"
# A turn takes milliseconds in the simulator. All rulesets together play 4.5 million random turns elsewhere.
NUM_GAMES, TURNS, RANDOM_TURNS = (3, 6, 4) if IS_SIMULATED else (300, 60, 500)
ONE_TURN_FROM_THE_END = Position("layli_goobalay", [1] + [0] * 11, stores=(20, 27))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),  # numbers of NumPy, simulated
]


@pytest.fixture(scope="module")
def cuda_batch() -> Any:
    pytest.importorskip("numba_cuda", reason="numba-cuda is missing: pip install '.[cuda]'")
    from mancala_env.cuda import CudaBatch, batch, is_available

    with pytest.MonkeyPatch.context() as patch:
        if not is_available():
            import torch
            from cuda_code_on_cpu import CodeOnCpu

            patch.setattr(batch, "is_available", lambda: True)
            patch.setattr(batch, "torch_device", lambda: torch.device("cpu"))
            patch.setattr(batch, "as_array", lambda tensor: tensor.numpy())
            patch.setattr(batch, "launch", CodeOnCpu().launch)
        yield CudaBatch


def assert_equal(ours: Any, expected: Batch) -> None:
    for name in (*Outputs._fields, "games"):
        assert np.array_equal(getattr(ours, name).cpu().numpy(), getattr(expected, name)), name
    assert np.array_equal(ours._tensors["rng_states"].cpu().numpy(), expected._rng_states)


def both(cuda_batch: Any, *arguments: Any, **options: Any) -> tuple[Any, Batch]:
    return cuda_batch(*arguments, **options), Batch(*arguments, **options)


@pytest.mark.parametrize("name", rulesets.names())
def test_games_are_equal_to_those_of_the_processor(cuda_batch, name):
    rng = np.random.default_rng(1)
    ends = 0
    for rounds, reward, opening_turns in ((1, "outcome", 3), ("match", "margin", 0)):
        options = {"reward": reward, "opening_turns": opening_turns, "first_player": "random"}
        ours, expected = both(cuda_batch, name, NUM_GAMES, rounds, 5, **options)
        assert_equal(ours, expected)
        for _ in range(TURNS):
            actions = np.argmax((rng.random(expected.legal_mask.shape) + 1e-9) * expected.legal_mask, axis=1)
            where = rng.random(NUM_GAMES) < 0.9
            ours.step(actions, where)
            expected.step(actions, where)
            assert_equal(ours, expected)
            ends += int(expected.done.sum())
        assert ours.play_random(RANDOM_TURNS) == expected.play_random(RANDOM_TURNS)
        assert_equal(ours, expected)
    assert ends or IS_SIMULATED


def test_resets_loads_and_copies_are_equal(cuda_batch):
    ours, expected = both(cuda_batch, "layli_goobalay", 3, seed=2, autoreset=False)
    late = np.repeat(ONE_TURN_FROM_THE_END.games, 3, axis=0)
    where, tensors = np.array([True, False, True]), (ours.games, ours.reward)
    ours.load(late, where)
    expected.load(late, where)
    copies = ours.copy(), deepcopy(ours)
    for mask, seed in ((where, None), (~where, 5), (None, 7)):
        actions = expected.legal_mask.argmax(axis=1)
        for batch in (ours, expected):
            batch.step(actions)
        assert_equal(ours, expected)
        for batch in (ours, expected):
            batch.reset(seed, mask)
        assert_equal(ours, expected)
    assert (ours.state.seeds == expected.state.seeds).all()
    assert tensors == (ours.games, ours.reward)
    for copy in copies:
        assert np.array_equal(copy.games.cpu().numpy()[where], late[where])


def test_an_illegal_action_sets_a_flag_and_changes_no_game(cuda_batch):
    ours = cuda_batch("layli_goobalay", 4, seed=1)
    ours.load(np.repeat(ONE_TURN_FROM_THE_END.games, 4, axis=0), np.arange(4) == 1)
    ours.step([2, 0, 2, 2])
    assert ours.done.tolist() == [False, True, False, False]
    before = ours.games.tolist()
    ours.check_actions()
    ours.step([99, 6, -1, int(ours.legal_mask[3].argmax())])
    assert ours.illegal.tolist() == [True, True, True, False]
    assert [a != b for a, b in zip(ours.games.tolist(), before)] == [False, False, False, True]
    assert not ours.done.any()
    assert not ours.rewards.any()
    with raises(IllegalMove, 0, 99):
        ours.check_actions()
    ours.check_actions()


def test_invalid_arguments_are_refused(cuda_batch):
    with raises(InvalidRuleset, "lela"):
        cuda_batch("lela", 2)
    with raises(InvalidArgument, -1):
        cuda_batch("leyla", 2, seed=-1)
    batch = cuda_batch("leyla", 2, seed=1)
    before = batch.games.tolist()
    for actions in ([0, 1, 2], [0.0, 1.0], [True, False]):
        with raises(IllegalMove, len(actions)):
            batch.step(actions)
    with raises(InvalidArgument, 3):
        batch.step([0, 0], [True] * 3)
    for size in (2, 3):  # empty boards, then too many
        with raises(InvalidPosition, *[3] * (size == 3)):
            batch.load(np.zeros((size, 16), np.uint64))
    with raises(InvalidArgument, -2):
        batch.play_random(-2)
    assert batch.games.tolist() == before


@pytest.mark.skipif(IS_SIMULATED, reason="this is the simulator")
def test_the_simulator_plays_equal_games():
    pytest.importorskip("torch")
    words = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--maxfail=3", __file__]
    simulated = os.environ | {SIMULATOR: "1"}
    run = subprocess.run([sys.executable, *words], env=simulated, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    assert f"{len(rulesets.names()) + 4} passed" in run.stdout


def test_a_step_after_the_end_leaves_the_end(cuda_batch: Any) -> None:
    batch = cuda_batch("layli_goobalay", 1, autoreset=False)
    batch.load(ONE_TURN_FROM_THE_END.games)
    batch.step([0])
    batch.step([0])  # illegal
    assert (batch.done.tolist(), batch.illegal.tolist()) == ([True], [True])
    with raises(InvalidArgument, "reset()"):
        batch.play_random(1)
