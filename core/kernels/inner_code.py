"""Compilation of functions that only kernels call: as parts of the kernels, not one by one.

By itself, numba compiles each function completely: it optimizes the function together with all its callees, translates
the result to machine code, and adds wrappers for calls from Python and C. For each caller it does the same again with
all callees of the callee. Here an inner function becomes a draft instead: its intermediate code and that of its
callees, without wrappers and machine code. The kernel at the top of the calls is optimized and translated, once.

A draft that is not inlined by force is optimized before it enters its callers, as numba does: its loops are vectorized
while they are still apart from others, on which the speed of some fits depends.

This module and `shared_code.py` are the only ones that depend on undocumented classes of numba;
`docs/decisions/0020-how-kernels-are-compiled.md` says why, and the tests of the same names check the behavior that they
rely on.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba.core import event, sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.untyped_passes import TranslateByteCode

from core.kernels.kernel_locks import KernelLocks

_unliteral: Any = types.unliteral
_pass_builder: Any = DefaultPassBuilder
_library: Any = JITCodeLibrary
_function_pass: Any = FunctionPass
_registered: Any = register_pass
_flags: Any = Flags
_normalized: Any = sigutils.normalize_signature
_numba_lock: Any = global_compiler_lock
_trigger: Any = event.trigger_event

#: Kind of the events of numba while a process waits until another one has compiled a kernel.
WAITING = "core:waiting-for-kernel"

_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class QuickFlags(_flags):  # type: ignore[misc]
    """Options of a compilation, which numba compares at each look-up of a function: first those that are set.

    With all options the comparison takes a tenth of the time of compilation.
    """

    def __hash__(self) -> int:
        return hash(type(self))

    def __eq__(self, other: object) -> bool:
        return self._values == getattr(other, "_values", None) or bool(super().__eq__(other))


class KernelDispatcher(CPUDispatcher):
    """Dispatcher that compiles for the types of arguments only, where numba would compile f(0) and f(n) separately."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compiler: Any
        self._compiler._customize_flags = QuickFlags
        self.overloads: Any
        self.locks: KernelLocks | None = None

    def compile(self, sig: Any) -> Any:
        """Compile the function for the types `sig`, or load its code from the disk, where it has a cache.

        A process holds numba's lock while it waits for another process, so that its threads do not wait in a circle.
        """
        types_of_arguments, _ = _normalized(sig)
        if self.locks is None or types_of_arguments in self.overloads:
            return super().compile(sig)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}{types_of_arguments}"
        with _numba_lock, self.locks.lock(name, lambda: _trigger(WAITING, data={"dispatcher": self})):
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the signature of a call by another compiled function."""
        return super().get_call_template(
            [_unliteral(one) for one in args], {name: _unliteral(one) for name, one in kws.items()}
        )


class InnerDispatcher(KernelDispatcher):
    """Dispatcher of a function that only kernels call."""

    def __init__(self, function: Any, options: dict[str, Any], compile_alone: Callable[[], Any]) -> None:
        super().__init__(function, targetoptions=options | _NO_WRAPPERS, pipeline_class=InnerCompiler)
        self._compile_alone = compile_alone

    def __call__(self, *arguments: Any) -> Any:
        """Call the function from Python, as tests do: as a kernel of its own, since a draft cannot be called."""
        return self._alone(*arguments)

    @cached_property
    def _alone(self) -> Any:
        return self._compile_alone()


class AddressDispatcher(KernelDispatcher):
    """Dispatcher of a kernel that other kernels call at its address, and Python does not call."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options | _NO_WRAPPERS)

    def address(self, argument_types: tuple[Any, ...]) -> int:
        """Return the address of the machine code for `argument_types` in this process, compiled if necessary."""
        self.compile(argument_types)
        compiled = self.overloads[argument_types]
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


class _NoEnvironments:
    """Code generator that ignores the environments of functions: numba looks for their addresses in machine code."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class _Draft(_library):  # type: ignore[misc]
    """Intermediate code of a function and its callees."""

    is_inlined = False

    def finalize(self) -> None:
        """Add the code of the callees; optimize unless the callers will."""
        self._raise_if_finalized()
        for callee in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(callee._reload_init)
            self._final_module.link_in(callee._get_module_for_linking(), preserve=True)
        if not self.is_inlined:
            self._optimize_final_module()
        self._finalized = True

    @property
    def codegen(self) -> _NoEnvironments:
        return _NoEnvironments()

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        return 0


@_registered(mutates_CFG=False, analysis_only=True)
class _BeginDraft(_function_pass):  # type: ignore[misc]
    _name = "begin_draft"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Set the library that receives the code of the function."""
        new_draft: Any = _Draft
        state.library = new_draft(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.is_inlined = bool(state.flags.forceinline)
        return False


class InnerCompiler(CompilerBase):
    """Numba's compiler, with drafts as results."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, of which one begins a draft."""
        passes = _pass_builder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_BeginDraft, TranslateByteCode)
        passes.finalize()
        return [passes]
