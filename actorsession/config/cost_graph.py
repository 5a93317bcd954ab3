"""The cost graph of a step: the costs of its nodes in a cost model, in TensorFlow's shape.

Plain values; ``plan.report`` makes them and ``RunMetadata`` carries them. The module imports only
``records`` and the error classes.
"""

from __future__ import annotations

from typing import Any

from actorsession.errors import InvalidArgumentError
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

    def to_wire(self) -> list[Any]:
        """Return the node as plain values."""
        return [
            self.name,
            self.device,
            self.id,
            [[i.preceding_node, i.preceding_port] for i in self.input_info],
            [[o.size, None if o.shape is None else list(o.shape), o.dtype] for o in self.output_info],
            self.compute_cost,
            self.compute_time,
            self.temporary_memory_size,
            self.persistent_memory_size,
            self.is_final,
            list(self.control_input),
        ]

    @classmethod
    def from_wire(cls, value: Any) -> CostGraphNode:
        """Read the result of ``to_wire``.

        Raises:
            TypeError: the value has another form.
            ValueError: likewise.
        """
        name, device, number, inputs, outputs, cost, time, temporary, lasting, final, control = value
        return cls(
            name=name,
            device=device,
            id=number,
            input_info=tuple([CostGraphInput(*i) for i in inputs]),
            output_info=tuple(
                [
                    CostGraphOutput(size, None if shape is None else tuple(shape), dtype)
                    for size, shape, dtype in outputs
                ]
            ),
            compute_cost=cost,
            compute_time=time,
            temporary_memory_size=temporary,
            persistent_memory_size=lasting,
            is_final=final,
            control_input=tuple(control),
        )


@dataclass(frozen=True, slots=True)
class CostGraphDef:
    """The costs of the nodes of a step.

    Attributes:
        node: one entry per node, partition by partition; empty where no cost model was used.
    """

    node: tuple[CostGraphNode, ...] = ()

    def to_wire(self) -> list[Any]:
        """Return the graph as plain values."""
        return [node.to_wire() for node in self.node]

    @classmethod
    def from_wire(cls, value: Any) -> CostGraphDef:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        try:
            return cls(tuple([CostGraphNode.from_wire(node) for node in value]))
        except (TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"a cost graph has another form: {exc}") from exc
