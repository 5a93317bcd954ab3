"""Datasets as values of a step, and the cursors that go through them.

A ``Stage`` is the value of a dataset's node: it is immutable and knows the stages before it, its settings and
its functions. ``begin`` makes a ``Cursor``, which gives one element at a time and raises StopIteration at the
end. An error of one element leaves the cursor in a state from which it can go on. An element is a tuple of
components; a sparse tensor is three of them, which ``layout`` marks with one ``s`` in place of ``d``.

``save`` and ``load`` of a cursor are its position as plain values: ``kept`` names the attributes that are
the state of a kind of cursor, beside the cursors that it reads from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.registry import Array
from actorsession.opsets.datasets.compiled import Compiled
from actorsession.opsets.datasets.runs import Run

__all__ = ["KINDS", "Cursor", "Element", "Function", "Stage", "kind", "plain", "restored"]

Element: TypeAlias = "tuple[Any, ...]"


class Function:
    """A function of a dataset with the values that it has captured.

    Args:
        compiled: the function.
        captured: the values.
    """

    __slots__ = ("captured", "compiled")

    def __init__(self, compiled: Compiled, captured: Sequence[Any]) -> None:
        self.compiled = compiled
        self.captured = tuple(captured)

    def __call__(self, run: Run, *values: Any) -> Element:
        """Return the results of the function."""
        return self.compiled(run, *values, *self.captured)


class Stage:
    """A dataset.

    Args:
        kind: what it does with the elements of its sources; one of ``KINDS``.
        sources: the datasets that it reads.
        values: its settings, by name.
        functions: its functions.
        layout: a letter for each component of its elements.

    Attributes:
        prompt: whether no element takes long or waits for anything, so that it may be made on an event loop.
    """

    __slots__ = (
        "__weakref__",
        "cursor",
        "functions",
        "kind",
        "layout",
        "prompt",
        "sources",
        "values",
    )
    # What generic code reads of a value: a dataset is one element without a size.
    dtype = np.dtype(object)
    shape = ()
    ndim = 0
    size = 1
    nbytes = 0

    def __init__(
        self,
        kind: str,
        sources: Sequence[Stage] = (),
        values: Mapping[str, Any] | None = None,
        functions: Sequence[Function] = (),
        layout: str = "",
    ) -> None:
        if kind not in KINDS:
            raise InvalidArgumentError(f"there is no kind of dataset {kind!r:.100}")
        self.kind = kind
        self.sources = tuple(sources)
        self.values = dict(values or {})
        self.functions = tuple(functions)
        self.layout = layout
        self.cursor = KINDS[kind]
        self.cursor.check(self)
        self.prompt: bool = (
            self.cursor.prompt
            and all(source.prompt for source in sources)
            and all(function.compiled.is_prompt for function in functions)
        )

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
        made = {name: plain(getattr(self, name)) for name in self.kept}
        made["sources"] = [source.save() for source in self.sources]
        return made

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
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, Stage):
        if value.kind != "elements":
            raise FailedPreconditionError(
                "the position within a dataset of datasets cannot be saved"
            )
        return {"elements": plain(value.values["elements"]), "layout": value.layout}
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
    if "generator" in value:
        made = np.random.Generator(np.random.PCG64(0))
        made.bit_generator.state = value["generator"]
        return made
    if "elements" in value:
        found = {"elements": restored(value["elements"])}
        return Stage("elements", values=found, layout=value["layout"])
    if "items" in value:
        return {restored(key): restored(item) for key, item in value["items"]}
    return tuple([restored(item) for item in value["tuple"]])


def rows(array: Any) -> list[Any]:
    """Return the rows of a component, none of which keeps the whole alive."""
    whole: Array = np.asarray(array)
    return [row.copy() if isinstance(row, np.ndarray) else row for row in whole]
