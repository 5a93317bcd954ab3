"""``NodeBuilder``: planned nodes become operations of one graph, under one scope.

It takes nodes in order, producers first, but for those that close a loop: they are read once all are there.
What the file says of types and shapes is compared with what the operations have. ``importing`` builds a file
with it, twice; a function is built where it is called, by a builder of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.control_flow_ops import MERGES
from actorsession.graph.dtypes import as_dtype, resource
from actorsession.graph.function import CALLS
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import REQUIRED, lookup
from actorsession.interop.calls import build_call
from actorsession.interop.construct_import import after, build_construct
from actorsession.interop.functions import CONSTRUCTS, PlannedFunction
from actorsession.interop.ordering import in_order
from actorsession.interop.planned import Planned
from actorsession.interop.signatures import FROM_HANDLE, Arg, bind

__all__ = ["NodeBuilder", "handle_of"]

# What building raises: shape functions get attributes from the file that no function of ours would give.
_FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class NodeBuilder:
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
        """Build all nodes.

        Raises:
            ValueError: naming the node that does not fit.
        """
        self._names = self._free_names([node.name for node in ordered])
        for node in ordered:
            try:
                self.built[node.name] = self._build(node)
            except _FAULTS as exc:
                raise ValueError(
                    f"node {node.name!r} ({node.op}) cannot be imported: {exc}"
                ) from exc
        self._close_loops()

    def _close_loops(self) -> None:
        """Let each Merge read the NextIteration that it was built before."""
        for node, at in self._open:
            try:
                self.built[node.name]._update_input(at, self._tensor(*node.inputs[at]))
            except _FAULTS as exc:
                raise ValueError(
                    f"node {node.name!r} ({node.op}) cannot be imported: {exc}"
                ) from exc
        self._open.clear()

    def element(self, name: str, index: int | None) -> Tensor | Operation:
        """Return what stands for an operation of the file, or for an output of one."""
        return self.built[name] if index is None else self._tensor(name, index)

    def _free_names(self, names: Sequence[str]) -> dict[str, str]:
        """Return the full names for nodes: TensorFlow's rule, by which names that differ in case are two.

        A node whose name is taken gets one that no other node of the file has or gets.
        """
        given = {self._scope + name for name in names}
        found = {}
        for name in names:
            full = wanted = self._scope + name
            count = 0
            while self._is_taken(full) or (count and full in given):
                count += 1
                full = f"{wanted}_{count}"
            given.add(full)
            found[name] = full
        return found

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
        """Return what a node reads; what closes a loop and is built later is one of its other inputs so
        far."""
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
        """Build the nodes of a function where it is called; gives its results."""
        given = {(a, 0): t for a, t in zip(function.arguments, arguments, strict=True)}
        inner = NodeBuilder(self._graph, f"{name}/", given, self._library)
        inner.build(in_order(function.nodes, given))
        results = [inner._tensor(producer, index) for producer, index in function.results]
        return after([inner.built[name] for name in function.control], results, self._graph)

    def _turned(self, node: Planned, inputs: list[Tensor], full: str) -> list[Tensor]:
        """Return the inputs as the type here takes them, where it is another than in the file."""
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
            handle = handle_of(inputs[0])
            for key in FROM_HANDLE if handle is not None else ():
                assert handle is not None
                attrs.setdefault(key, handle.attrs[key])
        return attrs


def handle_of(tensor: Tensor) -> Operation | None:
    """Return the operation that names the variable that a handle refers to, if it can be seen."""
    op = tensor.op
    while op.type == "Identity":
        op = op.inputs[0].op
    return op if op.type == "VarHandleOp" else None


def _check_types(node: Planned, inputs: Sequence[Tensor]) -> None:
    """Compare the types that the file speaks of with those of the inputs."""
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
    """Return the type of each value of an input; ``None`` where any will do."""
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
