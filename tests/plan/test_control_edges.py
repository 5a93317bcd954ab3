"""Control edges between devices share messages, and collectives have an order where the settings ask for one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import Graph, GraphOptions, NodeDef, Operation, OptimizerOptions
from actorsession.config import OptLevel
from actorsession.extend import StepGraph
from actorsession.ops import raw
from actorsession.plan.partition import SEND, partition
from actorsession.plan.passes.control_edges import group_control_edges
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.signature import RunSignature
from tests.cluster.kit import in_process, soon
from tests.plan.kit import CPU, Made, call, device_set, node

pytestmark = pytest.mark.usefixtures("graph")


class Grouped(Made):
    """A graph of several devices, planned with the pass."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.step_graph, placed = group_control_edges(self.step_graph, self.device_of)
        self.device_of = dict(placed)
        self.parts = partition(self.step_graph, self.device_of, self.device_set)
        self.linked = [self._link(part, True) for part in self.parts]


def sent(made: Made) -> int:
    return sum(n.op == SEND for part in made.parts for n in part.nodes)


def step(nodes: Sequence[NodeDef], where: str) -> tuple[StepGraph, dict[str, str]]:
    """All nodes as targets; ``where`` has the number of the device of each."""
    graph = prune(GraphView(nodes), RunSignature((), (), tuple(n.name for n in nodes)))
    return graph, {n.name: CPU[int(number)] for n, number in zip(nodes, where, strict=True)}


def after(nodes: Sequence[NodeDef], where: str) -> dict[str, tuple[str, ...]]:
    graph, devices = group_control_edges(*step(nodes, where))
    assert devices.keys() == graph.nodes.keys()
    partition(graph, devices, device_set(4))  # checks what it makes
    return {n.name: n.control_inputs for n in graph.nodes.values()}


def test_what_runs_after_several_nodes_of_another_device_waits_for_one() -> None:
    nodes = [node("a"), node("b"), node("c"), node("last", after="abc")]
    found = after(nodes, "1110")
    assert found["_joined/0"] == ("a", "b", "c")
    assert found["last"] == ("_joined/0",)
    assert group_control_edges(*step(nodes, "1110"))[1]["_joined/0"] == CPU[1]
    # Each device has its own.
    nodes = [*map(node, "abcde"), node("last", after="abcde")]
    found = after(nodes, "112200")
    assert (found["_joined/0"], found["_joined/1"]) == (("a", "b"), ("c", "d"))
    assert found["last"] == ("e", "_joined/0", "_joined/1")
    # Equal sets share one.
    nodes = [node("a"), node("b"), node("x", after="ab"), node("y", after="ba")]
    found = after(nodes, "1100")
    assert (found["x"], found["y"]) == (("_joined/0",), ("_joined/0",))
    # A constant that is copied is not waited for.
    nodes = [node("c", op="Const", value=np.float32(1)), node("a"), node("x", after="ca")]
    assert after(nodes, "110")["x"] == ("c", "a")
    # Nothing changes where that saves no message.
    for nodes, where in (
        ([node("a"), node("b"), node("x", after="ab")], "000"),
        ([node("a"), node("x", after="a")], "10"),
        # Two messages as they are, and two if each set had its own.
        ([node("a"), node("b"), node("x", after="ab"), node("y", after="a")], "1100"),
    ):
        graph, devices = step(nodes, where)
        same, placed = group_control_edges(graph, devices)
        assert same is graph
        assert placed is devices


@st.composite
def orders(draw: st.DrawFn) -> list[tuple[int, list[int]]]:
    """For each node its device and the earlier nodes after which it runs."""
    return [
        (draw(st.integers(0, 2)), draw(st.lists(st.integers(0, i - 1), max_size=6)) if i else [])
        for i in range(draw(st.integers(2, 14)))
    ]


@given(orders())
def test_every_node_runs_after_all_it_ran_after_and_no_more_is_sent(drawn: list[tuple[int, list[int]]]) -> None:
    graph, ran = Graph(), list[int]()

    def note(i: int) -> Any:
        return lambda: ran.append(i) or np.zeros(3, np.float32)  # type: ignore[func-returns-value]

    made: list[Operation] = []
    for i, (device, earlier) in enumerate(drawn):
        with graph.device(f"/cpu:{device}"), graph.control_dependencies([made[j] for j in earlier]):
            made.append(call(graph, note(i), name=f"n{i}"))
    plain = Made(graph, targets=made, devices=3)
    grouped = Grouped(graph, targets=made, devices=3)
    assert grouped.run() == []
    assert sorted(ran) == list(range(len(drawn)))
    place = {i: position for position, i in enumerate(ran)}
    assert all(place[j] < place[i] for i, (_, earlier) in enumerate(drawn) for j in earlier)
    assert sent(grouped) == min(sent(plain), fewest(drawn))


def fewest(drawn: list[tuple[int, list[int]]]) -> int:
    """Messages if each pair of devices sends by set or by node, whichever are fewer."""
    sets: defaultdict[tuple[int, int], set[frozenset[int]]] = defaultdict(set)
    for device, earlier in drawn:
        for source in {drawn[j][0] for j in earlier} - {device}:
            sets[source, device].add(frozenset(j for j in earlier if drawn[j][0] == source))
    return sum(min(len(found), len(frozenset().union(*found))) for found in sets.values())


async def test_fifty_updates_on_another_task_are_awaited_with_one_message(graph: acts.Graph) -> None:
    with acts.device("/task:1"):
        variables = [acts.Variable(0.0, name=f"v{i}") for i in range(50)]
        updates = [v.assign_add(1.0).op for v in variables]
    with acts.device("/task:0"), acts.control_dependencies(updates):
        done = acts.constant(7.0)
        step_count = acts.Variable(0.0).assign_add(1.0)
    initializer = acts.global_variables_initializer()
    metadata = acts.RunMetadata()
    async with in_process() as cluster, acts.AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(initializer))
        options = acts.RunOptions(output_partition_graphs=True)
        assert await soon(session.run([done, step_count], options=options, run_metadata=metadata)) == [7.0, 1.0]
        assert await soon(session.run(variables)) == [1.0] * 50
    assert Counter(n.op for made in metadata.partition_graphs for n in made.nodes)[SEND] == 1


def test_level_l0_leaves_edges_as_they_are() -> None:
    with acts.device("/cpu:1"):
        first = [acts.random.uniform([]).op for _ in range(3)]
    with acts.device("/cpu:0"), acts.control_dependencies(first):
        last = acts.random.uniform([])
    for level, changes in ((OptLevel.L1, 1), (OptLevel.L0, 0)):
        options = GraphOptions(optimizer_options=OptimizerOptions(opt_level=level))
        with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2}, graph_options=options)) as session:
            session.run(last)
            counted = {p.name: p.changes for p in session.statistics().graph_passes}
        assert counted["group_control_edges"] == changes


SUM: dict[str, Any] = {"merge_op": "Add", "final_op": "Id"}


def collectives_of(metadata: acts.RunMetadata) -> list[Any]:
    graphs = metadata.partition_graphs
    assert graphs is not None
    nodes = [node for graph in graphs for node in graph.nodes]
    return [node for node in nodes if node.op == "CollectiveReduceV2"]


@pytest.mark.parametrize("ordered", [True, False])
def test_collectives_of_a_device_run_in_the_order_of_building_if_asked_to(graph: acts.Graph, *, ordered: bool) -> None:
    experimental = acts.config.Experimental(collective_deterministic_sequential_execution=ordered)
    group = acts.collective.Group(1)
    x = acts.placeholder("float32", [])
    sums = [acts.collective.all_reduce(x * float(i), group) for i in range(3)]
    config = acts.ConfigProto(experimental=experimental)
    options, metadata = acts.RunOptions(output_partition_graphs=True), acts.RunMetadata()
    with acts.Session(graph=graph, config=config) as session:
        found = session.run(sums[::-1], {x: 2.0}, options=options, run_metadata=metadata)
    assert found == [4.0, 2.0, 0.0]
    nodes = collectives_of(metadata)
    assert len(nodes) == 3
    names = [node.name for node in nodes]
    after = [[name for name in node.control_inputs if name in names] for node in nodes]
    assert after == ([[], names[:1], names[1:2]] if ordered else [[], [], []])


def test_a_value_is_copied_for_a_collective_only_if_the_caller_may_write_to_it(graph: acts.Graph) -> None:
    """The values of a collective go round after its node has run."""
    x = acts.placeholder("float32", [3])
    made, fetched = x * 2.0, x * 3.0
    sums = [raw.CollectiveReduceV2(v, 1, 1, i, [], **SUM) for i, v in enumerate([x, made, fetched])]
    code = Made(graph, [*sums, fetched, made + 1.0], [x]).linked[0].compiled.segments[0].lines
    assert ["own(" in line for line in code if "C.begin" in line] == [True, False, True]
