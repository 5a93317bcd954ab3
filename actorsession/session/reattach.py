"""The result of ``reattach``, by which a remote session continues after the loss of tasks.

A restarted worker has another incarnation and has lost its variables; a restarted master has lost the
session. ``reattach`` re-establishes the session with the same graph. The user restores the state that was
lost with a process. Used by the session API and the remote session.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.records import dataclass

__all__ = ["Reattached"]


@dataclass(frozen=True, slots=True)
class Reattached:
    """The changes that ``reattach`` has found.

    Attributes:
        added: tasks that have joined since the session was created.
        removed: tasks that have left.
        restarted: tasks that have come back with another incarnation and without their state.
        lost: names of the session's variables on restarted tasks that have no value now; to be restored or
            initialised. They are reported again until they have a value. After the loss of the master they
            are all variables of the session's graph without a value.
        restored: names of the variables that were restored from a snapshot of their server.
    """

    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    restarted: Sequence[str] = ()
    lost: Sequence[str] = ()
    restored: Sequence[str] = ()
