"""``NodeBuilder``: conversion of planned nodes to operations of one graph, under one scope.

The builder takes nodes in order, producers first. Back edges of loops are the exception: they are connected
once all nodes are built. The types and shapes in the file are checked against those of the operations.
``importer`` builds a file with it twice; each function call is built inline by a builder of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.errors import RequestValueError
from actorsession.graph.control_flow_ops import MERGES
from actorsession.graph.dtypes import as_dtype, resource, string
from actorsession.graph.function import CALLS
from actorsession.graph.graph import Graph
from actorsession.graph.op_signatures import Arg, bind, signature_of
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import REQUIRED, lookup
from actorsession.graph.scopes import entered
from actorsession.interop.attributes import FunctionName
from actorsession.interop.calls import build_call, build_function
from actorsession.interop.construct_import import after, build_construct
from actorsession.interop.functions import CONSTRUCTS, PlannedFunction
from actorsession.interop.import_plan import Planned
from actorsession.interop.ordering import in_order
from actorsession.interop.signatures import FROM_HANDLE

__all__ = ["NodeBuilder", "handle_of"]

# The exceptions that building may raise: shape functions receive attributes from the file that no function of
# this library would produce.
_FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
_LOCATED = "loc:@"


class NodeBuilder:
    """A builder of operations from planned nodes.

    Args:
        graph: the graph to build in.
        scope: prefix of the operations' names, with a trailing slash; may be empty.
        mapped: tensors that replace outputs of nodes, and whose operations replace control inputs.
        library: the functions that loops and branches use.
        inside: whether the nodes are those of a function, whose shapes TensorFlow does not check before they
            are computed.

    Attributes:
        built: the operations by the names of the nodes.
    """

    def __init__(
        self,
        graph: Graph,
        scope: str,
        mapped: Mapping[tuple[str, int], Tensor],
        library: Mapping[str, PlannedFunction],
        *,
        inside: bool = False,
    ) -> None:
        self._inside = inside
        self._graph = graph
        self._scope = scope
        self._library = library
        self.mapped = dict(mapped)
        self.built: dict[str, Operation] = {}
        self._names: dict[str, str] = {}
        self._open: list[tuple[Planned, int]] = []  # inputs that come from nodes built later

    def build(self, ordered: Sequence[Planned]) -> None:
        """Build all nodes.

        Raises:
            ValueError: with the name of the node that cannot be built.
        """
        self._names = self._free_names([node.name for node in ordered])
        for node in ordered:
            try:
                self.built[node.name] = self._build(node)
            except _FAULTS as exc:
                raise RequestValueError(f"node {node.name!r} ({node.op}) cannot be imported: {exc}") from exc
        self._close_loops()
        self._place(ordered)

    def _place(self, ordered: Sequence[Planned]) -> None:
        """Give each node that is colocated with others the device of the first of these that has one.

        This is what TensorFlow does: the device that the file has for such a node counts for nothing.
        """
        for node in ordered:
            op = self.built[node.name]
            others = _colocated_with(node.given and op.attrs, op.name)
            if others:
                devices = [self._graph.get_operation_by_name(name).device for name in others]
                op._device = next(filter(None, devices), "")

    def _close_loops(self) -> None:
        """Connect each Merge to the NextIteration that was built after it."""
        for node, at in self._open:
            try:
                self.built[node.name]._update_input(at, self._tensor(*node.inputs[at]))
            except _FAULTS as exc:
                raise RequestValueError(f"node {node.name!r} ({node.op}) cannot be imported: {exc}") from exc
        self._open.clear()

    def element(self, name: str, index: int | None) -> Tensor | Operation:
        """Return the operation or tensor that represents an operation of the file or one of its outputs."""
        return self.built[name] if index is None else self._tensor(name, index)

    def _free_names(self, names: Sequence[str]) -> dict[str, str]:
        """Return the full names for nodes, by TensorFlow's rule that names differing only in case are
        distinct.

        A node whose name is taken gets a name that no other node of the file has or gets.
        """
        names_in_use = {self._scope + name for name in names}
        full_names = {}
        for name in names:
            full = base = self._scope + name
            count = 0
            while self._is_taken(full) or (count and full in names_in_use):
                count += 1
                full = f"{base}_{count}"
            names_in_use.add(full)
            full_names[name] = full
        return full_names

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
            raise RequestValueError(
                f"it reads output {index} of node {name!r}, whose number of outputs is {len(outputs)}"
            )
        return outputs[index]

    def _inputs(self, node: Planned) -> list[Tensor]:
        """Return the inputs of a node.

        A back edge from a node that is not built yet is temporarily replaced by one of the node's other
        inputs.
        """
        if node.type not in MERGES:
            return [self._tensor(name, index) for name, index in node.inputs]
        known = {
            at: self._tensor(name, index)
            for at, (name, index) in enumerate(node.inputs)
            if name in self.built or (name, index) in self.mapped
        }
        if not known:
            raise RequestValueError("all its inputs come from previous iterations, so there is no initial value")
        first = next(iter(known.values()))
        count = len(node.inputs)
        self._open += [(node, at) for at in range(count) if at not in known]
        return [known.get(at, first) for at in range(count)]

    def _build(self, node: Planned) -> Operation:
        inputs = self._inputs(node)
        _check_types(node, inputs)
        control = [
            self.mapped[before, -1].op if (before, -1) in self.mapped else self.built[before] for before in node.control
        ]
        attrs = self._attrs(node, inputs)
        full = self._names[node.name]
        with contextlib.ExitStack() as stack:
            if control:
                stack.enter_context(self._graph.control_dependencies(control))
            if _colocated_with(node.given and attrs, full):
                stack.enter_context(entered(self._graph, devices=()))  # see _place
            elif node.device:
                stack.enter_context(self._graph.device(node.device))
            if node.op in CONSTRUCTS and node.given:
                return self._construct(node, inputs, full)
            attrs |= self._functions(node, attrs, full)
            try:
                op = self._graph.create_op(node.type, inputs, attrs, name=f"{full}/")
            except ValueError:
                if not self._inside:
                    raise
                hidden = [self._without_shape(tensor, full) for tensor in inputs]
                op = self._graph.create_op(node.type, hidden, attrs, name=f"{full}/")
        for tensor, shape in zip(op.outputs, node.shapes, strict=False):
            if not self._inside or tensor.shape.is_compatible_with(shape):
                self._graph.changes.refine_shape(tensor, shape)
        return op

    def _without_shape(self, tensor: Tensor, full: str) -> Tensor:
        """Return a value of unknown shape, for a node whose fault is known when it runs, if it ever does."""
        if tensor.dtype.kind in "rv":
            return tensor
        hides = self._graph.create_op("PlaceholderWithDefault", (tensor,), {"shape": None}, f"{full}/_in")
        return hides.outputs[0]

    def _construct(self, node: Planned, inputs: list[Tensor], full: str) -> Operation:
        arguments = (node, inputs, full, self._graph, self._library, self._call)
        if node.type in CALLS:
            op, outputs = build_call(*arguments)
        else:
            op, outputs = build_construct(*arguments, numbered=not self._inside)
        for index, tensor in enumerate(outputs):
            self.mapped.setdefault((node.name, index), tensor)
        return op

    def _functions(self, node: Planned, attrs: Mapping[str, Any], full: str) -> dict[str, Any]:
        """Return the attributes of a node that name functions, with these in place of their names."""
        functions = {}
        for key, name in attrs.items():
            if isinstance(name, FunctionName) and not key.startswith("_"):
                if name not in self._library:
                    raise RequestValueError(f"function {name!r}, its attribute {key!r}, is not in the graph's library")
                functions[key] = build_function(self._library[name], f"{full}/_{key}", self._graph, self._call)
        return functions

    def _call(self, function: PlannedFunction, arguments: Sequence[Tensor], name: str) -> list[Tensor]:
        """Build the nodes of a function inline and return its results."""
        mapped = {(a, 0): t for a, t in zip(function.arguments, arguments, strict=True)}
        inner = NodeBuilder(self._graph, f"{name}/", mapped, self._library, inside=True)
        inner.build(in_order(function.nodes, mapped))
        results = [inner._tensor(producer, index) for producer, index in function.results]
        # Not in the scope of the call, where names belong to nodes of the file.
        with self._graph.name_scope(f"{name}/"):
            return after([inner.built[each] for each in function.control], results, self._graph)

    def _attrs(self, node: Planned, inputs: Sequence[Tensor]) -> dict[str, Any]:
        attrs = dict(node.attrs)
        if "_class" in attrs:
            # In a function of TensorFlow 2 it may name a node that was left outside, and says nothing then.
            groups = [g for g in attrs.pop("_class") if not g.startswith(_LOCATED) or g[5:] in self._names]
            named = [f"{_LOCATED}{self._names[g[5:]]}" if g.startswith(_LOCATED) else g for g in groups]
            attrs |= {"_class": tuple(named)} if named else {}
        declared = lookup(node.type).attrs
        if inputs and inputs[0].dtype is resource:
            made_by = _source_of(inputs[0])
            known = {"pads": made_by.type == "PaddingFIFOQueueV2", **made_by.attrs}
            for key in FROM_HANDLE:
                if key in declared and key in known:
                    attrs.setdefault(key, known[key])
        return attrs


def _colocated_with(attrs: Mapping[str, Any], own: str) -> list[str]:
    """Return the names of the other nodes that a node is colocated with."""
    names = [g[len(_LOCATED) :] for g in attrs.get("_class", ()) if g.startswith(_LOCATED)]
    return [name for name in names if name != own]


def handle_of(tensor: Tensor) -> Operation | None:
    """Return the ``VarHandleOp`` that produces a handle, if it can be determined."""
    op = _source_of(tensor)
    return op if op.type == "VarHandleOp" else None


def _source_of(tensor: Tensor) -> Operation:
    op = tensor.op
    while op.type == "Identity" or (op.type.startswith("Ref") and op.inputs):
        op = op.inputs[0].op
    return op


def _is_reference(op: Operation) -> bool:
    signature = signature_of(op.type)
    return signature is not None and any(arg.is_ref for arg in signature.outputs)


def _check_types(node: Planned, inputs: Sequence[Tensor]) -> None:
    """Check the types of the inputs against those in the file."""
    signature = node.signature
    if signature is None:
        return
    dtypes = [tensor.spec.dtype for tensor in inputs]
    bound = bind(signature.inputs, dtypes, node.given, signature.attrs)
    if bound is None:
        raise RequestValueError(f"it has {len(inputs)} inputs, which do not match {node.op}")
    expected = [t for arg in signature.inputs for t in _expected(arg, node.given, bound, signature.attrs)]
    for at, (tensor, dtype) in enumerate(zip(inputs, expected, strict=False)):
        if tensor.spec.dtype is resource and dtype is string and _is_reference(_source_of(tensor)):
            continue  # a reference to a handle's name, which is the handle here
        if dtype is not None and tensor.spec.dtype is not dtype:
            raise RequestValueError(
                f"input {at} was passed {tensor.dtype.name} from {tensor.name}, expected {dtype.name}"
            )


def _expected(arg: Arg, of_file: Mapping[str, Any], bound: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[Any]:
    """Return the type of each value of an input; ``None`` where any type is accepted."""
    if arg.is_list:
        return list(of_file.get(arg.type, bound[arg.type]))
    count = of_file.get(arg.number, bound.get(arg.number, 0)) if arg.number else 1
    if arg.type not in attrs:
        try:
            return [as_dtype(arg.type)] * count
        except TypeError:
            return [None] * count
    dtype = of_file.get(arg.type, attrs[arg.type].default)
    return [None if dtype is REQUIRED or isinstance(dtype, str) else dtype] * count
