"""What the functions of ``contrib.layers`` share: scopes, the names of variables, collections and endings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.variables import model_variable
from actorsession.graph.graph import add_to_collection, add_to_collections, get_collection
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train.layers.layer import Layer

__all__ = [
    "Collections",
    "call_layer",
    "collect_output",
    "collected",
    "finished",
    "get_variable_collections",
    "layer_scope",
    "layout_of",
    "pair",
    "static_sizes",
]

Collections = Any
"""The collections that variables join: names, or names by the variable's."""

_LAYOUTS = {"NHWC": "channels_last", "NWC": "channels_last", "NDHWC": "channels_last"}
_FIRST = {"NCHW": "channels_first", "NCW": "channels_first", "NCDHW": "channels_first"}


def layout_of(data_format: str | None) -> str:
    """Return how the library's layers call a format of data.

    Raises:
        ValueError: for another format.
    """
    known = {**_LAYOUTS, **_FIRST}
    if data_format is None:
        return "channels_last"
    if data_format not in known:
        raise ValueError(f"data_format has to be either {', '.join(known)}, got {data_format!r}")
    return known[data_format]


def get_variable_collections(variables_collections: Collections, name: str) -> Any:
    """Return the collections that a variable joins, as they were given.

    Args:
        variables_collections: names of collections, or such names by the variable's own.
        name: the variable's own name, such as ``weights``.
    """
    if isinstance(variables_collections, Mapping):
        return variables_collections.get(name)
    return variables_collections


def collected(collections: Collections, name: str) -> list[str]:
    """Return the names of the collections that a variable joins."""
    return list(get_variable_collections(collections, name) or ())


def layer_scope(
    scope: Any, default_name: str, values: Sequence[Any], reuse: Any, renamed: Mapping[str, str] | None = None
) -> Any:
    """Return the variable scope of a layer, in which layers of the library make variables of a model.

    Args:
        scope: the scope or its name, or ``None``.
        default_name: the name if there is none, made unique.
        values: tensors that determine the graph.
        reuse: see ``tf.variable_scope``.
        renamed: what variables are called here, by what the library's layers call them.
    """

    def custom_getter(getter: Callable[..., Any], name: str, **kwargs: Any) -> Any:
        above, _, last = name.rpartition("/")
        last = (renamed or {}).get(last, last)
        kept: dict[str, Any] = {key: kwargs.get(key) for key in _OF_VARIABLES if key in kwargs}
        sharing = functools.partial(getter, reuse=kwargs.get("reuse"))
        return model_variable(f"{above}/{last}" if above else last, custom_getter=sharing, **kept)

    tensors = [value for value in values if isinstance(value, Tensor)]
    custom = custom_getter if renamed is not None else None
    return ops.variable_scope(scope, default_name, tensors, reuse=reuse, custom_getter=custom)


_OF_VARIABLES = (
    "shape",
    "dtype",
    "initializer",
    "regularizer",
    "trainable",
    "caching_device",
    "partitioner",
    "use_resource",
    "synchronization",
    "aggregation",
)


def call_layer(layer: Layer, scope: Any, inputs: Any, collections: Collections, **told: Any) -> Any:
    """Call a layer of the library whose variables are those of a scope.

    Args:
        layer: the layer.
        scope: the open scope.
        inputs: its inputs.
        collections: the collections that its variables join.
        told: further arguments of the call.
    """
    layer._scope = scope
    layer._reuse = scope.reuse
    outputs = layer(inputs, **told)
    for variable in layer.weights:
        for name in collected(collections, variable.op.name.rsplit("/", 1)[-1]):
            # It is there already under the names that every variable of a model joins.
            if not any(member is variable for member in get_collection(name)):
                add_to_collection(name, variable)
    return outputs


def finished(
    outputs: Any,
    scope: Any,
    activation_fn: Callable[..., Any] | None,
    outputs_collections: Iterable[str] | str | None,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
) -> Any:
    """Return outputs of a layer after its normaliser and its activation, in the wanted collections."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_output(outputs_collections, scope.name, outputs)


def collect_output(collections: Iterable[str] | str | None, alias: str, outputs: Any) -> Any:
    """Add outputs to collections, under an alias that ``slim.utils`` reads back, and return them."""
    if collections:
        add_alias(outputs, alias)
        add_to_collections(collections, outputs)
    return outputs


def aliases_of(tensor: Any) -> list[str]:
    """Return the aliases of a tensor."""
    return list(getattr(tensor, "aliases", ()))


def add_alias(tensor: Any, alias: str) -> None:
    """Give a tensor a further alias, in its attribute ``aliases``, which programs read."""
    tensor.aliases = [*aliases_of(tensor), alias.removesuffix("/")]


def pair(value: Any, count: int = 2) -> list[int]:
    """Return a number for each axis."""
    if isinstance(value, (list, tuple, TensorShape)):
        listed: list[Any] = list(value)
        sizes = [int(each) for each in listed]
        return sizes * count if len(sizes) == 1 else sizes
    return [int(value)] * count


def static_sizes(inputs: Any) -> tuple[int | None, ...] | None:
    """Return the sizes that the graph knows of a tensor, or ``None``."""
    return TensorShape(inputs.shape).sizes
