"""Where the other tasks of the cluster are, and the links to them.

One link per pair of tasks serves both directions: whoever dials first makes it, the other uses it. A link
that is lost is dialled again by the next call. Pushes never wait: what is pushed before a link stands
is delivered by a child once it does, in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.link import Link
from actorsession.actors.ref import Ref
from actorsession.actors.remote_ref import RemoteRef
from actorsession.actors.supervision import Children
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import OpError, UnavailableError
from actorsession.messages.worker import WORKER, PushTensors
from transports import Connection, Hello, TransportError, connect

__all__ = ["WorkerCache"]

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
        self._links: dict[str, Link] = {}
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
        if connection.peer.task in self._addresses:
            self._keep(connection.peer.task, link)
        await link.run()

    def _keep(self, task: str, link: Link) -> None:
        if task not in self._links:
            self._links[task] = link
            link.on_closed(lambda _: self._forget(task, link))

    def _forget(self, task: str, link: Link) -> None:
        if self._links.get(task) is link:
            del self._links[task]

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
        # Several may wait for one attempt; one who gives up must not end it for the others.
        return await deadline.wait(asyncio.shield(dialling), what=f"a connection to {task}")

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
        self._keep(task, link)
        _ = self._children.start(link.run(), name=f"link to {task}")
        return link

    async def worker(self, task: str, deadline: Deadline) -> Ref:
        """The worker of another task.

        Raises:
            UnavailableError: if the task cannot be reached.
            DeadlineExceededError: if that takes too long.
        """
        return RemoteRef(await self.link(task, deadline), WORKER)

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
        """Closes all links; bounded by ``grace`` seconds."""
        for link in list(self._links.values()):
            await link.aclose(grace)
        await self._children.stop(grace)

    def statistics(self) -> dict[str, Any]:
        """Traffic by peer task."""
        return {task: link.statistics() for task, link in self._links.items()}
