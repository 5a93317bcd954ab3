"""Half the sum of squares of a tensor, as one node."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.convolutions.nodes import halves_widened
from actorsession.ops.rows import op, scalar

__all__ = ["l2_loss"]


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Return half the sum of squares of a floating tensor, a scalar."""
    return raw.L2Loss(t, name=name)


def _half_square(t: Any) -> Any:
    flat = t.reshape(-1)
    return flat @ flat / 2


op(
    "L2Loss",
    scalar,
    sentence=lambda xp, ctx: halves_widened(_half_square, ctx.outputs[0].dtype, xp),
    grad=lambda op, grad: [op.inputs[0] * grad],
)
