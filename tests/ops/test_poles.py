"""Values and gradients at poles and of singular matrices: the numbers are those of TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession.compat.v1 as tf
from tests.ops.cases import f32
from tests.ops.uses import back, each_use, equals, fails, gives

INF, NAN = np.inf, np.nan
KINDS: list[Any] = [np.complex64, np.complex128]
INFINITE = [INF, -INF, complex(0, INF), complex(INF, INF), complex(-INF, INF), complex(1, INF)]
WITH_NAN = f32([[1, NAN, 2, 3], [NAN, NAN, 1, 2]])
# Of sums with NaN among them: an element that is NaN counts the one before twice. By exclusive and reverse.
SUMS: dict[tuple[bool, bool], Any] = {
    (False, False): [[1, 1.6931472, 2.5514448, 3.4938116], [-INF, -INF, 1, 2.3132617]],
    (False, True): [[4.0546932, 4.006409, 3.3132617, 3], [3.699556, 3.006409, 2.3132617, 2]],
    (True, False): [[-INF, 1, 1.6931472, 2.5514448], [-INF, -INF, -INF, 1]],
    (True, True): [[4.006409, 3.3132617, 3, -INF], [3.006409, 2.3132617, 2, -INF]],
}
RIGHT, ZEROS = f32([[1], [2]]), np.zeros((2, 2), np.float32)
HALF, PIXELS = f32([[1, 0], [2, 0]]), np.zeros((1, 1, 1, 3), np.float32)
WINDOWS = np.array([[1, NAN, 3, 2], [NAN, NAN, 0, -INF], [NAN, NAN, NAN, 1], [NAN, NAN, -INF, -INF]])
SINGULAR = [[[1, 0], [0, 0]], [[0, 1], [0, 1]], [[0, 0], [0, 1]]]
INVERSES = [tf.acos, tf.asin, tf.atan, tf.acosh, tf.asinh, tf.atanh]


def _normalised(x: Any) -> Any:
    return tf.nn.lrn(x, depth_radius=1, bias=0.0, alpha=1.0, beta=0.5)


def _flat(function: Any, x: Any) -> Any:
    y = function(x)
    return tf.gradients(y, x, tf.ones_like(y))[0]


def _largest(x: Any) -> list[Any]:
    """The maxima of windows by three functions, as vectors."""
    made = [
        tf.nn.max_pool(x, 2, 2, "VALID"),
        tf.nn.max_pool3d(x[:, None], [1, 1, 2, 2, 1], [1, 1, 2, 2, 1], "VALID"),
        tf.nn.fractional_max_pool(x, [1, 2.0, 2.0, 1], seed=3, deterministic=True)[0],
    ]
    return [tf.reshape(each, [-1]) for each in made]


def _reciprocal(x: Any) -> list[Any]:
    y = tf.math.reciprocal(x)
    return [tf.math.is_nan(tf.math.imag(y)), tf.abs(tf.math.real(y))]


POLES = [
    *(
        gives(
            lambda x, e=e, r=r: tf.math.cumulative_logsumexp(x, 1, exclusive=e, reverse=r),
            f32(wanted),
            WITH_NAN,
            rtol=1e-6,
        )
        for (e, r), wanted in SUMS.items()
    ),
    # No gradient comes back through pixels of zeros without a bias where none arrives.
    gives(lambda x: tf.gradients(_normalised(x), x, tf.zeros_like(x)), [PIXELS], PIXELS),
    gives(lambda x: tf.math.is_finite(tf.gradients(_normalised(x), x)[0]), PIXELS > 0, PIXELS),
    gives(tf.math.igamma, f32([0, 0, 1]), f32([INF, INF, 2]), f32([3, INF, INF]), rtol=1e-6),
    gives(tf.math.igammac, f32([1, 0, 0]), f32([INF, INF, 2]), f32([3, INF, INF]), rtol=1e-6),
    gives(lambda a, x: tf.gradients(tf.math.igamma(a, x), a), [f32([0])], f32([INF]), f32([3])),
    gives(
        tf.math.betainc,
        f32([NAN, NAN, 0, 1, NAN]),
        *(f32([INF, 2, NAN, NAN, 2]), f32([2, INF, 2, 2, 2]), f32([0.5, 0.5, 0, 1, NAN])),
    ),
    # Triangular systems with a zero on the diagonal are divided by it.
    gives(tf.linalg.triangular_solve, f32([[INF], [NAN]]), ZEROS, RIGHT),
    gives(tf.linalg.triangular_solve, f32([[1], [NAN]]), HALF, RIGHT),
    back(lambda m: tf.linalg.triangular_solve(m, RIGHT), [[INF, 0], [-INF, NAN]], HALF),
    gives(lambda m: tf.linalg.lstsq(m, RIGHT, fast=True), f32([[NAN], [NAN]]), f32([[1, 2], [2, 4]])),
    gives(tf.linalg.pinv, np.zeros((3, 2), np.float32), np.zeros((2, 3), np.float32)),
    back(tf.linalg.qr, np.full((2, 2), NAN), ZEROS),
    # Equal maxima share the gradient of pools with three axes, and the first has it with two.
    back(
        lambda x: tf.nn.max_pool3d(x, [1, 1, 1, 2, 1], [1] * 5, "SAME"),
        f32([1, 2, 2]).reshape(1, 1, 1, 3, 1),
        np.ones((1, 1, 1, 3, 1), "f"),
    ),
    back(
        lambda x: tf.nn.max_pool(x, [1, 1, 2, 1], [1] * 4, "SAME"),
        f32([1, 1, 1]).reshape(1, 1, 3, 1),
        np.ones((1, 1, 3, 1), "f"),
    ),
    # Attributes of type float have the digits of a float32.
    gives(lambda x: tf.raw_ops.LeakyRelu(features=x, alpha=0.2), np.array([-0.20000000298023224]), np.array([-1.0])),
    equals(lambda: tf.raw_ops.LeakyRelu(features=[-1.0], alpha=0.2).op.get_attr("alpha"), 0.20000000298023224),
    *(
        row
        for kind in KINDS
        for row in (
            gives(tf.math.rsqrt, np.zeros(3, kind), np.array([-INF - INF * 1j, INF - INF * 1j, INF + 0j], kind)),
            gives(tf.sigmoid, np.zeros(3, kind), np.array([-INF + 0j, -INF - 1.5j, complex(-1000, 1)], kind)),
            # Inverse functions, quotients and reciprocals are flat at infinity, where numpy has NaN for some.
            *(gives(lambda x, f=f: _flat(f, x), np.zeros(6, kind), np.array(INFINITE, kind)) for f in INVERSES),
            gives(lambda x: [tf.math.reciprocal(x), 2.0 / x], [np.zeros(6, kind)] * 2, np.array(INFINITE, kind)),
            *(
                gives(_reciprocal, [nan, inf], zeros)
                for zeros in (np.array([0j, complex(-0.0, 0.0)], kind), np.array(0j, kind))
                for nan, inf in [(np.full(zeros.shape, True), np.full(zeros.shape, INF, zeros.real.dtype))]
            ),
        )
    ),
    *(
        row
        for kind in (np.float32, np.float64)
        for row in (
            # NaN is passed over, and a window without numbers has the lowest one.
            gives(
                _largest, [np.array([1, 3, np.finfo(kind).min, 1], kind)] * 3, WINDOWS.reshape(1, 4, 4, 1).astype(kind)
            ),
            # A root that is singular has no gradient.
            *(gives(lambda x: tf.shape(tf.linalg.sqrtm(x)), [2, 2], np.array(m, kind)) for m in SINGULAR),
            *(
                fails(lambda x: tf.gradients(tf.linalg.sqrtm(x), x), "not invertible", np.array(m, kind))
                for m in SINGULAR
            ),
        )
    ),
]


test_poles_are_as_in_tensorflow = each_use(POLES)
