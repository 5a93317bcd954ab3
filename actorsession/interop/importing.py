"""``import_graph_def``: the nodes of a ``GraphDef`` become operations of a graph.

Stands on ``planned``, which has checked and ordered the nodes. They are built twice: first in a graph of
their own, where whatever does not fit shows, then in the one that was asked for, so that a graph that cannot
be imported leaves nothing behind. ``node_builder`` builds them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import resource
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.graph.operation import Tensor
from actorsession.interop import protos
from actorsession.interop.calls import spelled_out
from actorsession.interop.functions import PlannedFunction, plan_function
from actorsession.interop.node_builder import NodeBuilder, handle_of
from actorsession.interop.ordering import in_order
from actorsession.interop.planned import (
    Planned,
    functions_used,
    plan_message,
    plan_plain,
    split_input,
)
from actorsession.interop.reference_variables import without_references
from actorsession.interop.resource_gathers import with_reads
from actorsession.ops import convert_to_tensor

__all__ = ["import_graph_def"]


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[Any, Any] | None = None,
    return_elements: Iterable[Any] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: protos.OpList | None = None,
) -> list[Any] | None:
    """Build the nodes of a ``GraphDef`` in the default graph.

    Args:
        graph_def: the graph: TensorFlow's form or the library's own, or protobuf's own object of it.
        input_map: tensors to read instead of outputs of the graph, by the names of those, ``node``,
            ``node:index`` or ``^node``. Values that are no tensors become constants.
        return_elements: names of operations and tensors of the graph.
        name: scope of what is built, made unique; ``import`` if left out, none if empty.
        op_dict: accepted for TensorFlow's sake.
        producer_op_list: signatures of the program that wrote the graph.

    Returns:
        The operations and tensors that ``return_elements`` asked for, in its order; nothing without it.

    Raises:
        NotFoundError: for operation types that are not registered, all in one message.
        ValueError: for anything else that makes it no graph, and names that are not in it.
        TypeError: for arguments of other types.
    """
    mapped_values = _checked_map(input_map)
    planned, library = _planned(graph_def, producer_op_list, mapped_values)
    wanted = _checked_elements(return_elements)
    _check_mapped_names(mapped_values, planned)
    planned, values = without_references(planned, wanted or ())
    places = [_of_value(item, values) for item in wanted or ()]
    ordered = in_order(planned, mapped_values)
    graph = get_default_graph()
    if name == "" and not all(isinstance(v, Tensor) for v in mapped_values.values()):
        raise ValueError("import_graph_def needs a name where input_map holds values, not tensors")
    _check_elements(places, _rehearsed(ordered, mapped_values, library))
    with graph.name_scope("import" if name is None else name) as scope:
        mapped = _converted(mapped_values, graph)
        builder = NodeBuilder(graph, scope, mapped, library)
        with graph.growing():  # a loop is open until the last of its nodes is there
            builder.build(ordered)
    return None if wanted is None else [builder.element(*place) for place in places]


def _of_value(
    item: tuple[str, int | None], values: Mapping[tuple[str, int], tuple[str, int]]
) -> tuple[str, int | None]:
    """Return where the value of an output is, which is elsewhere for references."""
    name, index = item
    return item if index is None else values.get((name, index), (name, index))


def _planned(
    graph_def: Any, producer: protos.OpList | None, mapped: Container[tuple[str, int]]
) -> tuple[list[Planned], Mapping[str, PlannedFunction]]:
    """Return the nodes, and the functions that loops and branches among them name."""
    if isinstance(graph_def, PlainGraphDef):
        return plan_plain(graph_def), {}
    if not isinstance(graph_def, protos.GraphDef):
        if type(graph_def).__name__ != "GraphDef" or not hasattr(graph_def, "SerializeToString"):
            raise TypeError(f"graph_def is a GraphDef, got {type(graph_def).__name__}")
        graph_def = protos.GraphDef.FromString(graph_def.SerializeToString())
    graph_def = with_reads(spelled_out(graph_def))
    planned = plan_message(graph_def, producer, mapped)
    functions = {function.signature.name: function for function in graph_def.library.function}
    return planned, {
        name: plan_function(functions[name]) for name in functions_used(graph_def.node, functions)
    }


# -- arguments -----------------------------------------------------------------------------------


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} are strings, got {value!r:.100}")
    return value


def _checked_map(input_map: Mapping[Any, Any] | None) -> dict[tuple[str, int], Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, Mapping):
        raise TypeError(f"input_map is a mapping from names to tensors, got {input_map!r:.100}")
    return {
        split_input(_text(key, "the keys of input_map"), "a key of input_map"): value
        for key, value in input_map.items()
    }


def _checked_elements(elements: Iterable[Any] | None) -> list[tuple[str, int | None]] | None:
    """Node and output index of each element; no index for operations."""
    if elements is None:
        return None
    if isinstance(elements, (str, bytes)):
        raise TypeError(f"return_elements is a list of names, got {elements!r}")
    found: list[tuple[str, int | None]] = []
    for element in elements:
        text = _text(element, "return_elements")
        name, index = split_input(text, "a name in return_elements")
        found.append((name, index if ":" in text else None))
    return found


def _check_mapped_names(mapped: Mapping[tuple[str, int], Any], planned: Sequence[Planned]) -> None:
    read = {ref for node in planned for ref in node.inputs}
    read |= {(name, -1) for node in planned for name in node.control}
    # An output that nobody reads may be named, if there is one: index 0 is taken on trust.
    read |= {(node.name, index) for node in planned for index in (0, -1)}
    unused = [name if index == 0 else f"^{name}" if index < 0 else f"{name}:{index}"
              for name, index in mapped if (name, index) not in read]  # fmt: skip
    if unused:
        raise ValueError(f"input_map names inputs that are not in graph_def: {', '.join(unused)}")


def _check_elements(places: list[tuple[str, int | None]], rehearsed: NodeBuilder) -> None:
    for name, index in places:
        op = rehearsed.built.get(name)
        if op is None:
            raise ValueError(f"return_elements asks for node {name!r}, which is not in graph_def")
        if index is not None and (name, index) not in rehearsed.mapped and index >= len(op.outputs):
            raise ValueError(
                f"return_elements asks for output {index} of node {name!r}, which has {len(op.outputs)}"
            )


def _converted(
    values: Mapping[tuple[str, int], Any], graph: Graph
) -> dict[tuple[str, int], Tensor]:
    for value in values.values():
        if isinstance(value, Tensor) and value.graph is not graph:
            raise ValueError(f"{value!r} of input_map belongs to another graph")
    if all(isinstance(value, Tensor) for value in values.values()):
        return dict(values)
    with graph.name_scope("_inputs"):
        return {ref: convert_to_tensor(value, graph=graph) for ref, value in values.items()}


# -- building ------------------------------------------------------------------------------------


def _rehearsed(
    ordered: Sequence[Planned],
    values: Mapping[tuple[str, int], Any],
    library: Mapping[str, PlannedFunction],
) -> NodeBuilder:
    """Build the nodes in a graph of their own, with stand-ins for what comes from outside."""
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
    # Under its own name, so that messages speak of the tensor that was given.
    return graph.create_op("Placeholder", (), attrs, value.op.name).outputs[0]
