"""``import_graph_def``: the nodes of a ``GraphDef`` become operations of a graph.

Stands on ``planned``, which has checked and ordered the nodes. They are built twice: first in a graph of
their own, where whatever does not fit shows, then in the one that was asked for, so that a graph that cannot
be imported leaves nothing behind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype, resource
from actorsession.graph.function import CALLS
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.primitives import MERGES
from actorsession.graph.registry import REQUIRED, lookup
from actorsession.interop import protos
from actorsession.interop.calls import build_call, spelled_out
from actorsession.interop.construct_import import after, build_construct
from actorsession.interop.functions import CONSTRUCTS, PlannedFunction, plan_function
from actorsession.interop.ordering import in_order
from actorsession.interop.planned import (
    Planned,
    functions_used,
    plan_message,
    plan_plain,
    split_input,
)
from actorsession.interop.reference_variables import without_references
from actorsession.interop.signatures import FROM_HANDLE, Arg, bind
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
    """Builds the nodes of a ``GraphDef`` in the default graph.

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
    planned, library = _planned(graph_def, producer_op_list)
    mapped_values = _checked_map(input_map)
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
        builder = _Builder(graph, scope, mapped, library)
        with graph.growing():  # a loop is open until the last of its nodes is there
            builder.build(ordered)
    return None if wanted is None else [builder.element(*place) for place in places]


def _of_value(
    item: tuple[str, int | None], values: Mapping[tuple[str, int], tuple[str, int]]
) -> tuple[str, int | None]:
    """Where the value of an output is, which is elsewhere for references."""
    name, index = item
    return item if index is None else values.get((name, index), (name, index))


def _planned(
    graph_def: Any, producer: protos.OpList | None
) -> tuple[list[Planned], Mapping[str, PlannedFunction]]:
    """The nodes, and the functions that loops and branches among them name."""
    if isinstance(graph_def, PlainGraphDef):
        return plan_plain(graph_def), {}
    if not isinstance(graph_def, protos.GraphDef):
        if type(graph_def).__name__ != "GraphDef" or not hasattr(graph_def, "SerializeToString"):
            raise TypeError(f"graph_def is a GraphDef, got {type(graph_def).__name__}")
        graph_def = protos.GraphDef.FromString(graph_def.SerializeToString())
    graph_def = spelled_out(graph_def)
    planned = plan_message(graph_def, producer)
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


def _check_elements(places: list[tuple[str, int | None]], rehearsed: _Builder) -> None:
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
) -> _Builder:
    """Builds the nodes in a graph of their own, with stand-ins for what comes from outside."""
    graph = Graph()
    with graph.as_default():
        mapped = {ref: _stand_in(value, graph) for ref, value in values.items()}
        builder = _Builder(graph, "import/", mapped, library)
        builder.build(ordered)
    return builder


def _stand_in(value: Any, graph: Graph) -> Tensor:
    if not isinstance(value, Tensor):
        return convert_to_tensor(value, graph=graph)
    if value.dtype is resource:
        handle = _handle_of(value)
        if handle is not None:
            return graph.create_op("VarHandleOp", (), handle.attrs).outputs[0]
    attrs = {"dtype": value.dtype, "shape": value.shape}
    # Under its own name, so that messages speak of the tensor that was given.
    return graph.create_op("Placeholder", (), attrs, value.op.name).outputs[0]


def _handle_of(tensor: Tensor) -> Operation | None:
    """The operation that names the variable that a handle refers to, if it can be seen."""
    op = tensor.op
    while op.type == "Identity":
        op = op.inputs[0].op
    return op if op.type == "VarHandleOp" else None


# What building raises: shape functions get attributes from the file that no function of ours would give.
_FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class _Builder:
    """Turns planned nodes into operations.

    Args:
        graph: the graph they are built in.
        scope: prefix of their names, with a closing slash, or empty.
        mapped: what is read instead of outputs, and run instead of control inputs.
        library: the functions that loops and branches name.

    Attributes:
        built: the operations by the names of the nodes.
    """

    def __init__(
        self,
        graph: Graph,
        scope: str,
        mapped: Mapping[tuple[str, int], Tensor],
        library: Mapping[str, PlannedFunction],
    ) -> None:
        self._graph = graph
        self._scope = scope
        self._library = library
        self.mapped = dict(mapped)
        self.built: dict[str, Operation] = {}
        self._names: dict[str, str] = {}
        self._open: list[tuple[Planned, int]] = []  # inputs that come from nodes built later

    def build(self, ordered: Sequence[Planned]) -> None:
        """Builds all nodes.

        Raises:
            ValueError: naming the node that does not fit.
        """
        self._names = {node.name: self._free_name(node.name) for node in ordered}
        for node in ordered:
            try:
                self.built[node.name] = self._build(node)
            except _FAULTS as exc:
                raise ValueError(
                    f"node {node.name!r} ({node.op}) cannot be imported: {exc}"
                ) from exc
        self._close_loops()

    def _close_loops(self) -> None:
        """Lets each Merge read the NextIteration that it was built before."""
        for node, at in self._open:
            try:
                self.built[node.name]._update_input(at, self._tensor(*node.inputs[at]))
            except _FAULTS as exc:
                raise ValueError(
                    f"node {node.name!r} ({node.op}) cannot be imported: {exc}"
                ) from exc
        self._open.clear()

    def element(self, name: str, index: int | None) -> Tensor | Operation:
        """What stands for an operation of the file, or for an output of one."""
        return self.built[name] if index is None else self._tensor(name, index)

    def _free_name(self, name: str) -> str:
        """The full name for a node: TensorFlow's rule, by which names that differ in case are two."""
        full = wanted = self._scope + name
        count = 0
        while self._is_taken(full):
            count += 1
            full = f"{wanted}_{count}"
        return full

    def _is_taken(self, full: str) -> bool:
        try:
            self._graph.get_operation_by_name(full)
        except KeyError:
            return False
        return True

    def _tensor(self, name: str, index: int) -> Tensor:
        replaced = self.mapped.get((name, index))
        if replaced is not None:
            return replaced
        outputs = self.built[name].outputs
        if index >= len(outputs):
            raise ValueError(f"it reads output {index} of node {name!r}, which has {len(outputs)}")
        return outputs[index]

    def _inputs(self, node: Planned) -> list[Tensor]:
        """What a node reads; what closes a loop and is built later is one of its other inputs so far."""
        if node.type not in MERGES:
            return [self._tensor(name, index) for name, index in node.inputs]
        found = {
            at: self._tensor(name, index)
            for at, (name, index) in enumerate(node.inputs)
            if name in self.built or (name, index) in self.mapped
        }
        if not found:
            raise ValueError("all that it reads comes from iterations before, so there is no first")
        first = next(iter(found.values()))
        count = len(node.inputs)
        self._open += [(node, at) for at in range(count) if at not in found]
        return [found.get(at, first) for at in range(count)]

    def _build(self, node: Planned) -> Operation:
        inputs = self._inputs(node)
        _check_types(node, inputs)
        control = [
            self.mapped[before, -1].op if (before, -1) in self.mapped else self.built[before]
            for before in node.control
        ]
        attrs = self._attrs(node, inputs)
        full = self._names[node.name]
        with contextlib.ExitStack() as stack:
            if control:
                stack.enter_context(self._graph.control_dependencies(control))
            if node.device:
                stack.enter_context(self._graph.device(node.device))
            if node.op in CONSTRUCTS and node.given:
                return self._construct(node, inputs, full)
            inputs = self._turned(node, inputs, full)
            op = self._graph.create_op(node.type, inputs, attrs, name=f"{full}/")
        for tensor, shape in zip(op.outputs, node.shapes, strict=False):
            self._graph.refine_shape(tensor, shape)
        return op

    def _construct(self, node: Planned, inputs: list[Tensor], full: str) -> Operation:
        build = build_call if node.type in CALLS else build_construct
        op, outputs = build(node, inputs, full, self._graph, self._library, self._call)
        for index, tensor in enumerate(outputs):
            self.mapped.setdefault((node.name, index), tensor)
        return op

    def _call(
        self, function: PlannedFunction, arguments: Sequence[Tensor], name: str
    ) -> list[Tensor]:
        """Builds the nodes of a function where it is called; gives its results."""
        given = {(a, 0): t for a, t in zip(function.arguments, arguments, strict=True)}
        inner = _Builder(self._graph, f"{name}/", given, self._library)
        inner.build(in_order(function.nodes, given))
        results = [inner._tensor(producer, index) for producer, index in function.results]
        return after([inner.built[name] for name in function.control], results, self._graph)

    def _turned(self, node: Planned, inputs: list[Tensor], full: str) -> list[Tensor]:
        """The inputs as the type here takes them, where it is another than in the file."""
        if node.type == node.op:
            return inputs
        if node.op == "Concat":
            return [*inputs[1:], inputs[0]]
        if node.op == "Gather":
            zero = {"value": np.zeros((), np.int32)}
            return [*inputs, self._graph.create_op("Const", (), zero, f"{full}/axis/").outputs[0]]
        return inputs

    def _attrs(self, node: Planned, inputs: Sequence[Tensor]) -> dict[str, Any]:
        attrs = dict(node.attrs)
        if "_class" in attrs:
            attrs["_class"] = tuple(
                f"loc:@{self._names[g[5:]]}" if g.startswith("loc:@") else g
                for g in attrs["_class"]
            )
        wanted = lookup(node.type).attrs
        if inputs and inputs[0].dtype is resource and wanted.get("dtype") is REQUIRED:
            handle = _handle_of(inputs[0])
            for key in FROM_HANDLE if handle is not None else ():
                assert handle is not None
                attrs.setdefault(key, handle.attrs[key])
        return attrs


def _check_types(node: Planned, inputs: Sequence[Tensor]) -> None:
    """Compares the types that the file speaks of with those of the inputs."""
    signature = node.signature
    if signature is None:
        return
    dtypes = [tensor.dtype for tensor in inputs]
    found = bind(signature.inputs, dtypes, node.given, signature.attrs)
    if found is None:
        raise ValueError(f"it has {len(inputs)} inputs, which {node.op} does not take")
    expected = [
        t for arg in signature.inputs for t in _expected(arg, node.given, found, signature.attrs)
    ]
    for at, (tensor, dtype) in enumerate(zip(inputs, expected, strict=False)):
        if dtype is not None and tensor.dtype is not dtype:
            raise ValueError(
                f"input {at} was passed {tensor.dtype.name} from {tensor.name}, expected {dtype.name}"
            )


def _expected(
    arg: Arg, given: Mapping[str, Any], found: Mapping[str, Any], attrs: Mapping[str, Any]
) -> list[Any]:
    """The type of each value of an input; ``None`` where any will do."""
    if arg.is_list:
        return list(given.get(arg.type, found[arg.type]))
    count = given.get(arg.number, found.get(arg.number, 0)) if arg.number else 1
    if arg.type not in attrs:
        try:
            return [as_dtype(arg.type)] * count
        except TypeError:
            return [None] * count
    dtype = given.get(arg.type, attrs[arg.type].default)
    return [None if dtype is REQUIRED or isinstance(dtype, str) else dtype] * count
