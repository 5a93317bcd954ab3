"""Lookup of activations and initialisers by name, and the default names of cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.graph import get_default_graph
from actorsession.ops.neural.activations import elu, relu, softplus
from actorsession.ops.neural.rectifiers import selu, softsign, swish
from actorsession.ops.neural.softmax import softmax

__all__ = ["activation_of", "initializer_of", "snake_case", "unique_name"]

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "elu": elu,
    "exponential": ops.exp,
    "linear": ops.identity,
    "relu": relu,
    "selu": selu,
    "sigmoid": ops.sigmoid,
    "softmax": softmax,
    "softplus": softplus,
    "softsign": softsign,
    "swish": swish,
    "tanh": ops.tanh,
}
_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "glorot_normal": ops.glorot_normal_initializer,
    "glorot_uniform": ops.glorot_uniform_initializer,
    "identity": ops.identity_initializer,
    "ones": ops.ones_initializer,
    "orthogonal": ops.orthogonal_initializer,
    "random_normal": ops.random_normal_initializer,
    "random_uniform": ops.random_uniform_initializer,
    "truncated_normal": ops.truncated_normal_initializer,
    "zeros": ops.zeros_initializer,
}


def activation_of(activation: Any) -> Callable[..., Any]:
    """Return the activation for an argument of a cell: a function, a name, or ``tanh`` if none is given.

    Raises:
        ValueError: for an unknown name.
        TypeError: if the argument is not callable.
    """
    if not activation:
        return ops.tanh
    return _known(activation, _ACTIVATIONS, "activation")


def initializer_of(initializer: Any) -> Any:
    """Return the initialiser for an argument of a cell; ``None`` selects that of the scope.

    Raises:
        ValueError: for an unknown name.
        TypeError: if the argument is not callable.
    """
    if initializer is None:
        return None
    chosen = _known(initializer, _INITIALIZERS, "initializer")
    return chosen() if isinstance(initializer, str) else chosen


def _known(value: Any, table: dict[str, Callable[..., Any]], what: str) -> Callable[..., Any]:
    if isinstance(value, str):
        if value not in table:
            raise ValueError(f"Unknown {what} function: {value}. Known names are {', '.join(table)}")
        return table[value]
    if not callable(value):
        raise TypeError(f"an {what} must be a function or the name of one, got {value!r:.100}")
    function: Callable[..., Any] = value
    return function


def snake_case(name: str) -> str:
    """Return a name in snake case: ``basic_lstm_cell`` for ``BasicLSTMCell``."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{words}" if words.startswith("_") else words


_KEY = ("actorsession", "names of cells")


def unique_name(base: str) -> str:
    """Return the next of ``base_1``, ``base_2``, ... in the default graph."""
    kept = get_default_graph().get_collection_ref(_KEY)
    if not kept:
        kept.append({})
    kept[0][base] = kept[0].get(base, 0) + 1
    return f"{base}_{kept[0][base]}"
