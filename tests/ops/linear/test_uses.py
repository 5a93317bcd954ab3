"""Linear algebra: functions composed of operations, and what rows of operation types do not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, gradients, linalg, math, ops
from actorsession.errors import UnimplementedError
from tests.ops.cases import f32, i32
from tests.ops.interpreter import source
from tests.ops.uses import back, dims, each_use, equals, fails, gives, ranked, slopes, static
from tests.rows import for_each

RNG = np.random.default_rng(11)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M, V = np.arange(12, dtype=np.float32).reshape(3, 4), f32([1, 2])
NEAR = 1e-7


def _array(*shape: int) -> Any:
    return RNG.normal(size=shape)


# -- norms -----------------------------------------------------------------------------------------

X = RNG.normal(size=(2, 3, 4))
VECTORS: list[tuple[Any, Any]] = [*((n, n) for n in (1, 2, 3, 0.5, np.inf)), ("euclidean", 2)]
MATRICES: list[tuple[Any, Any]] = [*((n, n) for n in (1, 2, np.inf, "fro")), ("euclidean", "fro")]
NORMS = [
    *(
        gives(lambda x, o=o, a=a, k=k: linalg.norm(x, o, a, k), np.linalg.norm(X, n, a, k), X, rtol=NEAR)
        for o, n in VECTORS
        for a in (0, 1, -1)
        for k in (False, True)
    ),
    *(
        gives(lambda x, o=o, a=a, k=k: linalg.norm(ranked(x, 3), o, a, k), np.linalg.norm(X, n, (*a,), k), X, rtol=NEAR)
        for o, n in MATRICES
        for a in ((0, 1), (1, 2), [2, 0], (-1, -2))
        for k in (False, True)
    ),
    *(
        gives(lambda x, o=o: linalg.norm(x, o), np.linalg.norm(X.reshape(-1), n), X, rtol=NEAR)
        for o, n in VECTORS
        if n != 0.5
    ),
    # The length of complex numbers is complex, as in TensorFlow.
    gives(linalg.norm, np.complex64(13), np.array([3 + 4j, 12j], np.complex64)),
    (lambda: linalg.norm(source("float32"), 2, (0, 1)), ValueError, "needs a tensor of known rank"),
    (lambda: linalg.norm(X, "fro"), ValueError, "'euclidean' or a number above 0, got 'fro'"),
    (lambda: linalg.norm(X, 0, 0), ValueError, "got 0"),
    (lambda: linalg.norm(X, -1, 0), ValueError, "got -1"),
    (lambda: linalg.norm(X, 3, (0, 1)), ValueError, "ord is one of"),
    (lambda: linalg.norm(X, 2, (0, 0)), ValueError, "two different ints"),
    (lambda: linalg.norm(X, 2, (0, 1, 2)), ValueError, "two different ints"),
    *(slopes(lambda x, o=o: linalg.norm(x, o, 1), X, unknown_shapes=[False]) for o in (1, 2, 3, np.inf)),
    gives(
        lambda x: linalg.normalize(x, axis=-1),
        [X / np.linalg.norm(X, axis=-1, keepdims=True), np.linalg.norm(X, axis=-1, keepdims=True)],
        X,
        rtol=NEAR,
    ),
]


# -- products --------------------------------------------------------------------------------------

DOTTED: list[tuple[tuple[int, ...], tuple[int, ...], Any]] = [
    ((2, 3), (3, 4), 1),
    ((2, 3, 4), (3, 4, 5), 2),
    ((2, 3), (4,), 0),
    ((2, 3, 4), (4, 3, 5), [[1, 2], [1, 0]]),
    ((2, 3, 4), (4, 3, 5), ([-2, -1], [1, 0])),
    ((3, 2), (3, 4), [0, 0]),
    ((2, 3), (2, 3), [[0, 1], [0, 1]]),
    ((0, 3), (3, 2), 1),
    ((2, 3), (4, 2, 3), [[0, 1], [1, 2]]),
]
MISFIT_AXES = [
    (-1, "at least 0, got -1"),
    (4, "cannot sum over 4 axes"),
    ([[0, 1], [1]], "axes in pairs"),
    ([[0], [0], [0]], "a number or two lists"),
    ([[0, 0], [0, 1]], "twice over one axis"),
    ([[3], [0]], "axis 3 is not in"),
    ([[0], [1]], "must be equal"),
]
EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("ij,jk,kl,lm->m", [(2, 3), (3, 4), (4, 5), (5, 2)]),
    ("i,i,i->i", [(3,), (3,), (3,)]),
    ("bi,bj,bk->bijk", [(2, 3), (2, 4), (2, 2)]),
    ("...i,...j,...->...ij", [(2, 3), (2, 4), (2,)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ba", [(2, 3)]),
    ("i j , j k -> i k", [(2, 3), (3, 4)]),
    ("Ab,bC->CA", [(2, 3), (3, 4)]),
    ("...ii->...i", [(2, 3, 3)]),
]
MISFIT_EQUATIONS: list[tuple[str, list[tuple[int, ...]], str]] = [
    ("i->ii", [(2,)], "twice in the result"),
    ("ij->k", [(2, 3)], "no operand has: k"),
    ("i->j->k", [(2,)], "no equation of letters"),
    ("i1->i", [(2, 2)], "no equation of letters"),
    ("i,j->ij", [(2,)], "for 2 operands, and 1 were given"),
    ("ij->i", [(2,)], "2 labels do not fit shape"),
    ("...ij->ij", [(2, 3, 4)], "the result needs it"),
]
SIDES_OF: dict[str, list[Any]] = {w: [{f"{w}_a": True}, {f"{w}_b": True}] for w in ("transpose", "adjoint")}
TURNS = [(False, False), (True, False), (False, True), (True, True)]
LEFT, RIGHT = RNG.integers(-3, 4, (2, 3)).astype(float), RNG.integers(-3, 4, (3, 4)).astype(float)
ROWS_OF_3, ROWS_OF_2 = _array(5, 3), _array(5, 2)
STACKED, BLOCKS = _array(5, 2, 3), _array(3, 2, 4)
COMPLEX = _array(2, 2) + 1j * _array(2, 2)


def _turned(x: Any, turn: bool) -> Any:
    return np.swapaxes(x, -1, -2) if turn else x


def _cost(rows: int, inner: int, columns: int) -> float:
    op = ops.matmul(np.ones((rows, inner)), np.ones((inner, columns))).op
    assert op.op_def.cost is not None
    return op.op_def.cost([t.spec for t in op.inputs], [t.spec for t in op.outputs]) - 2


PRODUCTS = [
    *(
        gives(lambda s, t, n=n: linalg.tensordot(s, t, n), np.tensordot(x, y, n), x, y, rtol=NEAR)
        for x, y, n in ((_array(*a), _array(*b), n) for a, b, n in DOTTED)
    ),
    slopes(lambda a, b: linalg.tensordot(a, b, [[1, 2], [1, 0]]), _array(2, 3, 2), _array(2, 3, 2)),
    gives(lambda a, b: linalg.tensordot(a, b, ops.constant([[1], [0]])), LEFT @ RIGHT, LEFT, RIGHT),
    static(lambda a, b: linalg.tensordot(a, b, ops.constant([[1], [0]])), [None, None], [None, 3], [3, None]),
    *((lambda n=n: linalg.tensordot(X, X, n), ValueError, words) for n, words in MISFIT_AXES),
    gives(linalg.matvec, np.einsum("bij,bj->bi", STACKED, ROWS_OF_3), STACKED, ROWS_OF_3, rtol=NEAR),
    gives(
        lambda a, b: linalg.matvec(a, b, transpose_a=True),
        np.einsum("bji,bj->bi", STACKED, ROWS_OF_2),
        *(STACKED, ROWS_OF_2),
        rtol=NEAR,
    ),
    gives(linalg.trace, np.einsum("bii->b", BLOCKS[:, :, :2]), BLOCKS, rtol=NEAR),
    *(
        gives(lambda *xs, e=e: linalg.einsum(e, *xs), np.einsum(e, *arrays), *arrays, rtol=NEAR, atol=1e-12)
        for e, arrays in ((e, [_array(*s) for s in shapes]) for e, shapes in EQUATIONS)
    ),
    slopes(lambda *xs: linalg.einsum("ij,jk,ki->k", *xs), _array(2, 3), _array(3, 2), _array(2, 2)),
    *(
        (lambda e=e, shapes=shapes: linalg.einsum(e, *map(np.ones, shapes)), ValueError, words)
        for e, shapes, words in MISFIT_EQUATIONS
    ),
    equals(lambda: linalg.einsum("ij->i", np.ones((2, 3)), name="sums").op.name, "sums/Einsum"),
    *(  # adjoint operands are conjugated and transposed ones are not
        gives(lambda x, a=a, b=b: [ops.matmul(x, x, **a), ops.matmul(x, x, **b)], [turn @ z, z @ turn], z, rtol=NEAR)
        for z in (COMPLEX, COMPLEX[None])
        for side, turn in (("transpose", z.swapaxes(-1, -2)), ("adjoint", z.conj().swapaxes(-1, -2)))
        for a, b in [SIDES_OF[side]]
    ),
    gives(lambda b: LEFT @ b, LEFT @ RIGHT, RIGHT),
    (lambda: ops.matmul(COMPLEX, COMPLEX, transpose_b=True, adjoint_b=True), ValueError, "transpose_b and adjoint_b"),
    # The cost grows with all three sizes.
    equals(
        lambda: [_cost(*sizes) / _cost(10, 10, 10) for sizes in ((20, 10, 10), (10, 20, 10), (10, 10, 20))], [2.0] * 3
    ),
    equals(
        lambda: [t.name for x in [ops.constant([[1.0]])] for t in (x @ x, ops.matmul(x, x))], ["matmul:0", "MatMul_1:0"]
    ),
    gives(lambda x: ops.accumulate_n([x, x, x], shape=[2], tensor_dtype="float32"), 3 * V, V),
    equals(lambda: ops.accumulate_n([V, V], shape=[2], tensor_dtype="float32").op.type, "AddN"),
    equals(lambda: [ops.accumulate_n([x]) is x for x in [ops.constant(V)]], [True]),
    equals(lambda: ops.accumulate_n([ops.constant(V)], name="same").op.name, "same"),
    (lambda: ops.accumulate_n([]), ValueError, "one or more"),
    (lambda: ops.accumulate_n([V], shape=[3]), ValueError, "not compatible"),
    (lambda: ops.accumulate_n([V, ops.constant([1, 2])]), ValueError, "one dtype"),
    (lambda: ops.accumulate_n([V, V], tensor_dtype="float64"), TypeError, "float64"),
    gives(lambda x: ops.scalar_mul(3, x), 3 * V, V),
    gives(lambda x: ops.scalar_mul(2, ops.IndexedSlices(x, ops.constant([0, 1]))).values, 2 * V, V),
    (lambda: ops.scalar_mul([2.0], V), ValueError, "scalar"),
    gives(lambda x: [math.polyval([1.0, ops.constant(2.0), 3.0], x), math.polyval([], x)], [[6, 11], [0, 0]], V),
    (lambda: math.polyval((1.0,), V), ValueError, "list"),  # type: ignore[arg-type]
]


# -- matrices laid out -----------------------------------------------------------------------------

TWISTED = CUBE[0] * np.complex64(1 + 2j)
# The matrices are as small as the diagonals need.
DIAGONALS: list[tuple[int, tuple[int, int], Any]] = [
    (0, (-1, -1), np.diag(V)),
    (1, (-1, -1), np.diag(V, 1)),
    (-1, (-1, -1), np.diag(V, -1)),
    (1, (2, -1), np.diag(V, 1)[:2]),
    (0, (2, 4), np.eye(2, 4) * [[1], [2]]),
    (0, (-1, 4), np.eye(2, 4) * [[1], [2]]),
    (-1, (-1, 2), np.diag(V, -1)[:, :2]),
]
TOO_FEW = "are those of matrices of"
LAID = [
    gives(linalg.matrix_transpose, CUBE.transpose(0, 2, 1), CUBE),
    slopes(linalg.matrix_transpose, CUBE),
    static(linalg.matrix_transpose, [None, 4, 3], [None, 3, 4]),
    gives(lambda x: linalg.matrix_transpose(x, conjugate=True), TWISTED.T.conj(), TWISTED),
    gives(lambda x: ops.transpose(x, conjugate=True), TWISTED.T.conj(), TWISTED),
    gives(ops.transpose, TWISTED.T, TWISTED),
    equals(
        lambda: [ops.transpose(x, conjugate=True).op.type for x in (CUBE, TWISTED)], ["Transpose", "ConjugateTranspose"]
    ),
    (lambda: linalg.matrix_transpose(V), ValueError, "takes matrices"),
    *(
        row
        for k, (rows, columns), wanted in DIAGONALS
        for f in [lambda x, k=k, m=rows, n=columns: ops.matrix_diag(x, k=k, num_rows=m, num_cols=n)]
        for row in (gives(f, wanted.astype("f"), V), static(f, list(wanted.shape), [2]))
    ),
    *(
        row
        for rows, columns in ((3, 4), (1, -1), (-1, 1))
        for f in [lambda x, m=rows, n=columns: ops.matrix_diag(x, "d", 0, m, n)]
        for row in ((lambda f=f: f(V), ValueError, TOO_FEW), fails(f, TOO_FEW, V))
    ),
    gives(lambda x, k: ops.matrix_diag_part(x, k=k), np.diagonal(M, -1), M, i32(-1)),
    gives(lambda x, k: ops.matrix_diag_part(x, k=k), f32([[1, 6, 11], [0, 5, 10]]), M, i32([0, 1])),
    gives(lambda x, k: ops.matrix_set_diag(x, V, k=k)[1, 0], f32(1), M[:3, :3].copy(), i32([-1])),
    gives(ops.matrix_diag, np.eye(2, dtype=bool), np.array([True, True])),
    gives(ops.matrix_diag, np.array([[b"a", b""], [b"", b"b"]], object), np.array([b"a", b"b"], object)),
    (lambda: ops.matrix_diag_part(np.eye(3), k=[1, 0]), ValueError, "lowest and the highest"),
    (lambda: ops.matrix_diag_part(np.eye(3), k=[-3, 0]), ValueError, "no diagonal -3"),
    (lambda: ops.matrix_diag(np.ones([2, 4]), k=[-1, 1]), ValueError, "3 diagonals were announced, got 2"),
    (lambda: ops.matrix_diag_part(np.eye(3), align="UP_DOWN"), ValueError, "align is one of"),
    (lambda: ops.matrix_set_diag(np.eye(2), source("float32", [2])), TypeError, "float64"),
    gives(lambda: linalg.eye(3), np.eye(3, dtype=np.float32)),
    gives(lambda: linalg.eye(2, 4, dtype="int32"), np.eye(2, 4, dtype=np.int32)),
    gives(lambda: linalg.eye(2, 1, dtype="bool"), np.eye(2, 1, dtype=np.bool_)),
    gives(lambda: linalg.eye(0), np.eye(0, dtype=np.float32)),
    gives(lambda: linalg.eye(2, 3, batch_shape=[4, 5]), np.broadcast_to(np.eye(2, 3, dtype="f"), (4, 5, 2, 3))),
    gives(lambda n, b: linalg.eye(n, batch_shape=b), np.stack([np.eye(2, dtype="f")] * 3), i32(2), i32([3])),
    gives(lambda n: linalg.eye(n, 4), np.eye(2, 4, dtype=np.float32), i32(2)),
    equals(lambda: dims(linalg.eye(source("int32", []), 4)), [None, 4]),
    (lambda: linalg.eye(-1), ValueError, "at least 0, got -1"),
]


# -- functions of matrices, and systems ------------------------------------------------------------

SQUARES, SIDES = _array(2, 3, 3), _array(2, 3, 2)
POSITIVE = SQUARES @ SQUARES.swapaxes(-1, -2) + np.eye(3)
DEFICIENT = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
WIDE = np.tril(_array(200, 200)) / 20 + np.eye(200)
SOLUTION = _array(200, 3)
COMPLEX_2 = np.array([[1 + 2j, 3], [0.5j, 2 - 1j]])


def _eliminated(matrix: Any, right: Any) -> list[Any]:
    both, order = linalg.lu(ranked(matrix, 3))
    return [
        linalg.lu_solve(both, order, right),
        linalg.lu_matrix_inverse(both, order),
        linalg.lu_reconstruct(both, order),
    ]


def _back(function: Any, x: Any) -> Any:
    """The gradient by a matrix of what is made of it, by which the result itself comes back."""
    given = ops.constant(x)
    made = function(given)
    return gradients(made, [given], [made])


DEEP = _array(3, 2)
MATRICES_OF = [
    (lambda: linalg.expm([[1]]), ValueError, "got int32"),
    (lambda: linalg.expm([1.0]), ValueError, "takes matrices, got shape"),
    (lambda: linalg.logm([[1.0]]), TypeError, "complex types; got float32"),
    gives(linalg.logdet, np.log(np.linalg.det(POSITIVE)), POSITIVE, rtol=NEAR),
    gives(linalg.cholesky_solve, np.linalg.solve(POSITIVE, SIDES), np.linalg.cholesky(POSITIVE), SIDES, rtol=NEAR),
    gives(_eliminated, [np.linalg.solve(SQUARES, SIDES), np.linalg.inv(SQUARES), SQUARES], SQUARES, SIDES, rtol=NEAR),
    gives(lambda x: linalg.lu(x, output_idx_type="int64").p, np.array([0, 1]), np.eye(2)),
    (lambda: linalg.lu(np.eye(2), output_idx_type="int8"), TypeError, "int32 or int64, got int8"),
    *(
        row
        for x in (_array(2, 4, 3), _array(3, 4), DEFICIENT)
        for row in (
            gives(linalg.pinv, np.linalg.pinv(x), x, rtol=NEAR, atol=1e-12),
            gives(linalg.matrix_rank, np.linalg.matrix_rank(x).tolist(), x),
        )
    ),
    gives(lambda x: linalg.matrix_rank(x, 1.0), 1, np.diag([0.5, 2.0])),
    gives(linalg.triangular_solve, SOLUTION, WIDE, WIDE @ SOLUTION, rtol=NEAR, atol=1e-8),
    (lambda: _back(lambda x: linalg.qr(x, True).q, DEEP), NotImplementedError, "full_matrices"),
    (lambda: _back(lambda x: linalg.svd(x, True)[1], DEEP), NotImplementedError, "full_matrices"),
    (lambda: _back(lambda x: linalg.lstsq(x, x, fast=False), DEEP), ValueError, "fast=True only"),
    (lambda: _back(lambda x: linalg.svd(x)[1], COMPLEX), NotImplementedError, "complex"),
    equals(lambda: linalg.inv.__name__, "matrix_inverse"),
    # The gradient of a determinant of complex numbers is conjugated.
    back(lambda x: ops.real(linalg.det(x)), np.conj(np.linalg.det(COMPLEX_2) * np.linalg.inv(COMPLEX_2).T), COMPLEX_2),
]


# -- three diagonals -------------------------------------------------------------------------------

MATRIX = np.triu(np.tril(_array(2, 5, 5), 1), -1)
SIDE = _array(2, 5, 2)
ABOVE, MAIN, BELOW = (np.diagonal(MATRIX, k, 1, 2) for k in (1, 0, -1))
LONG = (np.pad(ABOVE, [(0, 0), (0, 1)]), MAIN, np.pad(BELOW, [(0, 0), (1, 0)]))
COMPACT = np.stack(LONG, 1)
FORMS: list[tuple[Any, str]] = [
    (COMPACT, "compact"),
    (LONG, "sequence"),
    ((ABOVE, MAIN, BELOW), "sequence"),
    (MATRIX, "matrix"),
]
SOLVED = np.linalg.solve(MATRIX, SIDE)
MISFIT_FORMS: list[tuple[Any, str, str]] = [
    (MATRIX, "square", "Unrecognized diagonals_format: square"),
    (LONG[:2], "sequence", "sequence of length 3"),
    (MATRIX, "compact", "Expected 3 diagonals got 5"),
    ((ABOVE[:, :2], MAIN, BELOW), "sequence", "that length or one less"),
]
FLIPPED = SIDE.swapaxes(1, 2)
solve, product = linalg.tridiagonal_solve, linalg.tridiagonal_matmul
TRIDIAGONAL = [
    *(gives(lambda d=d, form=form: product(d, SIDE, form), MATRIX @ SIDE, rtol=1e-9) for d, form in FORMS),
    *(gives(lambda d=d, form=form: solve(d, SIDE, form), SOLVED, rtol=1e-6) for d, form in FORMS),
    gives(lambda: solve(COMPACT, SIDE[..., 0]), SOLVED[..., 0], rtol=1e-6),
    gives(lambda: solve(COMPACT, FLIPPED, transpose_rhs=True), SOLVED, rtol=1e-6),
    gives(lambda: solve(COMPACT + 0j, SIDE * 1j, conjugate_rhs=True), -1j * SOLVED, rtol=1e-6),
    gives(lambda: solve(COMPACT + 0j, FLIPPED * 1j, transpose_rhs=True, conjugate_rhs=True), -1j * SOLVED, rtol=1e-6),
    gives(lambda: solve(0 * COMPACT, SIDE), np.full(SIDE.shape, np.nan)),
    (lambda: solve(COMPACT, SIDE, perturb_singular=True), UnimplementedError, "not changed here"),
    (
        lambda: solve(COMPACT, SIDE, partial_pivoting=False, perturb_singular=True),
        ValueError,
        "partial_pivoting must be True",
    ),
    *(
        (lambda f=f, d=d, form=form: f(d, SIDE, form), ValueError, words)
        for f in (solve, product)
        for d, form, words in MISFIT_FORMS
    ),
    (lambda: solve(COMPACT, SIDE[0, :, 0]), ValueError, "rank of rhs to be 2 or 3, got 1"),
    (
        lambda: solve(COMPACT.astype(np.float16), SIDE.astype(np.float16)),
        TypeError,
        "float32, float64, complex64, complex128",
    ),
]


test_functions_of_matrices_do_what_their_rows_say = each_use([*NORMS, *PRODUCTS, *LAID, *MATRICES_OF, *TRIDIAGONAL])


# -- what no row says ------------------------------------------------------------------------------


@for_each("turns", TURNS, ids=str)
def test_the_gradient_of_a_product_builds_no_transpose(turns: Any, graph: Graph) -> None:
    a, b = ops.constant(_turned(LEFT, turns[0])), ops.constant(_turned(RIGHT, turns[1]))
    gradients(ops.matmul(a, b, *turns), [a, b])
    assert "Transpose" not in {op.type for op in graph.get_operations()}


def _run(build: Any, *values: Any) -> Any:
    """What a session gives, which runs loops and conditionals, for arrays whose shapes are hidden."""
    with Graph().as_default(), Session() as session:
        xs = [source(np.asarray(v).dtype) for v in values]
        return session.run(build(*xs), dict(zip(xs, values, strict=True)))


@for_each("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_exponential_of_matrices_is_that_of_scipy(dtype: Any) -> None:
    scipy = pytest.importorskip("scipy.linalg")
    x = np.stack([_array(3, 3) * size for size in (1e-3, 1.0, 4.0)]).astype(dtype)
    found = _run(lambda: linalg.expm(ops.constant(x)))
    assert found.dtype == np.dtype(dtype)
    rtol = 1e-11 if dtype in ("float64", "complex128") else 2e-4
    for mine, wanted in zip(found, scipy.expm(x.astype(np.complex128)), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol, rtol * np.abs(wanted).max())


def test_the_exponential_of_what_is_no_number_is_none_and_others_of_the_batch_do_not_care() -> None:
    x = np.stack([np.full((2, 2), np.nan), np.zeros((2, 2)), np.diag([1.0, 2.0])])
    found = _run(lambda: linalg.expm(ops.constant(x)))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1:], [np.eye(2), np.diag(np.exp([1.0, 2.0]))])
    for shape in ((0, 2, 2), (0, 0)):
        assert _run(lambda shape=shape: linalg.expm(np.zeros(shape))).shape == shape


def test_the_exponential_has_a_gradient() -> None:
    x, weights, step = _array(3, 3) * 4, _array(3, 3), 1e-5

    def total(matrix: Any) -> Any:
        return linalg.trace(linalg.matmul(linalg.expm(matrix), weights))

    found = _run(lambda: [gradients(total(m), [m])[0] for m in [ops.constant(x)]])[0]
    wanted = np.zeros((3, 3))
    for place in np.ndindex(3, 3):
        shift = np.zeros((3, 3))
        shift[place] = step
        above, below = (_run(lambda s=s, shift=shift: total(ops.constant(x + s * shift))) for s in (1, -1))
        wanted[place] = (above - below) / (2 * step)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5 * np.abs(wanted).max())


def test_the_logarithm_and_the_exponential_undo_each_other() -> None:
    pytest.importorskip("scipy")
    x = (_array(2, 3, 3) + 1j * _array(2, 3, 3)) * 0.5
    np.testing.assert_allclose(_run(lambda: linalg.logm(linalg.expm(ops.constant(x)))), x, atol=1e-10)


@for_each("shape", [(4, 2), (2, 3)])
def test_least_squares_have_a_gradient_where_shapes_are_known_only_in_the_step(shape: Any) -> None:
    a, b = _array(*shape), _array(shape[0], 1)

    def back_of(*xs: Any) -> Any:
        return gradients(linalg.lstsq(*xs), xs)

    wanted = _run(lambda: back_of(ops.constant(a), ops.constant(b)))
    for mine, want in zip(_run(back_of, a, b), wanted, strict=True):
        np.testing.assert_allclose(mine, want)
