"""Ops that only order others: ``no_op``, ``group`` and ``tuple_``.

Owns ``NoOp``, ``Timestamp`` and ``ToBool``. The members of a group stay on their own devices: one node per
device depends on the members there, so that a group over two devices costs one message and not one per
operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE
from actorsession.ops import raw
from actorsession.ops.build import graph_of, make
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.rows import no_outputs, op, scalar
from actorsession.ops.structures import flatten
from transports.host import current_host

__all__ = ["group", "no_op", "tuple_", "with_dependencies"]


op("NoOp", no_outputs, lambda: None, NOT_DIFFERENTIABLE)
op("Timestamp", scalar, lambda: np.float64(current_host().clock.time()), NOT_DIFFERENTIABLE)


def _truth(value: Any) -> Any:
    """Return whether a scalar is not zero or empty, and of other tensors whether they have elements."""
    if isinstance(value, bytes):
        return np.bool_(len(value) > 0)
    return np.bool_(value.size > 0 if value.ndim else value != 0)


op("ToBool", scalar, _truth, NOT_DIFFERENTIABLE)


def no_op(name: str | None = None) -> Operation:
    """Return an operation that does nothing, as an anchor for control dependencies."""
    return raw.NoOp(name=name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Return an operation that has run when all ``inputs`` have.

    Args:
        *inputs: operations, tensors of all kinds, variables or structures of them; ``None`` is left out.
        name: wanted name.

    Raises:
        TypeError: for an input of another kind.
    """
    ops = _operations(inputs)
    graph = graph_of(*ops)
    by_device: dict[str, list[Operation]] = {}
    for member in ops:
        by_device.setdefault(member.device, []).append(member)
    with graph.name_scope(name or "group_deps") as scope:
        if len(by_device) > 1:
            # These nodes do not get the name of the group, because they are members of it.
            ops = [_gather(graph, None, dev, some) for dev, some in sorted(by_device.items())]
            return _gather(graph, scope, None, ops)
        return _gather(graph, scope, next(iter(by_device), None), ops)


def _gather(graph: Graph, name: str | None, device: str | None, ops: Sequence[Operation]) -> Operation:
    with graph.control_dependencies(ops):
        if not device:
            return make("NoOp", (), name=name, graph=graph)
        with graph.device(device):
            return make("NoOp", (), name=name, graph=graph)


def _operations(inputs: Iterable[Any]) -> list[Operation]:
    operations: dict[Operation, None] = {}
    for item in flatten(list(inputs)):
        if item is None:
            continue
        if hasattr(item, "_as_graph_element"):
            element = item._as_graph_element()
            operations[element.op if isinstance(element, Tensor) else element] = None
        else:
            raise TypeError(
                "group takes operations, tensors, variables and structures of them, "
                f"got {type(item).__name__}: {item!r:.100}"
            )
    return list(operations)


def with_dependencies(dependencies: Sequence[Any], tensor: Any, name: str | None = None) -> Tensor:
    """Return the value of ``tensor``, available only after ``dependencies`` have run.

    Args:
        dependencies: operations, tensors or variables.
        tensor: a tensor or variable.
        name: wanted name.
    """
    value = tensor._as_graph_element()
    with value.graph.colocate_with(value.op), value.graph.control_dependencies(dependencies):
        return raw.Identity(value, name=name or "control_dependency")


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None) -> list[Any]:
    """Return the same tensors, none of them available before all are (exported as ``tuple``).

    Args:
        tensors: tensors, variables, ``IndexedSlices``, operations, or ``None``, which stays ``None``.
        name: wanted name of the scope around the new nodes.
        control_inputs: operations that must have run as well.

    Raises:
        ValueError: if there is no tensor among them.
    """
    present = [t for t in tensors if t is not None]
    if not present:
        raise ValueError("tuple needs at least one tensor, got none")
    graph = graph_of(*(t.values if isinstance(t, IndexedSlices) else t for t in present))
    with graph.name_scope(name or "tuple"):
        gate = group(*present, *(control_inputs or ()))
        return [_gated(t, gate) for t in tensors]


def _gated(value: Any, gate: Operation) -> Any:
    if value is None:
        return None
    if isinstance(value, Operation):
        return group(value, gate)
    if not isinstance(value, IndexedSlices):
        return with_dependencies([gate], value)
    values = with_dependencies([gate], value.values)
    return IndexedSlices(values, value.indices, value.dense_shape)
