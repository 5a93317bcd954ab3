"""The cost graph of a step: the costs of its nodes in a cost model, in TensorFlow's shape.

Plain values; ``plan.report`` makes them and ``RunMetadata`` carries them. The module imports only
``records``.
"""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["CostGraphDef", "CostGraphInput", "CostGraphNode", "CostGraphOutput"]


@dataclass(frozen=True, slots=True)
class CostGraphInput:
    """One input of a node.

    Attributes:
        preceding_node: ``id`` of the node that produces it.
        preceding_port: index of that node's output.
    """

    preceding_node: int
    preceding_port: int = 0


@dataclass(frozen=True, slots=True)
class CostGraphOutput:
    """One output of a node.

    Attributes:
        size: bytes on average; -1 if it was never observed.
        shape: its dimensions as last observed, else as inferred from the graph; ``None`` for each unknown
            dimension, and for the whole shape if even the rank is unknown.
        dtype: its element type by name.
    """

    size: int
    shape: tuple[int | None, ...] | None
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostGraphNode:
    """One node of a partition.

    Attributes:
        name: its name.
        device: full name of its device.
        id: its number in the cost graph.
        input_info: its data inputs.
        output_info: its outputs.
        compute_cost: the longest measured time in microseconds.
        compute_time: the time in microseconds estimated from types and shapes alone.
        temporary_memory_size: bytes of outputs that it allocates in each step.
        persistent_memory_size: bytes of a constant, which stay with the plan.
        is_final: whether its output leaves the partition, so that it must not be dropped.
        control_input: ``id`` of each node that must run first.
    """

    name: str
    device: str
    id: int
    input_info: tuple[CostGraphInput, ...] = ()
    output_info: tuple[CostGraphOutput, ...] = ()
    compute_cost: int = 0
    compute_time: int = 0
    temporary_memory_size: int = 0
    persistent_memory_size: int = 0
    is_final: bool = False
    control_input: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CostGraphDef:
    """The costs of the nodes of a step.

    Attributes:
        node: one entry per node, partition by partition; empty where no cost model was used.
    """

    node: tuple[CostGraphNode, ...] = ()
