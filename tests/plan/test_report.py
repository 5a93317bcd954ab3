"""What a plan looks like to the user: partition graphs and the cost graph."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import Graph, GraphDef, ops
from actorsession.config import CostGraphInput, CostGraphOutput, StepStats
from actorsession.plan.cost_model import CostModel
from actorsession.plan.report import cost_graph, partition_graphs
from tests.plan.kit import CPU, Made
from tests.plan.test_cost_model import ran


@pytest.fixture
def made() -> Made:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [None], name="x")
        a = ops.tanh(x, name="a")
        with graph.device("/cpu:1"):
            b = ops.multiply(a, ops.constant(np.ones(4, np.float32), name="k"), name="b")
        with graph.control_dependencies([a.op]):
            end = ops.exp(b, name="end")
    return Made(graph, [end], [x], devices=2)


def test_each_node_names_the_device_that_it_is_on(made: Made) -> None:
    graphs = partition_graphs(made.parts, infer_shapes=False)
    assert [{n.device for n in g.nodes} for g in graphs] == [{CPU[0]}, {CPU[1]}]
    assert [[n.name for n in g.nodes] for g in graphs] == [[n.name for n in part.nodes] for part in made.parts]
    assert made.parts[0].nodes[-1].device != CPU[0], "the plan itself stays as it is"


def test_a_feed_that_another_device_reads_is_sent_there_by_the_client_device() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        with graph.device("/cpu:1"):
            end = ops.identity(x, name="end")
    made = Made(graph, [end], [x], devices=2)
    assert [part.device for part in made.parts] == [CPU[1]]
    client, other = partition_graphs(made.parts, infer_shapes=False, client=CPU[0])
    assert [(n.op, n.device) for n in client.nodes] == [("_Arg", CPU[0]), ("_Send", CPU[0])]
    assert [(n.op, n.device) for n in other.nodes] == [("_Recv", CPU[1]), ("Identity", CPU[1])]
    assert client.nodes[1].attrs["key"] == other.nodes[0].attrs["key"]
    assert client.nodes[1].inputs == ((client.nodes[0].name, 0),)
    assert [part.device for part in made.parts] == [CPU[1]], "the plan itself stays as it is"


def test_shapes_are_attached_on_request_and_travel(made: Made) -> None:
    graphs = partition_graphs(made.parts, infer_shapes=True)
    again = [GraphDef.from_bytes(g.to_bytes()) for g in graphs]
    shapes = {n.name: n.attrs["_output_shapes"] for g in again for n in g.nodes}
    assert [s.as_list() for s in shapes["a"]] == [[None]]
    assert [s.as_list() for s in shapes["b"]] == [[4]]


def test_the_cost_graph_lists_each_node_with_its_inputs_by_number(made: Made) -> None:
    nodes = {n.name: n for n in cost_graph(made.parts, CostModel()).node}
    assert sorted(n.id for n in nodes.values()) == list(range(len(nodes)))
    names = {n.id: n.name for n in nodes.values()}
    b = nodes["b"]
    assert b.device == CPU[1]
    assert [names[i.preceding_node] for i in b.input_info] == ["_recv/edge_0_a:0", "k"]
    assert [i.preceding_port for i in b.input_info] == [0, 0]
    assert [names[i] for i in nodes["end"].control_input] == ["a"]
    assert {n.name for n in nodes.values() if n.is_final} == {
        n.name for n in nodes.values() if n.name.startswith("_send/")
    }


def test_the_cost_graph_has_what_was_measured(made: Made) -> None:
    model = CostModel()
    model.record(StepStats(1, [ran("a", 0.001, 16), ran("b", 0.25, 16)]))
    model.record(StepStats(2, [ran("a", 0.002, 16), ran("b", 0.125, 16)]))
    nodes = {n.name: n for n in cost_graph(made.parts, model).node}
    assert (nodes["a"].compute_cost, nodes["b"].compute_cost) == (2000, 250_000), "the most"
    assert nodes["a"].output_info == (CostGraphOutput(16, (4,), "float32"),)
    assert nodes["_recv/edge_0_a:0"].output_info == (CostGraphOutput(16, (4,), "float32"),)
    assert nodes["a"].temporary_memory_size == 16
    assert nodes["a"].compute_time > 0, "the estimate from types alone"
    assert nodes["b"].input_info[0] == CostGraphInput(nodes["_recv/edge_0_a:0"].id, 0)
    # What was not measured has no cost and no size.
    nodes = {n.name: n for n in cost_graph(made.parts, CostModel()).node}
    assert nodes["a"].compute_cost == 0
    assert nodes["a"].output_info == (CostGraphOutput(-1, (None,), "float32"),)
    assert nodes["a"].temporary_memory_size == 0
    assert nodes["k"].output_info == (CostGraphOutput(16, (4,), "float32"),)
    assert nodes["k"].persistent_memory_size == 16
