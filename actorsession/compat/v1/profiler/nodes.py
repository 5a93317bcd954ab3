"""The nodes of a profile: what they need themselves, and sums over what is shown below them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actorsession.interop.tabled import message_class

__all__ = ["ROOT", "Counted", "Node", "matches", "measured", "nodes_of", "numbers"]

ROOT = "_TFProfRoot"

numbers = (
    "run_count",
    "exec_micros",
    "accelerator_exec_micros",
    "cpu_exec_micros",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "parameters",
    "float_ops",
)


def matches(expressions: Sequence[str], text: str) -> bool:
    """Return whether one of some regular expressions is all of a text."""
    return any(expression == ".*" or re.fullmatch(expression, text) for expression in expressions)


class Node:
    """What a graph and its steps say of one operation.

    Attributes:
        name: its name.
        op: its operation type; "" for a scope.
        types: its types in a profile: of the operation, of its device, and those that a program gave it.
        shape: the shape that is an attribute of it, if it is known and no scalar's.
        inputs: the names of the operations that it reads.
        line: the line that built it.
        steps: what each step measured.
        told: numbers that do not depend on a step.
    """

    def __init__(self, name: str, op: str = "") -> None:
        self.name, self.op = name, op
        self.types = {op} if op else set()
        self.shape: tuple[int, ...] = ()
        self.inputs: list[str] = []
        self.line = ""
        self.steps: dict[int, dict[str, int]] = {}
        self.told = {"parameters": 0, "float_ops": 0}

    def values(self, step: int) -> dict[str, int]:
        """Return the numbers of a step, or the average of all steps for -1."""
        totals = dict.fromkeys(numbers, 0) | self.told
        chosen = list(self.steps.values()) if step < 0 else [self.steps.get(step, {})]
        for key in {key for each in chosen for key in each}:
            total = sum(each.get(key, 0) for each in chosen)
            totals[key] = total if key == "run_count" else total // len(chosen)
        return totals


class Counted:
    """A row of a profile.

    Attributes:
        name: what it is called.
        node: its node; ``None`` for what stands for several.
        own: what it needs itself.
        total: what it and those below it need.
        below: the rows below it.
        account: whether it counts itself.
    """

    def __init__(self, name: str, own: Mapping[str, int], node: Node | None = None) -> None:
        self.name, self.node, self.own = name, node, dict(own)
        self.total: dict[str, int] = {}
        self.below: list[Counted] = []
        self.account = True
        self.definitions = 0
        self.members: list[Counted] = []

    def add_up(self, below: Iterable[Counted], *, itself: bool = True) -> None:
        """Compute the sums anew."""
        parts = list(below)
        mine = self.own if itself else {}
        self.total = {key: mine.get(key, 0) + sum(each.total[key] for each in parts) for key in numbers}
        self.definitions = int(itself) + sum(each.definitions for each in parts)

    def message(self, kind: str) -> Any:
        """Return the row as a message, with those below it."""
        row: Any = message_class(kind)()
        row.name = self.name
        known = {number for number in numbers if number in _MULTI or kind == "GraphNodeProto"}
        for key in known:
            setattr(row, key, self.own.get(key, 0))
            setattr(row, f"total_{key}", self.total.get(key, 0))
        if kind == "GraphNodeProto":
            row.total_definition_count = self.definitions
            for device in sorted(t for t in (self.node.types if self.node else ()) if "device:" in t):
                row.devices.append(device)
        for member in self.members:
            row.graph_nodes.add().CopyFrom(member.message("GraphNodeProto"))
        for each in self.below:
            row.children.add().CopyFrom(each.message(kind))
        return row


_MULTI = frozenset(numbers) - {"run_count"}


def nodes_of(graph: Any, log: Any) -> dict[str, Node]:
    """Return the nodes of a graph, by name.

    Args:
        graph: the graph.
        log: what is said of them, as an ``OpLogProto``.
    """
    nodes: dict[str, Node] = {}
    for op in graph.get_operations():
        node = nodes[op.name] = Node(op.name, op.type)
        if op.device:
            node.types.add(op.device.lower())
        shape = op.attrs.get("shape")
        sizes = getattr(shape, "sizes", None)
        if sizes and all(size is not None for size in sizes):
            node.shape = tuple(int(size) for size in sizes)
            product = 1
            for size in node.shape:
                product *= size
            node.told["parameters"] = product
        node.inputs = [tensor.op.name for tensor in op.inputs]
    for entry in log.log_entries:
        node = nodes.setdefault(entry.name, Node(entry.name))
        node.types.update(entry.types)
        node.told["float_ops"] = int(entry.float_ops)
        for trace in entry.code_def.traces:
            file = log.id_to_string[trace.file_id]
            node.line = f"{file.rpartition('/')[2]}:{trace.lineno}:{log.id_to_string[trace.function_id]}"
    return nodes


def measured(nodes: dict[str, Node], step: int, run_meta: Any) -> None:
    """Add what a step measured to the nodes that ran in it."""
    for device in run_meta.step_stats.dev_stats:
        if "/stream:" in device.device:
            continue
        for stats in device.node_stats:
            name = stats.node_name.partition(":")[0]
            node = nodes.setdefault(name, Node(name, name))
            node.types.add(device.device.lower())
            values = node.steps.setdefault(step, dict.fromkeys(numbers[:8], 0))
            micros = max(int(stats.op_end_rel_micros), 1)
            values["run_count"] += 1
            for key in ("exec_micros", "cpu_exec_micros"):
                values[key] += micros
            outputs = sum(int(each.tensor_description.allocation_description.requested_bytes) for each in stats.output)
            memory = list(stats.memory)
            taken = sum(int(each.total_bytes) for each in memory)
            values["requested_bytes"] += taken or outputs
            values["peak_bytes"] += sum(int(each.peak_bytes) for each in memory) or outputs
            values["residual_bytes"] += sum(int(each.live_bytes) for each in memory)
            values["output_bytes"] += outputs
