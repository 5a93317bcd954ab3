"""First values of variables: shapes, types and distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import Session, Tensor, Variable, as_dtype, float32, float64, int32
from actorsession import initializers as i
from actorsession.ops.variables import variance_scaling
from tests.ops.interpreter import Variables, evaluate
from tests.ops.uses import each_use, equals, gives
from tests.rows import for_each, refused


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


@for_each("kind", ALL)
@for_each("shape", [(), (3,), (2, 3), (2, 0, 3)], ids=str)
def test_a_first_value_has_the_shape_asked_for_and_the_dtype_of_the_call(kind: Any, shape: Any) -> None:
    assert [kind()(shape).dtype, kind(dtype=float64)(shape).dtype] == [float32, float64]
    made = kind(dtype=float64)(shape, dtype=float32)
    assert (made.dtype, made.shape, np.shape(evaluate([made])[0])) == (float32, shape, shape)
    refused(lambda: kind()([None, *shape]), ValueError, "not fully defined")


@for_each(
    "initializer, mean, deviation, reach, within",
    [
        (i.random_uniform_initializer(-2.0, 4.0, seed=1), 1.0, 6 / np.sqrt(12), 3.0, 0.03),
        (i.random_normal_initializer(5.0, 0.5, seed=1), 5.0, 0.5, np.inf, 0.01),
        (i.truncated_normal_initializer(5.0, 0.5, seed=1), 5.0, 0.8796 * 0.5, 1.0 + 1e-6, 0.01),
    ],
)
def test_drawn_values_have_their_mean_deviation_and_bounds(
    initializer: Any, mean: float, deviation: float, reach: float, within: float
) -> None:
    found = drawn(initializer)
    assert np.abs(found - mean).max() <= reach
    np.testing.assert_allclose([found.mean(), found.std()], [mean, deviation], atol=within)


@for_each("distribution", ["truncated_normal", "untruncated_normal", "uniform", "normal"])
@for_each("mode, n", [("fan_in", 200), ("fan_out", 300), ("fan_avg", 250)])
def test_the_variance_is_scale_over_the_number_of_units(mode: str, n: int, distribution: str) -> None:
    found = drawn(i.variance_scaling_initializer(3.0, mode, distribution, seed=2))
    np.testing.assert_allclose([found.mean(), found.std()], [0, np.sqrt(3.0 / n)], atol=2e-3)


@for_each(
    "shape, fans",
    [((), (1, 1)), ((7,), (7, 7)), ((2, 3), (2, 3)), ((5, 4, 2, 3), (40, 60)), ((5, 4, 3, 2, 6), (120, 360))],
)
def test_windows_of_convolutions_multiply_the_channels(shape: Any, fans: Any) -> None:
    assert variance_scaling._fans(shape) == fans


@for_each(
    "kind, variance, limit",
    [
        (i.glorot_uniform_initializer, 2 / 500, np.sqrt(6 / 500)),
        (i.glorot_normal_initializer, 2 / 500, 2 * np.sqrt(2 / 500) / 0.8796),
        (i.he_uniform_initializer, 2 / 200, np.sqrt(6 / 200)),
        (i.he_normal_initializer, 2 / 200, 2 * np.sqrt(2 / 200) / 0.8796),
        (i.lecun_uniform_initializer, 1 / 200, np.sqrt(3.0 / 200)),
        (i.lecun_normal_initializer, 1 / 200, np.inf),
    ],
)
def test_named_initializers_have_their_variance_and_bounds(kind: Any, variance: float, limit: float) -> None:
    found = drawn(kind(seed=3))
    np.testing.assert_allclose(found.var(), variance, rtol=0.03)
    assert np.abs(found).max() <= limit * 1.001


def test_shorter_names_mean_the_same() -> None:
    names = [
        "zeros", "ones", "constant", "random_uniform", "random_normal", "truncated_normal",
        "identity", "orthogonal", "uniform_unit_scaling", "variance_scaling", "glorot_normal",
        "glorot_uniform",
        "he_normal", "he_uniform", "lecun_normal", "lecun_uniform",
    ]  # fmt: skip
    for name in names:
        assert getattr(i, name) is getattr(i, f"{name}_initializer")


def test_initialisers_of_variables_are_found_beside_them() -> None:
    w = Variable([1.0], name="w")
    for op in (i.global_variables(), i.variables([w])):
        state = Variables()
        evaluate([op], None, state)
        assert evaluate([w], None, state)[0].tolist() == [1.0]
    assert i.local_variables().type == "NoOp"


@for_each(
    "initializer, config",
    [
        (i.zeros(), {}),
        (i.constant(3), {"value": 3}),
        (i.random_uniform(1.0, 2.0), {"minval": 1.0, "maxval": 2.0, "seed": None}),
        (i.truncated_normal(seed=4), {"mean": 0.0, "stddev": 1.0, "seed": 4}),
        (i.glorot_uniform(), {"seed": None}),
        (i.identity(2.0), {"gain": 2.0}),
        (i.orthogonal(2.0, 3), {"gain": 2.0, "seed": 3}),
        (i.uniform_unit_scaling(), {"factor": 1.0, "seed": None}),
        (i.variance_scaling(), {"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal", "seed": None}),
    ],
)
def test_an_initialiser_tells_how_to_make_another_like_it(initializer: Any, config: Any) -> None:
    assert initializer.get_config() == {**config, "dtype": "float32"}
    again = type(initializer).from_config(initializer.get_config())
    assert again.get_config() == initializer.get_config()


@for_each("shape, inputs", [((200, 3), 200), ((10, 20, 5), 200), ((500,), 1), ((), 1)])
def test_unit_scaling_depends_on_all_axes_but_the_last(shape: Any, inputs: int) -> None:
    found = np.abs(drawn(i.uniform_unit_scaling_initializer(2.0, seed=1), shape))
    limit = 2.0 * np.sqrt(3.0 / inputs)
    assert found.max() <= limit
    assert found.size < 100 or found.max() > 0.95 * limit


def in_session(tensor: Tensor) -> Any:
    """What a session computes; the loop in it is beyond the tests' own evaluator."""
    with Session() as sess:
        return sess.run(tensor)


@for_each("shape", [(4, 3), (3, 4), (5, 5), (3, 2, 5), (2, 3, 4), (1, 1), (40, 60)])
@for_each("dtype, within", [("float16", 5e-3), ("float32", 1e-5), ("float64", 1e-12)])
def test_an_orthogonal_matrix_has_right_angles(shape: Any, dtype: str, within: float) -> None:
    made = i.orthogonal_initializer(2.0, seed=1, dtype=dtype)(shape)
    found = in_session(made)
    assert (found.shape, found.dtype) == (shape, dtype)
    flat = found.reshape(-1, shape[-1]).astype(np.float64) / 2.0
    angles = flat.T @ flat if flat.shape[0] > flat.shape[1] else flat @ flat.T
    np.testing.assert_allclose(angles, np.eye(len(angles)), atol=within)


def test_orthogonal_matrices_are_drawn_not_chosen() -> None:
    one, again, other = (in_session(i.orthogonal_initializer(seed=seed)((6, 6))) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.1


def _repeated() -> Any:
    made = i.random_normal_initializer(seed=7)([5])
    return bool((evaluate([made])[0] == evaluate([made])[0]).all())


REAL = [i.random_normal, i.variance_scaling, i.glorot_normal, i.identity, i.orthogonal, i.uniform_unit_scaling]
USES: list[Any] = [
    gives(lambda: i.zeros_initializer()([1, 2]), [[0, 0]]),
    gives(lambda: i.ones_initializer(int32)([2]), np.ones(2, np.int32)),
    gives(lambda: i.constant_initializer(2.5)([1, 2]), [[2.5, 2.5]]),
    gives(lambda: i.constant_initializer([1, 2, 3, 4])([2, 2]), [[1, 2], [3, 4]]),
    gives(lambda: i.constant_initializer([1, 2, 3])([2, 3]), [[1, 2, 3], [3, 3, 3]]),
    gives(lambda: i.identity_initializer(3.0)([2, 2]), [[3, 0], [0, 3]]),
    gives(lambda: i.identity_initializer(3.0)([1, 3]), [[3, 0, 0]]),
    gives(lambda: i.identity_initializer(3.0)([3, 1]), [[3], [0], [0]]),
    equals(_repeated, True),
    *[
        equals(lambda dtype=dtype: evaluate([i.glorot_uniform(dtype=dtype)((3, 4))])[0].dtype, as_dtype(dtype).np_dtype)
        for dtype in ("float16", "bfloat16", "float64")
    ],
    (lambda: i.constant_initializer([1.0, 2.0, 3.0])((2,)), ValueError, r"\[2\] takes at most 2, got 3"),
    (
        lambda: i.constant_initializer(1.0, verify_shape=True)([2]),
        TypeError,
        r"Expected Tensor's shape: \(2,\), but got \(\)",
    ),
    (lambda: i.variance_scaling_initializer(scale=0.0), ValueError, "scale"),
    (lambda: i.variance_scaling_initializer(mode="fan"), ValueError, "mode"),
    (lambda: i.variance_scaling_initializer(distribution="poisson"), ValueError, "distribution"),
    (lambda: i.identity_initializer()(()), ValueError, "rank 2"),
    (lambda: i.identity_initializer()((3,)), ValueError, "rank 2"),
    (lambda: i.identity_initializer()((2, 2, 2)), ValueError, "rank 2"),
    (lambda: i.orthogonal_initializer()((3,)), ValueError, "rank 2 or more"),
    *[(lambda kind=kind: kind(dtype=int32), ValueError, "floating types, got int32") for kind in REAL],
]


test_first_values_are_what_their_rows_say = each_use(USES)
