"""Random numbers: their distributions, shapes and refusals as rows, their seeds, and what flows back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import Graph, Session, constant, gradients, ops, random
from tests.ops.cases import f32, i32
from tests.ops.interpreter import Variables, evaluate, source
from tests.ops.uses import Use, back, dims, each_use, equals, fails, gives, nodes
from tests.rows import for_each

SEED = [1, 2]
ABOUT = 5000
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def _drawn(make: Callable[..., Any], session: Variables | None = None) -> Any:
    with Graph().as_default():
        (found,) = evaluate([make()], variables=session)
    return found


# -- distributions ---------------------------------------------------------------------------------


def draws(
    build: Callable[..., Any],
    dtype: Any = np.float32,
    mean: Any = None,
    deviation: Any = None,
    *,
    within: Any = None,
    reaches: Any = None,
    values: Any = None,
) -> Use:
    """Numbers are drawn in this type, with these moments and limits.

    Args:
        build: makes the draw.
        dtype: of the numbers.
        mean: the wanted one, a list of one for each column, and how far from it that of the numbers may be.
        deviation: the same of their deviation.
        within: the least and the largest number that may come.
        reaches: two numbers; some below the first come, and some above the second.
        values: all that come.
    """

    def differs() -> list[str]:
        found = _drawn(build)
        wide = found.astype(np.float64)
        least, largest = wide.min(), wide.max()
        holds = {
            "dtype": found.dtype == dtype,
            "mean": mean is None or _near(wide.mean, *mean),
            "deviation": deviation is None or _near(wide.std, *deviation),
            "within": within is None or within[0] <= least <= largest <= within[1],
            "reaches": reaches is None or (least < reaches[0] and largest > reaches[1]),
            "values": values is None or sorted(set(found.ravel().tolist())) == values,
        }
        return [what for what, held in holds.items() if not held]

    return equals(differs, [])


def _near(moment: Callable[..., Any], wanted: Any, tolerance: Any) -> bool:
    return bool((np.abs(moment(0 if np.ndim(wanted) else None) - np.asarray(wanted)) <= tolerance).all())


# The deviations of a normal distribution cut at two deviations, and of a uniform one of length 1.
CUT, FLAT = 0.8796, 12**-0.5
BELOW_1 = (0, float(np.nextafter(1, 0)))
CHANCES = np.array([[0.5, 0.0, 0.2, 0.3], [0.1, 0.7, 0.2, 0.0]])
UNIT = np.finfo(np.float32)
uniform, normal, truncated = random.random_uniform, random.random_normal, random.truncated_normal
by_seed, normal_by_seed, cut_by_seed = (
    random.stateless_uniform,
    random.stateless_normal,
    random.stateless_truncated_normal,
)
DISTRIBUTIONS = [
    *(
        row
        for t in FLOATS
        for row in (
            draws(lambda t=t: normal([200, 100], dtype=t, seed=1), t, (0, 0.03), (1, 0.03), reaches=(-3, 3)),
            draws(lambda t=t: truncated([200, 100], dtype=t, seed=1), t, (0, 0.03), (CUT, 0.02), within=(-2, 2)),
            draws(lambda t=t: uniform([200, 500], dtype=t, seed=1), t, (0.5, 0.01), (FLAT, 0.01), within=BELOW_1),
            draws(lambda t=t: by_seed([ABOUT], SEED, -1, 3, t), t, (1, 0.12), (4 * FLAT, 0.1), within=(-1, 3)),
            draws(lambda t=t: normal_by_seed([ABOUT], SEED, 5.0, 2.0, t), t, (5, 0.12), (2, 0.1)),
            draws(lambda t=t: cut_by_seed([ABOUT], SEED, dtype=t), t, (0, 0.12), (CUT, 0.1), within=(-2, 2)),
        )
    ),
    draws(lambda: normal([10_000], 5.0, 0.5, seed=1), np.float32, (5, 0.03), (0.5, 0.03)),
    draws(
        lambda: normal([1000, 2], [0.0, 100.0], [1.0, 0.0], seed=1),
        np.float32,
        ([0, 100], [0.2, 0]),
        ([1, 0], [0.1, 0]),
    ),
    draws(lambda: truncated([10_000], 5.0, 0.1, seed=1), within=(4.8, 5.2)),
    *(
        draws(
            lambda a=a, b=b: uniform([10_000], a, b, seed=1),
            within=(a, b),
            reaches=(a + (b - a) / 100, b - (b - a) / 100),
        )
        for a, b in ((-1, 1), (0, 10), (2.5, 3.5), (-3, -1))
    ),
    *(draws(lambda t=t: uniform([1000], -2, 3, t, seed=1), t, values=[-2, -1, 0, 1, 2]) for t in ("int32", "int64")),
    *(draws(lambda t=t: by_seed([1000], SEED, -2, 3, t), t, values=[-2, -1, 0, 1, 2]) for t in ("int32", "int64")),
    *(  # without ends all integers may come
        draws(
            lambda t=t, a=low, b=high: (ops.cast(by_seed([2000], SEED, None, None, t), "float64") - a) / (b - a),
            np.float64,
            mean=(0.5, 0.03),
            reaches=(0.01, 0.99),
        )
        for t in ("int32", "int64", "uint32", "uint64")
        for low, high in [(float(np.iinfo(t).min), float(np.iinfo(t).max))]
    ),
    *(
        row
        for m in (0.5, 4.0, 100.0)
        for t in ("float32", "float64", "int32", "int64")
        for f in [lambda m=m, t=t: random.poisson(m, [ABOUT], t, seed=1)]
        for row in (
            draws(f, t, (m, 5 * (m / ABOUT) ** 0.5), (m**0.5, 0.07 * m**0.5)),
            draws(lambda f=f: ops.mod(f(), 1), t, values=[0]),
        )
    ),
    draws(lambda: random.poisson([-1.0, 0.0], [4], seed=1), values=[0.0]),
    draws(lambda: random.poisson([1000.0], [4], seed=1), within=(500, 2000)),
    draws(lambda: random.stateless_poisson([ABOUT, 2], SEED, [1.0, 30.0]), np.int32, mean=([1, 30], [0.06, 1.8])),
    draws(lambda: random.stateless_gamma([ABOUT, 2], SEED, [1.0, 8.0], 2.0), mean=([0.5, 4], [0.025, 0.2])),
    draws(lambda: random.gamma([3], [0.0, 1e-5], seed=1), within=(UNIT.tiny, 1)),
    gives(lambda: random.gamma([3], [-1.0]), [[np.nan]] * 3),
    # Classes without a finite weight never come.
    draws(lambda: random.multinomial([[np.nan, 0.0, np.inf, -np.inf, 0.0]], 1000, seed=1), np.int64, values=[1, 4]),
    draws(lambda: random.stateless_categorical(np.log([[0.2, 0.8]]), ABOUT, SEED, "int32"), np.int32, mean=(0.8, 0.03)),
    *(draws(lambda t=t: random.categorical([[0.0]], 3, t), t, values=[0]) for t in ("int32", "int64")),
    *(draws(lambda t=t: random.multinomial([[0.0]], 3, output_dtype=t), t, values=[0]) for t in ("int32", "int64")),
    gives(lambda: random.shuffle(3), 3),
    gives(lambda: random.shuffle(np.zeros((0, 2))), np.zeros((0, 2))),
]


# -- shapes, names, refusals -----------------------------------------------------------------------

TWO = "two integers, got shape"
BELOW = "minval lies below maxval, got 5 and 5"
NEGATIVE = r"at least 0, got \[-1\]"


def _open_draw(x: Any) -> Any:
    return normal(ops.shape(x))


FACES = [
    equals(lambda: dims(_open_draw(source("float32", [None, 2]))), [None, 2]),
    gives(lambda x: [ops.shape(_open_draw(x)), ops.shape(uniform([]))], [i32([3, 2]), i32([])], f32([[0, 0]] * 3)),
    equals(lambda: nodes(lambda: normal([2], name="a")), {"a": "RandomStandardNormal"}),
    equals(lambda: uniform([2], name="b").op.type, "RandomUniform"),
    equals(lambda: normal([2], 1.0, 2.0, name="c").op.name, "c"),
    equals(lambda: uniform([2], -1, 1, name="d").op.name, "d"),
    equals(lambda: uniform([2]).name, "random_uniform/RandomUniform:0"),
    # Draws are never shared or folded.
    equals(lambda: [(d.stateful, d.static_value) for d in [uniform([2]).op.op_def]], [(True, None)]),
    equals(lambda: dims(random.multinomial(source("float32", [None, 4]), 3)), [None, 3]),
    equals(lambda: dims(random.multinomial(source("float32", [None, 4]), source("int32", []))), [None, None]),
    gives(lambda x, n: ops.shape(random.multinomial(x, n)), i32([2, 0]), np.zeros((2, 4)), i32(0)),
    equals(lambda: dims(random.gamma([2], [1.0, 2.0, 3.0], beta=[[1.0], [2.0]])), [2, 2, 3]),
    gives(lambda: ops.shape(random.gamma([2], [1.0, 2.0, 3.0], beta=[[1.0], [2.0]])), i32([2, 2, 3])),
    equals(lambda: dims(normal_by_seed([2, 3], SEED)), [2, 3]),
    equals(lambda: by_seed(source("int32", [2]), SEED).shape.rank, 2),
    equals(lambda: dims(random.stateless_gamma([4, 2], SEED, [1.0, 2.0])), [4, 2]),
    equals(lambda: dims(random.stateless_multinomial([[0.0]], 3, SEED)), [1, 3]),
    equals(lambda: random.uniform is uniform and random.normal is normal, True),
    (lambda: uniform([2], dtype="int32"), ValueError, "needs a maxval"),
    (lambda: normal([2], dtype="int32"), TypeError, "floating type, got int32"),
    (lambda: normal([1.5]), TypeError, "takes int32, int64; got float32"),
    (lambda: uniform([2], 0, 5, "int8"), ValueError, "int32 or int64, got dtype int8"),
    (lambda: random.multinomial([1.0, 2.0], 3), ValueError, "a matrix, got shape"),
    (lambda: random.multinomial([[1.0]], -2), ValueError, "at least 0, got -2"),
    (lambda: random.multinomial([[1]], 2), TypeError, "floating types as logits; got int32"),
    (lambda: random.multinomial([[1.0]], 2, output_dtype="float32"), TypeError, "int32 or int64, got float32"),
    (lambda: random.poisson(1.0, [1], "int8"), TypeError, "got int8"),
    (lambda: by_seed([2], [1, 2, 3]), ValueError, TWO),
    (lambda: by_seed([2], 5), ValueError, TWO),
    (lambda: by_seed([2], [1.0, 2.0]), TypeError, "int32, int64 as seed; got float32"),
    (lambda: by_seed([2], SEED, 0, None, "int32"), ValueError, "both ends or None"),
    (lambda: by_seed([2], SEED, 0, 4, "uint64"), ValueError, "between ends, got uint64"),
    (lambda: by_seed([2], SEED, None, None, "int8"), TypeError, "uint32 or uint64, got int8"),
    (lambda: normal_by_seed([2], SEED, 0, 1, "int32"), TypeError, "floating type, got int32"),
    (lambda: random.stateless_poisson([2], SEED, 1.0, "int8"), TypeError, "got int8"),
    fails(normal, NEGATIVE, i32([-1])),
    fails(lambda n: random.gamma(n, 1.0), NEGATIVE, i32([-1])),
    fails(lambda n: random.poisson(1.0, n), NEGATIVE, i32([-1])),
    fails(lambda: uniform([2], 5, 5, "int32"), BELOW),
    fails(random.multinomial, "logits are a matrix", f32([0, 0, 0]), i32(1)),
    fails(random.multinomial, "one class or more", np.zeros((2, 0)), i32(1)),
    fails(random.multinomial, "at least 0, got -1", np.zeros((2, 2)), i32(-1)),
    fails(random.multinomial, "a row without", np.full((1, 2), -np.inf), i32(1)),
    fails(lambda m: random.poisson(m, [1]), "below 2", f32(np.nan)),
    fails(lambda m: random.poisson(m, [1]), "below 2", f32(np.inf)),
    fails(lambda seed: by_seed([2], seed), r"two integers, got shape \[3\]", i32([1, 2, 3])),
    fails(lambda: by_seed([2], SEED, 5, 5, "int32"), BELOW),
    fails(lambda: random.stateless_gamma([2, 2], SEED, [1.0, 2.0, 3.0]), "ends with that of the parameters"),
]


# -- what flows back -------------------------------------------------------------------------------

BACK = [
    back(lambda mean: normal([3], mean), 3.0, f32(0)),
    back(lambda mean: normal([3]), None, f32(0)),
    back(random.shuffle, None, f32([1, 2])),
    (lambda: [gradients(random.poisson(m, [1]), [m]) for m in [constant(1.0)]], LookupError, "RandomPoissonV2"),
    back(lambda mean: normal_by_seed([3], SEED, mean, 2.0), 3.0, f32(1)),
    gives(
        lambda d: [gradients(normal_by_seed([3], SEED, 1.0, d), d)[0] - ops.reduce_sum(normal_by_seed([3], SEED))],
        [f32(0)],
        *(f32(2),),
        atol=1e-5,
    ),
]


test_draws_are_what_their_rows_say = each_use([*DISTRIBUTIONS, *FACES, *BACK])


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0, 20.0])
def test_the_gradient_by_the_shape_is_that_of_the_same_place_in_the_distribution(alpha: float, stateless: bool) -> None:
    special = pytest.importorskip("scipy.special")
    with Session() as session:
        shape, rate = constant([alpha] * 50, "float64"), constant(2.0, "float64")
        if stateless:
            sample = random.stateless_gamma([50], SEED, shape, rate, "float64")
        else:
            sample = random.gamma([], shape, rate, "float64", seed=2)
        drawn, found, by_rate = session.run([sample, *gradients(sample, [shape, rate])])
    place = special.gammainc(alpha, 2 * drawn)
    step = 1e-4 * alpha
    above, below = (special.gammaincinv(alpha + s, place) / 2 for s in (step, -step))
    np.testing.assert_allclose(found, (above - below) / (2 * step), 1e-4, 1e-7)
    np.testing.assert_allclose(by_rate, -(drawn / 2).sum())


def _farthest(sample: Any, cumulated: Any) -> float:
    """Kolmogorov's and Smirnov's distance between a sample and a distribution."""
    wanted = cumulated(np.sort(sample))
    steps = np.arange(len(sample) + 1) / len(sample)
    return float(max(np.abs(wanted - steps[:-1]).max(), np.abs(wanted - steps[1:]).max()))


def test_numbers_have_their_distributions() -> None:
    """A sample of n is farther than the limit from its own distribution once in ten thousand times."""
    special = pytest.importorskip("scipy.special")
    cases: list[tuple[Any, Any]] = [
        (lambda: uniform([ABOUT], dtype="float64", seed=5), lambda x: x),
        (lambda: normal([ABOUT], 1.0, 2.0, dtype="float64", seed=5), lambda x: special.ndtr((x - 1) / 2)),
    ]
    for alpha in (0.3, 1.0, 2.5, 40.0):
        made = lambda a=alpha: random.gamma([ABOUT], a, 2.0, "float64", seed=3)  # noqa: E731 - a case of the list
        cases.append((made, lambda x, a=alpha: special.gammainc(a, 2 * x)))
        assert abs(_drawn(made).mean() - alpha / 2) < 5 * (alpha**0.5 / 2) / ABOUT**0.5
    for make, cumulated in cases:
        assert _farthest(_drawn(make), cumulated) < 2.23 / ABOUT**0.5


def test_classes_come_as_often_as_their_weights_say() -> None:
    with np.errstate(divide="ignore"):
        logits = np.log(CHANCES) + np.array([[100.0], [-100.0]])
    found = _drawn(lambda: random.multinomial(logits, 20_000, seed=1))
    assert found.dtype == np.int64
    for row, wanted in zip(found, CHANCES, strict=True):
        counts = np.bincount(row, minlength=4) / 20_000
        np.testing.assert_allclose(counts, wanted, atol=0.015)
        assert (counts[wanted == 0] == 0).all()


def test_the_ends_of_uniform_numbers_may_be_tensors() -> None:
    low, high = source("float32", []), source("float32", [2])
    (x,) = evaluate([uniform([1000, 2], low, high)], {low: -1.0, high: [1.0, 5.0]})
    assert -1 <= x.min() < -0.9
    assert 0.9 < x[:, 0].max() <= 1
    assert 4.9 < x[:, 1].max() <= 5


def test_shuffled_rows_are_the_same_rows_and_every_order_is_as_likely() -> None:
    rows = np.arange(60).reshape(20, 3)
    found = _drawn(lambda: random.shuffle(rows, seed=1))
    np.testing.assert_array_equal(found[np.argsort(found[:, 0])], rows)
    assert (found != rows).any()
    assert sorted(_drawn(lambda: random.shuffle(["a", "b"])).tolist()) == [b"a", b"b"]
    with Session() as session:
        drawn = random.shuffle([0, 1, 2], seed=4)
        orders = [tuple(session.run(drawn).tolist()) for _ in range(1200)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert max(abs(count - 200) for count in counts) < 65


# -- seeds -----------------------------------------------------------------------------------------

DRAWS: dict[str, Any] = {
    "normal": lambda **k: normal([20], **k),
    "truncated": lambda **k: truncated([20], **k),
    "uniform": lambda **k: uniform([20], **k),
    "integers": lambda **k: uniform([20], 0, 1000, "int32", **k),
    "multinomial": lambda **k: random.multinomial(np.zeros((2, 50)), 10, **k),
    "gamma": lambda **k: random.gamma([20], 2.0, **k),
    "poisson": lambda **k: random.poisson(20.0, [20], **k),
    "shuffle": lambda **k: random.shuffle(np.arange(50), **k),
}
BY_SEED: dict[str, Any] = {
    "uniform": lambda seed: by_seed([20], seed),
    "integers": lambda seed: by_seed([20], seed, -5, 1000, "int64"),
    "all_integers": lambda seed: by_seed([20], seed, None, None, "uint32"),
    "normal": lambda seed: normal_by_seed([20], seed),
    "truncated": lambda seed: cut_by_seed([20], seed),
    "multinomial": lambda seed: random.stateless_multinomial(np.zeros((2, 50)), 20, seed),
    "gamma": lambda seed: random.stateless_gamma([20, 2], seed, [1.0, 2.0]),
    "poisson": lambda seed: random.stateless_poisson([20, 2], seed, [10.0, 20.0]),
}


@for_each("kind", DRAWS)
def test_each_step_draws_anew_and_a_seed_gives_each_session_the_same_sequence(kind: str) -> None:
    drawn, free = DRAWS[kind](seed=1), DRAWS[kind]()
    one, same = ([evaluate([drawn], variables=s)[0] for _ in range(3)] for s in (Variables(), Variables()))
    np.testing.assert_array_equal(one, same)
    assert (one[0] != one[1]).any()
    assert (one[0] != _drawn(lambda: DRAWS[kind](seed=2))).any()
    first, second = (evaluate([free], variables=Variables())[0] for _ in range(2))
    assert (first != second).any()
    twice, once = evaluate([free + free, free])  # two readers in one step agree
    np.testing.assert_array_equal(twice, once + once)


@for_each("kind", DRAWS)
def test_the_seed_of_a_graph_is_joined_by_the_place_of_the_op(kind: str) -> None:
    def build(before: int) -> Any:
        with Graph().as_default():
            random.set_random_seed(7)
            for _ in range(before):
                constant(0.0)
            return evaluate([DRAWS[kind](), DRAWS[kind]()], variables=Variables())

    first, second = build(0)
    np.testing.assert_array_equal([first, second], build(0))
    assert (first != second).any()
    assert (first != build(1)[0]).any()


@for_each("kind", BY_SEED)
def test_numbers_by_seed_are_the_same_in_each_step_and_each_session(kind: str) -> None:
    drawn = BY_SEED[kind](SEED)
    runs = []
    for _ in range(2):
        with Session() as session:
            runs += [session.run(drawn) for _ in range(2)]
    runs.append(_drawn(lambda: BY_SEED[kind](SEED)))
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])
    for other in ([1, 3], [2, 2], [2, 1], [-1, 2], [0, 0], [2**40, 2]):
        assert (_drawn(lambda other=other: BY_SEED[kind](other)) != runs[0]).any(), other


def test_numbers_by_seed_depend_on_no_seed_of_the_graph_and_on_no_type_of_their_own() -> None:
    def build(graph_seed: int | None, dtype: Any) -> Any:
        with Graph().as_default():
            random.set_random_seed(graph_seed)
            return evaluate([normal_by_seed([5], constant([3, 4], dtype))])[0]

    np.testing.assert_array_equal(build(None, "int32"), build(9, "int64"))
    seed = source("int64", [2])
    first, second, again = (evaluate([by_seed([4], seed)], {seed: s})[0] for s in ([1, 2], [1, 3], [1, 2]))
    assert (first != second).any()
    np.testing.assert_array_equal(first, again)


def test_the_sequence_does_not_depend_on_whether_the_shape_is_known_early() -> None:
    dims = source("int32", [1])
    known, hidden = _drawn(lambda: truncated([4], seed=3)), evaluate([truncated(dims, seed=3)], {dims: [4]})[0]
    np.testing.assert_array_equal(known, hidden)


def test_the_seeds_follow_tensorflow_and_the_op_carries_them(graph: Graph) -> None:
    def seeds(seed: int | None) -> tuple[int, int]:
        op = uniform([2], seed=seed).op
        return op.get_attr("seed"), op.get_attr("seed2")

    with Graph().as_default() as other:
        found = [random.get_seed(None), random.get_seed(5)]
        random.set_random_seed(7)
        found += [random.get_seed(5), random.get_seed(None)]
        constant(1.0)
        constant(2.0)
        found.append(random.get_seed(None))
        random.set_random_seed(0)
        found.append(random.get_seed(0))
        random.set_random_seed(None)
        assert other.seed is None
    assert found == [(None, None), (87654321, 5), (7, 5), (7, 0), (7, 2), (0, 2**31 - 1)]
    assert [seeds(None), seeds(9)] == [(0, 0), (87654321, 9)]
    random.set_random_seed(3)
    assert seeds(9) == (3, 9)


def test_negative_seeds_are_seeds_as_well() -> None:
    first, second, other = (_drawn(lambda s=s: uniform([5], seed=s)) for s in (-1, -1, -2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
