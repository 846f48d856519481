"""Compile the exports to a WebAssembly object: ``python wasm_compile.py OBJECT``, run by ``targets/wasm.py``.

This runs in a process of its own, for numba has to be told before the package is imported that kernels shall
need no runtime. numba compiles each export for this machine's types, unoptimised; its LLVM code names no
machine yet but in two lines, which are replaced. LLVM then links all of it, optimises and writes the object.

What may change with a version of numba or llvmlite stands in this file: ``_nrt``, ``compile_extra``, the
calling convention, and ``array_at`` of the exports.
"""

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
    """Let numba leave the optimising to us, and compile kernels without its runtime and its cache."""
    os.environ["NUMBA_OPT"] = "0"
    os.environ["NUMBA_LOOP_VECTORIZE"] = "0"
    os.environ["NUMBA_SLP_VECTORIZE"] = "0"
    import numba

    njit: Any = numba.njit

    def njit_without_runtime(*arguments: Any, **options: Any) -> Any:
        options["cache"] = False
        return njit(*arguments, _nrt=False, **options)

    numba.njit = njit_without_runtime


def _compiled(function: Callable[..., int], num_arguments: int) -> tuple[str, str]:
    """Return the LLVM code of a function of whole numbers, and what it is called there."""
    from numba.core import compiler, types
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    flags: Any = compiler.Flags()
    flags.nrt = False
    flags.error_model = "numpy"
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    context: Any = cpu_target
    with global_compiler_lock:
        result = compiler.compile_extra(
            context.typing_context,
            context.target_context,
            function,
            (types.int32,) * num_arguments,
            types.int32,
            flags,
            {},
        )
        if not result.library._finalized:
            result.library.finalize()
    return result.library.get_llvm_str(), result.fndesc.llvm_func_name


def _wrapper(name: str, callee: str, num_arguments: int) -> str:
    """Return a function that calls numba's, which returns a status and writes what it has to say.

    Kernels never raise, so the optimiser finds that no status but 0 is possible.
    """
    parameters = ", ".join(f"i32 %a{n}" for n in range(num_arguments))
    types = "".join(", i32" for _ in range(num_arguments))
    return f"""
declare i32 @"{callee}"(ptr, ptr{types})
declare void @llvm.trap()
define i32 @{name}({parameters}) {{
  %value = alloca i32
  %error = alloca ptr
  %status = call i32 @"{callee}"(ptr %value, ptr %error{", " if parameters else ""}{parameters})
  %has_raised = icmp ne i32 %status, 0
  br i1 %has_raised, label %raised, label %fine
raised:
  call void @llvm.trap()
  unreachable
fine:
  %result = load i32, ptr %value
  ret i32 %result
}}
"""


def _compile(out: Path) -> None:
    import llvmlite.binding as llvm

    from mancala_env.targets.wasm_exports import EXPORTS

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine: Any = llvm.Target.from_triple(TARGET).create_target_machine(
        cpu="generic", features=_FEATURES, opt=_SPEED, reloc="static", codemodel="default"
    )
    header = f'target triple = "{TARGET}"\ntarget datalayout = "{machine.target_data}"\n'
    named = re.compile(r"^target (triple|datalayout) = .*$", re.M)

    whole: Any = llvm.parse_assembly(header)
    names = []
    for function in EXPORTS:
        num_arguments = function.__code__.co_argcount
        code, callee = _compiled(function, num_arguments)
        for part in (named.sub("", code), _wrapper(function.__name__, callee, num_arguments)):
            module = llvm.parse_assembly(header + part)
            module.verify()
            whole.link_in(module)
        names.append(function.__name__)
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
    """Fail where something could trap, or would have to come from outside."""
    if "@llvm.trap(" in str(whole):
        sys.exit("wasm_compile: a kernel can raise: its traps were not all found to be impossible")
    missing = [f.name for f in whole.functions if f.is_declaration and not f.name.startswith("llvm.")]
    if missing:
        sys.exit(f"wasm_compile: kernels call what WebAssembly does not have: {', '.join(missing)}")


if __name__ == "__main__":
    _without_runtime()
    _compile(Path(sys.argv[1]))
