"""The public classes of staging areas: values that one step puts in and a later one takes.

Names, arguments and messages are TensorFlow's. ``staging_nodes`` has the op types, which look their area up
by its name, without a handle; so all nodes of an area are placed where the area was made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import DType, int32, int64
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import scope_of
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.flow.control import no_op
from actorsession.ops.queues.components import Components
from actorsession.ops.shared_state import dtypes_of
from actorsession.opsets.staging import nodes  # noqa: F401 - registers the op types
from actorsession.process_bound import GraphBound

__all__ = ["MapStagingArea", "StagingArea"]


class BaseStagingArea(Components, GraphBound):
    """The base class of both kinds of staging areas.

    Args:
        dtypes: dtypes of the values of an element.
        shapes: shapes of the values; unknown if left out.
        names: names of the values, if elements are dictionaries.
        shared_name: name of the area on its device; by default a unique name in the graph.
        capacity: maximum number of elements; 0 for no bound.
        memory_limit: maximum number of bytes; 0 for no bound.

    Raises:
        ValueError: if there are not as many shapes or names as dtypes, or ``shared_name`` is not a string.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name!r}")
        types = dtypes_of(dtypes)
        count = len(types)
        for what, listed in (("shapes", shapes), ("names", names)):
            if listed is not None and len(listed) != count:
                raise ValueError(f"StagingArea {what} must be the same length as dtypes: got {len(listed)} for {count}")
        known = [TensorShape(s) for s in ([None] * count if shapes is None else shapes)]
        super().__init__(types, known, None if names is None else list(names))
        self._capacity, self._memory_limit = int(capacity), int(memory_limit)
        self._graph = get_default_graph()
        self._container = scope_of(self._graph).container
        self._name = shared_name or self._graph.unique_name(type(self).__name__)
        # All nodes of the area are colocated with this one.
        with self._graph.name_scope(f"{self._name}_root"):
            self._root = no_op()

    @property
    def name(self) -> str:
        """The area's name on its device."""
        return self._name

    @property
    def capacity(self) -> int:
        """Maximum number of elements; 0 for no bound."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """Maximum number of bytes; 0 for no bound."""
        return self._memory_limit

    @contextlib.contextmanager
    def _at(self, name: str | None, verb: str) -> Iterator[str]:
        """Enter the colocation with the area, and a name scope."""
        with self._graph.colocate_with(self._root), self._graph.name_scope(name or f"{self._name}_{verb}") as scope:
            yield scope

    def _attrs(self, dtypes: Sequence[DType] | None = None) -> dict[str, Any]:
        return {
            "dtypes": self._dtypes if dtypes is None else list(dtypes),
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
            "container": self._container,
            "shared_name": self._name,
        }

    def _state(self, op_type: str, verb: str, name: str | None) -> Operation:
        with self._at(name, verb) as scope:
            return make(op_type, (), self._attrs(), scope, self._graph)

    def _given(self, vals: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """Return the given values as tensors, and their indices in an element."""
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"{sorted(vals, key=str)}, area: {sorted(self._names)}"
                )
            places = [i for i, n in enumerate(self._names) if n in vals]
            components = [vals[self._names[i]] for i in places]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            components = list(vals) if isinstance(vals, (list, tuple)) else [vals]
            places = list(indices)
            if len(places) != len(components):
                raise ValueError(f"Number of indices {len(places)} doesn't match number of values {len(components)}")
        if len(components) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(components)} vs {len(self._dtypes)}")
        return [self._value(v, i) for v, i in zip(components, places, strict=True)], places

    def _value(self, value: Any, index: int) -> Tensor:
        dtype, shape = self._dtypes[index], self._shapes[index]
        hint = None if hasattr(value, "_as_graph_element") else dtype
        tensor = convert_to_tensor(value, hint, f"component_{index}", graph=self._graph)
        if tensor.dtype is not dtype:
            raise ValueError(f"Datatypes do not match. Received {tensor.dtype.name}, value {index} is {dtype.name}")
        if not tensor.shape.is_compatible_with(shape):
            raise ValueError(f"Shapes {tensor.shape} and {shape} are incompatible")
        return tensor

    def _element_of(self, tensors: Sequence[Tensor], places: Sequence[int]) -> Any:
        for tensor, i in zip(tensors, places, strict=True):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: t for i, t in zip(places, tensors, strict=True)}
        return list(tensors)


class StagingArea(BaseStagingArea):
    """Elements that one step puts in and a later one takes, the oldest first.

    Arguments and errors as ``BaseStagingArea``.
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Build an operation that puts an element in, and waits while the area is full.

        Args:
            values: a tensor, a list or tuple of them, or a dictionary if values have names.
            name: wanted name.

        Returns:
            The operation. ResourceExhaustedError at run time if the element exceeds the memory limit.

        Raises:
            ValueError: if the values do not fit the area.
        """
        many = isinstance(values, (list, tuple, Mapping))
        listed = values if many else [values]
        with self._at(name, "put") as scope:
            tensors, _ = self._given(listed, range(len(listed)))
            attrs = self._attrs([t.dtype for t in tensors])
            return make("Stage", tensors, attrs, scope, self._graph)

    def get(self, name: str | None = None) -> Any:
        """Build an operation that takes an element, and waits while there is none.

        Args:
            name: wanted name.

        Returns:
            A list of tensors, or a dictionary if values have names.
        """
        return self._element_of(self._state("Unstage", "get", name).outputs, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Build an operation that reads an element without taking it, and waits until there are enough.

        Args:
            index: position of the element, from the oldest, an int32 scalar.
            name: wanted name.

        Returns:
            As ``get``.
        """
        with self._at(name, "peek") as scope:
            which = convert_to_tensor(index, int32, "index", graph=self._graph)
            op = make("StagePeek", [which], self._attrs(), scope, self._graph)
        return self._element_of(op.outputs, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, as an int32 scalar."""
        return self._state("StageSize", "size", name).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Build an operation that drops all elements."""
        return self._state("StageClear", "clear", name)


class MapStagingArea(BaseStagingArea):
    """Elements that one step puts in under a key and a later one takes, whole or value by value.

    An element can be taken once all its values were put in, and is removed with its last value.

    Args:
        dtypes: dtypes of the values of an element.
        shapes: shapes of the values; unknown if left out.
        names: names of the values, if elements are dictionaries.
        shared_name: name of the area on its device; by default a unique name in the graph.
        ordered: whether a take without a key gets the element with the lowest key instead of the oldest.
        capacity: maximum number of complete elements; 0 for no bound.
        memory_limit: maximum number of bytes; 0 for no bound.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "OrderedMap" if ordered else "Map"

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """Build an operation that puts values of an element in, and waits while the area is full.

        Args:
            key: key of the element, an int64 scalar. While there is a complete element with this key, another
                one is dropped.
            vals: a tensor, a list or tuple of them, or a dictionary if values have names; they may be a part
                of an element's values.
            indices: ascending indices of the values in an element; not with a dictionary.
            name: wanted name.

        Returns:
            The operation. At run time InvalidArgumentError if a value was put in before, and
            ResourceExhaustedError if the values exceed the memory limit.

        Raises:
            ValueError: if the values do not fit the area.
        """
        with self._at(name, "put") as scope:
            tensors, places = self._given(vals, indices)
            inputs = [*self._address(key, places), *tensors]
            attrs = {**self._attrs(), "fake_dtypes": [t.dtype for t in tensors]}
            return make(f"{self._prefix}Stage", inputs, attrs, scope, self._graph)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> tuple[Any, Any]:
        """Build an operation that takes an element, and waits until it is complete.

        Args:
            key: key of the element, an int64 scalar; any element if left out.
            indices: the values to take, as ascending indices or as names; all if left out. The others stay.
            name: wanted name.

        Returns:
            The key, and a list of the values, or a dictionary if they have names. InvalidArgumentError at run
            time if one of them was taken before.

        Raises:
            TypeError: if ``indices`` is not a list of numbers or names.
            ValueError: if ``indices`` is empty or has an unknown name.
        """
        if key is not None:
            return key, self._taken("Unstage", "get", key, indices, name)
        places = self._places(indices)
        with self._at(name, "get_nokey") as scope:
            attrs = self._attrs([self._dtypes[i] for i in places])
            op_type = f"{self._prefix}UnstageNoKey"
            op = make(op_type, self._address(None, places), attrs, scope, self._graph)
        taken_key, *values = op.outputs
        return taken_key, self._element_of(values, places)

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Build an operation that reads an element without taking it; waiting and arguments as ``get``."""
        return self._taken("Peek", "pop", key, indices, name)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of complete elements, as an int32 scalar."""
        return self._state(f"{self._prefix}Size", "size", name).outputs[0]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of incomplete elements, as an int32 scalar."""
        return self._state(f"{self._prefix}IncompleteSize", "incomplete_size", name).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Build an operation that drops all elements."""
        return self._state(f"{self._prefix}Clear", "clear", name)

    def _taken(self, what: str, verb: str, key: Any, indices: Any, name: str | None) -> Any:
        places = self._places(indices)
        with self._at(name, verb) as scope:
            attrs = self._attrs([self._dtypes[i] for i in places])
            op_type = f"{self._prefix}{what}"
            op = make(op_type, self._address(key, places), attrs, scope, self._graph)
        return self._element_of(op.outputs, places)

    def _address(self, key: Any, places: Sequence[int]) -> list[Tensor]:
        where = convert_to_tensor(list(places), int32, "indices", graph=self._graph)
        if key is None:
            return [where]
        return [convert_to_tensor(key, int64, "key", graph=self._graph), where]

    def _places(self, indices: Any) -> list[int]:
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"indices are a list of numbers or names, got {indices!r:.100}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, int) for i in indices):
            return list(indices)
        if not all(isinstance(i, str) for i in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        if self._names is None:
            raise ValueError(f"String indices {indices}, but this area was not created with names")
        missing = [n for n in indices if n not in self._names]
        if missing:
            raise ValueError(f"{missing} are not among the names of the area, {self._names}")
        return [self._names.index(n) for n in indices]
