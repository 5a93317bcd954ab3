"""The state of an iterator on its device: the dataset it goes through, and where it is.

Elements are asked for by steps. An element that can be made at once is made in the step's thread; any other
by a thread of the iterator, while the step waits. A step that is cancelled meanwhile ends at
once, and the element that was being made is the next one.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    from_exception,
)
from actorsession.graph import codec
from actorsession.graph.completion import Completed, Completion
from actorsession.graph.dtypes import DType
from actorsession.graph.registry import KernelContext, ResourceHost
from actorsession.graph.shape import TensorShape
from actorsession.opsets.datasets.runs import Run
from actorsession.opsets.datasets.stages import Cursor, Element, Stage
from transports.host import current_host

__all__ = ["IteratorState", "by_handle", "elsewhere"]

_END = "End of sequence"
_KNOWN: weakref.WeakValueDictionary[str, IteratorState] = weakref.WeakValueDictionary()


class _Pass:
    """One pass through a dataset.

    Args:
        stage: the dataset.
        host: the resources of the iterator's device.
        device: the full name of the device.
    """

    def __init__(self, stage: Stage, host: ResourceHost, device: str) -> None:
        self.stage = stage
        self.run = Run(host, device)
        self._cursor: Cursor | None = None
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Completion, None] = OrderedDict()
        self._serves = False
        # Held while an element is made. What was made for a step that had ended waits for the next one.
        self._making = threading.Lock()
        self._kept: deque[Element | Exception] = deque()

    def next(self) -> Completion:
        """Return the completion of the next element, or raise its error if that can be done at once."""
        completion = Completion(self._forget)
        with self._lock:
            inline = not self._serves and self._is_prompt()
            begins = not self._serves
            self._serves = True
            if not inline:
                self._waiting[completion] = None
        if not inline:
            if begins:
                self.run.crew.submit(self._serve)
            return completion
        try:
            element = self._next_outcome()
        finally:  # also where Ctrl-C has ended it
            with self._lock:
                self._serves = bool(self._waiting)
            if self._serves:
                self.run.crew.submit(self._serve)
        if isinstance(element, Exception):
            raise element
        return Completed(_values(element), partial(self._kept.append, element))

    def _forget(self, completion: Completion) -> None:
        with self._lock:
            self._waiting.pop(completion, None)

    def _is_prompt(self) -> bool:
        if self._kept or self.stage.prompt:
            return True
        return self._cursor is not None and self._cursor.is_ready()

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._serves = False
                    return
                completion, _ = self._waiting.popitem(last=False)
            element = self._next_outcome()
            keep = partial(self._kept.append, element)
            if isinstance(element, Exception):
                completion.complete((), keep, error=element)
            else:
                completion.complete(_values(element), keep)
            del completion

    def _next_outcome(self) -> Element | Exception:
        with self._making:
            if self._kept:
                return self._kept.popleft()
            try:
                self.run.check()
                return next(self._at())
            except StopIteration:
                return OutOfRangeError(_END)
            except Exception as exc:
                return exc
            except BaseException as exc:
                if threading.current_thread() is threading.main_thread():
                    raise
                return from_exception(exc)

    def _at(self) -> Cursor:
        if self._cursor is None:
            self._cursor = self.stage.begin(self.run)
        return self._cursor

    def close(self) -> None:
        """End the pass; steps that wait for an element get an error."""
        self.run.close()
        with self._lock:
            waiting, self._waiting = self._waiting, OrderedDict()
        for completion in waiting:
            completion.fail(FailedPreconditionError("the iterator was initialised again"))

    def save(self) -> Any:
        """Return the position as plain values."""
        with self._making:
            return self._at().save()

    def load(self, state: Any) -> None:
        """Go to a position."""
        with self._making:
            self._kept.clear()
            self._cursor = self.stage.begin(self.run)
            self._cursor.load(state)


def _values(element: Element) -> Any:
    return element[0] if len(element) == 1 else element


class IteratorState:
    """An iterator.

    Args:
        label: its name in messages.
        types: dtypes of the components of its elements.
        shapes: their static shapes.
        host: the resources of its device.
        device: the full name of the device.
        first: makes the dataset when the first element is asked for, of an iterator that needs no
            initialisation.

    Attributes:
        handle: the text by which this process finds it.
        on_clear: called when the iterator is cleared, once.
    """

    def __init__(
        self,
        label: str,
        types: Sequence[DType],
        shapes: Sequence[TensorShape],
        host: ResourceHost,
        device: str,
        first: Callable[[], Stage] | None = None,
    ) -> None:
        self.label = label
        self.types, self.shapes = tuple(types), tuple(shapes)
        self.handle = f"{label} {current_host().entropy.token_hex(16)}"
        self._host = host
        self._device = device
        self._first = first
        self._lock = threading.Lock()
        self._pass: _Pass | None = None
        self.on_clear: Callable[[], object] | None = None
        _KNOWN[self.handle] = self

    def initialise(self, stage: Stage) -> None:
        """Begin to go through a dataset."""
        with self._lock:
            before, self._pass = self._pass, _Pass(stage, self._host, self._device)
        if before is not None:
            before.close()

    def get_next(self) -> Completion:
        """Return the completion of the next element: a value, or a tuple of several.

        Raises:
            FailedPreconditionError: if it was not initialised.
        """
        return self._current("GetNext()").next()

    def save(self) -> bytes:
        """Return the position as bytes."""
        return codec.pack(self._current("Saving").save())

    def load(self, state: bytes) -> None:
        """Go to a position that ``save`` has returned for the same dataset.

        Raises:
            InvalidArgumentError: if it is none.
        """
        current = self._current("Restoring")
        try:
            current.load(codec.unpack(state))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"{self.label}: this is no position in its dataset ({exc})") from exc

    def clear(self) -> None:
        """Leave the iterator uninitialised."""
        with self._lock:
            before, self._pass = self._pass, None
            ended, self.on_clear = self.on_clear, None
        if before is not None:
            before.close()
        if ended is not None:
            ended()

    def session_ended(self) -> None:
        """End whatever waits; see ``KernelContext.state``."""
        self.clear()

    def __del__(self) -> None:
        if getattr(self, "_pass", None) is not None:
            self.clear()

    def _current(self, what: str) -> _Pass:
        with self._lock:
            if self._pass is None and self._first is not None:
                self._pass = _Pass(self._first(), self._host, self._device)
            if self._pass is None:
                raise FailedPreconditionError(
                    f"{what} failed because the iterator has not been initialized. Ensure that you have "
                    "run the initializer operation for this iterator before getting the next element."
                )
            return self._pass


def by_handle(handle: Any, types: Sequence[DType], shapes: Sequence[TensorShape]) -> IteratorState:
    """Return the iterator of a handle.

    Raises:
        InvalidArgumentError: if it is none, or the elements are of other dtypes.
        NotFoundError: if this process has no such iterator.
    """
    text = os.fsdecode(np.asarray(handle).item())
    if not text.startswith("iterator "):
        raise InvalidArgumentError("Could not parse string_handle as a valid ResourceHandle")
    iterator = _KNOWN.get(text)
    if iterator is None:
        raise NotFoundError(
            f"{text.rpartition(' ')[0]:.100} is not in this process: a handle is used on the device of its "
            "iterator, while the session exists"
        )
    if types:
        check_specs(types, shapes, iterator.types, iterator.shapes)
    return iterator


def check_specs(
    types: Sequence[DType], shapes: Sequence[TensorShape], actual: Sequence[DType], of_found: Sequence[TensorShape]
) -> None:
    """Check the static types of elements against those that are wanted.

    Raises:
        InvalidArgumentError: if there are other components, or they are of other dtypes or shapes.
    """
    if len(types) != len(actual):
        raise InvalidArgumentError(
            f"Number of components does not match: expected {len(types)} types but got {len(actual)}."
        )
    for k, (expected, other) in enumerate(zip(types, actual, strict=True)):
        if expected is not other:
            raise InvalidArgumentError(
                f"Data type mismatch at component {k}: expected {expected.name} but got {other.name}."
            )
    for k, (shape, other_shape) in enumerate(zip(shapes, of_found, strict=False)):
        if not shape.is_compatible_with(other_shape):
            raise InvalidArgumentError(
                f"Incompatible shapes at component {k}: expected {_written(shape)} but got {_written(other_shape)}."
            )


def _written(shape: TensorShape) -> str:
    sizes = shape.sizes or ()
    return f"[{','.join(['?' if size is None else str(size) for size in sizes])}]"


def elsewhere(ctx: KernelContext, work: Callable[[Run], Any]) -> Completion:
    """Return the completion of what a function of a new run, on a node's device, returns; a thread calls it.

    The run is over when the completion is abandoned or done.
    """
    run = Run(ctx.resources, ctx.device)
    completion = Completion(lambda _: run.close())

    def call() -> None:
        try:
            completion.complete(work(run))
        except Exception as exc:
            completion.fail(exc)
        run.close()

    run.crew.submit(call)
    return completion
