"""Random numbers and their seeds."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import Graph, Tensor, constant, gradients, random, shape
from actorsession.errors import InvalidArgumentError
from actorsession.namespaces.random import get_seed, random_normal, random_uniform, set_random_seed, truncated_normal
from tests.nodes import make_one
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each

DRAWS: dict[str, Any] = {
    "normal": lambda **k: random_normal([20], **k),
    "truncated": lambda **k: truncated_normal([20], **k),
    "uniform": lambda **k: random_uniform([20], **k),
    "integers": lambda **k: random_uniform([20], 0, 1000, "int32", **k),
    "multinomial": lambda **k: random.multinomial(np.zeros((2, 50)), 10, **k),
    "gamma": lambda **k: random.gamma([20], 2.0, **k),
    "poisson": lambda **k: random.poisson(20.0, [20], **k),
    "shuffle": lambda **k: random.shuffle(np.arange(50), **k),
}


def _drawn(make: Any, session: Variables | None = None) -> Any:
    with Graph().as_default():
        (found,) = evaluate([make()], variables=session)
    return found


# -- distributions ---------------------------------------------------------------------------------

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@for_each("dtype", FLOATS, ids=lambda t: np.dtype(t).name)
def test_normal_numbers_have_their_mean_and_deviation(dtype: Any) -> None:
    x = _drawn(lambda: random_normal([200, 100], dtype=dtype, seed=1))
    assert x.shape == (200, 100)
    assert x.dtype == dtype
    wide = x.astype(np.float64)
    assert abs(wide.mean()) < 0.03
    assert abs(wide.std() - 1) < 0.03
    assert np.abs(wide).max() > 3  # not truncated


def test_normal_numbers_are_shifted_and_stretched() -> None:
    x = _drawn(lambda: random_normal([10_000], 5.0, 0.5, seed=1))
    assert abs(x.mean() - 5) < 0.03
    assert abs(x.std() - 0.5) < 0.03
    rows = _drawn(lambda: random_normal([1000, 2], [0.0, 100.0], [1.0, 0.0], seed=1))
    assert abs(rows[:, 0].mean()) < 0.2
    np.testing.assert_array_equal(rows[:, 1], np.full(1000, 100, np.float32))


@for_each("dtype", FLOATS, ids=lambda t: np.dtype(t).name)
def test_truncated_numbers_lie_within_two_deviations(dtype: Any) -> None:
    x = _drawn(lambda: truncated_normal([200, 100], dtype=dtype, seed=1))
    wide = x.astype(np.float64)
    assert x.dtype == dtype
    assert np.abs(wide).max() <= 2
    # The deviation of a normal distribution cut at two deviations.
    assert abs(wide.std() - 0.8796) < 0.02
    assert abs(wide.mean()) < 0.03


def test_truncated_numbers_are_shifted_and_stretched() -> None:
    x = _drawn(lambda: truncated_normal([10_000], 5.0, 0.1, seed=1))
    assert x.min() >= 4.8
    assert x.max() <= 5.2


@for_each("dtype", FLOATS, ids=lambda t: np.dtype(t).name)
def test_uniform_numbers_lie_in_the_unit_interval_without_its_end(dtype: Any) -> None:
    x = _drawn(lambda: random_uniform([200, 500], dtype=dtype, seed=1))
    wide = x.astype(np.float64)
    assert x.dtype == dtype
    assert wide.min() >= 0
    assert wide.max() < 1
    assert abs(wide.mean() - 0.5) < 0.01
    assert abs(wide.std() - 12**-0.5) < 0.01


@for_each("low, high", [(-1, 1), (0, 10), (2.5, 3.5), (-3, -1)])
def test_uniform_numbers_lie_between_their_ends(low: Any, high: Any) -> None:
    x = _drawn(lambda: random_uniform([10_000], low, high, seed=1))
    assert low <= x.min() < low + (high - low) * 0.01
    assert high - (high - low) * 0.01 < x.max() <= high


def test_the_ends_of_uniform_numbers_may_be_tensors() -> None:
    low, high = source("float32", []), source("float32", [2])
    (x,) = evaluate([random_uniform([1000, 2], low, high)], {low: -1.0, high: [1.0, 5.0]})
    assert -1 <= x.min() < -0.9
    assert 0.9 < x[:, 0].max() <= 1
    assert 4.9 < x[:, 1].max() <= 5


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_all_drawn_and_the_upper_end_is_not(dtype: Any) -> None:
    x = _drawn(lambda: random_uniform([1000], -2, 3, dtype, seed=1))
    assert x.dtype == np.dtype(dtype)
    assert sorted(set(x.tolist())) == [-2, -1, 0, 1, 2]


def test_a_shape_may_be_computed_and_numbers_may_be_scalars() -> None:
    x = source("float32", [None, 2])
    like_x = random_normal(shape(x))
    assert like_x.shape.as_list() == [None, 2]
    found, scalar = evaluate([like_x, random_uniform([])], {x: np.zeros((3, 2))})
    assert found.shape == (3, 2)
    assert np.shape(scalar) == ()


def test_draws_that_can_never_work_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a maxval"):
        random_uniform([2], dtype="int32")
    with pytest.raises(TypeError, match="floating type, got int32"):
        random_normal([2], dtype="int32")
    with pytest.raises(TypeError, match="takes int32, int64; got float32"):
        random_normal([1.5])
    with pytest.raises(ValueError, match="int32 or int64, got dtype int8"):
        random_uniform([2], 0, 5, "int8")


def test_draws_that_do_not_work_fail_in_the_step() -> None:
    dims = source("int32", [1])
    with pytest.raises(InvalidArgumentError, match=r"at least 0, got \[-1\]"):
        evaluate([random_normal(dims)], {dims: [-1]})
    with pytest.raises(InvalidArgumentError, match="minval lies below maxval, got 5 and 5"):
        evaluate([random_uniform([2], 5, 5, "int32")])


def test_nothing_flows_back_through_a_draw() -> None:
    mean = source("float32", [])
    drawn = random_normal([3], mean)
    (grad,) = gradients(drawn, [mean])
    assert evaluate([grad], {mean: 0.0}) == [3.0]
    assert gradients(random_normal([3]), [mean]) == [None]


# -- seeds -----------------------------------------------------------------------------------------


@for_each("kind", DRAWS)
def test_another_step_draws_anew(kind: Any) -> None:
    drawn = DRAWS[kind](seed=1)
    session = Variables()
    (first,) = evaluate([drawn], variables=session)
    (second,) = evaluate([drawn], variables=session)
    assert (first != second).any()


@for_each("kind", DRAWS)
def test_two_readers_in_one_step_agree(kind: Any) -> None:
    drawn = DRAWS[kind]()
    first, second = evaluate([drawn + drawn, drawn])
    np.testing.assert_array_equal(first, second + second)


@for_each("kind", DRAWS)
def test_the_same_seed_gives_the_same_sequence_in_each_session(kind: Any) -> None:
    drawn = DRAWS[kind](seed=1)
    sessions = Variables(), Variables()
    runs = [[evaluate([drawn], variables=s)[0] for _ in range(3)] for s in sessions]
    np.testing.assert_array_equal(runs[0], runs[1])


@for_each("kind", DRAWS)
def test_without_a_seed_each_session_has_its_own_sequence(kind: Any) -> None:
    drawn = DRAWS[kind]()
    first, second = (evaluate([drawn], variables=Variables())[0] for _ in range(2))
    assert (first != second).any()


@for_each("kind", DRAWS)
def test_another_seed_gives_another_sequence(kind: Any) -> None:
    first, second = (_drawn(lambda s=s: DRAWS[kind](seed=s)) for s in (1, 2))
    assert (first != second).any()


@for_each("kind", DRAWS)
def test_a_graph_seed_fixes_every_op_of_the_graph_each_with_a_sequence_of_its_own(kind: Any) -> None:
    def build() -> Any:
        with Graph().as_default():
            set_random_seed(42)
            return evaluate([DRAWS[kind](), DRAWS[kind]()])

    first, second = build(), build()
    np.testing.assert_array_equal(first, second)
    assert (first[0] != first[1]).any()


@for_each("kind", DRAWS)
def test_the_seed_of_a_graph_is_joined_by_the_place_of_the_op(kind: str) -> None:
    def build(before: int) -> Any:
        with Graph().as_default():
            set_random_seed(7)
            for _ in range(before):
                constant(0.0)
            return evaluate([DRAWS[kind]()], variables=Variables())[0]

    np.testing.assert_array_equal(build(0), build(0))
    assert (build(0) != build(1)).any()


def test_the_sequence_does_not_depend_on_whether_the_shape_is_known_early() -> None:
    def build(known: bool) -> Any:
        with Graph().as_default():
            dims = constant([4]) if known else source("int32", [1])
            drawn = truncated_normal(dims, seed=3)
            return evaluate([drawn], {} if known else {dims: [4]})[0]

    np.testing.assert_array_equal(build(True), build(False))


def test_the_seeds_follow_tensorflow() -> None:
    with Graph().as_default() as graph:
        assert get_seed(None) == (None, None)
        assert get_seed(5) == (87654321, 5)
        set_random_seed(7)
        assert get_seed(5) == (7, 5)
        assert get_seed(None) == (7, 0)
        constant(1.0)
        constant(2.0)
        assert get_seed(None) == (7, 2)
        set_random_seed(0)
        assert get_seed(0) == (0, 2**31 - 1)
        set_random_seed(None)
        assert graph.seed is None


def test_the_op_carries_its_seeds() -> None:
    free, seeded = random_uniform([2]), random_uniform([2], seed=9)
    set_random_seed(3)
    both = random_uniform([2], seed=9)

    def seeds(tensor: Tensor) -> tuple[int, int]:
        return tensor.op.get_attr("seed"), tensor.op.get_attr("seed2")

    assert [seeds(t) for t in (free, seeded, both)] == [(0, 0), (87654321, 9), (3, 9)]


def test_negative_seeds_are_seeds_as_well() -> None:
    first, second, other = (_drawn(lambda s=s: random_uniform([5], seed=s)) for s in (-1, -1, -2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_plain_draws_need_no_arithmetic() -> None:
    assert random_normal([2], name="a").op.type == "RandomStandardNormal"
    assert random_uniform([2], name="b").op.type == "RandomUniform"
    assert random_normal([2], 1.0, 2.0, name="c").op.name == "c"
    assert random_uniform([2], -1, 1, name="d").op.name == "d"


def test_draws_are_never_shared_or_folded() -> None:
    drawn = make_one("RandomUniform", [constant([2])])
    assert drawn.op.op_def.stateful
    assert drawn.op.op_def.static_value is None


def test_a_uniform_draw_stands_in_its_scope() -> None:
    assert random_uniform([2]).name == "random_uniform/RandomUniform:0"
