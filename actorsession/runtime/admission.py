"""Admission: how many steps may be under way at once, and which is admitted next.

An ``Admission`` is a total limit that several ``Share`` objects have in common, each with limits of its own.
Sessions and masters have one each. A run that finds its share full waits in order, and is admitted when
another has ended. Plain bookkeeping; only ``Share.enter`` awaits.

The limits bound what is held for a step under way: its entry in the tables, and the bytes that it brings
along and makes. Whether a run is admitted depends only on the first run of its share and on the total, so a
full share does not keep other shares out. Where the total is full, the waiting shares take turns.

Invariants: no run waits while its share has room for the share's first run and the total has room; a share
admits its runs in the order of arrival; every admitted run leaves once. All calls of one admission are made
on one event loop, but for ``Share.enter_run``, which other threads may call.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from typing import Protocol, cast

from actorsession.actors.deadline import Deadline
from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["Admission", "AdmissionStatistics", "AdmittedRun", "Share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionStatistics:
    """The occupancy of a share.

    Attributes:
        in_flight: runs that were admitted and have not left.
        nbytes: the bytes of these runs.
        waiting: runs that wait for admission.
        waited: runs that had to wait so far, whatever became of them.
    """

    in_flight: int = 0
    nbytes: int = 0
    waiting: int = 0
    waited: int = 0


class AdmittedRun(Protocol):
    """A run that knows whether it was admitted.

    Attributes:
        nbytes: its bytes.
        admitted: whether it counts in the share; the share assigns to it.
    """

    nbytes: int
    admitted: bool


# Stand for what is made when a run has to wait; nothing is put into them.
_NO_SHARES = cast("deque[Share]", ())
_NO_RUNS: OrderedDict[asyncio.Future[None], int] = OrderedDict()


class Admission:
    """The total of runs under way over all shares.

    Args:
        limit: most runs under way at once.
    """

    __slots__ = ("in_flight", "limit", "lock", "queue")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lock = threading.Lock()  # for the counts of all shares; queues are the loop's alone
        self.in_flight = 0
        # The shares that wait for the total, in the order of their turns.
        self.queue = _NO_SHARES

    def share(self, limit: int, max_bytes: int) -> Share:
        """Return a new share.

        Args:
            limit: most runs of the share under way at once.
            max_bytes: most bytes of these runs together. A run that is larger by itself is admitted when no
                other run of its share is under way.
        """
        return Share(self, limit, max_bytes)

    def admit_waiting(self) -> None:
        """Admit runs that wait for the total, one of each share in turn."""
        while self.queue and self.in_flight < self.limit:
            share = self.queue.popleft()
            share.is_queued = False
            if share.admit_first():
                share.join_queue()

    def enqueue(self, share: Share) -> None:
        """Put a share at the end of the queue, unless it is queued."""
        if not share.is_queued:
            share.is_queued = True
            if not self.queue:
                self.queue = deque()
            self.queue.append(share)


class Share:
    """A share of an admission; made by ``Admission.share``."""

    __slots__ = (
        "_admission",
        "_closed",
        "_limit",
        "_max_bytes",
        "_waited",
        "_waiting",
        "in_flight",
        "is_queued",
        "nbytes",
    )

    def __init__(self, admission: Admission, limit: int, max_bytes: int) -> None:
        self._admission = admission
        self._limit = limit
        self._max_bytes = max_bytes
        self._waiting = _NO_RUNS
        self._waited = 0
        self._closed: OpError | None = None
        self.in_flight = 0
        self.nbytes = 0
        self.is_queued = False  # whether it is in the queue of the admission

    def enter_nowait(self, nbytes: int = 0) -> bool:
        """Admit a run if it need not wait.

        Args:
            nbytes: its bytes; to be passed to ``leave`` again.

        Returns:
            Whether it was admitted.
        """
        admission = self._admission
        with admission.lock:
            if (  # as in enter_run()
                self._waiting
                or self.in_flight >= self._limit
                or admission.in_flight >= admission.limit
                or (nbytes and self.nbytes and self.nbytes + nbytes > self._max_bytes)
            ):
                return False
            self.in_flight += 1
            admission.in_flight += 1
            self.nbytes += nbytes
            return True

    def enter_run(self, run: AdmittedRun) -> bool:
        """Admit a run if it need not wait; callable in any thread.

        An interrupt comes before the run is admitted or after it has been noted in ``admitted``, so that who
        ends the run knows whether it has to leave.

        Returns:
            Whether it was admitted.
        """
        admission = self._admission
        with admission.lock:
            nbytes = run.nbytes
            if (
                self._waiting
                or self.in_flight >= self._limit
                or admission.in_flight >= admission.limit
                or (nbytes and self.nbytes and self.nbytes + nbytes > self._max_bytes)
            ):
                return False
            # No calls from here on: signals are handled at calls.
            self.in_flight += 1
            admission.in_flight += 1
            self.nbytes += nbytes
            run.admitted = True
            return True

    async def enter(self, deadline: Deadline, nbytes: int = 0) -> None:
        """Admit a run in its turn; cancelling the call leaves the queue.

        Args:
            deadline: the time until which to wait.
            nbytes: its bytes; to be passed to ``leave`` again.

        Raises:
            DeadlineExceededError: if its turn did not come in time; says how many runs were before it.
            OpError: the error with which the share was closed.
        """
        if self._closed is not None:
            raise type(self._closed)(self._closed.message)
        if self.enter_nowait(nbytes):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = len(self._waiting)
        if not before:
            self._waiting = OrderedDict()
        self._waiting[turn] = nbytes
        self._waited += 1
        self.join_queue()
        what = f"its turn: {self.in_flight} steps are in flight, and {before} waited before it"
        try:
            await deadline.wait(turn, what=what)
        except BaseException:
            if self._waiting.pop(turn, None) is not None:
                self._admit_next()  # the next run may be smaller
            elif turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave(nbytes)  # admitted at the moment when its wait ended
            raise

    def leave(self, nbytes: int = 0) -> None:
        """End a run that was admitted."""
        admission = self._admission
        with admission.lock:
            self.in_flight -= 1
            self.nbytes -= nbytes
            admission.in_flight -= 1
        if self._waiting or admission.queue:
            self._admit_next()

    def _admit_next(self) -> None:
        """Admit the runs for which there is room now, each share in its turn."""
        self.join_queue()
        self._admission.admit_waiting()

    def join_queue(self) -> None:
        """Queue for the total, if the share has room for its first waiting run."""
        if self._waiting and self._has_room(next(iter(self._waiting.values()))):
            self._admission.enqueue(self)

    def _has_room(self, nbytes: int) -> bool:
        if self.in_flight >= self._limit:
            return False
        return not (nbytes and self.nbytes and self.nbytes + nbytes > self._max_bytes)

    def admit_first(self) -> bool:
        """Admit the first waiting run if the share has room; called when the total has room.

        Returns:
            Whether a waiting run was taken from the queue.
        """
        if not self._waiting or not self._has_room(next(iter(self._waiting.values()))):
            return False
        with self._admission.lock:  # threads are let in again when nothing waits
            turn, nbytes = self._waiting.popitem(last=False)
            if turn.done():  # cancelled, and about to leave the queue itself
                return True
            self.in_flight += 1
            self._admission.in_flight += 1
            self.nbytes += nbytes
        turn.set_result(None)
        return True

    def close(self, error: OpError) -> None:
        """Fail the waiting runs with an error, and later runs that would have to wait."""
        self._closed = error
        waiting, self._waiting = self._waiting, _NO_RUNS
        for turn in waiting:
            if not turn.done():
                turn.set_exception(type(error)(error.message))

    def statistics(self) -> AdmissionStatistics:
        """Return the occupancy of the share."""
        return AdmissionStatistics(
            in_flight=self.in_flight, nbytes=self.nbytes, waiting=len(self._waiting), waited=self._waited
        )
