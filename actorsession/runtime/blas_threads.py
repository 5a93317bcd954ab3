"""How many threads the BLAS library uses within one kernel: ``intra_op_parallelism_threads``.

The library has one number for the whole process. The first session that asks decides it; another number
while that one counts is logged and has no effect. When the last session that asked is gone, the number from
before counts again. Direct sessions and servers call it; ``ops.blas`` has the library.
"""

from __future__ import annotations

import logging
import os
import weakref

from actorsession.ops.blas import BlasLibrary, loaded_libraries, lock

__all__ = ["BlasThreads", "blas_threads", "hold_blas_threads"]

_log = logging.getLogger("actorsession.runtime")


def blas_threads() -> int | None:
    """Return the number of threads that BLAS uses now; ``None`` if its library is not known."""
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
        current: what counts.
        settings: how many there were, so that the end of an old one does not undo a new one.
        before: each library with its number from before, while a setting counts.
    """

    def __init__(self) -> None:
        self.current: weakref.ref[BlasThreads] | None = None
        self.settings = 0
        self.before: list[tuple[BlasLibrary, int]] = []

    def restore(self, setting: int) -> None:
        """Go back to the numbers from before, if no other setting has come."""
        with lock():
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
    """Make BLAS use a number of threads, unless another number counts already.

    Args:
        number: at least 1.

    Returns:
        What counts, to be held as long as it should; ``None`` if no library is known that could be asked.
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
