"""Objects that belong to one process, and say so when a program pickles or copies them.

A graph and what is in it, sessions, clusters and servers hold locks, loops, sockets and processes. Without
these bases the standard library names a lock that the program has never seen. All packages import the
module; it imports nothing.

Invariant: a class that is public is a value, which pickles and copies, or is a ``ProcessBound``, or holds
what its user gave it. The table is in ``tests/test_pickling.py``, and a new class must be in it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self

__all__ = ["GraphBound", "ProcessBound", "finalize_here"]


class ProcessBound:
    """The base class of what can neither be pickled nor copied.

    Attributes:
        instead: what a program does in place of it, as the end of a sentence.
    """

    __slots__ = ()

    instead: ClassVar[str] = "make another one where it is needed"

    def __reduce_ex__(self, protocol: Any, /) -> NoReturn:
        """Refuse to be pickled or copied.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"{type(self).__name__} objects can be neither pickled nor copied, because they "
            f"belong to one process: {self.instead}"
        )

    def __copy__(self) -> Self:
        """Refuse to be copied, as ``__reduce_ex__`` does."""
        return self.__reduce_ex__(None)

    def __deepcopy__(self, memo: dict[int, Any], /) -> Self:
        """Refuse to be copied, as ``__reduce_ex__`` does."""
        return self.__reduce_ex__(None)


class GraphBound(ProcessBound):
    """The base class of what stands for nodes of a graph; as of a function, a shallow copy is the object."""

    __slots__ = ()

    instead = (
        "pickle Graph.as_graph_def() and import it in the other process, or build the graph there; "
        "names find the nodes again"
    )

    def __copy__(self) -> Self:
        """Return the object itself: a second one for the same nodes would be equal to none."""
        return self


def finalize_here(owner: object, call: Callable[..., object], *args: Any) -> weakref.finalize[Any, Any]:
    """Call a function when an object is dropped or the program ends, but not in a forked child.

    A child has copies of all objects, and what they would remove or write at its end is its parent's.
    """
    return weakref.finalize(owner, _call_in, os.getpid(), call, args)


def _call_in(process: int, call: Callable[..., object], args: tuple[Any, ...]) -> None:
    if os.getpid() == process:
        call(*args)
