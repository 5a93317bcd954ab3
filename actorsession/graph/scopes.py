"""What surrounds the building of a node: name scopes, devices, control inputs, colocation, defaults.

All of it lives in context variables, so that threads and asyncio children build graphs side by side
without seeing each other's scopes. Scopes are immutable values per graph; entering one puts a new value
in place and leaving it restores the old one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from actorsession.graph.device import DeviceSpec

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph
    from actorsession.graph.operation import Operation

__all__ = ["ControlFrame", "DeviceFunction", "Scope", "entered", "scope_of"]

DeviceFunction: TypeAlias = "Callable[[Operation], str | DeviceSpec | None]"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ControlFrame:
    """One ``control_dependencies`` block: what must run first, and what was built inside it.

    ``seen`` is the one mutable part: an operation that reads something built in the block runs after the
    block's control inputs anyway, so they need not be stored again.
    """

    inputs: tuple[Operation, ...]
    seen: set[Operation] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything that surrounds the building of a node in one graph.

    Attributes:
        name: prefix of names, without the closing slash.
        devices: device blocks, outermost first; ``None`` in it clears what is outside.
        control: control-dependency blocks, outermost first.
        colocation: operations whose device newly built ones share.
        container: resource container of state built here.
    """

    name: str = ""
    devices: tuple[DeviceSpec | DeviceFunction | None, ...] = ()
    control: tuple[ControlFrame, ...] = ()
    colocation: tuple[Operation, ...] = ()
    container: str = ""


_ROOT = Scope()
_SCOPES: ContextVar[Mapping[Graph, Scope]] = ContextVar("actorsession_scopes")
_EMPTY: Mapping[Graph, Scope] = {}


def scope_of(graph: Graph) -> Scope:
    """The scope in which the caller builds nodes of ``graph``."""
    return _SCOPES.get(_EMPTY).get(graph, _ROOT)


@contextlib.contextmanager
def entered(graph: Graph, **changes: Any) -> Iterator[Scope]:
    """Enters a scope that differs from the present one by ``changes``, for the length of a block."""
    scopes = _SCOPES.get(_EMPTY)
    scope = replace(scopes.get(graph, _ROOT), **changes)
    token = _SCOPES.set({**scopes, graph: scope})
    try:
        yield scope
    finally:
        _SCOPES.reset(token)


class DefaultStack(Generic[T]):
    """A stack of defaults per thread and asyncio child, with an optional fallback per thread.

    Args:
        name: of the context variable.
        make: makes the thread's fallback when nothing was entered; without it there is none.
    """

    def __init__(self, name: str, make: Callable[[], T] | None = None) -> None:
        self._stack: ContextVar[tuple[T, ...]] = ContextVar(name)
        self._make = make
        self._fallback = threading.local()

    def get(self) -> T | None:
        """The innermost default, the thread's fallback, or nothing."""
        stack = self._stack.get(())
        if stack:
            return stack[-1]
        if self._make is None:
            return None
        if not hasattr(self._fallback, "value"):
            self._fallback.value = self._make()
        value: T = self._fallback.value
        return value

    @contextlib.contextmanager
    def entered(self, value: T) -> Iterator[T]:
        """Makes ``value`` the default for the length of a block."""
        token = self._stack.set((*self._stack.get(()), value))
        try:
            yield value
        finally:
            self._stack.reset(token)

    def push(self, value: T) -> None:
        """Makes ``value`` the default until ``remove``, for objects that are entered and left by calls."""
        self._stack.set((*self._stack.get(()), value))

    def remove(self, value: T) -> None:
        """Takes the innermost occurrence of ``value`` off the stack, if it is there."""
        stack = list(self._stack.get(()))
        for index in range(len(stack) - 1, -1, -1):
            if stack[index] is value:
                del stack[index]
                break
        self._stack.set(tuple(stack))

    def reset_fallback(self) -> None:
        """Drops the thread's fallback; the next ``get`` makes a new one.

        Raises:
            AssertionError: inside an entered block, as in TensorFlow.
        """
        if self._stack.get(()):
            raise AssertionError("cannot reset a default inside a block that set it")
        self._fallback.__dict__.pop("value", None)
