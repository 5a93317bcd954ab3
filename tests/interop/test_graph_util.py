"""Parts of graphs, and variables as constants."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import graph_util
from actorsession.errors import FailedPreconditionError
from actorsession.interop import GraphDef, graph_def_of
from tests.interop.kit import FLOAT, PLACEHOLDER, graph_def, identity, run_imported

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
        w = acts.Variable(np.ones((2, 2), np.float32), name="w")
        b = acts.Variable([1.0, 2.0], name="b")
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
    read = GraphDef.FromString(frozen.SerializeToString())
    (found,) = run_imported(read, ["y:0"], {"x:0": [[1.0, 1.0]]})
    np.testing.assert_array_equal(found, [[5.0, 8.0]])


def test_a_variable_that_is_changed_cannot_become_a_constant() -> None:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        v = acts.Variable(1.0, name="v")
        acts.identity(v.assign_add(1.0), name="y")
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
        shape = graph_util.tensor_shape_from_node_def_name(graph, whole.op.name)
        assert shape.as_list() == [2]
    [node] = graph_def("node { name: 'v' op: 'VariableV2' }").node
    assert [graph_util.must_run_on_cpu(node, pins) for pins in (False, True)] == [False, True]
