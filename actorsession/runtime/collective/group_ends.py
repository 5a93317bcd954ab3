"""The ends that the members of groups have in groups of their devices' libraries; see ``device_exchange``."""

from __future__ import annotations

import atexit
import heapq
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from actorsession.errors import AbortedError, from_exception
from actorsession.graph.collective_call import DeviceGroup
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["GroupEnd", "GroupEnds", "MemberThread"]

# Seconds for which the end of the interpreter waits for threads that are in the library.
_PATIENCE = 5.0
_Run: TypeAlias = Callable[[DeviceGroup], object]
_Failed: TypeAlias = Callable[[Exception], object]


class MemberThread:
    """The thread of one member in one group of a library: it joins, and takes part in one instance after the other.

    Args:
        life: a number of the group: no other group that its members have had has it.
        join: makes this member's end of the group.
        name: of the thread.

    Raises:
        ResourceExhaustedError: there can be no more threads.
    """

    def __init__(self, life: int, join: Callable[[], DeviceGroup], name: str) -> None:
        self.life = life
        self._join = join
        self._due: list[tuple[int, _Run, _Failed]] = []  # a heap, by number
        self._begun = 0
        self._is_closed = False
        self._error: Exception | None = None
        self._changed = threading.Condition()
        try:
            self._thread = current_host().processes.start_thread(self._main, name)
        except RuntimeError as exc:
            raise from_exception(exc) from exc
        _threads.add(self)

    def put(self, number: int, run: _Run, failed: _Failed) -> None:
        """Have ``run`` called when all instances before were, or ``failed`` with the error that ended the group."""
        with self._changed:
            error = self._error
            if error is None:
                heapq.heappush(self._due, (number, run, failed))
                self._changed.notify()
        if error is not None:
            failed(error)

    def close(self) -> None:
        """Leave the group as soon as the thread is not in the library; waits for nothing."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def wait(self, seconds: float) -> None:
        """Wait until the thread has ended."""
        self._thread.join(seconds)

    def _main(self) -> None:
        error: Exception = AbortedError("this member has left the group", derived=True)
        try:
            self._take_part()
        except Exception as exc:
            error = exc.with_traceback(None)  # its frames have the group
        with self._changed:
            self._error, due = error, self._due
            self._due = []
        for _, _, failed in due:
            failed(error)

    def _take_part(self) -> None:
        group = self._join()
        while self._run_next(group):
            pass

    def _run_next(self, group: DeviceGroup) -> bool:
        """Wait for the next instance and run it; return whether there may be another."""
        with self._changed:
            while not self._is_closed and not (self._due and self._due[0][0] == self._begun):
                self._changed.wait()  # the owner of the end closes it
            if self._is_closed:
                return False
            self._begun += 1
            _, run, failed = heapq.heappop(self._due)
        try:
            run(group)
        except Exception as exc:
            failed(exc)
            raise
        return True


_threads: weakref.WeakSet[MemberThread] = weakref.WeakSet()


@atexit.register
def _end_threads() -> None:
    """Wait, up to a limit, for threads in the library: the interpreter would stop them there, and end by a signal."""
    threads, now = list(_threads), current_host().clock.monotonic
    limit = now() + _PATIENCE
    for thread in threads:
        thread.close()
    for thread in threads:
        thread.wait(max(0.0, limit - now()))


_numbers = itertools.count(1)


@dataclass(slots=True, eq=False)
class GroupEnd:
    """One member's end of the groups that its group makes by the library, one after the other.

    Attributes:
        number: see ``Group.number``.
        since: a number of the process, another one whenever the member has given up an instance.
        thread: its thread in the present one.
        life: at the first member, like the following: that of the present one; 0 before the first.
        turns: how many instances that has.
        address: where its members meet.
        opened: what it exists as long as.
        members: ``since`` of each member when it began.
    """

    number: int
    since: int = field(default_factory=_numbers.__next__)
    thread: MemberThread | None = None
    life: int = 0
    turns: int = 0
    address: str = ""
    opened: Any = None
    members: Sequence[int] = ()

    def begin_life(self, address: str, opened: Any, members: Sequence[int]) -> None:
        """Begin another group, at the first member."""
        self.life, self.turns = next(_numbers), 0
        self.address, self.opened, self.members = address, opened, members

    def enter(self, life: int, join: Callable[[], DeviceGroup], name: str) -> MemberThread:
        """Return the thread in the group of this life, which joins it if it is new."""
        if self.thread is None or self.thread.life != life:
            self.leave()
            self.thread = MemberThread(life, join, name)
        return self.thread

    def give_up(self, thread: MemberThread | None) -> None:
        """Record that an instance was given up, and leave the group if it was run there, in this thread."""
        self.since = next(_numbers)
        if thread is not None and thread is self.thread:
            self.leave()

    def leave(self) -> None:
        """Leave the present group."""
        thread, self.thread = self.thread, None
        if thread is not None:
            thread.close()


class GroupEnds:
    """The ends of the members of one graph in one process."""

    def __init__(self) -> None:
        self._ends: dict[tuple[int, int], GroupEnd] = {}  # by key of the group, and rank
        self._under_way = 0
        self._is_closed = False

    def begin(self, key: int, number: int, rank: int) -> GroupEnd:
        """Return the end of a member of a group, for an exchange that begins; that in an earlier one is left.

        Args:
            key: of the group.
            number: of the group.
            rank: of the member.
        """
        self._under_way += 1
        end = self._ends.get((key, rank))
        if end is None or end.number != number:
            if end is not None:
                end.leave()
            end = self._ends[key, rank] = GroupEnd(number)
        return end

    def finish(self, end: GroupEnd) -> None:
        """Record that an exchange is over, which ``begin`` has returned an end for."""
        self._under_way -= 1
        if self._is_closed:
            end.leave()
            self._leave_all()

    def close(self) -> None:
        """Leave all groups when no exchange is under way any more; callable from any thread.

        Steps that go on may still begin exchanges, which make ends anew.
        """
        self._is_closed = True
        self._leave_all()

    def _leave_all(self) -> None:
        while self._ends and not self._under_way:
            self._ends.popitem()[1].leave()
