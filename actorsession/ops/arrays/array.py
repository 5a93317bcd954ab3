"""``identity`` and ``stop_gradient``, and the public names of other array files.

The functions of ``fills``, ``joining``, ``layout``, ``placeholder`` and ``splitting`` can be imported from
here.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE
from actorsession.ops import raw
from actorsession.ops.arrays.fills import fill, ones, ones_like, range_, zeros, zeros_like
from actorsession.ops.arrays.joining import concat, stack, unstack
from actorsession.ops.arrays.layout import pad, tile, transpose
from actorsession.ops.arrays.placeholder import placeholder, placeholder_with_default
from actorsession.ops.arrays.splitting import split
from actorsession.ops.rows import op, same

__all__ = [
    "concat", "fill", "identity", "ones", "ones_like", "pad", "placeholder",
    "placeholder_with_default", "range_", "split", "stack", "stop_gradient", "tile", "transpose",
    "unstack", "zeros", "zeros_like",
]  # fmt: skip


def identity(input: Any, name: str | None = None) -> Tensor:
    """Return the same value as another tensor; scopes around the new operation apply to it alone."""
    return raw.Identity(input, name=name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """Return the same value, which ``gradients`` treats as a constant."""
    return raw.StopGradient(input, name=name)


_UNCHANGED: dict[str, Any] = {"emit": "{0}", "static_value": lambda ctx: ctx.constants[0], "aliases": True}

op("Identity", same, lambda x: x, lambda op, grad: [grad], **_UNCHANGED)
op("StopGradient", same, lambda x: x, NOT_DIFFERENTIABLE, **_UNCHANGED)
