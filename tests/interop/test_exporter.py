"""Graphs as TensorFlow's ``GraphDef``: the attributes that TensorFlow wants, files, and what has no form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.extend import REQUIRED, registered_ops
from actorsession.graph.op_signatures import opsets, tensorflow_signature
from actorsession.graph.registry import lookup
from actorsession.interop import GraphDef, graph_def_of, text_format, write_graph
from actorsession.interop.enums import DATA_TYPES
from actorsession.interop.import_plan import RENAMED
from actorsession.interop.own_types import _TYPES
from actorsession.interop.signatures import GRAPH_DEF_VERSION
from actorsession.plan.references import HANDLE_OF
from tests.interop.kit import run_imported


def exported(graph: acts.Graph, name: str) -> Any:
    return next(node for node in graph_def_of(graph).node if node.name == name)


def test_types_and_numbers_of_inputs_become_attributes(graph: acts.Graph) -> None:
    x = acts.placeholder(acts.float64, [2, None], name="x")
    acts.concat([x, x, x], 0, name="c")
    node = exported(graph, "c")
    assert (node.op, list(node.input)) == ("ConcatV2", ["x", "x", "x", "c/axis"])
    assert {key: node.attr[key].WhichOneof("value") for key in node.attr} == {"N": "i", "T": "type", "Tidx": "type"}
    assert node.attr["N"].i == 3
    assert (node.attr["T"].type, node.attr["Tidx"].type) == (2, 3)


def test_outputs_control_inputs_and_devices_are_written(graph: acts.Graph) -> None:
    x = acts.placeholder(acts.float32, [4], name="x")
    parts = acts.split(x, 2, name="s")
    with acts.control_dependencies([x]), acts.device("/cpu:1"):
        acts.identity(parts[1], name="i")
    node = exported(graph, "i")
    assert (list(node.input), node.device) == (["s:1", "^x"], "/device:CPU:1")
    # The version of the form is written.
    assert graph_def_of(graph).versions.producer == GRAPH_DEF_VERSION


def test_groups_of_colocation_are_written_as_bytes(graph: acts.Graph) -> None:
    acts.Variable(1.0, name="v").assign_add(2.0, name="up")
    update = next(node for node in graph_def_of(graph).node if node.op == "AssignAddVariableOp")
    assert list(update.attr["_class"].list.s) == [b"loc:@v"]
    assert set(update.attr) == {"_class", "dtype"}


def test_the_first_operations_can_be_left_out(graph: acts.Graph) -> None:
    x = acts.placeholder(acts.float32, name="x")
    count = len(graph.get_operations())
    acts.identity(x, name="y")
    assert [node.name for node in graph_def_of(graph, after=count).node] == ["y"]


def test_shapes_are_written_if_asked_for(graph: acts.Graph) -> None:
    acts.placeholder(acts.float32, [2, None], name="x")
    assert "_output_shapes" not in exported(graph, "x").attr
    (node,) = graph_def_of(graph, add_shapes=True).node
    (shape,) = node.attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [2, -1]


def test_constants_are_written_whole(graph: acts.Graph) -> None:
    acts.constant(np.arange(6, dtype=np.int8).reshape(2, 3), name="c")
    node = exported(graph, "c")
    assert node.attr["dtype"].type == DATA_TYPES["DT_INT8"]
    np.testing.assert_array_equal(acts.io.make_ndarray(node.attr["value"].tensor), [[0, 1, 2], [3, 4, 5]])


def test_a_training_graph_comes_back_the_same(graph: acts.Graph) -> None:
    x = acts.placeholder(acts.float32, [None, 3], name="x")
    w = acts.Variable(np.ones((3, 2), np.float32), name="w")
    loss = acts.reduce_mean(acts.square(acts.matmul(x, w) - 1.0), name="loss")
    acts.train.AdamOptimizer(0.1).minimize(loss, name="train")
    written = graph_def_of(graph, add_shapes=True)
    read = GraphDef.FromString(written.SerializeToString())
    with acts.Graph().as_default() as other:
        acts.import_graph_def(read, name="")
    assert graph_def_of(other, add_shapes=True) == written
    assert [op.plain.outputs for op in other.get_operations()] == [op.plain.outputs for op in graph.get_operations()]
    feeds = {"x:0": np.ones((2, 3), np.float32)}
    values = []
    for built in (graph, other):
        starts = [op for op in built.get_operations() if op.name.endswith("/Assign")]
        with acts.Session(graph=built) as session:
            session.run(starts)
            session.run("train", feeds)
            values.append(session.run("loss:0", feeds))
    assert values[0] == values[1]


@pytest.mark.parametrize("as_text", [True, False])
def test_a_graph_in_a_file_is_read_again(graph: acts.Graph, tmp_path: Path, as_text: bool) -> None:
    acts.constant([1.5, 2.5], name="c")
    path = write_graph(graph, tmp_path / "new", "graph.pb", as_text)
    assert path == str(tmp_path / "new" / "graph.pb")
    content = Path(path).read_bytes()
    read = text_format.Parse(content, GraphDef()) if as_text else GraphDef.FromString(content)
    assert read == graph_def_of(graph)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["graph.pb"]


def test_messages_and_plain_graphs_are_written_too(graph: acts.Graph, tmp_path: Path) -> None:
    acts.constant(1.0, name="c")
    for form in (graph_def_of(graph), graph.as_graph_def()):
        path = write_graph(form, tmp_path, "g.pbtxt")
        assert text_format.Parse(Path(path).read_text(), GraphDef()) == graph_def_of(graph)


def test_types_that_tensorflow_has_take_the_attributes_that_it_has() -> None:
    """A required attribute of ours is one of TensorFlow's, or follows from what the node reads."""
    known = {"shape", *RENAMED}  # the shape is that of what is behind a handle
    lost = {
        name: sorted(needed)
        for name in registered_ops()
        if (signature := tensorflow_signature(name)) is not None
        and (needed := _required(name) - set(signature.attrs) - known)
    }
    assert lost == {}
    assert tensorflow_signature("Spam") is None


def _required(name: str) -> set[str]:
    return {key for key, value in lookup(name).attrs.items() if value is REQUIRED}


@pytest.mark.parametrize("name", ["Sum", "ConcatV2", "Const", "While", "VarHandleOp", "TopKV2"])
def test_a_signature_reads_as_tensorflow_registers_it(name: str) -> None:
    found = tensorflow_signature(name)
    assert found is not None
    if name == "Sum":
        assert [(a.name, a.type) for a in found.inputs] == [("input", "T"), ("reduction_indices", "Tidx")]
        assert found.attrs["keep_dims"].default is False
        assert found.attrs["Tidx"].default is acts.int32
    if name == "ConcatV2":
        assert found.inputs[0].number == "N"
    if name == "While":
        assert found.inputs[0].is_list
    if name == "VarHandleOp":
        assert found.attrs["allowed_devices"].default == ()


@pytest.mark.parametrize("axes", [[1, -3], -1, []], ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_gradients_of_reductions_are_written_in_types_of_tensorflow(axes: Any, dtype: str) -> None:
    """The axes are not known before the step, in a function as well."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, None, name="x")
        given = acts.placeholder(acts.as_dtype(dtype), None, name="axes")

        @acts.flow.Defun(acts.float32, acts.as_dtype(dtype))
        def slope(x: Any, axes: Any) -> Any:
            return acts.gradients(acts.reduce_sum(x, axes) ** 2.0, x)[0]

        acts.identity(acts.gradients(acts.reduce_max(x, given) ** 2.0, x)[0], name="top")
        acts.identity(slope(x, given), name="inside")
        written = GraphDef.FromString(graph_def_of(graph, add_shapes=True).SerializeToString())
        feeds = {"x:0": np.arange(24.0).reshape(2, 3, 4), "axes:0": axes}
        wanted = acts.Session(graph=graph).run(["top:0", "inside:0"], feeds)
    inside = [node for function in written.library.function for node in function.node_def]
    types = {node.op for node in (*written.node, *inside)}
    assert "DynamicStitch" in types
    assert "ReducedShape" not in types
    np.testing.assert_array_equal(run_imported(written, ["top:0", "inside:0"], feeds), wanted)


OF_PLANS = {"TemporaryHandle", "_DebugNumerics", "_DebugWatch"}


def test_every_type_of_ours_is_written_in_types_of_tensorflow() -> None:
    names = [name for types in opsets().values() for name in types]
    ours = {name for name in names if tensorflow_signature(name) is None}
    assert ours - OF_PLANS == {"AsyncPyFunc", "ReducedShape", "ReferenceHandle"} == {*_TYPES, HANDLE_OF}


def _types(message: GraphDef) -> set[str]:
    inside = [node for function in message.library.function for node in function.node_def]
    return {node.op for node in (*message.node, *inside)}


def test_a_function_that_is_awaited_is_known_to_its_process_after_an_import() -> None:
    async def twice(x: Any) -> Any:
        return x * 2

    with acts.Graph().as_default() as graph:
        acts.identity(acts.async_py_func(twice, [acts.constant(2.0)], acts.float32), name="out")
        written = graph_def_of(graph)
        assert "EagerPyFunc" in _types(written)
        assert run_imported(written, ["out:0"]) == [4.0]


def _case_message(op: str) -> GraphDef:
    """A ``Case`` of three branches of two arguments, of which the last has such a ``Case`` itself."""
    names = ["twice", "minus", "again"]
    function = """
        function {{
          signature {{ name: "{name}"
            input_arg {{ name: "a" type: DT_FLOAT }} input_arg {{ name: "b" type: DT_FLOAT }}
            output_arg {{ name: "r" type: DT_FLOAT }} output_arg {{ name: "s" type: DT_FLOAT }} }}
          {nodes} ret {{ key: "r" value: "{r}" }} ret {{ key: "s" value: "{s}" }} }}"""
    node = 'node_def {{ name: "{name}" op: "{op}" {inputs} attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}'
    case = """{key} {{ name: "{name}" op: "{op}" {inputs}
        attr {{ key: "Tin" value {{ list {{ type: [DT_FLOAT, DT_FLOAT] }} }} }}
        attr {{ key: "Tout" value {{ list {{ type: [DT_FLOAT, DT_FLOAT] }} }} }}
        attr {{ key: "branches" value {{ list {{ {branches} }} }} }} }}"""

    def inputs(*refs: str) -> str:
        return " ".join([f'input: "{ref}"' for ref in refs])

    def called(which: list[str]) -> str:
        return " ".join([f'func {{ name: "{name}" }}' for name in which])

    one = node.format(name="one", op="AddV2", inputs=inputs("a", "a"))
    two = node.format(name="two", op="Sub", inputs=inputs("b", "a"))
    number = """node_def { name: "n" op: "Cast" input: "a"
        attr { key: "SrcT" value { type: DT_FLOAT } } attr { key: "DstT" value { type: DT_INT32 } } }"""
    inner = case.format(key="node_def", name="in", op=op, inputs=inputs("n:y:0", "b", "a"), branches=called(names[:2]))
    text = [
        "library {",
        function.format(name="twice", nodes=one, r="one:z:0", s="b"),
        function.format(name="minus", nodes=two, r="a", s="two:z:0"),
        function.format(name="again", nodes=number + inner, r="in:output:0", s="in:output:1"),
        "}",
        *[
            f'node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {kind} }} }} }}'
            for name, kind in (("k", "DT_INT32"), ("x", "DT_FLOAT"), ("y", "DT_FLOAT"))
        ],
        case.format(key="node", name="c", op=op, inputs=inputs("k", "x", "y"), branches=called(names)),
    ]
    return text_format.Parse("\n".join(text), GraphDef())


@pytest.mark.parametrize("op", ["Case", "StatelessCase"])
def test_an_imported_case_is_exported_as_one(op: str) -> None:
    message = _case_message(op)
    wanted = {0: (2, 2), 1: (1, 1), 2: (2, -1), 5: (2, -1), -1: (2, -1)}
    for _ in range(3):
        for k, values in wanted.items():
            assert tuple(run_imported(message, ["c:0", "c:1"], {"k:0": k, "x:0": 1.0, "y:0": 2.0})) == values
        with acts.Graph().as_default() as graph:
            acts.import_graph_def(message, name="")
            message = graph_def_of(graph)
        assert {kind for kind in _types(message) if re.search("If|Case|Select|Less", kind)} == {op}
        assert [node.name for node in message.node] == ["k", "x", "y", "c"]
        inside = [[n.op for n in f.node_def] for f in message.library.function]
        assert sum([ops.count(op) for ops in inside]) == 1


def test_a_case_without_results_is_exported_as_one() -> None:
    text = """
        library { function { signature { name: "add" input_arg { name: "v" type: DT_RESOURCE }
              input_arg { name: "d" type: DT_FLOAT } }
            node_def { name: "a" op: "AssignAddVariableOp" input: "v" input: "d"
              attr { key: "dtype" value { type: DT_FLOAT } } } control_ret { key: "a" value: "a" } }
          function { signature { name: "none" input_arg { name: "v" type: DT_RESOURCE }
              input_arg { name: "d" type: DT_FLOAT } } } }
        node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "v" } } }
        node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
        node { name: "init" op: "AssignVariableOp" input: "v" input: "one"
          attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "k" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
        node { name: "c" op: "Case" input: "k" input: "v" input: "one"
          attr { key: "Tin" value { list { type: [DT_RESOURCE, DT_FLOAT] } } }
          attr { key: "Tout" value { list { } } }
          attr { key: "branches" value { list {
            func { name: "none" } func { name: "add" } func { name: "none" } } } } }
        node { name: "r" op: "ReadVariableOp" input: "v"
          attr { key: "dtype" value { type: DT_FLOAT } } }"""
    message = text_format.Parse(text, GraphDef())
    for _ in range(2):
        with acts.Graph().as_default() as graph:
            acts.import_graph_def(message, name="")
            message = graph_def_of(graph)
            assert "If" not in _types(message)
            with acts.Session(graph=graph) as session:
                session.run("init")
                for k in (0, 1, 2, 1, 7):
                    session.run("c", {"k:0": k})
                assert session.run("r:0") == 3.0
