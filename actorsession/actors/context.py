"""The context of a call: its deadline, its caller, and the state of the caller's link.

Actors pass a ``CallContext`` to handlers, and links make one per call. The module imports the deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from actorsession.actors.deadline import DEFAULT_SECONDS, NEVER, Deadline

__all__ = ["LOCAL", "LOCAL_TELL", "CallContext", "ProgramTable", "Watch"]

Watch: TypeAlias = Callable[[Callable[[], None]], Callable[[], None]]
"""Registers a callback for the end of a link, and returns a function that unregisters it."""

LOCAL = "local"
"""The peer of calls from this process."""


class ProgramTable(Protocol):
    """The step programs that the peer of a link may run; see ``rpc.served_runs``."""

    def register(self, program: Any) -> int:
        """Let the peer run a program, and return its number."""

    def drop(self, number: int) -> None:
        """Remove a program; an unknown number is not an error."""


class CallContext:
    """The circumstances of one message.

    Attributes:
        peer: cluster task of the caller, or ``local``.
        address: address of the caller, or ``local``.
        programs: the step programs that the caller may run over its link; ``None`` for a local caller.
    """

    __slots__ = ("_deadline", "_watch", "address", "peer", "programs")

    def __init__(
        self,
        deadline: Deadline | None = None,
        peer: str = LOCAL,
        address: str = LOCAL,
        watch: Watch | None = None,
        programs: ProgramTable | None = None,
    ) -> None:
        # The default deadline is made on first access: most direct calls never read it.
        self._deadline = deadline
        self._watch = watch
        self.peer = peer
        self.address = address
        self.programs = programs

    @property
    def caller(self) -> str:
        """Who the caller is, for errors and logs."""
        return "its own process" if self.peer == LOCAL else f"{self.peer} at {self.address}"

    @property
    def deadline(self) -> Deadline:
        """The end of the caller's wait; for a tell there is none."""
        if self._deadline is None:
            self._deadline = Deadline.after(DEFAULT_SECONDS)
        return self._deadline

    def on_gone(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for the loss of the caller's link.

        Args:
            callback: called once, soon after the link has ended (soon after this call if it has ended
                already), or what a local caller has in its place; never for a local caller without that.

        Returns:
            A function that unregisters the callback; it may be called again, and after the loss.
        """
        return _nothing if self._watch is None else self._watch(callback)

    def __repr__(self) -> str:
        return f"<CallContext from {self.peer} at {self.address}>"


def _nothing() -> None:
    """Unregister nothing, for a callback that was never registered."""


LOCAL_TELL = CallContext(NEVER)
"""The circumstances of every tell from this process."""
