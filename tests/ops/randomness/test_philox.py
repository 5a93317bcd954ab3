"""Numbers of Philox are those of TensorFlow 2.21, for the seed [1, 2]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.errors import InvalidArgumentError
from tests.ops.cases import run
from tests.rows import for_each, refused

RAW = tf.raw_ops
KEY = np.array([10413732777507651514], np.uint64)
COUNTER = np.array([0, 17830669156045600267], np.uint64)
# By distribution and type: six numbers of each.
FLOATS = {
    "StatelessRandomUniform": {
        "float32": [0.8440604, 0.1920453, 0.9962232, 0.1603874, 0.2719902, 0.649346],
        "float64": [0.75248375, 0.96978577, 0.17592234, 0.85555566, 0.51481187, 0.60774505],
        "float16": [0.54296875, 0.23535156, 0.06054688, 0.89355469, 0.14355469, 0.44238281],
        "bfloat16": [0.34375, 0.8828125, 0.484375, 0.1484375, 0.1484375, 0.5390625],
    },
    "StatelessRandomNormal": {
        "float32": [0.5441101, 0.2073803, 0.0735643, 0.0464346, -1.3015898, -0.9538565],
        "float64": [-0.14231181, 0.74060725, -1.46904767, 1.14774745, -0.72188139, -0.89821754],
        "float16": [0.5439453, 0.20739746, 0.07354736, 0.04644775, -1.3017578, -0.9536133],
        "bfloat16": [0.54296875, 0.20703125, 0.07373047, 0.04638672, -1.3046875, -0.953125],
    },
    "StatelessTruncatedNormal": {
        "float32": [0.5441101, 0.2073803, 0.0735643, 0.0464346, 0.1682059, -1.6850333],
        "float64": [-0.14231181, 0.74060725, -0.55238776, -0.73445009, -0.39842024, 0.1899654],
        "float16": [0.5439453, 0.20739746, 0.07354736, 0.04644775, 0.1682129, -1.6845703],
        "bfloat16": [0.54296875, 0.20703125, 0.07373047, 0.04638672, 0.16796875, -1.6875],
    },
}
WHOLE = {
    "int32": [1105988140, 1738052849, -335576002],
    "int64": [7464880146280614444, 1591045637757961278, -1057468755545501549],
    "uint32": [1105988140, 1738052849, 3959391294],
    "uint64": [7464880146280614444, 1591045637757961278, 17389275318164050067],
}
BETWEEN = {"int32": [7, -4, 7, 2, -4, 8], "int64": [-3, 7, 6, 4, -2, 1]}  # -5 and 9


def counted(name: str, shape: Any, algorithm: int = 1, **more: Any) -> Any:
    return getattr(RAW, f"{name}V2")(shape=shape, key=KEY, counter=COUNTER, alg=algorithm, **more)


def test_a_seed_is_scrambled_to_a_key_and_a_counter() -> None:
    found = run(
        [
            RAW.StatelessRandomGetKeyCounter(seed=[1, 2]),
            RAW.StatelessRandomGetAlg(),
            RAW.StatelessRandomGetKeyCounterAlg(seed=tf.constant([1, 2], tf.int64)),
        ]
    )
    (key, counter), algorithm, together = found
    assert (key.dtype, key.tolist(), counter.tolist()) == (np.uint64, KEY.tolist(), COUNTER.tolist())
    assert algorithm == 1
    assert [part.tolist() for part in together] == [KEY.tolist(), COUNTER.tolist(), 1]


@for_each("name", list(FLOATS))
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_floats_are_drawn_as_in_tensorflow(name: str, dtype: str) -> None:
    drawn = counted(name, [2, 3], dtype=dtype)
    assert (drawn.dtype.name, drawn.shape.as_list()) == (dtype, [2, 3])
    found = run(tf.cast(drawn, tf.float64))
    np.testing.assert_allclose(found.ravel(), FLOATS[name][dtype], 1e-5, 1e-6)


@for_each("dtype", list(WHOLE))
def test_integers_are_drawn_as_in_tensorflow(dtype: str) -> None:
    found = run(counted("StatelessRandomUniformFullInt", [3], 3, dtype=dtype))
    assert (found.dtype.name, found.tolist()) == (dtype, WHOLE[dtype])


@for_each("dtype", list(BETWEEN))
def test_integers_between_ends_are_drawn_as_in_tensorflow(dtype: str) -> None:
    ends: Any = {"minval": tf.constant(-5, dtype), "maxval": tf.constant(9, dtype)}
    found = run(counted("StatelessRandomUniformInt", [6], **ends))
    assert (found.dtype.name, found.tolist()) == (dtype, BETWEEN[dtype])
    with pytest.raises(InvalidArgumentError, match="Need minval < maxval, got 3 >= 3"):
        run(counted("StatelessRandomUniformInt", [6], minval=3, maxval=3))


def test_truncated_numbers_stay_within_two_deviations_and_keep_what_is_in_them() -> None:
    found = run(counted("StatelessTruncatedNormal", [5000]))
    assert np.abs(found).max() < 2
    assert abs(found.mean()) < 0.05
    assert run(counted("StatelessTruncatedNormal", [0])).shape == (0,)


def test_what_is_no_key_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="a key of one number and a counter of at least"):
        run(RAW.StatelessRandomUniformV2(shape=[1], key=COUNTER, counter=COUNTER, alg=1))
    refused(lambda: run(counted("StatelessRandomUniform", [1], 2)), InvalidArgumentError, "Unsupported algorithm id: 2")
    refused(lambda: RAW.StatelessRandomGetKeyCounter(seed=[1, 2, 3]), ValueError, "a seed is two integers")


def test_a_generator_in_a_variable_goes_on_as_in_tensorflow() -> None:
    with tf.Session() as sess:
        state = tf.get_variable("state", initializer=np.array([5, 6, 7]), use_resource=True)
        sess.run(state.initializer)
        given = {"resource": state.handle, "algorithm": np.int64(1), "shape": [5]}
        draws = [RAW.StatefulUniform(**given), RAW.StatefulStandardNormalV2(**given)]
        found = [(sess.run(draw).tolist(), sess.run(state).tolist()) for draw in draws]
    np.testing.assert_allclose(
        [numbers for numbers, _ in found],
        [
            [0.2127008, 0.869329, 0.6846399, 0.2620361, 0.0620955],
            [-1.7734191, -0.3465257, -1.6215771, 0.2766335, -1.1571602],
        ],
        1e-5,
    )
    assert [after for _, after in found] == [[1285, 6, 7], [2565, 6, 7]]
