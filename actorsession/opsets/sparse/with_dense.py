"""Element-wise operators between sparse and dense tensors: ``sparse * dense``, ``sparse / dense``.

Owns ``SparseDenseCwiseAdd``, ``SparseDenseCwiseMul`` and ``SparseDenseCwiseDiv``, and the operators that
``SparseTensor`` inherits. The dense operand is broadcast to the shape of the sparse one, never the reverse.
Entries missing in the sparse operand stay missing, whatever the dense operand contains there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, float64, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, size
from actorsession.ops.arrays.dimensions import shape as shape_of
from actorsession.ops.arrays.fills import fill
from actorsession.ops.arrays.gather import gather_nd
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.scatter import scatter_nd
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import square
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import op
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, require_rank

__all__ = ["DenseOperators"]


class DenseOperators:
    """Python's operators between a sparse tensor and a dense one, or a number."""

    __slots__ = ()
    # A numpy array on the left defers to this class instead of iterating over its elements.
    __array_ufunc__ = None
    # A tensor on the left does so as well.
    _multiplies_tensors = True

    def _parts(self) -> list[Tensor]:
        """Return indices, values and dense shape."""
        raise NotImplementedError

    def with_values(self, new_values: Any) -> Self:
        """Return the tensor with other values at the same coordinates."""
        raise NotImplementedError

    def __mul__(self, other: Any) -> Self:
        return self.with_values(_times(self._parts(), other))

    def __rmul__(self, other: Any) -> Self:
        # As in TensorFlow, only tensors and arrays may stand on the left.
        if isinstance(other, (int, float, complex)):
            return NotImplemented
        return self.with_values(_times(self._parts(), other))

    def __truediv__(self, other: Any) -> Self:
        return self.with_values(_divided(self._parts(), other))


def _times(sparse: list[Tensor], other: Any) -> Tensor:
    indices, values, dims = sparse
    with values.graph.name_scope("mul") as scope:
        dense = convert_to_tensor(other, values.dtype, "y", graph=values.graph)
        return raw.SparseDenseCwiseMul(indices, values, dims, dense, name=scope)


def _divided(sparse: list[Tensor], other: Any) -> Tensor:
    indices, values, dims = sparse
    with values.graph.name_scope("truediv") as scope:
        dense = convert_to_tensor(other, values.dtype, "y", graph=values.graph)
        if not values.dtype.is_floating and not values.dtype.is_complex:
            wider = float32 if values.dtype.size <= 2 else float64
            values, dense = cast(values, wider), cast(dense, wider)
        return raw.SparseDenseCwiseDiv(indices, values, dims, dense, name=scope)


# -- op types --------------------------------------------------------------------------------------


def _shape(ctx: InferContext) -> list[TensorShape]:
    check_dtype(ctx, "i", (0, 2))
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    length, dense = ctx.inputs[2].shape.with_rank(1)[0], ctx.inputs[3].shape.rank
    if length is not None and dense is not None and dense > length:
        raise ValueError(
            f"{ctx.op}: the dense operand broadcasts to the sparse one, of rank {length}; got rank {dense}"
        )
    return [ctx.inputs[1].shape.with_rank(1)]


def _applied(function: Callable[[Any, Any], Any], op: str, indices: Array, values: Array, shape: Array, y: Any) -> Any:
    dims, dense = checked_dims(shape, op), np.asarray(y)
    check_entries(indices, len(values), dims, op)
    try:
        whole = np.broadcast_to(dense, dims)
    except ValueError as exc:
        raise InvalidArgumentError(
            f"{op}: the dense operand broadcasts to the sparse one, of shape {list(dims)}; got shape "
            f"{list(dense.shape)}"
        ) from exc
    with np.errstate(all="ignore"):
        return function(values, whole[tuple(indices.T)])


def _product_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, values, _, dense = op.inputs
    return _gradients(op, lambda met: grad * met, lambda _met: grad * values, dense)


def _quotient_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, values, _, dense = op.inputs
    return _gradients(op, lambda met: grad / met, lambda met: grad * (-values / square(met)), dense)


def _gradients(
    op: Operation, of_values: Callable[[Tensor], Tensor], of_met: Callable[[Tensor], Tensor], dense: Tensor
) -> list[Tensor | None]:
    """Return the gradients, through the dense entry that each sparse entry was combined with.

    Several sparse entries may share one dense entry.
    """
    indices, _, dims, _ = op.inputs
    own = shape_of(dense, out_type=int64)
    # The dense shape with leading axes of extent 1, at which every index is 0.
    padded = concat([fill(reshape(size(dims) - rank(dense), [1]), np.int64(1)), own], 0)
    places = indices // (dims // maximum(padded, np.int64(1)))
    met = gather_nd(reshape(dense, padded), places)
    back = reshape(scatter_nd(places, of_met(met), padded), own)
    back.set_shape(dense.shape)
    return [None, of_values(met), None, back]


def _kernel(function: Callable[[Any, Any], Any]) -> Callable[[KernelContext], Callable[..., Any]]:
    return lambda ctx: partial(_applied, function, ctx.op)


def _quotient(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        if not y.all():
            raise InvalidArgumentError("SparseDenseCwiseDiv: integer division by zero")
        return np.trunc(x / y).astype(x.dtype)
    return np.divide(x, y)


op("SparseDenseCwiseAdd", _shape, kernel=_kernel(np.add))  # without a gradient, as in TensorFlow
op("SparseDenseCwiseMul", _shape, kernel=_kernel(np.multiply), grad=_product_gradient)
op("SparseDenseCwiseDiv", _shape, kernel=_kernel(_quotient), grad=_quotient_gradient)
