"""Values that are known while the graph is built, and what is known early of shapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import Graph, constant, get_static_value, ops
from actorsession.graph import constant_value
from actorsession.graph.constant_value import _PASS_ON, MOST_ELEMENTS
from actorsession.interop import graph_def_of
from tests.graph.kit import copy, join, leaf, value
from tests.ops.interpreter import evaluate
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


def test_a_constant_is_known_and_a_placeholder_is_not() -> None:
    graph = Graph()
    known = constant_value(value(graph, [1, 2]))
    assert known is not None
    assert known.tolist() == [1, 2]
    assert constant_value(leaf(graph)) is None
    graph = Graph()
    a, b = value(graph, 2), value(graph, 3)
    total = graph.create_op("KitSum", [copy(graph, a), b, b]).outputs[0]
    assert constant_value(total) == 8
    assert constant_value(join(graph, a, b)) is None, "KitJoin does not say how"
    assert constant_value(graph.create_op("KitSum", [a, leaf(graph)]).outputs[0]) is None
    # Shape functions see the values of their inputs.
    graph = Graph()
    assert graph.create_op("KitSized", [copy(graph, value(graph, np.array([2, 3])))]).outputs[0].shape == [2, 3]
    assert graph.create_op("KitSized", [leaf(graph)]).outputs[0].shape.rank is None
    graph = Graph()
    total = graph.create_op("KitSum", [value(graph, 1)]).outputs[0]
    first = constant_value(total)
    leaf(graph, shape=[None]).set_shape([3])
    assert constant_value(total) is first


def test_a_shape_refined_later_makes_more_known() -> None:
    graph = Graph()
    source = leaf(graph, shape=[None])
    extent = graph.create_op("KitExtent", [source]).outputs[0]
    through = copy(graph, extent)
    assert constant_value(through) is None
    source.set_shape([5])
    assert constant_value(through) == 5
    assert constant_value(extent) == 5


def test_a_chain_of_any_length_is_followed() -> None:
    """Longer than Python lets functions call each other, known or not."""
    graph = Graph()
    known, unknown = value(graph, 7), leaf(graph, shape=[None])
    refined = unknown
    for _ in range(3000):
        known, unknown = copy(graph, known), copy(graph, unknown)
    assert constant_value(known) == 7
    assert constant_value(unknown) is None
    refined.set_shape([2])  # all that was not known may be known now, so it is asked again
    assert constant_value(unknown) is None


def test_a_value_that_is_used_twice_everywhere_is_computed_once() -> None:
    """Without remembering, fifty doublings would take a quadrillion evaluations."""
    graph = Graph()
    total = value(graph, 1)
    begin = time.perf_counter()
    for _ in range(50):
        total = graph.create_op("KitSum", [total, total]).outputs[0]
    assert constant_value(total) == 2**50
    assert time.perf_counter() - begin < 5


def test_fills_and_casts_of_what_is_known_are_known() -> None:
    with Graph().as_default():
        assert get_static_value(ops.fill([2], 5)).tolist() == [5, 5]
        assert get_static_value(ops.fill([], 5)).tolist() == 5
        assert get_static_value(ops.cast(constant(3), "float32")) == np.float32(3)
        assert get_static_value(ops.cast(constant([1.5, 2.0]), "float64")).tolist() == [1.5, 2.0]
        assert get_static_value(ops.cast(constant([0, 2]), "bool")).tolist() == [False, True]
        assert get_static_value(ops.fill(ops.placeholder("int32", [1]), 5)) is None
    # A large fill is left to the step.
    with Graph().as_default():
        assert get_static_value(ops.fill([1 << 20, 1 << 20], 1)) is None
    # What only the step says is not known early.
    with Graph().as_default():
        assert get_static_value(ops.cast(constant([float("nan")]), "int32")) is None
        assert get_static_value(ops.cast(constant(1.7), "int32")) is None


def kept(graph: Graph) -> int:
    """The elements of the values that were computed and are remembered."""
    made = [t for op in graph.get_operations() if op.type not in _PASS_ON for t in op.outputs]
    values = [t._constant[1] for t in made if t._constant is not None]
    return sum(value.size for value in values if value is not None)


@pytest.mark.parametrize("double", ["concat", "stack", "strings"])
def test_values_that_double_are_computed_while_they_are_small(graph: tf.Graph, double: str) -> None:
    """Thirty-two times four bytes and more would be 32 GiB, for which there is no memory."""
    x = constant([b"text", b"more"]) if double == "strings" else constant([1.0, 2.0])
    for _ in range(32):
        x = ops.stack([x, x]) if double == "stack" else ops.concat([x, x], 0)
        ops.shape(x + x if double != "strings" else x)
    assert constant_value(x) is None
    assert x.shape.num_elements() == 2**33
    assert kept(graph) < 2 * MOST_ELEMENTS + 100


@for_each(
    "build",
    [
        lambda large: ops.cast(large, "float64"),
        lambda large: ops.reshape(large, [2, -1]),
        lambda large: ops.stack([large, large]),
        lambda large: large[::2],
        lambda large: ops.fill([MOST_ELEMENTS + 1], 1),
        lambda large: ops.range(MOST_ELEMENTS + 1),
        lambda large: ops.range(1 << 60),
    ],
    ids=["cast", "reshape", "stack", "slice", "fill", "range", "enormous range"],
)
def test_a_value_that_is_large_is_not_computed(build: Any) -> None:
    with Graph().as_default() as graph:
        assert get_static_value(build(constant(np.arange(3 * MOST_ELEMENTS)))) is None
        assert kept(graph) <= 10


def test_what_was_given_whole_is_known_at_any_size_and_is_no_copy() -> None:
    given = np.arange(3 * MOST_ELEMENTS)
    whole = constant(given)
    found = get_static_value(ops.stop_gradient(ops.identity(whole)))
    assert found.size == given.size
    assert np.shares_memory(found, whole.op.attrs["value"])
    assert get_static_value(whole[5:8]).tolist() == [5, 6, 7]
    assert get_static_value(ops.shape(whole)).tolist() == [given.size]


def test_a_value_that_turns_out_to_be_large_later_is_not_computed() -> None:
    x = ops.placeholder("float32", [None])
    numbers = ops.range(ops.shape(x)[0])
    assert get_static_value(numbers) is None
    x.set_shape([MOST_ELEMENTS + 1])
    assert get_static_value(numbers) is None
    y = ops.placeholder("float32", [None])
    few = ops.range(ops.shape(y)[0])
    y.set_shape([MOST_ELEMENTS])
    assert len(get_static_value(few)) == MOST_ELEMENTS


def test_a_stack_that_is_known_in_part_is_bounded_too() -> None:
    x = ops.stack([ops.placeholder("int32", []), constant(1)])
    for _ in range(40):
        x = ops.stack([x, x])
    assert get_static_value(x, partial=True) is None


Case = Callable[[Any, Any], Any]


SHAPES: dict[str, tuple[Case, list[int | None]]] = {
    "product": (lambda x, s: tf.reshape(x, [-1, s[1] * s[2]]), [None, 12]),
    "sum": (lambda _, s: tf.zeros([s[0], s[1] + 1]), [None, 5]),
    "difference": (lambda _, s: tf.zeros([s[0], s[1] - 1]), [None, 3]),
    "quotient": (lambda _, s: tf.zeros([s[0], s[1] // 2]), [None, 2]),
    "remainder": (lambda _, s: tf.zeros([s[0], s[1] % 3]), [None, 1]),
    "larger": (lambda _, s: tf.zeros([s[0], tf.maximum(s[1], 9)]), [None, 9]),
    "smaller": (lambda _, s: tf.zeros([s[0], tf.minimum(s[1], 2)]), [None, 2]),
    "negative": (lambda _, s: tf.zeros([s[0], -(3 - s[1] * 2) - 1]), [None, 4]),
    "unstacked": (lambda _, s: tf.zeros(tf.stack([tf.unstack(s)[2] * 2])), [6]),
    "by-floats": (lambda _, s: tf.zeros([s[0], tf.cast(tf.cast(s[1], "float32") * 1.5, "int32")]), [None, 6]),
    "of-long": (lambda _, s: tf.zeros(tf.stack([tf.cast(s[1], "int64") * 2])), [8]),
    "over-zero": (lambda _, s: tf.zeros([s[1] // (s[2] - 3), 2]), [None, 2]),
    "unknown-times": (lambda _, s: tf.zeros([s[0] * s[1], 2]), [None, 2]),
    "tile": (lambda x, s: tf.tile(x, [1, s[0], 2]), [None, None, 6]),
    "slice": (lambda x, s: tf.slice(x, [0, s[0], 1], [s[0], 2, -1]), [None, 2, 2]),
    "pad": (lambda x, s: tf.pad(x, [[0, s[0]], [1, 1], [0, 2]]), [None, 6, 5]),
    "mirror": (lambda x, s: tf.pad(x, [[0, 0], [s[0], 0], [1, 1]], "REFLECT"), [None, None, 5]),
    "scatter": (lambda _, s: tf.scatter_nd([[0]], np.zeros([1, 3]), [s[0], 3]), [None, 3]),
    "resize": (lambda x, s: tf.image.resize_images(tf.reshape(x, [-1, 2, 2, 3]), [2 * s[1], s[0]]), [None, 8, None, 3]),
}


# Sizes computed of constants, of which TensorFlow's shape functions know as much, and of numbers of the step.
COMPUTED: dict[str, tuple[Callable[[], Any], list[int | None]]] = {
    "sum of constants": (lambda: tf.reshape(images(24), tf.stack([two() + 2, 6])), [4, 6]),
    "placeholder": (lambda: tf.reshape(images(None, 6), [number() * 2, 3, 10]), [None, 3, 10]),
    "only unknown": (lambda: tf.reshape(images(12), [number(), 3]), [4, 3]),
    "product of a shape": (lambda: tf.reshape(images(24), [-1, tf.reduce_prod(tf.shape(images(3, 4))[1:])]), [6, 4]),
    "largest": (lambda: tf.zeros([tf.reduce_max([3, two(), 5]), number()]), [5, None]),
    "mean": (lambda: tf.zeros(tf.cast(tf.reduce_mean([[2.0, 4.0]], 0), tf.int32)), [2, 4]),
    "gather": (lambda: tf.zeros(tf.gather([4, 5, two()], [2, 0])), [2, 4]),
    "squeeze": (lambda: tf.zeros(tf.squeeze([[two() + 1]], 0)), [3]),
    "power": (lambda: tf.zeros([tf.pow(two(), 5)]), [32]),
    "cast": (lambda: tf.zeros([tf.cast(tf.constant(3.7), tf.int32)]), [3]),
    "ceiling": (lambda: tf.zeros([tf.to_int32(tf.ceil(tf.to_float(two()) / 1.5))]), [2]),
    "choice": (lambda: tf.zeros([tf.where(tf.greater(two(), 1), 4, number())]), [4]),
    "cumulative": (lambda: tf.zeros(tf.cumsum([1, two()])), [1, 3]),
    "reversed": (lambda: tf.zeros(tf.reverse([two(), 3], [0])), [3, 2]),
    "range": (lambda: tf.range(1, two() * 5, two()), [5]),
    "one hot": (lambda: tf.one_hot(tf.placeholder(tf.int32, [None]), two() + 3), [None, 5]),
    "linspace": (lambda: tf.linspace(0.0, 1.0, two() + 3), [5]),
    "top k": (lambda: tf.nn.top_k(images(None, 9), two() + 1)[0], [None, 3]),
    "sequence mask": (lambda: tf.sequence_mask([1, 3], tf.reduce_max([1, 3])), [2, 3]),
    "pad": (lambda: tf.pad(images(3, 4), [[two(), 0], [number(), 0]]), [5, None]),
    "tile": (lambda: tf.tile(images(2, 3), [two() * 2, number()]), [8, None]),
    "slice": (lambda: tf.slice(images(10, 4), [two(), 0], [-1, two() * 1]), [8, 2]),
    "strided": (lambda: images(10, 4)[two() : two() * 4, : number()], [6, None]),
    "order of axes": (lambda: tf.transpose(images(3, None, 5), tf.invert_permutation([2, 0, 1])), [None, 5, 3]),
    "other axes": (
        lambda: tf.transpose(images(3, None, 5), tf.concat([[1], tf.setdiff1d(tf.range(3), [1])[0]], 0)),
        [None, 3, 5],
    ),
    "no axes": (lambda: tf.reduce_sum(images(3, None), tf.setdiff1d(tf.range(two()), [0, 1])[0]), [3, None]),
    "stitched": (lambda: tf.zeros(tf.dynamic_stitch([tf.range(two()), [1]], [[3, 7], [two()]])), [3, 2]),
    "axes of a broadcast": (
        lambda: tf.reduce_sum(images(3, 4, 5), tf.raw_ops.BroadcastGradientArgs(s0=[4, 1], s1=[3, 4, two()])[0]),
        [4],
    ),
    "broadcast": (lambda: tf.broadcast_to(images(3, 1), [number(), number(), 4]), [None, 3, 4]),
    "random": (lambda: tf.random_normal([two() + 3, number()]), [5, None]),
    "resize": (
        lambda: tf.image.resize_nearest_neighbor(images(None, 9, 9, 3), [two() * 5, number()]),
        [None, 10, None, 3],
    ),
    "transposed convolution": (
        lambda: tf.nn.conv2d_transpose(
            images(None, 5, 5, 4), images(3, 3, 8, 4), [number(), two() * 5, 10, 8], [1, 2, 2, 1]
        ),
        [None, 10, 10, 8],
    ),
    "axis": (lambda: tf.reduce_sum(images(2, 3, 4), axis=two() - 1), [2, 4]),
    "order": (lambda: tf.transpose(images(2, 3, 4), tf.range(3)[::-1]), [4, 3, 2]),
    "pieces": (lambda: tf.split(images(2, 6), [two(), 4], 1)[0], [2, 2]),
    "blocks": (lambda: tf.space_to_batch_nd(images(1, 4, 6, 1), [two(), 3], tf.zeros([2, 2], tf.int32)), [6, 2, 2, 1]),
}


def images(*dims: int | None) -> Any:
    return tf.placeholder(tf.float32, dims)


def number() -> Any:
    return tf.placeholder(tf.int32, [])


def two() -> Any:
    return tf.constant(1) + tf.constant(1)


@for_each("case", COMPUTED)
def test_sizes_are_computed_while_the_graph_is_built_and_after_an_import(case: str) -> None:
    build, expected = COMPUTED[case]
    with Graph().as_default() as graph:
        made = build()
        assert made.shape.as_list() == expected
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def_of(graph), name="")
        assert tf.get_default_graph().get_tensor_by_name(made.name).shape.as_list() == expected


def test_numbers_that_their_type_does_not_hold_are_not_known() -> None:
    with Graph().as_default():
        many = tf.constant(2**20) * tf.constant(2**20)
        assert tf.zeros([many // many, 2]).shape.as_list() == [None, 2]
        long = tf.constant(2**20, tf.int64) * tf.constant(2**20, tf.int64)
        assert tf.zeros([long // long, 2]).shape.as_list() == [1, 2]
    # What a size was computed of can be fed.
    with Graph().as_default() as graph:
        size = two()
        assert tf.zeros([size]).shape.as_list() == [2]
        assert graph.is_feedable(size)


@for_each("case", SHAPES)
def test_a_shape_is_known_as_far_as_its_parts_are(case: str) -> None:
    build, expected = SHAPES[case]
    with Graph().as_default():
        x = tf.placeholder("float32", [None, 4, 3])
        assert build(x, tf.shape(x)).shape.as_list() == expected


def test_a_sum_of_sums_takes_no_time_for_ever() -> None:
    """Each sum has the one before twice: followed to the end there would be 2 ** 60 ways."""
    x = tf.placeholder("float32", [None, 1])
    size = tf.shape(x)[1]
    for _ in range(60):
        size = tf.minimum(size + size, 1)
    made = tf.zeros([size])
    assert made.shape.as_list() == [None]
    (zeros,) = evaluate([made], {x: np.zeros([2, 1], np.float32)})
    assert zeros.shape == (1,)


def test_plain_margins_may_still_be_fed(graph: tf.Graph) -> None:
    x = tf.placeholder("float32", [None])
    padded = tf.pad(x, [[1, 2]])
    margins = padded.op.inputs[1]
    assert padded.shape.as_list() == [None]
    assert graph.is_feedable(margins)
    assert tf.pad(x, margins).shape.as_list() == [None]
    assert not graph.is_feedable(margins)


@for_each(
    "branch, static, result",
    [
        (lambda x, size, more: tf.pad(x, [[0, 0], [0, size - more], [0, 0]]), (2, None, 3), None),
        (lambda x, size, more: tf.reshape(x, [more, size]), (None, None), None),
        (lambda x, size, more: tf.slice(x, [0, 0, 0], [2, size + more, 3]), (2, None, 3), None),
        (lambda x, size, more: tf.pad(x, [[0, 0], [0, more - size], [0, 0]]), (2, 6, 3), (2, 6, 3)),
        (lambda x, size, more: x[:, :size], (2, 4, 3), (2, 4, 3)),
    ],
    ids=["pad", "reshape", "slice", "pad that fits", "slice that fits"],
)
def test_a_branch_that_does_not_run_may_compute_sizes_that_do_not_fit(branch: Any, static: Any, result: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, size = tf.ones([2, 5, 3]), tf.constant(4)
        more, chosen = tf.shape(x)[1], tf.placeholder("bool", [])
        found = []

        def taken() -> Any:
            found.append(branch(x, size, more))
            return tf.shape(found[0])

        shape = tf.cond(chosen, taken, lambda: tf.shape(x)[: len(static)])
        assert tuple(found[0].shape.as_list()) == static
        assert tuple(session.run(shape, {chosen: False})) == (2, 5, 3)[: len(static)]
        if result is not None:
            assert tuple(session.run(shape, {chosen: True})) == result


def test_what_a_branch_has_of_its_own_has_to_fit() -> None:
    x, chosen = tf.ones([2, 5, 3]), tf.placeholder("bool", [])
    with pytest.raises(ValueError, match="paddings are at least 0"):
        tf.cond(chosen, lambda: tf.pad(x, [[0, 0], [0, -1], [0, 0]]), lambda: x)
