"""The number of threads that the BLAS library uses within one kernel: ``intra_op_parallelism_threads``.

The library has one number for the whole process. The first session that sets it decides; a request for
another number while that one is in force is logged and has no effect. When the last session with a setting is
gone, the previous number is restored. Direct sessions and servers call it; ``ops.blas`` finds the library.

Servers whose host runs other tasks of the cluster take a share of the cores, which counts while no session
has a setting.
"""

from __future__ import annotations

import logging
import os
import weakref

from actorsession.ops.blas import BlasLibrary, loaded_libraries, lock

__all__ = ["BlasThreads", "blas_threads", "hold_blas_threads", "share_blas_threads"]

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
        made = BlasThreads(number)
        if share:
            self.shares.append(weakref.ref(made))
        else:
            self.current = weakref.ref(made)
        weakref.finalize(made, self.settle).atexit = False
        self.settle()
        return made

    def settle(self) -> None:
        """Make the libraries use the number that is in force now, or else their previous ones."""
        with lock():
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
        made = process.add(number, share=False)
        if made is None:
            _log.warning(
                "intra_op_parallelism_threads=%d has no effect: no OpenBLAS is loaded in this process, "
                "and numpy's library is not one whose threads can be set",
                number,
            )
        return made


def share_blas_threads(number: int) -> BlasThreads | None:
    """Make BLAS use a number of threads while no session has asked for one, because others share the cores.

    Args:
        number: number of threads; at least 1. The least one counts if several servers of this process share.

    Returns:
        The share, to be referenced as long as it should last; ``None`` if no supported library is loaded.
    """
    with lock():
        return _process.add(number, share=True)
