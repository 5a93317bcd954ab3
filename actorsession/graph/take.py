"""Takes: values that a node takes out of some state, which can be put back until they are delivered.

The kernel of an op that takes (``OpDef.takes``) returns a ``Take``; the state behind it fulfils it, in the
thread that makes that possible. The step keeps it until its values are delivered, and puts it back if the
step ends early; see ``runtime.engine.takes``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["AvailableTake", "Loan", "Take"]


class Take(Future[Any]):
    """The future values of a node that takes something out of some state.

    While it is pending it may be cancelled, and takes nothing then. Once it is fulfilled, ``put_back``
    reverts it. The fulfilling code must call ``set_running_or_notify_cancel`` first, as for any future of a
    kernel.
    """

    _undo: Callable[[], None] | None = None

    def fulfil(self, make: Callable[[], Any], undo: Callable[[], None]) -> None:
        """Complete the take with the values taken; must be called outside of the state's lock.

        Args:
            make: makes the node's values. If it raises, the exception becomes that of the take, and the
                values taken are put back.
            undo: puts the values taken back, at the front; callable from any thread.
        """
        try:
            values = make()
        except BaseException as exc:
            undo()
            self.set_exception(exc)
        else:
            self._undo = undo
            self.set_result(values)

    def put_back(self) -> None:
        """Put the values taken back; only the first call does, and only that of a fulfilled take."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def abandon(self) -> None:
        """Cancel the take, or put its values back once it is fulfilled."""
        if not self.cancel():
            self.add_done_callback(lambda _: self.put_back())


class AvailableTake(Take):
    """A take that is fulfilled when it is made; it has neither the lock nor the condition of a future.

    Args:
        values: the node's values.
        undo: puts the values taken back, at the front; callable from any thread. ``None`` if nothing was taken.
    """

    def __init__(self, values: Any, undo: Callable[[], None] | None = None) -> None:
        self.values = values
        self._undo = undo

    def cancel(self) -> bool:
        """Return that it is too late."""
        return False

    def cancelled(self) -> bool:
        """Return that it is not."""
        return False

    def running(self) -> bool:
        """Return that it has ended."""
        return False

    def done(self) -> bool:
        """Return that it is."""
        return True

    def result(self, timeout: float | None = None) -> Any:
        """Return the values."""
        return self.values

    def exception(self, timeout: float | None = None) -> None:
        """Return that there is none."""
        return

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Call a function now."""
        fn(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.values!r:.100}>"


class Loan(Take):
    """A take that is put back however its step ends, and whatever became of its value.

    ``put_back`` of it must do nothing if the step has given the value back by then.
    """
