"""The registry of conversions for objects that stand for several tensors in a run.

Holds ``register_session_run_conversion_functions``, TensorFlow's hook that makes a program's own class
fetchable and feedable, and registers ``SparseTensor`` and ``IndexedSlices`` through it. ``fetches`` and
``feeds`` look conversions up, except for tensors, operations and names, which they handle themselves.

Invariant: an object is converted by the last registered entry of whose class it is an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

from actorsession.errors import RequestTypeError
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from actorsession.opsets.sparse.basics import SparseTensor, SparseTensorValue
from actorsession.records import dataclass
from actorsession.registrations import on_scope

__all__ = ["Conversion", "conversion_of", "register_session_run_conversion_functions"]

FetchFunction: TypeAlias = Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]]
FeedFunction: TypeAlias = Callable[[Any, Any], Iterable[tuple[Any, Any]]]
PartialFeedFunction: TypeAlias = Callable[[Any], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The functions by which objects of one class are fetched and fed.

    Attributes:
        tensor_type: the class.
        fetch: maps an object to the fetches that it needs, and to a function from the list of their values to
            the value of the object.
        feed: maps an object used as a feed key, and its value, to pairs of key and value.
        feed_for_partial_run: maps an object to the keys that ``feed`` would return.
    """

    tensor_type: type
    fetch: FetchFunction
    feed: FeedFunction | None
    feed_for_partial_run: PartialFeedFunction | None

    def fed(self, key: Any, value: Any) -> list[tuple[Any, Any]]:
        """Return the pairs of key and value into which a feed is expanded.

        Raises:
            TypeError: if such objects cannot be fed, or the value cannot be expanded.
        """
        if self.feed is None:
            raise RequestTypeError(
                f"{key!r:.100} cannot be fed: no feed_function was registered for {self.tensor_type.__name__}"
            )
        return list(self.feed(key, value))

    def fed_in_parts(self, key: Any) -> list[Any]:
        """Return the keys that ``fed`` would return, without a value.

        Raises:
            TypeError: if such objects cannot be fed in a partial run.
        """
        if self.feed_for_partial_run is None:
            raise RequestTypeError(
                f"{key!r:.100} cannot be fed in a partial run: no feed_function_for_partial_run was "
                f"registered for {self.tensor_type.__name__}"
            )
        return list(self.feed_for_partial_run(key))


# The last registered comes first.
_CONVERSIONS: list[Conversion] = []
on_scope(lambda: partial(_CONVERSIONS.__setitem__, slice(None), _CONVERSIONS.copy()))
# Classes that sessions handle without a conversion, and the base of all classes.
_BUILT_IN = (Tensor, Operation, str, bytes, object)


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: FetchFunction,
    feed_function: FeedFunction | None = None,
    feed_function_for_partial_run: PartialFeedFunction | None = None,
) -> None:
    """Register how sessions fetch and feed objects of a class, which stand for any number of tensors.

    Lists, tuples, dicts and attrs objects are expanded before conversions are looked up.

    Args:
        tensor_type: the class; objects of its subclasses are converted alike.
        fetch_function: takes an object; returns a list of what to fetch for it (tensors, operations,
            variables or names) and a function from the list of their values to the object's value.
        feed_function: takes an object that is a feed key, and its value; returns a list of pairs of
            tensor and value.
        feed_function_for_partial_run: takes an object; returns the list of tensors that
            ``feed_function`` would feed.

    Raises:
        TypeError: if ``tensor_type`` is not a class.
        ValueError: if it, or a subclass of it, is registered already.
    """
    if not isinstance(tensor_type, type):
        raise TypeError(f"tensor_type is a class, got {tensor_type!r:.100}")
    for known in (*_BUILT_IN, *(c.tensor_type for c in _CONVERSIONS)):
        if issubclass(known, tensor_type):
            raise ValueError(f"{tensor_type.__name__} cannot be registered: sessions know {known.__name__} already")
    _CONVERSIONS.insert(0, Conversion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def conversion_of(value: Any) -> Conversion | None:
    """Return the conversion of an object, if its class has one."""
    for conversion in _CONVERSIONS:
        if isinstance(value, conversion.tensor_type):
            return conversion
    return None


# -- conversions of the library --------------------------------------------------------------------


def _sparse_parts(sparse: SparseTensor) -> list[Tensor]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


def _slices_parts(slices: IndexedSlices) -> list[Tensor]:
    parts = [slices.values, slices.indices]
    return parts if slices.dense_shape is None else [*parts, slices.dense_shape]


def _slices_value(values: list[Any]) -> IndexedSlicesValue:
    rows, indices, *dense_shape = values
    return IndexedSlicesValue(rows, indices, dense_shape[0] if dense_shape else None)


def _pairs(parts: list[Tensor], key: Any, value: Any) -> list[tuple[Any, Any]]:
    try:
        given = list(value)
    except TypeError:
        raise RequestTypeError(
            f"the value fed for {key!r} is a tuple of {len(parts)} arrays, got {type(value).__name__}: {value!r:.80}"
        ) from None
    # As in TensorFlow: missing components keep the values of the graph, surplus ones are ignored.
    return list(zip(parts, given, strict=False))


register_session_run_conversion_functions(
    SparseTensor,
    lambda sparse: (_sparse_parts(sparse), lambda values: SparseTensorValue(*values)),
    lambda sparse, value: _pairs(_sparse_parts(sparse), sparse, value),
    _sparse_parts,
)
register_session_run_conversion_functions(
    IndexedSlices,
    lambda slices: (_slices_parts(slices), _slices_value),
    lambda slices, value: _pairs(_slices_parts(slices), slices, value),
    _slices_parts,
)
