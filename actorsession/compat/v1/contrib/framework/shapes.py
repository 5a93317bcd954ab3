"""Checks of tensors, of shapes and of the global step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs.tensors import assert_same_float_dtype, convert_to_tensor_or_sparse_tensor
from actorsession.graph.dtypes import as_dtype, int32
from actorsession.graph.graph import control_dependencies, name_scope
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train import assert_global_step, get_global_step

__all__ = [
    "assert_or_get_global_step",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_scalar_int",
    "convert_to_tensor_or_sparse_tensor",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "with_same_shape",
    "with_shape",
]


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """Return the given global step, checked, or that of the graph."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Return a tensor that has no axes.

    Args:
        tensor: the tensor.
        name: the name scope.
        message: what the error says first.

    Raises:
        ValueError: for another shape.
    """
    with name_scope(name or "assert_scalar"):
        value = ops.convert_to_tensor(tensor)
        if value.shape.rank != 0:
            raise ValueError(f"Expected scalar shape for {value.name}, saw shape: {value.shape}.")
        return value


def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """Return a tensor that is an integer without axes.

    Raises:
        ValueError: for another dtype or shape.
    """
    value = ops.convert_to_tensor(tensor)
    if not as_dtype(value.dtype).is_integer:
        raise ValueError(f"Expected integer type for {value.name}, received type: {value.dtype}.")
    return assert_scalar(value, name)


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """Return the sum of all elements of all tensors.

    Raises:
        ValueError: for no tensors.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name or "reduce_sum_n"):
        sums = [ops.reduce_sum(each) for each in tensors]
        return sums[0] if len(sums) == 1 else ops.add_n(sums)


def remove_squeezable_dimensions(predictions: Any, labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return both without the last axis of the one that has an axis of size 1 more than the other."""
    with name_scope(name or "remove_squeezable_dimensions"):
        first, second = ops.convert_to_tensor(predictions), ops.convert_to_tensor(labels)
        if None not in (first.shape.rank, second.shape.rank):
            more = len(first.shape) - len(second.shape)
            if more == 1:
                first = ops.squeeze(first, [-1])
            elif more == -1:
                second = ops.squeeze(second, [-1])
        return first, second


def with_shape(expected_shape: Any, tensor: Any) -> Tensor:
    """Return a tensor of a shape, which is checked in the graph if it is known there, else in a step.

    Args:
        expected_shape: the shape, or a tensor of it.
        tensor: the tensor.

    Raises:
        ValueError: for another shape.
    """
    value = ops.convert_to_tensor(tensor)
    if isinstance(expected_shape, Tensor):
        said = f"Wrong shape for {value.name} [expected] [actual]."
        sizes = ops.cast(expected_shape, int32)
        check = ops.assert_equal(sizes, ops.shape(value), message=said)
        with control_dependencies([check]):
            return ops.identity(value)
    shape = TensorShape(expected_shape)
    if not shape.is_compatible_with(value.shape):
        raise ValueError(f"Invalid shape for tensor {value.name}, expected {shape}, got {value.shape}.")
    return value if value.shape.is_fully_defined() else ops.ensure_shape(value, shape)


def with_same_shape(expected_tensor: Any, tensor: Any) -> Tensor:
    """Return a tensor of the shape of another one; see ``with_shape``."""
    like = ops.convert_to_tensor(expected_tensor)
    if like.shape.is_fully_defined():
        return with_shape(like.shape, tensor)
    return with_shape(ops.shape(like), tensor)
