"""Tianshou without numba: compiling its functions takes seconds in each process, and they are not cached."""

import importlib

from numba.core.registry import CPUDispatcher


def plain_functions():
    """Return the compiled functions of Tianshou, as tuples of module, name and Python function."""
    found = []
    for name in ("algorithm.algorithm_base", "data.buffer.manager", "data.utils.segtree"):
        module = importlib.import_module(f"tianshou.{name}")
        compiled = {name: each for name, each in vars(module).items() if isinstance(each, CPUDispatcher)}
        found += [(module, name, each.py_func) for name, each in compiled.items()]
    return found
