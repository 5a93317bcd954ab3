"""Meta graphs: collections and variables that come back, parts of graphs, and variables as constants."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import graph_util
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.interop import (
    GraphDef,
    MetaGraphDef,
    export_meta_graph,
    graph_def_of,
    import_meta_graph,
    protos,
    read_meta_graph,
    register_proto_function,
    text_format,
    variable_from_proto,
    variable_to_proto,
)
from actorsession.interop.tabled import message_class
from tests.interop.kit import FLOAT, PLACEHOLDER, graph_def, identity, run_imported


def a_graph() -> acts.Graph:
    with acts.Graph().as_default() as graph:
        v = acts.Variable([1.0, 2.0], name="v")
        acts.Variable(3, trainable=False, name="steps")
        values = {"nodes": v * 2.0, "mine": v, "ops": v.initializer, "words": "spam", "numbers": 3, "floats": 0.5}
        for key, value in values.items():
            acts.add_to_collection(key, value)
    return graph


def test_collections_come_back_in_another_graph() -> None:
    meta = MetaGraphDef.FromString(export_meta_graph(graph=a_graph()).SerializeToString())
    with acts.Graph().as_default() as graph:
        found = import_meta_graph(meta, import_scope="in")
        values = {key: graph.get_collection(key) for key in graph.get_all_collection_keys()}
    assert sorted(found.variables) == ["steps:0", "v:0"]
    v = found.variables["v:0"]
    assert values["variables"] == [v, found.variables["steps:0"]]
    assert values["trainable_variables"] == [v]
    assert values["mine"] == [v]
    assert values["nodes"][0].name == "in/mul:0"
    assert values["ops"] == [v.initializer]
    assert (values["words"], values["numbers"], values["floats"]) == (["in/spam"], [3], [0.5])
    meta = export_meta_graph(graph=a_graph())
    with acts.Graph().as_default() as graph:
        v = import_meta_graph(meta).variables["v:0"]
        assert (v.name, v.dtype, v.shape.as_list(), v.trainable) == ("v:0", acts.float32, [2], True)
        up = v.assign_add([1.0, 1.0])
        with acts.Session(graph=graph) as session:
            session.run(v.initializer)
            assert session.run(up).tolist() == [2.0, 3.0]
            assert session.run(v).tolist() == [2.0, 3.0]
    with acts.Graph().as_default() as graph, acts.name_scope("in"):
        v = acts.Variable(1.0, name="v")
    proto = variable_to_proto(v, export_scope="in")
    assert (proto.variable_name, proto.initializer_name, proto.is_resource) == ("v:0", "v/Assign", True)
    again = variable_from_proto(proto, graph, import_scope="in")
    assert (again.handle, again.initializer, again.initial_value) == (v.handle, v.initializer, v.initial_value)
    proto.variable_name = proto.initial_value_name
    with pytest.raises(ValueError, match="a variable is a VarHandleOp or a VariableV2"):
        variable_from_proto(proto, graph, import_scope="in")


@pytest.mark.parametrize("as_text", [True, False])
def test_a_meta_graph_in_a_file_is_read_again(tmp_path: Path, as_text: bool) -> None:
    saver = protos.SaverDef(filename_tensor_name="save/Const:0", max_to_keep=5, version=2)
    made = export_meta_graph(
        tmp_path / "g.meta", graph=a_graph(), as_text=as_text, saver_def=saver, collection_list=["words"]
    )
    assert read_meta_graph(tmp_path / "g.meta") == made
    assert list(made.collection_def) == ["words"]
    with acts.Graph().as_default():
        found = import_meta_graph(str(tmp_path / "g.meta"))
    assert found.saver_def == saver
    assert found.variables == {}


def test_a_file_in_neither_form_is_refused(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "g.meta").write_bytes(b"\xff\xfe spam")
    with pytest.raises(InvalidArgumentError):
        read_meta_graph(tmp_path / "g.meta")
    with pytest.raises(FileNotFoundError):
        import_meta_graph(tmp_path / "none.meta")
    # What no message can hold is left out with a warning.
    graph = a_graph()
    graph.add_to_collection("odd", object())
    with caplog.at_level(logging.WARNING, logger="actorsession"):
        made = export_meta_graph(graph=graph)
    assert "odd" not in made.collection_def
    assert "collection 'odd' cannot be exported" in caplog.text


def test_a_collection_of_other_objects_has_functions_of_its_own() -> None:
    def write(value: complex, export_scope: str | None = None) -> protos.SaveSliceInfoDef:
        return protos.SaveSliceInfoDef(full_name=str(value))

    def read(message: protos.SaveSliceInfoDef, import_scope: str | None = None) -> complex:
        return complex(message.full_name)

    register_proto_function("complex ones", protos.SaveSliceInfoDef, write, read)
    with acts.Graph().as_default() as graph:
        graph.add_to_collection("complex ones", 1 + 2j)
        meta = export_meta_graph()
    with acts.Graph().as_default() as graph:
        import_meta_graph(meta)
        assert graph.get_collection("complex ones") == [1 + 2j]
    with pytest.raises(TypeError, match="must be functions"):
        register_proto_function("x", to_proto=3)  # type: ignore[arg-type]


def test_devices_can_be_left_out() -> None:
    with acts.Graph().as_default() as graph, acts.device("/job:ps"):
        acts.constant(1.0, name="c")
        kept, cleared = export_meta_graph(), export_meta_graph(clear_devices=True)
    assert [n.device for n in kept.graph_def.node] == ["/job:ps"]
    assert [n.device for n in cleared.graph_def.node] == [""]
    with acts.Graph().as_default() as graph:
        import_meta_graph(kept, clear_devices=True)
        assert [op.device for op in graph.get_operations()] == [""]
    info = export_meta_graph(graph=a_graph()).meta_info_def
    assert info.tensorflow_version
    assert "VarHandleOp" in [op.name for op in info.stripped_op_list.op]


# As TensorFlow 1 wrote them: a conditional in a conditional, and a loop. Field 99 is of no version.
CONTEXTS = {
    "cond_context": """
        context_name: "part/cond/cond_text" pred_name: "part/cond/pred_id:0" branch: 1
        pivot_name: "part/cond/switch_t:0"
        values_def { values: "part/y:0" external_values { key: "part/cond/Switch:1" value: "part/y:0" } }
        nested_contexts { cond_ctxt { context_name: "part/cond/inner/" pred_name: "part/p:0" } }
    """,
    "while_context": """
        context_name: "part/while/while_context" parallel_iterations: 7 back_prop: true
        pivot_name: "part/while/LoopCond:0" loop_exit_names: "part/while/Exit:0"
        maximum_iterations_name: "part/most:0" values_def { values: "part/while/Merge:0" }
    """,
}
_CLASSES = {"cond_context": "CondContextDef", "while_context": "WhileContextDef"}
LATER = b"\x98\x06\x07"  # field 99 with the number 7


def contexts(within: str) -> dict[str, bytes]:
    """The contexts with their names within another scope than ``part``."""
    return {
        key: text_format.Parse(text.replace('"part/', f'"{within}'), message_class(_CLASSES[key])()).SerializeToString()
        + LATER
        for key, text in CONTEXTS.items()
    }


def written(graph: acts.Graph, **options: Any) -> dict[str, bytes]:
    """The contexts in a meta graph of a graph."""
    read = MetaGraphDef.FromString(export_meta_graph(graph=graph, **options).SerializeToString())
    found = {key: read.collection_def[key].bytes_list.value for key in CONTEXTS}
    return {key: values[0] for key, values in found.items() if values}


def test_contexts_of_control_flow_are_kept_with_names_of_their_scope() -> None:
    message = MetaGraphDef()
    for key, value in contexts("part/").items():
        message.collection_def[key].bytes_list.value.append(value)
    with acts.Graph().as_default() as graph:
        import_meta_graph(message)
        assert written(graph) == contexts("part/")
        assert written(graph, export_scope="part") == contexts("")
        assert written(graph, export_scope="other") == {}
    with acts.Graph().as_default() as graph:
        import_meta_graph(message, import_scope="in/side")
        assert written(graph) == contexts("in/side/part/")


CHAIN = PLACEHOLDER + identity("b", "a") + identity("c", "b:0") + identity("other", "a")


def names(message: GraphDef) -> list[str]:
    return [node.name for node in message.node]


def test_a_part_is_what_its_nodes_need_in_their_order() -> None:
    message = graph_def(CHAIN + "node { name: 'n' op: 'NoOp' input: '^b' } versions { producer: 7 }")
    part = graph_util.extract_sub_graph(message, ["n"])
    assert (names(part), part.versions.producer) == (["a", "b", "n"], 7)
    part.node[0].name = "changed"
    assert message.node[0].name == "a"
    # A part of what is not there is refused.
    with pytest.raises(AssertionError, match="zz is not in the graph"):
        graph_util.extract_sub_graph(graph_def(CHAIN), ["zz"])
    with pytest.raises(TypeError, match="must be a list of names"):
        graph_util.extract_sub_graph(graph_def(CHAIN), "a")
    with pytest.raises(TypeError, match="graph_def must be a GraphDef"):
        graph_util.extract_sub_graph(object(), ["a"])


def test_nodes_for_training_alone_are_taken_out() -> None:
    text = CHAIN + f"node {{ name: 'd' op: 'Exp' input: 'c' {FLOAT} }}"
    made = graph_util.remove_training_nodes(graph_def(text), protected_nodes=["other"])
    assert names(made) == ["a", "other", "d"]
    assert list(made.node[2].input) == ["a"]
    # Nodes that control inputs lead to or from stay.
    text = CHAIN + "node { name: 'n' op: 'NoOp' input: '^b' }" + identity("e", "c", "^n")
    made = graph_util.remove_training_nodes(graph_def(text))
    assert names(made) == ["a", "b", "n", "e"]
    assert list(made.node[3].input) == ["b:0", "^n"]


def test_variables_become_constants_with_their_values() -> None:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        x = acts.placeholder(acts.float32, [None, 2], name="x")
        w, b = acts.Variable(np.ones((2, 2), np.float32), name="w"), acts.Variable([1.0, 2.0], name="b")
        acts.identity(acts.matmul(x, w) + b, name="y")
        acts.train.GradientDescentOptimizer(1.0).minimize(acts.reduce_sum(acts.matmul(x, w)))
        session.run(acts.global_variables_initializer())
        session.run(w.assign([[1.0, 2.0], [3.0, 4.0]]))
        frozen = graph_util.convert_variables_to_constants(session, graph, ["y"])
        half = graph_util.convert_variables_to_constants(session, graph_def_of(graph), ["y"], ["w"])
        rest = graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["y"], variable_names_blacklist=["w"]
        )
    assert {n.op for n in frozen.node} <= {"Const", "Identity", "MatMul", "Placeholder", "Add", "AddV2"}
    kinds = {n.name: n.op for n in half.node}
    assert (kinds["w"], kinds["b"]) == ("Const", "VarHandleOp")
    kinds = {n.name: n.op for n in rest.node}
    assert (kinds["w"], kinds["b"]) == ("VarHandleOp", "Const")
    (found,) = run_imported(GraphDef.FromString(frozen.SerializeToString()), ["y:0"], {"x:0": [[1.0, 1.0]]})
    np.testing.assert_array_equal(found, [[5.0, 8.0]])


def test_a_variable_that_is_changed_cannot_become_a_constant() -> None:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        acts.identity(acts.Variable(1.0, name="v").assign_add(1.0), name="y")
        session.run(acts.global_variables_initializer())
        with pytest.raises(ValueError, match=r"variable 'v' cannot become a constant: node .* does more"):
            graph_util.convert_variables_to_constants(session, graph, ["y"])
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        acts.identity(acts.Variable(1.0, name="v").value(), name="y")
        with pytest.raises(FailedPreconditionError):
            graph_util.convert_variables_to_constants(session, graph, ["y"])


def test_strings_and_small_integers_stay_with_the_processor() -> None:
    with acts.Graph().as_default() as graph:
        texts, whole, real = acts.constant("a"), acts.constant([1, 2]), acts.constant(1.0)
        wide, narrow = acts.cast(whole, acts.float32), acts.cast(real, acts.int32)
        found = [graph_util.must_run_on_cpu(t.op) for t in (texts, whole, real, wide, narrow)]
        assert found == [True, True, False, True, False]
        assert graph_util.tensor_shape_from_node_def_name(graph, whole.op.name).as_list() == [2]
    [node] = graph_def("node { name: 'v' op: 'VariableV2' }").node
    assert [graph_util.must_run_on_cpu(node, pins) for pins in (False, True)] == [False, True]
