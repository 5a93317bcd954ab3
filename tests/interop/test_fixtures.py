"""Graphs that TensorFlow made, run here: their values are TensorFlow's (data/README.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import import_graph_def
from actorsession.interop import GraphDef, MetaGraphDef, graph_def_of, import_meta_graph, read_meta_graph, text_format
from tests.interop.kit import DATA, run_imported, stored

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


def test_a_loop_over_arrays_computes_the_same_on_two_devices() -> None:
    """The arrays stay where they were made; products and activations, forth and back, are elsewhere."""
    message, feeds, fetched = stored("recurrent")
    for node in message.node:
        if node.op in ("MatMul", "Tanh", "TanhGrad"):
            node.device = "/cpu:1"
    with acts.Graph().as_default() as graph:
        import_graph_def(message, name="")
    config = acts.ConfigProto(device_count={"CPU": 2})
    with acts.Session(graph=graph, config=config) as session:
        values = session.run(list(fetched), feeds)
    for found, expected in zip(values, fetched.values(), strict=True):
        check(found, expected)


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_graph_written_again_is_read_again(name: str) -> None:
    message, feeds, fetched = stored(name)
    with acts.Graph().as_default() as graph:
        import_graph_def(message, name="")
        written = graph_def_of(graph)
    read = GraphDef.FromString(written.SerializeToString())
    for found, expected in zip(run_imported(read, list(fetched), feeds), fetched.values(), strict=True):
        check(found, expected)


@pytest.mark.parametrize("name", FROZEN)
def test_operation_types_stay_what_they_are(name: str) -> None:
    message, _, _ = stored(name)
    with acts.Graph().as_default() as graph:
        import_graph_def(message, name="")
        written = {node.name: node.op for node in graph_def_of(graph).node}
    assert {node.name: node.op for node in message.node}.items() <= written.items()


def test_loops_and_branches_that_have_no_effects_have_gradients() -> None:
    """Five times ``a * 3 + x`` from ``x``, and the branch of a negative number."""
    message, feeds, _ = stored("control_flow")
    with acts.Graph().as_default() as graph:
        import_graph_def(message, name="")
        assert {op.type for op in graph.get_operations()} >= {"StatelessWhile", "StatelessIf"}
        x, *ys = (graph.get_tensor_by_name(f"{name}:0") for name in ("x", "total", "chosen"))
        slopes = [acts.gradients(y, x)[0] for y in ys]
        with acts.Session(graph=graph) as session:
            assert session.run(slopes, feeds) == [3.0**5 + 1 + 3 + 9 + 27 + 81, -1.0]


# Of these, hints are lost: which factors of a product in a gradient are gradients; and what a loop captures.
@pytest.mark.parametrize("name", [n for n in FROZEN if n not in ("recurrent", "control_flow")])
def test_attributes_go_back_as_they_came(name: str) -> None:
    """What TensorFlow wrote and we derive is written again, with the same values."""
    message, _, _ = stored(name)
    with acts.Graph().as_default() as graph:
        import_graph_def(message, name="")
        written = {node.name: node for node in graph_def_of(graph).node}
    for node in message.node:
        again = written[node.name]
        assert (again.op, again.input, again.device) == (node.op, node.input, node.device)
        for key, value in node.attr.items():
            if key != "value" and not key.startswith("_"):  # tensors have more than one form
                assert again.attr[key] == value, (node.name, key)


def test_a_gradient_of_a_loop_of_theirs_is_written_in_their_terms() -> None:
    """The loop that a gradient needs stands for theirs: both give the same, and theirs is not run as well."""
    message, feeds, fetched = stored("raw_control_flow")
    with acts.Graph().as_default() as graph:
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


def test_the_text_of_a_graph_is_that_of_its_meta_graph() -> None:
    text = text_format.Parse((DATA / "training.pbtxt").read_text(), GraphDef())
    meta = MetaGraphDef.FromString((DATA / "training.meta").read_bytes())
    assert [node.name for node in text.node] == [node.name for node in meta.graph_def.node]
    assert [node.op for node in text.node] == [node.op for node in meta.graph_def.node]
    # A training graph can be built twice under scopes.
    with acts.Graph().as_default() as graph:
        first = import_meta_graph(DATA / "training.meta", import_scope="one")
        second = import_meta_graph(read_meta_graph(DATA / "training.meta"), import_scope="two")
        assert first.variables["v:0"].name == "one/v:0"
        assert second.variables["v:0"].name == "two/v:0"
        assert len(graph.get_collection("variables")) == 4


def test_a_training_graph_with_both_kinds_of_variables_trains_on() -> None:
    with acts.Graph().as_default() as graph:
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
