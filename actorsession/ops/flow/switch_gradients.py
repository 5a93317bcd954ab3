"""Gradients of conditionals of single operations: of ``Switch`` and ``Merge``.

The gradient of a merge goes to the input whose value was taken, and is dead for the others. The gradient of a
switch merges those of its two outputs, on the same predicate; an output without gradient contributes zeros.
Both are conditionals themselves, so they have gradients as well. Called through the op registry.

A loop of single operations has a gradient if a ``While`` can stand in for it (``stand_ins``); then the
gradients of the nodes inside are not used. From those nodes alone the backward loop cannot be derived.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.control_flow_ops import NEXT_ITERATIONS
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import raw
from actorsession.ops.build import constant
from actorsession.ops.derivatives.values import zeros_for
from actorsession.ops.elements.comparison import equal

__all__ = ["exit_gradient", "merge_gradient", "switch_gradient"]

Grads = Sequence["Tensor | None"]

_FALSE, _TRUE = 0, 1  # the outputs of a switch


def switch_gradient(op: Operation, *grads: Tensor | None) -> Grads:
    """Return the gradient of a ``Switch``: that of the selected output, and zeros if that has none."""
    data, predicate = op.inputs
    if predicate.op.type == "LoopCond":
        raise _of_a_loop(op)
    ways = []
    for way in (_FALSE, _TRUE):
        grad = grads[way]
        if grad is None:
            grad = zeros_for(_unswitched(data) if data.dtype.kind == "r" else op.outputs[way])
        # A value that does not depend on the data, such as a constant, is never dead unless it passes a
        # switch.
        ways.append(raw.Switch(grad, predicate)[way])
    return [raw.Merge(ways)[0], None]


def merge_gradient(op: Operation, grad: Tensor | None, index: Tensor | None = None) -> Grads:
    """Return the gradient of a ``Merge``: dead for each input but the one whose value was taken."""
    if any(t.op.type in NEXT_ITERATIONS for t in op.inputs):
        raise _of_a_loop(op)
    gradients: list[Tensor | None] = []
    for number in range(len(op.inputs)):
        taken = equal(op.outputs[1], constant(number, op.outputs[1].dtype, graph=op.graph))
        gradients.append(None if grad is None else raw.Switch(grad, taken)[_TRUE])
    return gradients


def exit_gradient(op: Operation, grad: Tensor | None) -> Grads:
    """Raise LookupError for an ``Exit`` of a loop without a stand-in."""
    raise _of_a_loop(op)


def _unswitched(handle: Tensor) -> Tensor:
    """Return the handle of a variable before any switch."""
    while handle.op.type in ("Switch", "RefSwitch", "Identity"):
        handle = handle.op.inputs[0]
    return handle


def _of_a_loop(op: Operation) -> LookupError:
    return LookupError(
        f"no gradient is defined for this loop of single operations, of which {op.name!r} (op type "
        f"{op.type}) is part. It has one if it is of the form that while_loop gave it in TensorFlow 1, asks "
        "for one device at most, holds nothing that waits or is the user's, and is not differentiated by, or "
        "of, what is inside it. Build it by while_loop, or take it as constant by stop_gradient"
    )
