"""Functions of square matrices: exponential, logarithm, square root.

The exponential is composed of products, one solution and squarings, as in TensorFlow: N. Higham, The scaling
and squaring method for the matrix exponential revisited. The other two need the Schur form of a matrix. The
root of a triangular matrix is computed entry by entry, and its logarithm by taking roots until it is near 1
(N. Higham, Functions of Matrices, chapters 6 and 11).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import complex128, float64, int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import ones_like
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.arithmetic import pow as pow_
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.elementwise import abs as abs_
from actorsession.ops.elements.elementwise import ceil, conj, log
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.flow.control_flow import while_loop
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrices import adjoint, cubic_cost, matrix_kernel, square
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part
from actorsession.ops.linear.solving import matrix_solve
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_max, reduce_sum
from actorsession.ops.rows import op

__all__ = ["expm", "logm", "matrix_square_root"]

# Degree of the approximation, and the norm up to which it is exact up to rounding (Higham, table 2.3).
_WIDE = 13, 5.371920351148152
_NARROW = 7, 3.925724783138660


def expm(input: Any, name: str | None = None) -> Tensor:
    """Return the exponential of square matrices: the sum of their powers, each over its factorial.

    Args:
        input: floating or complex matrices, in the last two axes.

    Raises:
        ValueError: for another dtype, or a rank below 2.
    """
    value = convert_to_tensor(input)
    if value.dtype.kind not in "fc":
        raise ValueError(f"expm takes floating or complex matrices, got {value.dtype.name}")
    if value.shape.rank is not None and value.shape.rank < 2:
        raise ValueError(f"expm takes matrices, got shape {value.shape}")
    degree, bound = _WIDE if value.dtype in (float64, complex128) else _NARROW
    with value.graph.as_default(), value.graph.name_scope(name or "matrix_exponential"):
        times = _halvings(value, bound)
        half = cast(pow_(scalar_like(0.5, abs_(value)), times), value.dtype)
        approximated = _approximated(value * _over_matrices(half), degree)
        return _squared(approximated, cast(times, int32))


def logm(input: Any, name: str | None = None) -> Tensor:
    """Return the principal logarithm of complex square matrices, the inverse of ``expm``.

    Args:
        input: complex matrices, in the last two axes.
    """
    return raw.MatrixLogarithm(input, name=name)


def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """Return the principal square root of square matrices, NaN for real ones with a complex root.

    Args:
        input: matrices, in the last two axes.
    """
    return raw.MatrixSquareRoot(input, name=name)


# -- exponential ---------------------------------------------------------------------------------


def _over_matrices(x: Tensor) -> Tensor:
    return expand_dims(expand_dims(x, -1), -1)


def _halvings(value: Tensor, bound: float) -> Tensor:
    """Return how often each matrix must be halved to fall below a norm, as floating-point numbers."""
    size = reduce_max(reduce_sum(abs_(value), -2), -1)
    most = scalar_like(bound, size)
    # Infinite or NaN matrices stay so without any halving.
    finite = where_v2(less(size, scalar_like(float(np.finfo(np.float32).max) / 2, size)), size, most)
    return ceil(log(maximum(finite, most) / most) / scalar_like(math.log(2), size))


def _approximated(x: Tensor, degree: int) -> Tensor:
    """Return Padé's quotient of two polynomials of the given degree."""
    weights = [
        math.factorial(2 * degree - k)
        * math.factorial(degree)
        / (math.factorial(2 * degree) * math.factorial(k) * math.factorial(degree - k))
        for k in range(degree + 1)
    ]
    squares = matmul(x, x)
    power = matrix_diag(ones_like(matrix_diag_part(x)))
    even, odd = power * weights[0], power * weights[1]
    for k in range(2, degree, 2):
        power = squares if k == 2 else matmul(power, squares)
        even, odd = even + power * weights[k], odd + power * weights[k + 1]
    odd = matmul(x, odd)
    return matrix_solve(even - odd, even + odd)


def _squared(x: Tensor, times: Tensor) -> Tensor:
    """Square each matrix as often as it was halved."""
    most = reduce_max(times)

    def body(number: Tensor, power: Tensor) -> tuple[Tensor, Tensor]:
        more = _over_matrices(less(number, times))
        return number + 1, where_v2(more, matmul(power, power), power)

    start = [constant(0, graph=x.graph), x]
    _, power = while_loop(lambda number, power: less(number, most), body, start)
    assert isinstance(power, Tensor)
    return power


# -- Schur's form --------------------------------------------------------------------------------

# Steps for one eigenvalue, of which some three are usual; others than the usual shifts after each tenth.
_MOST_STEPS = 300


def _schur(x: Array) -> tuple[Array, Array]:
    """Return a triangular matrix and a unitary basis, by the QR algorithm with Wilkinson's shifts."""
    t, basis = x.copy(), np.eye(len(x), dtype=x.dtype)
    limit = np.finfo(np.float64).eps * np.abs(x).max(initial=0)
    for size in range(len(x), 1, -1):
        part = t[:size, :size]
        for step in range(1, _MOST_STEPS):
            if np.abs(part[-1, :-1]).max() <= limit:
                break
            corner = part[-2:, -2:]
            near = np.linalg.eigvals(corner)
            shift = near[np.argmin(np.abs(near - corner[1, 1]))]
            if step % 10 == 0:
                shift = shift + np.abs(corner[1]).sum()
            q, r = np.linalg.qr(part - shift * np.eye(size))
            part[...] = r @ q + shift * np.eye(size)
            t[:size, size:] = q.conj().T @ t[:size, size:]
            basis[:, :size] = basis[:, :size] @ q
        part[-1, :-1] = 0
    return t, basis


def _root_of_triangle(t: Array) -> Array:
    size = t.shape[0]
    root = np.diag(np.sqrt(np.diagonal(t)))
    for j in range(size):
        for i in range(j - 1, -1, -1):
            inner = root[i, i + 1 : j] @ root[i + 1 : j, j]
            root[i, j] = (t[i, j] - inner) / (root[i, i] + root[j, j])
    return root


def _logarithm_of_triangle(t: Array) -> Array:
    unit, near, halvings = np.eye(t.shape[0]), t, 0
    # A hundred successive roots of any double are 1.
    while np.abs(near - unit).sum(0).max(initial=0) > 0.25 and halvings < 100:
        near, halvings = _root_of_triangle(near), halvings + 1
    # log(1 + x) is the integral of x / (1 + s x) over s from 0 to 1; ten points give full precision.
    rest, logarithm = near - unit, np.zeros_like(t)
    for point, weight in zip(*np.polynomial.legendre.leggauss(10), strict=True):
        s = (point + 1) / 2
        logarithm += weight / 2 * np.linalg.solve(unit + s * rest, rest)
    logarithm *= 2.0**halvings
    np.fill_diagonal(logarithm, np.log(np.diagonal(t)))
    return logarithm


def _through_schur(x: Array, function: Callable[[Array], Array]) -> Array:
    """Apply a function of triangular matrices to a batch of any matrices; non-finite ones become NaN."""
    out = np.full(x.shape, np.nan, np.complex128)
    for place in np.ndindex(x.shape[:-2]):
        if x.shape[-1] and np.isfinite(x[place]).all():
            triangle, basis = _schur(x[place].astype(np.complex128))
            with np.errstate(all="ignore"):
                out[place] = basis @ function(triangle) @ basis.conj().T
    return out


def _logarithm(x: Array) -> Array:
    return _through_schur(x, _logarithm_of_triangle)


def _real_part(root: Array) -> Array:
    """Return the root of a real matrix, or NaN where it is complex beyond rounding."""
    size = np.abs(root).max(axis=(-1, -2), initial=0)
    turned = np.abs(root.imag).max(axis=(-1, -2), initial=0) > 1e-8 * size
    return np.where(turned[..., None, None], np.nan, root.real)


def _root(x: Array) -> Array:
    root = _through_schur(x, _root_of_triangle)
    return root if x.dtype.kind == "c" else _real_part(root)


def _kronecker(x: Tensor, y: Tensor) -> Tensor:
    """Return the Kronecker products of square matrices of one shape."""
    x4 = expand_dims(expand_dims(x, -2), -1)
    y4 = expand_dims(expand_dims(y, -3), -2)
    dims = shape_tensor(x)
    count = dims[-1:] * dims[-1:]
    return reshape(x4 * y4, concat([dims[:-2], count, count], 0))


def _root_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    # The gradient g solves adjoint(root) @ g + g @ adjoint(root) = grad, a system of n * n unknowns.
    root = op.outputs[0]
    unit = matrix_diag(ones_like(matrix_diag_part(root)))
    system = _kronecker(adjoint(root), unit) + _kronecker(unit, conj(root))
    dims = shape_tensor(root)
    column = reshape(grad, concat([dims[:-2], dims[-1:] * dims[-1:], [1]], 0))
    return [reshape(matrix_solve(system, column), dims)]


op("MatrixLogarithm", square, kernel=matrix_kernel(_logarithm, "invertible"), cost=cubic_cost)
op("MatrixSquareRoot", square, kernel=matrix_kernel(_root, "of finite numbers"), grad=_root_gradient, cost=cubic_cost)
