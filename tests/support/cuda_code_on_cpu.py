"""Run the code that numba-cuda generates for a GPU on this processor, without a GPU.

numba-cuda types and lowers a kernel to LLVM code. Only the last step, from LLVM code to the GPU, is missing:
here LLVM compiles the same code for this processor, as one thread that plays all games.
"""

import ctypes
import re
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from mancala_env.cuda.kernels import make_kernels

# numba-cuda replaces this package of numba.
_cuda: Any = import_module("numba.cuda")
_compiler: Any = import_module("numba.cuda.compiler")
_dispatcher: Any = import_module("numba.cuda.dispatcher")
_typeof: Any = import_module("numba.cuda.typing.typeof").typeof
_CAPABILITY = (9, 0)
# The special registers of a GPU, in a launch of one block of one thread.
_REGISTERS = "\n".join(
    f"define i32 @read_{name}() alwaysinline {{ ret i32 {value} }}"
    for name, value in {"tid": 0, "ctaid": 0, "ntid": 1, "nctaid": 1}.items()
)


class _Table:
    """A table in the memory of this processor that numba-cuda takes for one on a device."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = np.ascontiguousarray(table)
        self.__cuda_array_interface__ = self.table.__array_interface__


class CodeOnCpu:
    """The kernels of mancala_env.cuda; `launch` has the interface of mancala_env.cuda.device.launch."""

    def __init__(self) -> None:
        device = type("Device", (), {"compute_capability": _CAPABILITY})
        _dispatcher.get_current_device = lambda: device
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._kernels = make_kernels(_cuda.jit(device=True), _Table)
        self._compiled: dict[str, Any] = {}
        self._kept: list[Any] = []

    def launch(self, name: str, num_games: int, *arguments: Any) -> None:
        if name not in self._compiled:
            self._compiled[name] = self._compile(name, arguments)
        self._compiled[name](*map(ctypes.c_int64, _flat(arguments)))

    def _compile(self, name: str, arguments: tuple[Any, ...]) -> Any:
        signature = _cuda.types.void(*map(_typeof, arguments))
        library, _ = _compiler._compile_pyfunc_with_fixup(
            self._kernels[name], signature, device=False, abi="numba", cc=_CAPABILITY
        )
        module = llvm.parse_assembly(_REGISTERS)
        for code in library.llvm_strs:
            code = re.sub(r"target (datalayout|triple) = .*", "", code)
            code = re.sub(r'@"?llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.x"?', r"@read_\1", code)
            module.link_in(llvm.parse_assembly(code))
        machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        self._kept += [engine, machine, builder]
        return ctypes.CFUNCTYPE(None)(engine.get_function_address(library._entry_name))


def _flat(arguments: Any) -> list[int]:
    """Return the arguments as numba passes them: an array is two pointers, sizes, address, shape, strides."""
    if isinstance(arguments, np.ndarray):
        a = arguments
        return [0, 0, a.size, a.itemsize, a.ctypes.data, *a.shape, *a.strides]
    return (
        [n for each in arguments for n in _flat(each)] if isinstance(arguments, tuple) else [int(arguments)]
    )
