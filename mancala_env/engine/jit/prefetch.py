"""Tell the processor which memory a kernel is about to read."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

# Arguments of LLVM's instruction: the memory is read, kept in every cache, and has data instead of code.
_READ, _IN_EVERY_CACHE, _DATA = 0, 3, 1


def prefetch(array: Any, index: Any) -> None:
    """Start loading the cache line of an element of a one-dimensional array, without waiting for it.

    It only saves time. Without compilation and in WebAssembly it does nothing.
    """


def _prefetched(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(array)(context, builder, arguments[0])
        place = context.cast(builder, arguments[1], index, types.intp)
        element = cgutils.get_item_pointer(context, builder, array, made, [place])
        pointer, number = cgutils.voidptr_t, cgutils.int32_t
        type_of = ir.FunctionType(ir.VoidType(), (pointer, number, number, number))
        instruction = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), type_of)
        how = [number(value) for value in (_READ, _IN_EVERY_CACHE, _DATA)]
        builder.call(instruction, [builder.bitcast(element, pointer), *how])
        return context.get_dummy_value()

    return types.void(array, index), generate


_instruction: Any = intrinsic(_prefetched)


@overload(prefetch)
def _prefetch_in_kernels(array: Any, index: Any) -> Any:
    def compiled(array: Any, index: Any) -> None:
        _instruction(array, index)

    return compiled
