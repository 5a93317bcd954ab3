"""Random numbers that are a function of their seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, constant, gradients, random
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

DRAWS: dict[str, Any] = {
    "uniform": lambda seed, n=20: random.stateless_uniform([n], seed),
    "integers": lambda seed, n=20: random.stateless_uniform([n], seed, -5, 1000, "int64"),
    "all_integers": lambda seed, n=20: random.stateless_uniform([n], seed, None, None, "uint32"),
    "normal": lambda seed, n=20: random.stateless_normal([n], seed),
    "truncated": lambda seed, n=20: random.stateless_truncated_normal([n], seed),
    "multinomial": lambda seed, n=20: random.stateless_multinomial(np.zeros((2, 50)), n, seed),
    "gamma": lambda seed, n=20: random.stateless_gamma([n, 2], seed, [1.0, 2.0]),
    "poisson": lambda seed, n=20: random.stateless_poisson([n, 2], seed, [10.0, 20.0]),
}


def _drawn(make: Any) -> Any:
    with Graph().as_default():
        (found,) = evaluate([make()])
    return found


@for_each("kind", DRAWS)
def test_each_step_of_each_session_draws_the_same(kind: str) -> None:
    drawn = DRAWS[kind]([1, 2])
    runs = []
    for _ in range(2):
        with Session() as session:
            runs += [session.run(drawn) for _ in range(2)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])
    np.testing.assert_array_equal(_drawn(lambda: DRAWS[kind]([1, 2])), runs[0])


@for_each("kind", DRAWS)
@for_each("other", [[1, 3], [2, 2], [2, 1], [-1, 2], [0, 0], [2**40, 2]], ids=str)
def test_another_seed_draws_others(kind: str, other: Any) -> None:
    assert (_drawn(lambda: DRAWS[kind]([1, 2])) != _drawn(lambda: DRAWS[kind](other))).any()


def test_the_graph_seed_does_not_matter_and_the_type_of_the_seed_neither() -> None:
    def build(graph_seed: int | None, dtype: Any) -> Any:
        with Graph().as_default():
            random.set_random_seed(graph_seed)
            return evaluate([random.stateless_normal([5], constant([3, 4], dtype))])[0]

    np.testing.assert_array_equal(build(None, "int32"), build(9, "int64"))


def test_the_seed_may_be_computed() -> None:
    seed = source("int64", [2])
    drawn = random.stateless_uniform([4], seed)
    first, second, again = (evaluate([drawn], {seed: s})[0] for s in ([1, 2], [1, 3], [1, 2]))
    assert (first != second).any()
    np.testing.assert_array_equal(first, again)


FLOATS = ["float16", "bfloat16", "float32", "float64"]


@for_each("dtype", FLOATS)
def test_floating_numbers_have_their_moments(dtype: Any) -> None:
    uniform = _drawn(lambda: random.stateless_uniform([5000], [1, 2], -1, 3, dtype))
    normal = _drawn(lambda: random.stateless_normal([5000], [1, 2], 5.0, 2.0, dtype))
    cut = _drawn(lambda: random.stateless_truncated_normal([5000], [1, 2], dtype=dtype))
    for found, mean, deviation in [(uniform, 1, 4 / 12**0.5), (normal, 5, 2), (cut, 0, 0.8796)]:
        wide = found.astype(np.float64)
        assert found.dtype.name == dtype
        assert abs(wide.mean() - mean) < 0.12
        assert abs(wide.std() - deviation) < 0.1
    assert np.abs(cut.astype(np.float64)).max() <= 2
    assert uniform.astype(np.float64).min() >= -1
    assert uniform.astype(np.float64).max() <= 3


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_lie_between_their_ends(dtype: Any) -> None:
    found = _drawn(lambda: random.stateless_uniform([1000], [1, 2], -2, 3, dtype))
    assert found.dtype == np.dtype(dtype)
    assert sorted(set(found.tolist())) == [-2, -1, 0, 1, 2]


@for_each("dtype", ["int32", "int64", "uint32", "uint64"])
def test_without_ends_all_integers_may_come(dtype: Any) -> None:
    found = _drawn(lambda: random.stateless_uniform([2000], [1, 2], None, None, dtype))
    info = np.iinfo(dtype)
    part = (found.astype(np.float64) - info.min) / (float(info.max) - info.min)
    assert found.dtype == np.dtype(dtype)
    assert abs(part.mean() - 0.5) < 0.03
    assert part.min() < 0.01
    assert part.max() > 0.99


def test_classes_gamma_and_poisson_numbers_have_their_means() -> None:
    logits = np.log([[0.2, 0.8]])
    classes = _drawn(lambda: random.stateless_categorical(logits, 5000, [1, 2], "int32"))
    assert classes.dtype == np.int32
    assert abs(classes.mean() - 0.8) < 0.03
    gamma = _drawn(lambda: random.stateless_gamma([5000, 2], [1, 2], [1.0, 8.0], 2.0))
    np.testing.assert_allclose(gamma.mean(0), [0.5, 4.0], rtol=0.05)
    poisson = _drawn(lambda: random.stateless_poisson([5000, 2], [1, 2], [1.0, 30.0]))
    assert poisson.dtype == np.int32
    np.testing.assert_allclose(poisson.mean(0), [1.0, 30.0], rtol=0.06)


def test_static_shapes() -> None:
    dims = source("int32", [2])
    seed = constant([1, 2])
    assert random.stateless_normal([2, 3], seed).shape.as_list() == [2, 3]
    assert random.stateless_uniform(dims, seed).shape.rank == 2
    assert random.stateless_gamma([4, 2], seed, [1.0, 2.0]).shape.as_list() == [4, 2]
    assert random.stateless_multinomial([[0.0]], 3, seed).shape.as_list() == [1, 3]


def test_the_mean_and_the_deviation_have_gradients() -> None:
    mean, deviation = constant(1.0), constant(2.0)
    drawn = random.stateless_normal([3], [1, 2], mean, deviation)
    plain = random.stateless_normal([3], [1, 2])
    by_mean, by_deviation = gradients(drawn, [mean, deviation])
    found, slope, numbers = evaluate([by_mean, by_deviation, plain])
    assert found == 3
    np.testing.assert_allclose(slope, numbers.sum(), rtol=1e-6)


def test_the_shape_of_gamma_numbers_has_a_gradient() -> None:
    special = pytest.importorskip("scipy.special")
    alpha = constant([2.0, 5.0], "float64")
    drawn = random.stateless_gamma([1, 2], [1, 2], alpha, dtype="float64")
    [slope] = gradients(drawn, [alpha])
    sample, found = evaluate([drawn, slope])
    place = special.gammainc([2.0, 5.0], sample[0])
    above, below = (special.gammaincinv(np.array([2.0, 5.0]) + s, place) for s in (1e-4, -1e-4))
    np.testing.assert_allclose(found, (above - below) / 2e-4, rtol=1e-4)


def test_draws_that_can_never_work_are_refused() -> None:
    seed = constant([1, 2])
    with pytest.raises(ValueError, match="two integers, got shape"):
        random.stateless_uniform([2], [1, 2, 3])
    with pytest.raises(ValueError, match="two integers, got shape"):
        random.stateless_uniform([2], 5)
    with pytest.raises(TypeError, match="int32, int64 as seed; got float32"):
        random.stateless_uniform([2], [1.0, 2.0])
    with pytest.raises(ValueError, match="both ends or None"):
        random.stateless_uniform([2], seed, 0, None, "int32")
    with pytest.raises(ValueError, match="between ends, got uint64"):
        random.stateless_uniform([2], seed, 0, 4, "uint64")
    with pytest.raises(TypeError, match="uint32 or uint64, got int8"):
        random.stateless_uniform([2], seed, None, None, "int8")
    with pytest.raises(TypeError, match="floating type, got int32"):
        random.stateless_normal([2], seed, 0, 1, "int32")
    with pytest.raises(TypeError, match="got int8"):
        random.stateless_poisson([2], seed, 1.0, "int8")


def test_draws_that_do_not_work_fail_in_the_step() -> None:
    seed = source("int32", None)
    made = random.stateless_uniform([2], seed)
    with pytest.raises(InvalidArgumentError, match=r"two integers, got shape \[3\]"):
        evaluate([made], {seed: [1, 2, 3]})
    with pytest.raises(InvalidArgumentError, match="minval lies below maxval, got 5 and 5"):
        evaluate([random.stateless_uniform([2], [1, 2], 5, 5, "int32")])
    with pytest.raises(InvalidArgumentError, match="ends with that of the parameters"):
        evaluate([random.stateless_gamma([2, 2], [1, 2], [1.0, 2.0, 3.0])])
