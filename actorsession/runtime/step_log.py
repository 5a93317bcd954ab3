"""What a server, or a session of this process, remembers of its last steps and of its last errors.

Steps add themselves: a row is appended to one of two lists, ``wholes`` by whoever knows the step as a whole (a master,
a local session) and ``parts`` by whoever runs partitions of it. Nothing is computed then, and no function of ours is
called, because that would be paid by each step; ``last`` makes records of those that are asked for. An owner that finds
a list longer than ``full`` calls ``trim``, once in so many steps as are kept.

A row is a plain tuple, in the order of the fields of ``Whole`` or ``Part``, of texts, numbers and tuples of such: the
garbage collector stops tracking it when it sees it first. Objects of a class would be tracked as long as they are kept,
and would have it look through the whole process every few thousand steps, which costs more than all the rest.

``ErrorLog`` is the one place that notes an error. Masters, workers, links and snapshots report to that of their
server.

Invariants: a list is only appended to, except by ``trim``; rows hold no tensor, no graph and no exception, which would
keep arrays alive. Callable from any thread.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

from actorsession.config.stats import TransferStats
from actorsession.config.step_record import ErrorRecord, PartRecord, StepKind, StepRecord, merge_records
from actorsession.errors import CancelledError, OpError
from actorsession.metrics import Histogram
from actorsession.plan.rendezvous_key import parse_key
from transports.host import current_host

__all__ = [
    "KEPT_STEPS",
    "MOST_TRANSFERS",
    "NBYTES",
    "NOTHING",
    "ErrorLog",
    "Part",
    "StepLog",
    "Transfers",
    "Whole",
    "error_text",
]

KEPT_STEPS = 1000
"""The steps that a server keeps: some seconds of a fast training loop, and at most a megabyte or two."""
MOST_TRANSFERS = 100
"""How often transfers of one step are kept; a loop over two tasks has as many as iterations."""
NBYTES, NOTHING = repeat("nbytes"), repeat(0)
"""The arguments of ``map(getattr, values, NBYTES, NOTHING)``, which gives the bytes of values without a call of ours;
values that are no arrays, such as those of dead tensors, have none."""
# A night of a job that fails now and then; a kilobyte of text each at most.
_KEPT_ERRORS = 100
_LONGEST_MESSAGE = 2000


class Whole(NamedTuple):
    """A row of ``StepLog.wholes``: a step as its master or its local session knows it.

    Attributes:
        step_id: the step.
        session: the handle of the session.
        kind: of a run or a partial run.
        feeds: the names of the fed tensors.
        fetches: those of the fetched tensors.
        targets: those of the target operations.
        began: seconds of the monotonic clock.
        ended: likewise; 0 while it runs.
        error: see ``StepRecord``.
        device: the device of a step that was one call in this process, which has no ``Part``; "" for others.
        trace_id: see ``StepRecord``.
    """

    step_id: int
    session: str
    kind: StepKind
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    began: float
    ended: float
    error: str
    device: str = ""
    trace_id: str = ""


Transfers: TypeAlias = tuple[float, str, tuple[str, ...], tuple[int, ...]]
"""Tensors that passed at one moment between devices: when, in seconds of the monotonic clock; ``recv``, ``send``, or
``local`` for both ends of transfers within the process; their rendezvous keys, and their bytes."""


class Part(NamedTuple):
    """A row of ``StepLog.parts``: the partitions of a step that one process runs or has run.

    Attributes:
        step_id: the step.
        session: the handle of the session.
        devices: the devices of the partitions.
        began: seconds of the monotonic clock.
        ended: likewise; 0 while they run.
        worked: seconds in which the thread of the step worked on it.
        pooled: seconds in which some of it was in the kernel pool.
        paused: whether the thread has left the step between begin and end.
        transfers: the transfers that were seen, ``MOST_TRANSFERS`` times at most.
        left_out: how many were not kept.
        error: see ``StepRecord``.
    """

    step_id: int
    session: str
    devices: tuple[str, ...]
    began: float
    ended: float
    worked: float = 0.0
    pooled: float = 0.0
    paused: bool = False
    transfers: tuple[Transfers, ...] = ()
    left_out: int = 0
    error: str = ""


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
        self,
        error: BaseException | str,
        *,
        subject: str = "step",
        session: str = "",
        step_id: int = 0,
        task: str = "",
        code: str = "UnavailableError",
    ) -> None:
        """Remember an error, and the first of a step; a cancellation is only counted.

        One that follows from another is left out.

        Args:
            error: the error, or its text.
            subject: what failed, see ``ErrorRecord``.
            session: the handle of the session; "" for none.
            step_id: the step; 0 for none.
            task: the task that it happened on; by default that of the error, or the own one.
            code: the class that a text counts as; by default what a lost task or a failed start is to others.
        """
        if isinstance(error, OpError) and error.derived:
            return
        code = code if isinstance(error, str) else type(error).__name__
        message = error if isinstance(error, str) else getattr(error, "message", str(error))
        where = task or getattr(error, "task", None) or self.task
        with self._lock:
            if step_id and any(known.step_id == step_id for known in self._records):
                return  # master and worker of one server report the same step
            self._counts[code] += 1
            if not isinstance(error, CancelledError):
                short = message[:_LONGEST_MESSAGE]
                now = current_host().clock.time()
                self._records.append(ErrorRecord(now, code, short, where, session, step_id, subject))

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
        errors: the errors of the same server; by default a log of its own.
        durations: how long its steps took, which whoever knows them as a whole observes; by default one of its own.

    Attributes:
        task: its task.
        kept: the argument ``kept``.
        wholes: see the module docstring.
        parts: likewise.
        full: the length of either list at which its owner calls ``trim``.
        errors: the last errors of the same server or session.
        durations: how long all steps took, also those that are kept no longer.
        running: what has steps that have not ended.
    """

    def __init__(
        self, task: str, kept: int = KEPT_STEPS, errors: ErrorLog | None = None, durations: Histogram | None = None
    ) -> None:
        self.task = task
        self.kept = kept
        self.full = 2 * kept
        self.wholes: list[tuple[Any, ...]] = []
        self.parts: list[tuple[Any, ...]] = []
        self.errors = errors or ErrorLog(task)
        self.durations = durations or Histogram()
        self.running: list[Running] = []
        self._lock = threading.Lock()

    def trim(self) -> None:
        """Drop all but the last steps."""
        with self._lock:
            for entries in (self.wholes, self.parts):
                del entries[: max(0, len(entries) - self.kept)]

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
        now = current_host().clock.monotonic()
        ended = self._ended()
        under_way = self._under_way()
        if not running:  # a part that has ended may be that of a step that has not
            left_out = {entry.step_id for entry in under_way}
            ended, under_way = [entry for entry in ended if entry.step_id not in left_out], []
        took: dict[int, tuple[float, float]] = {}
        known = {whole.step_id for whole in ended if isinstance(whole, Whole)}
        for entry in chain(ended, under_way):
            if session and entry.session != session:
                continue
            if isinstance(entry, Whole) or entry.step_id not in known:
                end = entry.ended or now
                took[entry.step_id] = (end if entry.ended else end + 1.0, end - entry.began)
        chosen = sorted((when, step_id) for step_id, (when, seconds) in took.items() if seconds >= slower_than)
        latest = {step_id for _, step_id in chosen[-count:]}
        return self._records([entry for entry in (*ended, *under_way) if entry.step_id in latest])

    def of_steps(self, step_ids: Collection[int]) -> list[StepRecord]:
        """Return what is kept of some steps, including those that have not ended."""
        chosen = frozenset(step_ids)
        return self._records([entry for entry in (*self._ended(), *self._under_way()) if entry.step_id in chosen])

    def _ended(self) -> list[Whole | Part]:
        return [*map(Whole._make, tuple(self.wholes)), *map(Part._make, tuple(self.parts))]

    def _under_way(self) -> list[Whole | Part]:
        return [entry for owner in tuple(self.running) for entry in owner()]

    def _records(self, entries: Iterable[Whole | Part]) -> list[StepRecord]:
        """Return merged records of entries."""
        clock = current_host().clock
        to_wall = clock.time() - clock.monotonic()
        return merge_records(
            [
                self._whole(entry, to_wall) if isinstance(entry, Whole) else self._part(entry, to_wall)
                for entry in entries
            ]
        )

    def _whole(self, entry: Whole, to_wall: float) -> StepRecord:
        began = entry.began + to_wall
        took = _seconds(entry.began, entry.ended)
        return StepRecord(
            step_id=entry.step_id,
            session=entry.session,
            task=self.task,
            kind=entry.kind,
            began=began,
            took=took,
            error=entry.error,
            parts=(PartRecord(entry.device, began, began + took, 0.0),) if entry.device else (),
            feeds=entry.feeds,
            fetches=(*entry.fetches, *entry.targets),
            trace_id=entry.trace_id,
        )

    def _part(self, entry: Part, to_wall: float) -> StepRecord:
        end = entry.ended or current_host().clock.monotonic()
        waited = max(0.0, end - entry.began - entry.worked - entry.pooled) if entry.paused else 0.0
        began, ended = entry.began + to_wall, entry.ended and entry.ended + to_wall
        transfers = [
            transfer
            for when, kind, keys, sizes in entry.transfers
            for key, nbytes in zip(keys, sizes, strict=False)
            for transfer in _transfers(kind, key, when + to_wall, nbytes)
        ]
        return StepRecord(
            step_id=entry.step_id,
            session=entry.session,
            task=self.task,
            began=began,
            took=_seconds(entry.began, entry.ended),
            error=entry.error,
            parts=tuple([PartRecord(device, began, ended, waited) for device in entry.devices]),
            transfers=tuple(transfers),
            left_out=entry.left_out,
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
