"""The counters of a link.

``LinkStatistics`` is a plain value that links return on request. The module imports nothing of this project
except ``records``.
"""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["LinkStatistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStatistics:
    """The counters of one link.

    Attributes:
        peer: cluster task of the other end.
        address: address of the other end.
        calls_sent: asks made from this end.
        calls_received: asks made by the peer.
        tells_sent: tells made from this end.
        tells_received: tells made by the peer.
        frames_sent: frames of any kind, including heartbeats.
        frames_received: likewise.
        bytes_sent: their size on the wire.
        bytes_received: likewise, including the bytes of an incomplete frame.
        pending: asks from this end that wait for an answer.
        serving: asks of the peer that a handler works on, or that are held.
        over: the reason why the link has ended, if it has.
        held: asks of the peer that are held because the peer does not read its answers.
        waiting: asks from this end that are not sent yet, because the peer reads slowly.
        send_buffer: unsent bytes.
    """

    peer: str
    address: str
    calls_sent: int
    calls_received: int
    tells_sent: int
    tells_received: int
    frames_sent: int
    frames_received: int
    bytes_sent: int
    bytes_received: int
    pending: int
    serving: int
    over: str | None
    held: int = 0
    waiting: int = 0
    send_buffer: int = 0
