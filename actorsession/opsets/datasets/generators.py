"""Python generators as datasets: the three functions that begin one, go on with it, and end it.

A generator lives in the process that has built the graph, where ``py_func`` runs. Its number is what the
functions pass on.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import int64, refuse_none
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.flow.script import py_func
from actorsession.opsets.datasets.elements import flat_specs, leaves
from actorsession.opsets.datasets.tracing import Traced, traced

__all__ = ["generator_functions"]


class _Running:
    """The generators of one dataset that are under way, by number."""

    def __init__(self, generator: Callable[..., Any], structure: Any) -> None:
        self._generator = generator
        self._structure = structure
        self._specs = flat_specs(structure)
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._iterators: dict[int, Iterator[Any]] = {}

    def begin(self, *args: Any) -> Any:
        """Start a generator and return its number."""
        iterator = iter(self._generator(*args))
        with self._lock:
            number = next(self._numbers)
            self._iterators[number] = iterator
        return np.int64(number)

    def advance(self, number: Any) -> list[Any]:
        """Return the components of the next element; StopIteration at the end."""
        element = next(self._iterators[int(number)])
        values = self._flat(element)
        return [_converted(value, spec) for value, spec in zip(values, self._specs, strict=True)]

    def end(self, number: Any) -> Any:
        """Forget a generator."""
        with self._lock:
            iterator = self._iterators.pop(int(number), None)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
        return np.int64(number)

    def _flat(self, element: Any) -> list[Any]:
        try:
            return _leaves_like(self._structure, element)
        except (TypeError, ValueError, KeyError) as exc:
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected "
                f"structure was {len(leaves(self._structure))} components, but the yielded element was "
                f"{element!r:.200}."
            ) from exc


def _leaves_like(structure: Any, element: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        if not isinstance(element, Mapping) or set(element) != set(structure):
            raise TypeError("other keys")
        return [v for key in sorted(structure) for v in _leaves_like(structure[key], element[key])]
    if isinstance(structure, tuple):
        if not isinstance(element, (tuple, list)) or len(element) != len(structure):
            raise TypeError("another number of items")
        return [v for s, e in zip(structure, element, strict=True) for v in _leaves_like(s, e)]
    return [element]


def _converted(value: Any, spec: TensorSpec) -> Any:
    dtype = spec.dtype.np_dtype
    try:
        if spec.dtype.kind == "s":
            array = np.asarray(value, object)
        else:
            array = np.asarray(value)
            if array.dtype != dtype:
                refuse_none(value)
                array = np.asarray(value, dtype)
    except (TypeError, ValueError) as exc:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The expected "
            f"type was {spec.dtype.name}, but the yielded element was {value!r:.200}."
        ) from exc
    if not spec.shape.is_compatible_with(array.shape):
        raise TypeError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape {spec.shape} "
            "was expected."
        )
    return array


def generator_functions(
    generator: Callable[..., Any], structure: Any, args: Sequence[Tensor], graph: Graph
) -> dict[str, Traced]:
    """Return the functions of a dataset of what a generator gives, by the names of their attributes.

    Args:
        generator: returns an object to iterate over.
        structure: the structure of its elements.
        args: its arguments.
        graph: the graph.
    """
    running = _Running(generator, structure)
    specs = flat_specs(structure)
    number = TensorSpec(int64, scalar_shape)

    def begin(_: list[Tensor]) -> list[Tensor]:
        return [_one(py_func(running.begin, list(args), int64, name="begin"), scalar_shape)]

    def advance(values: list[Tensor]) -> list[Tensor]:
        types = [spec.dtype for spec in specs]
        tensors = py_func(running.advance, values, types, name="advance")
        assert isinstance(tensors, list)
        return [_one(tensor, spec.shape) for tensor, spec in zip(tensors, specs, strict=True)]

    def end(values: list[Tensor]) -> list[Tensor]:
        return [_one(py_func(running.end, values, int64, name="end"), scalar_shape)]

    return {
        "init_func": traced(begin, [], graph, "generator_begin"),
        "next_func": traced(advance, [number], graph, "generator_next"),
        "finalize_func": traced(end, [number], graph, "generator_end"),
    }


def _one(tensor: Any, shape: TensorShape) -> Tensor:
    tensor.set_shape(shape)
    shaped: Tensor = tensor
    return shaped
