"""Run programs one after another in this process, which imports torch and compiled kernels only once.

python tests/support/examples_in_one_process.py PROGRAM... -- ARGUMENTS    # prints JSON

Each program has its own names, as if Python had started it. The JSON is an object of programs, each with its
output and its error.
"""

import contextlib
import gc
import io
import json
import runpy
import sys
import traceback
from pathlib import Path

from plain_tianshou import plain_functions


def run(program, arguments):
    """Run a program and return its standard output and its traceback."""
    if Path(program).stem == "with_tianshou":
        for replaced in plain_functions():
            setattr(*replaced)
    sys.argv, said, error = [program, *arguments], io.StringIO(), ""
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(program, run_name="__main__")
        except BaseException:
            error = traceback.format_exc()
    return said.getvalue(), error


if __name__ == "__main__":
    gc.disable()  # exporting to ONNX and tracing in JAX keep most of what they make
    words = sys.argv[1:]
    end = words.index("--")
    results = {program: run(program, words[end + 1 :]) for program in words[:end]}
    print(json.dumps(results))
