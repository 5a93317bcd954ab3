"""Arguments of TensorFlow 1 that the library lacks: older names of others, and what has no effect."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.compat.v1.ops.arguments import ROWS
from tests.rows import for_each

M = np.arange(6, dtype=np.float32).reshape(2, 3)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
FILTER = np.ones((2, 2, 1, 1), np.float32)
ONES, TWOS = [1, 1, 1, 1], [1, 2, 2, 1]
# The stubs of these have the arguments of the library.
math: Any = tf.math
losses: Any = tf.losses
image: Any = tf.image


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph


def value(fetch: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetch)


def sparse() -> Any:
    return tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])


# A call with older names, and the same call with the newer ones.
SAME: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "argmax": (lambda: tf.argmax(M, dimension=1), lambda: tf.argmax(M, axis=1)),
    "conv1d": (
        lambda: tf.nn.conv1d(IMAGE[0], FILTER[0], 1, "SAME", True),
        lambda: tf.nn.conv1d(input=IMAGE[0], filters=FILTER[0], stride=1, padding="SAME"),
    ),
    "conv2d": (
        lambda: tf.nn.conv2d(IMAGE, FILTER, ONES, "SAME", False, "NHWC"),
        lambda: tf.nn.conv2d(IMAGE, filters=FILTER, strides=ONES, padding="SAME"),
    ),
    "convert": (
        lambda: tf.convert_to_tensor(3, preferred_dtype=tf.float64),
        lambda: tf.convert_to_tensor(3, dtype_hint=tf.float64),
    ),
    "convolution": (
        lambda: tf.nn.convolution(IMAGE, FILTER, "VALID", dilation_rate=[2, 2]),
        lambda: tf.nn.convolution(IMAGE, FILTER, "VALID", dilations=[2, 2]),
    ),
    "count": (
        lambda: tf.count_nonzero(M, reduction_indices=0, keep_dims=True),
        lambda: tf.count_nonzero(input=M, axis=0, keepdims=True),
    ),
    "crop": (
        lambda: tf.image.crop_and_resize(IMAGE, [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]),
        lambda: tf.image.crop_and_resize(IMAGE, [[0.0, 0.0, 1.0, 1.0]], crop_size=[2, 2], box_indices=[0]),
    ),
    "entropy": (
        lambda: tf.nn.softmax_cross_entropy_with_logits_v2(M, M, dim=0),
        lambda: tf.nn.softmax_cross_entropy_with_logits_v2(M, M, 0),
    ),
    "expand_dims": (lambda: tf.expand_dims(M, dim=0), lambda: tf.expand_dims(M, 0)),
    "map_fn": (
        lambda: tf.map_fn(lambda x: tf.cast(x, tf.int32), M, tf.int32, 3),
        lambda: tf.map_fn(lambda x: tf.cast(x, tf.int32), M, fn_output_signature=tf.int32),
    ),
    "matmul": (
        lambda: tf.matmul(M, M, False, True, False, False, True, True),
        lambda: tf.matmul(M, M, transpose_b=True),
    ),
    "max_pool": (
        lambda: tf.nn.max_pool(IMAGE, TWOS, TWOS, "VALID"),
        lambda: tf.nn.max_pool(None, TWOS, TWOS, "VALID", input=IMAGE),
    ),
    "moments": (lambda: tf.nn.moments(M, [0], None, "m", True)[1], lambda: tf.nn.moments(M, [0], keepdims=True)[1]),
    "norm": (lambda: tf.norm(M, axis=0, keep_dims=True), lambda: tf.norm(M, axis=0, keepdims=True)),
    "patches": (
        lambda: image.extract_image_patches(IMAGE, TWOS, TWOS, ONES, "VALID"),
        lambda: tf.extract_image_patches(IMAGE, sizes=TWOS, strides=TWOS, rates=ONES, padding="VALID"),
    ),
    "reduce_join": (
        lambda: tf.reduce_join([["a", "b"]], 1, True),
        lambda: tf.reduce_join([["a", "b"]], reduction_indices=1, keepdims=True),
    ),
    "reduce_sum": (lambda: math.reduce_sum(M, reduction_indices=1, keep_dims=True), lambda: tf.reduce_sum(M, 1, True)),
    "reverse": (
        lambda: tf.reverse_sequence(M, [2, 1], seq_dim=1, batch_dim=0),
        lambda: tf.reverse_sequence(M, [2, 1], 1, 0),
    ),
    "softmax": (lambda: tf.nn.softmax(M, dim=0), lambda: tf.math.softmax(M, axis=0)),
    "sparse": (
        lambda: tf.sparse_reduce_sum(sparse(), reduction_axes=0, keep_dims=True),
        lambda: tf.sparse.reduce_sum(sparse(), 0, True),
    ),
    "split": (lambda: tf.string_split(["a,b"], delimiter=",").values, lambda: tf.string_split(["a,b"], ",").values),
    "squeeze": (lambda: tf.squeeze(M[None], squeeze_dims=[0]), lambda: tf.squeeze(M[None], 0)),
    "targets": (
        lambda: tf.nn.weighted_cross_entropy_with_logits(targets=M, logits=M, pos_weight=2.0),
        lambda: tf.nn.weighted_cross_entropy_with_logits(M, M, 2.0),
    ),
    "to_number": (lambda: tf.string_to_number(["1"]), lambda: tf.strings.to_number(input=["1"])),
}


@for_each("name", SAME)
def test_an_older_name_does_what_the_newer_one_does(name: str) -> None:
    older, newer = SAME[name]
    first, second = value((older(), newer()))
    np.testing.assert_array_equal(first, second)


# As in TensorFlow: an argument was given under both its names, or is missing.
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: tf.reduce_sum(M, 0, reduction_indices=1),
        ValueError,
        "Cannot specify both 'reduction_indices' and 'axis'",
    ),
    (lambda: tf.norm(M, keepdims=True, keep_dims=True), ValueError, "Cannot specify both 'keep_dims' and 'keepdims'"),
    (lambda: tf.expand_dims(M, axis=0, dim=0), ValueError, "both 'dim' and 'axis'"),
    (lambda: tf.nn.conv2d(IMAGE, FILTER, ONES, "SAME", filters=FILTER), ValueError, "both 'filter' and 'filters'"),
    (lambda: tf.nn.dropout(M, 0.5, rate=0.5), ValueError, "both 'keep_prob' and 'rate'"),
    (lambda: losses.cosine_distance(M, M, 0, dim=0), ValueError, "both 'dim' and 'axis'"),
    (lambda: losses.cosine_distance(M, M), ValueError, "You must specify 'axis'"),
    (
        lambda: tf.cond(tf.constant(True), lambda: 1, lambda: 2, fn1=lambda: 3),
        TypeError,
        r"cond\(\): 'true_fn' and 'fn1' may not be set simultaneously",
    ),
    (lambda: tf.cond(tf.constant(True), lambda: 1), TypeError, "'false_fn' must be callable"),
    (
        lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=0),
        TypeError,
        "'parallel_iterations' must be a positive integer",
    ),
    (lambda: tf.extract_image_patches(IMAGE, TWOS, sizes=TWOS), ValueError, "both 'ksizes' and"),
    (lambda: tf.extract_image_patches(IMAGE, TWOS), TypeError, "needs ksizes, strides"),
    (lambda: tf.reverse_sequence(M, [1, 2]), TypeError, "NoneType"),
    (lambda: tf.reduce_sum(M, no_such=1), TypeError, "unexpected keyword argument 'no_such'"),
]


@for_each("build, error, words", REFUSED)
def test_what_contradicts_itself_is_refused(build: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        build()


def test_a_kept_share_is_one_less_the_rate() -> None:
    kept = value(tf.nn.dropout(tf.ones([1000]), 0.75, seed=1))
    assert set(kept.tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert value(tf.nn.dropout(tf.ones([2]), 1.0)).tolist() == [1, 1]


def functions(module: Any, seen: set[int]) -> Iterator[Any]:
    for name in module.__all__:
        found = getattr(module, name, None)
        if isinstance(found, ModuleType) and found.__name__.startswith("actorsession.compat.v1"):
            if id(found) not in seen and hasattr(found, "__all__"):
                seen.add(id(found))
                yield from functions(found, seen)
        elif isinstance(found, FunctionType):
            yield found


def test_each_row_is_of_a_function_and_the_library_has_none_of_its_older_names() -> None:
    made = {f.__name__: f for f in functions(tf, set()) if hasattr(f, "__signature__")}
    # ``While`` and ``For`` are names of a module of ``tensorflow.python`` alone.
    assert set(ROWS) - set(made) == {"For", "While"}
    for name in set(ROWS) & set(made):
        words = [word for word in ROWS[name].split() if word[0] == "-" or ">" in word]
        older = {word.partition(">")[0].partition("=")[0].lstrip("-") for word in words}
        assert not older & set(inspect.signature(made[name].__wrapped__).parameters), name


def test_modules_of_the_face_are_their_own_and_hold_the_library_s_names() -> None:
    assert math is not acts.math
    assert set(math.__all__) == set(acts.math.__all__)
    assert math.exp is acts.exp
    assert math.reduce_sum is tf.reduce_sum
    with pytest.raises(AttributeError, match="no_such"):
        _ = math.no_such


@for_each("wanted", [0, "2", None, 2.5])
def test_iterations_at_a_time_are_counted_although_they_have_no_effect(wanted: Any) -> None:
    with pytest.raises(TypeError, match=r"'parallel_iterations' must be a positive integer"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=wanted)
