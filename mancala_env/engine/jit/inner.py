"""Kernels that other kernels call: LLVM code to link into the caller, without machine code of their own.

numba compiles each called function as if Python called it, too: with two wrappers and machine code. Kernels
are inlined, so nothing would run these. Leaving them out, and compiling one version for all integer types,
halves the time of a compilation. The code is optimised before it is linked: otherwise kernels are 4 % slower.
Kernels that combine whole turns are optimised lightly, because a turn within them is optimised already.
"""

from typing import Any

from llvmlite import binding
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result

# Modules of kernels that combine whole turns. Optimising these fully, too, takes an eighth of the time of
# a compilation and makes play at most 2 % faster.
_COMBINING = {
    f"mancala_env.{name}" for name in ("engine.episode", "engine.holdout", "engine.rounds", "games.batch")
}


class InnerLibrary(JITCodeLibrary):
    """The LLVM code of a kernel and of the kernels it calls."""

    is_light = False
    """Whether to inline and simplify the code only."""

    def _optimize_final_module(self) -> None:
        if not self.is_light:
            super()._optimize_final_module()
            return
        cheap = {"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}
        passes, builder = self._codegen._module_pass_manager(**cheap)
        passes.run(self._final_module, builder)
        self._optimize_functions(self._final_module)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def to_bitcode(self) -> tuple[str, bytes]:
        """Return the name and the code for the disk cache."""
        return self.name, self._get_module_for_linking().as_bitcode()

    @classmethod
    def from_bitcode(cls, codegen: Any, name: str, bitcode: bytes) -> "InnerLibrary":
        """Return the library of :meth:`to_bitcode`."""
        library = cls(codegen, name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        return library


class InnerCompiler(Compiler):
    """Pipeline of numba that stops before machine code."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, args: Any, *options: Any) -> None:
        library = InnerLibrary(targetctx.codegen(), "kernel")
        super().__init__(typingctx, targetctx, library, args, *options)
        self.state.flags.no_compile = True

    def compile_extra(self, func: Any) -> CompileResult:
        """Compile a function; its entry point is a key for callers, not machine code."""
        self.state.library.is_light = func.__module__ in _COMBINING
        result = super().compile_extra(func)._replace(entry_point=object())
        self.state.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


def reduced(result: CompileResult) -> Any:
    """Return a compiled kernel as plain data for the disk cache."""
    result.fndesc.typemap = result.fndesc.calltypes = None
    return result.library.to_bitcode(), result.fndesc, result.signature


def rebuilt(context: Any, bitcode: tuple[str, bytes], fndesc: Any, signature: Any) -> CompileResult:
    """Return the compiled kernel of :func:`reduced`."""
    return compile_result(
        typing_context=context.typing_context,
        target_context=context,
        library=InnerLibrary.from_bitcode(context.codegen(), *bitcode),
        fndesc=fndesc,
        signature=signature,
        entry_point=object(),
        objectmode=False,
        lifted=(),
        reload_init=[],
    )


def canonical(kind: Any) -> Any:
    """Return int64 for literal integers and for integers that it includes, otherwise the type itself."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer) and kind != types.uint64:
        return types.int64
    return kind
