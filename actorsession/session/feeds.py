"""Feeds: from the keys of a feed dict to tensors, and from Python values to arrays of their types.

Conversion follows TensorFlow: the value becomes ``numpy.asarray(value)`` of the tensor's dtype, then its
static shape is checked, before any step begins. Arrays of the right dtype are passed by reference. Sessions
call ``flatten_feeds`` in every run, ``feed_tensor`` and ``converter`` once per request.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import (
    InaccessibleTensorError,
    RequestError,
    RequestOverflowError,
    RequestTypeError,
    RequestValueError,
    ResourceExhaustedError,
)
from actorsession.graph.dtypes import DType, refuse_none
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.session.conversions import conversion_of
from actorsession.session.fetches import reading_of

__all__ = ["Converter", "converter", "feed_tensor", "flatten_feed_keys", "flatten_feeds", "strings_as_fed"]

Converter: TypeAlias = Callable[[Any], Any]


# -- keys ------------------------------------------------------------------------------------------


# What a bad request raises where numpy cannot convert a value.
_REFUSALS: tuple[tuple[type[Exception], type[RequestError]], ...] = (
    (TypeError, RequestTypeError),
    (OverflowError, RequestOverflowError),
    (ValueError, RequestValueError),
)


def feed_tensor(graph: Graph, key: Any) -> Tensor:
    """Return the tensor that a feed key stands for.

    Raises:
        TypeError: for any bad key, as in TensorFlow: an operation, an unknown name, a wrong type.
        ValueError: for a tensor that may not be fed; InaccessibleTensorError if it is inside a loop
            body or branch.
    """
    try:
        name_or_key = key.decode() if isinstance(key, bytes) else key
        element = graph.as_graph_element(name_or_key, allow_operation=False)
    except (KeyError, ValueError, TypeError) as exc:
        text = exc.args[0] if exc.args else exc
        raise RequestTypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None
    assert isinstance(element, Tensor)
    if element.dtype.kind == "r":
        reading = reading_of(element)
        if reading is None:
            raise RequestTypeError(f"Cannot interpret feed_dict key as Tensor: {element.name!r} is a resource handle")
        element = reading
    if element.dtype.kind == "v":
        raise RequestTypeError(
            f"Cannot interpret feed_dict key as Tensor: {element.name!r} is a variant, which nothing outside "
            "the graph is a value of"
        )
    construct = graph.nodes.construct_of(element)
    if construct is not None:
        raise InaccessibleTensorError(
            f"Tensor {element.name} may not be fed. It is inside {construct!r}, which may run it any "
            f"number of times. Feed a placeholder outside that {construct!r} reads"
        )
    if not graph.is_feedable(element):
        raise RequestValueError(
            f"Tensor {element.name} may not be fed. Its constant value was used to build the graph. "
            "Feed a placeholder in its place"
        )
    return element


def flatten_feeds(feed_dict: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a feed dict whose keys are single tensors or names.

    Tuple keys are matched with their values, and objects with a registered conversion are expanded.

    Raises:
        TypeError: if the argument is no mapping, or a value does not have the structure of its key.
        ValueError: if a tuple key and its value differ in length, or a key occurs twice.
    """
    # Asking the abstract class takes longer than the rest of this function.
    if type(feed_dict) is not dict and not isinstance(feed_dict, Mapping):
        raise RequestTypeError(f"feed_dict is a mapping, got {type(feed_dict).__name__}")
    for key in feed_dict:
        if type(key) is not Tensor and type(key) is not str:
            return _flattened(feed_dict)
    return feed_dict


def _flattened(feed_dict: Mapping[Any, Any]) -> Mapping[Any, Any]:
    single: dict[Any, Any] = {}
    for key, value in feed_dict.items():
        for inner, part in _pairs(key, value):
            if inner in single:
                raise RequestValueError(f"feed key {inner!r:.100} occurs twice in the feed_dict")
            single[inner] = part
    flat: dict[Any, Any] = {}
    for key, value in single.items():
        conversion = None if isinstance(key, _SINGLE) else conversion_of(key)
        # If two entries stand for one tensor the later one wins, and moves the tensor to the end.
        for inner, part in [(key, value)] if conversion is None else conversion.fed(key, value):
            flat.pop(inner, None)
            flat[inner] = part
    return flat


_SINGLE = (Tensor, Operation, str, bytes)


def _pairs(key: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(key, tuple):
        yield key, value
        return
    if not isinstance(value, (tuple, list)) or len(key) != len(value):
        raise RequestValueError(f"feed key {key!r:.100} needs a value of {len(key)} parts, got {value!r:.100}")
    for inner, part in zip(key, value, strict=True):
        yield from _pairs(inner, part)


def flatten_feed_keys(keys: Iterable[Any]) -> list[Any]:
    """Return feed keys without values, as partial runs name them, in the order of ``flatten_feeds``.

    Raises:
        TypeError: for an object that cannot be fed in a partial run.
    """
    flat: list[Any] = []
    for key in keys:
        if isinstance(key, (tuple, list)):
            flat.extend(flatten_feed_keys(key))
            continue
        conversion = None if isinstance(key, _SINGLE) else conversion_of(key)
        flat.extend([key] if conversion is None else conversion.fed_in_parts(key))
    return flat


# -- values ----------------------------------------------------------------------------------------


def converter(tensor: Tensor, owner: object = None) -> Converter:
    """Return the function that turns a fed value into an array (or scalar) for ``tensor``.

    A value that is neither an array nor plain Python may have a method ``_feed_value(tensor, owner)``, which
    returns the value to feed in its place.

    Args:
        tensor: the tensor that is fed.
        owner: passed to ``_feed_value``; identifies the session whose kept values may be fed.
    """
    dtype, shape, name = tensor.dtype, tensor.shape, tensor.name
    np_dtype = dtype.np_dtype
    scalar_type = np_dtype.type
    is_scalar = shape.rank == 0 and dtype.kind in "bf"
    is_number = shape.rank == 0 and dtype.kind in "biufc"
    low, high = _exact_ints(dtype) if shape.rank == 0 else (1, 0)
    anything = shape.rank is None
    dims = shape.sizes
    # Strings in other forms than bytes are encoded, also inside arrays of the right dtype.
    by_reference = np.ndarray if dtype.kind != "s" else None

    def convert(value: Any) -> Any:
        kind = type(value)
        if kind is float and is_scalar:
            return scalar_type(value)
        if kind is int and low <= value <= high:
            return scalar_type(value)
        if kind is scalar_type and is_number:
            return value
        if kind is not by_reference or value.dtype != np_dtype:
            value = _convert(value, tensor, owner)
        if anything or value.shape == dims:
            return value
        _check_shape(value.shape, shape, name)
        return value

    return convert


def _check_shape(given: tuple[int, ...], shape: TensorShape, name: str) -> None:
    if not shape.is_compatible_with(given):
        raise RequestValueError(f"Cannot feed value of shape {given} for Tensor {name}, which has shape {shape}")


def _exact_ints(dtype: DType) -> tuple[int, int]:
    """Return the range of ints that a scalar of the type represents exactly and numpy accepts as is."""
    if dtype.is_integer:
        info = np.iinfo(dtype.np_dtype)
        return int(info.min), int(info.max)
    if dtype.is_floating and dtype.itemsize >= 4:
        return -(2**24), 2**24
    return 1, 0


# The range of numpy's widest integer types.
_LEAST, _MOST = -(2**63), 2**64 - 1
_PLAIN = frozenset({np.ndarray, int, float, bool, complex, str, bytes, list, tuple, type(None)})


def _convert(value: Any, tensor: Tensor, owner: object) -> Any:
    if type(value) not in _PLAIN:
        if hasattr(value, "_feed_value"):
            value = value._feed_value(tensor, owner)
        if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
            raise RequestTypeError(
                f"The value of a feed cannot be a {tensor.graph.shown_prefix}Tensor object. Acceptable feed values "
                f"include Python scalars, strings, lists, and numpy arrays. {tensor.name!r} was fed "
                f"{value!r:.80}: run it first"
            )
    if isinstance(value, int):
        _check_int(value, tensor)
    try:
        array = _as_array(value, tensor.dtype)
    except MemoryError as exc:
        raise ResourceExhaustedError(f"{_refused(value, tensor)}: no memory for it") from exc
    except Exception as exc:  # numpy asks objects for their values, and they may raise anything
        kind = next((ours for k, ours in _REFUSALS if isinstance(exc, k)), RequestTypeError)
        raise kind(f"{_refused(value, tensor)}: {exc}") from _foreign(exc)
    if tensor.dtype.kind != "s":
        return array
    # The elements are checked last, as in TensorFlow.
    _check_shape(array.shape, tensor.shape, tensor.name)
    return _encoded(array, tensor)


def _refused(value: Any, tensor: Tensor) -> str:
    try:
        shown = f"{value!r:.80}"
    except Exception:  # its class is the caller's
        shown = f"a {type(value).__name__}"
    return f"cannot feed {shown} for {tensor.name!r} of {tensor.dtype.name}"


def _foreign(exc: Exception) -> Exception | None:
    """Return the cause that a refusal shows: an error that its words do not tell already."""
    return None if isinstance(exc, (TypeError, ValueError, OverflowError)) else exc


def _as_array(value: Any, dtype: DType) -> Any:
    """Return a value as an array of a dtype; unlike numpy's conversion it loses neither numbers nor masks."""
    np_dtype = dtype.np_dtype
    converted = value
    if dtype.kind != "s" and (type(value) in _SEQUENCES or value is None):
        refuse_none(value)
    if type(value) not in _PLAIN or (type(value) in _SEQUENCES and _holds_arrays(value)):
        _check_masks(value)
        converted = np.asarray(value, dtype=object if dtype.kind == "s" else None)
        if type(value) not in _SEQUENCES:
            value = converted
    if isinstance(converted, np.ndarray):
        if dtype.kind != "s":
            refuse_none(converted)
        _check_range(converted, dtype)
    try:
        return np.asarray(value, dtype=np_dtype)
    except TypeError:
        if not np.issubdtype(np_dtype, np.number):
            raise
        array = np.asarray(value)
        _check_range(array, dtype)  # complex numbers in a list
        return array.astype(np_dtype)


_SEQUENCES = frozenset({list, tuple})


def _holds_arrays(values: Any) -> bool:
    """Return whether a list has anything in it, at any depth, that is not plain Python."""
    kinds = set(map(type, values))
    if not kinds <= _PLAIN or np.ndarray in kinds:
        return True
    return not kinds.isdisjoint(_SEQUENCES) and any(
        type(inner) in _SEQUENCES and _holds_arrays(inner) for inner in values
    )


def _check_masks(value: Any) -> None:
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise TypeError(
                f"{value.size - value.count()} of its elements are masked, and a tensor has no mask: feed "
                "value.filled(...) or value.compressed()"
            )
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _check_masks(inner)


def _check_range(array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Refuse numbers that are others in the dtype; numpy would wrap integers round and drop imaginary parts.

    Fractions are cut off where the dtype is an integer, and numbers are rounded where it is not, as in
    TensorFlow.
    """
    given, kind = array.dtype, array.dtype.kind
    if kind == "c" and dtype.kind not in "cs":
        raise TypeError(
            f"{given.name} has imaginary parts, which {dtype.name} does not hold; feed value.real, or np.abs(value)"
        )
    if not dtype.is_integer or not array.size or np.can_cast(given, dtype.np_dtype):
        return
    if kind in "mM":
        array = array.astype(np.int64)
    elif kind not in "iuf":
        return  # numpy converts one element at a time, and refuses what does not fit
    low, high = array.min(), array.max()
    info = np.iinfo(dtype.np_dtype)
    # A float has no largest int64; nan is in no range.
    above = float(info.max) + 1 if kind == "f" else int(info.max) + 1
    if not (np.trunc(low) >= info.min and high < above):
        raise TypeError(
            f"{low if not low >= info.min else high} does not fit: {dtype.name} holds {info.min} to "
            f"{info.max}; use a tensor of a larger or another type, or convert the value with its astype()"
        )


def _check_int(value: int, tensor: Tensor) -> None:
    dtype = tensor.dtype
    if dtype.is_integer:
        info = np.iinfo(dtype.np_dtype)
        fits, range_ = info.min <= value <= info.max, f"{info.min} to {info.max}"
    elif dtype.is_bool:
        fits, range_ = value in (0, 1), "0 and 1"
    elif dtype.kind == "s":
        fits, range_ = False, "strings"
    else:
        return
    if not fits:
        # As in TensorFlow, a value outside numpy's integer types raises another error class.
        usual = dtype.kind == "s" or _LEAST <= value <= _MOST
        kind = RequestTypeError if usual else RequestOverflowError
        raise kind(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
            f"{dtype.name} of {tensor.name!r}, which holds {range_}; use a tensor of a larger or another type"
        )


def _encoded(array: Any, tensor: Tensor) -> Any:
    if all(type(item) is bytes for item in array.flat):
        return array
    out = np.empty(array.size, dtype=object)
    for i, item in enumerate(array.flat):
        if not isinstance(item, (str, bytes)):
            raise RequestTypeError(
                f"the value fed for {tensor.name!r} holds an object of type {type(item).__name__}, "
                f"{reprlib.repr(item)}: string tensors hold str or bytes"
            )
        try:  # by the methods of the types themselves: a class below them may have others
            out[i] = str.encode(item) if isinstance(item, str) else b"".join((item,))
        except UnicodeEncodeError as exc:
            raise RequestValueError(
                f"the value fed for {tensor.name!r} holds {item!a:.80}, which is no text: {exc}"
            ) from None
    return out.reshape(array.shape)


def strings_as_fed(value: Any) -> Any:
    """Return what fetching a fed string tensor gives: the same objects that were fed, in an array."""
    return np.array(value, dtype=object)
