"""Where the other tasks of the cluster are, and the links to them.

One link per pair of tasks serves both directions: whoever dials first makes it, the other uses it. A link
that is lost is dialled again by the next call. Pushes never wait: what is pushed before a link stands
is delivered by a child once it does, in order.

Owned by a server; masters and workers get refs (``PeerRef``) and a function to push with. It imports
links and transports.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.link import Link, LinkStatistics
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import OpError, UnavailableError, WorkerRestartedError
from actorsession.messages.worker import WORKER, PushTensors
from transports import Connection, Hello, TransportError, connect

__all__ = ["PeerRef", "WorkerCache"]

_log = logging.getLogger("actorsession.cluster")


class WorkerCache:
    """The links of one task to the others.

    Args:
        task: this task.
        hello: what this task says of itself.
        serves: the actors that peers may address.
        on_lost_push: called with the step of tensors that could not be delivered, and why.
        token: shared secret of the cluster, if it has one.
    """

    def __init__(
        self,
        task: str,
        hello: Hello,
        serves: Mapping[str, Ref],
        on_lost_push: Callable[[int, OpError], None],
        token: str | None = None,
    ) -> None:
        self._task = task
        self._hello = hello
        self._serves = serves
        self._on_lost_push = on_lost_push
        self._token = token
        self._addresses: dict[str, str] = {}
        self._links: dict[str, Link] = {}  # the one in use for each task
        self._open: set[Link] = set()  # all of them, those of clients included
        self._dialling: dict[str, asyncio.Task[Link]] = {}
        self._unsent: dict[str, list[PushTensors]] = {}
        self._children = Children(f"links of {task}")
        self.pushes = 0

    @property
    def addresses(self) -> Mapping[str, str]:
        """The address of each task that is known."""
        return self._addresses

    def learn(self, addresses: Mapping[str, str]) -> None:
        """Takes in where tasks are; what is new replaces what was known."""
        self._addresses.update(addresses)

    # -- links ---------------------------------------------------------------------------------

    async def serve(self, connection: Connection) -> None:
        """Serves a connection that a peer or client opened, until it is over."""
        link = Link(connection, serves=self._serves, peer_name=connection.peer.task)
        self._note(link)
        if self._is_of_us(connection.peer):
            self._keep(connection.peer.task, link)
        await link.run()

    def _is_of_us(self, peer: Hello) -> bool:
        """Whether whoever dialled is a task of our cluster, and not a client that has its name."""
        return peer.task in self._addresses and peer.cluster_id == self._hello.cluster_id

    def _note(self, link: Link) -> None:
        self._open.add(link)
        link.on_closed(lambda _: self._open.discard(link))

    def _keep(self, task: str, link: Link) -> None:
        """Uses a link for a task, unless one to the same life of the task is in use."""
        known = self._links.get(task)
        if known is not None:
            if known.peer.incarnation == link.peer.incarnation:
                return
            # The task came back before the end of its former life was noticed.
            closing = known.aclose()
            _ = self._children.start(closing, name=f"close the link to a former {task}")
        self._links[task] = link
        link.on_closed(lambda _: self._forget(task, link))

    def _forget(self, task: str, link: Link) -> None:
        if self._links.get(task) is link:
            del self._links[task]

    def link_now(self, task: str) -> Link | None:
        """The link to a task if there is one."""
        return self._links.get(task)

    async def link(self, task: str, deadline: Deadline) -> Link:
        """The link to a task, dialled if there is none.

        Raises:
            UnavailableError: if the task cannot be reached; names it and its address.
            DeadlineExceededError: if that takes too long.
        """
        found = self._links.get(task)
        if found is not None:
            return found
        dialling = self._dialling.get(task)
        if dialling is None:
            dialling = self._children.start(self._dial(task), name=f"dial {task}", awaited=True)
            self._dialling[task] = dialling
            dialling.add_done_callback(lambda _: self._dialling.pop(task, None))
        where = f"a connection to {task} at {self._addresses.get(task)}"
        # Several may wait for one attempt; one who gives up must not end it for the others.
        return await deadline.wait(asyncio.shield(dialling), what=where)

    async def _dial(self, task: str) -> Link:
        address = self._addresses.get(task)
        if address is None:
            raise UnavailableError(f"no address is known for {task}", task=task)
        try:
            connection = await connect(
                address, self._hello, timeout=CONNECT_TIMEOUT, expect_task=task,
                expect_cluster=self._hello.cluster_id, token=self._token,
            )  # fmt: skip
        except TransportError as exc:
            raise UnavailableError(f"cannot reach {task} at {address}: {exc}", task=task) from exc
        link = Link(connection, serves=self._serves, peer_name=task)
        self._note(link)
        self._keep(task, link)
        _ = self._children.start(link.run(), name=f"link to {task}")
        return link

    def worker(self, task: str, incarnation: int | None = None) -> PeerRef:
        """The worker of another task; reached when it is asked something.

        Args:
            task: its name.
            incarnation: the life of the task that is meant; any if left out.
        """
        return PeerRef(self, task, incarnation)

    # -- pushes --------------------------------------------------------------------------------

    def push(self, task: str, message: PushTensors) -> None:
        """Delivers tensors to the worker of another task; never blocks."""
        self.pushes += 1
        link = self._links.get(task)
        if link is not None and task not in self._unsent:
            self._tell(link, task, message)
            return
        waiting = self._unsent.setdefault(task, [])
        waiting.append(message)
        if len(waiting) == 1:
            _ = self._children.start(self._push_later(task), name=f"push to {task}")

    async def _push_later(self, task: str) -> None:
        try:
            link = await self.link(task, Deadline.after(CONNECT_TIMEOUT))
        except OpError as error:
            for message in self._unsent.pop(task, []):
                self._on_lost_push(message.step_id, error)
            return
        for message in self._unsent.pop(task, []):
            self._tell(link, task, message)

    def _tell(self, link: Link, task: str, message: PushTensors) -> None:
        try:
            link.tell(WORKER, message)
        except OpError as error:
            self._on_lost_push(message.step_id, error.locate(task=task))

    # -- end -----------------------------------------------------------------------------------

    async def aclose(self, grace: float) -> None:
        """Closes all links to other tasks at once; bounded by ``grace`` seconds and as many again."""
        async with asyncio.TaskGroup() as group:
            for link in list(self._links.values()):
                group.create_task(link.aclose(grace), name=f"close {link!r}")
        await self._children.stop(grace)

    def statistics(self) -> tuple[LinkStatistics, ...]:
        """Traffic of each open link, by peer."""
        return tuple(sorted((k.statistics() for k in self._open), key=lambda s: s.peer))


class PeerRef:
    """A ref to the worker of another task, by whichever link there is at the time.

    Args:
        cache: has the links.
        task: the other task.
        incarnation: the life of the task that is meant; any if ``None``.
    """

    __slots__ = ("_cache", "_incarnation", "name", "task")

    def __init__(self, cache: WorkerCache, task: str, incarnation: int | None) -> None:
        self._cache = cache
        self._incarnation = incarnation
        self.task = task
        self.name = f"worker {task}"

    async def ask(self, message: Any, deadline: Deadline | None = None) -> Any:
        """See ``Ref.ask``; dials first if there is no link.

        Raises:
            WorkerRestartedError: another life of the task answers.
            UnavailableError: the task cannot be reached, or was lost.
        """
        link = self._cache.link_now(self.task)
        if link is None:
            limit = deadline if deadline is not None else Deadline.after(CONNECT_TIMEOUT)
            link = await self._cache.link(self.task, limit)
        self._check(link)
        return await link.ask(WORKER, message, deadline)

    def tell(self, message: Any) -> None:
        """See ``Ref.tell``; does not dial, and whichever life of the task is there is told.

        Raises:
            UnavailableError: there is no link to the task.
        """
        link = self._cache.link_now(self.task)
        if link is None:
            raise UnavailableError(f"there is no link to {self.task}", task=self.task)
        link.tell(WORKER, message)

    def _check(self, link: Link) -> None:
        if self._incarnation is not None and link.peer.incarnation != self._incarnation:
            raise WorkerRestartedError(
                f"{self.task} has restarted: its variables and the graphs registered there are gone; "
                "close the session and create a new one",
                task=self.task,
            )

    def __repr__(self) -> str:
        return f"<PeerRef to {self.name}>"
