"""Feeds: from the keys of a feed dict to tensors, and from Python values to arrays of their types.

Conversion follows TensorFlow: ``numpy.asarray(value, dtype of the tensor)``, then the static shape is
checked, before any step begins. Arrays of the right type are passed by reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.dtypes import DType
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape

__all__ = ["Converter", "converter", "feed_tensor", "flatten_feeds"]

Converter: TypeAlias = Callable[[Any], Any]


def feed_tensor(graph: Graph, key: Any) -> Tensor:
    """The tensor that a feed key stands for.

    Raises:
        TypeError: for any bad key, as in TensorFlow: an operation, an unknown name, a wrong type.
    """
    try:
        element = graph.as_graph_element(key, allow_operation=False)
    except (KeyError, ValueError, TypeError) as exc:
        text = exc.args[0] if exc.args else exc
        raise TypeError(f"cannot interpret feed_dict key as Tensor: {text}") from None
    assert isinstance(element, Tensor)
    if element.dtype.kind == "r":
        raise TypeError(f"tensor {element.name!r} is a resource handle and cannot be fed")
    return element


def flatten_feeds(feed_dict: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A feed dict whose keys are single tensors or names: tuple keys are matched with their values.

    Raises:
        TypeError: if the argument is no mapping.
        ValueError: if a tuple key and its value differ in length.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"feed_dict is a mapping, got {type(feed_dict).__name__}")
    if not any(isinstance(key, tuple) for key in feed_dict):
        return feed_dict
    flat: dict[Any, Any] = {}
    for key, value in feed_dict.items():
        _flatten_into(flat, key, value)
    return flat


def _flatten_into(flat: dict[Any, Any], key: Any, value: Any) -> None:
    if not isinstance(key, tuple):
        flat[key] = value
        return
    if not isinstance(value, (tuple, list)) or len(key) != len(value):
        raise ValueError(
            f"feed key {key!r:.100} needs a value of {len(key)} parts, got {value!r:.100}"
        )
    for inner, part in zip(key, value, strict=True):
        _flatten_into(flat, inner, part)


def converter(tensor: Tensor) -> Converter:
    """The function that turns a fed value into an array (or scalar) for ``tensor``."""
    dtype, shape, name = tensor.dtype, tensor.shape, tensor.name
    np_dtype = dtype.np_dtype
    scalar_type = np_dtype.type
    is_scalar = shape.rank == 0 and dtype.kind in "bf"
    anything = shape.rank is None
    dims = shape.dims
    full = shape.is_fully_defined

    def convert(value: Any) -> Any:
        kind = type(value)
        if kind is float and is_scalar:
            return scalar_type(value)
        if kind is not np.ndarray or value.dtype != np_dtype:
            value = _convert(value, dtype, name)
        if anything or value.shape == dims:
            return value
        if full or not shape.is_compatible_with(value.shape):
            raise _shape_error(value, shape, name)
        return value

    return convert


def _shape_error(value: Any, shape: TensorShape, name: str) -> ValueError:
    return ValueError(
        f"cannot feed value of shape {tuple(value.shape)} for tensor {name!r}, which has shape {shape}"
    )


def _convert(value: Any, dtype: DType, name: str) -> Any:
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        raise TypeError(
            f"the value fed for {name!r} is a tensor or operation, {value!r:.80}; feed Python scalars, "
            "strings, lists or numpy arrays: run the tensor first"
        )
    if dtype.kind == "s":
        return _strings(value)
    if isinstance(value, int) and not isinstance(value, bool) and dtype.is_integer:
        info = np.iinfo(dtype.np_dtype)
        if not info.min <= value <= info.max:
            raise TypeError(
                f"feed value {value} for {name!r} does not fit {dtype.name} "
                f"({info.min} to {info.max}); use a tensor of a larger type"
            )
    try:
        return np.asarray(value, dtype=dtype.np_dtype)
    except TypeError as exc:
        raise TypeError(f"cannot feed {value!r:.80} for {name!r} of {dtype.name}: {exc}") from None
    except ValueError as exc:
        raise ValueError(f"cannot feed {value!r:.80} for {name!r} of {dtype.name}: {exc}") from None


def _strings(value: Any) -> Any:
    array = np.asarray(value, dtype=object)
    if all(isinstance(item, bytes) for item in array.flat):
        return array
    out = np.empty(array.size, dtype=object)
    out[:] = [item.encode() if isinstance(item, str) else item for item in array.flat]
    return out.reshape(array.shape)
