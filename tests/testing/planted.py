"""Defects of the runtime that are planted, to see that the checks of stories find them.

Each is a small patch of a class or a module: what somebody forgets. ``DEFECTS`` is the table; the tests plant each for
a known seed, ``scripts/simulate --plant NAME`` for as many as one likes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from actorsession import AsyncSession
from actorsession.actors import ref
from actorsession.cluster.master.master import Master
from actorsession.cluster.master.step_parts import StepParts
from actorsession.cluster.server.snapshots import SnapshotStore
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.rpc.liveness.lease import Lease, Look
from actorsession.runtime.engine.takes import Takes
from actorsession.session.remote.remote_steps import RemoteSteps
from actorsession.testing import SimulatedDisk

__all__ = ["DEFECTS", "Defect", "plant", "planted"]

# Of so many calls of a session one gets the number of the call before it.
_TWICE = 20


def _abort_nothing(self: StepParts, error: OpError) -> None:
    """Ends a step at the master alone."""


_end = RendezvousTable.end


def _end_without_tombstone(self: RendezvousTable, step_id: int, error: OpError | None = None) -> None:
    _end(self, step_id, error)
    self._over.pop(step_id, None)


_look = Lease.look


def _look_without_renewal(self: Lease, now: float, *, received: int, sent: int) -> Look:
    return _look(self, now, received=0, sent=sent)


_run = AsyncSession.run


async def _run_again(self: AsyncSession, *args: Any, **more: Any) -> Any:
    """Runs a step again whose acknowledgement did not come, without a check whether it was applied."""
    try:
        return await _run(self, *args, **more)
    except (UnavailableError, DeadlineExceededError):
        return await _run(self, *args, **more)


_fsync = SimulatedDisk.fsync


def _sync_folders_only(self: SimulatedDisk, descriptor: int) -> None:
    """Has a file renamed before its bytes are on the disk."""
    if self._open.of(descriptor).node.is_folder:
        _fsync(self, descriptor)


_begin = RemoteSteps.__init__


def _number_twice(self: RemoteSteps, *args: Any, **more: Any) -> None:
    _begin(self, *args, **more)
    calls: Any = _repeating()
    self.calls = calls


def _repeating() -> Iterator[int]:
    for number in itertools.count():
        yield number
        if number % _TWICE == 0:
            yield number


def _keep_taken(self: Takes, **_: Any) -> None:
    self.is_over = True
    self.clear()


def _restore_any(self: SnapshotStore, owner: object) -> bool:
    """Restores whatever snapshot has the name of one of this task."""
    return True


def _keep_session(self: Master, handle: str) -> None:
    """Keeps the session of a client that is gone."""


def _leave_error(_answer: object) -> None:
    """Leaves the error of an ask to whoever waits for it, who may have gone."""


class Defect(NamedTuple):
    """A planted defect.

    Attributes:
        owner: the class or module that is patched.
        name: its function.
        replacement: what the function is then.
        checks: the checks of which one has to find it.
        seed: one that does.
        fault: the kind of fault without which a story cannot show it, if there is one.
    """

    owner: object
    name: str
    replacement: Callable[..., Any]
    checks: frozenset[str]
    seed: int
    fault: str = ""


DEFECTS = {
    "dropped abort": Defect(
        StepParts, "abort_parts", _abort_nothing, frozenset({"nothing pending", "ends in time", "queue elements"}), 0
    ),
    "missing tombstone": Defect(RendezvousTable, "end", _end_without_tombstone, frozenset({"nothing pending"}), 3),
    "lease not renewed": Defect(Lease, "look", _look_without_renewal, frozenset({"named causes"}), 0),
    "unchecked acknowledgement": Defect(
        AsyncSession, "run", _run_again, frozenset({"whole values", "no refused updates"}), 44
    ),
    "renamed before synced": Defect(
        SimulatedDisk, "fsync", _sync_folders_only, frozenset({"snapshots", "checkpoints"}), 6
    ),
    "frame numbered twice": Defect(
        RemoteSteps,
        "__init__",
        _number_twice,
        frozenset({"collectives", "right values", "named causes", "ends in time"}),
        2,
    ),
    "foreign snapshot": Defect(SnapshotStore, "_is_ours", _restore_any, frozenset({"whole values"}), 311, "foreign"),
    "session not collected": Defect(Master, "_collect", _keep_session, frozenset({"nothing pending"}), 5),
    "unheard error": Defect(ref, "_retrieve", _leave_error, frozenset({"no unheard errors"}), 225),
    "element not put back": Defect(Takes, "roll_back", _keep_taken, frozenset({"queue elements"}), 2),
}
"""What somebody forgets, by a name."""


def plant(name: str) -> None:
    """Plants a defect in this process, for good."""
    defect = DEFECTS[name]
    setattr(defect.owner, defect.name, defect.replacement)


@contextmanager
def planted(name: str) -> Iterator[Defect]:
    """A block in which a defect is planted."""
    defect = DEFECTS[name]
    sound = getattr(defect.owner, defect.name)
    plant(name)
    try:
        yield defect
    finally:
        setattr(defect.owner, defect.name, sound)
