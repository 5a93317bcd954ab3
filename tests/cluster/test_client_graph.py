"""Splitting a plan by task."""

from __future__ import annotations

import actorsession as acts
from actorsession import Graph, Tensor, ops
from actorsession.cluster.master.client_graph import ClientGraph, split_by_task
from actorsession.extend import DeviceSet
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import ARG, GraphView, prune
from actorsession.plan.signature import RunSignature
from tests.cluster.kit import W0, W1, on

DEVICES = DeviceSet(
    [
        acts.plugins.DeviceAttributes(name=f"{task}/device:CPU:{number}", device_type="CPU", incarnation=7)
        for task in (W0, W1)
        for number in (0, 1)
    ]
)


def split(graph: Graph, feeds: list[Tensor], fetches: list[Tensor]) -> ClientGraph:
    nodes = [op.plain for op in graph.get_operations()]
    placer = Placer(DEVICES)
    placer.place(nodes)
    signature = RunSignature(tuple(t.name for t in feeds), tuple(t.name for t in fetches))
    wanted = prune(GraphView(nodes), signature)
    placed = placer.placed
    client = DEVICES.client_device
    device_of = {n: placed[n].device if n in placed else client for n in wanted.nodes}
    return split_by_task(signature, partition(wanted, device_of, DEVICES), W0)


def test_each_task_gets_its_own_feeds_and_fetches(graph: Graph) -> None:
    a, b, c = (ops.placeholder("float32", [], name=name) for name in "abc")
    with on(W0):
        x = a + c
    with on(W1):
        y = b * c
        z = y - b
    made = split(graph, [a, b, c], [z, x, y])
    here, there = made.parts
    assert [part.task for part in made.parts] == [W0, W1]
    assert made.here == 0
    # positions in the signature's feeds (a, b, c) and fetches (z, x, y)
    assert (here.feeds, here.fetches) == ((0, 2), (1,))
    assert (there.feeds, there.fetches) == ((1, 2), (0, 2))
    indices = {n.name: n.attrs["index"] for p in there.partitions for n in p.nodes if n.op == ARG}
    assert sorted(indices.values()) == [0, 1]
    assert [f for p in there.partitions for f in p.fetches] == [(0, "sub", 0), (1, "mul", 0)]


def test_the_devices_of_one_task_stay_together(graph: Graph) -> None:
    a = ops.placeholder("float32", [], name="a")
    with graph.device(f"{W1}/device:CPU:0"):
        x = a + 1.0
    with graph.device(f"{W1}/device:CPU:1"):
        y = x + a
    made = split(graph, [a], [x, y])
    (part,) = made.parts
    assert part.task == W1
    assert made.here is None
    assert [p.device for p in part.partitions] == [f"{W1}/device:CPU:{i}" for i in (0, 1)]
    assert part.feeds == (0,)
    assert part.fetches == (0, 1)


def test_a_graph_is_registered_only_once_its_registration_has_ended_well(graph: Graph) -> None:
    a = ops.placeholder("float32", [], name="a")
    assert not split(graph, [a], [a + 1.0]).registered
