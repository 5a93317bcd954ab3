"""What the steps of pipelines make of elements, beyond the recorded programs; the values are TensorFlow's."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.opsets.datasets.taking import END, Dataset, elements
from tests.rows import for_each, refused, refusing

E = tf.data.experimental
Pair = collections.namedtuple("Pair", "first second")


def upto(number: Any) -> Any:
    """A vector as long as its elements say."""
    return tf.fill([number], number)


def rising(count: int) -> Any:
    return Dataset.range(1, count + 1).map(upto)


SIMPLE: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "range with a step": (lambda: Dataset.range(5, 0, -2), [5, 3, 1]),
    "a tuple": (lambda: Dataset.from_tensor_slices(([1, 2], ["a", "b"])), [(1, b"a"), (2, b"b")]),
    "a dictionary": (lambda: Dataset.from_tensor_slices({"x": [1, 2]}), [{"x": 1}, {"x": 2}]),
    "a named tuple through a function": (
        lambda: Dataset.from_tensors(Pair(1, 2)).map(lambda p: Pair(p.second, p.first)),
        [Pair(2, 1)],
    ),
    "a subclass makes datasets of the base class": (
        lambda: tf.data.TextLineDataset.zip((tf.data.TextLineDataset.range(2), Dataset.range(2))),
        [(0, 0), (1, 1)],
    ),
    "a dataset behind the name of an argument": (
        lambda: Dataset.range(1).concatenate(dataset=Dataset.range(2)),
        [0, 0, 1],
    ),
    "groups that are reduced": (
        lambda: Dataset.range(5).apply(
            E.group_by_reducer(
                lambda x: x % 2, E.Reducer(lambda key: [key, 0], lambda s, x: (s[0], s[1] + 1), lambda *s: s)
            )
        ),
        [(0, 3), (1, 2)],
    ),
    "a list from a function": (lambda: Dataset.range(2).map(lambda x: [x, -x]), [(0, 0), (1, -1)]),
    "several at a time": (
        lambda: Dataset.range(9).map(lambda x: x * x, num_parallel_calls=3),
        [x * x for x in range(9)],
    ),
    "filter": (lambda: Dataset.range(6).filter(lambda x: tf.equal(x % 2, 0)), [0, 2, 4]),
    "batch": (lambda: Dataset.range(5).batch(2), [[0, 1], [2, 3], [4]]),
    "batch without the rest": (lambda: Dataset.range(5).batch(2, True), [[0, 1], [2, 3]]),
    "padded batch": (lambda: rising(4).padded_batch(2, [None]), [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]),
    "padded batch of two components": (
        lambda: rising(2).map(lambda x: (x, tf.as_string(x[0]))).padded_batch(2, ([3], []), (np.int64(-1), "")),
        [([[1, -1, -1], [2, 2, -1]], [b"1", b"2"])],
    ),
    "flat map": (lambda: Dataset.range(4).flat_map(Dataset.range), [0, 0, 1, 0, 1, 2]),
    "interleave": (
        lambda: Dataset.range(1, 5).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2),
        [1, 1, 2, 2, 1, 2, 3, 3, 4, 4, 3, 4],
    ),
    "interleave with threads": (
        lambda: Dataset.range(1, 4).apply(E.parallel_interleave(lambda x: Dataset.from_tensors(x).repeat(x), 3)),
        [1, 2, 3, 2, 3, 3],
    ),
    "take": (lambda: Dataset.range(5).take(2), [0, 1]),
    "skip": (lambda: Dataset.range(5).skip(3), [3, 4]),
    "skip all": (lambda: Dataset.range(5).skip(-1), []),
    "repeat": (lambda: Dataset.range(2).repeat(2), [0, 1, 0, 1]),
    "nothing without end": (lambda: Dataset.range(0).repeat(), []),
    "concatenate": (lambda: Dataset.range(2).concatenate(Dataset.range(5, 6)), [0, 1, 5]),
    "zip": (lambda: Dataset.zip((Dataset.range(3), {"k": Dataset.range(2)})), [(0, {"k": 0}), (1, {"k": 1})]),
    "enumerate": (lambda: Dataset.from_tensor_slices(["a"]).apply(E.enumerate_dataset(5)), [(5, b"a")]),
    "shard": (lambda: Dataset.range(7).shard(3, 1), [1, 4]),
    "window": (
        lambda: Dataset.range(7).window(3, 1, 2, True).flat_map(lambda w: w.batch(3)),
        [[0, 2, 4], [1, 3, 5], [2, 4, 6]],
    ),
    "windows apart": (lambda: Dataset.range(7).window(2, 3).flat_map(lambda w: w.batch(2)), [[0, 1], [3, 4], [6]]),
    "windows of components": (
        lambda: (
            Dataset.from_tensor_slices(([1, 2], [3, 4]))
            .window(2)
            .flat_map(lambda a, b: Dataset.zip((a.batch(2), b.batch(2))))
        ),
        [([1, 2], [3, 4])],
    ),
    "caches of datasets that are made on the way": (
        lambda: Dataset.range(6).flat_map(lambda x: Dataset.from_tensors(x).cache().repeat(2)),
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    ),
    "map and batch": (lambda: Dataset.range(5).apply(E.map_and_batch(lambda x: x * x, 2)), [[0, 1], [4, 9], [16]]),
    "group by window": (
        lambda: Dataset.range(7).apply(E.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3)),
        [[0, 2, 4], [1, 3, 5], [6]],
    ),
    "group by reducer": (
        lambda: Dataset.range(6).apply(
            E.group_by_reducer(lambda x: x % 2, E.Reducer(lambda k: np.int64(0), lambda s, x: s + x, lambda s: s * 10))
        ),
        [60, 90],
    ),
    "choose": (
        lambda: E.choose_from_datasets(
            [Dataset.range(3), Dataset.range(10, 12)], Dataset.from_tensor_slices(np.array([0, 1, 1, 1, 0, 0, 0]))
        ),
        [0, 10, 11, 1, 2],
    ),
    "a branch and a loop": (
        lambda: Dataset.range(4).map(
            lambda x: tf.cond(
                x > 2,
                lambda: -x,
                lambda: tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i + 1), [np.int64(0), np.int64(0)])[
                    1
                ],
            )
        ),
        [0, 1, 3, -3],
    ),
}


@for_each("name", list(SIMPLE))
def test_elements(name: str) -> None:
    make, wanted = SIMPLE[name]
    assert elements(make()) == [*wanted, END]


def test_static_shapes_follow_from_the_steps() -> None:
    rows = Dataset.from_tensor_slices((np.zeros([6, 2], np.float32), ["a"] * 6))
    shapes = {
        rows: ([2], []),
        rows.batch(4): ([None, 2], [None]),
        rows.batch(4, drop_remainder=True): ([4, 2], [4]),
        rows.padded_batch(4, ([3], [])): ([None, 3], [None]),
        rows.map(lambda x, y: (tf.matmul(x[None], np.ones([2, 5], np.float32)), y)): ([1, 5], []),
    }
    for dataset, wanted in shapes.items():
        assert tuple([s.as_list() for s in dataset.output_shapes]) == wanted
        assert dataset.output_types == (tf.float32, tf.string)
        assert dataset.make_one_shot_iterator().get_next()[0].shape.as_list() == wanted[0]


def test_sparse_tensors_are_sliced_joined_and_taken_apart() -> None:
    whole = tf.SparseTensor([[0, 0], [1, 2], [3, 1]], [1.0, 2.0, 3.0], [4, 3])
    rows = Dataset.from_tensor_slices(whole)
    assert rows.output_classes is tf.SparseTensor
    assert elements(rows)[3] == ([[1]], [3.0], [3])
    first, second, end = elements(rows.batch(3))
    assert (first, second, end) == (([[0, 0], [1, 2]], [1.0, 2.0], [3, 3]), ([[0, 1]], [3.0], [1, 3]), END)
    assert elements(rows.batch(3).apply(E.unbatch())) == elements(rows)
    doubled = rows.map(lambda s: tf.sparse_tensor_to_dense(s) * 2)
    assert elements(doubled.batch(4))[0] == [[2, 0, 0], [0, 0, 4], [0, 0, 0], [0, 6, 0]]
    joined = rising(3).apply(E.dense_to_sparse_batch(2, [4]))
    assert elements(joined)[0] == ([[0, 0], [1, 0], [1, 1]], [1, 2, 2], [2, 4])


def test_a_shuffle_keeps_all_elements_and_repeats_itself_with_its_seed() -> None:
    def orders(**options: Any) -> tuple[list[Any], list[Any]]:
        found = elements(Dataset.range(20).shuffle(6, **options).repeat(2), 50)[:-1]
        return found[:20], found[20:]

    first, second = orders(seed=3)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert orders(seed=3) == (first, second)
    assert all(value <= place + 5 for place, value in enumerate(first))  # the buffer holds 6
    same, again = orders(seed=3, reshuffle_each_iteration=False)
    assert same == again
    tf.set_random_seed(1)
    assert sorted(orders()[0]) == list(range(20))


def test_an_order_is_that_which_tensorflow_draws_for_the_seed_of_the_graph() -> None:
    tf.set_random_seed(5)
    assert elements(Dataset.range(8).shuffle(4)) == [2, 0, 5, 4, 7, 1, 3, 6, END]


def test_options_have_names_and_types() -> None:
    options, others = tf.data.Options(), tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_optimization.map_fusion = True
    others.experimental_threading.private_threadpool_size = 2
    joined = Dataset.range(2).with_options(options).with_options(others).options()
    assert joined.deterministic is False
    assert joined.experimental_optimization.map_fusion is True
    assert joined.threading.private_threadpool_size == 2
    assert joined != options
    assert options.experimental_optimization.noop_elimination is None
    with pytest.raises(AttributeError, match="Cannot set the property spam on Options"):
        options.spam = 1
    with pytest.raises(TypeError, match='"deterministic" must be of type'):
        options.deterministic = 3


def test_examples_are_parsed_by_the_batch() -> None:
    examples = []
    for number in range(2):
        example = tf.train.Example()
        example.features.feature["v"].float_list.value.extend([0.5] * number)
        example.features.feature["i"].int64_list.value.extend([number])
        examples.append(example.SerializeToString())
    features = {
        "v": tf.VarLenFeature(tf.float32),
        "i": tf.FixedLenFeature([1], tf.int64),
        "a": tf.FixedLenFeature([], tf.string, "none"),
    }
    made = Dataset.from_tensor_slices(examples).batch(2).apply(E.parse_example_dataset(features))
    assert made.output_shapes["i"].as_list() == [None, 1]
    assert elements(made) == [{"a": [b"none"] * 2, "i": [[0], [1]], "v": ([[1, 0]], [0.5], [2, 1])}, END]
    refused(lambda: Dataset.range(3).apply(E.parse_example_dataset(features)), TypeError, "vectors of strings")


def test_windows_slide_over_elements_and_shapes_are_checked() -> None:
    contrib = tf.contrib.data
    assert elements(Dataset.range(6).apply(contrib.sliding_window_batch(3, 2))) == [[0, 1, 2], [2, 3, 4], END]
    checked = Dataset.range(3).batch(2).apply(contrib.assert_element_shape(tf.TensorShape([2])))
    assert elements(checked) == [[0, 1], "InvalidArgumentError", END]


def test_a_sample_of_datasets_has_all_their_elements() -> None:
    made = E.sample_from_datasets([Dataset.range(5), Dataset.range(10, 15)], [0.9, 0.1], seed=1)
    found = elements(made)[:-1]
    assert sorted(found) == [*range(5), *range(10, 15)]
    assert [x for x in found if x < 5] == list(range(5))


def test_classes_come_as_often_as_wanted() -> None:
    numbers = Dataset.range(3000).map(lambda x: tf.cast(tf.equal(x % 4, 0), tf.int32))
    for initial in ([0.75, 0.25], None):
        step = E.rejection_resample(lambda x: x, [0.5, 0.5], initial, seed=5)
        found = elements(numbers.apply(step), 3001)[:-1]
        assert all(kind == number for kind, number in found)
        assert sum(kind for kind, _ in found) == 750 or initial is None
        assert 0.45 < sum(kind for kind, _ in found) / len(found) < 0.55


def test_a_cache_in_a_file_is_found_by_others(tmp_path: Any) -> None:
    path = str(tmp_path / "kept")
    made = Dataset.from_tensor_slices(([1, 2], ["a", "b"])).cache(path)
    assert elements(made) == [(1, b"a"), (2, b"b"), END]
    other = Dataset.from_tensor_slices(([9], ["z"])).cache(path).repeat(2)
    assert elements(other) == [(1, b"a"), (2, b"b"), (1, b"a"), (2, b"b"), END]


def _up_to_one(number: Any) -> Any:
    if number > 1:
        raise StopIteration
    return number


ERRORS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "a function that fails ahead of time": (
        lambda: (
            Dataset.from_tensor_slices([1.0, 0.0, 2.0])
            .map(lambda x: tf.check_numerics(1 / x, "m"), num_parallel_calls=2)
            .prefetch(2)
        ),
        [1.0, "InvalidArgumentError", 0.5, END],
    ),
    "a function that says that this is the end": (
        lambda: Dataset.range(4).map(lambda x: tf.py_func(_up_to_one, [x], tf.int64)),
        [0, 1, END],
    ),
}


@for_each("name", list(ERRORS))
def test_errors_take_the_place_of_elements(name: str) -> None:
    make, wanted = ERRORS[name]
    assert elements(make()) == wanted


def test_an_error_of_a_function_names_its_node() -> None:
    made = Dataset.from_tensors(0.0).map(lambda x: tf.check_numerics(1 / x, "bad", name="checked"))
    following = made.make_one_shot_iterator().get_next("following")
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(following)
    assert "checked" in caught.value.message
    assert "MapDataset" in caught.value.message
    assert caught.value.op is following.op


test_what_cannot_be_is_refused_while_the_graph_is_built = refusing(
    (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
    (lambda: rising(2).padded_batch(2, [2, 2]), ValueError, "is not compatible with"),
    (lambda: rising(2).apply(E.bucket_by_sequence_length(tf.size, [3], [2])), ValueError, "must equal `len"),
    (lambda: E.unique(count=1), TypeError, "unexpected keyword"),
)


@pytest.mark.parametrize("name", ["map", "filter", "zip", "enumerate", "batch", "scan", "list_files"])
def test_methods_have_the_names_by_which_they_are_called(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^Dataset\.{name}\(\) got an unexpected keyword"):
        getattr(Dataset.from_tensors(0), name)(of=1)


def test_results_over_all_elements() -> None:
    numbers = Dataset.range(5)
    total, count = numbers.reduce((np.int64(0), np.int64(0)), lambda state, x: (state[0] + x, state[1] + 1))
    sizes = [numbers, numbers.repeat(), numbers.filter(lambda x: x > 1), numbers.batch(2).skip(1)]
    with tf.Session() as sess:
        assert (sess.run([total, count]), sess.run(E.get_single_element(numbers.skip(4)))) == ([10, 5], 4)
        assert sess.run([E.cardinality(each) for each in sizes]) == [5, -1, -2, 2]
        for wrong in (numbers, numbers.skip(5)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(E.get_single_element(wrong))
