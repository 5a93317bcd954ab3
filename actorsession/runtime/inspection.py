"""What can be told of the state of a process without its values: graphs, queues, summaries of arrays.

Plain frozen values with a wire form, and the functions that make them. Called by the inspector of a server
and by the sessions of one process; nothing here waits or changes anything. ``summarise`` may take long, and
is called in a thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from actorsession.errors import NotFoundError, ProtocolError
from actorsession.graph.dtypes import as_dtype, string
from actorsession.graph.node import NodeDef, tensor_name
from actorsession.graph.shape import TensorShape
from actorsession.plan.place import Placed
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.resources import VARIABLE, Variable

__all__ = [
    "ArraySummary",
    "GraphShown",
    "HeldState",
    "NodeRow",
    "QueueRow",
    "dims",
    "find_variable",
    "graph_rows",
    "queue_rows",
    "summarise",
]

# Elements that are summarised at a time: their copy as float64 takes 8 MiB.
_CHUNK = 2**20
_MOST_BINS = 200

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node of a graph, as somebody who looks at it wants to see it.

    Attributes:
        name: its name.
        op: its operation type.
        device: where it was placed; "" before that.
        inputs: the tensors and the nodes (``^name``) that it waits for.
        dtype: the element type of its first output; "" without one.
        shape: the static shape of that; ``None`` if unknown.
        line: the user's line that built it.
        reason: why it was placed there.
    """

    name: str
    op: str
    device: str
    inputs: tuple[str, ...]
    dtype: str
    shape: tuple[int | None, ...] | None
    line: str
    reason: str = ""

    def to_wire(self) -> list[Any]:
        """Return the row as plain values."""
        return [list(v) if isinstance(v, tuple) else v for v in astuple(self)]

    @classmethod
    def from_wire(cls, value: Any) -> NodeRow:
        """Parse the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [
                str(name),
                str(op),
                str(device),
                list(inputs),
                str(dtype),
                (list() | None) as shape,
                str(line),
                *more,
            ]:
                reason = more[0] if more and isinstance(more[0], str) else ""
                sizes = None if shape is None else tuple([s if isinstance(s, int) else None for s in shape])
                return cls(name, op, device, tuple(map(str, inputs)), dtype, sizes, line, reason)
        raise ProtocolError(f"not the row of a node: {value!r:.200}")


def dims(shape: TensorShape) -> tuple[int | None, ...] | None:
    """Return the sizes of a static shape; ``None`` for an unknown rank."""
    return None if shape.rank is None else tuple(shape.as_list())


class GraphShown(NamedTuple):
    """A graph that may be looked at; another thread may extend it meanwhile.

    Attributes:
        nodes: its nodes by name, in the order of building.
        placed: the devices of those that were placed.
    """

    nodes: Mapping[str, NodeDef]
    placed: Mapping[str, Placed]


def graph_rows(graph: GraphShown, first: int, most: int) -> list[NodeRow]:
    """Return rows of a graph.

    Args:
        graph: the graph.
        first: the number of nodes to leave out.
        most: the maximum number of rows.
    """
    first, most = max(0, first), max(0, most)
    return [_row(graph.nodes[name], graph.placed.get(name)) for name in list(graph.nodes)[first : first + most]]


def _row(node: NodeDef, placed: Placed | None) -> NodeRow:
    inputs = [tensor_name(name, index) for name, index in node.inputs]
    output = node.outputs[0] if node.outputs else None
    return NodeRow(
        name=node.name,
        op=node.op,
        device="" if placed is None else placed.device,
        inputs=(*inputs, *[f"^{name}" for name in node.control_inputs]),
        dtype="" if output is None else output.dtype.name,
        shape=None if output is None else dims(output.shape),
        line=node.source,
        reason="" if placed is None else placed.reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue.

    Attributes:
        name: its shared name, or the name of its node.
        device: its device.
        container: its container; "" for a queue that belongs to one session.
        session: the handle of that session.
        size: the number of elements.
        capacity: the maximum of that; below 0 for no limit.
        waiting_enqueues: how many enqueues wait for room.
        waiting_dequeues: how many dequeues wait for elements.
        closed: whether it refuses new elements.
    """

    name: str
    device: str
    container: str = ""
    session: str = ""
    size: int
    capacity: int
    waiting_enqueues: int
    waiting_dequeues: int
    closed: bool

    def to_wire(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return asdict(self)

    @classmethod
    def from_wire(cls, value: Any) -> QueueRow:
        """Parse the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        return _parsed(cls, value)


class HeldState(NamedTuple):
    """State that outlives steps: that of devices, or that of the nodes of one session.

    Attributes:
        session: the handle of the session; "" for the state of all sessions.
        devices: devices that hold resources; those that several sessions share stand in one value alone.
        states: the states of the session's nodes, by device and node.
    """

    session: str
    devices: Sequence[Device]
    states: Mapping[str, Mapping[str, Any]]


def queue_rows(held: Iterable[HeldState]) -> Iterator[QueueRow]:
    """Yield the queues in the state of a process."""
    for session, devices, states in held:
        for device in devices:
            for container, _, name, resource in device.resources.all():
                if hasattr(resource, "queue_counts"):
                    yield QueueRow(
                        name=name, device=device.name, container=container, session=session, **resource.queue_counts()
                    )
        for device_name, kept in list(states.items()):
            for node, state in list(kept.items()):
                if hasattr(state, "queue_counts"):
                    yield QueueRow(name=node, device=device_name, session=session, **state.queue_counts())


def find_variable(held: Iterable[HeldState], session: str, device: str, container: str, name: str) -> Variable:
    """Return a variable in the state of a process; see ``ReadVariable``.

    Raises:
        NotFoundError: if there is none, or it has no value.
    """
    devices = [each for state in held if state.session == session for each in state.devices]
    for resources in [each.resources for each in devices if each.name == device]:
        if resources.has_value(container, name):
            variable: Variable = resources.lookup(container, name, VARIABLE)
            return variable
    raise NotFoundError(f"no variable {name!r} with a value in container {container!r} on {device!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraySummary:
    """The distribution of the elements of an array.

    Attributes:
        dtype: the element type.
        shape: the shape.
        nbytes: the bytes of the array.
        bounds: the bounds of the intervals of the histogram, one more than there are intervals.
        counts: how many finite elements each interval has, the upper bound belonging to the last one alone.
        least: the smallest finite element; ``None`` if there is none.
        most: the largest.
        mean: the mean of the finite elements; ``None`` as well if their sum is beyond float64.
        deviation: their standard deviation, likewise.
        zeros: how many elements are zero.
        nans: how many are not a number.
        infinite: how many are infinite.
    """

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    bounds: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    least: float | None = None
    most: float | None = None
    mean: float | None = None
    deviation: float | None = None
    zeros: int = 0
    nans: int = 0
    infinite: int = 0

    def to_wire(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_wire(cls, value: Any) -> ArraySummary:
        """Parse the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        return _parsed(cls, value)


def summarise(value: Any, bins: int) -> ArraySummary:
    """Return the summary of an array; reads it piece by piece, twice.

    Args:
        value: an array, or a scalar; borrowed. One of strings has no histogram, and of complex numbers the
            absolute values are summarised.
        bins: the number of intervals, at most 200.
    """
    array = np.asarray(value)
    dtype = as_dtype(array.dtype)
    plain = ArraySummary(dtype=dtype.name, shape=array.shape, nbytes=int(array.nbytes))
    if dtype is string:
        return plain
    least, most, total, squares, finite = np.inf, -np.inf, 0.0, 0.0, 0
    zeros = nans = infinite = 0
    with np.errstate(all="ignore"):
        for piece in _pieces(array):
            zeros += int(np.count_nonzero(piece == 0))
            nans += int(np.count_nonzero(np.isnan(piece)))
            infinite += int(np.count_nonzero(np.isinf(piece)))
            kept = piece[np.isfinite(piece)]
            if kept.size:
                least, most = min(least, float(kept.min())), max(most, float(kept.max()))
                finite, total = finite + kept.size, total + float(kept.sum())
        plain = replace(plain, zeros=zeros, nans=nans, infinite=infinite)
        if not finite:
            return plain
        mean, bounds = total / finite, _bounds(least, most, min(max(1, bins), _MOST_BINS))
        counts = np.zeros(len(bounds) - 1, np.int64)
        for piece in _pieces(array):
            kept = piece[np.isfinite(piece)]
            squares += float(np.square(kept - mean).sum())
            counts += np.histogram(kept, bounds)[0]
    return replace(
        plain,
        bounds=tuple(bounds.tolist()),
        counts=tuple(counts.tolist()),
        least=least,
        most=most,
        mean=mean if math.isfinite(mean) else None,
        deviation=math.sqrt(squares / finite) if math.isfinite(squares) else None,
    )


def _bounds(least: float, most: float, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the bounds of intervals, which increase even where all elements are equal."""
    if least == most:
        reach = max(abs(least) * 2.0**-20, 2.0**-20)
        least, most = least - reach, most + reach
    # In halves, because the difference of two large numbers may be infinite.
    bounds = 2 * np.linspace(least / 2, most / 2, count + 1)
    bounds[0], bounds[-1] = least, most
    return np.maximum.accumulate(bounds)


def _pieces(array: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, np.dtype[np.float64]]]:
    """Yield the elements as float64, some at a time, in any order."""
    # A contiguous array is not copied; another one is, piece by piece.
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    for start in range(0, array.size, _CHUNK):
        piece = flat[start : start + _CHUNK]
        yield (np.abs(piece) if piece.dtype.kind == "c" else piece).astype(np.float64)


def _parsed(kind: type[V], value: Any) -> V:
    """Return an instance of a class of plain values, whose lists become tuples.

    Raises:
        ProtocolError: if fields are missing; those that the class does not have are left out.
    """
    try:
        known: Any = kind
        return kind(
            **{
                f.name: tuple(value[f.name]) if isinstance(value[f.name], list) else value[f.name]
                for f in fields(known)
                if f.name in value
            }
        )
    except (TypeError, KeyError, AttributeError) as exc:
        raise ProtocolError(f"not the wire form of {kind.__name__}: {exc}: {value!r:.200}") from exc
