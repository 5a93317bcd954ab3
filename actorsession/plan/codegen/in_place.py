"""Which nodes write to an existing array instead of allocating one.

A node may overwrite an input that it is the last to read, if nothing else can hold that array: the rule of
``UseDef.owned``, and a single reader. A sum of many inputs (``OpDef.joins``) need not wait for the last of
them: each is added when it is made, while it is in the cache, and then dropped. The op defines how a node
writes to an array (``OpDef.into``); this module decides when it may. A large result that is sent to another
task is written to a new array in memory that the other task can read. ``emitter`` calls this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Kernel
from actorsession.graph.shared_arrays import LEAST
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.records import dataclass

__all__ = ["Join", "joins_among", "overwritten", "writes_new"]

# A sum of fewer inputs allocates at most one unneeded array.
_FEWEST = 3


def overwritten(flow: UseDef, i: int, context: NodeContext, is_free: Callable[[Ref], bool]) -> int | None:
    """Return the input that a node may overwrite with its result.

    Args:
        flow: the use-def analysis of the surrounding values.
        i: the node.
        context: the context for its kernel factory.
        is_free: whether only the node can hold an array.

    Returns:
        The input's index; ``None`` if the node must allocate an array.
    """
    op, node = flow.ops[i], flow.nodes[i]
    if op is None or op.into is None or len(node.outputs) != 1:
        return None
    result = node.outputs[0]
    if not result.shape.rank:
        return None  # unknown, or a scalar, which is no array
    for k, ref in enumerate(flow.inputs[i]):
        if _is_like(context.inputs, k, result) and is_free(ref):
            # Tested last, because most inputs are read by others too.
            return k if isinstance(op.into(context), np.ufunc) else None
    return None


def writes_new(flow: UseDef, i: int, context: NodeContext) -> Kernel | None:
    """Return the function by which a node writes its result to a new array in memory that peers can read.

    That is worth it for a large result that is sent to another task: it need not be copied there.

    Returns:
        A function of the inputs and the array; ``None`` if the kernel allocates the array.
    """
    op, node = flow.ops[i], flow.nodes[i]
    if op is None or len(node.outputs) != 1 or not flow.is_sent((i, 0)) or not flow.owned((i, 0)):
        return None
    result = node.outputs[0]
    size = result.shape.num_elements()
    if not result.shape.rank or size is None or result.dtype.kind in "srv":
        return None
    if size * result.dtype.itemsize < LEAST:
        return None
    if op.into_new is not None:
        return op.into_new(context)
    function = None if op.into is None else op.into(context)
    fits = isinstance(function, np.ufunc) or all(
        spec.shape.rank == 0 or spec.shape.sizes == result.shape.sizes for spec in context.inputs
    )
    return function if fits else None


def _is_like(inputs: Sequence[TensorSpec], k: int, result: TensorSpec) -> bool:
    """Return whether an input certainly has the result's dtype and shape."""
    spec = inputs[k]
    if spec.dtype is not result.dtype or spec.shape.sizes != result.shape.sizes:
        return False
    others = [s for j, s in enumerate(inputs) if j != k]
    return spec.shape.is_fully_defined() or all(s.shape.rank == 0 for s in others)


@dataclass(slots=True)
class Join:
    """A sum of many inputs while its code is written.

    Attributes:
        node: its node.
        missing: inputs that are not made yet.
        parts: the inputs that are added by one call each, in order, by their positions.
        terms: the nodes among the inputs that have no result of their own; see ``OpDef.adds``.
        added: how many of the parts are in the sum.
    """

    node: int
    missing: set[Ref]
    parts: list[range]
    terms: frozenset[int]
    added: int = 0

    def ready(self, inputs: Sequence[Ref]) -> list[range]:
        """Return the parts that can be added now, in order, and count them as added."""
        first = end = self.added
        while end < len(self.parts) and not any(inputs[k] in self.missing for k in self.parts[end]):
            end += 1
        if end == 1 and inputs[0][0] not in self.terms:  # a sum begins with two
            return []
        self.added = end
        return self.parts[first:end]


def joins_among(flow: UseDef, nodes: Sequence[int]) -> dict[int, list[Join]]:
    """Return the sums among some nodes whose inputs are added one by one.

    Args:
        flow: the use-def analysis.
        nodes: those of one emitter.

    Returns:
        The sums by the nodes that make their inputs.
    """
    joins: dict[int, list[Join]] = {}
    here: set[int] = set()
    for i in nodes:
        op = flow.ops[i]
        if op is not None and op.joins is not None and _is_known(flow, i):
            inputs = flow.inputs[i]
            terms = [ref[0] for ref in inputs if ref[0] in here and _is_term(flow, ref)]
            if len(inputs) >= _FEWEST or (terms and len(inputs) > 1):
                missing = {ref for ref in inputs if ref[0] in here}
                join = Join(i, missing, _parts(flow, inputs, terms), frozenset(terms))
                for producer in {ref[0] for ref in missing}:
                    joins.setdefault(producer, []).append(join)
        here.add(i)
    return joins


def _is_known(flow: UseDef, i: int) -> bool:
    """Return whether the inputs of a sum are arrays of one static shape."""
    spec, inputs = flow.nodes[i].outputs[0], flow.inputs[i]
    if not spec.shape.rank or not spec.shape.is_fully_defined():
        return False
    return all(flow.nodes[j].outputs[k].shape.sizes == spec.shape.sizes for j, k in inputs)


def _is_term(flow: UseDef, ref: Ref) -> bool:
    """Return whether a value that a sum reads need not be made."""
    op = flow.ops[ref[0]]
    return op is not None and op.adds is not None and flow.has_one_use(ref)


def _parts(flow: UseDef, inputs: Sequence[Ref], terms: Sequence[int]) -> list[range]:
    """Return the positions of the inputs that are added together: terms that differ in nothing but their inputs."""
    parts: list[range] = []
    room, last = 0, None
    for k, (i, _) in enumerate(inputs):
        kind = _kind(flow, i) if i in terms else None
        if room and kind is not None and kind == last:
            parts[-1] = range(parts[-1].start, k + 1)
            room -= 1
            continue
        parts.append(range(k, k + 1))
        op = flow.ops[i]
        room, last = 0, kind
        if kind is not None and op is not None and op.adds is not None:
            room = op.adds(flow.context(i)).at_once - 1
    return parts


def _kind(flow: UseDef, i: int) -> tuple[object, ...]:
    """Return what the function of a term depends on."""
    node, context = flow.nodes[i], flow.context(i)
    return node.op, sorted(node.attrs.items()), context.inputs
