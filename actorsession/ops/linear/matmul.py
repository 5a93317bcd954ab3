"""Products of matrices and of batches of them.

Owns ``MatMul`` for two matrices and ``BatchMatMulV2``, which broadcasts leading dimensions. Transposed
operands are views that BLAS reads without copying, so no gradient needs an explicit transpose. Types that
BLAS does not support are multiplied in float32 (16-bit floats) or by numpy's own loops (integers).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bfloat16, float16
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import OPERATORS, Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, broadcast_shapes
from actorsession.ops import blas, raw
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import convert_all
from actorsession.ops.compounds import Body, Value, compound
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.rows import op

__all__ = ["matmul"]


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the matrix product ``a @ b`` over the last two dimensions; the leading ones broadcast.

    Args:
        a: rank 2 or more.
        b: the same dtype, rank 2 or more.
        transpose_a: whether ``a`` is transposed first.
        transpose_b: likewise for ``b``.
        adjoint_a: whether ``a`` is transposed and conjugated first.
        adjoint_b: likewise for ``b``.
        output_type: element type of the result, in which the sums are formed; that of ``a`` if left out.

    Raises:
        ValueError: if both ``transpose`` and ``adjoint`` are asked for, or the shapes do not fit.
    """
    for transpose, adjoint, which in ((transpose_a, adjoint_a, "a"), (transpose_b, adjoint_b, "b")):
        if transpose and adjoint:
            raise ValueError(f"only one of transpose_{which} and adjoint_{which} can be true")
    left, right = convert_all([a, b])
    if output_type is not None:
        left, right = cast(left, output_type), cast(right, output_type)
    if left.shape.rank == 2 and right.shape.rank == 2:
        left, right = (conj(left) if adjoint_a else left), (conj(right) if adjoint_b else right)
        return _product(left, right, transpose_a or adjoint_a, transpose_b or adjoint_b, name)
    left, right = (conj(left) if transpose_a else left), (conj(right) if transpose_b else right)
    return _batch_product(left, right, transpose_a or adjoint_a, transpose_b or adjoint_b, name)


def _product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, name: str | None = None) -> Tensor:
    return raw.MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


def _batch_product(x: Tensor, y: Tensor, adj_x: bool, adj_y: bool, name: str | None = None) -> Tensor:
    # TensorFlow's function gives nodes of both types the same default name.
    return raw.BatchMatMulV2(x, y, adj_x=adj_x, adj_y=adj_y, name=name or "MatMul")


# -- shapes --------------------------------------------------------------------------------------


def _matmul_shape(ctx: InferContext) -> list[TensorShape]:
    turned = bool(ctx.attrs["transpose_a"]), bool(ctx.attrs["transpose_b"])
    for spec in ctx.inputs:
        if spec.shape.rank not in (None, 2):
            raise ValueError(
                f"Shape must be rank 2 but is rank {spec.shape.rank}: MatMul takes two matrices; got shape {spec.shape}"
            )
    return [TensorShape(_product_dims(ctx, *turned))]


def _batch_matmul_shape(ctx: InferContext) -> list[TensorShape]:
    x, y = (s.shape for s in ctx.inputs)
    for shape in (x, y):
        if shape.rank is not None and shape.rank < 2:
            raise ValueError(
                f"Shape must be at least rank 2 but is rank {shape.rank}: {ctx.op} takes matrices or batches "
                f"of them; got shape {shape}"
            )
    matrix = _product_dims(ctx, bool(ctx.attrs["adj_x"]), bool(ctx.attrs["adj_y"]))
    try:
        if ctx.op == "BatchMatMul":  # the older one, which does not broadcast
            batch = x[:-2].merge_with(y[:-2])
        else:
            batch = broadcast_shapes(x[:-2], y[:-2])
    except ValueError:
        raise ValueError(f"{ctx.op} cannot match the batches of shapes {x} and {y}") from None
    return [batch.concatenate(matrix)]


def _product_dims(ctx: InferContext, turn_x: bool, turn_y: bool) -> list[Dim]:
    """Return the rows and columns of the product over the last two dimensions."""
    x, y = (s.shape for s in ctx.inputs)
    rows, left = _turned(x, turn_x)
    right, columns = _turned(y, turn_y)
    if left is not None and right is not None and left != right:
        how = f" (transposed: {turn_x}, {turn_y})" if turn_x or turn_y else ""
        raise ValueError(
            f"Dimensions must be equal, but are {left} and {right}: {ctx.op} cannot multiply shapes {x} "
            f"and {y}{how}: the inner dimensions {left} and {right} must be equal"
        )
    return [rows, columns]


def _turned(shape: TensorShape, turn: bool) -> tuple[Dim, Dim]:
    if shape.sizes is None:
        return None, None
    rows, columns = shape.sizes[-2:]
    return (columns, rows) if turn else (rows, columns)


# -- kernels -------------------------------------------------------------------------------------


def _multiplier(dtype: DType, product: Kernel) -> Kernel:
    """Return ``product`` for arrays of ``dtype``, computed in float32 if they have 16 bits."""
    if dtype not in (float16, bfloat16):
        return product
    narrow = dtype.np_dtype

    # numpy multiplies float16 element by element, and has no matrix product of bfloat16.
    def widened(a: Array, b: Array) -> Any:
        return product(a.astype(np.float32), b.astype(np.float32)).astype(narrow)

    return widened


def _matmul_kernel(ctx: KernelContext) -> Kernel:
    turn_a, turn_b = bool(ctx.attrs["transpose_a"]), bool(ctx.attrs["transpose_b"])
    known = all(spec.shape.is_fully_defined() for spec in ctx.inputs)
    # Chosen once where it can be: the choice takes a microsecond, a product of 64x64 four.
    chosen = blas.product_of(_multiplications(ctx.inputs, turn_b)) if known else blas.product
    multiply = _multiplier(ctx.inputs[0].dtype, chosen)

    def product(a: Array, b: Array) -> Any:
        return multiply(a.T if turn_a else a, b.T if turn_b else b)

    def checked(a: Array, b: Array) -> Any:
        if a.ndim != 2 or b.ndim != 2 or a.shape[not turn_a] != b.shape[turn_b]:
            raise InvalidArgumentError(
                f"MatMul cannot multiply shapes {a.shape} and {b.shape} (transpose_a={turn_a}, transpose_b={turn_b})"
            )
        return product(a, b)

    if not known:
        return checked
    return product if turn_a or turn_b else multiply


def _matmul_into_new(ctx: KernelContext) -> Kernel | None:
    turn_a, turn_b = bool(ctx.attrs["transpose_a"]), bool(ctx.attrs["transpose_b"])
    known = all(spec.shape.is_fully_defined() for spec in ctx.inputs)
    if not known or ctx.inputs[0].dtype in (float16, bfloat16):
        return None
    multiply = blas.product_of(_multiplications(ctx.inputs, turn_b))
    return lambda a, b, out: multiply(a.T if turn_a else a, b.T if turn_b else b, out)


def _multiplications(inputs: Sequence[TensorSpec], turn_b: bool) -> int:
    a, b = (spec.shape for spec in inputs)
    return (a.num_elements() or 0) * (b[not turn_b] or 0)


def _batch_matmul_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[0].dtype
    turn_x = _adjoint if ctx.attrs["adj_x"] else None
    turn_y = _adjoint if ctx.attrs["adj_y"] else None
    multiply, same_batch = _multiplier(dtype, blas.batch_product), ctx.op == "BatchMatMul"

    def product(x: Array, y: Array) -> Any:
        left = turn_x(x) if turn_x else x
        right = turn_y(y) if turn_y else y
        if left.ndim < 2 or right.ndim < 2 or left.shape[-1] != right.shape[-2]:
            raise InvalidArgumentError(
                f"{ctx.op} cannot multiply shapes {x.shape} and {y.shape} "
                f"(adj_x={turn_x is not None}, adj_y={turn_y is not None})"
            )
        if same_batch and x.shape[:-2] != y.shape[:-2]:
            raise InvalidArgumentError(
                f"BatchMatMul takes two batches of one shape; got shapes {x.shape} and {y.shape}"
            )
        return multiply(left, right)

    return product


def _adjoint(x: Array) -> Array:
    turned = np.swapaxes(x, -1, -2) if x.ndim > 1 else x
    return np.conjugate(turned) if x.dtype.kind == "c" else turned


# -- cost ----------------------------------------------------------------------------------------

# Operations per microsecond: of OpenBLAS with the kernels that it selects for an unknown processor, and of
# numpy's integer loops. The order of magnitude decides where the product runs.
_BLAS_SPEED = 50_000.0
_INTEGER_SPEED = 500.0
_CALL = 2.0


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    batch = max(1, outputs[0].shape[:-2].num_elements() or 1)
    x, y, z = (max(1, (s.shape.num_elements() or 1) / batch) for s in (*inputs, *outputs))
    # The operands and the result have m*k, k*n and m*n elements: sqrt(x * y * z) is m * k * n, whatever was
    # transposed.
    speed = _INTEGER_SPEED if inputs[0].dtype.is_integer else _BLAS_SPEED
    return _CALL + 2 * batch * math.sqrt(x * y * z) / speed


# -- gradients -----------------------------------------------------------------------------------


def _back(
    multiply: Callable[[Tensor, Tensor, bool, bool], Tensor],
    x: Tensor,
    y: Tensor,
    turn_x: bool,
    turn_y: bool,
    grad: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the gradients of a product, with transposed operands where the product had them."""
    by_x = multiply(y, grad, turn_y, True) if turn_x else multiply(grad, y, False, not turn_y)
    by_y = multiply(grad, x, True, turn_x) if turn_y else multiply(x, grad, not turn_x, False)
    return by_x, by_y


def _matmul_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    a, b = (conj(t) for t in op.inputs)
    turned = op.attrs["transpose_a"], op.attrs["transpose_b"]
    return _back(_product, a, b, *turned, grad)


def _batch_matmul_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    by_x, by_y = _back(_batch_product, x, y, op.attrs["adj_x"], op.attrs["adj_y"], grad)
    return sum_to_operands(x, y, by_x, by_y, trailing=2)


op(
    "MatMul",
    _matmul_shape,
    kernel=_matmul_kernel,
    into_new=_matmul_into_new,
    grad=_matmul_gradient,
    cost=_cost,
    divides=True,
)
for _name in ("BatchMatMul", "BatchMatMulV2"):  # the first is TensorFlow's older one
    op(_name, _batch_matmul_shape, kernel=_batch_matmul_kernel, grad=_batch_matmul_gradient, cost=_cost, divides=True)


def _widened(body: Body, x: Value, y: Value) -> Value:
    """Multiply matrices of two types in the type of the result."""
    (wide,) = body.outputs
    operands = [
        value if value.spec.dtype is wide else body.Cast(value, SrcT=value.spec.dtype, DstT=wide) for value in (x, y)
    ]
    adj_x, adj_y = body.attrs["adj_x"], body.attrs["adj_y"]
    product: Value = body.BatchMatMulV2(*operands, adj_x=adj_x, adj_y=adj_y)
    return product


def _widened_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs

    def multiply(a: Tensor, b: Tensor, adj_a: bool, adj_b: bool) -> Tensor:
        return raw.BatchMatMulV3(a, b, Tout=grad.dtype, adj_x=adj_a, adj_y=adj_b)

    by_x, by_y = _back(multiply, x, y, op.attrs["adj_x"], op.attrs["adj_y"], grad)
    summed = sum_to_operands(x, y, by_x, by_y, trailing=2)
    return [None if by is None else cast(by, operand.dtype) for by, operand in zip(summed, op.inputs, strict=True)]


compound("BatchMatMulV3", _widened, _widened_gradient, cost=_cost, divides=True)

OPERATORS.fill("matmul", functools.partial(matmul, name="matmul"))
