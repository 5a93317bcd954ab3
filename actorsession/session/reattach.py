"""Going on after a loss: what ``reattach`` of the faces has found, and how state is restored.

A worker that restarts comes back with another incarnation and without its variables; a master that restarts
has lost the session. ``reattach`` makes the session whole again, with the same graph; the state that went
with a process is the user's to restore, from wherever it is kept. Called by the faces and the remote session.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.records import dataclass

__all__ = ["Reattached"]


@dataclass(frozen=True, slots=True)
class Reattached:
    """What a session has found when it was attached anew.

    Attributes:
        added: tasks that have joined since the session was created.
        removed: tasks that have left.
        restarted: tasks that have come back with another incarnation, and without their state.
        lost: names of the session's variables that were on those and have no value now; restore or
            initialise them. They are told again until they have one. After the loss of the master they are
            all variables of the session's graph without a value.
        restored: names of those that came back from a snapshot of their server.
    """

    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    restarted: Sequence[str] = ()
    lost: Sequence[str] = ()
    restored: Sequence[str] = ()
