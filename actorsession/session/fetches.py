"""Fetch mapping: from a structure of fetches to unique names, and from values back to the structure.

The leaves are tensors, operations, variables and names; they may nest in lists, tuples, named tuples,
dicts and attrs or dataclass objects. A structure is taken apart once per signature; handing values back
is one closure per structure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor

__all__ = ["FetchPlan", "fetch_key", "map_fetches"]

# From the values of the unique fetched tensors to one part of the structure.
_Builder: TypeAlias = Callable[[Sequence[Any]], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class FetchPlan:
    """A structure taken apart.

    Attributes:
        tensors: the unique tensors that it needs, in order of appearance.
        targets: the unique operations that must run.
        build: from the tensors' values to the structure.
    """

    tensors: tuple[Tensor, ...]
    targets: tuple[Operation, ...]
    build: _Builder


def map_fetches(graph: Graph, fetches: Any) -> FetchPlan:
    """Takes a structure of fetches apart.

    Args:
        graph: the session's graph.
        fetches: a leaf or a nested structure of leaves.

    Raises:
        TypeError: for a leaf that can never be fetched.
        ValueError: for a name that is malformed or not in the graph, or an element of another graph.
        RuntimeError: if the graph has no operations.
    """
    if not graph.version:
        raise RuntimeError("the session graph is empty: add operations to the graph before run()")
    mapper = _Mapper(graph)
    build = mapper.map(fetches)
    return FetchPlan(tuple(mapper.tensors), tuple(mapper.targets), build)


class _Mapper:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tensors: dict[Tensor, int] = {}
        self.targets: dict[Operation, None] = {}

    def map(self, fetches: Any) -> _Builder:
        if isinstance(fetches, (Tensor, Operation, str)) or hasattr(fetches, "_as_graph_element"):
            return self._leaf(fetches)
        if fetches is None:
            raise TypeError("fetch argument None has invalid type NoneType")
        if isinstance(fetches, tuple) and hasattr(fetches, "_fields"):
            return self._sequence(list(fetches), lambda items: type(fetches)(*items))
        if isinstance(fetches, tuple):
            return self._sequence(list(fetches), tuple)
        if isinstance(fetches, list):
            return self._sequence(fetches, list)
        if isinstance(fetches, Mapping):
            return self._mapping(fetches)
        if hasattr(type(fetches), "__attrs_attrs__"):
            names = [a.name for a in type(fetches).__attrs_attrs__]
            return self._object(fetches, names)
        if dataclasses.is_dataclass(fetches) and not isinstance(fetches, type):
            return self._object(fetches, [f.name for f in dataclasses.fields(fetches)])
        raise TypeError(
            f"fetch argument {fetches!r:.100} has invalid type {type(fetches).__name__}: fetches are "
            "tensors, operations, variables or names, or lists, tuples, dicts and attrs or dataclass "
            "objects of such"
        )

    def _leaf(self, fetch: Any) -> _Builder:
        try:
            element = self.graph.as_graph_element(fetch)
        except KeyError as exc:
            raise ValueError(f"fetch argument {fetch!r} cannot be found: {exc.args[0]}") from None
        except ValueError as exc:
            raise ValueError(f"fetch argument {fetch!r} cannot be interpreted: {exc}") from None
        if isinstance(element, Tensor) and element.dtype.kind == "r":
            element = _reading(element)
        if isinstance(element, Operation):
            self.targets[element] = None
            return lambda values: None
        index = self.tensors.setdefault(element, len(self.tensors))
        return lambda values: values[index]

    def _sequence(self, items: list[Any], make: Callable[[list[Any]], Any]) -> _Builder:
        builders = [self.map(item) for item in items]
        return lambda values: make([build(values) for build in builders])

    def _mapping(self, fetches: Mapping[Any, Any]) -> _Builder:
        builders = {key: self.map(item) for key, item in fetches.items()}
        kind = type(fetches)
        if kind is dict:
            return lambda values: {key: build(values) for key, build in builders.items()}
        factory = getattr(fetches, "default_factory", None)

        def make(values: Sequence[Any]) -> Any:
            items = [(key, build(values)) for key, build in builders.items()]
            return kind(factory, items) if factory is not None else kind(items)  # type: ignore[call-arg]

        return make

    def _object(self, fetches: Any, names: Sequence[str]) -> _Builder:
        builders = {name: self.map(getattr(fetches, name)) for name in names}
        kind = type(fetches)
        return lambda values: kind(**{name: build(values) for name, build in builders.items()})


def _reading(handle: Tensor) -> Tensor:
    """The reading of a variable whose handle was named, as in ``run("w:0")``."""
    for op in handle.consumers():
        if op.type == "ReadVariableOp" and not op.control_inputs:
            return op.outputs[0]
    raise TypeError(f"{handle.name!r} is a resource handle and has no value to fetch")


def fetch_key(fetches: Any) -> Any:
    """A hashable stand-in for a structure, equal for equal requests; ``None`` if there is none.

    Only the common forms have one: a leaf, and flat lists and tuples of leaves.
    """
    kind = type(fetches)
    if kind is Tensor or kind is str or kind is Operation:
        return fetches
    if kind is list or kind is tuple:
        for item in fetches:
            if type(item) not in _LEAVES and not hasattr(item, "_as_graph_element"):
                return None
        return (kind, *fetches)
    return fetches if hasattr(fetches, "_as_graph_element") else None


_LEAVES = frozenset({Tensor, Operation, str})
