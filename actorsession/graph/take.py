"""Takes: values that a node takes out of some state, which can be put back while nobody has them.

Owns ``Take``. The kernel of an op that takes (``OpDef.takes``) returns one; the state behind it fulfils it,
in whichever thread makes that possible. The step keeps it until its values are handed out, and puts it back
if the step ends early; see ``runtime/takes``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["Take"]


class Take(Future[Any]):
    """The future values of a node that takes something out of some state.

    While it is pending it may be cancelled, and takes nothing then. Once it is fulfilled, ``put_back`` is its
    undo. Whoever fulfils it asks ``set_running_or_notify_cancel`` first, like for any future of a kernel.
    """

    _undo: Callable[[], None] | None = None

    def fulfil(self, make: Callable[[], Any], undo: Callable[[], None]) -> None:
        """Complete the take with what was taken; outside of the state's lock.

        Args:
            make: makes the node's values. What it raises becomes the exception of the take, and what was
                taken goes back.
            undo: puts what was taken back, at the front; callable from any thread.
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
        """Put what was taken back; only the first call does, and only that of a fulfilled take."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def abandon(self) -> None:
        """Cancel the take, or put back what it was fulfilled with, or is about to be."""
        if not self.cancel():
            self.add_done_callback(lambda _: self.put_back())
