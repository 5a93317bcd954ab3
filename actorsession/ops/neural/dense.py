"""A matrix product plus bias as one function, with and without a rectifier."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.neural.activations import relu
from actorsession.ops.neural.biases import bias_add

__all__ = ["relu_layer", "xw_plus_b"]


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return ``x @ weights + biases``.

    Args:
        x: a matrix of shape ``[batch, in]``.
        weights: a matrix of shape ``[in, out]``.
        biases: a vector of shape ``[out]``.
        name: wanted name.
    """
    graph = graph_of(x, weights, biases)
    with graph.as_default(), graph.name_scope(name or "xw_plus_b") as scope:
        product = matmul(convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights"))
        return bias_add(product, convert_to_tensor(biases, name="biases"), name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return ``max(x @ weights + biases, 0)``; arguments as for ``xw_plus_b``."""
    graph = graph_of(x, weights, biases)
    with graph.as_default(), graph.name_scope(name or "relu_layer") as scope:
        product = matmul(convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights"))
        return relu(bias_add(product, convert_to_tensor(biases, name="biases")), name=scope)
