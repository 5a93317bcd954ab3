"""What a link counts.

Owns ``LinkStatistics``, a plain value. Links make one when they are asked; it imports nothing of ours.
"""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["LinkStatistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStatistics:
    """What went over a link.

    Attributes:
        peer: cluster task of the other end.
        address: where it is.
        calls_sent: asks made from this end.
        calls_received: asks made by the peer.
        tells_sent: tells made from this end.
        tells_received: tells made by the peer.
        frames_sent: frames of any kind, beats included.
        frames_received: likewise.
        bytes_sent: their size on the wire.
        bytes_received: likewise; bytes of an unfinished frame included.
        pending: asks from this end that wait for an answer.
        serving: asks of the peer that a handler works on, or that are held back.
        held: those that are held back, because the peer does not read the answers it was given.
        waiting: asks from this end that are not sent yet, because the peer reads slowly.
        send_buffer: bytes that wait to be sent.
        over: why the link is over, if it is.
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
