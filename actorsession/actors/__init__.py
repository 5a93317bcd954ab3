"""The actor model: owners of state, the refs through which others talk to them, and deadlines.

An ``Actor`` owns its state alone and handles typed messages from a bounded mailbox; asking an idle one is a
direct call. ``Children`` owns every asyncio task of the package. The room imports errors alone: actors of
other processes are reached over the links of ``rpc``.
"""

from __future__ import annotations

from actorsession.actors.actor import Actor, ActorStatistics, handles
from actorsession.actors.clock import SYSTEM_CLOCK, Clock, SystemClock
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from actorsession.actors.mailbox import MAILBOX_LIMIT
from actorsession.actors.ref import LocalRef, Ref
from actorsession.actors.registry import lookup, publish, withdraw
from actorsession.actors.supervision import STOP_GRACE, Children

__all__ = [
    "DEFAULT_SECONDS", "MAILBOX_LIMIT", "STOP_GRACE", "SYSTEM_CLOCK", "Actor", "ActorStatistics",
    "CallContext", "Children", "Clock", "Deadline", "LocalRef", "Ref", "SystemClock", "handles", "lookup",
    "publish", "withdraw",
]  # fmt: skip
