"""``_linear``, which programs of their own call, and the class with its variables."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.ops.neural.biases import bias_add

__all__ = ["_Linear", "_linear"]


def _linear(
    args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> Tensor:
    """Return a linear map of matrices side by side, with variables ``kernel`` and ``bias`` of the scope.

    Args:
        args: a matrix, or a list of them.
        output_size: the number of columns of the result.
        bias: whether a bias is added.
        bias_initializer: the initialiser of the bias; zeros if left out.
        kernel_initializer: the initialiser of the kernel; that of the scope if left out.

    Raises:
        ValueError: for no matrix, or one of another rank or unknown number of columns.
    """
    matrices = list(args) if isinstance(args, (list, tuple)) else [args]
    if not matrices:
        raise ValueError("`args` must be specified")
    columns = 0
    for matrix in matrices:
        sizes = matrix.shape.sizes
        if sizes is None or len(sizes) != 2:
            raise ValueError(f"linear is expecting 2D arguments: {[m.shape for m in matrices]}")
        if sizes[1] is None:
            raise ValueError(f"linear expects shape[1] to be provided for shape {matrix.shape}, but saw None")
        columns += sizes[1]
    dtype = matrices[0].dtype
    kernel = ops.get_variable("kernel", [columns, output_size], dtype, kernel_initializer)
    joined = matrices[0] if len(matrices) == 1 else ops.concat(matrices, 1)
    product: Tensor = ops.matmul(joined, kernel)
    if not bias:
        return product
    start = bias_initializer or ops.zeros_initializer()
    return bias_add(product, ops.get_variable("bias", [output_size], dtype, start))


class _Linear:
    """A linear map like ``_linear`` whose variables are made once.

    Args:
        args: matrices like those that it is called with.
        output_size: the number of columns of the result.
        build_bias: whether a bias is added.
        bias_initializer: the initialiser of the bias; zeros if left out.
        kernel_initializer: the initialiser of the kernel; that of the scope if left out.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        matrices = list(args) if isinstance(args, (list, tuple)) else [args]
        rows = sum(int(matrix.shape[1]) for matrix in matrices)
        dtype = matrices[0].dtype
        self._weights = ops.get_variable("kernel", [rows, output_size], dtype, kernel_initializer)
        self._bias = None
        if build_bias:
            start = bias_initializer or ops.zeros_initializer()
            self._bias = ops.get_variable("bias", [output_size], dtype, start)

    def __call__(self, args: Any) -> Tensor:
        """Return the map of matrices side by side."""
        matrices = list(args) if isinstance(args, (list, tuple)) else [args]
        joined = matrices[0] if len(matrices) == 1 else ops.concat(matrices, 1)
        product: Tensor = ops.matmul(joined, self._weights)
        return product if self._bias is None else bias_add(product, self._bias)
