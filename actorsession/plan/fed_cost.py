"""The expected cost of a segment for the values of its next run.

Static types often leave dimensions open, a batch for instance, and then they do not determine whether the
first run of a segment is short. The values at hand have shapes: ``FedCost`` propagates them through the
segment, by the shape rules that built the graph, and sums the costs of its nodes. ``segment_writer`` makes it
for short segments, because each node takes some ten microseconds to evaluate. It is used until a segment has
been measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorsession.graph.function import functions_of
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import InferContext, OpDef
from actorsession.graph.shape import TensorShape
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.cost import node_cost

__all__ = ["FedCost"]

# Most nodes of a segment that is evaluated: more take longer than the handover to a thread.
_MOST = 40
# Most elements of a value that is passed to shape rules, such as a shape.
_FEW = 32


class FedCost:
    """The cost of a segment by the shapes of its arguments.

    Args:
        flow: the use-def analysis of its partition.
        nodes: the segment's, producers first.
        parameters: the values that are its arguments.
    """

    __slots__ = ("_parameters", "_work")

    def __init__(self, flow: UseDef, nodes: Sequence[int], parameters: Sequence[Ref]) -> None:
        self._parameters = [(ref, flow.nodes[ref[0]].outputs[ref[1]]) for ref in parameters]
        self._work: list[tuple[int, NodeDef, OpDef, tuple[Ref, ...], InferContext]] = []
        for i in nodes:
            op = flow.ops[i]
            if op is None:  # sends are free
                continue
            node, refs = flow.nodes[i], flow.inputs[i]
            inputs = tuple([flow.nodes[j].outputs[k] for j, k in refs])
            constants = tuple([flow.constant(ref) for ref in refs])
            known = InferContext(node.op, inputs, node.attrs, constants)
            self._work.append((i, node, op, refs, known))

    @classmethod
    def of(cls, flow: UseDef, nodes: Sequence[int], parameters: Sequence[Ref]) -> FedCost | None:
        """Return the cost of a segment; ``None`` for one that is too long, or has loops or branches."""
        if len(nodes) > _MOST or any(functions_of(flow.nodes[i]) for i in nodes):
            return None
        return cls(flow, nodes, parameters)

    def micros(self, arguments: Sequence[Any]) -> float | None:
        """Return the expected microseconds of the segment.

        Args:
            arguments: its arguments.

        Returns:
            ``None`` if these values do not determine the cost either.
        """
        specs: dict[Ref, TensorSpec] = {}
        values: dict[Ref, Any] = {}
        for (ref, static), value in zip(self._parameters, arguments, strict=True):
            if isinstance(value, (np.ndarray, np.generic)):
                specs[ref] = TensorSpec(static.dtype, TensorShape(value.shape))
                if value.size <= _FEW:
                    values[ref] = np.asarray(value)
            elif static.dtype.kind not in "srv" and isinstance(shape := getattr(value, "shape", None), tuple):
                specs[ref] = TensorSpec(static.dtype, TensorShape(shape))  # an array of a device, which is not read
        total = 0.0
        for i, node, op, refs, known in self._work:
            inputs = tuple([specs.get(r, s) for r, s in zip(refs, known.inputs, strict=True)])
            constants = [values.get(r, c) for r, c in zip(refs, known.constants, strict=True)]
            outputs = node.outputs
            if not all(spec.shape.is_fully_defined() for spec in outputs):
                context = replace(known, inputs=inputs, constants=tuple(constants))
                inferred = _inferred(op, context, outputs)
                if inferred is None:
                    return None
                outputs = inferred
            specs.update({(i, k): spec for k, spec in enumerate(outputs)})
            cost, complete = node_cost(replace(node, outputs=outputs), inputs)
            if not complete:
                return None
            total += cost
        return total


def _inferred(op: OpDef, context: InferContext, static: Sequence[TensorSpec]) -> tuple[TensorSpec, ...] | None:
    """Return the types of a node's outputs; ``None`` for inputs that its kernel will refuse."""
    try:
        specs = op.infer(context)
        return tuple([TensorSpec(s.dtype, s.shape.merge_with(f.shape)) for s, f in zip(static, specs, strict=True)])
    except Exception:
        return None
