"""Conditional accumulators: gradients of several workers, taken together once there are enough.

Owns the op types ``ResourceConditionalAccumulator`` and ``SparseConditionalAccumulator`` with the ops on
them, and the public classes. ``accumulator_state`` has the state; a take suspends its node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.completion import Completion
from actorsession.graph.dtypes import DType, as_dtype, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.rows import check_inputs, checked, no_outputs, op, pair, scalar
from actorsession.ops.shared_state import make_handle, register_state
from actorsession.opsets.accumulators.state import AccumulatorState, DenseSum, SparseSum
from actorsession.process_bound import GraphBound
from actorsession.records import description

__all__ = ["ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator"]

_REDUCTIONS = ("MEAN", "SUM")


class ConditionalAccumulatorBase(GraphBound):
    """The base class of both kinds of accumulators.

    Args:
        dtype: dtype of the gradients.
        shape: static shape of the gradients.
        accumulator_ref: the accumulator's handle.
    """

    _prefix = ""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref

    def __repr__(self) -> str:
        return description(self, self.name, dtype=self._dtype.name, shape=self._shape)

    @property
    def accumulator_ref(self) -> Tensor:
        """The accumulator's handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator's node."""
        return self._accumulator_ref.op.name

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Return the number of accumulated gradients, as an int32 scalar."""
        name = name or f"{self.name}_NumAccumulated"
        return raw.AccumulatorNumAccumulated(self._accumulator_ref, name=name)

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Set the minimum step of gradients that count; a step before the current one has no effect.

        Args:
            new_global_step: an integer scalar.
            name: wanted name.
        """
        step = cast(convert_to_tensor(new_global_step), int64)
        return raw.AccumulatorSetGlobalStep(self._accumulator_ref, step, name=name)


def _check_reduction(reduction_type: str) -> str:
    if reduction_type not in _REDUCTIONS:
        raise ValueError(f"reduction_type is one of {_REDUCTIONS}, got {reduction_type!r}")
    return reduction_type


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients until there are enough.

    Args:
        dtype: dtype of the gradients.
        shape: static shape of the gradients.
        shared_name: name under which several sessions share the accumulator on its device.
        name: wanted name.
        reduction_type: ``"MEAN"`` or ``"SUM"``.

    Raises:
        ValueError: for another reduction.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        attrs = {
            "dtype": as_dtype(dtype),
            "shape": TensorShape(shape),
            "reduction_type": _check_reduction(reduction_type),
        }
        handle = make_handle("ResourceConditionalAccumulator", name, shared_name, attrs)
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Add a gradient, unless it was computed at an older step than the accumulator's.

        Args:
            grad: the gradient.
            local_step: the step at which it was computed, an integer scalar.
            name: wanted name.

        Raises:
            ValueError: if its shape is not the accumulator's.
        """
        step = convert_to_tensor(local_step, int64)
        tensor = convert_to_tensor(grad, self._dtype)
        return raw.AccumulatorApplyGradient(self._accumulator_ref, step, tensor, name=name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """Take the mean or sum of all gradients once there are enough, and reset the accumulator.

        Args:
            num_required: required number, an int32 scalar.
            name: wanted name.
        """
        count = convert_to_tensor(num_required, int32)
        return raw.AccumulatorTakeGradient(self._accumulator_ref, count, dtype=self._dtype, name=name)


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums sparse gradients, row by row, until there are enough.

    Arguments as ``ConditionalAccumulator``. The mean of a row is over the gradients that contain it.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        attrs = {
            "dtype": as_dtype(dtype),
            "shape": TensorShape(shape),
            "reduction_type": _check_reduction(reduction_type),
        }
        handle = make_handle("SparseConditionalAccumulator", name, shared_name, attrs)
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None) -> Operation:
        """Call ``apply_grad`` with the components of ``IndexedSlices``."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Add a sparse gradient, unless it was computed at an older step than the accumulator's.

        Args:
            grad_indices: indices of its rows, an integer vector.
            grad_values: the rows.
            grad_shape: shape of the whole gradient, checked against the accumulator's.
            local_step: the step at which it was computed, an integer scalar.
            name: wanted name.
        """
        return raw.SparseAccumulatorApplyGradient(
            self._accumulator_ref,
            convert_to_tensor(local_step, int64),
            _as_int64(grad_indices),
            convert_to_tensor(grad_values, self._dtype),
            _as_int64([] if grad_shape is None else grad_shape),
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> tuple[Tensor, ...]:
        """Take the mean or sum of all gradients once there are enough, and reset the accumulator.

        Args:
            num_required: required number, an int32 scalar.
            name: wanted name.

        Returns:
            Ascending indices, rows, and the shape of the whole gradient with -1 for unknown dimensions.
        """
        count = convert_to_tensor(num_required, int32)
        return raw.SparseAccumulatorTakeGradient(self._accumulator_ref, count, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """Return the result of ``take_grad`` as ``IndexedSlices``."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)


def _as_int64(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return cast(value, int64)
    return convert_to_tensor(value, int64)


# -- op types --------------------------------------------------------------------------------------


def _spec(ctx: InferContext | KernelContext) -> TensorSpec:
    return TensorSpec(as_dtype(ctx.attrs["dtype"]), TensorShape(ctx.attrs["shape"]))


def _applied(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    spec, gradient = _spec(ctx), ctx.inputs[2]
    _check_dtype(ctx, 2, spec.dtype)
    if not gradient.shape.is_compatible_with(spec.shape):
        raise ValueError(f"{ctx.op}: Shapes {gradient.shape} and {spec.shape} are incompatible")
    return []


def _check_dtype(ctx: InferContext, index: int, expected: DType) -> None:
    actual = ctx.inputs[index].dtype
    if actual is not expected:
        raise TypeError(f"{ctx.op}: input {index} is {expected.name}, got {actual.name}")


def _apply_kernel(ctx: KernelContext) -> Kernel:
    shape = _spec(ctx).shape

    def apply(state: AccumulatorState, step: Any, gradient: Any) -> None:
        if not shape.is_compatible_with(np.shape(gradient)):
            raise InvalidArgumentError(
                f"{state.label} takes gradients of shape {shape}, got {list(np.shape(gradient))}"
            )
        state.apply(gradient, int(step))

    return apply


def _take(state: AccumulatorState, count: Any) -> Completion:
    return state.take(int(count), lambda total: total)


def _sparse_applied(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    _check_dtype(ctx, 3, _spec(ctx).dtype)
    return []


def _sparse_apply_kernel(ctx: KernelContext) -> Kernel:
    whole = _spec(ctx).shape

    def apply(state: AccumulatorState, step: Any, indices: Any, rows: Any, shape: Any) -> None:
        _check_sparse(state.label, whole, indices, rows, shape)
        state.apply((indices, rows), int(step))

    return apply


def _check_sparse(label: str, whole: TensorShape, indices: Any, rows: Any, shape: Any) -> None:
    """Check a gradient. The shape of an accumulator is that of its first axes: a gradient may have more."""
    dims = whole.sizes or ()
    claimed, known = ([int(size) for size in shape], [(i, d) for i, d in enumerate(dims) if d is not None])
    sizes = [int(size) for size in np.shape(rows)]
    wrong = range(len(indices)) if np.ndim(indices) == 1 and dims else range(0)
    beyond = [i for i in wrong if dims[0] is not None and not 0 <= indices[i] < dims[0]]
    checks: list[tuple[bool, str]] = [
        (np.ndim(indices) == 1, f"Input indices should be vector but received shape: {np.shape(indices)}"),
        (bool(sizes), "Values cannot be 0-dimensional."),
        (
            bool(sizes) and np.ndim(indices) == 1 and 0 < len(indices) == sizes[0],
            f"Expected {np.size(indices)} non-empty input values, got {sizes[0] if sizes else 0}",
        ),
        (
            not claimed or len(claimed) >= len(dims),
            f"Shape mismatch: expected shape rank at least {len(dims)}, got {len(claimed)}",
        ),
        *(
            (claimed[i] == d, f"Shape mismatch: expected shape dim {i} to be {d}, got {claimed[i]}")
            for i, d in known
            if i < len(claimed)
        ),
        *(
            (
                False,
                f"Shape mismatch: index of slice {i} exceeded limits of shape; index is {indices[i]} "
                f"exceeded {dims[0]}",
            )
            for i in beyond
        ),
        (len(sizes) >= len(dims), f"Shape mismatch: expected values rank at least {len(dims)}, got {len(sizes)}"),
        *(
            (sizes[i] == d, f"Shape mismatch: expected values dim {i} to be {d}, got {sizes[i]}")
            for i, d in known
            if 0 < i < len(sizes)
        ),
    ]
    for holds, said in checks:
        if not holds:
            raise InvalidArgumentError(f"{said} [{label} of shape {whole}]")


def _sparse_taken(ctx: InferContext) -> Sequence[TensorShape]:
    # A gradient may have more axes than the accumulator says.
    return [TensorShape([None]), TensorShape(None), TensorShape([None])]


def _sparse_take_kernel(ctx: KernelContext) -> Kernel:
    dims = _spec(ctx).shape.sizes

    def whole(total: Any) -> Any:
        indices, rows = total
        first = dims[0] if dims else None
        return indices, rows, np.array([-1 if first is None else first, *rows.shape[1:]], np.int64)

    return lambda state, count: state.take(int(count), whole)


register_state(
    "ResourceConditionalAccumulator",
    "accumulator",
    "ConditionalAccumulator",
    lambda label, attrs: AccumulatorState(label, DenseSum(), mean=attrs["reduction_type"] == "MEAN"),
    pair,
)
register_state(
    "SparseConditionalAccumulator",
    "accumulator",
    "SparseConditionalAccumulator",
    lambda label, attrs: AccumulatorState(label, SparseSum(), mean=attrs["reduction_type"] == "MEAN"),
    pair,
)
op("AccumulatorApplyGradient", _applied, kernel=_apply_kernel, grad=NOT_DIFFERENTIABLE)
op(
    "AccumulatorTakeGradient",
    checked(lambda ctx: [_spec(ctx).shape]),
    _take,
    NOT_DIFFERENTIABLE,
    suspends=True,
    takes=True,
)
op("AccumulatorNumAccumulated", checked(scalar), lambda state: np.int32(state.count), NOT_DIFFERENTIABLE)
op("AccumulatorSetGlobalStep", checked(no_outputs), lambda state, step: state.set_step(int(step)), NOT_DIFFERENTIABLE)
op("SparseAccumulatorApplyGradient", _sparse_applied, kernel=_sparse_apply_kernel, grad=NOT_DIFFERENTIABLE)
op(
    "SparseAccumulatorTakeGradient",
    checked(_sparse_taken),
    kernel=_sparse_take_kernel,
    grad=NOT_DIFFERENTIABLE,
    suspends=True,
    takes=True,
)
