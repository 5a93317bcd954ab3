"""Matrices as operators: products, solutions and determinants of matrices whose structure is known."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.linear.matrices import adjoint as adjoint_of

__all__ = [
    "LinearOperator",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
]


class LinearOperator:
    """A matrix, or a batch of them, that is used without being looked at.

    What the program knows of it is kept and not checked.

    Attributes:
        dtype: the element type.
        name: the name.
        is_non_singular: whether it has an inverse; ``None`` if that is not known.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
    """

    def __init__(self, matrix: Tensor, known: tuple[Any, ...], name: str) -> None:
        self._matrix = matrix
        self.dtype, self.name = matrix.dtype, name
        self.is_non_singular, self.is_self_adjoint = known[0], known[1]
        self.is_positive_definite = known[2]
        rows, columns = matrix.shape[-2:] if matrix.shape.rank is not None else (None, None)
        square = None if rows is None or columns is None else rows == columns
        self.is_square = square if known[3] is None else known[3]

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._matrix.shape

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch."""
        batch: TensorShape = self.shape[:-2]
        return batch

    @property
    def tensor_rank(self) -> int | None:
        """How many axes there are."""
        return self.shape.rank

    @property
    def domain_dimension(self) -> Any:
        """The length of a vector that it takes."""
        return self.shape[-1]

    @property
    def range_dimension(self) -> Any:
        """The length of a vector that it gives."""
        return self.shape[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape at run time."""
        return ops.shape(self._matrix, name=name)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return the matrix."""
        return ops.identity(self._matrix, name)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum with a matrix."""
        return ops.add(self._matrix, x, name=name)

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """Return the product with a matrix or another operator.

        Args:
            x: the matrix on the right.
            adjoint: whether to use the adjoint of this one.
            adjoint_arg: whether to use that of the other.
            name: wanted name.
        """
        if isinstance(x, LinearOperator):
            product = self.matmul(x.to_dense(), adjoint, adjoint_arg, name)
            return LinearOperatorFullMatrix(product, name=f"{self.name}_{x.name}")
        right = ops.convert_to_tensor(x, self.dtype)
        return self._product(adjoint_of(right) if adjoint_arg else right, adjoint, name)

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        return ops.matmul(self._matrix, x, adjoint_a=adjoint, name=name)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Return the product with a vector."""
        column = ops.expand_dims(ops.convert_to_tensor(x, self.dtype), -1)
        return ops.squeeze(self.matmul(column, adjoint), [-1], name=name)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Tensor:
        """Return what gives a matrix, multiplied by this one; arguments as for ``matmul``."""
        right = ops.convert_to_tensor(rhs, self.dtype)
        return self._solution(adjoint_of(right) if adjoint_arg else right, adjoint, name)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        matrix = self._matrix
        if self.batch_shape.rank != 0 or rhs.shape.rank != 2:
            parts = [ops.shape(value) for value in (matrix, rhs)]
            batch = ops.broadcast_dynamic_shape(*[part[:-2] for part in parts])
            matrix, rhs = (
                ops.broadcast_to(value, ops.concat([batch, part[-2:]], 0))
                for value, part in zip((matrix, rhs), parts, strict=True)
            )
        return ops.matrix_solve(matrix, rhs, adjoint=adjoint, name=name)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Return what gives a vector, multiplied by this one."""
        column = ops.expand_dims(ops.convert_to_tensor(rhs, self.dtype), -1)
        return ops.squeeze(self.solve(column, adjoint), [-1], name=name)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return the diagonal."""
        return ops.matrix_diag_part(self._matrix, name=name)

    def trace(self, name: str = "trace") -> Tensor:
        """Return the sum of the diagonal."""
        return ops.reduce_sum(self.diag_part(), -1, name=name)

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant."""
        return ops.matrix_determinant(self._matrix, name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant."""
        return ops.log(ops.abs(self.determinant()), name=name)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the adjoint."""
        return LinearOperatorFullMatrix(adjoint_of(self._matrix), name=name)

    H = property(adjoint)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)


class _Structured(LinearOperator):
    """One whose diagonal says its determinant."""

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant, the product of the diagonal."""
        return ops.reduce_prod(self.diag_part(), -1, name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant."""
        return ops.reduce_sum(ops.log(ops.abs(self.diag_part())), -1, name=name)


class LinearOperatorFullMatrix(LinearOperator):
    """A matrix of no structure.

    Args:
        matrix: the matrix, or a batch.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        known = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(ops.convert_to_tensor(matrix), known, name)


class LinearOperatorLowerTriangular(_Structured):
    """The lower triangle of a matrix, with zeros above it; arguments as for ``LinearOperatorFullMatrix``."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        known = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(ops.matrix_band_part(tril, -1, 0), known, name)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return ops.matrix_triangular_solve(self._matrix, rhs, adjoint=adjoint, name=name)


class LinearOperatorDiag(_Structured):
    """A diagonal matrix.

    Args:
        diag: the diagonal, or a batch of them.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: without effect.
        name: the name.
    """

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diagonal = ops.convert_to_tensor(diag)
        known = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(ops.matrix_diag(self._diagonal), known, name)

    @property
    def diag(self) -> Tensor:
        """The diagonal."""
        return self._diagonal

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return the diagonal."""
        return ops.identity(self._diagonal, name)

    def _factors(self, adjoint: bool) -> Tensor:
        factors = ops.conj(self._diagonal) if adjoint else self._diagonal
        return ops.expand_dims(factors, -1)

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        return ops.multiply(self._factors(adjoint), x, name=name)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return ops.divide(rhs, self._factors(adjoint), name=name)


class LinearOperatorIdentity(LinearOperatorDiag):
    """The matrix that changes nothing.

    Args:
        num_rows: its size.
        batch_shape: shape of a batch of them.
        dtype: element type; ``float32`` if omitted.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: without effect.
        assert_proper_shapes: without effect.
        name: the name.
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool = True,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = True,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        sizes = ops.concat([ops.cast([] if batch_shape is None else batch_shape, "int32"), [num_rows]], 0)
        ones = ops.ones(sizes, as_dtype(dtype or float32))
        super().__init__(ones, is_non_singular, is_self_adjoint, is_positive_definite, True, name)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """A multiple of the matrix that changes nothing.

    Args:
        num_rows: its size.
        multiplier: the factor, or a batch of them.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: without effect.
        assert_proper_shapes: without effect.
        name: the name.
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        factor = ops.convert_to_tensor(multiplier)
        ones = ops.ones([num_rows], factor.dtype)
        diagonal = ops.expand_dims(factor, -1) * ones
        super().__init__(diagonal, is_non_singular, is_self_adjoint, is_positive_definite, True, name)
