"""Calls between processes: links over connections, the calls pending on them, and the service at their ends.

A ``Link`` carries asks and tells in both directions over one transport connection and ends once, with one
reason that everybody hears. ``RemoteRef`` makes it look like an actor of this process. ``liveness`` decides
when a silent peer is lost. The room imports actors, messages and transports, and knows of no session.
"""

from __future__ import annotations

from actorsession.rpc.link import Link, LinkStatistics
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS
from actorsession.rpc.remote_ref import RemoteRef

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "Link", "LinkStatistics", "RemoteRef"]
