"""Values and gradients at poles and of singular matrices: the numbers are those of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

INF, NAN = np.inf, np.nan


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@for_each(
    "form, wanted",
    [
        ((False, False), [[1, 1.6931472, 2.5514448, 3.4938116], [-INF, -INF, 1, 2.3132617]]),
        ((False, True), [[4.0546932, 4.006409, 3.3132617, 3], [3.699556, 3.006409, 2.3132617, 2]]),
        ((True, False), [[-INF, 1, 1.6931472, 2.5514448], [-INF, -INF, -INF, 1]]),
        ((True, True), [[4.006409, 3.3132617, 3, -INF], [3.006409, 2.3132617, 2, -INF]]),
    ],
)
def test_a_logarithm_of_sums_counts_itself_twice_where_an_element_is_nan(form: Any, wanted: Any) -> None:
    exclusive, reverse = form
    x = np.array([[1, NAN, 2, 3], [NAN, NAN, 1, 2]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.math.cumulative_logsumexp(x, 1, exclusive=exclusive, reverse=reverse)
        same(session.run(made), wanted)


def test_no_gradient_comes_back_through_pixels_of_zeros_without_a_bias(session: tf.Session) -> None:
    x = tf.constant(np.zeros((1, 1, 1, 3), np.float32))
    y = tf.nn.lrn(x, depth_radius=1, bias=0.0, alpha=1.0, beta=0.5)
    (none,) = tf.gradients(y, x, tf.zeros_like(y))
    (some,) = tf.gradients(y, x)
    assert session.run(none).tolist() == [[[[0, 0, 0]]]]
    assert not np.isfinite(session.run(some)).any()


@for_each("kind", ["complex64", "complex128"])
def test_infinite_complex_numbers_have_a_reciprocal_root_and_a_sigmoid(kind: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.array([-INF - INF * 1j, INF - INF * 1j, INF + 0j], kind))
        assert session.run(tf.math.rsqrt(x)).tolist() == [0, 0, 0]
        far = tf.constant(np.array([-INF + 0j, -INF - 1.5j, complex(-1000, 1)], kind))
        assert session.run(tf.sigmoid(far)).tolist() == [0, 0, 0]


def test_incomplete_functions_have_values_at_infinite_parameters(session: tf.Session) -> None:
    a, x = tf.constant([INF, INF, 2.0]), tf.constant([3.0, INF, INF])
    values = [tf.math.igamma(a, x), tf.math.igammac(a, x)]
    same(session.run(values), [[0, 0, 1], [1, 0, 0]])
    (slope,) = tf.gradients(tf.math.igamma(a[:1], x[:1]), a)
    same(session.run(slope), [0, 0, 0])
    a, b, x = (tf.constant(v) for v in ([INF, 2, NAN, NAN, 2], [2.0, INF, 2, 2, 2], [0.5, 0.5, 0, 1, NAN]))
    same(session.run(tf.math.betainc(a, b, x)), [NAN, NAN, 0, 1, NAN])


def test_triangular_systems_with_a_zero_on_the_diagonal_are_divided_by_it(session: tf.Session) -> None:
    rhs = tf.constant([[1.0], [2.0]])
    of_zeros = tf.linalg.triangular_solve(tf.zeros([2, 2]), rhs)
    matrix = tf.constant([[1.0, 0.0], [2.0, 0.0]])
    found = tf.linalg.triangular_solve(matrix, rhs)
    (by_matrix,) = tf.gradients(found, matrix)
    same(session.run(of_zeros), [[INF], [NAN]])
    same(session.run(found), [[1], [NAN]])
    same(session.run(by_matrix), [[INF, 0], [-INF, NAN]])


def test_least_squares_without_full_rank_are_nan_and_a_pseudoinverse_of_zeros_is_zero(session: tf.Session) -> None:
    singular, rhs = tf.constant([[1.0, 2.0], [2.0, 4.0]]), tf.constant([[1.0], [2.0]])
    same(session.run(tf.linalg.lstsq(singular, rhs, fast=True)), [[NAN], [NAN]])
    same(session.run(tf.linalg.pinv(tf.zeros([2, 3]))), np.zeros((3, 2)))


def test_the_gradient_of_a_decomposition_of_zeros_is_nan(session: tf.Session) -> None:
    x = tf.zeros([2, 2])
    (slope,) = tf.gradients(tf.linalg.qr(x), x)
    same(session.run(slope), np.full((2, 2), NAN))


def test_equal_maxima_share_the_gradient_of_pools_with_three_axes_and_the_first_has_it_with_two(
    session: tf.Session,
) -> None:
    x = tf.ones([1, 1, 1, 3, 1])
    pooled = tf.nn.max_pool3d(x, [1, 1, 1, 2, 1], [1, 1, 1, 1, 1], "SAME")
    flat = tf.ones([1, 1, 3, 1])
    first = tf.nn.max_pool(flat, [1, 1, 2, 1], [1, 1, 1, 1], "SAME")
    found = session.run([tf.gradients(pooled, x)[0], tf.gradients(first, flat)[0]])
    assert [each.ravel().tolist() for each in found] == [[1, 2, 2], [1, 1, 1]]


def test_attributes_of_type_float_have_the_digits_of_a_float32(session: tf.Session) -> None:
    x = tf.constant([-1.0], tf.float64)
    node = tf.raw_ops.LeakyRelu(features=x, alpha=0.2)
    assert node.op.get_attr("alpha") == 0.20000000298023224
    assert session.run(node).tolist() == [-0.20000000298023224]


# -- complex numbers and NaN -----------------------------------------------------------------------


INFINITE = [INF, -INF, complex(0, INF), complex(INF, INF), complex(-INF, INF), complex(1, INF)]


@for_each("kind", ["complex64", "complex128"])
def test_inverse_functions_are_flat_at_infinity(kind: str) -> None:
    """The quotients and reciprocals of infinite numbers are 0, where numpy has NaN for some of them."""
    functions = [tf.acos, tf.asin, tf.atan, tf.acosh, tf.asinh, tf.atanh]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.array(INFINITE, kind))
        grads = []
        for function in functions:
            y = function(x)
            grads += tf.gradients(y, x, tf.ones_like(y))
        found = session.run([*grads, tf.math.reciprocal(x), 2.0 / x])
    for values in found:
        assert values.tolist() == [0] * len(INFINITE)


@for_each("kind", ["complex64", "complex128"])
def test_the_reciprocal_of_a_complex_zero_is_infinite(kind: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        zeros = tf.constant(np.array([0j, complex(-0.0, 0.0)], kind))
        for found in session.run([tf.math.reciprocal(zeros), tf.math.reciprocal(zeros[0])]):
            assert np.isnan(found.imag).all()
            assert np.abs(found.real).tolist() == np.full(found.shape, INF).tolist()


@for_each("kind", ["float32", "float64"])
def test_the_maximum_of_a_window_is_that_of_its_numbers(kind: str) -> None:
    """NaN is passed over, and a window without numbers has the lowest one."""
    image = np.array([[1, NAN, 3, 2], [NAN, NAN, 0, -INF], [NAN, NAN, NAN, 1], [NAN, NAN, -INF, -INF]], kind)
    lowest = np.finfo(kind).min
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(image.reshape(1, 4, 4, 1))
        plain = tf.nn.max_pool(x, 2, 2, "VALID")
        volumes = tf.nn.max_pool3d(x[:, None], [1, 1, 2, 2, 1], [1, 1, 2, 2, 1], "VALID")
        regions = tf.nn.fractional_max_pool(x, [1, 2.0, 2.0, 1], seed=3, deterministic=True)[0]
        for found in session.run([plain, volumes, regions]):
            assert found.ravel().tolist() == [1, 3, lowest, 1]


@for_each("kind", ["float32", "float64"])
def test_a_root_that_is_singular_has_no_gradient(kind: str) -> None:
    for matrix in ([[1, 0], [0, 0]], [[0, 1], [0, 1]], [[0, 0], [0, 1]]):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(np.array(matrix, kind))
            y = tf.linalg.sqrtm(x)
            session.run(y)
            with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
                session.run(tf.gradients(y, x))
