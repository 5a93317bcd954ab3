"""What lets a loop of single operations run on several devices, and the frames of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import actorsession as acts
from actorsession import Graph, Tensor
from actorsession.errors import InvalidArgumentError, ProtocolError, UnimplementedError
from actorsession.extend import DeviceAttributes, DeviceSet, OptimiserSettings, Partition, RunSignature, StepGraph
from actorsession.graph.device import LOCAL_TASK
from actorsession.ops.flow import dataflow
from actorsession.plan.control_flow.distributed_loops import with_distributed_loops
from actorsession.plan.control_flow.frames import ROOT, Frame, frames_of, input_frame
from actorsession.plan.partition import RECV, SEND, partition
from actorsession.plan.passes.optimise import optimise
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.rendezvous_key import parse_key
from tests.ops.raw_control import raw_while

pytestmark = pytest.mark.usefixtures("graph")

CPUS = [f"{LOCAL_TASK}/device:CPU:{k}" for k in range(3)]
DEVICES = DeviceSet([DeviceAttributes(name=name, device_type="CPU", incarnation=7) for name in CPUS])


def planned(graph: Graph, *fetches: Tensor) -> tuple[StepGraph, dict[str, str]]:
    nodes = [op.plain for op in graph.get_operations()]
    placed = Placer(DEVICES).place(nodes)
    step = prune(GraphView(nodes), RunSignature((), tuple(t.name for t in fetches), ()))
    return step, {name: placed[name].device for name in step.nodes}


def loop(device: str = "/cpu:0") -> Tensor:
    """A loop whose body doubles on a device, and whose all else is on the first."""

    def body(values: Sequence[Tensor], _: object) -> list[Tensor]:
        with acts.device(device):
            return [values[0] * 2]

    with acts.device("/cpu:0"):
        return raw_while(lambda v, _: v[0] < 9, body, [acts.constant(1)], name="w")[0]


def test_each_device_that_receives_in_a_loop_gets_one_control_loop(graph: Graph) -> None:
    step, device_of = planned(graph, loop())
    found = with_distributed_loops(step, device_of, set())
    assert found.triggers == {}
    assert found.graph.nodes == step.nodes
    # Each device that receives in a loop gets one control loop.
    step, device_of = planned(graph, loop("/cpu:1"))
    found = with_distributed_loops(step, device_of, set())
    (inner,) = {frame for frame in found.frames.values() if frame != ROOT}
    assert set(found.triggers) == {(inner, CPUS[0]), (inner, CPUS[1])}
    for (_, device), merge in found.triggers.items():
        assert found.graph.nodes[merge].op == "Merge"
        assert found.device_of[merge] == device
    # What is received in a loop is set off by the loop of its device.
    step, device_of = planned(graph, loop("/cpu:1"))
    for part in partition(step, device_of, DEVICES):
        assert part.has_primitives
        for node in part.nodes:
            if node.op == RECV:
                assert node.attrs["may_be_dead"]
                (trigger,) = node.control_inputs
                assert next(n for n in part.nodes if n.name == trigger).op == "Merge"


def test_every_value_that_is_sent_is_received(graph: Graph) -> None:
    step, device_of = planned(graph, loop("/cpu:1"))
    parts = partition(step, device_of, DEVICES)
    keys = {op: sorted(n.attrs["key"] for part in parts for n in part.nodes if n.op == op) for op in (SEND, RECV)}
    assert keys[SEND] == keys[RECV] != []
    assert {parse_key(key).frame_id for key in keys[SEND]} == {0}


def test_enters_and_next_iterations_go_to_those_who_read_them(graph: Graph) -> None:
    with acts.device("/cpu:0"):
        entered = dataflow.enter(acts.constant(1), "f")
    with acts.device("/cpu:1"):
        merged = dataflow.merge([entered, entered]).output
        ways = dataflow.switch(merged, dataflow.loop_cond(merged < dataflow.enter(acts.constant(9), "f", True)))
    with acts.device("/cpu:2"):
        dataflow.close_loop(merged, dataflow.next_iteration(ways.output_true + ways.output_true))
    step, device_of = planned(graph, dataflow.exit_(ways.output_false))
    found = with_distributed_loops(step, device_of, set())
    merge = found.graph.nodes[merged.op.name]
    assert [found.device_of[name] for name, _ in merge.inputs] == [CPUS[1]] * 2
    assert [found.graph.nodes[name].op for name, _ in merge.inputs] == ["Enter", "NextIteration"]


def test_a_loop_over_devices_without_its_condition_is_refused(graph: Graph) -> None:
    with acts.device("/cpu:0"):
        doubled = dataflow.enter(acts.constant(1), "f", name="e") * 2
    with acts.device("/cpu:1"):
        out = dataflow.exit_(doubled + 0 * dataflow.enter(acts.constant(1), "f"))
    step, device_of = planned(graph, out)
    with pytest.raises((UnimplementedError, InvalidArgumentError), match="'f'"):
        partition(step, device_of, DEVICES)


def test_frames_stand_in_each_other(graph: Graph) -> None:
    once = dataflow.enter(acts.constant(1), "outer")
    twice = dataflow.enter(once, "inner")
    out = dataflow.exit_(twice)
    step, _ = planned(graph, out)
    frames = frames_of(step.nodes)
    outer = Frame("outer", ROOT)
    inner = Frame("inner", outer)
    assert frames[twice.op.name] == inner
    assert frames[out.op.name] == outer
    assert inner.outwards == (inner, outer)
    assert input_frame(step.nodes[out.op.name], frames) == inner
    assert input_frame(step.nodes[once.op.name], frames) == ROOT


def test_a_cycle_without_a_next_iteration_is_still_refused(graph: Graph) -> None:
    one = acts.constant(1)
    two, three = acts.identity(one), acts.identity(one)
    nodes = {op.name: op.plain for op in graph.get_operations()}
    nodes["Identity"] = replace(nodes["Identity"], inputs=(("Identity_1", 0),))
    nodes["Identity_1"] = replace(nodes["Identity_1"], inputs=(("Identity", 0),))
    with pytest.raises(InvalidArgumentError, match="cycle"):
        prune(GraphView(nodes.values()), RunSignature((), (two.name, three.name), ()))


def test_nothing_is_folded_or_merged_where_values_may_be_dead(graph: Graph) -> None:
    step, device_of = planned(graph, loop())
    assert optimise(step, device_of, OptimiserSettings())[0] is step


def test_a_part_with_a_loop_travels_and_a_made_up_cycle_does_not(graph: Graph) -> None:
    step, device_of = planned(graph, loop())
    (part,) = partition(step, device_of, DEVICES)
    assert Partition.from_wire(part.to_wire()) == part
    wire = part.to_wire()
    for node in wire[1]:
        if node[1] == "Identity":
            node[2] = [["w/mul", 0]]
    with pytest.raises(ProtocolError, match="which is not computed there before it"):
        Partition.from_wire(wire)
