"""Completions: the values of a node that suspends, which come later, from any thread.

The library's own kernels that suspend return a ``Completion``, and so may those of extensions. It does less than a
``concurrent.futures.Future`` and costs a fraction: one listener, no waiting threads, and no state beside "pending" and
"done". An op that takes (``OpDef.takes``) completes it with an ``undo``: the step keeps the completion until its values
are delivered, and puts them back if it ends early; see ``runtime.engine.takes``.

Invariant: the listener is called once, after ``complete`` or ``fail``, in the thread that comes last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from actorsession.errors import CancelledError
from actorsession.process_bound import ProcessBound
from transports.host import current_host

__all__ = ["Completed", "Completion", "Loan"]

# Seconds between two looks of a thread that waits: less than the 200 ms within which Ctrl-C must be answered; the first
# comes sooner, since most waits are short.
_SLICE = 0.1
_FIRST_LOOK = 0.001


class Completion(ProcessBound):
    """The values of a node that suspends, which come later, or its error.

    Args:
        forget: called with the completion when its step has ended and it is not done, in any thread; takes it out of
            what would complete it. It may be completed nevertheless, and its values are put back then.

    Attributes:
        done: whether it has its values or an error.
        values: the node's values, as a kernel returns them.
        error: the error instead of them.
    """

    __slots__ = ("_forget", "_listener", "_lock", "_undo", "done", "error", "values")

    lent = False
    """Whether the values are put back however the step ends."""

    def __init__(self, forget: Callable[[Completion], object] | None = None) -> None:
        self._lock = threading.Lock()
        self._forget = forget
        self._listener: Callable[[Completion], object] | None = None
        self._undo: Callable[[], None] | None = None
        self.values: Any = None
        self.error: BaseException | None = None
        self.done = False

    @classmethod
    def of(cls, future: Future[Any]) -> Completion:
        """Return the completion of a future, which is cancelled if the step ends before it is done."""
        completion = cls(lambda _: future.cancel())

        def follow(future: Future[Any]) -> None:
            error = CancelledError("the node's wait was cancelled") if future.cancelled() else future.exception()
            if error is not None:
                completion.fail(error)
            else:
                completion.complete(future.result())

        future.add_done_callback(follow)
        return completion

    def complete(
        self, values: Any, undo: Callable[[], None] | None = None, *, error: BaseException | None = None
    ) -> None:
        """Set the values, and continue the step; nothing happens if it is done.

        Must be called outside of the locks of the state behind it.

        Args:
            values: the node's values: one, a tuple of several, or an empty one.
            undo: puts them back where they were taken, at the front; callable from any thread.
            error: see ``fail``.
        """
        with self._lock:
            if self.done:
                return
            self.values, self._undo, self.error = values, undo, error
            self.done = True
            listener = self._listener
            # Nothing leads to the step, or from a future in a circle, when this is over.
            self._listener = self._forget = None
        if listener is not None:
            listener(self)

    def fail(self, error: BaseException) -> None:
        """Fail the step with an error; nothing happens if it is done."""
        self.complete(None, error=error)

    def complete_by(self, make: Callable[[], Any], undo: Callable[[], None]) -> None:
        """Complete with the values that a function makes of what was taken; if it raises, put that back and fail."""
        try:
            values = make()
        except BaseException as exc:
            undo()
            self.fail(exc)
        else:
            self.complete(values, undo)

    def listen(self, listener: Callable[[Completion], object]) -> None:
        """Call a function with this when it is done, instead of the one before; at once if it is."""
        with self._lock:
            if not self.done:
                self._listener = listener
                return
        listener(self)

    def wait(self, check: Callable[[], None]) -> Any:
        """Wait in this thread, and return the values; a wait that ends early abandons them.

        Args:
            check: called from time to time; its exception ends the wait.

        Raises:
            BaseException: the error.
        """
        if not self.done:
            current_host().processes.check_wait()
        pause, told = _FIRST_LOOK, threading.Event()
        self.listen(lambda _: told.set())
        try:
            while not self.done:
                told.wait(pause)
                check()
                pause = min(2 * pause, _SLICE)
        except BaseException:
            self.abandon()
            raise
        if self.error is not None:
            raise self.error
        return self.values

    def abandon(self) -> None:
        """Give the values up, because the step has ended; put them back if they come nevertheless."""
        self.listen(Completion.put_back)
        forget, self._forget = self._forget, None
        if forget is not None:
            forget(self)

    def put_back(self) -> None:
        """Put the values back where they were taken; only the first call does."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


class Completed(Completion):
    """A completion that is done when it is made.

    Args:
        values: as for ``complete``.
        undo: as for ``complete``.
    """

    __slots__ = ()

    def __init__(self, values: Any, undo: Callable[[], None] | None = None) -> None:
        self._lock = _SHARED
        self._forget = self._listener = None
        self._undo = undo
        self.values = values
        self.error = None
        self.done = True


class Loan(Completion):
    """A completion that is put back however its step ends, and whatever became of its value.

    ``put_back`` of it must do nothing if the step has given the value back by then.
    """

    __slots__ = ()

    lent = True


_SHARED = threading.Lock()
"""The lock of all that are done when they are made: no thread holds it for longer than a look at ``done``."""
