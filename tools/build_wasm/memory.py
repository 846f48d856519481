"""Addresses in the memory of ``mancala.wasm``, as the arrays that kernels take."""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NUM_COLUMNS, NUM_RULES, rules_in

LINE = 64
"""Bytes of a cache line. Each array of a block begins on one, which the table of the solver needs."""


def _array_at(typing_context: Any, address: Any, dtype: Any, shape: Any) -> Any:
    """Return the array of a shape at an address.

    `numba.carray` needs numba's runtime, for reference counts.
    """
    array = types.Array(dtype.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(array)(context, builder)
        item = context.get_value_type(array.dtype)
        sizes = [
            context.cast(builder, size, of, types.intp)
            for size, of in zip(cgutils.unpack_tuple(builder, arguments[2]), signature.args[2], strict=True)
        ]
        item_size = context.get_constant(types.intp, array.dtype.bitwidth // 8)
        strides, stride = [], item_size
        for size in reversed(sizes):
            strides.insert(0, stride)
            stride = builder.mul(stride, size)
        place = context.cast(builder, arguments[0], signature.args[0], types.intp)
        context.populate_array(
            made,
            data=builder.inttoptr(place, item.as_pointer()),
            shape=sizes,
            strides=strides,
            itemsize=item_size,
            meminfo=None,
            parent=None,
        )
        return made._getvalue()

    return array(address, dtype, shape), generate


array_at: Any = intrinsic(_array_at)
"""The array of a dtype and a shape at an address, inside a kernel."""

written_out = numba.njit(inline="always", error_model="numpy")
"""Decorator for functions that return an array; numba can only inline them without its runtime."""


@kernel
def rules_at(address):
    """Return the rules at an address."""
    return rules_in(array_at(address, np.int64, (NUM_RULES,)))


@written_out
def games_at(address):
    """Return the array `[1, NUM_COLUMNS]` of the game at an address."""
    return array_at(address, np.uint64, (1, NUM_COLUMNS))


@kernel
def whole_lines(num_bytes):
    """Round a number of bytes up to whole cache lines."""
    return (num_bytes + LINE - 1) // LINE * LINE
