"""What a server, or a session of this process, remembers of its last steps and of its last errors.

Steps add themselves: a tuple is appended to one of two lists, ``wholes`` by whoever knows the step as a whole (a
master, a local session) and ``parts`` by whoever runs partitions of it. Nothing is computed then, and no function
of ours is called, because that would be paid by each step; ``last`` makes records of the tuples that are asked for.
An owner that finds a list longer than ``full`` calls ``trim``, once in so many steps as are kept.

``ErrorLog`` is the one place that notes an error. Masters, workers, links and snapshots report to that of their
server.

Invariants: a list is only appended to, except by ``trim``; entries hold no tensor, no graph and no exception, which
would keep arrays alive. Callable from any thread.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from actorsession.config.stats import TransferStats
from actorsession.config.step_record import ErrorRecord, PartRecord, StepKind, StepRecord, merge_records
from actorsession.errors import CancelledError, OpError
from actorsession.plan.rendezvous_key import parse_key
from actorsession.plan.signature import RunSignature

__all__ = ["KEPT_STEPS", "MOST_MOMENTS", "ErrorLog", "Moment", "Part", "StepLog", "Whole", "error_text"]

KEPT_STEPS = 1000
"""The steps that a server keeps: some seconds of a fast training loop, and at most a megabyte or two."""
MOST_MOMENTS = 100
"""The moments of one step that are kept; a loop over two tasks has as many as iterations."""
# A night of a job that fails now and then; a kilobyte of text each at most.
_KEPT_ERRORS = 100
_LONGEST_MESSAGE = 2000


class Whole(NamedTuple):
    """A step as its master or its local session knows it; made without a call of ours, as ``tuple.__new__`` does.

    Attributes:
        step_id: the step.
        session: the handle of the session.
        kind: of a run or a partial run.
        signature: the names of the run.
        began: seconds of the monotonic clock.
        ended: likewise; 0 while it runs.
        error: see ``StepRecord``.
    """

    step_id: int
    session: str
    kind: StepKind
    signature: RunSignature
    began: float
    ended: float
    error: str


class Moment(NamedTuple):
    """A time in which the thread of a step worked on it, or a transfer; times are of the monotonic clock.

    Attributes:
        began: when it began.
        ended: when the thread left the step again; the same for a transfer alone.
        kind: ``recv``, ``send``, ``local`` for both ends of a transfer within the process, "" for no transfer.
        keys: the rendezvous keys of the tensors.
        sizes: their bytes.
    """

    began: float
    ended: float
    kind: str
    keys: Sequence[str]
    sizes: Sequence[int]


class Part(NamedTuple):
    """The partitions of a step that one process has run.

    Attributes:
        step_id: the step.
        session: the handle of the session.
        began: seconds of the monotonic clock.
        ended: likewise; 0 while they run.
        devices: the devices of the partitions.
        moments: what the thread did for the step, as far as it is kept; without a moment of the begin, the thread
            did not leave the step between begin and end.
        pooled: seconds in which some of it was in the kernel pool.
        error: see ``StepRecord``.
    """

    step_id: int
    session: str
    began: float
    ended: float
    devices: tuple[str, ...]
    moments: Sequence[Moment]
    pooled: float
    error: str


Running: TypeAlias = Callable[[], Iterable[Whole | Part]]
"""Returns the steps of its owner that have not ended, with 0 as their end."""


class ErrorLog:
    """The last errors of a server or session, and how many there were of each class.

    Args:
        task: the task of what reports here.
        kept: how many are kept.
    """

    def __init__(self, task: str, kept: int = _KEPT_ERRORS) -> None:
        self.task = task
        self._records: deque[ErrorRecord] = deque(maxlen=kept)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(
        self, error: BaseException | str, *, subject: str = "step", session: str = "", step_id: int = 0, task: str = ""
    ) -> None:
        """Remember an error; one that follows from another is left out, and a cancellation is only counted.

        Args:
            error: the error; a text counts as an ``UnavailableError``, which is what a lost task or a failed
                start is to others.
            subject: what failed, see ``ErrorRecord``.
            session: the handle of the session; "" for none.
            step_id: the step; 0 for none.
            task: the task that it happened on; by default that of the error, or the own one.
        """
        if isinstance(error, OpError) and error.derived:
            return
        code = "UnavailableError" if isinstance(error, str) else type(error).__name__
        message = error if isinstance(error, str) else getattr(error, "message", str(error))
        where = task or getattr(error, "task", None) or self.task
        with self._lock:
            self._counts[code] += 1
            if not isinstance(error, CancelledError):
                short = message[:_LONGEST_MESSAGE]
                self._records.append(ErrorRecord(time.time(), code, short, where, session, step_id, subject))

    def last(self, count: int = _KEPT_ERRORS) -> list[ErrorRecord]:
        """Return the latest errors, the oldest of them first."""
        with self._lock:
            return list(self._records)[-count:] if count > 0 else []

    @property
    def counts(self) -> dict[str, int]:
        """How many errors were noted so far, by the name of their class."""
        with self._lock:
            return dict(self._counts)


class StepLog:
    """The last steps of a server, or of a session of this process.

    Args:
        task: its task.
        kept: how many steps are kept; at least 1.

    Attributes:
        task: its task.
        wholes: see the module docstring.
        parts: likewise.
        full: the length of either list at which its owner calls ``trim``.
        errors: the last errors of the same server or session.
        running: what has steps that have not ended.
    """

    def __init__(self, task: str, kept: int = KEPT_STEPS) -> None:
        self.task = task
        self._kept = kept
        self.full = 2 * kept
        self.wholes: list[Whole] = []
        self.parts: list[Part] = []
        self.errors = ErrorLog(task)
        self.running: list[Running] = []
        self._lock = threading.Lock()

    def trim(self) -> None:
        """Drop all but the last steps."""
        with self._lock:
            for entries in (self.wholes, self.parts):
                del entries[: max(0, len(entries) - self._kept)]

    def last(
        self, count: int, slower_than: float = 0.0, session: str = "", *, running: bool = False
    ) -> list[StepRecord]:
        """Return the records of the latest steps, in the order of their ends.

        Args:
            count: how many at most.
            slower_than: only those that took so many seconds or more.
            session: only those of the session with this handle; "" for all.
            running: also those that have not ended, which come last.
        """
        if count < 1:
            return []
        now, ended = time.monotonic(), [*self.wholes, *self.parts]
        under_way = [entry for owner in tuple(self.running) for entry in owner()] if running else []
        took: dict[int, tuple[float, float]] = {}
        known = {whole.step_id for whole in ended if isinstance(whole, Whole)}
        for entry in chain(ended, under_way):
            if session and entry.session != session:
                continue
            if isinstance(entry, Whole) or entry.step_id not in known:
                end = entry.ended or now
                took[entry.step_id] = (end if entry.ended else end + 1.0, end - entry.began)
        chosen = sorted((when, step_id) for step_id, (when, seconds) in took.items() if seconds >= slower_than)
        wanted = {step_id for _, step_id in chosen[-count:]}
        return self._records([entry for entry in (*ended, *under_way) if entry.step_id in wanted])

    def of_steps(self, step_ids: Collection[int]) -> list[StepRecord]:
        """Return what is kept of some steps, including those that have not ended."""
        wanted = frozenset(step_ids)
        under_way = [entry for owner in tuple(self.running) for entry in owner()]
        return self._records([entry for entry in (*self.wholes, *self.parts, *under_way) if entry.step_id in wanted])

    def _records(self, entries: Iterable[Whole | Part]) -> list[StepRecord]:
        """Return merged records of entries."""
        to_wall = time.time() - time.monotonic()
        return merge_records(
            [
                self._whole(entry, to_wall) if isinstance(entry, Whole) else self._part(entry, to_wall)
                for entry in entries
            ]
        )

    def _whole(self, entry: Whole, to_wall: float) -> StepRecord:
        names = entry.signature
        return StepRecord(
            step_id=entry.step_id,
            session=entry.session,
            task=self.task,
            kind=entry.kind,
            began=entry.began + to_wall,
            took=_seconds(entry.began, entry.ended),
            error=entry.error,
            feeds=names.feeds,
            fetches=(*names.fetches, *names.targets),
        )

    def _part(self, entry: Part, to_wall: float) -> StepRecord:
        moments = tuple(entry.moments)[:MOST_MOMENTS]
        end = entry.ended or time.monotonic()
        left = any(not moment.kind for moment in moments)
        worked = entry.pooled
        for moment in moments:
            worked += max(0.0, min(moment.ended, end) - max(moment.began, entry.began))
        waited = max(0.0, end - entry.began - worked) if left else 0.0
        ended = entry.ended and entry.ended + to_wall
        transfers = [
            transfer
            for moment in moments
            for key, nbytes in zip(moment.keys, moment.sizes, strict=False)
            for transfer in _transfers(moment.kind, key, moment.began + to_wall, nbytes)
        ]
        return StepRecord(
            step_id=entry.step_id,
            session=entry.session,
            task=self.task,
            began=entry.began + to_wall,
            took=_seconds(entry.began, entry.ended),
            error=entry.error,
            parts=tuple([PartRecord(device, entry.began + to_wall, ended, waited) for device in entry.devices]),
            transfers=tuple(transfers),
            left_out=max(0, len(entry.moments) - len(moments)),
        )


def _seconds(began: float, ended: float) -> float:
    """Return how long something took; 0 for what has not ended, and never 0 for what has."""
    return max(ended - began, 1e-9) if ended else 0.0


def _transfers(kind: str, key: str, when: float, nbytes: int) -> list[TransferStats]:
    """Return the ends of a transfer that a process has seen."""
    parsed = parse_key(key)
    ends = []
    if kind in ("send", "local"):
        ends.append(TransferStats("send", key, parsed.src_device, when, nbytes))
    if kind in ("recv", "local"):
        ends.append(TransferStats("recv", key, parsed.dst_device, when, nbytes))
    return ends


def error_text(error: BaseException | None) -> str:
    """Return the text of an error in a record: its class and its message."""
    if error is None:
        return ""
    return f"{type(error).__name__}: {getattr(error, 'message', str(error))}"[:_LONGEST_MESSAGE]
