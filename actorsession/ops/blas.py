"""The BLAS library that numpy has loaded, and threads that a kernel uses instead of the library's threads.

OpenBLAS has one number of threads for the whole process. Its threads spin while they wait for each other, at
every product. A kernel that makes hundreds of small products, as a convolution does, gains little from them
on idle cores and stalls on busy cores. (32 images of 28x28x64, a 3x3 filter, two cores with another program
on one: 12 ms with one thread of BLAS, 96 with two.) Such a kernel therefore limits the library to one thread
while it runs, and distributes its own blocks over threads that synchronise once, at the end.

numpy has no function for this, so the library is called through ctypes, under any of the names that its
builds give to its functions. ``runtime.blas_threads`` sets the number that sessions request.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from actorsession.records import dataclass

__all__ = [
    "BlasLibrary", "in_shares", "loaded_libraries", "lock", "single_threaded", "usual_threads",
]  # fmt: skip

_T = TypeVar("_T")
_R = TypeVar("_R")

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
        """Set the number of threads of products; inside ``single_threaded`` it takes effect at its end."""
        with _aside.lock:
            if self.path in _aside.numbers:
                _aside.numbers[self.path] = number
            else:
                self.changed(number)


class _Aside:
    """The numbers of threads that ``single_threaded`` has saved.

    Attributes:
        lock: reentrant, because a garbage collection may set a number in the thread that holds it.
        users: how many kernels limit the libraries to one thread now.
        numbers: the saved number for each library path, while ``users`` is not 0.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.numbers: dict[str, int] = {}


_aside = _Aside()


def lock() -> threading.RLock:
    """Return the lock held by every change of a number of threads; one for all, so that locks never nest."""
    return _aside.lock


def loaded_libraries(paths: Sequence[str] | None = None) -> list[BlasLibrary]:
    """Return the OpenBLAS libraries of this process.

    Args:
        paths: files to look at; by default those that the process has loaded.
    """
    found = (_open(path) for path in (_loaded_files() if paths is None else paths))
    return [library for library in found if library is not None]


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
        library = ctypes.CDLL(path)
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


@contextmanager
def single_threaded() -> Iterator[int]:
    """Limit products to one thread within the block, in all threads of the process.

    Yields:
        How many threads a product uses otherwise; 1 if the library is not found.
    """
    libraries = _of_numpy()
    state = _aside
    with state.lock:
        state.users += 1
        if state.users == 1:
            for library in libraries:
                state.numbers[library.path] = library.asked()
                library.changed(1)
        usual = max((state.numbers[library.path] for library in libraries), default=1)
    try:
        yield usual
    finally:
        with state.lock:
            state.users -= 1
            if state.users == 0:
                for library in libraries:
                    library.changed(state.numbers.pop(library.path))


def _start_anew() -> None:
    """Reset the state in a forked child, in which the kernels that limited the library do not exist."""
    global _aside
    numbers, _aside = _aside.numbers, _Aside()
    for library in _of_numpy() if numbers else ():
        library.changed(numbers[library.path])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def in_shares(work: Callable[[Sequence[_T]], _R], items: Sequence[_T], threads: int) -> list[_R]:
    """Distribute items over threads that are started for this call, and wait for all of them.

    Args:
        work: called with each share; the first share runs in the caller's thread, every other in its own.
        items: the items to distribute, in order; neighbours stay together.
        threads: how many threads work at most, including the caller's; never more than there are items.

    Returns:
        The result of each share, in order.

    Raises:
        Exception: the exception of the first share that failed, after all shares have ended.
    """
    count = max(1, min(threads, len(items)))
    if count == 1:
        return [work(items)]
    edges = [len(items) * share // count for share in range(count + 1)]
    shares = [items[a:b] for a, b in pairwise(edges)]
    outcomes: list[_R | BaseException] = [RuntimeError("not run")] * count

    def run(number: int) -> None:
        try:
            outcomes[number] = work(shares[number])
        except BaseException as error:
            outcomes[number] = error

    helpers = [
        threading.Thread(target=run, args=(number,), name=f"share {number} of a kernel")
        for number in range(1, count)
    ]
    for helper in helpers:
        helper.start()
    run(0)
    for helper in helpers:
        helper.join()
    results = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
