"""The number of threads that the BLAS library uses within one kernel: ``intra_op_parallelism_threads``.

The library has one number for the whole process. The first session that sets it decides; a request for
another number while that one is in force is logged and has no effect. When the last session with a setting is
gone, the previous number is restored. Direct sessions and servers call it; ``ops.blas`` finds the library.
"""

from __future__ import annotations

import logging
import os
import weakref

from actorsession.ops.blas import BlasLibrary, loaded_libraries, lock

__all__ = ["BlasThreads", "blas_threads", "hold_blas_threads"]

_log = logging.getLogger("actorsession.runtime")


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
        current: the setting in force.
        settings: number of settings so far, so that the end of an old one does not undo a new one.
        before: while a setting is in force, each library with its previous number.
    """

    def __init__(self) -> None:
        self.current: weakref.ref[BlasThreads] | None = None
        self.settings = 0
        self.before: list[tuple[BlasLibrary, int]] = []

    def restore(self, setting: int) -> None:
        """Restore the previous numbers, unless there is a newer setting."""
        with lock():
            if setting == self.settings:
                for library, number in self.before:
                    library.set(number)
                self.before = []


_process = _Process()


def _start_anew() -> None:
    """Forget the settings in a forked child: the library keeps its number, but no session holds it."""
    global _process
    _process = _Process()


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
    with lock():
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
