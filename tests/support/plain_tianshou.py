"""Tianshou without numba: compiling its functions takes seconds in each process, and they are not cached.

python tests/support/plain_tianshou.py PROGRAM [ARGUMENTS]    # run a program with them in plain Python
"""

import importlib
import runpy
import sys

from numba.core.registry import CPUDispatcher


def plain_functions():
    """Return the compiled functions of Tianshou, as tuples of module, name and Python function."""
    found = []
    for name in ("algorithm.algorithm_base", "data.buffer.manager", "data.utils.segtree"):
        module = importlib.import_module(f"tianshou.{name}")
        compiled = {name: each for name, each in vars(module).items() if isinstance(each, CPUDispatcher)}
        found += [(module, name, each.py_func) for name, each in compiled.items()]
    return found


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    for replaced in plain_functions():
        setattr(*replaced)
    runpy.run_path(sys.argv[0], run_name="__main__")
