"""The message log of a worker: the messages sent and received for each step, while it is switched on.

TensorFlow's workers log their tensor transfers in the same way (``LoggingRequest``): set, retrieve, clear.
Off by default, because it costs an entry for each hop; bounded, because it may never be switched off. Plain
synchronous code; owned by the worker. Within this package it imports no other module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from actorsession.errors import ProtocolError
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["RpcEvent", "RpcLog"]

# Entries kept; some 200 bytes each.
_KEPT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcEvent:
    """One message of a step.

    Attributes:
        micros: the time, in microseconds since 1970.
        step_id: the step.
        what: the type of the message, such as ``PushTensors``.
        outgoing: whether this worker sent it.
        peer: the task at the other end.
        tensors: the number of tensors in it.
        nbytes: the number of bytes of the tensors.
    """

    micros: int
    step_id: int
    what: str
    outgoing: bool
    peer: str
    tensors: int
    nbytes: int

    def to_wire(self) -> list[Any]:
        """Return the event as plain values."""
        return [self.micros, self.step_id, self.what, self.outgoing, self.peer, self.tensors, self.nbytes]

    @classmethod
    def from_wire(cls, value: Any) -> RpcEvent:
        """Parse the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [int(micros), int(step_id), str(what), bool(outgoing), str(peer), int(tensors), int(nbytes)]:
                return cls(
                    micros=micros,
                    step_id=step_id,
                    what=what,
                    outgoing=outgoing,
                    peer=peer,
                    tensors=tensors,
                    nbytes=nbytes,
                )
        raise ProtocolError(f"an RPC event is [micros, step, what, outgoing, peer, tensors, bytes], got {value!r:.200}")


class RpcLog:
    """The latest messages of a worker's steps.

    Args:
        kept: the number of messages that are kept.

    Attributes:
        enabled: whether messages are logged; switching it off keeps the messages in the log.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._events: deque[RpcEvent] = deque(maxlen=kept)
        self.enabled = False

    def note(self, step_id: int, what: str, peer: str, values: Sequence[Any], *, outgoing: bool = False) -> None:
        """Log a message; only called while the log is enabled."""
        nbytes = sum(getattr(value, "nbytes", 0) for value in values)
        self._events.append(
            RpcEvent(
                micros=current_host().clock.time_ns() // 1000,
                step_id=step_id,
                what=what,
                outgoing=outgoing,
                peer=peer,
                tensors=len(values),
                nbytes=nbytes,
            )
        )

    def events(self, steps: Collection[int] = ()) -> list[RpcEvent]:
        """Return the events of ``steps``, or of all steps if it is empty, the oldest first."""
        return [e for e in self._events if not steps or e.step_id in steps]

    def clear(self) -> None:
        """Remove all events."""
        self._events.clear()

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._events)
