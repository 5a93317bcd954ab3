"""The threads of the BLAS library that numpy has loaded: their number, and who decides it.

OpenBLAS has one number of threads for the whole process. Its threads spin while they wait for each other, at
every product. On idle cores a small product gains little from that, and on busy cores it stalls. (Two cores
at load 6, a 128x784 by a 784x256 matrix: 0.7 ms with one thread of the library, 42 with two.) Therefore
``single_threaded`` limits it to one thread during products of ``blas``. numpy has no function for this, so
the library is called through ctypes, under any of the names that its builds give to its functions.

The first session that asks for a number (``intra_op_parallelism_threads``) decides; a request for another one
while that is in force is logged and has no effect. When the last session with a setting is gone, the previous
number is restored. Servers whose host runs other tasks of the cluster take a share of the cores, which counts
while no session has a setting: a training step of a small convolutional network took 455 ms on two cores that
were busy, and 22 ms with one thread. Processes that are started together get shares by their environment.

numpy's OpenBLAS may also fail to recognise a new processor and use older kernels than it could: with
``Haswell`` kernels a product of two 2048² float32 matrices took 71 ms, with ``SkylakeX`` 38 (2 shared cores).
The variable for that must be set before numpy is imported, so it is set for processes that are started here,
and never in the user's own process; a choice made by the environment is kept.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from actorsession.records import dataclass

__all__ = [
    "BlasThreads",
    "blas_threads",
    "core_type",
    "hold_blas_threads",
    "loaded_libraries",
    "mkl_is_slow",
    "share_blas_threads",
    "single_threaded",
    "thread_count",
    "usual_threads",
]

_log = logging.getLogger("actorsession.runtime")

_MAPS = Path("/proc/self/maps")
# Builds add the prefix "scipy_" and the suffix "64_", so that several libraries fit into one process.
_PREFIXES, _SUFFIXES = ("scipy_", ""), ("64_", "", "_64", "_")


@dataclass(frozen=True, slots=True)
class BlasLibrary:
    """An OpenBLAS library that this process has loaded.

    Attributes:
        path: path of the library's file.
        kernels: name of the kernels that it has chosen for this processor, such as ``SkylakeX``.
        asked: the library's function that returns its number of threads.
        changed: the library's function that sets its number of threads.
    """

    path: str
    kernels: str
    asked: Callable[[], int]
    changed: Callable[[int], None]

    def get(self) -> int:
        """Return the number of threads that products use outside ``single_threaded``."""
        with _aside.lock:
            return _aside.numbers.get(self.path) or self.asked()

    def set(self, number: int) -> None:
        """Set the number of threads of products; if ``single_threaded`` limits them now, for later."""
        with _aside.lock:
            if self.path in _aside.numbers:
                _aside.numbers[self.path] = number
            else:
                self.changed(number)


class _Aside:
    """The numbers of threads that ``single_threaded`` has saved.

    Attributes:
        lock: held by every change of a number of threads; reentrant, because a garbage collection may set a
            number in the thread that holds it.
        users: how many kernels limit the libraries to one thread now.
        numbers: the saved number for each library path, while ``users`` is not 0.
        usual: the largest number that the first of the users found.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.numbers: dict[str, int] = {}
        self.usual = 1


_aside = _Aside()


def loaded_libraries(paths: Sequence[str] | None = None) -> list[BlasLibrary]:
    """Return the OpenBLAS libraries of this process.

    Args:
        paths: files to look at; by default those that the process has loaded.
    """
    libraries = (_open(path) for path in (_loaded_files() if paths is None else paths))
    return [library for library in libraries if library is not None]


def _loaded_files() -> list[str]:
    """Return files with OpenBLAS in their name that the process has loaded or that come with numpy."""
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # no Linux: a wheel of numpy has its libraries in one of these folders
        package = Path(np.__file__).parent
        folders = (package.parent / "numpy.libs", package / ".dylibs")
        return sorted(str(p) for f in folders if f.is_dir() for p in f.glob("*openblas*"))
    paths = (line.split(maxsplit=5)[5] for line in lines if line.count(" ") >= 5 and "/" in line)
    return sorted({path for path in paths if "openblas" in path.rpartition("/")[2].lower()})


def _open(path: str) -> BlasLibrary | None:
    try:
        # Its functions only read or set a number, which takes less time than releasing the interpreter lock.
        library = ctypes.PyDLL(path)
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
            change = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            if get is not None and change is not None:
                get.restype, get.argtypes = ctypes.c_int, []
                change.restype, change.argtypes = None, [ctypes.c_int]
                name = getattr(library, f"{prefix}openblas_get_corename{suffix}", None)
                return BlasLibrary(path, _kernels(name), get, change)
    return None


def _kernels(name: Callable[[], bytes | None] | None) -> str:
    """Return the result of a library's function that names its kernels."""
    if name is None:
        return "unknown"
    name.restype, name.argtypes = ctypes.c_char_p, []  # type: ignore[attr-defined]
    return (name() or b"unknown").decode()


@cache
def _of_numpy() -> tuple[BlasLibrary, ...]:
    """Return the libraries that compute numpy's products; cached, since the search takes a millisecond."""
    return tuple(loaded_libraries())


def usual_threads() -> int:
    """Return how many threads a product uses outside ``single_threaded``; 1 if the library is not found."""
    return max((library.get() for library in _of_numpy()), default=1)


class single_threaded:
    """Limit products to one thread within the block, in all threads of the process.

    The block's value is how many threads a product uses otherwise; 1 if the library is not found. A class,
    because a generator takes a microsecond more, and there is one of these for each product.
    """

    __slots__ = ("_limits",)

    def __enter__(self) -> int:
        libraries, state = _of_numpy(), _aside
        self._limits = state.users > 0 or any(library.asked() > 1 for library in libraries)
        if not self._limits:
            return 1
        with state.lock:
            state.users += 1
            if state.users == 1:
                for library in libraries:
                    state.numbers[library.path] = library.asked()
                    library.changed(1)
                state.usual = max(state.numbers.values())
            return state.usual

    def __exit__(self, *_: object) -> None:
        if not self._limits:
            return
        state = _aside
        with state.lock:
            state.users -= 1
            if state.users == 0:
                for library in _of_numpy():
                    library.changed(state.numbers.pop(library.path))


# -- the number that sessions and servers ask for --------------------------------------------------


def blas_threads() -> int | None:
    """Return the current number of BLAS threads; ``None`` if no supported library is loaded."""
    libraries = loaded_libraries()
    return libraries[0].get() if libraries else None


class BlasThreads:
    """A number of BLAS threads that sessions share; it is in force as long as this object is referenced.

    Args:
        number: number of threads.
    """

    __slots__ = ("__weakref__", "number", "refused")

    def __init__(self, number: int) -> None:
        self.number = number
        self.refused: set[int] = set()


class _Process:
    """The settings of this process.

    Attributes:
        current: the setting that a session or server was given.
        shares: the shares of the servers in this process; the least counts while there is no setting.
        before: while a number is in force, each library with its previous number.
    """

    def __init__(self) -> None:
        self.current: weakref.ref[BlasThreads] | None = None
        self.shares: list[weakref.ref[BlasThreads]] = []
        self.before: list[tuple[BlasLibrary, int]] = []

    def add(self, number: int, *, share: bool) -> BlasThreads | None:
        """Return a new setting or share, which is in force from now on; ``None`` without a library."""
        if not self.before:
            self.before = [(library, library.get()) for library in loaded_libraries()]
        if not self.before:
            return None
        setting = BlasThreads(number)
        if share:
            self.shares.append(weakref.ref(setting))
        else:
            self.current = weakref.ref(setting)
        weakref.finalize(setting, self.settle).atexit = False
        self.settle()
        return setting

    def settle(self) -> None:
        """Make the libraries use the number that is in force now, or else their previous ones."""
        with _aside.lock:
            held = self.current() if self.current is not None else None
            self.shares = [ref for ref in self.shares if ref() is not None]
            shares = [share.number for ref in self.shares if (share := ref()) is not None]
            number = min(shares, default=None) if held is None else held.number
            for library, previous in self.before:
                library.set(previous if number is None else number)
            if number is None:
                self.before = []


_process = _Process()


def _start_anew() -> None:
    """Reset the state in a forked child, where neither kernels that limit a library nor sessions exist.

    A library keeps the number that a session has asked for.
    """
    global _aside, _process
    numbers, _aside, _process = _aside.numbers, _Aside(), _Process()
    for library in _of_numpy() if numbers else ():
        library.changed(numbers[library.path])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def hold_blas_threads(number: int) -> BlasThreads | None:
    """Make BLAS use a number of threads, unless another number is in force.

    Args:
        number: number of threads; at least 1.

    Returns:
        The setting in force, to be referenced as long as it should last; ``None`` if no supported library is
        loaded.
    """
    process = _process
    with _aside.lock:
        held = process.current() if process.current is not None else None
        if held is not None:
            if number not in {held.number, *held.refused}:
                held.refused.add(number)
                _log.warning(
                    "intra_op_parallelism_threads=%d has no effect: BLAS has one number of threads for "
                    "the process, and a session that asked for %d lives",
                    number,
                    held.number,
                )
            return held
        setting = process.add(number, share=False)
        if setting is None:
            _log.warning(
                "intra_op_parallelism_threads=%d has no effect: no OpenBLAS is loaded in this process, "
                "and numpy's library is not one whose threads can be set",
                number,
            )
        return setting


def share_blas_threads(number: int) -> BlasThreads | None:
    """Make BLAS use a number of threads while no session has asked for one, because others share the cores.

    Args:
        number: number of threads; at least 1. The least one counts if several servers of this process share.

    Returns:
        The share, to be referenced as long as it should last; ``None`` if no supported library is loaded.
    """
    with _aside.lock:
        return _process.add(number, share=True)


# -- the environment of processes that are started -------------------------------------------------

# The features that the SkylakeX kernels need; OpenBLAS checks the same before it selects them itself.
_AVX512 = frozenset({"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"})

# Variables with which the user chooses; OpenBLAS reads them in this order.
_CHOICES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def core_type(cpuinfo: str | None = None) -> str | None:
    """Return the value of ``OPENBLAS_CORETYPE`` for processes that we start.

    Args:
        cpuinfo: text of ``/proc/cpuinfo``; read from there if left out.

    Returns:
        The user's own choice if there is one, ``SkylakeX`` if the processor has AVX-512, and otherwise
        ``None``: leave the choice to the library.
    """
    chosen = os.environ.get("OPENBLAS_CORETYPE")
    if chosen:
        return chosen
    return "SkylakeX" if _has_avx512(_of_processor() if cpuinfo is None else cpuinfo) else None


def mkl_is_slow(cpuinfo: str | None = None) -> bool:
    """Return whether MKL, if a library has it, leaves half of the processor's registers unused.

    It does so on processors that are not Intel's: a product of 512x128 by 128x512 takes 612 us on a core of an AMD EPYC
    with AVX-512, and 534 with OpenBLAS.

    Args:
        cpuinfo: as for ``core_type``.
    """
    text = _of_processor() if cpuinfo is None else cpuinfo
    return _has_avx512(text) and "GenuineIntel" not in text


def _of_processor() -> str:
    """Return the text of ``/proc/cpuinfo``; nothing where there is none, or of another kind of processor."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _has_avx512(cpuinfo: str) -> bool:
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    return set(flags.split()) >= _AVX512


def thread_count(processes: int, cores: int) -> int | None:
    """Return the value of ``OPENBLAS_NUM_THREADS`` for processes that we start together.

    Args:
        processes: the number of processes.
        cores: the number of cores for all of them.

    Returns:
        The cores for each process, at least one; ``None`` if the user has chosen, or if there is one process,
        which may use all.
    """
    if any(os.environ.get(name) for name in _CHOICES):
        return None
    return max(1, cores // processes) if processes > 1 else None
