"""What a handler knows of the call that it serves: until when, for whom, and whether they still
live.

Owns ``CallContext``. Actors hand it to handlers, links make one per call; it imports the deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from actorsession.actors.deadline import DEFAULT_SECONDS, NEVER, Deadline

__all__ = ["LOCAL", "LOCAL_TELL", "CallContext", "Watch"]

Watch: TypeAlias = Callable[[Callable[[], None]], Callable[[], None]]
"""Registers a callback for the end of a link, and returns what takes it back."""

LOCAL = "local"
"""The peer of calls from this process."""


class CallContext:
    """The circumstances of one message.

    Attributes:
        peer: cluster task of the caller, or ``local``.
        address: where the caller is, or ``local``.
    """

    __slots__ = ("_deadline", "_watch", "address", "peer")

    def __init__(
        self,
        deadline: Deadline | None = None,
        peer: str = LOCAL,
        address: str = LOCAL,
        watch: Watch | None = None,
    ) -> None:
        # The default deadline is made when somebody looks: most direct calls never do.
        self._deadline = deadline
        self._watch = watch
        self.peer = peer
        self.address = address

    @property
    def deadline(self) -> Deadline:
        """Until when the caller waits; for a tell, for ever."""
        if self._deadline is None:
            self._deadline = Deadline.after(DEFAULT_SECONDS)
        return self._deadline

    def on_gone(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for the loss of the caller's link.

        Args:
            callback: called once, soon after the link is over (at once if it is over already);
                never for a local caller.

        Returns:
            A function that takes the callback back; it may be called again, and after the loss.
        """
        return _nothing if self._watch is None else self._watch(callback)

    def __repr__(self) -> str:
        return f"<CallContext from {self.peer} at {self.address}>"


def _nothing() -> None:
    """Take back what was never registered."""


LOCAL_TELL = CallContext(NEVER)
"""The circumstances of every tell from this process."""
