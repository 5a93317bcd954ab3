# Written by scripts/generated.py.
"""Gradients: of a graph, written by hand, and their options."""

from actorsession.ops.arrays.array import stop_gradient as stop_gradient
from actorsession.ops.derivatives.custom_gradients import (
custom_gradient as custom_gradient, grad_pass_through as grad_pass_through, hessians as hessians
)
from actorsession.ops.derivatives.gradients import (
AggregationMethod as AggregationMethod, UnconnectedGradients as UnconnectedGradients, gradients as
gradients
)
from actorsession.ops.derivatives.registry import (
NotDifferentiable as NotDifferentiable, RegisterGradient as RegisterGradient
)


__all__ = [
"AggregationMethod", "NotDifferentiable", "RegisterGradient", "UnconnectedGradients",
"custom_gradient", "grad_pass_through", "gradients", "hessians", "stop_gradient"
]
