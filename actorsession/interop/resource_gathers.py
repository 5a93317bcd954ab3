"""Conversion of TensorFlow's ``ResourceGather`` to a read of the variable and a gather from its value.

The module is pure: it maps a message to a new message. A node keeps its name. The read is a new node with the
same control inputs, because that is when TensorFlow reads the variable.
"""

from __future__ import annotations

import numpy as np

from actorsession.interop import protos
from actorsession.interop.tensors import make_tensor_proto

__all__ = ["with_reads"]


def with_reads(graph_def: protos.GraphDef) -> protos.GraphDef:
    """Return the graph with each ``ResourceGather`` replaced; the given message is not changed.

    Nodes inside functions stay as they are.
    """
    if not any(node.op == "ResourceGather" for node in graph_def.node):
        return graph_def
    made = graph_def.copy()
    nodes = [part for node in made.node for part in _parts(node)]
    made.ClearField("node")
    made.node.extend(nodes)
    return made


def _parts(node: protos.NodeDef) -> list[protos.NodeDef]:
    if node.op != "ResourceGather":
        return [node]
    variable, indices, *control = node.input
    given = {key: value.copy() for key, value in node.attr.items()}
    read = protos.NodeDef(name=f"{node.name}/_read", op="ReadVariableOp", device=node.device)
    read.input.extend([variable, *control])
    axis = protos.NodeDef(name=f"{node.name}/_axis", op="Const", device=node.device)
    axis.attr["value"].tensor.CopyFrom(make_tensor_proto(np.zeros((), np.int32)))
    axis.attr["dtype"].type = axis.attr["value"].tensor.dtype
    gather = protos.NodeDef(name=node.name, op="GatherV2", device=node.device)
    gather.input.extend([read.name, indices, axis.name, *control])
    gather.attr["Taxis"].CopyFrom(axis.attr["dtype"])
    for ours, theirs in (("Tparams", "dtype"), ("Tindices", "Tindices")):
        if theirs not in given:
            raise ValueError(f"node {node.name!r} (ResourceGather) has no attribute {theirs!r}")
        gather.attr[ours].CopyFrom(given[theirs])
    read.attr["dtype"].CopyFrom(given["dtype"])
    for key in ("batch_dims", "_class", "_output_shapes"):
        if key in given:
            gather.attr[key].CopyFrom(given[key])
    return [read, axis, gather]
