"""What a graph says of its nodes before any step: their float operations, types and lines."""

from __future__ import annotations

import os
import sys
from typing import Any

from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.profiler.flops import flops_of
from actorsession.compat.v1.profiler.options import TRAINABLE_VARIABLES
from actorsession.graph.shape import TensorShape
from actorsession.interop.tabled import message_class
from actorsession.ops import GraphKeys

__all__ = ["fill_shapes", "merge_default_with_oplog", "write_op_log"]


def fill_shapes(graph: Any, run_meta: Any) -> None:
    """Give tensors whose shapes are not known those that they had in a step."""
    by_name = {op.name: op for op in graph.get_operations()}
    for device in run_meta.step_stats.dev_stats:
        for node in device.node_stats:
            op = by_name.get(node.node_name)
            if op is None or len(node.output) != len(op.outputs):
                continue
            for tensor, output in zip(op.outputs, node.output, strict=True):
                if not tensor.shape.is_fully_defined():
                    seen = TensorShape([d.size for d in output.tensor_description.shape.dim])
                    if tensor.shape.is_compatible_with(seen):
                        tensor.set_shape(seen)


def merge_default_with_oplog(
    graph: Any, op_log: Any = None, run_meta: Any = None, add_trace: bool = True, add_trainable_var: bool = True
) -> Any:
    """Return what a graph says of its nodes, as an ``OpLogProto``.

    Args:
        graph: the graph; the default graph if it is ``None``.
        op_log: what a program says of them, which comes first.
        run_meta: a step, whose shapes fill those that the graph does not know.
        add_trace: whether the lines that built the nodes are part of it.
        add_trainable_var: whether trainable variables get a type of their own.
    """
    graph = get_default_graph() if graph is None else graph
    if run_meta is not None:
        fill_shapes(graph, run_meta)
    log: Any = message_class("OpLogProto")()
    texts = {"none": 0}
    entries: dict[str, Any] = {}

    def entry(name: str) -> Any:
        if name not in entries:
            entries[name] = log.log_entries.add()
            entries[name].name = name
        return entries[name]

    for told in getattr(op_log, "log_entries", ()):
        entry(told.name).CopyFrom(told)
    unknown = 0
    for op in graph.get_operations():
        try:
            flops = flops_of(op)
        except ValueError:
            flops, unknown = None, unknown + 1
        if flops and not entry(op.name).float_ops:
            entry(op.name).float_ops = flops
        if add_trace and op.source and not entry(op.name).code_def.traces:
            file, _, line = op.source.rpartition(":")
            trace = entry(op.name).code_def.traces.add()
            trace.file_id = texts.setdefault(file, len(texts))
            trace.lineno = int(line) if line.isdecimal() else -1
            trace.function_id = texts.setdefault("<module>", len(texts))
            trace.func_start_line = -1
    if add_trainable_var:
        for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
            entry(variable.op.name).types.append(TRAINABLE_VARIABLES)
    for text, number in texts.items():
        log.id_to_string[number] = text
    if unknown and run_meta is None:
        sys.stderr.write(f"{unknown} ops no flops stats due to incomplete shapes.\n")
    return log


def write_op_log(graph: Any, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True) -> None:
    """Write what a graph says of its nodes to the file ``tfprof_log`` of a folder.

    Args:
        graph: see ``merge_default_with_oplog``, like the rest.
        log_dir: the folder.
        op_log: likewise.
        run_meta: likewise.
        add_trace: likewise.

    Raises:
        OSError: if the file cannot be written.
    """
    log = merge_default_with_oplog(graph, op_log, run_meta, add_trace)
    with open(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(log.SerializeToString())
