"""Kinds of datasets that read ahead, or that read from datasets which a function makes of each element.

What is read ahead keeps its order, errors included. No thread waits for room: one that has filled a buffer
ends, and the next element that is taken asks for more.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OutOfRangeError
from actorsession.graph.completion import Completion
from actorsession.opsets.datasets.runs import Run
from actorsession.opsets.datasets.stages import Cursor, Element, Stage, kind, plain, restored

__all__: list[str] = []

# Elements that a buffer holds whose size is left to the library.
_SIZE = 8
# Datasets that take turns, of a number that is left to the library.
_CYCLE = 10
# Seconds of a call that is worth another thread: several times what it takes to have a thread do it; and how
# many such calls in a row are no accident.
_WORTH = 0.0005
_SLOW = 4


def _parallel(stage: Stage, name: str) -> int:
    """Return a degree of parallelism; -1 stands for the number of processors."""
    degree = stage.number(name)
    if degree == -1:
        return max(2, os.cpu_count() or 1)
    if degree < 1:
        raise InvalidArgumentError(f"{name} must be greater than zero.")
    return degree


class _Ahead:
    """A cursor that a thread of the run reads ahead of.

    Args:
        cursor: the cursor.
        run: the run.
        size: the most elements that wait.
    """

    def __init__(self, cursor: Cursor, run: Run, size: int) -> None:
        self.cursor = cursor
        self._run, self._size = run, size
        self._changed = threading.Condition()
        # Held while an element is read.
        self._reading = threading.Lock()
        self.held: deque[tuple[Element | None, Exception | None]] = deque()
        self.ended = False
        self._fills = False

    def is_ready(self) -> bool:
        """Return whether the next element, or the end, is there."""
        return bool(self.held) or self.ended

    def fill(self) -> None:
        """Have a thread read ahead, unless one does or there is nothing to read."""
        with self._changed:
            if self._fills or self.ended or len(self.held) >= self._size:
                return
            self._fills = True
        self._run.crew.submit(self._fill)

    def _fill(self) -> None:
        while True:
            with self._reading:
                outcome: tuple[Element | None, Exception | None]
                try:
                    self._run.check()
                    outcome = next(self.cursor, None), None
                except Exception as exc:
                    outcome = None, exc
                with self._changed:
                    if outcome == (None, None):
                        self.ended = True
                    else:
                        self.held.append(outcome)
                    self._fills = not self.ended and len(self.held) < self._size and not self._run.closed
                    goes_on = self._fills
                    self._changed.notify_all()
            if not goes_on:
                return

    def take(self) -> Element:
        """Return the next element, or raise its error, or StopIteration at the end."""
        self.fill()
        with self._changed:
            while not self.held and not self.ended:
                self._run.wait(self._changed)
            if not self.held:
                raise StopIteration
            element, error = self.held.popleft()
        self.fill()
        if error is not None:
            raise error
        assert element is not None
        return element

    def save(self) -> dict[str, Any]:
        """Return the position as plain values; elements whose making failed are left out."""
        with self._reading, self._changed:
            held = [plain(element) for element, error in self.held if error is None]
            return {"held": held, "ended": self.ended, "source": self.cursor.save()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go to a position."""
        with self._reading, self._changed:
            self.held = deque([(restored(element), None) for element in state["held"]])
            self.ended = state["ended"]
            self.cursor.load(state["source"])


@kind("PrefetchDataset")
class _Prefetch(Cursor):
    """The same elements, read ahead by a thread."""

    prompt = False

    @classmethod
    def check(cls, stage: Stage) -> None:
        if stage.number("buffer_size") < -1:
            raise InvalidArgumentError("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")

    @classmethod
    def count(cls, stage: Stage) -> int:
        return stage.sources[0].cardinality()

    def start(self) -> None:
        size = self.stage.number("buffer_size")
        self._ahead = _Ahead(self.source, self.run, _SIZE if size < 0 else size) if size else None

    def is_ready(self) -> bool:
        return self._ahead is not None and self._ahead.is_ready()

    def __next__(self) -> Element:
        return next(self.source) if self._ahead is None else self._ahead.take()

    def save(self) -> dict[str, Any]:
        return super().save() if self._ahead is None else self._ahead.save()

    def load(self, state: Mapping[str, Any]) -> None:
        if self._ahead is None:
            super().load(state)
        else:
            self._ahead.load(state)


@kind("ParallelMapDataset", "ParallelMapDatasetV2")
class _ParallelMap(Cursor):
    """What a function makes of each element, of several at a time; in order."""

    prompt = False

    @classmethod
    def check(cls, stage: Stage) -> None:
        _parallel(stage, "num_parallel_calls")

    @classmethod
    def count(cls, stage: Stage) -> int:
        kept = stage.values.get("preserve_cardinality")
        return stage.sources[0].cardinality() if kept else -2

    def start(self) -> None:
        self._most = _parallel(self.stage, "num_parallel_calls")
        # The elements under way, each with the completion of what becomes of it; an error of the source is one.
        self._begun: deque[tuple[Element | None, Completion]] = deque()
        self._ended = False
        # How many calls in a row were worth another thread, of a function that waits for nothing.
        self._slow = 0 if self.stage.functions[0].is_prompt else _SLOW

    def __next__(self) -> Element:
        try:
            return self._next_element()
        except OutOfRangeError:
            self._ended = True
            self._begun.clear()
            raise StopIteration from None

    def _next_element(self) -> Element:
        if self._slow < _SLOW and not self._begun and not self._ended:
            return self._at_once(next(self.source))
        while not self._ended and len(self._begun) < self._most:
            try:
                self._begin(next(self.source))
            except StopIteration:
                self._ended = True
            except Exception as exc:
                failed = Completion()
                failed.fail(exc)
                self._begun.append((None, failed))
        if not self._begun:
            raise StopIteration
        _, completion = self._begun[0]
        try:
            element: Element = completion.wait(self.run.check)
        finally:
            if completion.done:
                self._begun.popleft()
        return element

    def _at_once(self, element: Element) -> Element:
        """Call the function in this thread."""
        begin = perf_counter()
        try:
            return self.stage.functions[0](self.run, *element)
        finally:
            self._slow = self._slow + 1 if perf_counter() - begin > _WORTH else 0

    def _begin(self, element: Element) -> None:
        completion = Completion()
        function, run = self.stage.functions[0], self.run

        def work() -> None:
            try:
                completion.complete(function(run, *element))
            except Exception as exc:
                completion.fail(exc)

        self._begun.append((element, completion))
        run.crew.submit(work)

    def save(self) -> dict[str, Any]:
        begun = [plain(element) for element, _ in self._begun if element is not None]
        return {**super().save(), "begun": begun, "ended": self._ended}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._ended = state["ended"]
        for element in state["begun"]:
            self._begin(restored(element))


class _Opened:
    """A dataset that a function has made of an element.

    Args:
        element: the element.
        stage: the dataset that has the function.
        run: the run.
        ahead: how many elements a thread reads ahead; 0 for none.
    """

    def __init__(self, element: Element, stage: Stage, run: Run, ahead: int) -> None:
        self.element = element
        (dataset,) = stage.functions[0](run, *element)
        if not isinstance(dataset, Stage):
            raise InvalidArgumentError(f"{dataset!r:.100} is no dataset")
        self.cursor = dataset.begin(run)
        self.ahead = _Ahead(self.cursor, run, ahead) if ahead else None
        if self.ahead is not None:
            self.ahead.fill()

    def take(self) -> Element:
        """Return the next element."""
        return next(self.cursor) if self.ahead is None else self.ahead.take()

    def save(self) -> dict[str, Any]:
        """Return the position as plain values."""
        place = self.cursor if self.ahead is None else self.ahead
        return {"element": plain(self.element), "place": place.save()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go to a position."""
        (self.cursor if self.ahead is None else self.ahead).load(state["place"])


@kind(
    "FlatMapDataset",
    "InterleaveDataset",
    "ParallelInterleaveDataset",
    "ParallelInterleaveDatasetV2",
    "ParallelInterleaveDatasetV3",
    "ParallelInterleaveDatasetV4",
    "LegacyParallelInterleaveDatasetV2",
    "ExperimentalParallelInterleaveDataset",
)
class _Interleave(Cursor):
    """The elements of the datasets that a function makes: of some datasets in turn, some elements of each."""

    kept = ("at", "given", "ended")
    prompt = False

    @classmethod
    def check(cls, stage: Stage) -> None:
        for name in ("cycle_length", "block_length"):
            if stage.values.setdefault(name, 1) == -1 and name == "cycle_length":
                stage.values[name] = _CYCLE
            if stage.number(name) < 1:
                raise InvalidArgumentError(f"{name} must be greater than zero.")

    def start(self) -> None:
        self._slots: list[_Opened | None] = [None] * self.stage.number("cycle_length")
        self._block = self.stage.number("block_length")
        self._ahead = 0
        if "Parallel" in self.stage.kind:
            self._ahead = max(1, min(_SIZE, self._block))
        self.at, self.given, self.ended = 0, 0, False

    def __next__(self) -> Element:
        slots = self._slots
        while not self.ended or any(slots):
            opened = slots[self.at]
            if opened is None:
                if self.ended:
                    self._turn()
                    continue
                element = next(self.source, None)
                if element is None:
                    self.ended = True
                    continue
                slots[self.at] = _Opened(element, self.stage, self.run, self._ahead)
                continue
            try:
                result = opened.take()
            except StopIteration:
                slots[self.at] = None
                self.run.check()
                self._turn()
                continue
            self.given += 1
            if self.given == self._block:
                self._turn()
            return result
        raise StopIteration

    def _turn(self) -> None:
        self.at, self.given = (self.at + 1) % len(self._slots), 0

    def save(self) -> dict[str, Any]:
        opened = [slot and slot.save() for slot in self._slots]
        return {**super().save(), "opened": opened}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        for k, saved in enumerate(state["opened"]):
            if saved is not None:
                opened = _Opened(restored(saved["element"]), self.stage, self.run, 0)
                if self._ahead:
                    opened.ahead = _Ahead(opened.cursor, self.run, self._ahead)
                opened.load(saved)
                self._slots[k] = opened


@kind("GroupByWindowDataset", "ExperimentalGroupByWindowDataset")
class _Groups(Cursor):
    """Datasets that a function makes of elements with the same key, one after the other.

    The functions give the key of an element, the dataset of a key and a window, and the number of elements
    that make a window for a key.
    """

    prompt = False

    def start(self) -> None:
        self._groups: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}
        self._current: Cursor | None = None
        # The key and the elements of the current dataset.
        self._window: tuple[int, list[Element]] | None = None
        self._ended = False

    def __next__(self) -> Element:
        while True:
            if self._current is not None:
                try:
                    return next(self._current)
                except StopIteration:
                    self._current = self._window = None
            self.run.check()
            if self._ended:
                if not self._groups:
                    raise StopIteration
                self._open(min(self._groups))
                continue
            element = next(self.source, None)
            if element is None:
                self._ended = True
            else:
                self._add(element)

    def _add(self, element: Element) -> None:
        key_of, _, size_of = self.stage.functions
        (number,) = key_of(self.run, *element)
        key = int(number)
        if key not in self._sizes:
            (size,) = size_of(self.run, np.int64(key))
            if size < 1:
                raise InvalidArgumentError(f"Window size must be greater than zero, but got {int(size)}.")
            self._sizes[key] = int(size)
        group = self._groups.setdefault(key, [])
        group.append(element)
        if len(group) >= self._sizes[key]:
            self._open(key)

    def _open(self, key: int) -> None:
        self._begin(key, self._groups.pop(key))

    def _begin(self, key: int, elements: list[Element]) -> None:
        whole = Stage("elements", values={"elements": elements})
        (dataset,) = self.stage.functions[1](self.run, np.int64(key), whole)
        self._window = key, elements
        self._current = dataset.begin(self.run)

    def save(self) -> dict[str, Any]:
        position = {
            **super().save(),
            "groups": plain(self._groups),
            "sizes": plain(self._sizes),
            "ended": self._ended,
            "window": plain(self._window),
            "current": None,
        }
        if self._current is not None:
            position["current"] = self._current.save()
        return position

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._groups, self._sizes = restored(state["groups"]), restored(state["sizes"])
        self._ended = state["ended"]
        if state["current"] is not None:
            self._begin(*restored(state["window"]))
            assert self._current is not None
            self._current.load(state["current"])
