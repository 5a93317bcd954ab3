"""Graphs, pipelines and every operation type in TensorFlow's form: read, computed and written again."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import DType, NodeDef, TensorShape, as_dtype, import_graph_def
from actorsession.extend import REQUIRED, TensorSpec
from actorsession.graph.dtypes import resource
from actorsession.graph.function import ARGUMENT, CONSTRUCTS, FunctionDef
from actorsession.graph.op_signatures import Arg, Attr, Signature, opsets, signature_of, tensorflow_signature
from actorsession.interop import GraphDef, MetaGraphDef, graph_def_of, import_meta_graph, read_meta_graph, text_format
from actorsession.interop.exporter import node_of
from actorsession.interop.functions import function_proto, plan_function
from tests.interop.kit import DATA, run_imported, stored
from tests.ops.table.row import Row
from tests.ops.test_table import ROWS, each_row, skip_without
from tests.opsets.datasets.taking import END, Dataset, plain
from tests.rows import for_each

FROZEN = ["raw_control_flow", "recurrent", "mlp", "reductions", "slicing", "elementwise", "parsing", "control_flow"]


def check(found: Any, expected: Any) -> None:
    array = np.asarray(found)
    if array.dtype == object:
        array = array.astype("S")
    assert array.dtype == expected.dtype
    if array.dtype.kind in "fc":
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_graph_computes_what_tensorflow_computed(name: str) -> None:
    message, feeds, fetched = stored(name)
    for found, expected in zip(run_imported(message, list(fetched), feeds), fetched.values(), strict=True):
        check(found, expected)


def test_a_loop_over_arrays_computes_the_same_on_two_devices(graph: acts.Graph) -> None:
    """The arrays stay where they were made; products and activations, forth and back, are elsewhere."""
    message, feeds, fetched = stored("recurrent")
    for node in message.node:
        if node.op in ("MatMul", "Tanh", "TanhGrad"):
            node.device = "/cpu:1"
    import_graph_def(message, name="")
    with acts.Session(graph=graph, config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        values = session.run(list(fetched), feeds)
    for found, expected in zip(values, fetched.values(), strict=True):
        check(found, expected)


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_graph_written_again_is_read_again(graph: acts.Graph, name: str) -> None:
    message, feeds, fetched = stored(name)
    import_graph_def(message, name="")
    read = GraphDef.FromString(graph_def_of(graph).SerializeToString())
    for found, expected in zip(run_imported(read, list(fetched), feeds), fetched.values(), strict=True):
        check(found, expected)


@pytest.mark.parametrize("name", FROZEN)
def test_operation_types_stay_what_they_are(graph: acts.Graph, name: str) -> None:
    message, _, _ = stored(name)
    import_graph_def(message, name="")
    written = {node.name: node.op for node in graph_def_of(graph).node}
    assert {node.name: node.op for node in message.node}.items() <= written.items()


def test_loops_and_branches_that_have_no_effects_have_gradients(graph: acts.Graph) -> None:
    """Five times ``a * 3 + x`` from ``x``, and the branch of a negative number."""
    message, feeds, _ = stored("control_flow")
    import_graph_def(message, name="")
    assert {op.type for op in graph.get_operations()} >= {"StatelessWhile", "StatelessIf"}
    x, *ys = (graph.get_tensor_by_name(f"{name}:0") for name in ("x", "total", "chosen"))
    slopes = [acts.gradients(y, x)[0] for y in ys]
    with acts.Session(graph=graph) as session:
        assert session.run(slopes, feeds) == [3.0**5 + 1 + 3 + 9 + 27 + 81, -1.0]


# Of these, hints are lost: which factors of a product in a gradient are gradients; and what a loop captures.
@pytest.mark.parametrize("name", [n for n in FROZEN if n not in ("recurrent", "control_flow")])
def test_attributes_go_back_as_they_came(graph: acts.Graph, name: str) -> None:
    """What TensorFlow wrote and we derive is written again, with the same values."""
    message, _, _ = stored(name)
    import_graph_def(message, name="")
    written = {node.name: node for node in graph_def_of(graph).node}
    for node in message.node:
        again = written[node.name]
        assert (again.op, again.input, again.device) == (node.op, node.input, node.device)
        for key, value in node.attr.items():
            if key != "value" and not key.startswith("_"):  # tensors have more than one form
                assert again.attr[key] == value, (node.name, key)


def test_a_gradient_of_a_loop_of_theirs_is_written_in_their_terms(graph: acts.Graph) -> None:
    """The loop that a gradient needs stands for theirs: both give the same, and theirs is not run as well."""
    message, feeds, fetched = stored("raw_control_flow")
    import_graph_def(message, name="")
    v = graph.get_tensor_by_name("v:0")
    (slope,) = acts.gradients([graph.get_tensor_by_name("x:0")], [v])
    wanted = acts.Session(graph=graph).run(slope.name, feeds)
    written = GraphDef.FromString(graph_def_of(graph, add_shapes=True).SerializeToString())
    assert {key for node in written.node for key in node.attr if key.startswith("_")} <= {"_output_shapes", "_class"}
    nodes = {node.name: node for node in written.node}
    before = nodes[nodes["x"].input[0]]
    assert (before.op, nodes[before.input[0].partition(":")[0]].op) == ("Identity", "While")
    found = run_imported(written, [*fetched, slope.name], feeds)
    for got, value in zip(found, [*fetched.values(), wanted], strict=True):
        check(got, value)


def test_the_text_of_a_graph_is_that_of_its_meta_graph(graph: acts.Graph) -> None:
    text = text_format.Parse((DATA / "training.pbtxt").read_text(), GraphDef())
    meta = MetaGraphDef.FromString((DATA / "training.meta").read_bytes())
    assert [node.name for node in text.node] == [node.name for node in meta.graph_def.node]
    assert [node.op for node in text.node] == [node.op for node in meta.graph_def.node]
    # A training graph can be built twice under scopes.
    first = import_meta_graph(DATA / "training.meta", import_scope="one")
    second = import_meta_graph(read_meta_graph(DATA / "training.meta"), import_scope="two")
    assert first.variables["v:0"].name == "one/v:0"
    assert second.variables["v:0"].name == "two/v:0"
    assert len(graph.get_collection("variables")) == 4


def test_a_training_graph_with_both_kinds_of_variables_trains_on(graph: acts.Graph) -> None:
    found = import_meta_graph(DATA / "training.meta")
    assert sorted(found.variables) == ["global_step:0", "v:0"]
    assert graph.get_collection("trainable_variables") == [found.variables["v:0"]]
    assert graph.get_collection("words") == [b"spam"]
    assert graph.get_collection("numbers") == [3]
    (loss,) = graph.get_collection("losses")
    (train,) = graph.get_collection("train_op")
    with acts.Session(graph=graph) as session:
        session.run(acts.global_variables_initializer())
        assert session.run(loss) == 5.0  # 1² + 2²
        session.run(train)  # each value minus a quarter of twice itself
        values = session.run([found.variables["v:0"], found.variables["global_step:0"], loss])
    np.testing.assert_array_equal(values[0], [0.5, 1.0])
    assert values[1:] == [1, 1.25]


ONE_OF_EACH = list({row.op: row for row in reversed(ROWS) if row.inputs}.values())


# Without those that the debugger puts into partitions, which are in no file.
TYPES = sorted({name for names in opsets().values() for name in names if not name.startswith("_Debug")} - CONSTRUCTS)


DTYPES = [
    as_dtype(n) for n in ("float32", "int32", "string", "bool", "uint8", "resource", "complex64", "quint8", "qint32")
]


VALUES: dict[str, Any] = {
    "bool": True,
    "float": 1.0,
    "func": FunctionDef((), (), (), ()),
    "int": 1,
    "shape": TensorShape(None),
    "string": "a",
    "tensor": np.float32(1),
}


def _value(kind: str, length: int | None, allows: Callable[[DType], bool]) -> Any:
    """A value of a type of attribute: a list of some length, or a single value."""
    kind = kind.removeprefix("list(").removesuffix(")")
    value = next(filter(allows, DTYPES)) if kind == "type" else VALUES[kind]
    return value if length is None else (value,) * length


def _attrs(signature: Signature, lengths: Mapping[str, int]) -> dict[str, Any]:
    """A value for each attribute that a node needs, with lists of the lengths that are wanted."""
    made: dict[str, Any] = {}
    for name, kind in signature.kinds.items():
        attr = signature.attrs.get(name, Attr(name, kind))
        if name in lengths and kind == "int":
            made[name] = lengths[name]
        elif kind.startswith("list(") and (attr.default is REQUIRED or name in lengths):
            made[name] = _value(kind, lengths.get(name, 0), attr.allows)
        elif attr.default is REQUIRED:
            made[name] = _value(kind, None, attr.allows)
        elif kind == "type":
            made[name] = attr.default
    return made


def _specs(args: Iterable[Arg], attrs: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
    found: list[TensorSpec] = []
    for arg in args:
        dtypes = attrs[arg.type] if arg.is_list else [attrs.get(arg.type, arg.type)]
        count = attrs[arg.number] if arg.number else 1
        found += [
            TensorSpec(resource if arg.is_ref else as_dtype(each), TensorShape(None)) for each in [*dtypes] * count
        ]
    return tuple(found)


@for_each("op", TYPES)
def test_outputs_of_a_node_in_a_function_are_counted_whichever_of_its_lists_are_empty(op: str) -> None:
    signature = signature_of(op)
    assert signature is not None
    args = (*signature.inputs, *signature.outputs)
    lists = {arg.number or arg.type for arg in args if arg.number or arg.is_list}
    lists -= {"Nordering_token"}  # collectives take no tokens here
    for common, special, name in itertools.product((0, 1, 2), (0, 2), sorted(lists) or [""]):
        attrs = _attrs(signature, {**dict.fromkeys(lists, common), name: special, "Nordering_token": 0})
        inputs, outputs = _specs(signature.inputs, attrs), _specs(signature.outputs, attrs)
        read = tuple([(ARGUMENT, k) for k in range(len(inputs))])
        node = NodeDef(name="node", op=op, inputs=read, attrs=attrs, outputs=outputs)
        results = tuple([("node", k) for k in range(len(outputs))])
        found = plan_function(function_proto("f", FunctionDef(inputs, (), (node,), results), node_of))
        assert found.results == results
        assert [(each.op, len(each.inputs)) for each in found.nodes] == [(op, len(inputs))]


def strange(message: GraphDef) -> list[tuple[str, str]]:
    """Types and attributes in a graph that TensorFlow does not have."""
    inside = [node for function in message.library.function for node in function.node_def]
    found = []
    for node in (*message.node, *inside):
        signature = tensorflow_signature(node.op)
        if signature is None:
            found.append((node.op, ""))
        known = {"_output_shapes", "_class", *(signature.attrs if signature else ())}
        found += [(node.op, key) for key in node.attr if key not in known and (signature or key[0] == "_")]
    return found


@each_row(ONE_OF_EACH)
def test_an_op_gives_the_same_at_the_top_and_in_functions_after_it_was_read_again(row: Row) -> None:
    skip_without(row)
    arrays = [np.asarray(array) for array in row.inputs[0]]
    with acts.Graph().as_default() as graph, np.errstate(all="ignore"):
        fed = [acts.placeholder(as_dtype(a.dtype), a.shape, f"fed_{k}") for k, a in enumerate(arrays)]

        @acts.flow.Defun(*[tensor.dtype for tensor in fed])
        def called(*tensors: Any) -> Any:
            for tensor, array in zip(tensors, arrays, strict=True):
                tensor.set_shape(array.shape)
            return row.build(*tensors)

        plain, inside = (
            made if isinstance(made, (list, tuple)) else [made] for made in (row.build(*fed), called(*fed))
        )
        feeds = {tensor.name: array for tensor, array in zip(fed, arrays, strict=True)}
        fetches = [tensor.name for tensor in plain]
        wanted = acts.Session(graph=graph).run(fetches, feeds)
        floats = [tensor for tensor in fed if tensor.dtype.is_floating]
        if floats:
            with contextlib.suppress(LookupError, TypeError, ValueError):  # there is no gradient
                acts.gradients(plain, floats)
        written = graph_def_of(graph, add_shapes=True)
        assert strange(written) == []
    with acts.Graph().as_default() as other:
        import_graph_def(GraphDef.FromString(written.SerializeToString()), name="")
        found = acts.Session(graph=other).run([fetches, [t.name for t in inside]], feeds)
    for values in found:
        for got, want in zip(values, wanted, strict=True):
            np.testing.assert_array_equal(got, want)


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
        assert [node.op for node in shown(graph).node if node.op.endswith(("Dataset", "V2"))] == types.split()
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
            assert _taken(session, names if len(names) > 1 else names[0]) == [*wanted, END]


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
        following = Dataset.range(3).make_initializable_iterator().get_next()
        assert following.op.colocation_groups() == [b"loc:@RangeDataset"]
        names = [op.name for op in graph.get_operations() if op.type != "Const"]
    assert names == ["RangeDataset", "IteratorV2", "MakeIterator", "IteratorToStringHandle", "IteratorGetNext"]
