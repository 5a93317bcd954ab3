"""Products and sums composed of simpler ones, and the cross product of vectors in three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape, as_shape, merge_all
from actorsession.ops import raw
from actorsession.ops.arrays.array import identity
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of
from actorsession.ops.elements.arithmetic import add_n
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.operands import merged_shape
from actorsession.ops.rows import op

__all__ = ["accumulate_n", "cross", "polyval", "scalar_mul"]


def accumulate_n(inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """Return the sum of tensors of one shape, like ``add_n`` but with a shape and dtype to check.

    Args:
        inputs: one or more tensors of the same dtype and shape.
        shape: required shape.
        tensor_dtype: required dtype.

    Raises:
        ValueError: if there are no tensors, or their shapes or dtypes contradict each other.
        TypeError: if the tensors have another dtype than ``tensor_dtype``.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(f"accumulate_n takes a list of one or more tensors; got {inputs!r:.100}")
    graph = graph_of(*inputs)
    tensors = [convert_to_tensor(value, graph=graph) for value in inputs]
    names = [tensor.dtype.name for tensor in tensors]
    if len(set(names)) > 1:
        raise ValueError(f"accumulate_n takes tensors of one dtype; got {names}")
    merge_all([as_shape(shape), *[tensor.shape for tensor in tensors]])
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not tensors[0].dtype:
        expected = as_dtype(tensor_dtype).name
        raise TypeError(f"accumulate_n was to sum tensors of {expected}; got {names[0]}")
    if len(tensors) == 1:
        return tensors[0] if name is None else identity(tensors[0], name)
    return add_n(tensors, name)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiply a tensor or slices by a scalar.

    Args:
        scalar: a scalar, converted to the dtype of ``x``.
        x: a tensor, variable or ``IndexedSlices``.

    Raises:
        ValueError: if ``scalar`` has another rank.
    """
    value = x.values if isinstance(x, IndexedSlices) else convert_to_tensor(x)
    factor = convert_to_tensor(scalar, value.dtype, graph=value.graph)
    if factor.shape.rank not in (None, 0):
        raise ValueError(f"scalar_mul multiplies by a scalar; got shape {factor.shape}")
    product = raw.Mul(factor, value, name=name)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(product, x.indices, x.dense_shape)
    return product


def polyval(coeffs: list[Any], x: Any, name: str | None = None) -> Tensor:
    """Return the value of a polynomial at each element of ``x``.

    Args:
        coeffs: coefficients, that of the highest power first; they broadcast with ``x``.
        x: the points at which to evaluate the polynomial.

    Raises:
        ValueError: if ``coeffs`` is no list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"polyval takes a list of coefficients; got {coeffs!r:.100}")
    at = convert_to_tensor(x, graph=graph_of(x, *coeffs))
    with at.graph.name_scope(name or "polyval") as scope:
        if not coeffs:
            return raw.ZerosLike(at, name=scope)
        coefficients = [
            convert_to_tensor(c, None if hasattr(c, "_as_graph_element") else at.dtype, graph=at.graph) for c in coeffs
        ]
        total = coefficients[0]
        for coefficient in coefficients[1:]:
            total = coefficient + total * at
        return total


# -- Cross ---------------------------------------------------------------------------------------


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Return the cross products of vectors of three numbers.

    Args:
        a: numbers whose last axis has length 3.
        b: the same dtype and shape.

    Raises:
        ValueError: for another length, or two shapes.
    """
    return raw.Cross(*convert_all([a, b]), name=name)


def _cross_shape(ctx: InferContext) -> list[TensorShape]:
    shape = merged_shape(ctx)
    if shape.rank == 0 or (shape.rank is not None and shape[-1] not in (None, 3)):
        raise ValueError(f"Cross takes vectors of 3 along the last axis; got shape {shape}")
    return [shape]


def _crossed(a: Any, b: Any) -> Any:
    if a.shape != b.shape or a.shape[-1:] != (3,):
        raise InvalidArgumentError(
            "Cross takes two tensors of one shape whose last axis has length 3; got "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    left, right = np.roll(a, -1, -1), np.roll(b, -1, -1)
    return np.roll(a * right - left * b, -1, -1)


def _cross_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    a, b = op.inputs
    return [cross(b, grad), cross(grad, a)]


op("Cross", _cross_shape, _crossed, _cross_gradient)
