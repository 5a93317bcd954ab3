"""Our messages and tensors against TensorFlow's compiled ones, both ways, and what programs do with them."""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from google.protobuf import text_format as their_text
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto import types_pb2

import actorsession as acts
from actorsession import (
    Graph,
    GraphKeys,
    Session,
    TensorShape,
    float32,
    import_graph_def,
    int32,
    interop,
    name_scope,
    ops,
    string,
    train,
)
from actorsession.errors import CancelledError, DataLossError, InvalidArgumentError, OutOfRangeError
from actorsession.extend import registered_ops
from actorsession.graph.registry import lookup
from actorsession.interop import TensorProto, graph_def_of, protos, text_format
from actorsession.interop.enums import DATA_TYPES, ENUMS
from actorsession.interop.example_protos import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from actorsession.interop.fields import Field
from actorsession.interop.message import Message
from actorsession.interop.tabled import message_class, names_of_messages
from actorsession.interop.training_protos import within_scope
from tests.rows import refusing

pytestmark = pytest.mark.usefixtures("graph")


_FILES = """
    allocation_description attr_value cluster config coordination_config cost_graph debug event full_type
    function graph graph_debug_info histogram meta_graph node_def op_def resource_handle rewriter_config
    rpc_options saved_object_graph saver step_stats struct summary tensor tensor_description tensor_shape
    trackable_object_graph types variable verifier_config versions
"""
_MODULES = [importlib.import_module(f"tensorboard.compat.proto.{name}_pb2") for name in _FILES.split()]

# Younger or older than TensorBoard's copy of the messages.
_YOUNGER: set[str] = {"SignatureDef.defaults"}
_REMOVED: dict[str, set[str]] = {}


def their_class(name: str) -> Any:
    first, *inner = name.split(".")
    found = next(getattr(m, first) for m in _MODULES if hasattr(m, first))
    for part in inner:
        found = getattr(found, part)
    return found


# TensorBoard has no copy of the others; all are compared with TensorFlow's own by ``scripts/differential``.
OURS = [
    name
    for name in names_of_messages()
    if any(hasattr(module, name.partition(".")[0]) for module in _MODULES) and "map<" not in name
]


@pytest.mark.parametrize("name", OURS)
def test_every_field_has_the_number_and_type_of_tensorflows(name: str) -> None:
    theirs = their_class(name).DESCRIPTOR.fields_by_name
    for field in message_class(name).FIELDS.values():
        if f"{name}.{field.name}" in _YOUNGER and field.name not in theirs:
            continue
        found = theirs[field.name]
        assert (field.number, field.kind, field.key) == (found.number, *_kind_of(found))
        group = found.containing_oneof.name if found.containing_oneof else ""
        assert (field.oneof, field.packed) == (group, bool(found.is_packed))
        assert (field.repeated or bool(field.key)) == found.is_repeated


_SCALARS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    8: "bool",
    9: "string",
    6: "fixed64",
    7: "fixed32",
    12: "bytes",
    13: "uint32",
    18: "sint64",
}


def _kind_of(descriptor: Any) -> tuple[str, str]:
    """Kind and kind of the key, in our words."""
    if descriptor.enum_type is not None:
        return _in_tensorflow(descriptor.enum_type), ""
    inner = descriptor.message_type
    if inner is None:
        return _SCALARS[descriptor.type], ""
    if inner.GetOptions().map_entry:
        entry = inner.fields_by_name
        return _kind_of(entry["value"])[0], _kind_of(entry["key"])[0]
    return _in_tensorflow(inner), ""


def _in_tensorflow(descriptor: Any) -> str:
    """The name of a message or enumeration, in our words."""
    name: str = descriptor.full_name
    for package in ("tensorboard.", "google.protobuf.", "error."):
        name = name.removeprefix(package)
    return name


@pytest.mark.parametrize("name", OURS)
def test_no_field_of_tensorflows_is_left_out(name: str) -> None:
    theirs = {field.name for field in their_class(name).DESCRIPTOR.fields}
    assert theirs - _REMOVED.get(name, set()) <= set(message_class(name).FIELDS)


def test_element_types_have_tensorflows_numbers() -> None:
    theirs = {v.name: v.number for v in types_pb2.DataType.DESCRIPTOR.values}
    assert {name: DATA_TYPES[name] for name in theirs if name in DATA_TYPES} == theirs


# What each scalar may be: the ends of its range, and what lies between.
_VALUES: Mapping[str, Sequence[Any]] = {
    "double": (0.0, -0.0, 1e-300, 1 / 3, float("inf")),
    "float": (0.0, -0.0, 0.1, 3e38, -float("inf")),
    "int64": (0, -1, -(2**63), 2**63 - 1),
    "uint64": (0, 127, 128, 2**64 - 1),
    "int32": (0, -1, -(2**31), 2**31 - 1),
    "uint32": (0, 300, 2**32 - 1),
    "bool": (False, True),
    "fixed64": (0, 2**64 - 1),
    "fixed32": (0, 7),
    "sint64": (0, -1, -(2**63), 2**63 - 1),
    "bytes": (b"", b'\x00\xff"\n', b"plain"),
    "string": ("", "spam", "\u00e9\U0001f40d'"),
}


def a_message(kind: type[Message], choose: random.Random, depth: int) -> Any:
    """A message with some fields set, and messages in it down to a depth."""
    made = kind()
    for field in kind.FIELDS.values():
        if choose.random() < 0.5 or (depth == 0 and field.scalar is None):
            continue
        count = choose.randrange(3)
        if field.key:
            # Protobuf leaves an empty key or value out of the text of some entries and not of others.
            keys = [choose.choice([k for k in _VALUES[field.key] if k]) for _ in range(count)]
            values = {key: _value(field, choose, depth) for key in keys}
            if field.scalar is not None:
                values = {key: value for key, value in values.items() if value}
            made._fill(**{field.name: values})
        elif field.repeated:
            made._fill(**{field.name: [_value(field, choose, depth) for _ in range(count)]})
        else:
            made._fill(**{field.name: _value(field, choose, depth)})
    return made


def _value(field: Field, choose: random.Random, depth: int) -> Any:
    if field.kind in ENUMS:
        return choose.choice(sorted(ENUMS[field.kind].values()))
    if field.scalar is not None:
        return choose.choice(_VALUES[field.kind])
    return a_message(field.message, choose, depth - 1)


def theirs_of(message: Message) -> Any:
    """Protobuf's own object of a message, without fields that are younger than its copy of the classes."""
    theirs = their_class(type(message).__name__).FromString(message.SerializeToString())
    theirs.DiscardUnknownFields()
    return theirs


ROOTS = [protos.GraphDef, protos.MetaGraphDef, protos.TensorProto, protos.VariableDef]


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
@settings(max_examples=30, deadline=None)
@given(choose=st.randoms())
def test_what_we_write_protobuf_reads_and_writes_alike(root: type[Message], choose: random.Random) -> None:
    ours = a_message(root, choose, 4)
    assert root.FromString(ours.SerializeToString()) == ours
    theirs = theirs_of(ours)
    again = root.FromString(theirs.SerializeToString())
    assert theirs_of(again) == theirs
    assert again.ByteSize() == theirs.ByteSize()


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
@settings(max_examples=15, deadline=None)
@given(choose=st.randoms())
def test_the_text_is_protobufs_own_and_is_read_back(root: type[Message], choose: random.Random) -> None:
    theirs = theirs_of(a_message(root, choose, 3))
    kept = root.FromString(theirs.SerializeToString())
    text = text_format.MessageToString(kept, as_utf8=False)
    assert text == their_text.MessageToString(theirs, as_utf8=False)
    assert text_format.Parse(text, root()) == kept


def test_text_takes_every_spelling_of_values() -> None:
    text = """
        # a comment
        name: 'a' "b\\x63\\144\\n"  op: "\\u00e9" ;
        input: ["x", "^y"], input: "z"
        attr < key: "f" value { f: 1.5f } >
        attr { key: "g" value: { f: -inf } }
        attr { key: "h" value { i: -0x10 } }
        attr { key: "t" value { type: 3 } }
        attr { key: "n" value { list { b: [true, 0, t] } } }
        experimental_debug_info { original_node_names: "q" }
        spam { eggs: "q" nested < a: [1, 2] > }
    """
    node = text_format.Parse(text, protos.NodeDef(), allow_unknown_field=True)
    assert (node.name, node.op, list(node.input)) == ("abcd\n", "é", ["x", "^y", "z"])
    assert node.attr["f"].f == 1.5
    assert node.attr["g"].f == -np.inf
    assert (node.attr["h"].i, node.attr["t"].type) == (-16, 3)
    assert list(node.attr["n"].list.b) == [True, False, True]
    # Long texts without a word are refused at once.
    for text in (" " * 50_000 + "@", "#" * 50_000 + "\n@", 'name: "' + "a" * 50_000, "-" * 50_000):
        with pytest.raises(InvalidArgumentError, match="not a token of a text message"):
            text_format.Parse(text, protos.NodeDef())
    # Text nested too deep is refused.
    text = "attr { key: '' value { func { " * 60
    with pytest.raises(InvalidArgumentError, match="nested more than 100 deep"):
        text_format.Parse(text, protos.NodeDef())
    skipped = "spam { " + "a {" * 200
    with pytest.raises(InvalidArgumentError, match="nested more than 100 deep"):
        text_format.Parse(skipped, protos.NodeDef(), allow_unknown_field=True)
    with pytest.raises(InvalidArgumentError, match="expected '}', found the end"):
        text_format.Parse("spam { a", protos.NodeDef(), allow_unknown_field=True)


test_text_that_is_no_message_is_refused_with_the_line = refusing(
    ("name 'a'", "line 1: 'name' must be followed by ':'"),
    ("\nnmae: 'a'", "line 2: NodeDef has no field 'nmae'"),
    ("name: 3", "expected a value of type string"),
    ("name: 'a", "not a token of a text message"),
    ("attr { key: 'x'", "expected a field or '}', found 'the end'"),
    ("attr { key: 'x' value { type: DT_SPAM } }", "expected a value of type DataType"),
    ("attr { key: 'x' value { i: 99999999999999999999 } }", "a value of type int64"),
    ("attr { key: 'x' value { i: 1.5 } }", "a value of type int64"),
    ("name: '\\q'", "a value of type string"),
    ("}", "expected a field, found '}'"),
    ("spam { a", "NodeDef has no field 'spam'"),
    ("attr: 3", "expected '{'"),
    of=lambda text: text_format.Parse(text, protos.NodeDef()),
    error=InvalidArgumentError,
)


# ``SerializeToString(deterministic=True)`` of TensorFlow 2.21, for the messages of ``whole`` and ``steps``.
WHOLE = bytes.fromhex(
    "0a4a0a110a0161120c120a0a080000c03f000000400a160a016212111a0f0a0d01feffffffffffffffff01ac020a0d0a0163"
    "12080a060a0278ff0a000a050a016412000a070a016512021a00"
)


STEPS = bytes.fromhex("0a0c0a0a0a016b12051a030a0107121d0a140a016c120f0a051a030a01010a061a040a0202030a050a016d1200")


FILLED = bytes.fromhex("0a0e0a0c0a017112071a050a03050607")


def whole() -> Example:
    return Example(
        features=Features(
            feature={
                "b": Feature(int64_list=Int64List(value=[1, -2, 300])),
                "a": Feature(float_list=FloatList(value=[1.5, 2])),
                "c": Feature(bytes_list=BytesList(value=[b"x\xff", b""])),
                "d": Feature(),
                "e": Feature(int64_list=Int64List()),
            }
        )
    )


def steps() -> SequenceExample:
    return SequenceExample(
        context=Features(feature={"k": Feature(int64_list=Int64List(value=[7]))}),
        feature_lists=FeatureLists(
            feature_list={
                "l": FeatureList(
                    feature=[Feature(int64_list=Int64List(value=[1])), Feature(int64_list=Int64List(value=[2, 3]))]
                ),
                "m": FeatureList(),
            }
        ),
    )


@pytest.mark.parametrize(("message", "data"), [(whole(), WHOLE), (steps(), STEPS)])
def test_bytes_are_tensorflows_and_are_read_again(message: Any, data: bytes) -> None:
    assert message.SerializeToString() == data
    back = type(message).FromString(data)
    assert back == message
    assert back.SerializeToString() == data
    again = type(message)()
    assert again.ParseFromString(data) == len(data)
    assert again == message


def test_a_feature_says_which_list_it_is() -> None:
    features = whole().features.feature
    assert features["a"].WhichOneof("kind") == "float_list"
    assert features["e"].WhichOneof("kind") == "int64_list"
    assert features["d"].WhichOneof("kind") is None
    features["a"].bytes_list.value.append(b"x")
    assert features["a"].WhichOneof("kind") == "bytes_list"
    # Features are filled in by key.
    made = Example()
    made.features.feature["q"].int64_list.value.append(5)
    made.features.feature["q"].int64_list.value.extend([6, 7])
    assert made.SerializeToString() == FILLED
    assert list(made.features.feature["q"].int64_list.value) == [5, 6, 7]
    assert "q" in made.features.feature
    assert made != whole()
    made.CopyFrom(whole())
    assert made == whole()
    # Arrays are taken as values.
    assert list(Int64List(value=np.arange(3)).value) == [0, 1, 2]
    assert list(FloatList(value=np.array([0.5], np.float32)).value) == [0.5]


def test_a_message_is_shown_as_text() -> None:
    shown = repr(Feature(int64_list=Int64List(value=[1, 2]))).split()
    assert " ".join(shown) == "int64_list { value: 1 value: 2 }"
    assert 'key: "c"' in str(whole())


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: Int64List(value=[1.5]), TypeError),
        (lambda: Int64List(value=3), TypeError),
        (lambda: Int64List(value=[2**70]), ValueError),
        (lambda: BytesList(value=["text"]), TypeError),
        (lambda: FloatList(value=["x"]), TypeError),
        (lambda: Feature(int64_list=[1]), TypeError),
        (lambda: Features(feature={"a": 3}), TypeError),
        (lambda: Example(foo=1), ValueError),
        (lambda: Example.FromString(b"garbage"), DataLossError),
    ],
)
def test_what_a_message_cannot_hold_is_refused(build: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        build()


def filled() -> train.QueueRunner:
    queue = ops.FIFOQueue(4, float32, shapes=[[]], name="q")
    put = queue.enqueue(2.5)
    types = (OutOfRangeError, CancelledError)
    return train.QueueRunner(queue, [put, put], queue_closed_exception_types=types)


def test_a_queue_runner_is_the_names_of_its_operations() -> None:
    message: Any = interop.queue_runner_to_proto(filled())
    assert str(message).splitlines() == [
        'queue_name: "q"',
        'enqueue_op_name: "q_enqueue"',
        'enqueue_op_name: "q_enqueue"',
        'close_op_name: "q_Close"',
        'cancel_op_name: "q_Close_1"',
        "queue_closed_exception_types: OUT_OF_RANGE",
        "queue_closed_exception_types: CANCELLED",
    ]
    # What TensorFlow's own message of the same content is on the wire.
    assert message.SerializeToString() == (
        b'\n\x01q\x12\tq_enqueue\x12\tq_enqueue\x1a\x07q_Close"\tq_Close_1*\x02\x0b\x01'
    )


def test_a_queue_runner_is_made_of_names() -> None:
    given = filled()
    message = interop.queue_runner_to_proto(given)
    made = train.QueueRunner.from_proto(message)
    assert made.queue.queue_ref is given.queue.queue_ref
    assert (made.queue.dtypes, made.queue.shapes[0].as_list()) == ([float32], [])
    assert made.enqueue_ops == given.enqueue_ops
    assert (made.close_op, made.cancel_op) == (given.close_op, given.cancel_op)
    assert made.queue_closed_exception_types == given.queue_closed_exception_types
    with pytest.raises(ValueError, match="mutually exclusive"):
        train.QueueRunner(given.queue, queue_runner_def=message)


def test_names_of_a_scope_are_written_without_it(graph: acts.Graph) -> None:
    with graph.name_scope("here"):
        runner = filled()
    message: Any = interop.queue_runner_to_proto(runner, export_scope="here")
    assert (message.queue_name, message.close_op_name) == ("q", "q_Close")
    assert interop.queue_runner_to_proto(runner, export_scope="elsewhere") is None
    assert train.QueueRunner(queue_runner_def=message, import_scope="here").queue.queue_ref is runner.queue.queue_ref


def test_a_saver_is_the_names_of_its_nodes() -> None:
    ops.Variable(1.0, name="v")
    saver = train.Saver(max_to_keep=3)
    message: Any = interop.saver_to_proto(saver)
    assert message.save_tensor_name == "save/control_dependency:0"
    assert (message.restore_op_name, message.max_to_keep) == ("save/restore_all", 3)
    assert interop.saver_to_proto(saver.saver_def) == message
    assert interop.saver_to_proto(saver, export_scope="other") is None
    assert interop.saver_to_proto(None) is None
    inner: Any = interop.saver_to_proto(saver, export_scope="save")
    assert inner.restore_op_name == "restore_all"
    assert within_scope(inner, "save") == message
    assert interop.saver_to_proto(train.Saver(defer_build=True)) is None


def test_both_stand_in_meta_graphs(tmp_path: Any) -> None:
    with Graph().as_default() as graph:
        v = ops.Variable(1.0, name="v")
        runner = filled()
        train.add_queue_runner(runner)
        runner.queue.dequeue(name="take")
        saver = train.Saver()
        graph.add_to_collection(GraphKeys.SAVERS, saver)
        with Session() as session:
            session.run(v.initializer)
            path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        message = interop.export_meta_graph()
    message = interop.MetaGraphDef.FromString(message.SerializeToString())
    with Graph().as_default() as graph:
        interop.import_meta_graph(message, import_scope="again")
        (saver,) = graph.get_collection(GraphKeys.SAVERS)
        with Session() as session:
            saver.restore(session, path)
            assert session.run("again/v/Read/ReadVariableOp:0") == 1.0
            coord = train.Coordinator()
            threads = train.start_queue_runners(session, coord)
            assert session.run("again/take:0") == 2.5
            coord.request_stop()
            coord.join(threads)


def test_a_node_alone_is_as_it_is_in_its_graph(graph: Graph) -> None:
    x = ops.placeholder("float32", [2], name="x")
    with graph.device("/cpu:1"), graph.control_dependencies([ops.no_op(name="first")]):
        ops.negative(x, name="y")
    whole = {node.name: node for node in graph_def_of(graph).node}
    for op in graph.get_operations():
        assert op.node_def == whole[op.name]
    assert list(whole["y"].input) == ["x", "^first"]
    made = ops.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    (loop,) = [op for op in made.graph.get_operations() if op.type == "While"]
    assert loop.node_def.attr["body"].func.name == f"{loop.name}_body"
    assert loop.get_attr("T") == [int32]
    made = ops.constant(["a", "b"]).op
    assert made.get_attr("dtype") is string
    assert acts.io.make_ndarray(made.get_attr("value")).tolist() == [b"a", b"b"]


@pytest.mark.parametrize(
    ("value", "given"),
    [
        ("text", b"text"),
        ((1, 2), [1, 2]),
        (("a", b"b"), [b"a", b"b"]),
        (np.int64(3), 3),
        (True, True),
        (0.5, 0.5),
        (float32, float32),
        ((), []),
    ],
    ids=str,
)
def test_attributes_that_only_this_library_has_are_given_likewise(value: Any, given: Any, graph: Graph) -> None:
    found = graph.create_op("NoOp", attrs={"_own": value}).get_attr("_own")
    assert (found, type(found)) == (given, type(given))


@pytest.mark.parametrize("shape", [None, [], [2, None]], ids=str)
def test_shapes_are_messages_and_are_made_of_them(shape: Any) -> None:
    proto = TensorShape(shape).as_proto()
    assert proto.unknown_rank is (shape is None)
    assert [dim.size for dim in proto.dim] == [-1 if d is None else d for d in shape or ()]
    assert TensorShape(proto) == TensorShape(shape)


def test_a_type_says_its_inputs_outputs_and_attributes() -> None:
    product = ops.matmul([[1.0]], [[2.0]]).op.op_def
    assert [(arg.name, arg.type_attr) for arg in product.input_arg] == [("a", "T"), ("b", "T")]
    assert [arg.name for arg in product.output_arg] == ["product"]
    attrs = {attr.name: attr for attr in product.attr}
    assert (attrs["transpose_a"].type, attrs["transpose_a"].default_value.b) == ("bool", False)
    assert not attrs["T"].HasField("default_value")
    (inputs,) = ops.add_n([1.0, 2.0]).op.op_def.input_arg
    assert (inputs.type_attr, inputs.number_attr) == ("T", "N")
    queue = ops.FIFOQueue(3, [float32]).enqueue([1.0]).op_def
    assert (queue.name, queue.is_stateful) == ("QueueEnqueueV2", True)
    assert [(a.name, a.type, a.type_list_attr) for a in queue.input_arg] == [
        ("handle", 20, ""),
        ("components", 0, "Tcomponents"),
    ]
    for name in registered_ops():
        op_def = lookup(name)
        assert all(arg.name for arg in [*op_def.input_arg, *op_def.output_arg]), name
        assert len({attr.name for attr in op_def.attr}) == len(op_def.attr), name


def test_what_was_written_as_a_message_is_found_again() -> None:
    with name_scope("outer"):
        v = ops.Variable(3.0, name="v", trainable=False)
    message = v.to_proto()
    assert (message.variable_name, message.is_resource, message.trainable) == ("outer/v:0", True, False)
    assert ops.Variable.from_proto(message) is v
    with pytest.raises(KeyError), Graph().as_default():
        ops.Variable.from_proto(message)
    v = ops.Variable(3.0, name="v")
    message, stored = v.to_proto(), graph_def_of(v.graph)
    with Graph().as_default():
        import_graph_def(stored, name="copy")
        copy = ops.Variable.from_proto(message, import_scope="copy")
        with Session() as sess:
            sess.run(copy.initializer)
            assert sess.run(copy) == 3.0
        assert copy.to_proto("copy") == message
    v = ops.Variable(3.0, name="v")
    queue = ops.FIFOQueue(3, float32)
    runner = train.QueueRunner(queue, [queue.enqueue(1.0)])
    assert (v.to_proto("other"), runner.to_proto("other")) == (None, None)
    queue = ops.FIFOQueue(3, float32, name="q")
    runner = train.QueueRunner(queue, [queue.enqueue(1.0)])
    message = runner.to_proto()
    assert (message.queue_name, list(message.enqueue_op_name)) == ("q", ["q_enqueue"])
    assert train.QueueRunner.from_proto(message).enqueue_ops == runner.enqueue_ops


NUMBERS = [
    np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8,
    np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128,
]  # fmt: skip


def tensor(dtype: str, shape: list[int], **values: Any) -> TensorProto:
    made = TensorProto(dtype=DATA_TYPES[dtype], **values)
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_arrays_come_back_as_they_were(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    found = acts.io.make_ndarray(TensorProto.FromString(acts.io.make_tensor_proto(array).SerializeToString()))
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.flags.writeable
    np.testing.assert_array_equal(found, array)


def test_strings_and_numbers_come_back_as_tensorflow_reads_them() -> None:
    found = acts.io.make_ndarray(acts.io.make_tensor_proto(np.array([["a", b"\xff\x00"]], dtype=object)))
    assert found.tolist() == [[b"a", b"\xff\x00"]]
    assert acts.io.make_ndarray(acts.io.make_tensor_proto("é")).item() == "é".encode()
    assert acts.io.make_ndarray(tensor("DT_STRING", [3], string_val=[b"a", b"b"])).tolist() == [b"a", b"b", b"b"]
    assert acts.io.make_ndarray(tensor("DT_STRING", [1])).tolist() == [b""]
    assert acts.io.make_tensor_proto(1).dtype == DATA_TYPES["DT_INT32"]
    assert acts.io.make_tensor_proto(2**40).dtype == DATA_TYPES["DT_INT64"]
    assert acts.io.make_tensor_proto([1.5]).dtype == DATA_TYPES["DT_FLOAT"]
    assert acts.io.make_tensor_proto(np.float64(1)).dtype == DATA_TYPES["DT_DOUBLE"]
    assert acts.io.make_tensor_proto(1, "int8").dtype == DATA_TYPES["DT_INT8"]
    # Fewer values than the shape has are repeated.
    assert acts.io.make_ndarray(acts.io.make_tensor_proto([1, 2], shape=[4])).tolist() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="has 1 elements, got 2"):
        acts.io.make_tensor_proto([1, 2], shape=[1])
    with pytest.raises(TypeError, match=r"shape \(4,\) were requested"):
        acts.io.make_tensor_proto([1, 2], shape=[4], verify_shape=True)


@pytest.mark.parametrize(
    ("proto", "expected"),
    [
        (tensor("DT_FLOAT", [3], float_val=[1.5]), np.full(3, 1.5, np.float32)),
        (tensor("DT_FLOAT", [4], float_val=[1.0, 2.0]), np.array([1, 2, 2, 2], np.float32)),
        (tensor("DT_INT32", [2, 2]), np.zeros((2, 2), np.int32)),
        (tensor("DT_INT8", [2], int_val=[-1, 3]), np.array([-1, 3], np.int8)),
        (tensor("DT_UINT16", [1], int_val=[65535]), np.array([65535], np.uint16)),
        (tensor("DT_INT64", [], int64_val=[-(2**63)]), np.array(-(2**63))),
        (tensor("DT_UINT64", [1], uint64_val=[2**64 - 1]), np.array([2**64 - 1], np.uint64)),
        (tensor("DT_UINT32", [1], uint32_val=[2**32 - 1]), np.array([2**32 - 1], np.uint32)),
        (tensor("DT_BOOL", [2], bool_val=[True]), np.array([True, True])),
        (tensor("DT_HALF", [2], half_val=[0x3E00, 0xC000]), np.array([1.5, -2], np.float16)),
        (tensor("DT_BFLOAT16", [2], half_val=[0x3FC0]), np.array([1.5, 1.5], ml_dtypes.bfloat16)),
        (tensor("DT_DOUBLE", [1], double_val=[0.1]), np.array([0.1])),
        (tensor("DT_COMPLEX64", [2], scomplex_val=[1, 2]), np.full(2, 1 + 2j, np.complex64)),
        (tensor("DT_COMPLEX128", [1], dcomplex_val=[1, -2]), np.array([1 - 2j])),
        (tensor("DT_FLOAT_REF", [1], float_val=[2.0]), np.array([2.0], np.float32)),
    ],
    ids=lambda value: "",
)
def test_lists_of_elements_are_read_and_the_last_one_repeats(proto: TensorProto, expected: Any) -> None:
    found = acts.io.make_ndarray(proto)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


test_shapes_and_elements_that_do_not_fit_are_refused = refusing(
    (tensor("DT_FLOAT", [2], tensor_content=bytes(9)), "needs 8 bytes, got 9"),
    (tensor("DT_FLOAT", [1], float_val=[1, 2]), "has 1 elements, got 2"),
    (tensor("DT_FLOAT", [-1], float_val=[1]), "must be fully known"),
    (tensor("DT_FLOAT", [-2], float_val=[1]), "each at least -1"),
    (tensor("DT_FLOAT", [1] * 65, float_val=[1]), "at most 64 sizes"),
    (tensor("DT_FLOAT", [2**40], float_val=[1]), "the limit for such tensors is 2147483648 bytes"),
    (tensor("DT_FLOAT", [2**62, 2**62]), "the limit for such tensors is 2147483648 bytes"),
    (tensor("DT_STRING", [1], tensor_content=b"abcdefgh"), "cannot be stored in tensor_content"),
    (tensor("DT_COMPLEX64", [1], scomplex_val=[1]), "needs pairs of values"),
    of=acts.io.make_ndarray,
    error=InvalidArgumentError,
)


@pytest.mark.parametrize("dtype", ["DT_VARIANT", "DT_RESOURCE", "DT_INVALID"])
def test_element_types_that_do_not_exist_here_are_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match="a tensor of"):
        acts.io.make_ndarray(tensor(dtype, []))


@pytest.mark.parametrize("value", [object(), [1, "a", object()]], ids=["object", "mixed"])
def test_what_is_no_tensor_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="numbers or strings"):
        acts.io.make_tensor_proto(value)


def test_none_is_refused_and_a_message_is_returned_as_it_is() -> None:
    with pytest.raises(ValueError, match="None cannot be converted"):
        acts.io.make_tensor_proto(None)
    proto = acts.io.make_tensor_proto(3)
    assert acts.io.make_tensor_proto(proto) is proto


@given(st.lists(st.integers(-1, 2**62), max_size=3), st.binary(max_size=20))
def test_any_shape_and_content_is_an_array_or_an_error(shape: list[int], content: bytes) -> None:
    proto = tensor("DT_INT32", [min(s, 2**20) if not content else s for s in shape[:1]])
    proto.tensor_content = content
    fits = len(content) == 4 * int(np.prod([float(d.size) for d in proto.tensor_shape.dim]))
    known = all(dim.size >= 0 for dim in proto.tensor_shape.dim)
    if known and (fits or not content):
        assert acts.io.make_ndarray(proto).dtype == np.int32
    else:
        with pytest.raises(InvalidArgumentError, match="shape"):
            acts.io.make_ndarray(proto)
