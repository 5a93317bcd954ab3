"""The counters of a link.

``LinkStatistics`` is a plain value that links return on request. The module imports nothing of this project
except ``records`` and ``prometheus``.
"""

from __future__ import annotations

from collections.abc import Mapping

from actorsession.prometheus import Metric, MetricFamily, metric_families
from actorsession.records import dataclass

__all__ = ["LinkStatistics"]

_METRICS = (
    Metric("calls_sent", "counter", "actorsession_link_calls_sent_total", "Asks made from this end."),
    Metric("calls_received", "counter", "actorsession_link_calls_received_total", "Asks made by the peer."),
    Metric("tells_sent", "counter", "actorsession_link_tells_sent_total", "Tells made from this end."),
    Metric("tells_received", "counter", "actorsession_link_tells_received_total", "Tells made by the peer."),
    Metric("frames_sent", "counter", "actorsession_link_frames_sent_total", "Frames sent, heartbeats too."),
    Metric("frames_received", "counter", "actorsession_link_frames_received_total", "Frames received."),
    Metric("bytes_sent", "counter", "actorsession_link_bytes_sent_total", "Bytes of the frames sent."),
    Metric("bytes_received", "counter", "actorsession_link_bytes_received_total", "Bytes received."),
    Metric("bulk_bytes_sent", "counter", "actorsession_link_bulk_bytes_sent_total", "Those sent by the bulk lane."),
    Metric("bulk_bytes_received", "counter", "actorsession_link_bulk_bytes_received_total", "Those received by it."),
    Metric("shared_bytes_sent", "counter", "actorsession_link_shared_bytes_sent_total", "Those sent in shared memory."),
    Metric(
        "shared_bytes_received", "counter", "actorsession_link_shared_bytes_received_total", "Those received in it."
    ),
    Metric("pending", "gauge", "actorsession_link_pending_calls", "Asks from this end without an answer."),
    Metric("serving", "gauge", "actorsession_link_serving_calls", "Asks of the peer without an answer."),
    Metric(
        "held",
        "gauge",
        "actorsession_link_held_calls",
        "Asks of the peer that are held because it does not read its answers.",
    ),
    Metric(
        "waiting",
        "gauge",
        "actorsession_link_waiting_calls",
        "Asks from this end that are not sent yet because the peer reads slowly.",
    ),
    Metric("round_trip", "gauge", "actorsession_link_round_trip_seconds", "Time to the peer and back, last measured."),
    Metric("send_buffer", "gauge", "actorsession_link_send_buffer_bytes", "Unsent bytes."),
)


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
        bulk_bytes_sent: those of the bytes sent that went by the bulk lane, which small frames overtake.
        bulk_bytes_received: those of the bytes received that came by it.
        shared_bytes_sent: those of the bytes sent that went through shared memory.
        shared_bytes_received: those of the bytes received that came through it.
        round_trip: seconds from the writing of a heartbeat until the answer was read, as last measured, every ten
            heartbeats; 0 before.
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
    bulk_bytes_sent: int = 0
    bulk_bytes_received: int = 0
    shared_bytes_sent: int = 0
    shared_bytes_received: int = 0
    round_trip: float = 0.0

    def metric_families(self, labels: Mapping[str, str]) -> list[MetricFamily]:
        """Return the counters for Prometheus, with the peer and its address as labels beside others."""
        return metric_families(self, _METRICS, {**labels, "peer": self.peer, "address": self.address})
