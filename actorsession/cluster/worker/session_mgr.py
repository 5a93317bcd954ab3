"""The session manager of a worker: its WorkerSessions by handle, and the master of each.

Besides the sessions that masters create there is one *legacy* session, under the empty handle, for clients
that register graphs without a session; it cannot be deleted. Sessions are recorded by master: a master that
comes back with another incarnation has restarted, and the sessions of its earlier incarnation are returned to
be closed.

A session of the worker's own cluster borrows the worker's devices, so that all such sessions share one state,
unless it is isolated. A session whose client brought a cluster along sees the worker under its name in that
cluster: with renamed devices, which always have their own state, and with its own peers.

Plain synchronous code; owned by the worker actor. Imports worker sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from actorsession.cluster.worker.worker_rendezvous import Push
from actorsession.cluster.worker.worker_session import WorkerEnv, WorkerSession
from actorsession.errors import AbortedError, InvalidArgumentError, OpError, UnavailableError
from actorsession.graph.device import DeviceAttributes
from actorsession.messages.worker import CreateWorkerSession, PushTensors
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.resources import ResourceManager

__all__ = ["LEGACY", "LostPush", "SessionMgr", "peer_key"]

LostPush: TypeAlias = Callable[[int, OpError], None]

LEGACY = ""
"""The handle of the session that always exists."""


def peer_key(task: str, address: str) -> str:
    """Return the key of a worker cache for a task of a cluster that only some session has.

    Two such clusters may use one name for different tasks, so the address is part of the key.
    """
    return f"{task}@{address}"


@dataclass(slots=True)
class _Master:
    """The sessions of one incarnation of a master."""

    incarnation: int
    handles: set[str] = field(default_factory=set)


class _OwnPeers:
    """The tasks of a cluster that a session brought along, by their names in that session."""

    def __init__(self, peers: Mapping[str, str], push: Push, lost: LostPush) -> None:
        self._push = push
        self._lost = lost
        self._keys: dict[str, str] = {}
        self.update(peers)

    def update(self, peers: Mapping[str, str], removed: list[str] | None = None) -> None:
        self._keys.update({task: peer_key(task, address) for task, address in peers.items()})
        for task in removed or ():
            self._keys.pop(task, None)

    def link_name(self, task: str) -> str | None:
        """Return the key of the links to a task; ``None`` if it has left."""
        return self._keys.get(task)

    def push(self, task: str, message: PushTensors) -> None:
        key = self._keys.get(task)
        if key is None:
            error = UnavailableError(f"{task} has left the session's cluster", task=task)
            self._lost(message.step_id, error)
        else:
            self._push(key, message)


def _private(device: Device, attributes: DeviceAttributes) -> Device:
    """Return a device with its own state and the same file roots."""
    return Device(attributes, ResourceManager(device.resources.files))


class SessionMgr:
    """The sessions of one worker.

    Args:
        env: the environment that sessions of the worker's own cluster share.
        push: delivers a message to a peer, by task name or ``peer_key``.
        lost: called with the step id of tensors that cannot be delivered, and the error.
    """

    def __init__(self, env: WorkerEnv, push: Push, lost: LostPush) -> None:
        self._env = env
        self._push = push
        self._lost = lost
        self._legacy = WorkerSession(LEGACY, env)
        self._sessions: dict[str, WorkerSession] = {}
        self._peers: dict[str, _OwnPeers] = {}
        self._masters: dict[str, _Master] = {}

    def create(self, message: CreateWorkerSession) -> list[str]:
        """Open a session.

        Returns:
            The handles of sessions that an earlier incarnation of the same master left here, to be dropped.

        Raises:
            InvalidArgumentError: for an empty handle, or one that exists.
        """
        handle = message.session_handle
        if not handle:
            raise InvalidArgumentError("a worker session needs a session handle, got an empty one")
        if handle in self._sessions:
            raise InvalidArgumentError(f"worker session {handle!r} exists already")
        env, isolated = self._env, message.isolate_session_state or bool(message.task)
        if message.task:
            own = self._peers[handle] = _OwnPeers(message.peers, self._push, self._lost)
            env = replace(
                env,
                task=message.task,
                devices=tuple(_private(d, d.attributes.renamed(message.task)) for d in env.devices),
                push=own.push,
                link_name=own.link_name,
            )
        elif isolated:
            env = replace(env, devices=tuple(_private(d, d.attributes) for d in env.devices))
        if isolated:
            env = replace(env, executors={d.name: Executor(d) for d in env.devices})
        self._sessions[handle] = WorkerSession(handle, env, owns_devices=isolated)
        return self._note(handle, message.master_task, message.master_incarnation)

    def _note(self, handle: str, task: str, incarnation: int) -> list[str]:
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
        self.find(handle)
        own = self._peers.get(handle)
        if own is not None:
            own.update(peers, removed)
        return own is not None

    def remove(self, handle: str) -> WorkerSession | None:
        """Remove a session, for the caller to close; the legacy session stays."""
        session = self._sessions.pop(handle, None)
        self._peers.pop(handle, None)
        for task, master in list(self._masters.items()):
            master.handles.discard(handle)
            if not master.handles:
                del self._masters[task]
        return session

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
