"""Context managers that may be entered again and again, also while they are entered.

``on = acts.device("/cpu:0")`` is a value that a program keeps and uses in many places, in several threads and
asyncio children at once. What an entry has to restore is therefore kept in the context, not in the object.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

__all__ = ["Reentrant", "reentrant"]

T = TypeVar("T")
P = ParamSpec("P")

# The blocks that are entered, outermost first, each with its ``Reentrant``.
_ENTERED: ContextVar[tuple[tuple[object, AbstractContextManager[Any]], ...]] = ContextVar(
    "actorsession_entered", default=()
)


class Reentrant(AbstractContextManager[T], ContextDecorator):
    """A context manager that enters a new block each time.

    Args:
        make: returns the context manager of one block.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], AbstractContextManager[T]]) -> None:
        self._make = make

    def _open(self) -> tuple[AbstractContextManager[Any], T]:
        """Enter a new block; return it and what ``with`` binds."""
        block = self._make()
        return block, block.__enter__()

    def __enter__(self) -> T:
        block, value = self._open()
        _ENTERED.set((*_ENTERED.get(), (self, block)))
        return value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        entered = _ENTERED.get()
        last = len(entered) - 1
        while last >= 0 and entered[last][0] is not self:
            last -= 1
        if last < 0:
            raise RuntimeError("a scope is left that was not entered here")
        _ENTERED.set(entered[:last] + entered[last + 1 :])
        return entered[last][1].__exit__(kind, error, trace)


def reentrant(function: Callable[P, Iterator[T]]) -> Callable[P, Reentrant[T]]:
    """Make a generator function return a ``Reentrant``, as ``contextlib.contextmanager`` does for one entry.

    Args:
        function: yields once, in the block; called anew with the same arguments for each entry.
    """
    block = contextlib.contextmanager(function)

    @functools.wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> Reentrant[T]:
        return Reentrant(lambda: block(*args, **kwargs))

    return made
