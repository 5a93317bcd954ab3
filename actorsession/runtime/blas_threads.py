"""How many threads the BLAS library uses within one kernel: ``intra_op_parallelism_threads``.

The library has one number for the whole process. The first session that asks decides it; another number
while that one counts is logged and has no effect. When the last session that asked is gone, the number from
before counts again. Direct sessions call it. numpy has no call for this, so the library that numpy has
loaded is asked through ctypes: OpenBLAS under any of the names that its builds give to its functions.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["BlasLibrary", "BlasThreads", "blas_threads", "hold_blas_threads", "loaded_libraries"]

_log = logging.getLogger("actorsession.runtime")
_MAPS = Path("/proc/self/maps")
# Builds add "scipy_" in front and "64_" behind, so that several fit into one process.
_PREFIXES, _SUFFIXES = ("scipy_", ""), ("64_", "", "_64", "_")


@dataclass(frozen=True, slots=True)
class BlasLibrary:
    """An OpenBLAS that this process has loaded.

    Attributes:
        path: of its file.
        get: the number of threads that it uses.
        set: makes it use a number of threads.
    """

    path: str
    get: Callable[[], int]
    set: Callable[[int], None]


def loaded_libraries(paths: Sequence[str] | None = None) -> list[BlasLibrary]:
    """The OpenBLAS libraries of this process.

    Args:
        paths: files to look at; by default those that the process has loaded.
    """
    found = (_open(path) for path in (_loaded_files() if paths is None else paths))
    return [library for library in found if library is not None]


def _loaded_files() -> list[str]:
    """Files with OpenBLAS in their name, as the process has loaded them or numpy brings them along."""
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
                return BlasLibrary(path, get, change)
    return None


def blas_threads() -> int | None:
    """The number of threads that BLAS uses now; ``None`` if its library is not known."""
    libraries = loaded_libraries()
    return libraries[0].get() if libraries else None


class BlasThreads:
    """The number that the sessions which hold this have agreed on; it counts while somebody does.

    Args:
        number: threads.
    """

    __slots__ = ("__weakref__", "number", "refused")

    def __init__(self, number: int) -> None:
        self.number = number
        self.refused: set[int] = set()


class _Process:
    """What this process has set.

    Attributes:
        lock: taken again by the same thread when a holder is collected meanwhile.
        current: what counts.
        settings: how many there were, so that the end of an old one does not undo a new one.
        before: each library with its number from before, while a setting counts.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.current: weakref.ref[BlasThreads] | None = None
        self.settings = 0
        self.before: list[tuple[BlasLibrary, int]] = []

    def restore(self, setting: int) -> None:
        """Goes back to the numbers from before, if no other setting has come."""
        with self.lock:
            if setting == self.settings:
                for library, number in self.before:
                    library.set(number)
                self.before = []


_process = _Process()


def _start_anew() -> None:
    """In a forked child: the library keeps its number, and nobody holds it."""
    global _process
    _process = _Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def hold_blas_threads(number: int) -> BlasThreads | None:
    """Makes BLAS use a number of threads, unless another number counts already.

    Args:
        number: at least 1.

    Returns:
        What counts, to be held as long as it should; ``None`` if no library is known that could be asked.
    """
    process = _process
    with process.lock:
        held = process.current() if process.current is not None else None
        if held is not None:
            if number not in {held.number, *held.refused}:
                held.refused.add(number)
                _log.warning(
                    "intra_op_parallelism_threads=%d has no effect: BLAS has one number of threads for "
                    "the process, and a session that asked for %d lives",
                    number, held.number,
                )  # fmt: skip
            return held
        if not process.before:
            process.before = [(library, library.get()) for library in loaded_libraries()]
        if not process.before:
            _log.warning(
                "intra_op_parallelism_threads=%d has no effect: no OpenBLAS is loaded in this process, "
                "and numpy's library is not one whose threads can be set",
                number,
            )
            return None
        for library, _ in process.before:
            library.set(number)
        made = BlasThreads(number)
        process.settings += 1
        end = weakref.finalize(made, process.restore, process.settings)
        end.atexit = False
        process.current = weakref.ref(made)
        return made
