"""Reference variables inside of loops, branches and calls, in TensorFlow's form.

Here functions reach a reference variable by its handle, a ``ReferenceHandle``. TensorFlow's functions take no
references, so it has no such type. A loop, branch or call that only reads a variable is given its value. One
that changes it becomes primitive control flow, which is how TensorFlow 1 writes all loops and branches: the
reference enters by ``RefEnter`` and ``RefSwitch``, and ``Assign`` and its like are nodes of the graph. Whatever
else is inside stays as it is, functions that only read among it.

A node of a primitive loop or branch runs where one of its inputs is alive. So those that read constants and
values of outside alone get a control input, the gate, as in TensorFlow. ``own_types`` calls this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorsession.graph.dtypes import bool_, int32
from actorsession.graph.function import ARGUMENT, BRANCHES, CALL, CONSTRUCTS, LOOPS, STATEFUL_CALL, FunctionDef
from actorsession.graph.names import free_name
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import lookup
from actorsession.graph.shape import scalar_shape
from actorsession.interop.first_values import with_first_values
from actorsession.ops.variables.reference_nodes import REFERENCE_TYPES
from actorsession.plan.references import HANDLE_OF

__all__ = ["with_references"]

_Ref = tuple[str, int]
_Values = Mapping[_Ref, TensorSpec]


def with_references(nodes: Iterable[NodeDef], graph: Sequence[NodeDef]) -> list[NodeDef]:
    """Return nodes with references to variables, or their values, in place of their handles.

    Args:
        nodes: the nodes, which may read each other in any order.
        graph: the whole graph, of which they may be a part.

    Raises:
        ValueError: for an operation on the handle of a reference that TensorFlow has for resource variables alone.
    """
    handles = {node.name: node for node in graph if node.op == HANDLE_OF}
    if not handles:
        return list(nodes)
    values = {(name, 0): node.inputs[0] for name, node in handles.items()}
    references = {node.inputs[0]: TensorSpec(node.attrs["dtype"], node.attrs["shape"]) for node in handles.values()}
    written: list[NodeDef] = []
    names = {name: node.inputs[0][0] for name, node in handles.items()}
    whole = _Region(written, {node.name for node in graph}, references, values, names)
    for node in with_first_values(nodes):
        if node.op != HANDLE_OF:
            whole.write(node)
    return written


# -- reading -------------------------------------------------------------------------------------

# What reads a variable by its handle, and the type that reads its value.
_READS = {
    "ReadVariableOp": "Identity",
    "ResourceGather": "Gather",
    "ResourceGatherNd": "GatherNd",
    "VariableShape": "Shape",
}


def _read_of(node: NodeDef) -> list[NodeDef] | None:
    """Return what reads a value as a node reads the handle of a variable; ``None`` if it does more."""
    op = _READS.get(node.op)
    if op is None:
        return None
    attrs = {"out_type": node.attrs["out_type"]} if op == "Shape" else {}
    read = replace(node, op=op, attrs={**attrs, **hidden_attrs(node)})
    axis = node.attrs.get("batch_dims")
    if not axis:
        return [read]
    number = _number(f"{node.name}/axis", axis, node)
    attrs = {"batch_dims": axis}
    return [
        number,
        replace(read, op="GatherV2", inputs=(*node.inputs, (number.name, 0)), attrs={**read.attrs, **attrs}),
    ]


def _number(name: str, value: int, like: NodeDef) -> NodeDef:
    return replace(
        like, name=name, op="Const", inputs=(), attrs={"value": np.array(value, np.int32)}, outputs=(_INDEX,)
    )


def _reading(nodes: Iterable[NodeDef], values: _Values) -> list[NodeDef] | None:
    """Return the nodes with values in place of handles; ``None`` if one does more than to read them."""
    rewritten: list[NodeDef] = []
    for node in nodes:
        at = [k for k, ref in enumerate(node.inputs) if ref in values]
        read: list[NodeDef] | None = [node]
        if at and node.op in CONSTRUCTS:
            inside = _reading_inside(node, {k: values[node.inputs[k]] for k in at})
            read = None if inside is None else [inside]
        elif at:
            read = _read_of(node)
        if read is None:
            return None
        rewritten += read
    return rewritten


def _reading_inside(node: NodeDef, specs_at: Mapping[int, TensorSpec]) -> NodeDef | None:
    """Return a loop, branch or call that is given values at some inputs; its last inputs are captures."""
    functions: dict[str, FunctionDef] = {}
    for key, function in node.attrs.items():
        if not isinstance(function, FunctionDef):
            continue
        first = len(function.arguments) - len(node.inputs)
        values = {(ARGUMENT, first + k): spec for k, spec in specs_at.items()}
        nodes = _reading(function.nodes, values)
        if nodes is None or any(ref in values for ref in function.outputs):
            return None
        specs = [values.get((ARGUMENT, k), spec) for k, spec in enumerate(function.arguments)]
        own = len(function.inputs)
        functions[key] = replace(function, inputs=tuple(specs[:own]), captures=tuple(specs[own:]), nodes=tuple(nodes))
    return replace(node, attrs={**node.attrs, **functions})


def hidden_attrs(node: NodeDef) -> dict[str, Any]:
    """Return the attributes of a node whose names begin with an underscore."""
    return {key: value for key, value in node.attrs.items() if key.startswith("_")}


# -- changing ------------------------------------------------------------------------------------

_INDEX = TensorSpec(int32, scalar_shape)
_TRUTH = TensorSpec(bool_, scalar_shape)


def _on_reference(node: NodeDef, spec: TensorSpec) -> list[NodeDef]:
    """Return the nodes that do with a reference what a node does with its handle.

    Args:
        node: the node, with a reference as its first input.
        spec: the static type of the variable.
    """
    read = _read_of(node)
    if read is not None:
        return read
    op = REFERENCE_TYPES.get(node.op)
    if op is None:
        raise ValueError(
            f"node {node.name!r} ({node.op}) cannot be exported to a GraphDef: it takes the handle of a reference "
            "variable, and TensorFlow has that operation for resource variables alone. Make the variable with "
            "use_resource=True"
        )
    known = lookup(op)
    attrs = {key: value for key, value in node.attrs.items() if key in known.attrs or key.startswith("_")}
    outputs = (spec,) if known.gives_reference else node.outputs
    return [replace(node, op=op, attrs={**known.attrs, **attrs}, outputs=outputs)]


class _Region:
    """The nodes of a graph, or of one function in it, while they are written as nodes of the graph.

    Args:
        written: receives the nodes.
        taken: the names that nodes of the graph have; grows.
        references: the references of the graph, with the static types of their variables; grows.
        given: by what nodes of the region read, a value of the graph; all others are of the region's own.
        names: the names in the graph of nodes of the region where they differ from their own; grows.
        entered: the values of the graph that are there only if the region runs.
        gate: the nodes that those run after which read nothing of the region.
    """

    def __init__(
        self,
        written: list[NodeDef],
        taken: set[str],
        references: dict[_Ref, TensorSpec],
        given: Mapping[_Ref, _Ref],
        names: dict[str, str],
        entered: Iterable[_Ref] = (),
        gate: tuple[str, ...] = (),
    ) -> None:
        self._written = written
        self._taken = taken
        self._references = references
        self._given = given
        self._entered = frozenset(entered)
        self._gate = gate
        self._names = names
        self._inside: set[str] = set()

    def write(self, node: NodeDef) -> None:
        """Write a node of the graph, or of the function under a new name."""
        passed = [self._given.get(ref) for ref in node.inputs]
        references = {k: self._references[ref] for k, ref in enumerate(passed) if ref in self._references}
        node = replace(
            node,
            inputs=tuple(map(self._read, node.inputs)),
            control_inputs=tuple([self._names.get(before, before) for before in node.control_inputs]),
        )
        if not references:
            self._add(node)
        elif node.op not in CONSTRUCTS:
            for each in _on_reference(node, references[0]):
                self._add(each)
        elif (reading := _reading_inside(node, references)) is not None:
            self._add(reading)
        else:
            results = self._written_out(node)
            op = "IdentityN" if len(results) > 1 else "Identity"
            self._add(replace(node, op=op, inputs=tuple(results), control_inputs=(), attrs={}))

    def _written_out(self, node: NodeDef) -> list[_Ref]:
        """Write a loop, branch or call node by node, and return its results."""
        if node.op in LOOPS:
            return self._loop(node)
        if node.op in BRANCHES:
            return self._branch(node)
        if node.op in (CALL, STATEFUL_CALL):
            return self._function(node.attrs["f"], node.inputs, (), (*node.control_inputs, *self._gate))
        raise ValueError(
            f"node {node.name!r} ({node.op}) cannot be exported to a GraphDef: its function changes a reference "
            "variable, which TensorFlow's functions cannot. Make the variable with use_resource=True"
        )

    def _loop(self, node: NodeDef) -> list[_Ref]:
        condition, body = node.attrs["cond"], node.attrs["body"]
        count = len(body.inputs)
        # One iteration begins when the one before has ended, as in a ``While``: nothing in the graph says
        # that an iteration reads a variable after the one before has changed it.
        frame = {"frame_name": node.name, "parallel_iterations": 1}
        enters = [
            self._add(self._primitive("Enter", node, [ref], spec, node.control_inputs, is_constant=k >= count, **frame))
            for k, (ref, spec) in enumerate(zip(node.inputs, body.arguments, strict=True))
        ]
        nexts = [self._free(f"{node.name}/NextIteration") for _ in body.inputs]
        merges = [
            self._put(self._primitive("Merge", node, [enter, (following, 0)], spec))
            for enter, following, spec in zip(enters, nexts, body.inputs, strict=False)
        ]
        constants = enters[count:]
        (goes_on,) = self._function(condition, [*merges, *constants], merges, (merges[0][0],))
        loop_cond = self._put(self._primitive("LoopCond", node, [goes_on], _TRUTH))
        switches = [
            self._put(self._primitive("Switch", node, [merge, loop_cond], spec))[0]
            for merge, spec in zip(merges, body.inputs, strict=True)
        ]
        entered = [(name, 1) for name in switches]
        pivot = self._put(self._primitive("Identity", node, entered[:1], body.inputs[0]))
        values = self._function(body, [*entered, *constants], entered, (pivot[0],))
        for name, value, spec in zip(nexts, values, body.inputs, strict=True):
            self._put(replace(self._primitive("NextIteration", node, [value], spec), name=name))
        return [
            self._put(self._primitive("Exit", node, [(name, 0)], spec))
            for name, spec in zip(switches, body.inputs, strict=True)
        ]

    def _branch(self, node: NodeDef) -> list[_Ref]:
        predicate = node.inputs[0]
        branches = node.attrs["else_branch"], node.attrs["then_branch"]
        pivot, *switches = [
            self._add(self._primitive("Switch", node, [ref, predicate], spec, node.control_inputs))[0]
            for ref, spec in zip(node.inputs, (_TRUTH, *branches[0].captures), strict=True)
        ]
        results = []
        for side, branch in enumerate(branches):
            gate = self._put(self._primitive("Identity", node, [(pivot, side)], _TRUTH))
            entered = [(name, side) for name in switches]
            results.append(self._function(branch, entered, entered, (gate[0],)))
        return [
            self._put(self._primitive("Merge", node, pair, spec))
            for *pair, spec in zip(*results, node.outputs, strict=True)
        ]

    def _function(
        self, function: FunctionDef, arguments: Iterable[_Ref], entered: Iterable[_Ref], gate: tuple[str, ...]
    ) -> list[_Ref]:
        """Write the nodes of a function as nodes of the graph, and return its results.

        Args:
            function: the function.
            arguments: its arguments, in the graph.
            entered: those that are there only if the function runs.
            gate: see the class.
        """
        values = {(ARGUMENT, k): ref for k, ref in enumerate(arguments)}
        region = _Region(self._written, self._taken, self._references, values, {}, entered, gate)
        for node in function.nodes:
            region._names[node.name] = name = self._free(node.name)
            region.write(replace(node, name=name))
        return [
            region._alive(region._read(ref), spec)
            for ref, spec in zip(function.outputs, function.output_specs(), strict=True)
        ]

    def _alive(self, ref: _Ref, spec: TensorSpec) -> _Ref:
        """Return a value that is there only if the region runs."""
        if ref in self._entered or ref[0] in self._inside:
            return ref
        return self._add(NodeDef(name=self._free(f"{ref[0]}/Identity"), op="Identity", inputs=(ref,), outputs=(spec,)))

    def _read(self, ref: _Ref) -> _Ref:
        return self._given.get(ref) or (self._names.get(ref[0], ref[0]), ref[1])

    def _free(self, base: str) -> str:
        name = free_name(base, self._taken)
        self._taken.add(name)
        return name

    def _primitive(
        self,
        op: str,
        node: NodeDef,
        inputs: Iterable[_Ref],
        spec: TensorSpec,
        control: tuple[str, ...] = (),
        **attrs: Any,
    ) -> NodeDef:
        """Return a node of the control flow that a loop or branch becomes; of references if its input is one."""
        inputs = tuple(inputs)
        name = self._free(f"{node.name}/{op}")
        variable = self._references.get(inputs[0])
        spec = spec if variable is None else variable
        outputs = {"Switch": (spec, spec), "Merge": (spec, _INDEX)}.get(op, (spec,))
        if variable is not None:
            op = f"Ref{op}"
            self._references |= {(name, k): variable for k in range(len(outputs))}
        # A reference goes where its variable is.
        device = node.device if variable is None else ""
        return NodeDef(
            name=name,
            op=op,
            inputs=inputs,
            control_inputs=control,
            device=device,
            attrs=attrs,
            outputs=outputs,
            source=node.source,
        )

    def _add(self, node: NodeDef) -> _Ref:
        """Add a node, behind the gate unless it reads or runs after something that is."""
        producers = {*[name for name, _ in node.inputs], *node.control_inputs}
        if self._inside.isdisjoint(producers) and self._entered.isdisjoint(node.inputs):
            node = replace(node, control_inputs=tuple(dict.fromkeys([*node.control_inputs, *self._gate])))
        return self._put(node)

    def _put(self, node: NodeDef) -> _Ref:
        self._written.append(node)
        self._inside.add(node.name)
        return node.name, 0
