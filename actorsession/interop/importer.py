"""``import_graph_def``: conversion of the nodes of a ``GraphDef`` to operations of a graph.

``import_plan`` checks and orders the nodes, and ``node_builder`` builds them. Into a graph that has nodes
they are built twice: first in a scratch graph, which reveals every error, then in the target graph. An empty
graph begins anew after an error. So a graph that cannot be imported leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from actorsession.collector import pause_collector
from actorsession.errors import RequestTypeError, RequestValueError
from actorsession.graph.dtypes import resource
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.graph.operation import Tensor
from actorsession.interop import protos
from actorsession.interop.calls import expand_calls
from actorsession.interop.functions import PlannedFunction, plan_function
from actorsession.interop.import_plan import Planned, functions_used, plan_message, plan_plain, split_input
from actorsession.interop.node_builder import NodeBuilder, handle_of
from actorsession.interop.ordering import in_order
from actorsession.ops import convert_to_tensor
from actorsession.progress import shown_while

__all__ = ["import_graph_def"]


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[Any, Any] | None = None,
    return_elements: Iterable[Any] | None = None,
    name: str | None = None,
    producer_op_list: protos.OpList | None = None,
) -> list[Any] | None:
    """Build the nodes of a ``GraphDef`` in the default graph.

    Args:
        graph_def: the graph, in TensorFlow's form or the library's own, or as a message object of protobuf
            itself.
        input_map: tensors to read instead of outputs of the graph, by the names of these outputs: ``node``,
            ``node:index`` or ``^node``. Values that are not tensors become constants.
        return_elements: names of operations and tensors of the graph to return.
        name: scope of the built operations, made unique; ``import`` if omitted, no scope if empty.
        producer_op_list: signatures of the operation types in the program that wrote the graph.

    Returns:
        The operations and tensors of ``return_elements``, in its order; ``None`` without ``return_elements``.

    Raises:
        NotFoundError: for operation types that are not registered, all in one message.
        ValueError: if the graph is invalid for any other reason, or a name is not in it.
        TypeError: for arguments of other types.
    """
    with pause_collector(), shown_while("importing a graph"):
        return _imported(graph_def, input_map, return_elements, name, producer_op_list)


def _imported(
    graph_def: Any,
    input_map: Mapping[Any, Any] | None,
    return_elements: Iterable[Any] | None,
    name: str | None,
    producer_op_list: protos.OpList | None,
) -> list[Any] | None:
    mapped_values = _checked_map(input_map)
    planned, library = _planned(graph_def, producer_op_list, mapped_values)
    elements = _checked_elements(return_elements)
    _check_mapped_names(mapped_values, planned)
    places = elements or []
    ordered = in_order(planned, mapped_values)
    graph = get_default_graph()
    if name == "" and not all(isinstance(v, Tensor) for v in mapped_values.values()):
        raise RequestValueError("import_graph_def needs a name if input_map contains values other than tensors")
    is_checked = bool(len(graph.nodes) or mapped_values)
    if is_checked:
        _check_elements(places, _dry_run(ordered, mapped_values, library))
    # A loop is incomplete until its last node is built.
    with graph.growing_from_nothing() as is_empty:
        if not (is_empty or is_checked):  # another thread has built something in the meantime
            _check_elements(places, _dry_run(ordered, mapped_values, library))
        with graph.name_scope("import" if name is None else name) as scope:
            mapped = _converted(mapped_values, graph)
            builder = NodeBuilder(graph, scope, mapped, library)
            builder.build(ordered)
        _check_elements(places, builder)
    return None if elements is None else [builder.element(*place) for place in places]


def _planned(
    graph_def: Any, producer: protos.OpList | None, mapped: Container[tuple[str, int]]
) -> tuple[list[Planned], Mapping[str, PlannedFunction]]:
    """Return the nodes, and the functions that loops and branches among them use."""
    if isinstance(graph_def, PlainGraphDef):
        return plan_plain(graph_def), {}
    if not isinstance(graph_def, protos.GraphDef):
        if type(graph_def).__name__ != "GraphDef" or not hasattr(graph_def, "SerializeToString"):
            raise RequestTypeError(f"graph_def must be a GraphDef, got {type(graph_def).__name__}")
        graph_def = protos.GraphDef.FromString(graph_def.SerializeToString())
    graph_def = expand_calls(graph_def)
    planned = plan_message(graph_def, producer, mapped)
    functions = {function.signature.name: function for function in graph_def.library.function}
    return planned, {name: plan_function(functions[name]) for name in functions_used(graph_def.node, functions)}


# -- arguments -----------------------------------------------------------------------------------


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise RequestTypeError(f"{what} must be strings, got {value!r:.100}")
    return value


def _checked_map(input_map: Mapping[Any, Any] | None) -> dict[tuple[str, int], Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, Mapping):
        raise RequestTypeError(f"input_map must be a mapping from names to tensors, got {input_map!r:.100}")
    return {
        split_input(_text(key, "the keys of input_map"), "a key of input_map"): value
        for key, value in input_map.items()
    }


def _checked_elements(elements: Iterable[Any] | None) -> list[tuple[str, int | None]] | None:
    """Return the node and output index of each element; operations have no index."""
    if elements is None:
        return None
    if isinstance(elements, (str, bytes)):
        raise RequestTypeError(f"return_elements must be a list of names, got {elements!r}")
    checked: list[tuple[str, int | None]] = []
    for element in elements:
        text = _text(element, "return_elements")
        name, index = split_input(text, "a name in return_elements")
        checked.append((name, index if ":" in text else None))
    return checked


def _check_mapped_names(mapped: Mapping[tuple[str, int], Any], planned: Sequence[Planned]) -> None:
    read = {ref for node in planned for ref in node.inputs}
    read |= {(name, -1) for node in planned for name in node.control}
    # The map may also name an unread output that exists; index 0 is assumed to exist.
    read |= {(node.name, index) for node in planned for index in (0, -1)}
    unused = [
        name if index == 0 else f"^{name}" if index < 0 else f"{name}:{index}"
        for name, index in mapped
        if (name, index) not in read
    ]
    if unused:
        raise RequestValueError(f"input_map names inputs that are not in graph_def: {', '.join(unused)}")


def _check_elements(places: list[tuple[str, int | None]], dry_run: NodeBuilder) -> None:
    for name, index in places:
        op = dry_run.built.get(name)
        if op is None:
            raise RequestValueError(f"return_elements requests node {name!r}, which is not in graph_def")
        if index is not None and (name, index) not in dry_run.mapped and index >= len(op.outputs):
            raise RequestValueError(
                f"return_elements requests output {index} of node {name!r}, whose number of "
                f"outputs is {len(op.outputs)}"
            )


def _converted(values: Mapping[tuple[str, int], Any], graph: Graph) -> dict[tuple[str, int], Tensor]:
    for value in values.values():
        if isinstance(value, Tensor) and value.graph is not graph:
            raise RequestValueError(f"{value!r} of input_map belongs to another graph")
    if all(isinstance(value, Tensor) for value in values.values()):
        return dict(values)
    with graph.name_scope("_inputs"):
        return {ref: convert_to_tensor(value, graph=graph) for ref, value in values.items()}


# -- building ------------------------------------------------------------------------------------


def _dry_run(
    ordered: Sequence[Planned], values: Mapping[tuple[str, int], Any], library: Mapping[str, PlannedFunction]
) -> NodeBuilder:
    """Build the nodes in a scratch graph, with placeholders for outside tensors, and return the builder."""
    graph = Graph()
    with graph.as_default():
        mapped = {ref: _stand_in(value, graph) for ref, value in values.items()}
        builder = NodeBuilder(graph, "import/", mapped, library)
        builder.build(ordered)
    return builder


def _stand_in(value: Any, graph: Graph) -> Tensor:
    if not isinstance(value, Tensor):
        return convert_to_tensor(value, graph=graph)
    if value.dtype is resource:
        handle = handle_of(value)
        if handle is not None:
            return graph.create_op("VarHandleOp", (), handle.attrs).outputs[0]
    attrs = {"dtype": value.dtype, "shape": value.shape}
    # It gets the name of the given tensor, so that error messages name that tensor.
    return graph.create_op("Placeholder", (), attrs, value.op.name).outputs[0]
