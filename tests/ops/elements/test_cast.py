from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, bfloat16, cast, constant, float32, float64, gradients, int32, int64, string
from actorsession.graph import constant_value
from tests.nodes import make_one
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

DTYPES = [
    "bool",
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@for_each("target", DTYPES)
@for_each("origin", DTYPES)
@for_each("shape", [(), (3,), (0,)], ids=str)
def test_a_value_that_both_types_hold_is_kept(origin: str, target: str, shape: Any) -> None:
    given = np.resize(np.array([1, 0, 1]), shape).astype(as_dtype(origin).np_dtype)
    x = source(origin, shape)
    for value in (given, given[()]):
        [found] = evaluate([cast(x, target)], {x: value})
        assert found.dtype == as_dtype(target).np_dtype
        np.testing.assert_array_equal(found.astype(complex), given.astype(complex))


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
def test_nan_as_an_integer_is_anything_but_an_error(shape: Any) -> None:
    [found] = evaluate([cast(constant(np.nan, shape=shape), int32)])
    assert found.dtype == np.int32


@for_each("shape", [(), (2,), (2, 0, 3)], ids=str)
@for_each(
    "origin, target, value, expected",
    [
        ("float32", "bfloat16", 1.99999, 2 - 2**-7),
        ("float32", "bfloat16", -1.99999, -(2 - 2**-7)),
        ("float32", "bfloat16", 3.4e38, 2.0**128 - 2.0**120),
        ("float32", "bfloat16", np.inf, np.inf),
        ("float32", "bfloat16", np.nan, np.nan),
        ("float32", "float16", 1e6, 65504),
        ("float64", "float32", -(1 + 2**-24 + 2**-30), -1),
        ("float64", "bfloat16", 1 + 2**-8 + 2**-9, 1),
    ],
)
def test_a_truncating_cast_rounds_floats_towards_zero(
    origin: str, target: str, value: float, expected: float, shape: Any
) -> None:
    x = source(origin, shape)
    given = np.full(shape, value, as_dtype(origin).np_dtype)
    cut = make_one("Cast", [x], {"DstT": as_dtype(target), "Truncate": True})
    for form in (given, given[()], given.T):
        if np.shape(form) == shape:
            [found] = evaluate([cut], {x: form})
            assert found.dtype == as_dtype(target).np_dtype
            np.testing.assert_array_equal(found.astype(np.float64), np.full(shape, expected))


def test_a_nan_stays_one_even_when_truncating_takes_all_its_bits() -> None:
    x = source(float32, [1])
    given = np.array([0x7F800001], np.uint32).view(np.float32)
    [found] = evaluate([make_one("Cast", [x], {"DstT": bfloat16, "Truncate": True})], {x: given})
    assert np.isnan(found).tolist() == [True]


def test_a_tensor_that_has_the_type_is_returned_itself() -> None:
    x = constant(1.0)
    assert cast(x, float32) is x


@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_the_gradient_goes_back_in_the_old_type(shape: Any) -> None:
    check_gradient(lambda x: cast(cast(x, "complex128"), float64) * 2.0, np.ones(shape))
    x = source(bfloat16, shape)
    [back] = gradients(cast(x, float32), x)
    assert back.dtype is bfloat16


def test_nothing_flows_through_an_integer() -> None:
    x = source(float32, ())
    assert gradients(cast(cast(x, int32), float32), x) == [None]


def test_strings_are_a_type_error_either_way() -> None:
    with pytest.raises(TypeError, match=r"Cast takes .* quantised types; got string"):
        cast(source(string, ()), float32)
    with pytest.raises(TypeError, match="string is neither"):
        cast(constant(1), string)


def test_an_integer_constant_is_known_early_also_after_a_cast() -> None:
    known = constant_value(cast(constant([1, 2]), int64))
    np.testing.assert_array_equal(known, np.array([1, 2], np.int64), strict=True)
