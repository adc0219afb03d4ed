"""The decorators of compiled kernels: without the GIL, compiled on the first call, cached between processes.

Numba caches compiled code beside the sources and reuses it while the kernel's own file is unchanged. But the code
includes the functions that the kernel calls, from other files, and their constants: after an update of those alone it
would be outdated. Here a kernel is compiled anew if its file, or any file of this package that it imports directly or
indirectly, has changed.

Numba gives every function wrappers for Python and C, and machine code, even if only other kernels call it; that was a
third of the time of compiling. Here these are linked into the kernels that call them, and optimised there.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

from tagtopic._core.display import COMPILING_NOTICE

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent.parent
IMPORTS = re.compile(rf"^from {PACKAGE.name}\.?([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def compiled(function: Function) -> Function:
    """Compile a kernel with strict arithmetic."""
    return _compiled(function)


def compiled_reordering(function: Function) -> Function:
    """Compile a kernel whose sums may be reordered and fused, so that they are vectorised.

    NaN and infinity are respected, and on one kind of CPU the bits are always the same.
    """
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"})


def _compiled(function: Function, **options: Any) -> Function:
    options |= {"nogil": True, "error_model": "numpy"}
    kernel: Any = numba.njit(pipeline_class=_KernelCompiler, **options)(function)
    if kernel is function:  # NUMBA_DISABLE_JIT
        return function

    @cache
    def callee() -> Any:
        """Return the function as other kernels call it; made for those that do."""
        no_wrappers: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        found: Any = numba.njit(pipeline_class=_CalleeCompiler, **no_wrappers, **options)(function)
        found._compiling_counter = kernel._compiling_counter  # by which Numba finds recursive calls
        return found

    def get_call_template(args: Any, kws: Any) -> Any:
        """Return the callee for these types; a constant is a number like any other, for which nothing is compiled."""
        return callee().get_call_template([types.unliteral(arg) for arg in args], kws)  # type: ignore[no-untyped-call]

    kernel.get_call_template, kernel.get_overload = get_call_template, lambda sig: callee().get_overload(sig)
    with suppress(RuntimeError):  # no writable cache: each process compiles what it needs
        kernel._cache = _KernelCache(function)
    return cast(Function, kernel)


class _CalleeLibrary(JITCodeLibrary):
    """The LLVM code of a kernel as other kernels call it: linked into theirs, never to machine code of its own."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the code is optimised where it is linked."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._verify_declare_only_symbols()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer: there is no machine code."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> Any:
        return self._codegen if not self._finalized else _NO_ENVIRONMENTS


class _NoEnvironments:
    """Takes the environment of a callee, which has an address only in the kernels that call it."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing."""


_NO_ENVIRONMENTS = _NoEnvironments()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector: a sixth of the time of compiling, in which Numba makes many objects and keeps them.

    Numba compiles one kernel at a time, so that this is not entered twice.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _CalleeCompiler(Compiler):
    """Numba's compiler of a kernel for other kernels."""

    def _compile_core(self) -> Any:
        if self.state.library is None:
            self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        return super()._compile_core()  # type: ignore[no-untyped-call]


class _KernelCompiler(Compiler):
    """Numba's compiler of a kernel for Python, with the environments of its callees."""

    def _compile_core(self) -> Any:
        with COMPILING_NOTICE.measure(), _no_garbage_collection():
            result = super()._compile_core()  # type: ignore[no-untyped-call]
        library = result.library
        for variable in library._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv") and not variable.is_declaration:
                environment = lookup_environment(variable.name)  # type: ignore[no-untyped-call]
                if environment is not None:
                    library.codegen.set_env(variable.name, environment)
        return result


class _KernelCache(FunctionCache):
    """Numba's cache, outdated if any of the sources has changed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        file = Path(function.__code__.co_filename)
        if file.is_file():
            stamp = stamp_of(file)
            self._cache_file = IndexDataCacheFile(self.cache_path, self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for these types; None if it has to be compiled, which then begins."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is not None and tuple(found.signature.args) != tuple(sig):
            found = None  # two processes compiled for different types at once, and gave their code the same file name
        if found is None:
            _COMPILING.add((id(self), sig))
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache compiled code."""
        _COMPILING.discard((id(self), sig))
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]


_COMPILING: set[tuple[int, Any]] = set()


def is_compiling() -> bool:
    """Whether a kernel is being compiled; progress bars show it."""
    return bool(_COMPILING)


def stamp_of(file: Path) -> bytes:
    """Return a digest of this file and of all files of the package that it needs."""
    return hashlib.sha256(b"".join(_digest(path) for path in sorted(needed_by(file)))).digest()


@cache
def needed_by(file: Path) -> frozenset[Path]:
    """Return this file and the files of the package that it imports, directly or indirectly."""
    needed, unread = {file}, [file]
    while unread:
        further = _named_in(unread.pop()) - needed
        needed |= further
        unread.extend(further)
    return frozenset(needed)


@cache
def _named_in(file: Path) -> frozenset[Path]:
    """Return the files of the package that this one imports."""
    found = IMPORTS.findall(file.read_text(encoding="utf-8"))
    places = [(PACKAGE.joinpath(*module.split(".")), names) for module, names in found]
    each = (_file_of(place / name) or _file_of(place) for place, names in places for name in re.findall(r"\w+", names))
    return frozenset(path for path in each if path is not None)


def _file_of(module: Path) -> Path | None:
    candidates = (module.with_suffix(".py"), module / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


@cache
def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()
