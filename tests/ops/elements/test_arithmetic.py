from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import bfloat16, bool_, float32, float64, int32, string
from actorsession.ops.build import constant, make_one
from actorsession.ops.elements import arithmetic
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

# Operands by their shapes: scalars, equal shapes, broadcasts both ways, nothing.
SHAPES = [
    ((), ()),
    ((3,), (3,)),
    ((2, 3), ()),
    ((), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((4, 1, 3), (2, 1)),
    ((0,), (0,)),
    ((0, 3), (1,)),
]

BINARY: dict[Op, Op] = {
    arithmetic.add: np.add,
    arithmetic.subtract: np.subtract,
    arithmetic.multiply: np.multiply,
    arithmetic.maximum: np.maximum,
    arithmetic.minimum: np.minimum,
    arithmetic.squared_difference: lambda x, y: (x - y) ** 2,
}

all_ops = for_each("op", BINARY, ids=lambda op: op.__name__)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def values(shape: tuple[int, ...], seed: int, dtype: Any = np.float64) -> Any:
    """Numbers between -2 and 2, none near 0; halves, so that 16-bit floats are exact."""
    numbers = np.random.default_rng(seed).choice([-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2], size=shape)
    return np.asarray(numbers).astype(dtype)


@all_ops
@for_each("dtype", [np.float32, np.float64, np.float16, np.int32, np.int64])
@for_each("shapes", SHAPES, ids=str)
def test_a_binary_op_broadcasts_as_numpy_does(op: Op, dtype: Any, shapes: Any) -> None:
    x, y = (values(shape, i, dtype) for i, shape in enumerate(shapes))
    result = op(constant(x), constant(y))
    [found] = evaluate([result])
    expected = BINARY[op](x, y)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(found, expected, strict=isinstance(expected, np.ndarray))


@all_ops
def test_a_binary_op_computes_bfloat16_scalars_and_arrays(op: Op) -> None:
    x, y = (values((3,), i, bfloat16.np_dtype) for i in range(2))
    expected = BINARY[op](x.astype(np.float32), y.astype(np.float32))
    [found, first] = evaluate([op(constant(x), constant(y)), op(constant(x[0]), constant(y[0]))])
    np.testing.assert_array_equal(found.astype(np.float32), expected)
    assert float(first) == expected[0]


@all_ops
def test_nan_stays_nan(op: Op) -> None:
    nan = np.float32(np.nan)
    for x, y in ((nan, np.float32(1)), (np.float32(1), nan)):
        [scalar] = evaluate([op(constant(x), constant(y))])
        [array] = evaluate([op(constant([x]), constant([y]))])
        assert np.isnan(scalar)
        assert np.isnan(array[0])


@all_ops
@for_each("shapes", [s for s in SHAPES if 0 not in s[0]], ids=str)
def test_the_gradient_of_a_binary_op_is_that_of_finite_differences(op: Op, shapes: Any) -> None:
    # Shifted apart, so that no pair is equal, where the extrema have no derivative.
    x, y = values(shapes[0], 0), values(shapes[1], 1) + 0.3
    check_gradient(op, x, y)


@all_ops
def test_an_operand_of_rank_zero_may_be_an_array(op: Op) -> None:
    x, y = source(float32, ()), source(float32, ())
    [found] = evaluate([op(x, y)], {x: np.array(3.0), y: np.array(2.0)})
    assert found == BINARY[op](3.0, 2.0)


@all_ops
def test_operands_of_two_dtypes_are_a_type_error(op: Op) -> None:
    with pytest.raises(TypeError, match="float32, int32"):
        op(constant(1.0), constant(1))


@all_ops
def test_shapes_that_cannot_be_broadcast_are_a_value_error_naming_both(op: Op) -> None:
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        op(constant([1.0, 2.0]), constant([1.0, 2.0, 3.0]))


@for_each(
    "x, y, expected",
    [
        ([None, 3], [3], [None, 3]),
        ([None, 1], [1, 4], [None, 4]),
        ([None], [None], [None]),
        ([None, 3], None, None),
        (None, (), None),
    ],
    ids=str,
)
def test_unknown_dimensions_give_what_can_be_known(x: Any, y: Any, expected: Any) -> None:
    assert (source(float32, x) + source(float32, y)).shape == expected


def test_strings_are_joined() -> None:
    words, word = constant(["a", "b"]), source(string, ())
    joined = [arithmetic.add(words, "x"), words + word, word + constant("v")]
    found = evaluate(joined, {word: b"u\0"})  # numpy's own strings would lose the zero
    assert [np.asarray(f, object).tolist() for f in found] == [
        [b"ax", b"bx"],
        [b"au\0", b"bu\0"],
        b"u\0v",
    ]


def test_complex_numbers_multiply_and_differ() -> None:
    x, y = constant([1 + 2j, 3j]), constant([2 - 1j, 1 + 0j])
    [product, square] = evaluate([x * y, arithmetic.squared_difference(x, y)])
    np.testing.assert_allclose(product, [4 + 3j, 3j])
    np.testing.assert_allclose(square, [10, 10])


# -- powers --------------------------------------------------------------------------------------


@for_each("exponent", [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1.7, -2.0])
@for_each("shape", [(), (4,), (2, 3)], ids=str)
def test_a_power_is_numpys_whether_its_exponent_is_constant_or_not(
    exponent: float, shape: Any
) -> None:
    base = np.abs(values(shape, 0))
    x, y = source(float64, shape), source(float64, ())
    found = evaluate([x**exponent, x**y], {x: base, y: exponent})
    for result in found:
        np.testing.assert_allclose(result, base**exponent, rtol=1e-15)


def test_an_integer_power_stays_an_integer() -> None:
    [found] = evaluate([constant([2, -3, 0]) ** constant([3, 2, 0])])
    np.testing.assert_array_equal(found, np.array([8, 9, 1], np.int32), strict=True)


def test_a_negative_power_of_an_integer_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="negative integer powers"):
        evaluate([constant([2]) ** constant([-1])])


@pytest.mark.parametrize("shapes", [((3,), ()), ((2, 3), (3,)), ((), (2,))], ids=str)
def test_the_gradient_of_a_power_is_that_of_finite_differences(shapes: Any) -> None:
    check_gradient(arithmetic.pow, np.abs(values(shapes[0], 0)), values(shapes[1], 1))


@for_each("exponent", [2.0, 3.0, 0.5, 1.7])
def test_the_gradient_by_the_base_of_a_constant_power(exponent: float) -> None:
    check_gradient(lambda x: x**exponent, np.abs(values((4,), 0)))


def test_a_square_has_a_gradient_at_zero_and_below() -> None:
    check_gradient(lambda x: x**2, np.array([0.0, -1.0, 2.0]))


# -- sums of many --------------------------------------------------------------------------------


@for_each("count", [1, 2, 3, 5])
@for_each("shape", [(), (3,), (0,)], ids=str)
@for_each("known", [True, False])
def test_add_n_adds_without_touching_its_inputs(count: int, shape: Any, known: bool) -> None:
    given = [values(shape, i, np.float32) for i in range(count)]
    tensors = [source(float32, shape if known else None) for _ in given]
    [found] = evaluate([arithmetic.add_n(tensors)], dict(zip(tensors, given, strict=True)))
    np.testing.assert_array_equal(found, functools.reduce(np.add, given))


def test_add_n_passes_its_gradient_to_every_input() -> None:
    check_gradient(lambda *xs: arithmetic.add_n(xs), *(values((2, 2), i) for i in range(3)))


def test_add_n_does_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"one shape; got \(2,\), \(1,\)"):
        arithmetic.add_n([constant([1.0, 2.0]), constant([1.0])])
    x, y = source(float32), source(float32)
    with pytest.raises(InvalidArgumentError, match=r"\(1,\), \(2,\)"):
        evaluate([arithmetic.add_n([x, y])], {x: [1.0, 2.0], y: [1.0]})


@pytest.mark.parametrize("given", [[], constant([1.0], graph=Graph())], ids=["nothing", "tensor"])
def test_add_n_takes_a_list_of_one_or_more(given: Any) -> None:
    with pytest.raises(ValueError, match="one or more"):
        arithmetic.add_n(given)


def test_add_and_add_v2_are_the_same_op() -> None:
    x, y = constant([1, 2]), constant([3, 4])
    found = evaluate([make_one(op, [x, y]) for op in ("Add", "AddV2")])
    np.testing.assert_array_equal(found[0], found[1])
    assert x.dtype is int32


def test_the_product_of_bools_is_whether_both_are_true_for_the_operator_only() -> None:
    with Graph().as_default():
        x = source(bool_, [2])
        products = [x * constant([True, True]), x * True, False * x]
        assert [p.op.name for p in products] == ["mul/Cast_2", "mul_1/Cast_2", "mul_2/Cast_2"]
        found = evaluate(products, {x: np.array([True, False])})
        assert [f.tolist() for f in found] == [[True, False], [True, False], [False, False]]
        with pytest.raises(TypeError, match="got bool"):
            arithmetic.multiply(x, x)
