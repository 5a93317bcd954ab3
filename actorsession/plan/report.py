"""Reports on a plan for the user: the graphs of its partitions, and the costs of its nodes.

Pure functions from partitions to the values of ``RunMetadata``. Sessions and masters call them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from actorsession.config import CostGraphDef, CostGraphInput, CostGraphNode, CostGraphOutput
from actorsession.graph.node import GraphDef, NodeDef, TensorSpec
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.cost import node_cost
from actorsession.plan.cost_model import CostModel
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG, PINNED
from actorsession.plan.rendezvous_key import build_key

__all__ = ["cost_graph", "partition_graphs"]


def partition_graphs(parts: Sequence[Partition], *, infer_shapes: bool, client: str = "") -> list[GraphDef]:
    """Return the graphs of partitions, in their order; each node has its partition's device.

    Args:
        parts: of the plan.
        infer_shapes: whether nodes get the static shapes of their outputs as attribute ``_output_shapes``.
        client: the client device. Its graph comes first and has all feeds that enter at no other device: one
            that another device reads is sent to it, as in TensorFlow, though a plan gives it to the reader
            at once.
    """
    parts = _fed_by(client, parts) if client else parts
    return [GraphDef(tuple([_on(part.device, node, infer_shapes) for node in part.nodes])) for part in parts]


def _fed_by(client: str, parts: Sequence[Partition]) -> list[Partition]:
    """Return partitions in which the client device has all feeds."""
    feeds: dict[str, NodeDef] = {}
    sends: list[NodeDef] = []
    others: list[Partition] = []
    own = Partition(client, (), ())
    for part in parts:
        if part.device == client:
            own = part
            continue
        nodes = []
        for node in part.nodes:
            if node.op == ARG and PINNED not in node.attrs:
                edge = f"edge_feed_{len(sends)}_{node.name}:0"
                key = {"key": build_key(client, 0, part.device, edge)}
                feeds.setdefault(node.name, node)
                send = replace(node, name=f"_send/{edge}", op=SEND, inputs=((node.name, 0),), attrs=key, outputs=())
                sends.append(send)
                node = replace(node, op=RECV, attrs=key)
            nodes.append(node)
        others.append(replace(part, nodes=tuple(nodes)))
    known = {node.name for node in own.nodes}
    missing = [node for name, node in feeds.items() if name not in known]
    if not sends:
        return list(parts)
    return [replace(own, nodes=(*missing, *own.nodes, *sends)), *others]


def _on(device: str, node: NodeDef, infer_shapes: bool) -> NodeDef:
    attrs = node.attrs
    if infer_shapes:
        attrs = {**attrs, "_output_shapes": tuple([spec.shape for spec in node.outputs])}
    return replace(node, device=device, attrs=attrs)


def cost_graph(parts: Sequence[Partition], model: CostModel) -> CostGraphDef:
    """Return the costs of the nodes of partitions so far.

    Args:
        parts: of the plan.
        model: measured costs; a node without any has cost 0 and outputs of size -1.
    """
    nodes: list[CostGraphNode] = []
    sent = {n.attrs["key"]: n.inputs[0] for p in parts for n in p.nodes if n.op == SEND and n.inputs}
    for part in parts:
        first = len(nodes)
        number = {node.name: first + i for i, node in enumerate(part.nodes)}
        outputs = {node.name: node.outputs for node in part.nodes}
        for node in part.nodes:
            inputs = tuple([outputs[name][index] for name, index in node.inputs])
            nodes.append(_cost_node(part.device, node, inputs, number, model, sent))
    return CostGraphDef(tuple(nodes))


def _cost_node(
    device: str,
    node: NodeDef,
    inputs: tuple[TensorSpec, ...],
    number: dict[str, int],
    model: CostModel,
    sent: dict[str, tuple[str, int]],
) -> CostGraphNode:
    _, most = model.node_seconds(node) or (0.0, 0.0)
    sizes, shapes = _outputs(node, model, sent)
    op = lookup(node.op) if is_registered(node.op) else None
    constant = node.attrs.get("value") if op is not None and op.once else None
    allocates = op is not None and not (op.once or op.aliases)
    return CostGraphNode(
        name=node.name,
        device=device,
        id=number[node.name],
        input_info=tuple([CostGraphInput(number[name], index) for name, index in node.inputs]),
        output_info=tuple(
            [
                CostGraphOutput(size, shape, spec.dtype.name)
                for size, shape, spec in zip(sizes, shapes, node.outputs, strict=True)
            ]
        ),
        compute_cost=round(most * 1e6),
        compute_time=round(node_cost(node, inputs)[0]),
        temporary_memory_size=sum(s for s in sizes if s > 0) if allocates else 0,
        persistent_memory_size=int(getattr(constant, "nbytes", 0)),
        is_final=node.op == SEND,
        control_input=tuple([number[name] for name in node.control_inputs]),
    )


def _outputs(
    node: NodeDef, model: CostModel, sent: dict[str, tuple[str, int]]
) -> tuple[list[int], list[tuple[int | None, ...] | None]]:
    """Return the bytes and shapes of a node's outputs, as measured at the producer."""
    sizes: list[int] = []
    shapes: list[tuple[int | None, ...] | None] = []
    for index, spec in enumerate(node.outputs):
        name, output = node.name, index
        if node.op == RECV:
            name, output = sent.get(node.attrs["key"], (name, index))
        cost = model.cost(name)
        value = node.attrs.get("value") if node.op == "Const" else None
        dims = spec.shape.sizes
        shape = None if dims is None else tuple(dims)
        if cost is not None and output < len(cost.shapes):
            sizes.append(round(cost.output_bytes[output]))
            shapes.append(cost.shapes[output])
        else:
            sizes.append(int(value.nbytes) if value is not None else -1)
            shapes.append(shape)
    return sizes, shapes
