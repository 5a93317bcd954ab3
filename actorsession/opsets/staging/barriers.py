"""Barriers: elements whose components are inserted one by one, and that are taken once they are complete.

Owns the public class and the op types; ``barrier_state`` has the state. A take suspends its node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.graph.completion import Completion
from actorsession.graph.dtypes import int64, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.queues.batches import join_many
from actorsession.ops.queues.components import component_specs, stacked
from actorsession.ops.rows import check_inputs, checked, no_outputs, op, pair, scalar
from actorsession.ops.shared_state import dtypes_of, make_handle, register_state
from actorsession.opsets.staging.barrier_state import BarrierState
from actorsession.process_bound import GraphBound
from actorsession.records import description

__all__ = ["Barrier", "BarrierTakeMany"]


class BarrierTakeMany(NamedTuple):
    """The result of ``Barrier.take_many``.

    Attributes:
        indices: number of the insertion that first contained the key of each element, from -2**63 on.
        keys: keys of the elements.
        values: components of the elements, each stacked.
    """

    indices: Tensor
    keys: Tensor
    values: list[Tensor]


class Barrier(GraphBound):
    """Elements by key, whose components are inserted one by one and which are taken once they are complete.

    Elements are taken in the order in which their keys were first inserted.

    Args:
        types: a dtype, or one for each component of an element.
        shapes: a shape, or one for each component; unknown ones become those of the first value.
        shared_name: name under which several sessions share the barrier on its device.
        name: wanted name.

    Raises:
        ValueError: if a shape has no elements, or there are not as many as types.
    """

    def __init__(self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier") -> None:
        self._types = dtypes_of(types)
        self._shapes = _shapes(shapes, len(self._types))
        attrs = {"component_types": self._types, "shapes": self._shapes}
        self._barrier_ref = make_handle("Barrier", name, shared_name, attrs)

    def __repr__(self) -> str:
        types = [dtype.name for dtype in self._types]
        shapes = [str(shape) for shape in self._shapes]
        return description(self, self.name, dtypes=types, shapes=shapes)

    @property
    def barrier_ref(self) -> Tensor:
        """The barrier's handle."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the barrier's node."""
        return self._barrier_ref.op.name

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Insert one component of each of some elements.

        Args:
            component_index: index of the component.
            keys: keys of the elements, a string vector.
            values: a row for each key.
            name: wanted name.

        Returns:
            The operation. At run time InvalidArgumentError if an element has the component already, and
            CancelledError if a key is new and the barrier is closed; nothing is inserted then.
        """
        name = name or f"{self._base}_BarrierInsertMany"
        index = int(component_index)
        return raw.BarrierInsertMany(self._barrier_ref, keys, values, component_index=index, name=name)

    def take_many(
        self, num_elements: Any, allow_small_batch: bool = False, timeout: None = None, name: str | None = None
    ) -> BarrierTakeMany:
        """Take complete elements out; wait until there are enough.

        Args:
            num_elements: required number, an int32 scalar.
            allow_small_batch: whether fewer elements, but at least one, suffice once the barrier is closed.
            timeout: not supported, as in TensorFlow; the step may have one.
            name: wanted name.

        Returns:
            Indices, keys, and a list of the components. OutOfRangeError at run time if the barrier is closed
            and there cannot be enough.

        Raises:
            TypeError: for a timeout.
        """
        if timeout is not None:
            raise TypeError(
                f"take_many of a Barrier knows no timeout, got {timeout!r}: give the step one, with "
                "RunOptions(timeout_in_ms=...)"
            )
        taken = raw.BarrierTakeMany(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            shapes=self._shapes,
            allow_small_batch=bool(allow_small_batch),
            name=name or f"{self._base}_BarrierTakeMany",
        )
        return BarrierTakeMany(*taken)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Refuse new keys from now on; incomplete elements may still be completed.

        Args:
            cancel_pending_enqueues: whether incomplete elements are dropped instead.
            name: wanted name.

        Returns:
            The operation. CancelledError at run time if the barrier is closed already.
        """
        cancel, name = bool(cancel_pending_enqueues), name or f"{self._base}_BarrierClose"
        return raw.BarrierClose(self._barrier_ref, cancel_pending_enqueues=cancel, name=name)

    def ready_size(self, name: str | None = None) -> Tensor:
        """Return the number of complete elements, as an int32 scalar."""
        name = name or f"{self._base}_BarrierReadySize"
        return raw.BarrierReadySize(self._barrier_ref, name=name)

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of incomplete elements, as an int32 scalar."""
        name = name or f"{self._base}_BarrierIncompleteSize"
        return raw.BarrierIncompleteSize(self._barrier_ref, name=name)

    @property
    def _base(self) -> str:
        return self.name.rpartition("/")[2]


def _shapes(shapes: Any, count: int) -> list[TensorShape]:
    """Return the shapes argument, which may be a single shape for a single component."""
    if shapes is None:
        return [TensorShape(None)] * count
    listed = list(shapes) if isinstance(shapes, (list, tuple)) else [shapes]
    if all(not isinstance(s, (list, tuple, TensorShape)) for s in listed):
        listed = [shapes]
    if len(listed) != count:
        raise ValueError(f"a Barrier has a shape for each of its {count} types, got {len(listed)}")
    converted = [TensorShape(s) for s in listed]
    for i, shape in enumerate(converted):
        if shape.sizes is not None and 0 in shape.sizes:
            raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {i}")
    return converted


# -- op types --------------------------------------------------------------------------------------


def _elements(attrs: Mapping[str, Any]) -> list[TensorSpec]:
    """Return the static types of a taken element: number, key and components."""
    return [TensorSpec(int64, scalar_shape), TensorSpec(string, scalar_shape), *component_specs(attrs)]


def _inserted(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx, None, 1)
    keys, values = ctx.inputs[1:]
    if values.shape.rank == 0:
        raise ValueError(f"{ctx.op}: values have a row for each key, got a scalar")
    first = None if values.shape.sizes is None else values.shape.sizes[:1]
    if first is not None and not keys.shape.is_compatible_with(first):
        raise ValueError(
            f"{ctx.op}: values have a row for each key, got keys of shape {keys.shape} and values of "
            f"shape {values.shape}"
        )
    return []


def _insert_kernel(ctx: KernelContext) -> Kernel:
    component = ctx.attrs["component_index"]

    def insert(barrier: BarrierState, keys: Any, values: Any) -> None:
        barrier.insert(component, _array(keys), _array(values))

    return insert


def _array(value: Any) -> Any:
    """Return a value as an array, so that messages can include its shape; a string scalar is plain bytes."""
    return value if isinstance(value, np.ndarray) else np.asarray(value, _boxed(value))


def _boxed(value: Any) -> Any:
    return object if isinstance(value, bytes) else None


def _taken(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.attrs["timeout_ms"] != -1:
        raise ValueError(f"{ctx.op} knows no timeout, got {ctx.attrs['timeout_ms']} ms")
    count = ctx.constant(1)
    n = None if count is None or ctx.attrs["allow_small_batch"] else int(count)
    if n is not None and n < 0:
        raise ValueError(f"{ctx.op}: num_elements is at least 0, got {n}")
    return [stacked(spec.shape, n) for spec in _elements(ctx.attrs)]


def _take_kernel(ctx: KernelContext) -> Kernel:
    specs, small = _elements(ctx.attrs), bool(ctx.attrs["allow_small_batch"])

    def join(elements: Sequence[tuple[Any, ...]]) -> Any:
        return join_many(elements, specs)

    def take(barrier: BarrierState, count: Any) -> Completion:
        return barrier.take(int(count), join, small=small)

    return take


def _close_kernel(ctx: KernelContext) -> Kernel:
    cancel = bool(ctx.attrs["cancel_pending_enqueues"])
    return lambda barrier: barrier.close(cancel_pending=cancel)


register_state("Barrier", "barrier", "Barrier", lambda label, attrs: BarrierState(label, component_specs(attrs)), pair)
op("BarrierInsertMany", _inserted, kernel=_insert_kernel, grad=NOT_DIFFERENTIABLE)
op("BarrierTakeMany", checked(_taken, None, 0), kernel=_take_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, takes=True)
op("BarrierClose", checked(no_outputs), kernel=_close_kernel, grad=NOT_DIFFERENTIABLE)
op("BarrierReadySize", checked(scalar), lambda barrier: np.int32(barrier.ready_size), NOT_DIFFERENTIABLE)
op("BarrierIncompleteSize", checked(scalar), lambda barrier: np.int32(barrier.incomplete_size), NOT_DIFFERENTIABLE)
