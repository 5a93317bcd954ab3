"""The session manager of a worker: its WorkerSessions by handle, and the master of each.

Besides the sessions that masters create there is one *legacy* session, under the empty handle, for clients
that register graphs without a session; it cannot be deleted. Sessions are recorded by master: a master that
comes back with another incarnation has restarted, and the sessions of its earlier incarnation are returned to
be closed.

A session of the worker's own cluster borrows the worker's devices, so that all such sessions share one state,
unless it is isolated. A session whose client brought a cluster along sees the worker under its name in that
cluster: with renamed devices, whose state it shares or not, and with links of its own to the other tasks.

Plain synchronous code; owned by the worker actor. Imports worker sessions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, fields, replace
from heapq import nlargest
from itertools import islice

from actorsession.cluster.server.statistics import QueueSize, VariableSize
from actorsession.cluster.worker.env import WorkerEnv
from actorsession.cluster.worker.worker_rendezvous import SessionPeers
from actorsession.cluster.worker.worker_session import WorkerSession
from actorsession.errors import AbortedError, InvalidArgumentError, OpError
from actorsession.messages.worker import CreateWorkerSession
from actorsession.metrics import HistogramCounts
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.executor_statistics import ExecutorStatistics, statistics_by_device
from actorsession.runtime.inspection import HeldState, QueueRow, queue_rows

__all__ = ["LEGACY", "SessionMgr", "WorkerCounts"]

LEGACY = ""
"""The handle of the session that always exists."""

# The variables whose sizes are reported one by one; a model may have thousands, and each is a series at Prometheus.
_LARGEST = 10
_MOST_QUEUES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCounts:
    """The counters of a worker at one moment; see ``ServerStatistics``.

    Attributes:
        sessions: sessions that masters have here.
        graphs: their registered graphs.
        steps: steps that run here.
        held: steps that are held back by backpressure of a task that they send to.
        unsettled: steps that have run here and whose takes are not settled yet.
        runs: steps started here so far.
        step_seconds: how long they took here.
        rendezvous: steps that have a rendezvous here.
        pending: values and receivers that wait there.
        variables: variables with a value.
        variable_bytes: bytes of their values.
        largest_variables: the largest of them.
        queues: the queues, the first hundred of them.
        devices: counters of each device, those of sessions with executors of their own added.
    """

    sessions: int
    graphs: int
    steps: int
    held: int
    unsettled: int
    runs: int
    step_seconds: HistogramCounts
    rendezvous: int
    pending: int
    variables: int
    variable_bytes: int
    largest_variables: tuple[VariableSize, ...]
    queues: tuple[QueueSize, ...]
    devices: tuple[ExecutorStatistics, ...]


@dataclass(slots=True)
class _Master:
    """The sessions of one incarnation of a master."""

    incarnation: int
    handles: set[str] = field(default_factory=set)


def _device_of_session(device: Device, task: str, *, isolated: bool) -> Device:
    """Return a device as a session sees it.

    Args:
        device: the device of the worker.
        task: the worker's name in the session; its own if empty.
        isolated: whether the device has a state of its own, with the same file roots.
    """
    attributes = device.attributes.renamed(task) if task else device.attributes
    return Device(attributes, device.resources.anew() if isolated else device.resources)


def _size_of(row: QueueRow) -> QueueSize:
    return QueueSize(**{f.name: getattr(row, f.name) for f in fields(QueueSize)})


class SessionMgr:
    """The sessions of one worker.

    Args:
        env: the environment that sessions of the worker's own cluster share.
    """

    def __init__(self, env: WorkerEnv) -> None:
        self._env = env
        self._legacy = WorkerSession(LEGACY, env)
        self._sessions: dict[str, WorkerSession] = {}
        self._masters: dict[str, _Master] = {}

    def create(self, message: CreateWorkerSession) -> list[str]:
        """Open a session.

        Returns:
            The handles of sessions that an earlier incarnation of the same master left here, to be dropped;
            none if the message names no master.

        Raises:
            InvalidArgumentError: for an empty handle, or one that exists.
        """
        handle = message.session_handle
        if not handle:
            raise InvalidArgumentError("a worker session needs a session handle, got an empty one")
        if handle in self._sessions:
            raise InvalidArgumentError(f"worker session {handle!r} exists already")
        self._sessions[handle] = WorkerSession(
            handle, self._env_of(message), owns_devices=message.isolate_session_state
        )
        return self._note(handle, message.master_task, message.master_incarnation)

    def _env_of(self, message: CreateWorkerSession) -> WorkerEnv:
        """Return the environment of a new session: devices that it shares or owns, and its tasks."""
        env, task, isolated = self._env, message.task, message.isolate_session_state
        if not (task or isolated):
            return env
        devices = tuple(_device_of_session(d, task, isolated=isolated) for d in env.devices)
        executors = {d.name: Executor(d) for d in devices}
        if not task:
            return replace(env, devices=devices, executors=executors)
        workers = env.workers.for_session(message.session_handle, task, message.peers)
        peers = SessionPeers(message.session_handle, task, workers)
        return replace(env, task=task, devices=devices, executors=executors, workers=workers, peers=peers)

    def _note(self, handle: str, task: str, incarnation: int) -> list[str]:
        """Record a session as one of its master, and return those of the master's earlier incarnation."""
        if not task:  # nobody, whose sessions have nothing to do with each other
            return []
        known = self._masters.get(task)
        if known is None or known.incarnation != incarnation:
            self._masters[task] = _Master(incarnation, {handle})
            return sorted(known.handles) if known is not None else []
        known.handles.add(handle)
        return []

    def find(self, handle: str) -> WorkerSession:
        """Return the session of a handle; the legacy session for the empty handle.

        Raises:
            AbortedError: for an unknown handle.
        """
        session = self._legacy if handle == LEGACY else self._sessions.get(handle)
        if session is None:
            raise AbortedError(
                f"Session handle {handle!r} is not found on {self._env.task}: the session was closed "
                "or the worker restarted",
                task=self._env.task,
            )
        return session

    def update(self, handle: str, peers: Mapping[str, str], removed: list[str]) -> bool:
        """Apply a change of a session's tasks, some of which have joined, moved or left.

        Returns:
            Whether they are tasks of the session's own cluster; otherwise they are tasks of the worker's
            cluster.

        Raises:
            AbortedError: for an unknown handle.
        """
        peers_of_session = self.find(handle).peers
        if peers_of_session is None:
            return False
        peers_of_session.workers.learn(peers)
        peers_of_session.workers.forget(removed)
        return True

    def remove(self, handle: str) -> WorkerSession | None:
        """Remove a session, for the caller to close; the legacy session stays."""
        session = self._sessions.pop(handle, None)
        for task, master in list(self._masters.items()):
            master.handles.discard(handle)
            if not master.handles:
                del self._masters[task]
        return session

    def give_up(self, step_id: int, error: OpError, handed_out: Collection[int] = ()) -> None:
        """End a step wherever it is; see ``PartSteps.give_up``."""
        for session in self.sessions:
            session.steps.give_up(step_id, error, handed_out)
        self._env.rendezvous.end(step_id, error)

    @property
    def running(self) -> int:
        """The number of steps that run here."""
        return sum(len(session.steps.running) for session in self.sessions)

    def counts(self) -> WorkerCounts:
        """Return the counters of the worker."""
        env, steps = self._env, [session.steps for session in self.sessions]
        variables = self._variables()
        own = [executor for session in self.sessions for executor in session.executors]
        return WorkerCounts(
            sessions=len(self),
            graphs=sum(len(session.graphs) for session in self.sessions),
            steps=self.running,
            held=sum(len(s.held) for s in steps),
            unsettled=sum(len(s.unsettled) for s in steps),
            runs=env.counters.runs,
            step_seconds=env.counters.step_seconds.snapshot(),
            rendezvous=len(env.rendezvous) - len(env.groups),
            pending=sum(sum(rendezvous.pending) for rendezvous in env.rendezvous.steps.values()),
            variables=len(variables),
            variable_bytes=sum(one.nbytes for one in variables),
            largest_variables=tuple(nlargest(_LARGEST, variables, key=lambda one: one.nbytes)),
            queues=tuple([_size_of(row) for row in islice(queue_rows(self.held_state()), _MOST_QUEUES)]),
            devices=statistics_by_device(dict.fromkeys([*env.executors.values(), *own])),
        )

    def _variables(self) -> list[VariableSize]:
        """Return the variables with a value."""
        return [
            VariableSize(name=name, device=device.name, container=container, nbytes=variable.nbytes)
            for _, devices, _ in self.held_state()
            for device in devices
            for container, name, variable in device.resources.variables()
            if variable.initialized
        ]

    def held_state(self) -> Iterator[HeldState]:
        """Yield the state that sessions share, and that of each session."""
        yield HeldState("", self._env.devices, {})
        for session in self.sessions:
            yield HeldState(session.handle, session.own_devices, session.graphs.states)

    @property
    def handles(self) -> tuple[str, ...]:
        """The handles of the sessions that masters created."""
        return tuple(self._sessions)

    @property
    def sessions(self) -> tuple[WorkerSession, ...]:
        """All sessions, the legacy one last."""
        return (*self._sessions.values(), self._legacy)

    def __contains__(self, handle: str) -> bool:
        return handle in self._sessions

    def __len__(self) -> int:
        """Return the number of sessions that masters have here."""
        return len(self._sessions)
