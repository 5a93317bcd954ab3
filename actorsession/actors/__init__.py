"""The actor model: actors, the refs by which they are called, and deadlines.

An ``Actor`` is the only owner of its state and handles typed messages from a bounded mailbox; asking an
idle actor is a direct call. ``Children`` owns every asyncio task of ``actorsession``. The package imports
only errors, ``records`` and the host; actors of other processes are reached over the links of ``rpc``.
"""

from __future__ import annotations

from actorsession.actors.actor import Actor, ActorStatistics, answers, handles, routes
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from actorsession.actors.mailbox import MAILBOX_LIMIT
from actorsession.actors.ref import LocalRef, Ref, ask_without_withdrawing
from actorsession.actors.registry import lookup, publish, withdraw
from actorsession.actors.supervision import STOP_GRACE, Children, outcome

__all__ = [
    "DEFAULT_SECONDS", "MAILBOX_LIMIT", "STOP_GRACE", "Actor", "ActorStatistics",
    "CallContext", "Children", "Deadline", "LocalRef", "Ref", "answers",
    "ask_without_withdrawing", "handles", "lookup", "outcome", "publish", "routes", "withdraw",
]  # fmt: skip
