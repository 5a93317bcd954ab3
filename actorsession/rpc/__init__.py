"""Calls between processes: links over connections, pending calls, and the service that answers calls.

A ``Link`` carries asks and tells in both directions over one transport connection. It ends once, and all
waiters and callbacks are notified of the same reason. ``RemoteRef`` gives a remote actor the interface of a
local one. ``liveness`` decides when a silent peer is declared lost. The package imports actors, messages
and transports, and is independent of sessions.
"""

from __future__ import annotations

from actorsession.rpc.clock_offset import ClockOffset
from actorsession.rpc.link import Link, LinkStatistics
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS
from actorsession.rpc.remote_ref import RemoteRef

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "ClockOffset", "Link", "LinkStatistics", "RemoteRef"]
