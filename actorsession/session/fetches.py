"""Fetch mapping: from a structure of fetches to unique names, and from values back to the structure.

The leaves are tensors, operations, variables, names, and objects whose class is registered in
``conversions``. They may nest in lists, tuples, named tuples, mappings and attrs or dataclass objects. A
structure is analysed once per request, and values are put back by one closure per structure. Sessions
keep the results under ``fetch_key``.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InaccessibleTensorError, RequestTypeError, RequestValueError
from actorsession.graph.function import CONTROL_FLOW
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.session.conversions import Conversion, conversion_of

__all__ = ["FetchPlan", "Wrap", "check_not_empty", "map_fetches", "reading_of"]

# From the values of the unique fetched tensors to one component of the structure.
_Builder: TypeAlias = Callable[[Sequence[Any]], Any]
# From a fetched tensor to the function that is applied to its value, if any.
Wrap: TypeAlias = Callable[[Tensor], Callable[[Any], Any] | None]


@dataclasses.dataclass(frozen=True, slots=True)
class FetchPlan:
    """The analysed form of a structure of fetches.

    Attributes:
        tensors: the unique tensors to fetch, in order of appearance.
        targets: the unique operations that must run.
        build: makes the structure from the tensors' values.
    """

    tensors: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    build: _Builder


def check_not_empty(graph: Graph) -> None:
    """Refuse a graph without operations.

    Raises:
        RuntimeError: if the graph has none.
    """
    if not graph.version:
        raise RuntimeError(
            "The Session graph is empty: add operations to the graph before run(). Each thread has a default "
            "graph of its own; a session for a graph that was built elsewhere is Session(graph=graph)"
        )


def map_fetches(graph: Graph, fetches: Any, wrap: Wrap | None = None) -> FetchPlan:
    """Return the fetch plan of a structure of fetches.

    Args:
        graph: the session's graph.
        fetches: a leaf or a nested structure of leaves.
        wrap: returns for a fetched tensor a function that is applied to its value: once per run, however
            often the tensor occurs in the structure.

    Raises:
        TypeError: for a leaf that can never be fetched.
        ValueError: for a name that is malformed or not in the graph, or an element of another graph.
        InaccessibleTensorError: for an operation that may not be fetched, or a tensor of one.
        RuntimeError: if the graph has no operations.
    """
    check_not_empty(graph)
    mapper = _Mapper(graph)
    build = mapper.map(fetches)
    if wrap is not None:
        build = _wrapped(build, tuple(mapper.tensors), wrap)
    return FetchPlan(tuple(mapper.tensors), tuple(mapper.targets), build)


def _wrapped(build: _Builder, tensors: tuple[Tensor, ...], wrap: Wrap) -> _Builder:
    asked = [(index, wrap(tensor)) for index, tensor in enumerate(tensors)]
    wrappers = [(index, wrapper) for index, wrapper in asked if wrapper is not None]
    if not wrappers:
        return build

    def build_wrapped(values: Sequence[Any]) -> Any:
        values = list(values)
        for index, wrapper in wrappers:
            values[index] = wrapper(values[index])
        return build(values)

    return build_wrapped


class _Mapper:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tensors: dict[Tensor, int] = {}
        self.targets: dict[Operation, None] = {}

    def map(self, fetches: Any) -> _Builder:
        if isinstance(fetches, (Tensor, Operation, str, bytes)):
            return self._leaf(fetches)
        if fetches is None:
            raise RequestTypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
        if isinstance(fetches, (list, tuple)):
            return self._sequence(fetches)
        if isinstance(fetches, Mapping):
            return self._mapping(fetches)
        if getattr(type(fetches), "__attrs_attrs__", None) is not None:
            return self._attrs_object(fetches)
        conversion = conversion_of(fetches)
        if conversion is not None:
            return self._converted(fetches, conversion)
        if hasattr(fetches, "_as_graph_element"):
            return self._leaf(fetches)
        if dataclasses.is_dataclass(fetches) and not isinstance(fetches, type):
            return self._dataclass_object(fetches)
        raise RequestTypeError(
            f'Argument `fetch` = {fetches!s:.100} has invalid type "{type(fetches).__name__}" must be a '
            "string or Tensor: fetches are tensors, operations, variables or names, or lists, tuples, dicts "
            "and attrs or dataclass objects of such"
        )

    def _leaf(self, fetch: Any) -> _Builder:
        try:
            element = self.graph.as_graph_element(fetch.decode() if isinstance(fetch, bytes) else fetch)
        except KeyError as exc:
            raise RequestValueError(
                f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({exc.args[0]})"
            ) from None
        except ValueError as exc:
            raise RequestValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({exc})") from None
        if not self.graph.is_fetchable(element):
            name = element.op.name if isinstance(element, Tensor) else element.name
            construct = self.graph.nodes.construct_of(element)
            if construct is not None:
                raise InaccessibleTensorError(
                    f"Operation {name} has been marked as not fetchable. Typically this happens when it is "
                    f"defined in a loop or branch: it is inside {construct!r}, which may run it any number "
                    f"of times: return its value from {construct!r} and fetch what that gives"
                )
            raise InaccessibleTensorError(
                f"Operation {name} has been marked as not fetchable. Typically this happens when it is "
                "defined in another function or code block: fetch something that is made of it instead"
            )
        if isinstance(element, Tensor) and element.dtype.kind == "r":
            element = _known_reading(element)
        if isinstance(element, Tensor) and element.dtype.kind == "v":
            if is_flow(element):
                self.targets[element.op] = None
                return lambda values: np.float32(0)
            raise RequestTypeError(
                f"{element.name!r} is a variant and has no value to fetch: fetch what is read from it"
            )
        if isinstance(element, Operation):
            self.targets[element] = None
            return lambda values: None
        index = self.tensors.setdefault(element, len(self.tensors))
        if isinstance(element, Tensor) and element.dtype.kind == "q":
            integers = element.dtype.integers
            return lambda values: values[index].view(integers)
        return itemgetter(index)

    def _converted(self, fetches: Any, conversion: Conversion) -> _Builder:
        parts, contract = conversion.fetch(fetches)
        builders = [self._leaf_or_type_error(part, fetches) for part in parts]
        if not builders:
            return lambda values: None
        return lambda values: contract([build(values) for build in builders])

    def _leaf_or_type_error(self, part: Any, whole: Any) -> _Builder:
        if isinstance(part, (Tensor, Operation, str, bytes)) or hasattr(part, "_as_graph_element"):
            return self._leaf(part)
        raise RequestTypeError(
            f"Argument `fetch` = {whole!s:.100} stands for {part!r:.100} of type {type(part).__name__}, "
            "which is no tensor, operation, variable or name"
        )

    def _sequence(self, fetches: Any) -> _Builder:
        builders = [self.map(item) for item in fetches]
        kind: Any = type(fetches)
        if isinstance(fetches, list):
            return lambda values: [build(values) for build in builders]
        if kind is tuple:
            return lambda values: tuple([build(values) for build in builders])
        if kind.__new__ is tuple.__new__:
            return lambda values: kind([build(values) for build in builders])
        # Named tuples and classes with the same constructor.
        return lambda values: _remade(kind, *[build(values) for build in builders])

    def _mapping(self, fetches: Mapping[Any, Any]) -> _Builder:
        builders = {key: self.map(item) for key, item in fetches.items()}
        kind: Any = type(fetches)
        if kind is dict:
            return lambda values: {key: build(values) for key, build in builders.items()}
        leading = (fetches.default_factory,) if isinstance(fetches, defaultdict) else ()
        return lambda values: _remade(kind, *leading, [(key, build(values)) for key, build in builders.items()])

    def _attrs_object(self, fetches: Any) -> _Builder:
        fields = [f for f in type(fetches).__attrs_attrs__ if getattr(f, "init", True)]
        # By position, as in TensorFlow: objects that only resemble attrs classes have nothing but names.
        first = [f.name for f in fields if not getattr(f, "kw_only", False)]
        keywords = {f.name: _argument(f) for f in fields if getattr(f, "kw_only", False)}
        return self._object(fetches, first, keywords)

    def _dataclass_object(self, fetches: Any) -> _Builder:
        names = [f.name for f in dataclasses.fields(fetches) if f.init]
        return self._object(fetches, [], {name: name for name in names})

    def _object(self, fetches: Any, first: list[str], keywords: Mapping[str, str]) -> _Builder:
        by_position = [self.map(getattr(fetches, name)) for name in first]
        by_name = {argument: self.map(getattr(fetches, name)) for name, argument in keywords.items()}
        kind = type(fetches)
        return lambda values: _remade(
            kind,
            *[build(values) for build in by_position],
            **{argument: build(values) for argument, build in by_name.items()},
        )


def _remade(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an object of a container's class, made from the values of the fetches."""
    try:
        return kind(*args, **kwargs)
    except TypeError as exc:
        raise RequestTypeError(
            f"the step ran, but no {kind.__name__} can be made of what it fetched: {exc}. Named tuples and "
            "attrs objects are made from their values in order, mappings from a list of pairs, dataclass "
            "objects by the names of their fields"
        ) from exc


def _argument(field: Any) -> str:
    """Return the argument name of an attrs field; private fields lose their underscores."""
    return getattr(field, "alias", None) or str(field.name).lstrip("_")


def reading_of(handle: Tensor) -> Tensor | None:
    """Return the read of the variable behind a handle, as in ``run("w:0")``, if there is one."""
    for op in handle.consumers():
        if op.type == "ReadVariableOp" and not op.control_inputs:
            return op.outputs[0]
    return None


def is_flow(tensor: Tensor) -> bool:
    """Return whether a variant is the flow of an array in a program of TensorFlow 1: the number 0 there."""
    op = tensor.op
    while op.type in ("Identity", "Enter", "Exit"):
        op = op.inputs[0].op
    lists = op.type.startswith("TensorList") or op.type in CONTROL_FLOW | {"Merge", "Switch"}
    return bool(tensor.graph.shown_prefix) and lists


def _known_reading(handle: Tensor) -> Tensor:
    reading = reading_of(handle)
    if reading is None:
        raise RequestTypeError(f"{handle.name!r} is a resource handle and has no value to fetch")
    return reading
