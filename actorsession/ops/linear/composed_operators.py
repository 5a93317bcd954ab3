"""Operators that are made of others, or of fewer numbers than a matrix has.

Products and solutions of those made of others are theirs, one after the other; the matrix itself is built
too, and computed by nothing that does not ask for it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, complex64, float32
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.linear.matrices import adjoint as adjoint_of
from actorsession.ops.linear.operators import LinearOperator

__all__ = [
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorComposition",
    "LinearOperatorHouseholder",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorToeplitz",
    "LinearOperatorZeros",
]


def _all_of(operators: Sequence[Any], hint: str) -> bool | None:
    """Return whether something is true of a product because it is true of each factor."""
    return True if all(getattr(each, hint) for each in operators) else None


def _known(operators: Sequence[LinearOperator], *hints: bool | None) -> list[bool | None]:
    """Return what is said of a product, or else what is true because it is true of each factor."""
    keys = ("is_non_singular", "is_self_adjoint", "is_positive_definite")
    return [_all_of(operators, key) if hint is None else hint for key, hint in zip(keys, hints, strict=True)]


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator.

    Args:
        operator: the operator.
        is_non_singular: whether it has an inverse; as the operator if left out, like the others.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.operator = operator
        known = (
            operator.is_non_singular if is_non_singular is None else is_non_singular,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            operator.is_square if is_square is None else is_square,
        )
        super().__init__(adjoint_of(operator.to_dense()), known, name or f"{operator.name}_adjoint")

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        return self.operator._product(x, not adjoint, name)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return self.operator._solution(rhs, not adjoint, name)

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant."""
        return ops.conj(self.operator.determinant(), name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant."""
        return self.operator.log_abs_determinant(name)


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator; arguments as for ``LinearOperatorAdjoint``."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.operator = operator
        known = (
            True if is_non_singular is None else is_non_singular,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            True if is_square is None else is_square,
        )
        matrix = ops.matrix_inverse(operator.to_dense())
        super().__init__(matrix, known, name or f"{operator.name}_inv")

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        return self.operator._solution(x, adjoint, name)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return self.operator._product(rhs, adjoint, name)

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant."""
        return ops.divide(1.0, self.operator.determinant(), name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant."""
        return ops.negative(self.operator.log_abs_determinant(), name=name)


class _OfSeveral(LinearOperator):
    """One that is made of several.

    Args:
        operators: the operators.
        matrix: the matrix.
        known: what is known of it; ``None`` for what is true if it is true of each of them.
        name: the name.

    Raises:
        ValueError: for no operators.
    """

    def __init__(self, operators: Sequence[LinearOperator], matrix: Tensor, known: Sequence[Any], name: str) -> None:
        self.operators = list(operators)
        super().__init__(matrix, tuple(known), name)


class _WithFactors(_OfSeveral):
    """One whose determinant is the product of those of its operators; arguments as for ``_OfSeveral``."""

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant."""
        product: Tensor = functools.reduce(ops.multiply, [e.determinant() for e in self.operators])
        return ops.identity(product, name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant."""
        sizes = [each.log_abs_determinant() for each in self.operators]
        return ops.identity(functools.reduce(ops.add, sizes), name)


def _several(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    if not operators:
        raise ValueError("Expected a non-empty list of operators. Found: []")
    return list(operators)


class LinearOperatorComposition(_WithFactors):
    """The product of operators, the last of which comes first.

    Args:
        operators: the operators, from the left.
        is_non_singular: whether it has an inverse; true if each has one and nothing is said.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.

    Raises:
        ValueError: for no operators.
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        members = _several(operators)
        matrix = functools.reduce(ops.matmul, [each.to_dense() for each in members])
        if is_non_singular is None:
            is_non_singular = _all_of(members, "is_non_singular")
        known = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(members, matrix, known, name or "_o_".join(each.name for each in members))

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        for each in self.operators if adjoint else reversed(self.operators):
            x = each._product(x, adjoint, name)
        return x

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        for each in reversed(self.operators) if adjoint else self.operators:
            rhs = each._solution(rhs, adjoint, name)
        return rhs


class LinearOperatorBlockDiag(_WithFactors):
    """Operators along the diagonal, with zeros beside them; see ``LinearOperatorComposition``."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        members = _several(operators)
        known = _known(members, is_non_singular, is_self_adjoint, is_positive_definite)
        blocks = [each.to_dense() for each in members]
        rows = []
        for at, block in enumerate(blocks):
            before, behind = (
                sum((ops.shape(other)[-1] for other in part), ops.constant(0))
                for part in (blocks[:at], blocks[at + 1 :])
            )
            none = ops.zeros([ops.rank(block) - 1, 2], "int32")
            margins = ops.concat([none, [ops.stack([before, behind])]], 0)
            rows.append(ops.pad(block, margins))
        matrix = ops.concat(rows, -2)
        sizes = [[each.shape[axis] for each in members] for axis in (-1, -2)]
        wide, tall = (None if None in each else sum(each) for each in sizes)
        matrix.set_shape(members[0].batch_shape.concatenate([tall, wide]))
        super().__init__(members, matrix, (*known, is_square), name or "_ds_".join(e.name for e in members))

    def _parts(self, x: Tensor, adjoint: bool) -> list[Tensor]:
        axis = -2 if adjoint else -1
        sizes = ops.stack([each.shape_tensor()[axis] for each in self.operators])
        return ops.split(x, sizes, -2, num=len(self.operators))

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        parts = zip(self.operators, self._parts(x, adjoint), strict=True)
        return ops.concat([each._product(part, adjoint, name) for each, part in parts], -2)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        parts = zip(self.operators, self._parts(rhs, not adjoint), strict=True)
        return ops.concat([each._solution(part, adjoint, name) for each, part in parts], -2)


class LinearOperatorKronecker(_OfSeveral):
    """The Kronecker product of operators; arguments as for ``LinearOperatorComposition``."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        members = _several(operators)
        matrix = functools.reduce(_kronecker, [each.to_dense() for each in members])
        known = _known(members, is_non_singular, is_self_adjoint, is_positive_definite)
        super().__init__(members, matrix, (*known, is_square), name or "_x_".join(e.name for e in members))


def _kronecker(a: Tensor, b: Tensor) -> Tensor:
    """Return the matrix whose blocks are ``b`` times each element of ``a``."""
    product = a[..., :, None, :, None] * b[..., None, :, None, :]
    tall, wide = (ops.shape(a)[axis] * ops.shape(b)[axis] for axis in (-2, -1))
    batch = ops.shape(product)[:-4]
    return ops.reshape(product, ops.concat([batch, [tall], [wide]], 0))


class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator plus the product of narrow matrices, ``base + u @ diag(d) @ adjoint(v)``.

    Args:
        base_operator: the operator.
        u: the narrow matrix on the left.
        diag_update: the diagonal in the middle; ones if left out.
        v: that on the right; ``u`` if left out.
        is_diag_update_positive: whether the diagonal is positive.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        self.base_operator, self.is_diag_update_positive = base_operator, is_diag_update_positive
        self.u = ops.convert_to_tensor(u, base_operator.dtype)
        self.v = self.u if v is None else ops.convert_to_tensor(v, base_operator.dtype)
        self.diag_update = None if diag_update is None else ops.convert_to_tensor(diag_update, base_operator.dtype)
        left = self.u if self.diag_update is None else self.u * self.diag_update[..., None, :]
        self._left = left
        matrix = base_operator.to_dense() + ops.matmul(left, self.v, adjoint_b=True)
        super().__init__(matrix, (is_non_singular, is_self_adjoint, is_positive_definite, is_square), name)

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        first, second = (self._left, self.v) if adjoint else (self.v, self._left)
        more = ops.matmul(second, ops.matmul(first, x, adjoint_a=True))
        return ops.add(self.base_operator._product(x, adjoint, name), more)


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane through zero that a vector is perpendicular to.

    Args:
        reflection_axis: the vector, or a batch.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        axis = ops.convert_to_tensor(reflection_axis)
        self.reflection_axis = axis
        size = ops.sqrt(ops.reduce_sum(axis * ops.conj(axis), -1, keepdims=True))
        unit = (axis / size)[..., None]
        eye = ops.eye(ops.shape(axis)[-1], dtype=axis.dtype)
        matrix = eye - 2 * ops.matmul(unit, unit, adjoint_b=True)
        known = (is_non_singular, True, False if is_positive_definite is None else is_positive_definite, True)
        super().__init__(matrix, known, name)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return self._product(rhs, adjoint, name)  # it is its own inverse

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant, which is -1."""
        return ops.negative(ops.ones(self.shape_tensor()[:-2], self.dtype), name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant, which is 0."""
        return ops.zeros(self.shape_tensor()[:-2], self.dtype, name=name)


class LinearOperatorZeros(LinearOperator):
    """A matrix of zeros.

    Args:
        num_rows: the number of rows.
        num_columns: that of columns; the same if left out.
        batch_shape: shape of a batch of them.
        dtype: element type; ``float32`` if left out.
        is_non_singular: without effect.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: without effect.
        is_square: whether it is square.
        assert_proper_shapes: without effect.
        name: the name.
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool = False,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = False,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        columns = num_rows if num_columns is None else num_columns
        sizes = [*([] if batch_shape is None else batch_shape), num_rows, columns]
        matrix = ops.zeros(sizes, as_dtype(dtype or float32))
        super().__init__(matrix, (False, is_self_adjoint, False, is_square), name)

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        rows = self.shape_tensor()[-1 if adjoint else -2]
        sizes = ops.concat([ops.shape(x)[:-2], [rows], ops.shape(x)[-1:]], 0)
        return ops.zeros(sizes, self.dtype, name=name)


class LinearOperatorToeplitz(LinearOperator):
    """A matrix whose diagonals are each of one number.

    Args:
        col: the first column.
        row: the first row.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self.col, self.row = ops.convert_to_tensor(col), ops.convert_to_tensor(row)
        count = ops.shape(self.col)[-1]
        places = ops.range(count)
        # All diagonals, from the lowest to the highest, as the matrix is read from left to right.
        line = ops.concat([ops.reverse(self.col, [-1]), self.row[..., 1:]], -1)
        matrix = ops.gather(line, count - 1 - places[:, None] + places[None, :], axis=-1)
        known = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(matrix, known, name)


class LinearOperatorCirculant(LinearOperator):
    """A matrix each of whose rows is the one above it, moved by one, given by its spectrum.

    Args:
        spectrum: the Fourier transform of the first column, or a batch.
        input_output_dtype: the type of its elements, ``complex64`` or that of real numbers.
        is_non_singular: whether it has an inverse.
        is_self_adjoint: whether it equals its adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: the name.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        values = ops.convert_to_tensor(spectrum)
        wide = values.dtype if values.dtype.is_complex else complex64
        self.spectrum = ops.cast(values, wide)
        self._kind = as_dtype(input_output_dtype)
        eye = ops.eye(ops.shape(values)[-1], dtype=self._kind)
        known = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._filtered(eye, self.spectrum), known, name)

    def _filtered(self, x: Tensor, factors: Tensor) -> Tensor:
        """Return columns whose Fourier transforms are multiplied."""
        turned = ops.matrix_transpose(ops.cast(x, self.spectrum.dtype))
        filtered = raw.IFFT(raw.FFT(turned) * factors[..., None, :])
        return ops.cast(ops.matrix_transpose(filtered), self._kind)

    def _product(self, x: Tensor, adjoint: bool, name: str) -> Tensor:
        return self._filtered(x, ops.conj(self.spectrum) if adjoint else self.spectrum)

    def _solution(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        factors = ops.conj(self.spectrum) if adjoint else self.spectrum
        return self._filtered(rhs, 1 / factors)

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant, the product of the spectrum."""
        return ops.cast(ops.reduce_prod(self.spectrum, -1), self._kind, name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the size of the determinant."""
        logarithms = ops.reduce_sum(ops.log(ops.abs(self.spectrum)), -1)
        return ops.cast(logarithms, self._kind, name)
