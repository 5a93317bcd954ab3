from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, bfloat16, bool_, complex128, float32, int32, string
from actorsession.ops.build import constant, make_one
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.elements import elementwise
from tests.ops.interpreter import check_gradient, evaluate, source
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
SMOOTH = [op for op in UNARY if op.__name__ not in ("floor", "ceil", "round", "sign")]
OF_COMPLEX = [
    op for op in UNARY if op.__name__ not in ("abs", "floor", "ceil", "round")
]  # fmt: skip
# Analytic functions whose second derivative is not 0.
CURVED = [op for op in OF_COMPLEX if op.__name__ not in ("negative", "sign")]
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-14}

all_ops = for_each("op", UNARY, ids=lambda op: op.__name__)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@all_ops
@for_each("dtype", ["float16", "bfloat16", "float32", "float64"])
@for_each("known", [True, False])
def test_an_op_computes_what_numpy_does(op: Op, dtype: str, known: bool) -> None:
    oracle, points = UNARY[op]
    for shape in ((len(points),), (1, len(points), 1), (0,)):
        given = np.resize(np.array(points), shape).astype(as_dtype(dtype).np_dtype)
        x = source(dtype, shape if known else None)
        [found] = evaluate([op(x)], {x: given})
        expected = oracle(given.astype(np.float64))
        assert found.dtype == given.dtype
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=TOLERANCE[dtype])


@all_ops
@for_each("dtype", ["float16", "bfloat16", "float32", "float64"])
@for_each("as_array", [True, False])
@for_each("known", [True, False])
def test_a_scalar_is_computed_as_an_array_is(
    op: Op, dtype: str, as_array: bool, known: bool
) -> None:
    oracle, points = UNARY[op]
    x = source(dtype, () if known else None)
    result = op(x)
    kernel_input = np.array(points[1]).astype(x.dtype.np_dtype)
    [found] = evaluate([result], {x: kernel_input if as_array else kernel_input[()]})
    assert np.shape(found) == ()
    np.testing.assert_allclose(float(found), oracle(points[1]), rtol=TOLERANCE[dtype])


@all_ops
def test_nan_stays_nan(op: Op) -> None:
    [array, scalar] = evaluate([op(constant([np.nan])), op(constant(np.nan))])
    assert np.isnan(array[0])
    assert np.isnan(scalar)


@for_each("op", SMOOTH, ids=lambda op: op.__name__)
@for_each("shape", [(), (6,), (2, 3)], ids=str)
def test_a_gradient_is_that_of_finite_differences(op: Op, shape: Any) -> None:
    points = [p for p in UNARY[op][1] if p]
    check_gradient(op, np.resize(np.array(points), shape))


@for_each("op", SMOOTH, ids=lambda op: op.__name__)
def test_a_second_gradient_is_that_of_finite_differences(op: Op) -> None:
    points = [p for p in UNARY[op][1] if p]

    def slope(x: Any) -> Any:
        [first] = gradients(op(x), x)
        return x * first

    check_gradient(slope, np.array(points), rtol=1e-4, atol=1e-6)


@for_each("name", ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"])
@for_each("shape", [(), (3,)], ids=str)
def test_a_gradient_op_has_gradients_by_both_inputs(name: str, shape: Any) -> None:
    y, dy = np.linspace(0.5, 2, 3).reshape(3)[: shape[0] if shape else 1].reshape(shape), 1.5
    check_gradient(lambda a, b: make_one(name, [a, b]), y, np.full(shape, dy))


@for_each("op", OF_COMPLEX, ids=lambda op: op.__name__)
@for_each("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_taken_where_the_function_is_analytic(op: Op, dtype: Any) -> None:
    given = np.array([1 + 2j, -0.5 + 0.25j, 2 - 1j], dtype)
    [array, scalar] = evaluate([op(constant(given)), op(constant(given[0]))])
    expected = UNARY[op][0](given)
    assert array.dtype == dtype
    np.testing.assert_allclose(array, expected, rtol=1e-5)
    np.testing.assert_allclose(scalar, expected[0], rtol=1e-5)


def test_a_complex_gradient_takes_the_conjugate() -> None:
    z = constant(np.array([1 + 2j]))
    [found] = evaluate(gradients(elementwise.square(z), z, constant(np.array([1 + 0j]))))
    np.testing.assert_allclose(found, [2 - 4j])


@for_each("op", CURVED, ids=lambda op: op.__name__)
def test_a_second_gradient_of_complex_numbers_is_the_conjugate_of_the_second_derivative(
    op: Op,
) -> None:
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


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integers_stay_integers(dtype: Any) -> None:
    given = np.array([-3, 0, 4], dtype)
    x = constant(given)
    ops = [-x, abs(x), elementwise.sign(x), elementwise.square(x), elementwise.round(x)]
    expected = [-given, np.abs(given), np.sign(given), given * given, given]
    for found, value in zip(evaluate(ops), expected, strict=True):
        np.testing.assert_array_equal(found, value, strict=True)


def test_the_round_op_itself_takes_integers() -> None:
    [found] = evaluate([make_one("Round", [constant([1, -2])])])
    np.testing.assert_array_equal(found, np.array([1, -2], np.int32), strict=True)


def test_halves_are_rounded_to_the_even_number() -> None:
    [found] = evaluate([elementwise.round(constant([0.5, 1.5, 2.5, -0.5, -1.5]))])
    np.testing.assert_array_equal(found, [0, 2, 2, 0, -2])


def test_exactness_near_zero_is_kept() -> None:
    tiny = constant(np.array([1e-12]))
    [less, more] = evaluate([elementwise.expm1(tiny), elementwise.log1p(tiny)])
    np.testing.assert_allclose(less, [1e-12], rtol=1e-11)
    np.testing.assert_allclose(more, [1e-12], rtol=1e-11)


def test_values_out_of_the_domain_are_nan_or_infinite() -> None:
    x = constant([-1.0, 0.0])
    ops = [elementwise.sqrt(x), elementwise.log(x), elementwise.reciprocal(x)]
    [root, logarithm, inverse] = evaluate(ops)
    np.testing.assert_array_equal(root, [np.nan, 0])
    np.testing.assert_array_equal(logarithm, [np.nan, -np.inf])
    np.testing.assert_array_equal(inverse, [-1, np.inf])


def test_the_conjugate_of_a_real_tensor_is_the_tensor() -> None:
    x, z = constant([1.0]), constant([1 + 2j])
    assert elementwise.conj(x) is x
    [found] = evaluate([elementwise.conj(z)])
    np.testing.assert_array_equal(found, [1 - 2j])


@for_each("dtype", [bool_, string], ids=lambda d: d.name)
@all_ops
def test_bools_and_strings_are_a_type_error(op: Op, dtype: Any) -> None:
    with pytest.raises(TypeError, match=f"got {dtype.name}"):
        op(source(dtype, ()))


@pytest.mark.parametrize("op", [elementwise.exp, elementwise.floor, elementwise.sqrt])
def test_functions_of_real_numbers_take_no_integers(op: Op) -> None:
    with pytest.raises(TypeError, match="got int32"):
        op(source(int32, ()))


@for_each("shape", [None, [], [None, 2], [3]], ids=str)
def test_the_static_shape_is_kept(shape: Any) -> None:
    assert elementwise.exp(source(float32, shape)).shape == shape


def test_steps_have_no_gradient_and_the_sign_has_zeros() -> None:
    x = source(float32, (2,))
    for op in (elementwise.floor, elementwise.ceil, elementwise.round):
        assert gradients(op(x), x) == [None]
    [found] = evaluate(gradients(elementwise.sign(x), x), {x: [1.0, -2.0]})
    np.testing.assert_array_equal(found, [0, 0])


def test_bfloat16_is_not_widened_by_constants() -> None:
    x = source(bfloat16, (2,))
    [found] = evaluate([elementwise.rsqrt(x)], {x: [4.0, 0.25]})
    np.testing.assert_array_equal(found.astype(np.float32), [0.5, 2])
