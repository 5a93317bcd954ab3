"""``slim.utils``: collections of outputs, aliases and shapes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from actorsession.compat.v1.contrib.layers.building import (
    add_alias,
    aliases_of,
    collect_output,
    get_variable_collections,
    static_sizes,
)
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.graph import get_collection
from actorsession.graph.operation import Tensor
from actorsession.ops import Variable
from actorsession.train.layers.layer import smart_cond as choose

__all__ = [
    "append_tensor_alias",
    "channel_dimension",
    "collect_named_outputs",
    "constant_value",
    "convert_collection_to_dict",
    "first_dimension",
    "gather_tensors_aliases",
    "get_tensor_aliases",
    "get_variable_collections",
    "last_dimension",
    "n_positive_integers",
    "smart_cond",
    "two_element_tuple",
]


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """Return the value of a number, or of a tensor whose value the graph knows; ``None`` for others.

    Args:
        value_or_tensor_or_var: the number or tensor.
        dtype: accepted for compatibility.

    Raises:
        ValueError: for ``None``.
    """
    if value_or_tensor_or_var is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if isinstance(value_or_tensor_or_var, Tensor):
        return get_static_value(value_or_tensor_or_var)
    return None if isinstance(value_or_tensor_or_var, Variable) else value_or_tensor_or_var


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """Return the result of the first function if a condition holds, else that of the second.

    Args:
        pred: a bool, or a tensor. Only one of unknown value makes a ``cond``.
        fn1: builds the one result.
        fn2: builds the other.
        name: accepted for compatibility.
    """
    return choose(pred, fn1, fn2)


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add outputs to collections under an alias, and return them."""
    return collect_output(collections, alias, outputs)


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Give a tensor a further alias, and return it."""
    add_alias(tensor, alias)
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """Return the aliases of a tensor, or its name without output number."""
    return aliases_of(tensor) or [tensor.op.name]


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """Return the aliases of tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """Return the members of a collection by their aliases.

    Args:
        collection: the name of the collection.
        clear_collection: whether it is emptied.
    """
    aliased: OrderedDict[str, Any] = OrderedDict()
    for tensor in get_collection(collection):
        for alias in get_tensor_aliases(tensor):
            aliased[alias] = tensor
    if clear_collection and aliased:
        graph = next(iter(aliased.values())).graph
        graph.clear_collection(collection)
    return aliased


def _dimension(inputs: Any, axis: int, least: int) -> int:
    sizes = static_sizes(inputs)
    if sizes is None or len(sizes) < least:
        raise ValueError(f"rank of shape must be at least {least}, not: {sizes and len(sizes)}")
    size = sizes[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None")
    return size


def first_dimension(shape: Any, min_rank: int = 1) -> int:
    """Return the size of the first axis of a shape."""
    return _dimension(_Shaped(shape), 0, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """Return the size of the last axis of a shape."""
    return _dimension(_Shaped(shape), -1, min_rank)


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """Return the size of the axis of channels of a shape."""
    return _dimension(_Shaped(shape), 1 if data_format == "NCHW" else -1, min_rank)


class _Shaped:
    def __init__(self, shape: Any) -> None:
        self.shape = shape


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Return two numbers for one or two.

    Raises:
        ValueError: for anything else.
    """
    first, second = n_positive_integers(2, int_or_tuple)
    return first, second


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Return ``n`` numbers for one or ``n``.

    Raises:
        ValueError: for anything else.
    """
    listed = value if isinstance(value, (list, tuple)) else [value] * n
    numbers = tuple(int(each) for each in listed)
    if len(numbers) != n or any(each < 1 for each in numbers):
        raise ValueError(f"Must provide an int or a sequence of {n} positive ints, got {value!r}")
    return numbers
