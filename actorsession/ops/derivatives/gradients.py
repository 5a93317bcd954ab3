"""Symbolic differentiation: the graph that computes gradients of a graph.

Owns ``gradients``: its arguments and the initial gradients of the traversal, which ``backward`` implements.
The gradient of a variable is that of all its reads, summed at its handle.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.scopes import scope_of
from actorsession.ops.arrays import dimensions, fills
from actorsession.ops.arrays.shape import broadcast_to, reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.derivatives.backward import Backward, beside, connect, extending, sum_gradients
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient
from actorsession.ops.variables.variable import Variable

__all__ = ["AggregationMethod", "UnconnectedGradients", "gradients"]


class UnconnectedGradients(enum.Enum):
    """The gradient of an ``x`` on which no ``y`` depends."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """How the contributions to a gradient are added up; all methods yield the same sums."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2
    METHODS = (ADD_N, EXPERIMENTAL_TREE, EXPERIMENTAL_ACCUMULATE_N)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Build the derivatives of ``sum(ys)`` with respect to each ``x``.

    Args:
        ys: a tensor or a list of tensors.
        xs: a tensor or variable, or a list of them; gradients with respect to other values are unconnected.
        grad_ys: initial gradient of each ``y``, of its dtype and shape; ones if left out.
        name: name scope of the new operations.
        colocate_gradients_with_ops: whether each new operation is colocated with the operation whose gradient
            it computes.
        gate_gradients: whether the gradients of one operation become available all at once.
        aggregation_method: one of ``AggregationMethod``; all methods yield the same sums.
        stop_gradients: tensors that are treated as constants: no gradient flows through them.
        unconnected_gradients: ``"none"`` or ``"zero"``: the gradient of an ``x`` on which no ``y`` depends.
            Paths through integers, comparisons and ``stop_gradient`` do not count.

    Returns:
        For each ``x`` a tensor of its dtype and shape, ``IndexedSlices`` where only some rows were looked up,
        or ``None``.

    Raises:
        LookupError: if an operation on a path has no gradient.
        ValueError: for another number of ``grad_ys`` than of ``ys``, a ``grad_y`` of impossible shape,
            tensors of different graphs, or another ``aggregation_method``.
        TypeError: for a ``grad_y`` of another dtype than its ``y``, complex ``ys`` without ``grad_ys``,
            ``ys`` that are ``None``, or ``xs`` that do not convert to tensors.
    """
    if ys is None:
        raise TypeError("gradients are of tensors, got None")
    unconnected = UnconnectedGradients(getattr(unconnected_gradients, "value", unconnected_gradients))
    if aggregation_method not in (None, *AggregationMethod.METHODS):
        raise ValueError(
            f"aggregation_method is one of {list(AggregationMethod.METHODS)}, got {aggregation_method!r:.100}"
        )
    targets = [convert_to_tensor(y) for y in _as_list(ys)]
    sources = _as_list(xs)
    points = [_point(x) for x in sources]
    handles = [_handles(point) for point in points]
    stops = frozenset(_point(t) for t in _as_list(stop_gradients))
    graph = _one_graph([*targets, *points, *stops])
    with graph.as_default(), graph.name_scope("gradients" if name is None else name) as scope:
        starts = _start_gradients(graph, targets, _as_list(grad_ys), grad_ys is None, colocate_gradients_with_ops)
        _check_loop_starts(graph, targets, points, stops)
        ends = [*points, *itertools.chain.from_iterable(handles)]
        connected, path = connect(targets, ends, stops)
        backward = Backward(graph, connected, stops, colocate_gradients_with_ops, gate_gradients)
        with extending(graph, scope.rstrip("/")):
            by_end = backward.run(targets, starts, path, ends)
            rest = iter(by_end[len(points) :])
            derivatives = [
                _sum([by_end[index], *itertools.islice(rest, len(more))]) for index, more in enumerate(handles)
            ]
        if unconnected is UnconnectedGradients.ZERO:
            return [_zeros(x) if g is None else g for x, g in zip(sources, derivatives, strict=True)]
        return list(derivatives)


# -- arguments -----------------------------------------------------------------------------------


def _as_list(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _point(x: Any) -> Tensor:
    """Return the tensor at which the gradient of ``x`` accumulates: the handle of a variable."""
    if isinstance(x, Variable):
        return x.handle
    # A plain value becomes a constant that nothing depends on.
    return x if isinstance(x, Tensor) else convert_to_tensor(x)


def _handles(point: Tensor) -> list[Tensor]:
    """Return the handles by which functions captured the variable of which ``point`` is the value."""
    op = point.op
    if op.type != "Identity" or op.control_inputs or not op.inputs[0].op.op_def.makes_reference:
        return []
    readers = op.inputs[0].consumers()
    return [reader.outputs[0] for reader in readers if reader.type == "ReferenceHandle"]


def _sum(parts: Sequence[SparseGradient | None]) -> SparseGradient | None:
    present = [part for part in parts if part is not None]
    return sum_gradients(present) if len(present) > 1 else present[0] if present else None


def _check_loop_starts(graph: Graph, ys: Sequence[Tensor], xs: Sequence[Tensor], stops: frozenset[Tensor]) -> None:
    """Check that no gradient that is built in a loop body has to leave it through a loop variable."""
    body = scope_of(graph).body
    while body is not None:
        for parameter, start in zip(body.parameters, body.starts, strict=False):
            if start in connect([start], xs, stops)[0] and not connect(ys, [parameter], stops)[0].isdisjoint(ys):
                raise ValueError(
                    f"a gradient inside the body of {body.construct!r} is asked for by what loop variable "
                    f"{parameter.name} started from ({start.name}): it would have to go through the "
                    "iterations before this one. Differentiate what the loop returns, outside of it, or by "
                    "the loop variable itself"
                )
        body = body.outer


def _one_graph(tensors: Sequence[Tensor]) -> Graph:
    if not tensors:
        raise ValueError("gradients needs at least one y or x")
    graph = tensors[0].graph
    for tensor in tensors:
        if tensor.graph is not graph:
            raise ValueError(f"{tensor!r} and {tensors[0]!r} belong to different graphs")
    return graph


def _start_gradients(
    graph: Graph, ys: Sequence[Tensor], grad_ys: Sequence[Any], absent: bool, colocate: bool
) -> list[SparseGradient]:
    if not absent and len(grad_ys) != len(ys):
        raise ValueError(f"got {len(grad_ys)} grad_ys for {len(ys)} ys; one is needed for each")
    starts = []
    for index, y in enumerate(ys):
        grad = None if absent else grad_ys[index]
        with beside(graph, y.op if colocate else None):
            starts.append(_ones(y, index) if grad is None else _given_gradient(y, grad, index))
    return starts


def _ones(y: Tensor, index: int) -> Tensor:
    if y.dtype.is_complex:
        raise TypeError(f"y {y!r} is complex: its grad_ys must be given")
    if not (y.dtype.is_numeric or y.dtype.is_bool):
        raise TypeError(f"y {y!r} has dtype {y.dtype.name}, which has no gradient")
    return fills.ones_like(y, name=f"grad_ys_{index}")


def _given_gradient(y: Tensor, grad: Any, index: int) -> SparseGradient:
    if not isinstance(grad, IndexedSlices):
        grad = convert_to_tensor(grad, y.dtype, name=f"grad_ys_{index}", graph=y.graph)
    if grad.dtype is not as_dtype(y.dtype):
        raise TypeError(f"grad_ys[{index}] has dtype {grad.dtype.name}; {y!r} needs {y.dtype.name}")
    if grad.shape.is_compatible_with(y.shape):
        started: SparseGradient = grad
        return started
    # As many elements in another arrangement, or a value for all of them.
    counts = {grad.shape.num_elements(), y.shape.num_elements()}
    if isinstance(grad, Tensor) and (len(counts) == 1 or None in counts):
        return reshape(grad, dimensions.shape(y))
    if isinstance(grad, Tensor) and grad.shape.num_elements() == 1:
        return broadcast_to(reshape(grad, []), dimensions.shape(y))
    raise ValueError(f"grad_ys[{index}] has shape {grad.shape}; {y!r} needs {y.shape}")


def _zeros(x: Tensor | Variable) -> Tensor:
    return fills.zeros_like(x.value() if isinstance(x, Variable) else x)
