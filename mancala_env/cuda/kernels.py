"""The kernels of the processor as functions for the GPU.

Kernels are compiled a second time, from the same Python functions. Look-up tables are globals of these
functions. numba-cuda would copy each of them into constant memory, which is too small. So the functions get
other globals: the tables are arrays on the device, and the kernels that they call are functions for the GPU.
"""

import builtins
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import cuda

from mancala_env.engine.episode import play_random as play_random_rows
from mancala_env.engine.state import RUNNING
from mancala_env.engine.state import load as load_game
from mancala_env.engine.turn import is_legal
from mancala_env.games.batch import reset_rows, step_rows, view_rows

_cuda: Any = cuda


class _DeviceFunctions:
    """Kernels, and all kernels and tables that they use, converted once each."""

    def __init__(self, compile_function: Callable[[Any], Any], to_device: Callable[[Any], Any]) -> None:
        self._compile, self._to_device = compile_function, to_device
        self._functions: dict[Any, Any] = {}
        self._globals: dict[str, dict[str, Any]] = {}
        self._tables: dict[int, Any] = {}
        # numba-cuda does not compile np.sign.
        self._numpy = ModuleType("numpy")
        vars(self._numpy).update(vars(np))
        vars(self._numpy)["sign"] = compile_function(lambda n: 1 if n > 0 else (-1 if n < 0 else 0))

    def convert(self, kernel: Any) -> Any:
        """Return a kernel as a function for the GPU."""
        function = getattr(kernel, "py_func", kernel)
        if function not in self._functions:
            space = self._globals.setdefault(function.__module__, {"__builtins__": builtins})
            for name in function.__code__.co_names:
                if name in function.__globals__ and name not in space:
                    space[name] = self._value(function.__globals__[name])
            copy = FunctionType(function.__code__, space, function.__name__, function.__defaults__)
            copy.__module__ = function.__module__
            self._functions[function] = self._compile(copy)
        return self._functions[function]

    def _value(self, value: Any) -> Any:
        """Return what replaces the value of a global."""
        if value is np:
            return self._numpy
        if isinstance(value, np.ndarray):
            # The original is kept, too: another array could get its id.
            return self._tables.setdefault(id(value), (self._to_device(value), value))[0]
        plain = getattr(value, "py_func", value)
        is_ours = isinstance(plain, FunctionType) and plain.__module__.startswith("mancala_env")
        return self.convert(value) if is_ours else value


def make_kernels(
    compile_function: Callable[[Any], Any], to_device: Callable[[Any], Any]
) -> dict[str, Callable[..., None]]:
    """Return the kernels by name, as functions for ``cuda.jit``. A thread plays one game or several.

    `compile_function` compiles the functions that kernels call, and `to_device` copies a table to the device.
    """
    functions = _DeviceFunctions(compile_function, to_device)
    load, legal = functions.convert(load_game), functions.convert(is_legal)
    view_row, reset_row = functions.convert(view_rows), functions.convert(reset_rows)
    step_row, play_row = functions.convert(step_rows), functions.convert(play_random_rows)

    def view(rules, games, outputs, wanted):
        for b in range(_cuda.grid(1), games.shape[0], _cuda.gridsize(1)):
            view_row(rules, games, outputs, wanted, b, b + 1)

    def reset(rules, settings, games, rng_states, wanted):
        for b in range(_cuda.grid(1), games.shape[0], _cuda.gridsize(1)):
            reset_row(rules, settings, games, rng_states, wanted, b, b + 1)

    def step(rules, settings, autoreset, games, rng_states, actions, wanted, outputs, illegal):
        """Play a turn in each wanted game. Where the action is illegal, set a flag and do not play."""
        for b in range(_cuda.grid(1), games.shape[0], _cuda.gridsize(1)):
            if not wanted[b]:
                continue
            if legal(rules, load(games, b), actions[b], outputs.legal_mask.shape[1]):
                step_row(rules, settings, autoreset, games, rng_states, actions, wanted, outputs, b, b + 1)
                continue
            illegal[b] = True
            outputs.rewards[b, 0] = outputs.rewards[b, 1] = outputs.reward[b] = 0
            if load(games, b).end == RUNNING:  # the end of an episode stays until the reset
                outputs.done[b] = outputs.truncated[b] = False

    def play_random(rules, settings, games, rng_states, turns):
        for b in range(_cuda.grid(1), games.shape[0], _cuda.gridsize(1)):
            play_row(rules, settings, games, rng_states, turns, b, b + 1)

    return {"view": view, "reset": reset, "step": step, "play_random": play_random}
