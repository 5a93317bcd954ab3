"""What a server's master and worker know of the other tasks: where they are, and the links to them.

Owned by a server; masters and workers know it as a ``WorkerCacheInterface``. ``TaskAddresses`` holds where
the tasks are, ``PeerLinks`` the links, ``WaitingPushes`` what waits for one.

A session whose client brings a cluster along has a cache of its own at each server, with links of its own:
``for_session``. The sides of the session at the server, of its master and of its worker, hold it together,
and its links end with the last of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import STOP_GRACE, Children
from actorsession.cluster.peer_links import LinkOptions, PeerLinks, PeerRef
from actorsession.cluster.task_addresses import TaskAddresses
from actorsession.cluster.waiting_pushes import Told, WaitingPushes
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import OpError, from_exception
from actorsession.messages.worker import WORKER
from actorsession.rpc.backpressure import BACKLOG
from actorsession.rpc.link import Link, LinkStatistics
from actorsession.rpc.pushes import Pushed
from actorsession.rpc.step_calls import StepCalls
from transports import Hello

__all__ = ["WorkerCache"]


class WorkerCache:
    """The other tasks of a cluster, seen from one task.

    Args:
        task: this task.
        hello: how this task introduces itself.
        serves: the actors that peers may address.
        on_lost_push: called with the step id of tensors that could not be delivered, and the error.
        options: how links are made.
        resolve: updates the addresses from the resolver; called before each dial, so that a task may come
            back elsewhere.
        server: the cache of the server, if this is that of a session; see ``for_session``.

    Attributes:
        addresses: where the other tasks are.
        links: the links to them.
        pushes: how many times values were pushed to other tasks, by sessions with clusters of their own too.
    """

    def __init__(
        self,
        task: str,
        hello: Hello,
        serves: Mapping[str, Ref],
        on_lost_push: Callable[[int, OpError], None],
        options: LinkOptions,
        resolve: Callable[[Deadline], Awaitable[None]] | None = None,
        server: WorkerCache | None = None,
    ) -> None:
        self._server = self if server is None else server
        self._task = task
        self._serves = serves
        self._on_lost_push = on_lost_push
        self._options = options
        # All links of the server, including those of clients and of sessions.
        self._open: dict[Link, None] = {} if server is None else server._open
        self._of_sessions: dict[str, WorkerCache] = {}  # those that are held, by session handle
        self._to_close: dict[WorkerCache, None] = {}  # and those whose links are being closed as well
        self._holders = 0
        self._children = Children(f"links of {hello.task}")
        self.addresses = TaskAddresses(task, resolve)
        self.links = PeerLinks(hello, serves, self.addresses, options, self._children, self._open, server is None)
        self._waiting = WaitingPushes(self.links, on_lost_push, self._children)
        self.pushes = 0

    # -- addresses -----------------------------------------------------------------------------

    def learn(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks, replacing known ones."""
        self.addresses.learn(addresses)

    def learn_from_session(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks as given by the master of a session."""
        self.addresses.learn_from_session(addresses)

    async def refresh_addresses(self, deadline: Deadline) -> str:
        """Update the addresses from the resolver; see ``TaskAddresses.refresh``."""
        return await self.addresses.refresh(deadline)

    def forget(self, tasks: Iterable[str]) -> None:
        """Remove tasks that have left the cluster; links to them are closed."""
        for task in tasks:
            self.addresses.forget(task)
            link = self.links.in_use.get(task)
            if link is not None:
                link.drop(f"{task} has left the cluster")

    # -- sessions with a cluster of their own --------------------------------------------------

    def for_session(self, handle: str, task: str, addresses: Mapping[str, str]) -> WorkerCache:
        """Return the cache of a session whose client brought a cluster along; see the interface."""
        cache = self._of_sessions.get(handle)
        if cache is None:
            # Peers take only links of a task for the way to it. This one is the session's and ends with it.
            hello = replace(self.links.hello, task=f"{self._task} for session {handle!r:.40}")
            cache = self._of_sessions[handle] = WorkerCache(
                task, hello, self._serves, self._on_lost_push, self._options, server=self
            )
            cache.learn(addresses)
            self._to_close[cache] = None
        cache._holders += 1
        return cache

    def release(self) -> None:
        """Stop holding the cache of a session; see the interface."""
        self._holders -= 1
        if self._holders or self.links.ended:
            return
        self.links.ended = True
        of_sessions = self._server._of_sessions
        for handle in [h for h, cache in of_sessions.items() if cache is self]:
            del of_sessions[handle]
        closing = self.aclose(STOP_GRACE)
        _ = self._server._children.start(closing, name=f"close the links of {self.links.hello.task}")

    # -- links ---------------------------------------------------------------------------------

    def step_calls(self, task: str, incarnation: int) -> StepCalls | None:
        """Return the step frames of the link to an incarnation of a task; see the interface."""
        link = self.links.in_use.get(task)
        return None if link is None or link.peer.incarnation != incarnation else link.steps

    def is_linked(self, task: str) -> bool:
        """Return whether there is a link to a task."""
        return task in self.links.in_use

    def watch(self, task: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for the end of the link to a task; called soon if there is none.

        Args:
            task: the task.
            callback: called once.

        Returns:
            A function that unregisters the callback. It may be called repeatedly, and after the callback.
        """
        link = self.links.in_use.get(task)
        if link is None:
            return asyncio.get_running_loop().call_soon(callback).cancel
        return link.on_closed(lambda _: callback())

    def worker(self, task: str, incarnation: int | None = None) -> Ref:
        """Return a ref to the worker of a task; that of this task is called directly.

        Args:
            task: the task; another one is dialled on the first request.
            incarnation: the expected incarnation of the task; any if left out.
        """
        return self._serves[WORKER] if task == self._task else PeerRef(self.links, task, incarnation)

    # -- pushes --------------------------------------------------------------------------------

    def push(self, task: str, message: Pushed) -> None:
        """Deliver tensors to the worker of another task; never blocks."""
        self._server.pushes += 1
        link = self.links.in_use.get(task)
        if link is None or self._waiting.messages:
            self.tell_after_pushes(task, message)
            return
        try:
            link.steps.pushes.push(message)
        except Exception as exc:
            self._waiting.not_pushed(link, task, message, from_exception(exc))

    def tell_after_pushes(self, task: str, message: Told) -> None:
        """Deliver a message to the worker of another task after all earlier pushes; never blocks."""
        link = self.links.in_use.get(task)
        if link is not None and task not in self._waiting.messages:
            self._waiting.tell(link, task, message)
        elif not self.links.ended:  # else the steps of the session are over
            self._waiting.add(task, message)

    def is_backlogged(self, task: str) -> bool:
        """Return whether so much is queued for a task that no step that sends to it should start."""
        if task in self._waiting.messages:  # the link is not established yet
            return self._waiting.nbytes(task) > BACKLOG
        link = self.links.in_use.get(task)
        return link is not None and link.backlogged

    def unsent_bytes(self, task: str) -> int:
        """Return how many bytes are queued for a task."""
        if task in self._waiting.messages:
            return self._waiting.nbytes(task)
        link = self.links.in_use.get(task)
        return 0 if link is None else link.unsent

    async def wait_for_capacity(self, task: str) -> None:
        """Wait until the link is no longer backlogged, is lost, or cannot be established."""
        if task in self._waiting.messages:
            with contextlib.suppress(OpError):
                await self.links.link(task, Deadline.after(CONNECT_TIMEOUT))
            await asyncio.sleep(0)  # the queued messages are sent first
        link = self.links.in_use.get(task)
        if link is not None:
            await link.drain()

    # -- end -----------------------------------------------------------------------------------

    def say_goodbye(self, reason: str) -> None:
        """Tell all peers and clients why their connections are going to end."""
        owners: list[Link | WorkerCache] = [*self._open, *self._to_close]
        for owner in owners:
            owner.say_goodbye(reason)

    async def aclose(self, grace: float) -> None:
        """Close all links to other tasks at once; takes at most ``grace`` seconds and as many again."""
        owners: list[Link | WorkerCache] = [*self.links.in_use.values(), *self._to_close]
        async with asyncio.TaskGroup() as group:
            for owner in owners:
                group.create_task(owner.aclose(grace), name=f"close {owner!r}")
        await self._children.stop(grace)
        self._server._to_close.pop(self, None)

    def statistics(self) -> tuple[LinkStatistics, ...]:
        """Return the traffic of each open link, sorted by peer."""
        return tuple(sorted((k.statistics() for k in self._open), key=lambda s: s.peer))
