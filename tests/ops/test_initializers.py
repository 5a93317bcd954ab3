"""First values of variables: shapes, types and distributions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.graph.dtypes import as_dtype, float32, float64, int32
from actorsession.graph.graph import Graph
from actorsession.ops import initializers as i
from actorsession.ops.variables import Variable
from tests.ops.interpreter import Variables, evaluate


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def drawn(initializer: i.Initializer, shape: Any = (200, 300)) -> Any:
    return evaluate([initializer(shape)])[0]


ALL = [
    i.zeros_initializer,
    i.ones_initializer,
    i.constant_initializer,
    i.random_uniform_initializer,
    i.random_normal_initializer,
    i.truncated_normal_initializer,
    i.variance_scaling_initializer,
    i.glorot_uniform_initializer,
    i.glorot_normal_initializer,
    i.he_uniform_initializer,
    i.he_normal_initializer,
]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 3)], ids=str)
def test_a_first_value_has_the_shape_asked_for_and_is_float32(kind: Any, shape: Any) -> None:
    made = kind()(shape)
    assert made.dtype is float32
    assert made.shape == shape
    assert np.shape(evaluate([made])[0]) == shape


@pytest.mark.parametrize("kind", ALL)
def test_the_dtype_of_the_call_wins_over_that_of_the_initializer(kind: Any) -> None:
    initializer = kind(dtype=float64)
    assert initializer([2]).dtype is float64
    assert initializer([2], dtype=float32).dtype is float32


@pytest.mark.parametrize("kind", ALL)
def test_the_shape_must_be_known(kind: Any) -> None:
    with pytest.raises(ValueError, match="not fully defined"):
        kind()([None, 2])


@pytest.mark.parametrize("kind", ALL)
def test_an_initializer_gives_a_variable_its_first_value(kind: Any) -> None:
    initializer = kind()
    w = Variable(lambda: initializer((4, 2)), dtype=float32, shape=(4, 2))
    state = Variables()
    evaluate([w.initializer], None, state)
    assert evaluate([w], None, state)[0].shape == (4, 2)


def test_zeros_ones_and_constants_are_what_they_say() -> None:
    assert not drawn(i.zeros_initializer()).any()
    assert (drawn(i.ones_initializer()) == 1).all()
    assert (drawn(i.constant_initializer(2.5)) == 2.5).all()
    assert drawn(i.constant_initializer([1, 2, 3, 4]), (2, 2)).tolist() == [[1, 2], [3, 4]]
    assert evaluate([i.ones_initializer(int32)([2])])[0].tolist() == [1, 1]


def test_a_constant_that_does_not_fill_the_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fill"):
        i.constant_initializer([1.0, 2.0, 3.0])((2, 2))


def test_a_constant_may_insist_on_its_shape() -> None:
    with pytest.raises(ValueError, match=r"has shape \[\], asked was \[2\]"):
        i.constant_initializer(1.0, verify_shape=True)([2])


def test_uniform_values_lie_between_their_bounds() -> None:
    found = drawn(i.random_uniform_initializer(-2.0, 4.0, seed=1))
    assert found.min() >= -2.0
    assert found.max() < 4.0
    np.testing.assert_allclose([found.mean(), found.std()], [1.0, 6 / np.sqrt(12)], atol=0.03)


def test_normal_values_have_mean_and_deviation() -> None:
    found = drawn(i.random_normal_initializer(5.0, 0.5, seed=1))
    np.testing.assert_allclose([found.mean(), found.std()], [5.0, 0.5], atol=0.01)


def test_truncated_values_stay_within_two_deviations() -> None:
    found = drawn(i.truncated_normal_initializer(5.0, 0.5, seed=1))
    assert np.abs(found - 5.0).max() <= 1.0 + 1e-6
    np.testing.assert_allclose([found.mean(), found.std()], [5.0, 0.8796 * 0.5], atol=0.01)


@pytest.mark.parametrize(
    "distribution", ["truncated_normal", "untruncated_normal", "uniform", "normal"]
)
@pytest.mark.parametrize(("mode", "n"), [("fan_in", 200), ("fan_out", 300), ("fan_avg", 250)])
def test_the_variance_is_scale_over_the_number_of_units(
    mode: str, n: int, distribution: str
) -> None:
    found = drawn(i.variance_scaling_initializer(3.0, mode, distribution, seed=2))
    np.testing.assert_allclose([found.mean(), found.std()], [0, np.sqrt(3.0 / n)], atol=2e-3)


@pytest.mark.parametrize(
    ("shape", "fans"),
    [
        ((), (1, 1)),
        ((7,), (7, 7)),
        ((2, 3), (2, 3)),
        ((5, 4, 2, 3), (40, 60)),
        ((5, 4, 3, 2, 6), (120, 360)),
    ],
)
def test_windows_of_convolutions_multiply_the_channels(shape: Any, fans: Any) -> None:
    assert i._fans(shape) == fans


@pytest.mark.parametrize(
    ("kind", "variance", "limit"),
    [
        (i.glorot_uniform_initializer, 2 / 500, np.sqrt(6 / 500)),
        (i.glorot_normal_initializer, 2 / 500, 2 * np.sqrt(2 / 500) / 0.8796),
        (i.he_uniform_initializer, 2 / 200, np.sqrt(6 / 200)),
        (i.he_normal_initializer, 2 / 200, 2 * np.sqrt(2 / 200) / 0.8796),
    ],
)
def test_named_initializers_have_their_variance_and_bounds(
    kind: Any, variance: float, limit: float
) -> None:
    found = drawn(kind(seed=3))
    np.testing.assert_allclose(found.var(), variance, rtol=0.03)
    assert np.abs(found).max() <= limit * 1.001


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_random_values_come_in_every_floating_type(dtype: str) -> None:
    found = evaluate([i.glorot_uniform_initializer(dtype=dtype)((3, 4))])[0]
    assert found.dtype == as_dtype(dtype).np_dtype


def test_one_seed_gives_one_sequence_in_every_session() -> None:
    made = i.random_normal_initializer(seed=7)([5])
    np.testing.assert_array_equal(evaluate([made])[0], evaluate([made])[0])


@pytest.mark.parametrize(
    "wrong", [{"scale": 0.0}, {"mode": "fan"}, {"distribution": "poisson"}], ids=str
)
def test_settings_that_do_not_exist_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        i.variance_scaling_initializer(**wrong)
