"""Datasets as values of a step, and the cursors that go through them.

A ``Stage`` is the value of a dataset's node: it is immutable and knows the stages before it, its settings and
its functions. ``begin`` makes a ``Cursor``, which gives one element at a time and raises StopIteration at the
end. An error of one element leaves the cursor in a state from which it can go on. An element is a tuple of
components; a sparse tensor is one of them, a variant of three parts (see ``opsets.sparse.serialising``).

``save`` and ``load`` of a cursor are its position as plain values: ``kept`` names the attributes that are
the state of a kind of cursor, beside the cursors that it reads from.
"""

from __future__ import annotations

import reprlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from actorsession.errors import FailedPreconditionError, InvalidArgumentError, ProtocolError
from actorsession.graph import codec
from actorsession.graph.function import FunctionDef
from actorsession.graph.registry import Array
from actorsession.opsets.datasets.compiled import Arrived, Compiled
from actorsession.opsets.datasets.draws import Draws
from actorsession.opsets.datasets.runs import Run

__all__ = ["KINDS", "Cursor", "Element", "Function", "Opaque", "Stage", "kind", "plain", "restored", "rows"]

Element: TypeAlias = "tuple[Any, ...]"

# Held while a function that came from another task is compiled.
_COMPILING = threading.Lock()


class Function:
    """A function of a dataset with the values that it has captured.

    Args:
        compiled: the function; or as plain data, if it came from another task, where the first run compiles
            it.
        captured: the values.
        label: the name of its node.
    """

    __slots__ = ("_compiled", "captured", "label")

    def __init__(self, compiled: Compiled | FunctionDef, captured: Sequence[Any], label: str) -> None:
        self._compiled = compiled
        self.captured = tuple(captured)
        self.label = label

    @property
    def is_prompt(self) -> bool:
        """Whether it is known that it may run on an event loop."""
        return isinstance(self._compiled, Compiled) and self._compiled.is_prompt

    def __call__(self, run: Run, *values: Any) -> Element:
        """Return the results of the function."""
        compiled = self._compiled
        if not isinstance(compiled, Compiled):
            with _COMPILING:
                if not isinstance(self._compiled, Compiled):
                    self._compiled = Compiled(self._compiled, Arrived(self.label, run))
                compiled = self._compiled
        return compiled(run, *values, *self.captured)

    def to_wire(self) -> list[Any]:
        """Return the function as plain values."""
        function = self._compiled
        definition = function.definition if isinstance(function, Compiled) else function
        return [definition, list(self.captured), self.label]

    @classmethod
    def from_wire(cls, value: Any) -> Function:
        """Return the function that ``to_wire`` encoded.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [FunctionDef() as definition, list(captured), str(label)]:
                return cls(definition, [arrived(item) for item in captured], label)
        raise ProtocolError(f"not the wire form of a function of a dataset: {reprlib.repr(value)}")


class Opaque:
    """The base class of values of variant tensors: what generic code reads of a value without a size."""

    __slots__ = ("__weakref__",)
    dtype = np.dtype(object)
    shape = ()
    ndim = 0
    size = 1
    nbytes = 0


class Stage(Opaque):
    """A dataset.

    Args:
        kind: what it does with the elements of its sources: an op type, or another key of ``KINDS``.
        sources: the datasets that it reads.
        values: its settings, by name.
        functions: its functions.

    Attributes:
        prompt: whether no element takes long or waits for anything, so that it may be made on an event loop.
    """

    __slots__ = ("cursor", "functions", "kind", "prompt", "sources", "values")

    def __init__(
        self,
        kind: str,
        sources: Sequence[Stage] = (),
        values: Mapping[str, Any] | None = None,
        functions: Sequence[Function] = (),
    ) -> None:
        if kind not in KINDS:
            raise InvalidArgumentError(f"there is no kind of dataset {kind!r:.100}")
        self.kind = kind
        self.sources = tuple(sources)
        self.values = dict(values or {})
        self.functions = tuple(functions)
        self.cursor = KINDS[kind]
        self.cursor.check(self)
        self.prompt: bool = (
            self.cursor.prompt
            and all(source.prompt for source in sources)
            and all(function.is_prompt for function in functions)
        )

    def to_wire(self) -> list[Any]:
        """Return the dataset as plain values."""
        functions = [function.to_wire() for function in self.functions]
        return [self.kind, list(self.sources), self.values, functions]

    @classmethod
    def from_wire(cls, value: Any) -> Stage:
        """Return the dataset that ``to_wire`` encoded.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [str(kind), list(sources), dict(values), list(functions)] if kind in KINDS:
                if all(isinstance(source, Stage) for source in sources):
                    contents = {str(key): arrived(item) for key, item in values.items()}
                    return cls(kind, sources, contents, [Function.from_wire(f) for f in functions])
        raise ProtocolError(f"not the wire form of a dataset: {reprlib.repr(value)}")

    def begin(self, run: Run) -> Cursor:
        """Return a cursor before the first element."""
        return self.cursor(self, run)

    def number(self, name: str) -> int:
        """Return a setting that is an integer.

        Raises:
            InvalidArgumentError: if it is no scalar.
        """
        value = self.values[name]
        if np.ndim(value):
            raise InvalidArgumentError(f"{name} must be a scalar")
        return int(value)

    def text(self, name: str) -> str:
        """Return a setting that is a string."""
        value = np.asarray(self.values[name]).item()
        return value.decode() if isinstance(value, bytes) else str(value)

    def cardinality(self) -> int:
        """Return the number of elements; -1 if there is no end, -2 if it is not known."""
        return self.cursor.count(self)


def arrived(value: Any) -> Any:
    """Return a value that came from another task as it was there: lists were tuples, and arrays scalars."""
    if isinstance(value, list):
        return tuple([arrived(item) for item in value])
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


codec.NESTED_CLASSES.fill("datasets", codec.NestedClass(Stage, Stage.from_wire))


class Cursor:
    """A position in a dataset: the base class of all kinds.

    Args:
        stage: the dataset.
        run: the run of the iterator.
    """

    kept: ClassVar[tuple[str, ...]] = ()
    prompt: ClassVar[bool] = True

    def __init__(self, stage: Stage, run: Run) -> None:
        self.stage = stage
        self.run = run
        self.sources = [source.begin(run) for source in stage.sources] if self.begins() else []
        self.start()

    @property
    def source(self) -> Cursor:
        """The cursor that it reads from."""
        return self.sources[0]

    @classmethod
    def check(cls, stage: Stage) -> None:
        """Check the settings of a stage.

        Raises:
            InvalidArgumentError: for values that are not possible.
        """

    @classmethod
    def count(cls, stage: Stage) -> int:
        """Return the number of elements of a stage; see ``Stage.cardinality``."""
        return -2

    def begins(self) -> bool:
        """Return whether it reads its sources from the start on, once and side by side."""
        return True

    def start(self) -> None:
        """Set the state before the first element."""

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Return whether the next element is there without work."""
        return False

    def save(self) -> dict[str, Any]:
        """Return the position as plain values."""
        position = {name: plain(getattr(self, name)) for name in self.kept}
        position["sources"] = [source.save() for source in self.sources]
        return position

    def load(self, state: Mapping[str, Any]) -> None:
        """Go to a position of the same dataset."""
        for name in self.kept:
            setattr(self, name, restored(state[name]))
        for source, saved in zip(self.sources, state["sources"], strict=True):
            source.load(saved)


KINDS: dict[str, type[Cursor]] = {}


def kind(*names: str) -> Callable[[type[Cursor]], type[Cursor]]:
    """Register a class of cursors as a kind of dataset."""

    def add(cls: type[Cursor]) -> type[Cursor]:
        KINDS.update(dict.fromkeys(names, cls))
        return cls

    return add


def plain(value: Any) -> Any:
    """Return a value that can be encoded, for one that belongs to a cursor's state."""
    if isinstance(value, Draws):
        return {"draws": [*value.seeds, value.at]}
    if isinstance(value, deque):
        return {"deque": [plain(item) for item in value]}
    if isinstance(value, Stage):
        if value.kind != "elements":
            raise FailedPreconditionError("the position within a dataset of datasets cannot be saved")
        return {"elements": plain(value.values["elements"])}
    if isinstance(value, np.ndarray) and value.dtype == object:
        # A variant that holds other tensors, or strings.
        return {"objects": [plain(item) for item in value.flat], "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {"items": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def restored(value: Any) -> Any:
    """Return the value of which ``plain`` has made this."""
    if isinstance(value, list):
        return [restored(item) for item in value]
    if isinstance(value, np.ndarray):
        return value if value.ndim else value[()]
    if not isinstance(value, dict):
        return value
    if "draws" in value:
        return Draws(*value["draws"])
    if "deque" in value:
        return deque(restored(value["deque"]))
    if "elements" in value:
        return Stage("elements", values={"elements": restored(value["elements"])})
    if "objects" in value:
        objects = np.empty(len(value["objects"]), object)
        for k, item in enumerate(value["objects"]):
            objects[k] = restored(item)
        return objects.reshape(value["shape"])
    if "items" in value:
        return {restored(key): restored(item) for key, item in value["items"]}
    return tuple([restored(item) for item in value["tuple"]])


def rows(array: Any) -> list[Any]:
    """Return the rows of a component, none of which keeps the whole alive."""
    whole: Array = np.asarray(array)
    return [row.copy() if isinstance(row, np.ndarray) else row for row in whole]
