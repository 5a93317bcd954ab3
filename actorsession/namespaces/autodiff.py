"""Gradients: of a graph, written by hand, and their options."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.arrays.array": "stop_gradient",
    "actorsession.ops.derivatives.custom_gradients": "custom_gradient grad_pass_through hessians",
    "actorsession.ops.derivatives.gradients": "AggregationMethod UnconnectedGradients gradients",
    "actorsession.ops.derivatives.registry": "NotDifferentiable RegisterGradient",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
