"""Actors: who owns which state, how one talks to them here and elsewhere, until when one waits.

Rooms above derive from ``Actor``, hold ``Ref``s and make ``Link``s over connections; this room
imports messages, errors and transports. It knows of no session and no graph.
"""

from __future__ import annotations

from actorsession.actors.actor import Actor, ActorStatistics, handles
from actorsession.actors.clock import SYSTEM_CLOCK, Clock, SystemClock
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from actorsession.actors.lease import BEAT_SECONDS, LEASE_SECONDS
from actorsession.actors.link import Link, LinkStatistics
from actorsession.actors.mailbox import MAILBOX_LIMIT
from actorsession.actors.ref import LocalRef, Ref
from actorsession.actors.registry import lookup, publish, withdraw
from actorsession.actors.remote_ref import RemoteRef
from actorsession.actors.supervision import STOP_GRACE, Children

__all__ = [
    "BEAT_SECONDS", "DEFAULT_SECONDS", "LEASE_SECONDS", "MAILBOX_LIMIT", "STOP_GRACE",
    "SYSTEM_CLOCK", "Actor", "ActorStatistics", "CallContext", "Children", "Clock", "Deadline",
    "Link", "LinkStatistics", "LocalRef", "Ref", "RemoteRef", "SystemClock", "handles", "lookup",
    "publish", "withdraw",
]  # fmt: skip
