"""The rendezvous of one step at one worker, and the table of all of them.

Tensors sent to a device of this task stay in the table. Tensors sent to another task are gathered and pushed
there, one message per task each time the step becomes quiescent. Pushes may arrive before the step has
started here; they create its rendezvous. Steps that are over leave a tombstone, so that late pushes are
dropped and not kept for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from actorsession.cluster.worker.rpc_log import RpcLog
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.config import FrameStats
from actorsession.errors import CancelledError, InvalidArgumentError, OpError, error_from_wire, error_to_wire
from actorsession.graph.codec import INLINE_LIMIT
from actorsession.graph.held_arrays import bytes_held
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass
from actorsession.rpc.pushes import Pushed, PushTimes
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.runtime.step_log import MOST_TRANSFERS, NBYTES, NOTHING, Part, Transfers
from transports.host import current_host

__all__ = ["RendezvousTable", "SessionPeers", "WorkerRendezvous"]


class Workers(Protocol):
    """The other tasks, as far as steps push to them."""

    def push(self, task: str, message: Pushed) -> None:
        """Deliver a message to the worker of another task; never blocks."""

    def unsent_bytes(self, task: str) -> int:
        """Return how many bytes are queued for a task."""


# Tombstones kept: a late push comes within seconds of the step's end, and no worker ends more steps than this
# in that time.
MAX_REMEMBERED = 10_000
# Pushes of one step whose keys are remembered, for loops over several tasks; one that was lost soon stops them.
_MOST_PUSHES = 10_000
_new = tuple.__new__
# Seconds that values pushed for a step may wait for its start; a live master starts a step on all its workers
# at once.
_UNBEGUN = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class SessionPeers:
    """The tasks of a session whose client brought a cluster along.

    Attributes:
        session_handle: the session.
        task: this task, by its name in the session.
        workers: the other tasks, over links of the session's own.
    """

    session_handle: str
    task: str
    workers: WorkerCacheInterface


@lru_cache(maxsize=65536)
def _destination(key: str) -> str:
    """Return the destination task of a key's tensor; cached, because the keys recur in every step."""
    return parse_key(key).dst_task


class WorkerRendezvous(Rendezvous):
    """The rendezvous of one step at one task.

    Args:
        step_id: the step.
        task: this task.
        workers: the other tasks.
        log: takes what is pushed, while it is enabled.

    Attributes:
        peers: the tasks of the step's session; ``None`` if they are those of the worker's cluster.
        pushed: bytes of the tensors that were pushed, as ``bytes_held`` counts them.
        holder: the table that keeps the rendezvous beyond the end of the partitions here, for a partial run.
        seen: the transfers of the step, if it is remembered, and then also the following; else ``None``.
        part: the session and the devices of the partitions here, and when they began by the monotonic clock; not set
            before.
        worked: seconds in which the thread of the step worked on it, until it left it last.
        entered: when the thread came back to it; 0 while it is elsewhere.
        paused: whether the thread has left the step.
        left_out: transfers that are not kept, because there were so many.
        pushed_keys: the keys of each push, the oldest left out where there were so many; ``None`` before the first.
        frames: the pushes that have arrived for a traced step; not set before the first.
    """

    __slots__ = (
        "_log",
        "_what",
        "_workers",
        "begun",
        "created",
        "entered",
        "frames",
        "gathered",
        "holder",
        "left_out",
        "on_abort",
        "part",
        "paused",
        "peers",
        "pushed",
        "pushed_keys",
        "seen",
        "step_id",
        "task",
        "worked",
    )

    part: tuple[str, tuple[str, ...], float]
    worked: float
    entered: float
    paused: bool
    left_out: int

    def __init__(self, step_id: int, task: str, workers: Workers, log: RpcLog, now: float) -> None:
        # What the base class does, without a call.
        self._expected, self._sent, self._waiting = {}, {}, {}
        self._aborted, self._closed = None, False
        self.step_id = step_id
        self._what = ""
        self.begun = False
        self.holder: RendezvousTable | None = None
        self.pushed = 0
        self.pushed_keys: list[list[str]] | None = None
        self.created = now
        self.task = task
        self._workers = workers
        self._log = log
        self.peers: SessionPeers | None = None
        self.gathered: dict[str, Pushed] = {}
        self.seen: list[Transfers] | None = None
        self.on_abort: Callable[[OpError], None] | None = None

    @property
    def what(self) -> str:
        """What it belongs to, for messages: its step, unless it was set."""
        return self._what or f"step {self.step_id}"

    @what.setter
    def what(self, what: str) -> None:
        self._what = what

    def bind(self, peers: SessionPeers) -> None:
        """Set the tasks of the session, and this task's name among them."""
        self.peers = peers
        self.task, self._workers = peers.task, peers.workers

    def awaited(self) -> dict[str, list[str]]:
        """Return the other tasks that values are awaited from, with the awaited keys of each."""
        tasks: dict[str, list[str]] = {}
        for key in self.waiting_keys():
            tasks.setdefault(parse_key(key).src_task, []).append(key)
        tasks.pop(self.task, None)
        return tasks

    def has_pushed(self, key: str) -> bool:
        """Return whether a value was pushed to its task, as far as that is remembered."""
        return any(key in keys for keys in self.pushed_keys or ())

    def send(self, key: str, value: Any, dead: bool = False) -> None:
        """Store a value for a device of this task, or gather it for the task of its device."""
        task = _destination(key)
        if task == self.task:
            seen = self.seen
            if seen is not None:
                if len(seen) < MOST_TRANSFERS:
                    seen.append((current_host().clock.monotonic(), "local", (key,), (getattr(value, "nbytes", 0),)))
                else:
                    self.left_out += 1
            super().send(key, value, dead)
            return
        if self._aborted is not None or self._closed:
            raise self.aborted or CancelledError("the step is over", derived=True)
        message = self.gathered.get(task)
        if message is None:
            self.gathered[task] = _new(Pushed, (self.step_id, [key], [value], [dead], 0.0, 0))  # without a call
        else:
            message.keys.append(key)
            message.values.append(value)
            message.dead.append(dead)

    def flush(self) -> None:
        """Push what was gathered, one message per task."""
        gathered, self.gathered = self.gathered, {}
        seen = self.seen
        known = self.pushed_keys
        if known is None:
            known = self.pushed_keys = []
        elif len(known) > _MOST_PUSHES:
            del known[: _MOST_PUSHES // 2]
        for task, message in gathered.items():
            known.append(message.keys)
            values = message.values
            if len(values) > 1 or getattr(values[0], "nbytes", 0) > INLINE_LIMIT:
                self.pushed += bytes_held(values)
            if self._log.enabled:
                self._log.note(self.step_id, "PushTensors", task, values, outgoing=True)
            if seen is not None:
                if len(seen) < MOST_TRANSFERS:
                    sizes = tuple(map(getattr, values, NBYTES, NOTHING))
                    seen.append((current_host().clock.monotonic(), "send", tuple(message.keys), sizes))
                else:
                    self.left_out += 1
            self._workers.push(task, message)

    def trace(self) -> None:
        """Push values with the moment when they are sent from now on, for the report of a traced step."""
        self._workers = _TracedWorkers(self._workers)

    def note(self, keys: Sequence[str], times: PushTimes) -> None:
        """Record the arrival of values that were pushed with their times."""
        if not hasattr(self, "frames"):
            self.frames: list[FrameStats] = []
        key = parse_key(keys[0])
        self.frames.append(
            FrameStats(
                "push", key.src_task, key.dst_task, tuple(keys), times.nbytes, times.sent, times.arrived, times.queued
            )
        )

    def release(self) -> None:
        """End the step of a partial run that has succeeded on all tasks; what is left here is dropped."""
        holder, self.holder, self.on_abort = self.holder, None, None
        if holder is not None:
            holder.end(self.step_id)


class _TracedWorkers:
    """The other tasks, for a traced step.

    Args:
        workers: what delivers its messages.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.unsent_bytes = workers.unsent_bytes

    def push(self, task: str, message: Pushed) -> None:
        """See ``Workers.push``."""
        queued = self.unsent_bytes(task)
        self._workers.push(task, message._replace(sent=current_host().clock.time(), queued=queued))


class RendezvousTable:
    """The rendezvous of every step that runs partitions on this worker.

    Args:
        task: this task.
        workers: the other tasks.
        log: takes what the steps push, while it is enabled; by default one of their own.
        keeps: whether anything is kept of the steps when they are over.

    Attributes:
        steps: the rendezvous of the steps in progress; only the table changes it.
    """

    def __init__(self, task: str, workers: Workers, log: RpcLog | None = None, *, keeps: bool = False) -> None:
        self._task = task
        self._keeps = keeps
        self._workers = workers
        self._log = RpcLog() if log is None else log
        self.steps: dict[int, WorkerRendezvous] = {}
        self._over: OrderedDict[int, OpError | None] = OrderedDict()
        self._now = current_host().clock.monotonic
        self._unbegun = 0  # how many of the steps have been pushed to and have not begun

    def begin(self, step_id: int, peers: SessionPeers | None = None) -> WorkerRendezvous:
        """Return the rendezvous of a step that starts here.

        Args:
            step_id: the step.
            peers: the tasks of the step's session, if they are not those of the worker's cluster.

        Raises:
            OpError: the error with which the step was cancelled before it started.
        """
        if step_id in self._over:
            raise self._over[step_id] or CancelledError(f"step {step_id} is over", derived=True)
        rendezvous = self.steps.get(step_id)
        if rendezvous is None:
            rendezvous = self.steps[step_id] = WorkerRendezvous(
                step_id, self._task, self._workers, self._log, self._now()
            )
            if self._keeps:
                rendezvous.seen, rendezvous.paused, rendezvous.left_out = [], False, 0
                rendezvous.worked = rendezvous.entered = 0.0
        elif not rendezvous.begun:
            self._unbegun -= 1
        rendezvous.begun = True
        if peers is not None:
            rendezvous.bind(peers)
        return rendezvous

    def push(self, step_id: int, keys: Sequence[str], values: Sequence[Any], dead: Sequence[bool]) -> None:
        """Store values from another task; those of a step that is over are dropped.

        Args:
            step_id: the step.
            keys: the rendezvous key of each value.
            values: the values; ``None`` for a dead tensor.
            dead: whether each is a dead tensor.

        Raises:
            InvalidArgumentError: for a malformed key, or lists that do not match.
        """
        if not len(keys) == len(values) == len(dead):
            sizes = [len(keys), len(values), len(dead)]
            raise InvalidArgumentError(f"a push has as many keys as values, got {sizes}")
        rendezvous = self.steps.get(step_id)
        if rendezvous is None:
            if step_id in self._over:
                return
            self._drop_unbegun()
            rendezvous = self.steps[step_id] = WorkerRendezvous(
                step_id, self._task, self._workers, self._log, self._now()
            )
            if self._keeps:
                nbytes = tuple(map(getattr, values, NBYTES, NOTHING))
                rendezvous.seen = [(rendezvous.created, "recv", tuple(keys), nbytes)]
                rendezvous.paused, rendezvous.left_out = False, 0
                rendezvous.worked = rendezvous.entered = 0.0
            self._unbegun += 1
        rendezvous.receive(keys, values, dead)

    def end(self, step_id: int, error: OpError | None = None) -> None:
        """End a step: waiting receives fail, and what arrives later is dropped.

        A held step ends only with an error, or when its master releases it.
        """
        held = self.steps.get(step_id)
        if error is None and held is not None and held.holder is not None:
            return
        # A copy: the error itself would keep the frames that raised it alive, with every array in them.
        self._over[step_id] = None if error is None else error_from_wire(error_to_wire(error))
        if len(self._over) > MAX_REMEMBERED:
            self._over.popitem(last=False)
        rendezvous = self.steps.pop(step_id, None)
        if rendezvous is not None and not rendezvous.begun:
            self._unbegun -= 1
        if rendezvous is not None and error is None:
            rendezvous.close()
        elif rendezvous is not None and error is not None:
            rendezvous.abort(error)

    def find(self, step_id: int) -> WorkerRendezvous | None:
        """Return the rendezvous of a step that is in progress here."""
        return self.steps.get(step_id)

    def is_over(self, step_id: int) -> bool:
        """Return whether a step has ended here."""
        return step_id in self._over

    def parts(self) -> list[Part]:
        """Return what is remembered of the steps in progress that have started here."""
        rows = []
        for each in tuple(self.steps.values()):
            if each.seen is not None and hasattr(each, "part"):
                session, devices, began = each.part
                worked, transfers = each.worked, tuple(each.seen)
                rows.append(
                    Part(each.step_id, session, devices, began, 0.0, worked, 0.0, each.paused, transfers, each.left_out)
                )
        return rows

    def unbegun(self, most: int) -> list[WorkerRendezvous]:
        """Return up to ``most`` steps for which values have arrived and that have not started here."""
        return list(islice((r for r in self.steps.values() if not r.begun), most))

    def begun_before(self, moment: float) -> list[WorkerRendezvous]:
        """Return the steps in progress that started here before a moment of the monotonic clock."""
        return [r for r in self.steps.values() if r.begun and r.created < moment]

    def _drop_unbegun(self) -> None:
        """End steps that were pushed to and never started; their master is gone."""
        if not self._unbegun:
            return
        limit = self._now() - _UNBEGUN
        # Insertion order is order of creation, so the oldest come first.
        for step_id, rendezvous in list(islice(self.steps.items(), 8)):
            if not rendezvous.begun and rendezvous.created < limit:
                self.end(step_id)

    def __len__(self) -> int:
        """Return the number of steps that have a rendezvous here."""
        self._drop_unbegun()
        return len(self.steps)
