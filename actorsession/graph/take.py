"""Takes: values that a node takes out of some state, which can be put back until they are delivered.

The kernel of an op that takes (``OpDef.takes``) returns a ``Take``; the state behind it fulfils it, in the
thread that makes that possible. The step keeps it until its values are delivered, and puts it back if the
step ends early; see ``runtime.engine.takes``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["Loan", "Take"]


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


class Loan(Take):
    """A take that is put back however its step ends, and whatever became of its value.

    ``put_back`` of it must do nothing if the step has given the value back by then.
    """
