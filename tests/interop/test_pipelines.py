"""Graphs with input pipelines in TensorFlow's form: what they look like, and what imported ones give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.interop import text_format
from tests.opsets.datasets.taking import END, Dataset, plain
from tests.rows import for_each

E = tf.data.experimental

# A pipeline, the operation types that TensorFlow 2.21 makes of it, and its elements.
PIPELINES: dict[str, tuple[Callable[[], Any], str, list[Any]]] = {
    "map and batch": (
        lambda: Dataset.range(5).map(lambda x: x * 2).batch(2),
        "RangeDataset MapDataset BatchDatasetV2",
        [[0, 2], [4, 6], [8]],
    ),
    "in parallel": (
        lambda: Dataset.range(3).map(lambda x: x + 1, 2).batch(3, num_parallel_calls=2).prefetch(1),
        "RangeDataset ParallelMapDatasetV2 ParallelBatchDataset PrefetchDataset",
        [[1, 2, 3]],
    ),
    "padded": (
        lambda: Dataset.from_tensor_slices([1, 2]).map(tf.range).padded_batch(2, [None]),
        "TensorSliceDataset MapDataset PaddedBatchDatasetV2",
        [[[0, 0], [0, 1]]],
    ),
    "datasets of datasets": (
        lambda: Dataset.range(1, 3).flat_map(lambda x: Dataset.range(x).map(lambda y: y + 10 * x)),
        "RangeDataset FlatMapDataset",
        [10, 20, 21],
    ),
    "in turns": (
        lambda: Dataset.range(2).interleave(lambda x: Dataset.from_tensors(x).repeat(2), 2),
        "RangeDataset InterleaveDataset",
        [0, 1, 0, 1],
    ),
    "in an order of its own": (
        lambda: Dataset.range(6).shuffle(3, seed=7).repeat(2).skip(1).take(9),
        "RangeDataset ShuffleDataset RepeatDataset SkipDataset TakeDataset",
        # What TensorFlow 2.21 gives.
        [2, 0, 3, 5, 4, 1, 0, 3, 2],
    ),
    "both at once": (
        lambda: Dataset.range(4).apply(E.map_and_batch(lambda x: x * x, 2)),
        "RangeDataset MapAndBatchDataset",
        [[0, 1], [4, 9]],
    ),
    "of keys": (
        lambda: Dataset.range(4).apply(
            E.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2).map(lambda b: b + k * 10), 2)
        ),
        "RangeDataset GroupByWindowDataset",
        [[0, 2], [11, 13]],
    ),
    "with a state": (
        lambda: Dataset.range(3).apply(E.scan(np.int64(1), lambda s, x: (s + x, s * 10))),
        "RangeDataset ScanDataset",
        [10, 10, 20],
    ),
    "windows": (
        lambda: Dataset.range(4).window(2).flat_map(lambda w: w.batch(2)),
        "RangeDataset WindowDataset FlatMapDataset",
        [[0, 1], [2, 3]],
    ),
    "sparse": (
        lambda: Dataset.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])).batch(2),
        "TensorSliceDataset BatchDatasetV2",
        [([[0, 1], [1, 0]], [5, 6], [2, 2])],
    ),
    "several": (
        lambda: Dataset.zip((Dataset.range(2).concatenate(Dataset.range(1)), Dataset.range(9).shard(2, 1))),
        "RangeDataset RangeDataset ConcatenateDataset RangeDataset ShardDataset ZipDataset",
        [(0, 1), (1, 3), (0, 5)],
    ),
}


def shown(graph: Any) -> Any:
    """A graph of this face in TensorFlow's form."""
    return graph.as_graph_def()


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tf.SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    return [each for item in value for each in _flat(item)] if isinstance(value, tuple) else [value]


def _taken(session: Any, following: Any) -> list[Any]:
    found: list[Any] = []
    for _ in range(50):
        try:
            found.append(plain(session.run(following)))
        except tf.errors.OutOfRangeError:
            return [*found, END]
    return found


@for_each("name", list(PIPELINES))
def test_a_pipeline_has_the_types_of_tensorflow_and_goes_through_a_graph_def(name: str) -> None:
    make, types, wanted = PIPELINES[name]
    with tf.Graph().as_default() as graph:
        made = make()
        nodes = [node.op for node in shown(graph).node if node.op.endswith(("Dataset", "V2"))]
        assert nodes == types.split()
        iterator = made.make_initializable_iterator()
        names = [tensor.name for tensor in _flat(iterator.get_next())]
        content = shown(graph).SerializeToString()
    for clears in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            read = tf.GraphDef.FromString(content)
            for node in read.node if clears else ():
                node.device = ""
            tf.import_graph_def(read, name="")
            session.run("MakeIterator")
            # Here the parts of a sparse tensor are fetched one by one.
            fetches = names if len(names) > 1 else names[0]
            assert _taken(session, fetches) == [*wanted, END]


def test_functions_are_in_the_library_and_take_what_they_capture_last() -> None:
    with tf.Graph().as_default() as graph:
        offset = tf.constant([5, 6], tf.int64)
        Dataset.range(3).map(lambda x: x + offset)
        message = shown(graph)
    (node,) = [node for node in message.node if node.op == "MapDataset"]
    (function,) = message.library.function
    assert node.attr["f"].func.name == function.signature.name
    assert list(node.input) == ["RangeDataset", "Const"]
    assert [tf.DType(arg.type) for arg in function.signature.input_arg] == [tf.int64, tf.int64]
    assert list(node.attr["Targuments"].list.type) == [tf.int64.as_datatype_enum]
    assert list(node.attr["output_types"].list.type) == [tf.int64.as_datatype_enum]
    assert [dim.size for dim in node.attr["output_shapes"].list.shape[0].dim] == [2]


# As TensorFlow 1.15 writes it, with an optimised pipeline.
OLDER = """
node { name: "start" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
       attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 0 } } } }
node { name: "stop" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
       attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 4 } } } }
node { name: "step" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
       attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 1 } } } }
node { name: "calls" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } } }
node { name: "how" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
                                            string_val: "map_fusion" } } } }
node { name: "range" op: "RangeDataset" input: "start" input: "stop" input: "step" SPEC }
node { name: "map" op: "ParallelMapDataset" input: "range" input: "calls" SPEC
       attr { key: "Targuments" value { list {} } } attr { key: "sloppy" value { b: false } }
       attr { key: "f" value { func { name: "square" } } } }
node { name: "fast" op: "OptimizeDataset" input: "map" input: "how" SPEC }
node { name: "model" op: "ModelDataset" input: "fast" SPEC }
node { name: "iterator" op: "IteratorV2" SPEC attr { key: "container" value { s: "" } }
       attr { key: "shared_name" value { s: "" } } }
node { name: "begin" op: "MakeIterator" input: "model" input: "iterator" }
node { name: "next" op: "IteratorGetNext" input: "iterator" SPEC }
library { function { signature { name: "square" input_arg { name: "x" type: DT_INT64 }
                                 output_arg { name: "y" type: DT_INT64 } }
                     node_def { name: "mul" op: "Mul" input: "x" input: "x"
                                attr { key: "T" value { type: DT_INT64 } } }
                     ret { key: "y" value: "mul:z:0" } } }
""".replace(
    "SPEC",
    'attr { key: "output_types" value { list { type: DT_INT64 } } } '
    'attr { key: "output_shapes" value { list { shape {} } } }',
)


def test_a_graph_of_tensorflow_1_gives_its_elements() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(text_format.Parse(OLDER, tf.GraphDef()), name="")
        session.run("begin")
        assert _taken(session, "next:0") == [0, 1, 4, 9, END]
    # A function that the library lacks is named.
    message = text_format.Parse(OLDER, tf.GraphDef())
    message.library.function[0].signature.name = "cube"
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"node 'map' .*'square', its attribute 'f'"):
        tf.import_graph_def(message, name="")
    # An iterator stands beside its dataset.
    with tf.Graph().as_default() as graph:
        iterator = Dataset.range(3).make_initializable_iterator()
        following = iterator.get_next()
        assert following.op.colocation_groups() == [b"loc:@RangeDataset"]
        names = [op.name for op in graph.get_operations() if op.type != "Const"]
    assert names == ["RangeDataset", "IteratorV2", "MakeIterator", "IteratorToStringHandle", "IteratorGetNext"]
