"""Conversion of TensorFlow's reference variables to the resource variables of this library.

The module is pure: it maps planned nodes to planned nodes. ``VariableV2`` becomes ``VarHandleOp``. An
operation that takes a reference (``Assign``, ``ApplyAdam``, ``ScatterAdd``, ...) becomes its counterpart that
takes a handle. Where a reference is used as a value, a read is inserted. Each reader gets its own read with
the control inputs of the reader, because that is when TensorFlow reads the value. A reference that an update
returns becomes the same handle, used after the update.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from actorsession.interop.import_plan import REFERENCES, Planned, resource_type

__all__ = ["without_references"]


def without_references(
    planned: Sequence[Planned], wanted: Iterable[tuple[str, int | None]] = ()
) -> tuple[list[Planned], dict[tuple[str, int], tuple[str, int]]]:
    """Return the nodes with handles in place of references.

    Args:
        planned: the nodes of a graph.
        wanted: outputs that the caller needs, by node and index.

    Returns:
        The nodes, and the places of the values of outputs that are references in the file.
    """
    by_name = {node.name: node for node in planned}
    references = {node.name for node in planned if _gives_reference(node)}
    if not references:
        return list(planned), {}
    rewriter = _Rewriter(by_name, references)
    made = [new for node in planned for new in rewriter.rewritten(node)]
    values = {}
    for name, index in wanted:
        if index == 0 and name in references and (name, 0) not in values:
            read = rewriter.read(f"{name}/_value", name, ())
            values[name, 0] = (read.name, 0)
            made.append(read)
    return made, values


def _gives_reference(node: Planned) -> bool:
    if node.op in REFERENCES:
        return True
    signature = node.signature
    return (
        resource_type(node.op) is not None
        and signature is not None
        and bool(signature.outputs)
        and signature.outputs[0].is_ref
    )


class _Rewriter:
    def __init__(self, by_name: Mapping[str, Planned], references: set[str]) -> None:
        self._by_name = by_name
        self._references = references

    def rewritten(self, node: Planned) -> list[Planned]:
        """Return the replacement of a node: the reads that it needs, then the node or its counterpart."""
        if node.op in REFERENCES:
            return [replace(node, given={}, shapes=())]
        signature = node.signature
        refs = 0
        if resource_type(node.op) is not None and signature is not None:
            refs = sum(arg.is_ref for arg in signature.inputs)
        made: list[Planned] = []
        inputs, control = [], list(node.control)
        for at, (name, index) in enumerate(node.inputs):
            if name not in self._references or index != 0:
                inputs.append((name, index))
            elif at < refs:
                handle, after = self._handle(name)
                inputs.append((handle, 0))
                control.extend(after)
            else:
                made.append(self.read(f"{node.name}/_read_{at}", name, node.control))
                inputs.append((made[-1].name, 0))
        if made or refs:
            node = replace(node, inputs=tuple(inputs), control=tuple(dict.fromkeys(control)))
        if refs:
            gives = node.name in self._references
            node = replace(node, given={}, shapes=() if gives else node.shapes)
        return [*made, node]

    def _handle(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return the variable of a reference, and the operations that must run before it is used."""
        after: tuple[str, ...] = ()
        seen = {name}
        while self._by_name[name].op not in REFERENCES:
            after = after or (name,)
            node = self._by_name[name]
            name = node.inputs[0][0] if node.inputs else ""
            if name in seen or name not in self._references:
                raise ValueError(
                    f"node {node.name!r} ({node.op}) takes a reference, but not of a variable"
                )
            seen.add(name)
        return name, after

    def read(self, name: str, reference: str, control: Sequence[str]) -> Planned:
        """Return a node that reads the variable of a reference."""
        handle, after = self._handle(reference)
        device = self._by_name[handle].device
        return Planned(
            name, "ReadVariableOp", "ReadVariableOp", ((handle, 0),),
            tuple(dict.fromkeys([*control, *after])), device, {"_class": (f"loc:@{handle}",)}, {},
        )  # fmt: skip
