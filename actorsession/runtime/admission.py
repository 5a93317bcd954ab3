"""Admission: how many steps may be under way at once, and who goes next.

Owns ``Admission``, a total that several ``Share``s have part in, each with limits of its own. Sessions and
masters have one each: a run that finds its share full waits, in order, and is let in when another has ended.
Plain bookkeeping; only ``Share.enter`` awaits.

What is limited is what is held for a step while it is under way: its place in the tables, and the bytes that
it brings along and makes. What may be let in is decided by a share's own first run and the total alone, so a
share that is full keeps nobody else out; where the total is full, the shares that wait take turns.

Invariants: nobody waits while there is room for the first of their share and the total has room; a share lets
its runs in in the order in which they came; every run that was let in leaves once. All calls of one admission
are made on one event loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque

from actorsession.actors.deadline import Deadline
from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["Admission", "AdmissionStatistics", "Share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionStatistics:
    """How full a share is.

    Attributes:
        in_flight: runs that were let in and have not left.
        nbytes: what they count for.
        waiting: runs that wait to be let in.
        waited: runs that had to wait so far, whatever became of them.
    """

    in_flight: int = 0
    nbytes: int = 0
    waiting: int = 0
    waited: int = 0


class Admission:
    """A total of runs under way, over all its shares.

    Args:
        limit: how many runs may be under way at once.
    """

    __slots__ = ("_line", "in_flight", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = 0
        # Shares that wait for the total, in the order of their turns.
        self._line: deque[Share] = deque()

    def share(self, limit: int, max_bytes: int) -> Share:
        """A new share.

        Args:
            limit: how many runs of it may be under way at once.
            max_bytes: how many bytes these may count for together. A run that is larger by itself is let in
                when none of its share is under way.
        """
        return Share(self, limit, max_bytes)

    def left(self) -> None:
        """Let in who waits for the total, a run of each share in turn."""
        while self._line and self.in_flight < self.limit:
            share = self._line.popleft()
            share.in_line = False
            if share.admit_first():
                share.stand_in_line()

    def wait_for_turn(self, share: Share) -> None:
        """Put a share at the end of the line, unless it stands there."""
        if not share.in_line:
            share.in_line = True
            self._line.append(share)

    @property
    def has_line(self) -> bool:
        """Whether a share waits for the total."""
        return bool(self._line)


class Share:
    """Part in an admission; made by ``Admission.share``."""

    __slots__ = (
        "_admission",
        "_limit",
        "_max_bytes",
        "_over",
        "_waited",
        "_waiting",
        "in_flight",
        "in_line",
        "nbytes",
    )  # fmt: skip

    def __init__(self, admission: Admission, limit: int, max_bytes: int) -> None:
        self._admission = admission
        self._limit = limit
        self._max_bytes = max_bytes
        self._waiting: OrderedDict[asyncio.Future[None], int] = OrderedDict()
        self._waited = 0
        self._over: OpError | None = None
        self.in_flight = 0
        self.nbytes = 0
        self.in_line = False  # of the admission

    def enter_nowait(self, nbytes: int = 0) -> bool:
        """Let a run in if it need not wait.

        Args:
            nbytes: what it counts for; to be given to ``leave`` again.

        Returns:
            Whether it was let in.
        """
        admission = self._admission
        if (
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

    async def enter(self, deadline: Deadline, nbytes: int = 0) -> None:
        """Let a run in, in its turn; cancelling it leaves the queue.

        Args:
            deadline: until when it waits.
            nbytes: what it counts for; to be given to ``leave`` again.

        Raises:
            DeadlineExceededError: its turn did not come in time; says how many were before it.
            OpError: what the share was closed with.
        """
        if self._over is not None:
            raise type(self._over)(self._over.message)
        if self.enter_nowait(nbytes):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = len(self._waiting)
        self._waiting[turn] = nbytes
        self._waited += 1
        self.stand_in_line()
        what = f"its turn: {self.in_flight} steps are in flight, and {before} waited before it"
        try:
            await deadline.wait(turn, what=what)
        except BaseException:
            if self._waiting.pop(turn, None) is not None:
                self._go_on()  # the next one may be smaller
            elif turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave(nbytes)  # let in at the moment in which it gave up
            raise

    def leave(self, nbytes: int = 0) -> None:
        """End a run that was let in."""
        self.in_flight -= 1
        self.nbytes -= nbytes
        admission = self._admission
        admission.in_flight -= 1
        if self._waiting or admission.has_line:
            self._go_on()

    def _go_on(self) -> None:
        """Let in those who have room now, each share in its turn."""
        self.stand_in_line()
        self._admission.left()

    def stand_in_line(self) -> None:
        """Wait for the total, if the first who waits has room in the share itself."""
        if self._waiting and self._has_room(next(iter(self._waiting.values()))):
            self._admission.wait_for_turn(self)

    def _has_room(self, nbytes: int) -> bool:
        if self.in_flight >= self._limit:
            return False
        return not (nbytes and self.nbytes and self.nbytes + nbytes > self._max_bytes)

    def admit_first(self) -> bool:
        """Let the first who waits in, if the share has room; the admission calls it when it has.

        Returns:
            Whether it did.
        """
        if not self._waiting or not self._has_room(next(iter(self._waiting.values()))):
            return False
        turn, nbytes = self._waiting.popitem(last=False)
        if turn.done():  # cancelled, and about to leave by itself
            return True
        self.in_flight += 1
        self._admission.in_flight += 1
        self.nbytes += nbytes
        turn.set_result(None)
        return True

    def close(self, error: OpError) -> None:
        """Send everybody away who waits, and who comes later and would have to."""
        self._over = error
        waiting, self._waiting = self._waiting, OrderedDict()
        for turn in waiting:
            if not turn.done():
                turn.set_exception(type(error)(error.message))

    def statistics(self) -> AdmissionStatistics:
        """Return how full it is."""
        return AdmissionStatistics(
            in_flight=self.in_flight,
            nbytes=self.nbytes,
            waiting=len(self._waiting),
            waited=self._waited,
        )
