"""A step's collectives: checks that the members of each instance are all there, and their order.

A member that is missing would never come, so the others would wait for it until the step's limit. Nodes
whose keys are computed in the step, or that stand in a loop or function, are checked when they run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

from actorsession.errors import InvalidArgumentError
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.node import NodeDef
from actorsession.plan.prune import StepGraph

__all__ = ["COLLECTIVES", "check_collectives", "hint_collectives", "order_collectives"]

# Position of the group's size among the inputs, followed by the keys of group and instance; -1 where all
# three are attributes.
_KEYS_AT: Mapping[str, int] = {
    "CollectiveReduce": -1,
    "CollectiveGather": -1,
    "CollectiveBcastSend": -1,
    "CollectiveBcastRecv": -1,
    "CollectiveReduceV2": 1,
    "CollectiveGatherV2": 1,
    "CollectiveReduceScatterV2": 1,
    "CollectiveAllToAllV2": 1,
    "CollectiveBcastSendV2": 1,
    "CollectiveBcastRecvV2": 0,
}
COLLECTIVES = frozenset(_KEYS_AT)
"""The op types of collectives."""


def check_collectives(graph: StepGraph, device_of: Mapping[str, str], *, alone: bool = True) -> None:
    """Check the members of each instance whose keys are known.

    Args:
        graph: the nodes that the run needs.
        device_of: full device name of each node.
        alone: whether all members have to be in the step, because it meets no steps of other sessions.

    Raises:
        InvalidArgumentError: if some members of an instance are not in the step, if there are too many, or if
            two are on one device; names the nodes.
    """
    members: defaultdict[tuple[int, int, int], list[str]] = defaultdict(list)
    for node in graph.nodes.values():
        if node.op in _KEYS_AT:
            keys = _keys(node, graph)
            if keys is not None:
                members[keys].append(node.name)
    for (size, group, instance), names in members.items():
        what = f"instance {instance} of group {group}"
        if len(names) > size or (alone and len(names) < size):
            raise InvalidArgumentError(
                f"{what} has {size} members, and the step runs {len(names)} of them: {', '.join(names)}; "
                "a step runs all members of an instance, unless it meets steps of other sessions by "
                "RunOptions.experimental.collective_graph_key"
            )
        places = [device_of[name] for name in names]
        ((shared, times),) = Counter(places).most_common(1)
        if times > 1:
            same = [name for name in names if device_of[name] == shared]
            raise InvalidArgumentError(
                f"the members of {what} are on different devices, but {', '.join(same)} are on {shared}"
            )


def order_collectives(graph: StepGraph, device_of: Mapping[str, str]) -> tuple[StepGraph, Mapping[str, str]]:
    """Return a graph in which each device runs its collectives one after the other, in their order.

    TensorFlow's ``OrderCollectives``. Members that build the same collectives then never wait for each other
    in two instances, whatever else delays them.

    Args:
        graph: the nodes that the run needs, producers first and otherwise in the order of building.
        device_of: full device name of each node.

    Returns:
        The graph and the device of each of its nodes; the arguments themselves if there is nothing to order.
        A graph with raw control flow is returned as it is, because its nodes may be dead or run repeatedly.
    """
    last: dict[str, str] = {}
    nodes = dict(graph.nodes)
    for node in graph.nodes.values():
        if node.op in PRIMITIVES:
            return graph, device_of
        if node.op in _KEYS_AT:
            before = last.get(device_of[node.name])
            if before is not None:
                nodes[node.name] = replace(node, control_inputs=(*node.control_inputs, before))
            last[device_of[node.name]] = node.name
    return replace(graph, nodes=nodes), device_of


def hint_collectives(graph: StepGraph, hint: str) -> StepGraph:
    """Return a graph whose collectives have a ``communication_hint`` where they leave the choice."""
    hinted = {
        node.name: replace(node, attrs={**node.attrs, "communication_hint": hint})
        for node in graph.nodes.values()
        if node.op in _KEYS_AT and node.attrs["communication_hint"] in ("", "auto")
    }
    return replace(graph, nodes={**graph.nodes, **hinted}) if hinted else graph


def _keys(node: NodeDef, graph: StepGraph) -> tuple[int, int, int] | None:
    """Return size, group and instance of a node, as far as they are known before the step."""
    first = _KEYS_AT[node.op]
    if first < 0:
        attrs = node.attrs
        return attrs["group_size"], attrs["group_key"], attrs["instance_key"]
    keys = []
    for name, _ in node.inputs[first : first + 3]:
        producer = graph.nodes[name]
        if producer.op != "Const":
            return None
        keys.append(int(producer.attrs["value"]))
    return keys[0], keys[1], keys[2]
