"""The scope in which a node is built: names, devices, control inputs, colocation, defaults.

All of it is kept in context variables, so that threads and asyncio children build graphs side by side without
seeing each other's scopes. Scopes are immutable values per graph; entering one sets a new value and leaving
it restores the old one. ``Graph`` calls this, and sessions use its default stacks.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from actorsession.graph.device import DeviceSpec
from actorsession.graph.names import check_scope_name
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.graph.function import FunctionBody
    from actorsession.graph.graph import Graph
    from actorsession.graph.operation import Operation, Tensor

__all__ = [
    "GRADIENT_NAME", "ControlFrame", "DefaultStack", "DeviceFunction", "NameScope", "Scope",
    "apply_colocation", "control_inputs_of", "device_under", "entered", "scope_of",
]  # fmt: skip

DeviceFunction: TypeAlias = "Callable[[Operation], str | DeviceSpec | None]"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ControlFrame:
    """One ``control_dependencies`` block: its control inputs, and the operations built inside it.

    ``seen`` is the one mutable part: an operation that reads something built in the block runs after the
    block's control inputs anyway, so they need not be stored again.
    """

    inputs: tuple[Operation, ...]
    seen: set[Operation] = field(default_factory=set)


class Scope(NamedTuple):
    """The scope of a node that is built in one graph.

    Attributes:
        name: prefix of names, without the closing slash.
        devices: device blocks, outermost first; ``None`` in it discards those outside.
        control: control-dependency blocks, outermost first.
        colocation: operations whose device newly built ones share, outermost first.
        container: resource container of state built here.
        body: the loop body or branch that nodes are built into, if any.
        gradients: names of the gradients that operations of some types get; none in most graphs.
    """

    name: str = ""
    devices: tuple[DeviceSpec | DeviceFunction | None, ...] = ()
    control: tuple[ControlFrame, ...] = ()
    colocation: tuple[Operation, ...] = ()
    container: str = ""
    body: FunctionBody | None = None
    gradients: Mapping[str, str] | None = None


# The attribute with the name of an operation's own gradient; TensorFlow's name.
GRADIENT_NAME = "_gradient_op_type"

_ROOT = Scope()
_SCOPES: ContextVar[Mapping[Graph, Scope]] = ContextVar("actorsession_scopes")
_EMPTY: Mapping[Graph, Scope] = {}


def scope_of(graph: Graph) -> Scope:
    """Return the scope in which the caller builds nodes of ``graph``."""
    return _SCOPES.get(_EMPTY).get(graph, _ROOT)


class entered:
    """A context manager that enters a scope which differs from the present one.

    It is a class, because a generator function takes twice the time, and every operator enters a scope.

    Args:
        graph: the graph of the scope.
        changes: fields of ``Scope`` with their new values.
    """

    __slots__ = ("_changes", "_graph", "_token")

    def __init__(self, graph: Graph, **changes: Any) -> None:
        self._graph = graph
        self._changes = changes
        self._token: Token[Mapping[Graph, Scope]] | None = None

    def __enter__(self) -> Scope:
        scopes = _SCOPES.get(_EMPTY)
        scope = scopes.get(self._graph, _ROOT)._replace(**self._changes)
        self._token = _SCOPES.set({**scopes, self._graph: scope})
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._token is not None, "a scope is left that was not entered"
        _SCOPES.reset(self._token)


class NameScope(contextlib.AbstractContextManager[str]):
    """The context manager of ``Graph.name_scope``, a class for the same reason as ``entered``.

    Args:
        graph: the graph of the scope.
        name: see there.
    """

    __slots__ = ("_entered", "_graph", "_name")

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph = graph
        self._name = name

    def __enter__(self) -> str:
        name = self._name
        if not name:
            full = ""
        else:
            check_scope_name(name, scope_of(self._graph).name)
            full = name[:-1] if name.endswith("/") else self._graph.unique_name(name)
        self._entered = entered(self._graph, name=full)
        self._entered.__enter__()
        return f"{full}/" if full else ""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.__exit__(kind, error, trace)


# -- effects of a scope on a new node ------------------------------------------------------------


def control_inputs_of(scope: Scope, inputs: Sequence[Tensor]) -> tuple[Operation, ...]:
    """Return the control inputs of a new node, without those that its data inputs imply."""
    if not scope.control:
        return ()
    producers = {t.op for t in inputs}
    wanted: dict[Operation, None] = {}
    for frame in scope.control:
        if producers.isdisjoint(frame.seen):
            wanted.update(dict.fromkeys(op for op in frame.inputs if op not in producers))
    return tuple(wanted)


def apply_colocation(scope: Scope, attrs: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a new node with the groups of the scope's colocation blocks."""
    if not scope.colocation:
        return attrs
    groups = set(attrs.get("_class", ()))
    for target in scope.colocation:
        groups.update(target.groups() or (f"loc:@{target.name}",))
    return {**attrs, "_class": tuple(sorted(groups))}


def device_under(scope: Scope, op: Operation) -> str:
    """Return the device of a new node: that of its colocation, else that of the device blocks.

    The blocks are applied from the innermost outwards, as in TensorFlow: a spec fills the parts that are
    still open, the result of a function replaces everything.

    Raises:
        ValueError: if a function returns a malformed name.
        TypeError: if it returns something else.
    """
    for target in reversed(scope.colocation):
        if target.device:
            return target.device
    if not scope.devices:
        return ""
    spec = DeviceSpec()
    for block in reversed(scope.devices):
        if block is None:
            break
        if isinstance(block, DeviceSpec):
            spec = spec.fill(block)
        else:
            op._device = str(spec)
            spec = _answer(block(op))
    return str(spec)


def _answer(device: object) -> DeviceSpec:
    if device is None:
        return DeviceSpec()
    if isinstance(device, str):
        return DeviceSpec.parse(device)
    if isinstance(device, DeviceSpec):
        return device
    raise TypeError(
        f"a device function answers with a device name, a DeviceSpec or None, got {device!r:.100}"
    )


# -- defaults ------------------------------------------------------------------------------------


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
        """Return the innermost default, the thread's fallback, or ``None``."""
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
        """Make ``value`` the default for the length of a block."""
        token = self._stack.set((*self._stack.get(()), value))
        try:
            yield value
        finally:
            self._stack.reset(token)

    def push(self, value: T) -> None:
        """Make ``value`` the default until ``remove``, for callers without a ``with`` block."""
        self._stack.set((*self._stack.get(()), value))

    def remove(self, value: T) -> None:
        """Remove the innermost occurrence of ``value`` from the stack, if there is one."""
        stack = list(self._stack.get(()))
        for index in range(len(stack) - 1, -1, -1):
            if stack[index] is value:
                del stack[index]
                break
        self._stack.set(tuple(stack))

    def reset_fallback(self) -> None:
        """Drop the thread's fallback; the next ``get`` makes a new one.

        Raises:
            AssertionError: inside an entered block, as in TensorFlow.
        """
        if self._stack.get(()):
            raise AssertionError("cannot reset a default inside a block that set it")
        self._fallback.__dict__.pop("value", None)
