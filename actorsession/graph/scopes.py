"""The scope in which a node is built: names, devices, control inputs, colocation, gradients.

All of it is kept in a context variable, so that threads and asyncio children build graphs side by side
without seeing each other's scopes. Scopes are immutable values per graph; entering one sets a new value and
leaving it restores the old one. The functions of a graph here are methods of ``Graph``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from actorsession.graph.device import DeviceSpec
from actorsession.graph.names import check_scope_name
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.reentrant import Reentrant, reentrant
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.graph.function import FunctionBody
    from actorsession.graph.graph import Graph

__all__ = [
    "GRADIENT_NAME", "ControlFrame", "DeviceFunction", "Scope", "apply_colocation",
    "colocate_with", "container", "control_dependencies", "control_inputs_of", "device",
    "device_under", "entered", "get_name_scope", "gradient_override_map", "name_scope", "scope_of",
    "switch_to_thread_local",
]  # fmt: skip

DeviceFunction: TypeAlias = "Callable[[Operation], str | DeviceSpec | None]"


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


class entered(AbstractContextManager[Scope]):
    """A context manager that enters a scope, once, which differs from the present one.

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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None, "a scope is left that was not entered"
        _SCOPES.reset(self._token)


class _NameScope(Reentrant[str]):
    """The context manager of ``name_scope``, a class for the same reason as ``entered``."""

    __slots__ = ("_graph", "_name")

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph = graph
        self._name = name

    def _open(self) -> tuple[AbstractContextManager[Any], str]:
        name = self._name
        if not name:
            full = ""
        else:
            check_scope_name(name, scope_of(self._graph).name)
            full = name[:-1] if name.endswith("/") else self._graph.unique_name(name)
        block = entered(self._graph, name=full)
        block.__enter__()
        return block, f"{full}/" if full else ""


def name_scope(graph: Graph, name: str | None) -> Reentrant[str]:
    """Prefix the names of operations built in the block.

    Args:
        name: made unique; one that ends in ``/`` is entered again literally; ``None`` or ``""`` leaves
            all scopes.

    Returns:
        A context manager that yields the scope's full name with a closing slash, empty for the root;
        entering it raises ValueError for a malformed name.
    """
    return _NameScope(graph, name)


def get_name_scope(graph: Graph) -> str:
    """Return the full name of the innermost name scope, without a closing slash; empty for the root."""
    return scope_of(graph).name


@reentrant
def device(graph: Graph, device: str | DeviceSpec | DeviceFunction | None) -> Iterator[None]:
    """Request a device for operations built in the block; inner blocks take precedence part by part.

    Args:
        device: a full or partial name, a function from the operation to one, or ``None`` to discard the
            outer blocks.

    Raises:
        ValueError: for a malformed name.
        TypeError: for anything else.
    """
    block = DeviceSpec.parse(device) if isinstance(device, str) else device
    if not (block is None or isinstance(block, DeviceSpec) or callable(block)):
        raise TypeError(f"a device is a name, a DeviceSpec, a function or None, got {device!r:.100}")
    with entered(graph, devices=(*scope_of(graph).devices, block)):
        yield


def control_dependencies(graph: Graph, control_inputs: Iterable[Any] | None) -> Reentrant[None]:
    """Make operations built in the block run after ``control_inputs``.

    Args:
        control_inputs: operations, tensors or variables; ``None`` discards the outer blocks, and leaves
            loop bodies and branches as well.
    """
    return _controlled(graph, None if control_inputs is None else list(control_inputs))


@reentrant
def _controlled(graph: Graph, control_inputs: Iterable[Any] | None) -> Iterator[None]:
    if control_inputs is None:
        with entered(graph, control=(), body=None):
            yield
        return
    ops = []
    for item in control_inputs:
        if not hasattr(item, "_as_graph_element") and isinstance(getattr(item, "values", None), Tensor):
            item = item.values  # of slices, as a gradient of rows is
        element = graph.as_graph_element(item)
        ops.append(element.op if isinstance(element, Tensor) else element)
    outer = scope_of(graph).control
    # Inputs of an outer block already belong to that block, which records what implies them.
    known = {op for frame in outer for op in frame.inputs}
    frame = ControlFrame(tuple(dict.fromkeys(op for op in ops if op not in known)))
    with entered(graph, control=(*outer, frame)):
        yield


@reentrant
def colocate_with(graph: Graph, op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """Place operations built in the block with ``op``, regardless of the device blocks around.

    Args:
        op: an operation, tensor or variable; ``None`` changes nothing. While it has no device itself, a
            device block inside may still name one.
        ignore_existing: whether the blocks of this kind around it do not count.
    """
    around = () if ignore_existing else scope_of(graph).colocation
    if op is None:
        with entered(graph, colocation=around):
            yield
        return
    element = graph.as_graph_element(op)
    target = element.op if isinstance(element, Tensor) else element
    with entered(graph, colocation=(*around, target), devices=()):
        yield


@reentrant
def gradient_override_map(graph: Graph, op_type_map: Mapping[str, str]) -> Iterator[None]:
    """Give operations built in the block other gradients than their types have.

    Args:
        op_type_map: from operation types to names under which gradients were registered.

    Raises:
        TypeError: for anything but a dictionary from strings to strings.
    """
    given = op_type_map if isinstance(op_type_map, dict) else {None: None}
    if not all(isinstance(text, str) for pair in given.items() for text in pair):
        raise TypeError(f"op_type_map is a dictionary from strings to strings, got {op_type_map!r:.100}")
    outer = scope_of(graph).gradients or {}
    with entered(graph, gradients={**outer, **op_type_map}):
        yield


def container(graph: Graph, name: str) -> Reentrant[Scope]:
    """Put state built in the block into the resource container ``name``."""
    return Reentrant(lambda: entered(graph, container=name))


def switch_to_thread_local(graph: Graph) -> None:
    """Do nothing: each thread has blocks of its own from the beginning."""


# -- effects of a scope on a new node ------------------------------------------------------------


def control_inputs_of(scope: Scope, inputs: Sequence[Tensor]) -> tuple[Operation, ...]:
    """Return the control inputs of a new node, without those that its data inputs imply."""
    if not scope.control:
        return ()
    producers = {t.op for t in inputs}
    controls: dict[Operation, None] = {}
    for frame in scope.control:
        if producers.isdisjoint(frame.seen):
            controls.update(dict.fromkeys(op for op in frame.inputs if op not in producers))
    return tuple(controls)


def apply_colocation(scope: Scope, attrs: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a new node with the groups of the scope's colocation blocks."""
    if not scope.colocation:
        return attrs
    groups = set(attrs.get("_class", ()))
    for target in scope.colocation:
        groups.update(target.groups() or (f"loc:@{target.name}",))
    return {**attrs, "_class": tuple(sorted(groups))}


_ANYWHERE = DeviceSpec()


def device_under(scope: Scope, op: Operation, keeps: bool = False) -> str:
    """Return the device of a new node: that of its colocation, else that of the device blocks.

    The blocks are applied from the innermost outwards, as in TensorFlow: a spec fills the parts that are
    still open, the result of a function replaces everything.

    Args:
        scope: where the node is built.
        op: the node, which functions see.
        keeps: whether what a function returns is kept as it is spelt.

    Raises:
        ValueError: if a function returns a malformed name.
        TypeError: if it returns something else.
    """
    for target in reversed(scope.colocation):
        if target.device:
            return target.device
    if not scope.devices:
        return ""
    spec, answer = _ANYWHERE, ""
    for block in reversed(scope.devices):
        if block is None:
            break
        if isinstance(block, DeviceSpec):
            spec, answer = block if spec is _ANYWHERE else spec.fill(block), ""
        else:
            op._device = answer or str(spec)
            placed = block(op)
            spec = _answer(placed)
            answer = placed if keeps and isinstance(placed, str) else ""
    return answer or str(spec)


def _answer(device: object) -> DeviceSpec:
    if device is None:
        return _ANYWHERE
    if isinstance(device, str):
        return DeviceSpec.parse(device)
    if isinstance(device, DeviceSpec):
        return device
    raise TypeError(f"a device function answers with a device name, a DeviceSpec or None, got {device!r:.100}")
