"""References to variables in a step become handles, and uses of their values become reads.

A node may take or give a *reference*: an output that is a variable itself, as ``VariableV2`` gives it and
``Assign`` takes and gives it again, while every other node sees the variable's value in it. Kernels know only
handles. ``with_handles`` replaces each node that takes references by the one that takes handles
(``OpDef.stands_for``), and puts a read where a value is used. ``GraphExecutionState`` calls it for each step,
after pruning, so a fed reference is a value like any other.

The value is that of the moment at which the node runs that uses it: after its control inputs, and after each
update on which another input of it depends. A copy of a reference that has no control inputs, such as
``v/read``, is no snapshot but stands for the variable. All uses that no update precedes share one read.

A handle never leaves its device. ``read_in_place`` is called when the nodes of the step have their devices:
where a copy of a reference is placed elsewhere, the variable is read where it is, and the value is sent.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import resource
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import is_registered, lookup
from actorsession.graph.shape import scalar_shape, unknown_shape
from actorsession.plan.fetched_reads import VARIABLE_READS
from actorsession.plan.prune import StepGraph
from actorsession.plan.wiring import Ref
from actorsession.records import dataclass

__all__ = ["BY_REFERENCE", "HANDLE_OF", "PASSES", "READ", "needed", "producers", "read_in_place", "with_handles"]

HANDLE_OF = "ReferenceHandle"
"""The operation type that gives the handle of a reference, for loop bodies and branches."""

BY_REFERENCE = "_by_reference"
"""The attribute of a ``VarHandleOp`` that stands for a reference variable: the shape that the graph gives it."""

READ = "_read/"
"""The start of the names of reads that are no nodes of the graph."""

_HANDLE = TensorSpec(resource, scalar_shape)
PASSES = frozenset({"RefEnter", "RefExit", "RefIdentity", "RefMerge", "RefNextIteration", "RefSelect", "RefSwitch"})
"""Operation types that pass references on, as their counterparts do with values."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference in the graph.

    Attributes:
        handle: the output that gives the handle of its variable.
        spec: the static type of the variable.
        after: what has to run before the variable is used by this reference.
        bit: the variable, as a bit of masks.
        read: the node that reads the variable for all users that no update precedes, if there is one.
    """

    handle: Ref
    spec: TensorSpec
    after: tuple[str, ...]
    bit: int
    read: str


def with_handles(graph: StepGraph) -> StepGraph:
    """Return a step without references.

    Args:
        graph: what a run needs, producers first.

    Returns:
        The graph; the argument itself if there are no references in it.

    Raises:
        InvalidArgumentError: if a node that takes a reference is given something else, such as a feed.
    """
    nodes = graph.nodes
    if not any(_has_references(node) for node in nodes.values()):
        return graph
    rewriter = _rewritten(nodes, {})
    while rewriter.is_behind():
        rewriter = _rewritten(nodes, rewriter.changed)
    fetches = tuple([rewriter.fetched(fetch) for fetch in graph.fetches])
    kept = needed(rewriter.made, [*[name for name, _ in fetches], *graph.targets])
    return replace(graph, nodes=kept, fetches=fetches)


def _rewritten(nodes: Mapping[str, NodeDef], known: Mapping[str, int]) -> _Rewriter:
    rewriter = _Rewriter(nodes, known)
    for node in nodes.values():
        rewriter.add(node)
    return rewriter


def _has_references(node: NodeDef) -> bool:
    if not is_registered(node.op):
        return False
    known = lookup(node.op)
    return known.makes_reference or known.references > 0


class _Rewriter:
    """The nodes of a step, one after the other.

    Args:
        nodes: the nodes.
        known: ``changed`` as far as an earlier rewriter knew it.

    Attributes:
        made: the nodes of the step without references.
        changed: by node, the variables that were changed before it ends, as a mask.
    """

    def __init__(self, nodes: Mapping[str, NodeDef], known: Mapping[str, int]) -> None:
        self._nodes = nodes
        self._known = known
        self.made: dict[str, NodeDef] = {}
        self._references: dict[Ref, _Reference] = {}
        # By the nodes of type ``HANDLE_OF``.
        self._handles: dict[str, _Reference] = {}
        self.changed: dict[str, int] = {}
        # What the last nodes of iterations have changed was not known where the next iterations begin.
        self._back_edges: set[str] = set()
        self._bits = 0

    def add(self, node: NodeDef) -> None:
        """Add a node of the step."""
        known = lookup(node.op) if is_registered(node.op) else None
        before = (*[name for name, _ in node.inputs], *node.control_inputs)
        changed = 0
        rewritten: NodeDef | None
        for name in before:
            if name not in self.changed:
                self._back_edges.add(name)
            changed |= self.changed.get(name, self._known.get(name, 0))
        if known is not None and known.makes_reference:
            rewritten = self._maker(node, known.stands_for)
        elif known is not None and known.references:
            rewritten, written = self._taker(node, known.stands_for, known.references)
            changed |= written
        elif not any(ref in self._references for ref in node.inputs):
            rewritten = node
        elif node.op == HANDLE_OF:
            rewritten = None
            self._handles[node.name] = self._references[node.inputs[0]]
        elif node.op == "RefIdentity":
            rewritten = self._same(node)
        elif node.op in PASSES:
            rewritten = self._passing(node)
        else:
            rewritten = self._reader(node)
        if rewritten is not None:
            if self._handles:
                rewritten, written = self._with_known_handles(rewritten)
                changed |= written
            self.made[node.name] = rewritten
        self.changed[node.name] = changed

    def is_behind(self) -> bool:
        """Return whether more is changed in iterations than was known at their beginning."""
        return any(self.changed[name] != self._known.get(name, 0) for name in self._back_edges)

    def _with_known_handles(self, node: NodeDef) -> tuple[NodeDef, int]:
        """Return a node with handles in place of the nodes that give them, and what it may change."""
        handles = {name for name, _ in node.inputs if name in self._handles}
        if not handles:
            return node, 0
        inputs = [self._handles[n].handle if n in handles else (n, i) for n, i in node.inputs]
        after = [name for n in sorted(handles) for name in self._handles[n].after]
        control = tuple(dict.fromkeys([*node.control_inputs, *after]))
        rewritten = replace(node, inputs=tuple(inputs), control_inputs=control)
        if node.op in VARIABLE_READS:
            return rewritten, 0
        return rewritten, functools.reduce(operator.or_, [self._handles[n].bit for n in handles])

    def _maker(self, node: NodeDef, stands_for: str) -> NodeDef:
        spec = node.outputs[0]
        self._references[node.name, 0] = _Reference((node.name, 0), spec, node.control_inputs, 1 << self._bits, "")
        self._bits += 1
        attrs = {**_own(node.attrs, stands_for), "dtype": spec.dtype, "shape": spec.shape}
        if stands_for == "VarHandleOp":
            # An assignment may let the shape change; the others check it themselves.
            attrs.update({"shape": unknown_shape, BY_REFERENCE: spec.shape})
        return replace(node, op=stands_for, attrs=attrs, outputs=(_HANDLE,))

    def _taker(self, node: NodeDef, stands_for: str, count: int) -> tuple[NodeDef, int]:
        """Return the node that takes handles in place of references, and the variables that it changes."""
        taken = [self._taken(node, ref) for ref in node.inputs[:count]]
        rest = self._values(node, count)
        after = [name for reference in taken for name in reference.after]
        first = taken[0]
        is_open = node.attrs.get("validate_shape") is False
        shape = unknown_shape if is_open else first.spec.shape
        attrs = {**_own(node.attrs, stands_for), "dtype": first.spec.dtype, "shape": shape}
        gives = lookup(node.op).gives_reference
        update = replace(
            node,
            op=stands_for,
            attrs=attrs,
            inputs=(*[reference.handle for reference in taken], *rest),
            control_inputs=tuple(dict.fromkeys([*node.control_inputs, *after])),
            outputs=() if gives else node.outputs,
        )
        if gives:
            spec = node.outputs[0]
            self._references[node.name, 0] = _Reference(first.handle, spec, (node.name,), first.bit, "")
        written = 0
        for reference in taken if stands_for not in VARIABLE_READS else ():
            written |= reference.bit
        return update, written

    def _taken(self, node: NodeDef, ref: Ref) -> _Reference:
        reference = self._references.get(ref)
        if reference is None:
            raise InvalidArgumentError(
                f"node {node.name!r} ({node.op}) takes a reference to a variable; '{ref[0]}:{ref[1]}' is "
                "none in this step, because it is fed or no variable",
                node=node.name,
                source=node.source,
            )
        return reference

    def _same(self, node: NodeDef) -> NodeDef:
        """Return the node that uses of a reference wait for that is passed on as it is."""
        given = self._taken(node, node.inputs[0])
        self._references[node.name, 0] = _Reference(given.handle, node.outputs[0], (node.name,), given.bit, "")
        before = (*node.control_inputs, *given.after)
        return replace(node, op="NoOp", attrs={}, inputs=(), outputs=(), control_inputs=tuple(dict.fromkeys(before)))

    def _passing(self, node: NodeDef) -> NodeDef:
        """Return a node of control flow that passes handles on."""
        references = [self._references.get(ref) for ref in node.inputs]
        first = next(reference for reference in references if reference is not None)
        inputs, after = list(node.inputs), list(node.control_inputs)
        for index, reference in enumerate(references):
            if reference is not None:
                inputs[index] = reference.handle
                after += reference.after
        outputs = list(node.outputs)
        for index in range(1 if node.op == "RefMerge" else len(outputs)):
            outputs[index] = _HANDLE
            self._references[node.name, index] = _Reference((node.name, index), first.spec, (), first.bit, "")
        # A handle is a value, so that the planner may make a ``While`` or ``If`` of the nodes.
        op = node.op if node.op == "RefSelect" else node.op.removeprefix("Ref")
        before = tuple(dict.fromkeys(after))
        return replace(node, op=op, inputs=tuple(inputs), control_inputs=before, outputs=tuple(outputs))

    def _reader(self, node: NodeDef) -> NodeDef | None:
        """Return a node that uses values of references; ``None`` for a copy that stands for its variable."""
        if node.op != "Identity":
            return replace(node, inputs=tuple(self._values(node, 0)))
        reference = self._references[node.inputs[0]]
        if reference.read:  # a copy of a copy
            return replace(node, inputs=tuple(self._values(node, 0)))
        control = tuple(dict.fromkeys([*node.control_inputs, *reference.after]))
        if not control and reference.handle == node.inputs[0]:
            self._references[node.name, 0] = replace(reference, read=node.name)
        return _read(node, reference, control)

    def _values(self, node: NodeDef, start: int) -> list[Ref]:
        """Return the inputs from one on, with reads in place of references."""
        return [
            self._value(node, index, ref) if ref in self._references else ref
            for index, ref in enumerate(node.inputs)
            if index >= start
        ]

    def _value(self, node: NodeDef, index: int, ref: Ref) -> Ref:
        reference = self._references[ref]
        before = [*[name for name, _ in node.inputs], *node.control_inputs]
        late = [name for name in dict.fromkeys(before) if self.changed.get(name, 0) & reference.bit]
        if not late or late == [ref[0]]:
            return self._shared(ref, reference)
        name = f"{READ}{node.name}/{index}"
        source = replace(node, name=name, attrs={}, device="")
        self.made[name] = _read(source, reference, tuple(dict.fromkeys([*reference.after, *late])))
        return name, 0

    def _shared(self, ref: Ref, reference: _Reference) -> Ref:
        """Return the read of a reference for all users that no other update precedes."""
        if reference.read:
            return reference.read, 0
        name = f"{READ}{ref[0]}"
        if name not in self.made:
            node = self._nodes[ref[0]]
            source = replace(node, name=name, attrs={}, device="")
            self.made[name] = _read(source, reference, reference.after)
        return name, 0

    def fetched(self, ref: Ref) -> Ref:
        """Return the output to fetch for an output that may be a reference."""
        reference = self._references.get(ref)
        return ref if reference is None else self._shared(ref, reference)


def _own(attrs: Mapping[str, Any], op_type: str) -> dict[str, Any]:
    """Return the attributes that nodes of a type have, filled up with their defaults."""
    known = lookup(op_type).attrs
    kept = {name: value for name, value in attrs.items() if name in known or name.startswith("_")}
    return {**known, **kept}


def _read(node: NodeDef, reference: _Reference, control: tuple[str, ...]) -> NodeDef:
    """Return a node that reads a variable, with the name and origin of another."""
    own = {name: value for name, value in node.attrs.items() if name.startswith("_")}
    attrs = {**own, "dtype": reference.spec.dtype, "shape": reference.spec.shape}
    return replace(
        node,
        op="ReadVariableOp",
        inputs=(reference.handle,),
        control_inputs=control,
        attrs=attrs,
        outputs=(reference.spec,),
    )


def read_in_place(graph: StepGraph, device_of: dict[str, str]) -> StepGraph:
    """Return a step in which every variable is read on its own device.

    Args:
        graph: what a run needs, producers first, without references.
        device_of: the device of each node; those of the reads that are added are added.

    Returns:
        The graph; the argument itself if all reads are where their variables are.
    """
    nodes: dict[str, NodeDef] = {}
    for name, node in graph.nodes.items():
        if node.op == "ReadVariableOp":
            there = device_of[node.inputs[0][0]]
            if there != device_of[name]:
                source = replace(node, name=f"{READ}{name}", device="")
                nodes[source.name], device_of[source.name] = source, there
                node = replace(node, op="Identity", inputs=((source.name, 0),), control_inputs=(), attrs={})
        nodes[name] = node
    return graph if len(nodes) == len(graph.nodes) else replace(graph, nodes=nodes)


def needed(nodes: Mapping[str, NodeDef], roots: Iterable[str]) -> dict[str, NodeDef]:
    """Return the nodes that roots need, in the same order."""
    names: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting.extend(producers(nodes[name]))
    return {name: node for name, node in nodes.items() if name in names}


def producers(node: NodeDef) -> list[str]:
    """Return the nodes that a node reads or runs after."""
    return [*[name for name, _ in node.inputs], *node.control_inputs]
