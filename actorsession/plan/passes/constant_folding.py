"""Constant folding: the values of nodes that read constants alone, computed while a run is planned.

``optimise`` calls this for one node at a time. A node is not folded if it is expensive, its result is large,
or its kernel fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from actorsession.graph.dtypes import resource, string, variant
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import Array, InferContext, OpDef
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.cost import node_cost

__all__ = ["DEFAULT_FOLDED_BYTES", "Constant", "evaluated", "held_bytes"]

# Bytes of one folded constant when the settings leave it open: TensorFlow's 10 MiB.
DEFAULT_FOLDED_BYTES = 10 * 2**20
# Most bytes of all strings that are read: no type gives the length of strings made of them.
_MOST_TEXT = 4096
# Microseconds. A more expensive node runs in each step rather than delay the first one.
_FOLD_BELOW = 200.0


class Constant(NamedTuple):
    """A constant without control inputs.

    Attributes:
        array: its value.
        value: the same as it is passed to kernels: a scalar, or a read-only array.
        spec: its static type.
    """

    array: Array
    value: Any
    spec: TensorSpec

    @classmethod
    def of(cls, array: Array, spec: TensorSpec) -> Constant:
        """Return a constant with that value and type."""
        if not array.ndim:
            return cls(array, array[()], spec)
        view = array.view()
        view.flags.writeable = False
        return cls(array, view, spec)


def evaluated(
    node: NodeDef, definition: OpDef, read: Sequence[Constant], device: str, most_bytes: int
) -> list[Array] | None:
    """Return the values of a node that reads constants.

    Args:
        node: the node.
        definition: of its type, which has neither state nor side effects.
        read: its inputs.
        device: full name of its device.
        most_bytes: of one value.

    Returns:
        A new array for each output; ``None`` if the node should run in the step.
    """
    specs = tuple([c.spec for c in read])
    arrays = tuple([c.array for c in read])
    if any(output.dtype in (variant, resource) for output in node.outputs):
        return None  # a list of tensors is no array, and no constant that can be sent
    typed = _with_known_shapes(node, definition, specs, arrays)
    if typed is None or max([_nbytes(s) for s in typed.outputs], default=0) > most_bytes:
        return None
    if any(s.dtype is string for s in typed.outputs) and not _reads_little(read):
        return None
    if node_cost(typed, specs)[0] > _FOLD_BELOW:
        return None
    try:
        kernel = definition.kernel(NodeContext(typed, specs, arrays, device))
        result = kernel(*[c.value for c in read])
        values = (result,) if len(typed.outputs) == 1 else result
        owned = [_own_array(v, s) for v, s in zip(values, typed.outputs, strict=True)]
    except Exception:
        return None  # the step will raise the same error, with the user's line
    good = [a for a in owned if a is not None and held_bytes(a) <= most_bytes]
    return good if len(good) == len(owned) else None


def _with_known_shapes(
    node: NodeDef, definition: OpDef, specs: tuple[TensorSpec, ...], arrays: tuple[Array, ...]
) -> NodeDef | None:
    """Return the node with static shapes inferred from the values of its inputs.

    Returns:
        ``None`` if they are still unknown, because then the cost is unknown too.
    """
    if not all(spec.shape.is_fully_defined() for spec in node.outputs):
        try:
            known = definition.infer(InferContext(node.op, specs, node.attrs, arrays))
        except Exception:
            return None
        if not all(spec.shape.is_fully_defined() for spec in known):
            return None
        node = replace(node, outputs=tuple(known))
    return node


def _reads_little(read: Sequence[Constant]) -> bool:
    """Return whether all strings among constants are short and few."""
    arrays = [c.array for c in read if c.spec.dtype is string]
    return sum(a.size for a in arrays) <= _MOST_TEXT and sum(map(held_bytes, arrays)) <= _MOST_TEXT


def held_bytes(array: Array) -> int:
    """Return the bytes of an array, those of its strings included."""
    return int(array.nbytes) + (sum(map(len, array.flat)) if array.dtype == object else 0)


def _nbytes(spec: TensorSpec) -> int:
    return spec.dtype.itemsize * (spec.shape.num_elements() or 0)


def _own_array(value: Any, spec: TensorSpec) -> Array | None:
    """Return a kernel's result as the value of a constant; ``None`` if its dtype is not the static one."""
    array = np.array(value, dtype=object if spec.dtype.kind == "s" else None, order="C")
    if array.dtype != spec.dtype.np_dtype:
        return None
    array.flags.writeable = False
    return array
