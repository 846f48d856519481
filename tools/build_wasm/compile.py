"""Compile the exports to a WebAssembly object: ``python compile.py OBJECT``, run by ``build.py``.

This runs in a process of its own, because numba must compile without its runtime from the start, before the
package is imported. numba compiles each export without optimisation. Two lines of its LLVM code name the
machine; they are replaced. Then LLVM links the code, optimises it and writes the object.

A new version of numba or llvmlite may change ``_nrt``, ``compile_extra``, the calling convention, and
``array_at`` of the exports. Nothing else depends on their internals.
"""

import gc
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TARGET = "wasm32-unknown-unknown"
# All browsers since 2021, and node 16.
_FEATURES = "+bulk-memory,+bulk-memory-opt,+sign-ext,+nontrapping-fptoint,+mutable-globals,+multivalue"
_SPEED, _INLINING = 3, 225


def _without_runtime() -> None:
    """Make numba compile kernels without optimisation, its runtime and its cache."""
    os.environ["NUMBA_OPT"] = "0"
    os.environ["NUMBA_LOOP_VECTORIZE"] = "0"
    os.environ["NUMBA_SLP_VECTORIZE"] = "0"
    os.environ["NUMBA_CACHE_DIR"] = os.devnull  # disables the cache
    import numba

    njit: Any = numba.njit

    def njit_without_runtime(*arguments: Any, **options: Any) -> Any:
        return njit(*arguments, **options | {"_nrt": False})

    numba.njit = njit_without_runtime


def _compiled(function: Callable[..., Any], is_real: bool = False) -> tuple[str, str]:
    """Return the LLVM code of a function of int32 or, if `is_real`, float64, and its name in that code."""
    from numba.core import compiler, types
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    from mancala_env.engine.jit.inner import InnerCompiler

    flags: Any = compiler.Flags()
    flags.nrt = False
    flags.error_model = "numpy"
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.no_compile = True
    context: Any = cpu_target
    number = types.float64 if is_real else types.int32
    with global_compiler_lock:
        result = compiler.compile_extra(
            context.typing_context,
            context.target_context,
            function,
            (number,) * function.__code__.co_argcount,
            number,
            flags,
            {},
            pipeline_class=InnerCompiler,  # no machine code for this machine
        )
        if not result.library._finalized:
            result.library.finalize()
    return result.library.get_llvm_str(), result.fndesc.llvm_func_name


def _wrapper(name: str, callee: str, num_arguments: int, number: str = "i32") -> str:
    """Return a function that calls the one of numba, which returns a status and writes its result.

    Kernels never raise, so the optimiser removes the branch for other statuses than 0.
    """
    parameters = "".join(f", {number} %a{n}" for n in range(num_arguments))
    types = f", {number}" * num_arguments
    return f"""
declare i32 @"{callee}"(ptr, ptr{types})
declare void @llvm.trap()
define {number} @{name}({parameters[2:]}) {{
  %value = alloca {number}
  %error = alloca ptr
  %status = call i32 @"{callee}"(ptr %value, ptr %error{parameters})
  %has_raised = icmp ne i32 %status, 0
  br i1 %has_raised, label %raised, label %fine
raised:
  call void @llvm.trap()
  unreachable
fine:
  %result = load {number}, ptr %value
  ret {number} %result
}}
"""


def _compile(out: Path) -> None:
    import llvmlite.binding as llvm

    from tools.build_wasm.exports import EXPORTS, PROVIDED

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine: Any = llvm.Target.from_triple(TARGET).create_target_machine(
        cpu="generic", features=_FEATURES, opt=_SPEED, reloc="static", codemodel="default"
    )
    header = f'target triple = "{TARGET}"\ntarget datalayout = "{machine.target_data}"\n'
    named = re.compile(r"^target (triple|datalayout) = .*$", re.M)

    whole: Any = llvm.parse_assembly(header)
    names = [function.__name__ for function in EXPORTS]

    def add(code: str) -> None:
        code = named.sub("", code)
        for asked, function in PROVIDED.items():
            code = code.replace(f"@{asked}(", f"@provided_{function.__name__}(")
        code = code.replace("@sqrt(", "@llvm.sqrt.f64(")  # an instruction of WebAssembly
        module = llvm.parse_assembly(header + code)
        module.verify()
        whole.link_in(module)

    for function in EXPORTS:
        code, callee = _compiled(function)
        add(code)
        add(_wrapper(function.__name__, callee, function.__code__.co_argcount))
    for function in PROVIDED.values():
        code, callee = _compiled(function, is_real=True)
        add(code)
        add(_wrapper(f"provided_{function.__name__}", callee, function.__code__.co_argcount, "double"))
    for function in whole.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"

    tuning: Any = llvm.create_pipeline_tuning_options(speed_level=_SPEED)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    tuning.inlining_threshold = _INLINING
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(whole, builder)
    _check(whole)
    out.write_bytes(machine.emit_object(whole))


def _check(whole: Any) -> None:
    """Exit with an error if a kernel could trap, or calls a function that is not defined."""
    if "@llvm.trap(" in str(whole):
        sys.exit("wasm_compile: a kernel can raise: the optimiser did not remove every trap")
    missing = [f.name for f in whole.functions if f.is_declaration and not f.name.startswith("llvm.")]
    if missing:
        sys.exit(f"wasm_compile: kernels call functions that WebAssembly lacks: {', '.join(missing)}")


if __name__ == "__main__":
    gc.disable()  # compilers keep nearly everything
    _without_runtime()
    _compile(Path(sys.argv[1]))
