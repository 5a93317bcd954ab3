"""``tensorflow.python.tools``: freezing of graphs, and what is in a checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from actorsession import interop
from actorsession.compat.v1 import gfile, train
from actorsession.compat.v1.compat import as_bytes
from actorsession.compat.v1.graphs.graph import Graph
from actorsession.compat.v1.sessions.session import Session
from actorsession.interop import graph_util, text_format
from actorsession.interop.exporter import write_message
from actorsession.train.checkpoint_utils import NewCheckpointReader

__all__ = [
    "freeze_graph",
    "freeze_graph_with_def_protos",
    "optimize_for_inference",
    "print_tensors_in_checkpoint_file",
    "strip_unused",
]


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str,
    filename_tensor_name: str,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    **kwargs: Any,
) -> interop.GraphDef:
    """Write a graph with the values of a checkpoint as constants, and return it.

    Args:
        input_graph: the file of the graph.
        input_saver: accepted for compatibility and ignored: the variables are restored by their names.
        input_binary: whether the file is not in text form.
        input_checkpoint: the checkpoint.
        output_node_names: the operations that are needed, with commas between them.
        restore_op_name: accepted for compatibility and ignored.
        filename_tensor_name: accepted for compatibility and ignored.
        output_graph: the file to write; nothing is written if it is empty.
        clear_devices: whether devices of nodes are left out.
        initializer_nodes: operations to run before the variables are restored.
        variable_names_whitelist: the variables that become constants, with commas; all if empty.
        variable_names_blacklist: the variables that stay, with commas.
        input_meta_graph: the file of a graph with its collections, in place of ``input_graph``.
        **kwargs: accepted for compatibility and ignored.

    Raises:
        NotFoundError: if a file is missing.
    """
    if input_meta_graph:
        graph_def = interop.read_meta_graph(input_meta_graph).graph_def
    else:
        graph_def = _read_graph(input_graph, input_binary)
    return freeze_graph_with_def_protos(
        graph_def,
        None,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
    )


def _read_graph(path: str, binary: bool) -> interop.GraphDef:
    graph_def = interop.GraphDef()
    with gfile.GFile(path, "rb" if binary else "r") as file:
        if binary:
            graph_def.ParseFromString(as_bytes(file.read()))
        else:
            text_format.Merge(file.read(), graph_def)
    return graph_def


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str,
    filename_tensor_name: str,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    **kwargs: Any,
) -> interop.GraphDef:
    """Return a graph with the values of a checkpoint as constants; see ``freeze_graph``.

    Raises:
        ValueError: if no operation is named.
    """
    if not output_node_names:
        raise ValueError("output_node_names: name the operations that are needed")
    nodes = interop.GraphDef()
    nodes.CopyFrom(input_graph_def)
    if clear_devices:
        for node in nodes.node:
            node.device = ""
    with Graph().as_default() as graph:
        interop.import_graph_def(nodes, name="")
        with Session(graph=graph) as session:
            if initializer_nodes:
                session.run(initializer_nodes.replace(" ", "").split(","))
            reader = NewCheckpointReader(input_checkpoint)
            handles = {
                op.name: op.outputs[0]
                for op in graph.get_operations()
                if op.type in _VARIABLES and reader.has_tensor(op.name)
            }
            for name, handle in handles.items():
                _assign(session, handle, reader.get_tensor(name))
            frozen = graph_util.convert_variables_to_constants(
                session,
                nodes,
                output_node_names.replace(" ", "").split(","),
                _names(variable_names_whitelist),
                _names(variable_names_blacklist),
            )
    if output_graph:
        write_message(frozen, os.fsdecode(output_graph), as_text=False)
    return frozen


_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def _assign(session: Any, handle: Any, value: Any) -> None:
    """Give the variable of a node a value."""
    from actorsession.ops import raw

    if handle.op.type == "VarHandleOp":
        session.run(raw.AssignVariableOp(handle, value))
    else:
        session.run(raw.Assign(handle, value))


def _names(text: str) -> list[str] | None:
    return text.replace(" ", "").split(",") if text else None


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> interop.GraphDef:
    """Return what a graph needs for some operations, without operations of training.

    Args:
        input_graph_def: the graph.
        input_node_names: the operations that are fed.
        output_node_names: the operations that are needed.
        placeholder_type_enum: accepted for compatibility and ignored.
        toco_compatible: accepted for compatibility and ignored.
    """
    needed = graph_util.extract_sub_graph(input_graph_def, list(output_node_names))
    return graph_util.remove_training_nodes(needed, list(output_node_names))


strip_unused = optimize_for_inference


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print the tensors of a checkpoint.

    Args:
        file_name: the checkpoint.
        tensor_name: the tensor to print; "" or ``None`` for what the next two say.
        all_tensors: whether to print all of them.
        all_tensor_names: whether to print all of their names.
        count_exclude_pattern: accepted for compatibility and ignored.

    Raises:
        NotFoundError: if there is no such checkpoint.
    """
    reader = train.NewCheckpointReader(file_name)
    shapes = reader.get_variable_to_shape_map()
    types = reader.get_variable_to_dtype_map()
    lines = []
    if all_tensors or all_tensor_names:
        for name in sorted(shapes):
            lines.append(f"tensor: {name} ({types[name].name}) {list(shapes[name])}")
            if all_tensors:
                lines.append(str(reader.get_tensor(name)))
    elif not tensor_name:
        lines += [f"{name} ({types[name].name}) {list(shapes[name])}" for name in sorted(shapes)]
    else:
        lines += [f"tensor: {tensor_name} ({types[tensor_name].name}) {list(shapes[tensor_name])}"]
        lines.append(str(reader.get_tensor(tensor_name)))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
