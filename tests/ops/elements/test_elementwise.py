from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import complex128, constant, gradients
from actorsession.ops.elements import elementwise
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

ANY = [-2.5, -1.0, -0.5, 0.0, 0.5, 1.5, 2.5, 3.0]
NONZERO = [-2.5, -1.0, -0.5, 0.5, 1.5, 2.5]
POSITIVE = [0.25, 0.5, 1.0, 2.0, 7.0]

# Each op with numpy's function and where both are defined.
UNARY: dict[Op, tuple[Op, list[float]]] = {
    elementwise.negative: (np.negative, ANY),
    elementwise.abs: (np.abs, ANY),
    elementwise.sign: (np.sign, ANY),
    elementwise.floor: (np.floor, ANY),
    elementwise.ceil: (np.ceil, ANY),
    elementwise.round: (np.rint, ANY),
    elementwise.square: (np.square, ANY),
    elementwise.sqrt: (np.sqrt, POSITIVE),
    elementwise.rsqrt: (lambda x: 1 / np.sqrt(x), POSITIVE),
    elementwise.reciprocal: (np.reciprocal, NONZERO),
    elementwise.exp: (np.exp, ANY),
    elementwise.expm1: (np.expm1, ANY),
    elementwise.log: (np.log, POSITIVE),
    elementwise.log1p: (np.log1p, POSITIVE),
    elementwise.sin: (np.sin, ANY),
    elementwise.cos: (np.cos, ANY),
    elementwise.tan: (np.tan, ANY),
}
OF_COMPLEX = [op for op in UNARY if op.__name__ not in ("abs", "floor", "ceil", "round")]
# Analytic functions whose second derivative is not 0.
CURVED = [op for op in OF_COMPLEX if op.__name__ not in ("negative", "sign")]


def test_a_complex_gradient_takes_the_conjugate() -> None:
    z = constant(np.array([1 + 2j]))
    [found] = evaluate(gradients(elementwise.square(z), z, constant(np.array([1 + 0j]))))
    np.testing.assert_allclose(found, [2 - 4j])


@for_each("op", CURVED, ids=lambda op: op.__name__)
def test_a_second_gradient_of_complex_numbers_is_the_conjugate_of_the_second_derivative(op: Op) -> None:
    """The first gradient is a conjugate too, so that it is conjugated again to be differentiated."""
    given, h = np.array([1 + 2j, -0.5 + 0.25j, 2 - 1j]), 1e-3
    oracle, z = UNARY[op][0], source(complex128, given.shape)
    [first] = gradients(op(z), z, constant(np.ones_like(given)))
    [second] = gradients(elementwise.conj(first), z, constant(np.ones_like(given)))
    slope = (oracle(given + h) - oracle(given - h)) / (2 * h)
    curve = (oracle(given + h) - 2 * oracle(given) + oracle(given - h)) / h**2
    found = evaluate([first, second], {z: given})
    np.testing.assert_allclose(found[0], slope.conj(), rtol=1e-4)
    np.testing.assert_allclose(found[1], curve.conj(), rtol=1e-4)


def test_exactness_near_zero_is_kept() -> None:
    tiny = constant(np.array([1e-12]))
    [less, more] = evaluate([elementwise.expm1(tiny), elementwise.log1p(tiny)])
    np.testing.assert_allclose(less, [1e-12], rtol=1e-11)
    np.testing.assert_allclose(more, [1e-12], rtol=1e-11)


def test_the_conjugate_of_a_real_tensor_is_the_tensor() -> None:
    x, z = constant([1.0]), constant([1 + 2j])
    assert elementwise.conj(x) is x
    [found] = evaluate([elementwise.conj(z)])
    np.testing.assert_array_equal(found, [1 - 2j])
