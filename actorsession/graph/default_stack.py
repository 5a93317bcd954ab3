"""Stacks of defaults per thread and asyncio child: the default graph and the default session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Generic, TypeVar

from actorsession.graph.reentrant import reentrant

__all__ = ["DefaultStack"]

T = TypeVar("T")


class DefaultStack(Generic[T]):
    """A stack of defaults per thread and asyncio child, above those of the process and a fallback per thread.

    Args:
        name: of the context variable.
        make: makes the thread's fallback when nothing was entered; without it there is none.
    """

    def __init__(self, name: str, make: Callable[[], T] | None = None) -> None:
        self._stack: ContextVar[tuple[T, ...]] = ContextVar(name)
        self._make = make
        self._kept: list[T] = []
        self._pushed: list[T] = []
        self._fallback = threading.local()

    def get(self) -> T | None:
        """Return the innermost default, the last of the process, the thread's fallback, or ``None``."""
        stack = self._stack.get(())
        if stack:
            return stack[-1]
        if self._kept:
            return self._kept[-1]
        if self._make is None:
            return None
        if not hasattr(self._fallback, "value"):
            self._fallback.value = self._make()
        value: T = self._fallback.value
        return value

    def is_entered(self) -> bool:
        """Return whether there is a default besides the thread's fallback."""
        return bool(self._stack.get(()) or self._kept)

    @reentrant
    def entered(self, value: T) -> Iterator[T]:
        """Make ``value`` the default for the length of a block.

        Raises:
            AssertionError: at the end of the block, if another one that began within it has not ended.
        """
        inside = (*self._stack.get(()), value)
        token = self._stack.set(inside)
        try:
            yield value
        finally:
            now = self._stack.get(())
            if now is not inside:
                self._check_nesting(value, now[len(inside) :])
            self._stack.reset(token)

    def _check_nesting(self, value: T, above: tuple[T, ...]) -> None:
        for inner in above:
            if not any(inner is pushed for pushed in self._pushed):
                raise AssertionError(
                    f"Nesting violated: the block that made {value!r:.100} the default ends before that of "
                    f"{inner!r:.100}, which began within it"
                )

    def push(self, value: T) -> None:
        """Make ``value`` the default until ``remove``, for callers without a ``with`` block."""
        self._stack.set((*self._stack.get(()), value))
        self._pushed.append(value)

    def keep(self, value: T) -> None:
        """Make ``value`` the default of whatever has none of its own until ``remove``, in all threads.

        It is for the cells of a notebook: the kernel runs some in an asyncio child each, and others not, and
        what one cell pushed would be the default of some later cells only.
        """
        self._kept.append(value)

    def remove(self, value: T) -> None:
        """Remove the innermost occurrence of ``value``, if there is one."""
        self._pushed = [other for other in self._pushed if other is not value]
        stack = list(self._stack.get(()))
        for index in range(len(stack) - 1, -1, -1):
            if stack[index] is value:
                del stack[index]
                self._stack.set(tuple(stack))
                return
        for index in range(len(self._kept) - 1, -1, -1):
            if self._kept[index] is value:
                del self._kept[index]
                return

    def reset_fallback(self) -> None:
        """Drop the thread's fallback; the next ``get`` makes a new one.

        Raises:
            AssertionError: inside an entered block, as in TensorFlow.
        """
        if self.is_entered():
            raise AssertionError("cannot reset a default inside a block that set it")
        self._fallback.__dict__.pop("value", None)
