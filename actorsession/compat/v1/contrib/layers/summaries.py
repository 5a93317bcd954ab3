"""Summaries of tensors, activations and collections."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from actorsession.graph.graph import get_collection
from actorsession.namespaces import nn
from actorsession.ops import GraphKeys

__all__ = [
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
]


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """Return a summary of a tensor: a scalar one of a scalar, else a histogram.

    Args:
        tensor: the tensor or variable.
        tag: the name; that of the tensor's operation if left out.
    """
    from actorsession.compat.v1 import summary

    make = summary.scalar if tensor.shape.rank == 0 else summary.histogram
    return make(tag or tensor.op.name, tensor)


def summarize_activation(op: Any) -> Any:
    """Return a histogram of an activation, and the share of its zeros if a rectifier made it."""
    from actorsession.compat.v1 import summary

    if op.op.type in ("Relu", "Softplus", "Relu6"):
        summary.scalar(f"{op.op.name}/zeros", nn.zero_fraction(op))
    return summary.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Return a summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Return a summary of each member of a collection whose name begins with a pattern."""
    return summarize_tensors(get_collection(collection, name_filter), summarizer)


summarize_variables = functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, GraphKeys.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, GraphKeys.BIASES)
summarize_activations = functools.partial(summarize_collection, GraphKeys.ACTIVATIONS, summarizer=summarize_activation)
