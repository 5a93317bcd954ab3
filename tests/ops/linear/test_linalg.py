"""Linear algebra composed of other ops, the namespace, and what the table of ops has no column for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, constant, gradients, linalg
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

RNG = np.random.default_rng(11)


def _values(build: Any, *arrays: Any, known: bool = True) -> Any:
    given = [np.asarray(a) for a in arrays]
    with Graph().as_default():
        tensors = [source(a.dtype, a.shape if known else None) for a in given]
        made = build(*tensors)
        many = isinstance(made, (list, tuple))
        tensors_made = list(made) if many else [made]
        found = evaluate(tensors_made, dict(zip(tensors, given, strict=True)))
        for tensor, value in zip(tensors_made, found, strict=True):
            assert tensor.shape.is_compatible_with(np.shape(value))
    return found if many else found[0]


def _array(*shape: int) -> Any:
    return RNG.normal(size=shape)


known_or_hidden = for_each("known", [True, False], ids=["known", "hidden"])


# -- norms ---------------------------------------------------------------------------------------

X = RNG.normal(size=(2, 3, 4))


@for_each("keepdims", [False, True])
@for_each("axis", [0, 1, -1])
@for_each("ord", [1, 2, 3, 0.5, np.inf, "euclidean"])
def test_norms_of_vectors_are_those_of_numpy(ord: Any, axis: int, keepdims: bool) -> None:
    found = _values(lambda x: linalg.norm(x, ord, axis, keepdims), X)
    wanted = np.linalg.norm(X, 2 if ord == "euclidean" else ord, axis, keepdims)
    np.testing.assert_allclose(found, wanted)


@for_each("keepdims", [False, True])
@for_each("axis", [(0, 1), (1, 2), [2, 0], (-1, -2)], ids=str)
@for_each("ord", ["fro", "euclidean", 1, 2, np.inf])
def test_norms_of_matrices_are_those_of_numpy(ord: Any, axis: Any, keepdims: bool) -> None:
    found = _values(lambda x: linalg.norm(x, ord, axis, keepdims), X)
    wanted = np.linalg.norm(X, "fro" if ord == "euclidean" else ord, tuple(axis), keepdims)
    np.testing.assert_allclose(found, wanted)


@for_each("ord", [1, 3, np.inf, "euclidean"])
def test_without_an_axis_all_numbers_are_one_vector(ord: Any) -> None:
    wanted = np.linalg.norm(X.reshape(-1), 2 if ord == "euclidean" else ord)
    np.testing.assert_allclose(_values(lambda x: linalg.norm(x, ord), X), wanted)


def test_the_length_of_complex_numbers_is_complex_as_in_tensorflow() -> None:
    found = _values(linalg.norm, np.array([3 + 4j, 12j], np.complex64))
    assert found == np.complex64(13)
    assert found.dtype == np.complex64


@for_each(
    "ord, axis, match",
    [
        ("fro", None, "'euclidean' or a number above 0, got 'fro'"),
        (0, 0, "got 0"),
        (-1, 0, "got -1"),
        (3, (0, 1), "ord is one of"),
        (2, (0, 0), "two different ints"),
        (2, (0, 1, 2), "two different ints"),
    ],
)
def test_norms_that_do_not_exist_are_refused(ord: Any, axis: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        linalg.norm(constant(X), ord, axis)


@for_each("ord", [1, 2, 3, np.inf])
def test_norms_have_gradients(ord: Any) -> None:
    check_gradient(lambda x: linalg.norm(x, ord, 1), X, unknown_shapes=[False])


def test_normalised_vectors_have_length_1() -> None:
    found, length = _values(lambda x: linalg.normalize(x, axis=-1), X)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), np.ones((2, 3)))
    np.testing.assert_allclose(length, np.linalg.norm(X, axis=-1, keepdims=True))


# -- tensordot and its like ----------------------------------------------------------------------


@known_or_hidden
@for_each(
    "a, b, axes",
    [
        ((2, 3), (3, 4), 1),
        ((2, 3, 4), (3, 4, 5), 2),
        ((2, 3), (4,), 0),
        ((2, 3, 4), (4, 3, 5), [[1, 2], [1, 0]]),
        ((2, 3, 4), (4, 3, 5), ([-2, -1], [1, 0])),
        ((3, 2), (3, 4), [0, 0]),
        ((2, 3), (2, 3), [[0, 1], [0, 1]]),
        ((0, 3), (3, 2), 1),
        ((2, 3), (4, 2, 3), [[0, 1], [1, 2]]),
    ],
)
def test_tensordot_is_that_of_numpy(a: Any, b: Any, axes: Any, known: bool) -> None:
    x, y = _array(*a), _array(*b)
    found = _values(lambda s, t: linalg.tensordot(s, t, axes), x, y, known=known)
    np.testing.assert_allclose(found, np.tensordot(x, y, axes))


def test_tensordot_has_gradients() -> None:
    check_gradient(lambda a, b: linalg.tensordot(a, b, [[1, 2], [1, 0]]), _array(2, 3, 2), _array(2, 3, 2))


def test_tensordot_takes_axes_of_a_constant_and_partly_known_shapes() -> None:
    a, b = source("float64", [None, 3]), source("float64", [3, None])
    made = linalg.tensordot(a, b, constant([[1], [0]]))
    x, y = _array(2, 3), _array(3, 4)
    [found] = evaluate([made], {a: x, b: y})
    assert made.shape.rank == 2
    np.testing.assert_allclose(found, x @ y)


@for_each(
    "axes, match",
    [
        (-1, "at least 0, got -1"),
        (4, "cannot sum over 4 axes"),
        ([[0, 1], [1]], "axes in pairs"),
        ([[0], [0], [0]], "a number or two lists"),
        ([[0, 0], [0, 1]], "twice over one axis"),
        ([[3], [0]], "axis 3 is not in"),
        ([[0], [1]], "must be equal"),
    ],
)
def test_axes_that_do_not_fit_are_refused(axes: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        linalg.tensordot(constant(X), constant(X), axes)


@known_or_hidden
def test_matrices_times_vectors(known: bool) -> None:
    a, b = _array(5, 2, 3), _array(5, 3)
    found = _values(linalg.matvec, a, b, known=known)
    np.testing.assert_allclose(found, np.einsum("bij,bj->bi", a, b))
    turned = _values(lambda s, t: linalg.matvec(s, t, transpose_a=True), a, b[:, :2], known=known)
    np.testing.assert_allclose(turned, np.einsum("bji,bj->bi", a, b[:, :2]))


@known_or_hidden
def test_a_trace_is_the_sum_of_the_diagonal(known: bool) -> None:
    x = _array(3, 2, 4)
    np.testing.assert_allclose(_values(linalg.trace, x, known=known), np.einsum("bii->b", x[:, :, :2]))


def test_eye_is_that_of_numpy() -> None:
    def made(*args: Any, **kwargs: Any) -> Any:
        return _values(lambda: linalg.eye(*args, **kwargs))

    np.testing.assert_array_equal(made(3), np.eye(3, dtype=np.float32))
    np.testing.assert_array_equal(made(2, 4, dtype="int32"), np.eye(2, 4, dtype=np.int32))
    np.testing.assert_array_equal(made(2, 1, dtype="bool"), np.eye(2, 1, dtype=np.bool_))
    np.testing.assert_array_equal(made(0), np.eye(0, dtype=np.float32))
    wanted = np.broadcast_to(np.eye(2, 3, dtype=np.float32), (4, 5, 2, 3))
    np.testing.assert_array_equal(made(2, 3, batch_shape=[4, 5]), wanted)
    np.testing.assert_array_equal(made(2, batch_shape=[4]), np.stack([np.eye(2)] * 4))
    with pytest.raises(ValueError, match="at least 0, got -1"):
        linalg.eye(-1)


def test_eye_takes_tensors() -> None:
    rows, batch = source("int32", []), source("int32", [1])
    made = linalg.eye(rows, batch_shape=batch)
    wide = linalg.eye(rows, 4)
    found, other = evaluate([made, wide], {rows: 2, batch: [3]})
    np.testing.assert_array_equal(found, np.stack([np.eye(2)] * 3))
    np.testing.assert_array_equal(other, np.eye(2, 4))
    assert wide.shape.as_list() == [None, 4]


# -- einsum --------------------------------------------------------------------------------------


@known_or_hidden
@for_each(
    "equation, shapes",
    [
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
    ],
)
def test_einsum_takes_any_number_of_operands(equation: str, shapes: Any, known: bool) -> None:
    arrays = [_array(*shape) for shape in shapes]
    found = _values(lambda *xs: linalg.einsum(equation, *xs), *arrays, known=known)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays))


def test_einsum_of_three_operands_has_gradients() -> None:
    check_gradient(lambda *xs: linalg.einsum("ij,jk,ki->k", *xs), _array(2, 3), _array(3, 2), _array(2, 2))


@for_each(
    "equation, shapes, match",
    [
        ("i->ii", [(2,)], "twice in the result"),
        ("ij->k", [(2, 3)], "no operand has: k"),
        ("i->j->k", [(2,)], "no equation of letters"),
        ("i1->i", [(2, 2)], "no equation of letters"),
        ("i,j->ij", [(2,)], "for 2 operands, and 1 were given"),
        ("ij->i", [(2,)], "2 labels do not fit shape"),
        ("...ij->ij", [(2, 3, 4)], "the result needs it"),
    ],
)
def test_equations_that_do_not_fit_are_refused(equation: str, shapes: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        linalg.einsum(equation, *[constant(np.ones(shape)) for shape in shapes])


def test_einsum_takes_a_name() -> None:
    made = linalg.einsum("ij->i", constant(np.ones((2, 3))), name="sums")
    assert made.op.name == "sums/Einsum"


# -- functions of matrices -----------------------------------------------------------------------


def _exponential(x: Any) -> Any:
    linalg_of_scipy = pytest.importorskip("scipy.linalg")
    return linalg_of_scipy.expm(x)


@for_each("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_exponential_of_matrices_is_that_of_scipy(dtype: Any) -> None:
    x = np.stack([_array(3, 3) * size for size in (1e-3, 1.0, 4.0)]).astype(dtype)
    with Session() as session:
        found = session.run(linalg.expm(constant(x)))
    assert found.dtype == np.dtype(dtype)
    rtol = 1e-11 if found.dtype.itemsize > 4 and found.dtype != np.complex64 else 2e-4
    for mine, wanted in zip(found, _exponential(x.astype(np.complex128)), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol, rtol * np.abs(wanted).max())


def test_the_exponential_of_what_is_no_number_is_none_and_others_of_the_batch_do_not_care() -> None:
    x = np.stack([np.full((2, 2), np.nan), np.zeros((2, 2)), np.diag([1.0, 2.0])])
    with Session() as session:
        found = session.run(linalg.expm(constant(x)))
        empty = session.run([linalg.expm(constant(np.zeros(s))) for s in [(0, 2, 2), (0, 0)]])
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1:], [np.eye(2), np.diag(np.exp([1.0, 2.0]))])
    assert [e.shape for e in empty] == [(0, 2, 2), (0, 0)]


def test_the_exponential_has_a_gradient() -> None:
    x, weights, step = _array(3, 3) * 4, _array(3, 3), 1e-5
    with Session() as session:
        matrix = source("float64", [3, 3])
        total = linalg.trace(linalg.matmul(linalg.expm(matrix), constant(weights)))
        [grad] = gradients(total, [matrix])
        found = session.run(grad, {matrix: x})
        wanted = np.zeros((3, 3))
        for place in np.ndindex(3, 3):
            shift = np.zeros((3, 3))
            shift[place] = step
            above, below = (session.run(total, {matrix: x + s * shift}) for s in (1, -1))
            wanted[place] = (above - below) / (2 * step)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5 * np.abs(wanted).max())


def test_what_has_no_exponential_is_refused() -> None:
    with pytest.raises(ValueError, match="got int32"):
        linalg.expm(constant([[1]]))
    with pytest.raises(ValueError, match="takes matrices, got shape"):
        linalg.expm(constant([1.0]))


def test_the_logarithm_and_the_exponential_undo_each_other() -> None:
    pytest.importorskip("scipy")
    x = (_array(2, 3, 3) + 1j * _array(2, 3, 3)) * 0.5
    with Session() as session:
        found = session.run(linalg.logm(linalg.expm(constant(x))))
        with pytest.raises(TypeError, match="complex types; got float32"):
            linalg.logm(constant([[1.0]]))
    np.testing.assert_allclose(found, x, atol=1e-10)


# -- the rest ------------------------------------------------------------------------------------


def test_the_logarithm_of_a_determinant() -> None:
    x = _array(2, 3, 3)
    x = x @ x.swapaxes(-1, -2) + np.eye(3)
    np.testing.assert_allclose(_values(linalg.logdet, x), np.log(np.linalg.det(x)))


def test_cholesky_factors_solve() -> None:
    x, rhs = _array(2, 3, 3), _array(2, 3, 2)
    x = x @ x.swapaxes(-1, -2) + np.eye(3)
    found = _values(linalg.cholesky_solve, np.linalg.cholesky(x), rhs)
    np.testing.assert_allclose(found, np.linalg.solve(x, rhs))


def test_the_factors_of_elimination_solve_invert_and_multiply() -> None:
    x, rhs = _array(2, 3, 3), _array(2, 3, 2)

    def build(matrix: Any, right: Any) -> Any:
        both, order = linalg.lu(matrix)
        return [
            linalg.lu_solve(both, order, right),
            linalg.lu_matrix_inverse(both, order),
            linalg.lu_reconstruct(both, order),
        ]

    wanted = [np.linalg.solve(x, rhs), np.linalg.inv(x), x]
    for found, want in zip(_values(build, x, rhs), wanted, strict=True):
        np.testing.assert_allclose(found, want)


def test_the_permutation_of_elimination_may_be_int64() -> None:
    assert _values(lambda x: linalg.lu(x, output_idx_type="int64").p, np.eye(2)).dtype == np.int64
    with pytest.raises(TypeError, match="int32 or int64, got int8"):
        linalg.lu(constant(np.eye(2)), output_idx_type="int8")


def test_pseudo_inverses_and_ranks_are_those_of_numpy() -> None:
    deficient = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    for x in (_array(2, 4, 3), _array(3, 4), deficient):
        np.testing.assert_allclose(_values(linalg.pinv, x), np.linalg.pinv(x), atol=1e-12)
        np.testing.assert_array_equal(_values(linalg.matrix_rank, x), np.linalg.matrix_rank(x))
    assert _values(lambda x: linalg.matrix_rank(x, 1.0), np.diag([0.5, 2.0])) == 1


def test_least_squares_have_a_gradient_where_shapes_are_known_only_in_the_step() -> None:
    for rows, columns in [(4, 2), (2, 3)]:
        a, b = _array(rows, columns), _array(rows, 1)
        with Graph().as_default(), Session() as session:
            open_a, open_b = source("float64", None), source("float64", None)
            hidden = gradients(linalg.lstsq(open_a, open_b), [open_a, open_b])
            found = session.run(hidden, {open_a: a, open_b: b})
            known_a, known_b = constant(a), constant(b)
            wanted = session.run(gradients(linalg.lstsq(known_a, known_b), [known_a, known_b]))
        for mine, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, want)


def test_a_large_triangular_system_is_solved_to_rounding() -> None:
    matrix = np.tril(_array(200, 200)) / 20 + np.eye(200)
    x = _array(200, 3)
    found = _values(linalg.triangular_solve, matrix, matrix @ x)
    np.testing.assert_allclose(found, x, atol=1e-8)


def test_gradients_that_do_not_exist_say_so() -> None:
    deep = constant(_array(3, 2))
    with pytest.raises(NotImplementedError, match="full_matrices"):
        gradients(linalg.qr(deep, full_matrices=True).q, [deep])
    with pytest.raises(NotImplementedError, match="full_matrices"):
        gradients(linalg.svd(deep, full_matrices=True)[1], [deep])
    with pytest.raises(ValueError, match="fast=True only"):
        gradients(linalg.lstsq(deep, deep, fast=False), [deep])
    twisted = constant(_array(2, 2) + 1j * _array(2, 2))
    with pytest.raises(NotImplementedError, match="complex"):
        gradients(linalg.svd(twisted)[1], [twisted], [twisted])


def test_the_namespace_has_its_names_and_each_is_documented() -> None:
    assert len(set(linalg.__all__)) == len(linalg.__all__)
    for name in linalg.__all__:
        assert getattr(linalg, name).__doc__, name
    assert linalg.inv.__name__ == "matrix_inverse"
    assert math.isfinite(_values(linalg.det, np.eye(2)))


def test_the_gradient_of_a_determinant_of_complex_numbers_is_conjugated() -> None:
    given = np.array([[1 + 2j, 3], [0.5j, 2 - 1j]])
    x = constant(given)
    [found] = evaluate(gradients(acts.math.real(linalg.det(x)), x))
    np.testing.assert_allclose(found, np.conj(np.linalg.det(given) * np.linalg.inv(given).T))
