"""Graphs with input pipelines that go from one library to the other.

One side builds a pipeline of each kind, with its iterator, in one graph; both sides import the graph and take
the elements.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Pipelines"]

_MOST = 12


def _files(folder: str) -> dict[str, str]:
    """Write the files that pipelines read, and return their paths."""
    lines, blocks = os.path.join(folder, "lines.txt"), os.path.join(folder, "blocks")
    with open(lines, "w", encoding="ascii") as out:
        out.write("1,a\n2,b\n3,c\n")
    with open(blocks, "wb") as out:
        out.write(b"HEADaabbccEND")
    return {"lines": lines, "blocks": blocks, "records": os.path.join(folder, "records")}


def _sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 1], [2, 0], [2, 2]], [5, 6, 7], [3, 3])


def _upto(tf: Any, count: int) -> Any:
    return tf.data.Dataset.range(1, count + 1).map(lambda x: tf.range(x))


def _examples(tf: Any) -> list[bytes]:
    """Serialized examples."""
    found = []
    for number in range(3):
        example = tf.train.Example()
        example.features.feature["n"].int64_list.value.extend([number, -number])
        example.features.feature["v"].float_list.value.extend([0.5] * number)
        if number:
            example.features.feature["a"].bytes_list.value.append(b"a" * number)
        found.append(example.SerializeToString())
    return found


def _doubled(tf: Any, number: Any) -> Any:
    """A number doubled until it is large, in a loop."""
    return tf.while_loop(lambda k, x: x < 20, lambda k, x: (k + 1, x * 2), [0, number])[1]


def pipelines(tf: Any, files: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """The pipelines by name."""
    data, more = tf.data.Dataset, tf.data.experimental
    offset = tf.get_variable("offset", initializer=np.int64(100), use_resource=True)
    numbers = data.range
    return {
        "tensors": lambda: data.from_tensors({"a": 1, "b": ("x", [1.5, 2.5])}),
        "slices": lambda: data.from_tensor_slices(([1, 2, 3], {"s": ["a", "b", "c"]})),
        "range": lambda: data.range(7, 0, -3),
        "sparse slices": lambda: data.from_sparse_tensor_slices(_sparse(tf)),
        "sparse": lambda: data.from_tensor_slices(_sparse(tf)).batch(2),
        "sparse map": lambda: data.from_tensors(_sparse(tf)).map(
            lambda s: (tf.sparse.to_dense(s), tf.SparseTensor(s.indices, s.values * 2, s.dense_shape))
        ),
        "map": lambda: numbers(4).map(lambda x: (x * 2, tf.as_string(x))),
        "map with a capture": lambda: numbers(3).map(lambda x: x + offset),
        "parallel map": lambda: numbers(5).map(lambda x: x * x, num_parallel_calls=2),
        "branch and loop": lambda: numbers(4).map(lambda x: tf.cond(x > 1, lambda: _doubled(tf, x), lambda: -x)),
        "batch": lambda: numbers(5).batch(2),
        "batch whole": lambda: numbers(5).batch(2, drop_remainder=True),
        "parallel batch": lambda: numbers(5).batch(2, num_parallel_calls=2),
        "padded batch": lambda: _upto(tf, 4).padded_batch(2, [None], np.int64(-1)),
        "filter": lambda: numbers(6).filter(lambda x: tf.equal(x % 2, 0)),
        "flat map": lambda: numbers(4).flat_map(lambda x: numbers(x).map(lambda y: y + 10 * x)),
        "interleave": lambda: numbers(1, 5).interleave(lambda x: data.from_tensors(x).repeat(3), 2, 2),
        "parallel interleave": lambda: numbers(1, 5).interleave(
            lambda x: data.from_tensors(x).repeat(3), 2, 2, num_parallel_calls=2
        ),
        "older parallel interleave": lambda: numbers(1, 4).apply(
            more.parallel_interleave(lambda x: data.from_tensors(x).repeat(x), 3)
        ),
        "shuffle": lambda: numbers(6).shuffle(3, seed=7).repeat(2),
        "shuffle once": lambda: numbers(6).shuffle(3, seed=7, reshuffle_each_iteration=False).repeat(2),
        "shuffle and repeat": lambda: numbers(6).apply(more.shuffle_and_repeat(4, 2, seed=3)),
        "random": lambda: more.RandomDataset(seed=5).take(5),
        "take, skip, shard": lambda: numbers(20).skip(3).shard(3, 1).take(4),
        "zip and concatenate": lambda: data.zip((numbers(3), {"k": numbers(5, 7).concatenate(numbers(1))})),
        "prefetch and cache": lambda: numbers(3).cache().prefetch(2).repeat(2),
        "window": lambda: numbers(7).window(3, 1, 2, True).flat_map(lambda w: w.batch(3)),
        "map and batch": lambda: numbers(5).apply(more.map_and_batch(lambda x: x * x, 2)),
        "scan": lambda: numbers(4).apply(more.scan(np.int64(1), lambda s, x: (s + x, s * 10 + x))),
        "take while, unique": lambda: (
            numbers(9).map(lambda x: x // 2).apply(more.unique()).apply(more.take_while(lambda x: x < 3))
        ),
        "unbatch": lambda: data.from_tensor_slices([[1, 2], [3, 4]]).apply(more.unbatch()),
        "ignore errors": lambda: (
            data.from_tensor_slices([1.0, 0.0, 2.0])
            .map(lambda x: tf.check_numerics(1.0 / x, "bad"))
            .apply(more.ignore_errors())
        ),
        "group by window": lambda: numbers(7).apply(
            more.group_by_window(lambda x: x % 2, lambda k, w: w.map(lambda x: x + 100 * k).batch(2), 2)
        ),
        "group by reducer": lambda: numbers(6).apply(
            more.group_by_reducer(
                lambda x: x % 2, more.Reducer(lambda k: np.int64(0), lambda s, x: s + x, lambda s: s * 10)
            )
        ),
        "buckets": lambda: _upto(tf, 5).apply(more.bucket_by_sequence_length(lambda x: tf.size(x), [3, 5], [2, 2, 2])),
        "dense to sparse": lambda: _upto(tf, 3).apply(more.dense_to_sparse_batch(2, [4])),
        "choose": lambda: more.choose_from_datasets(
            [numbers(3), numbers(10, 12)], data.from_tensor_slices(np.array([0, 1, 1, 0, 0], np.int64))
        ),
        "counter": lambda: more.Counter(3, 2).take(3),
        "enumerate": lambda: data.from_tensor_slices(["a", "b"]).apply(more.enumerate_dataset(5)),
        "lines": lambda: tf.data.TextLineDataset(files["lines"]).skip(1),
        "lines side by side": lambda: tf.data.TextLineDataset([files["lines"]] * 2, num_parallel_reads=2),
        "blocks": lambda: tf.data.FixedLengthRecordDataset(files["blocks"], 2, 4, 3),
        "records": lambda: tf.data.TFRecordDataset([files["records"]], "GZIP"),
        "files": lambda: data.list_files(files["lines"]).flat_map(tf.data.TextLineDataset),
        "csv": lambda: more.CsvDataset(files["lines"], [tf.int32, tf.constant(["x"], tf.string)]),
        "on a device": lambda: numbers(3).apply(more.copy_to_device("/cpu:0")),
        "ahead on a device": lambda: numbers(3).apply(more.prefetch_to_device("/cpu:0")),
        "examples": lambda: (
            data.from_tensor_slices(_examples(tf))
            .batch(2)
            .apply(
                more.parse_example_dataset(
                    {
                        "n": tf.FixedLenFeature([2], tf.int64),
                        "v": tf.VarLenFeature(tf.float32),
                        "a": tf.FixedLenFeature([], tf.string, "none"),
                    }
                )
            )
        ),
        "cardinality": lambda: numbers(3).apply(more.assert_cardinality(3)),
    }


def _flat(value: Any) -> list[Any]:
    """The tensors of an element, in order."""
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in _flat(value[key])]
    if hasattr(value, "dense_shape"):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in _flat(item)]
    return [value]


class Pipelines:
    """Pipelines with their iterators, of which the other side takes the elements."""

    def write(self, tf: Any, folder: str) -> None:
        """Build all pipelines, and write the graph."""
        files = _files(folder)
        options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
        with tf.python_io.TFRecordWriter(files["records"], options) as writer:
            for text in (b"one", b"two"):
                writer.write(text)
        for name, make in pipelines(tf, files).items():
            with tf.name_scope(name.replace(" ", "_").replace(",", "")):
                made = make()
                iterator = tf.data.make_initializable_iterator(made)
                tf.add_to_collection(f"{name}: begin", iterator.initializer)
                for tensor in _flat(iterator.get_next()):
                    tf.add_to_collection(f"{name}: next", tensor)
        once = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3).map(lambda x: x + 1))
        tf.add_to_collection("one shot: next", once.get_next())
        handle = tf.placeholder(tf.string, [], name="handle")
        chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
        tf.add_to_collection("chosen", chosen.get_next())
        tf.add_to_collection("handle", once.string_handle())
        total = tf.data.Dataset.range(5).reduce(np.int64(0), lambda state, x: state + x)
        tf.add_to_collection("total", total)
        one = tf.data.experimental.get_single_element(tf.data.Dataset.range(5).skip(4))
        tf.add_to_collection("one", one)
        tf.train.export_meta_graph(os.path.join(folder, "graph.meta"))

    def read(self, tf: Any, folder: str) -> Any:
        """Import the graph, and take the elements of each pipeline."""
        tf.train.import_meta_graph(os.path.join(folder, "graph.meta"))
        found: dict[str, Any] = {}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for key in sorted(tf.get_default_graph().collections):
                name, _, what = key.partition(": ")
                if what != "next":
                    continue
                session.run(tf.get_collection(f"{name}: begin"))
                following = tf.get_collection(key)
                said: list[Any] = []
                try:
                    while len(said) < _MOST:
                        said.append(session.run(following))
                except tf.errors.OpError as exc:
                    said.append(type(exc).__name__)
                found[name] = said
            (handle,) = session.run(tf.get_collection("handle"))
            tensor = tf.get_default_graph().get_tensor_by_name("handle:0")
            try:
                found["chosen"] = session.run(tf.get_collection("chosen"), {tensor: handle})
            except tf.errors.OutOfRangeError:
                found["chosen"] = "end"
            found["results"] = [session.run(tf.get_collection(key)) for key in ("total", "one")]
        return found
