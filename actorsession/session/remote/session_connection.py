"""The connection of a remote session: its session at the master, and how that is reached.

Reaches a master through ``MasterConnection`` and creates the session there, with the graph as it is then. Has
the ids of requests and the children of the session, and knows when it is closed. ``SentGraph`` has what the
master knows of the graph, ``SessionRecovery`` what was lost with a former master. Owned by a
``RemoteSession``; its steps, partial runs and debugged runs send their messages through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children, outcome
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.durations import checked_seconds
from actorsession.errors import AbortedError, CancelledError, DeadlineExceededError, OpError, UnavailableError
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.messages.done import Done
from actorsession.messages.session import (
    CloseSession,
    CreateSession,
    DeviceList,
    FindPlacement,
    ListDevices,
    PlacementFound,
    SessionCreated,
    TasksPresent,
    WaitForTasks,
)
from actorsession.progress import shown_while
from actorsession.session.remote.master_connection import GONE, RETRY, MasterConnection
from actorsession.session.remote.remote_run import ANSWER_MARGIN
from actorsession.session.remote.remote_steps import LEAST
from actorsession.session.remote.sent_graph import SentGraph, Snapshot
from actorsession.session.remote.session_recovery import SessionRecovery
from actorsession.session.session_interface import SESSION_CLOSED
from transports.host import current_host

__all__ = ["SessionConnection"]

# Attempts to create a session when the connection is lost before the answer arrives.
_TRIES = 3
# Seconds for the master to close a session; it gives its workers two of them.
_CLOSE = 5.0
# Seconds for closing the connection.
_GRACE = 2.0
T = TypeVar("T")


class SessionConnection:
    """The connection of one session to its master.

    Args:
        graph: the graph of the session; it may grow.
        target: address of the master, or several, of which the first that answers is taken.
        config: settings; sent to the master.

    Attributes:
        target: the argument ``target``.
        handle: the master's name for the session; "" while there is none.
        closed: whether the session was closed.
        master: the connection to the master.
        sent: what the master has of the graph.
        recovery: continues the session after the loss of the master.
        limit: seconds that an operation may take.

    Raises:
        InvalidArgumentError: for a malformed target, or an environment that sets only some of the three TLS
            variables.
    """

    __slots__ = (
        "_children",
        "_config",
        "_connecting",
        "_request_prefix",
        "_requests",
        "closed",
        "handle",
        "limit",
        "master",
        "recovery",
        "sent",
        "target",
    )

    def __init__(self, graph: Graph, target: str, config: ConfigProto) -> None:
        self.target = target
        self._config = config
        self._children = Children(f"session to {target}")
        self.master = MasterConnection(target, self._children, config.rpc_options)
        self.handle = ""
        self.closed = False
        self.limit = config.operation_timeout or CONNECT_TIMEOUT
        self._connecting = asyncio.Lock()
        self._requests = itertools.count()
        self._request_prefix = current_host().entropy.token_hex(8)
        self.sent = SentGraph(self, graph, config)
        self.recovery = SessionRecovery(self, graph, config)

    @property
    def over_link(self) -> bool:
        """Whether messages are encoded on their way to the master."""
        return self.master.link is not None

    @property
    def is_connecting(self) -> bool:
        """Whether the master is being reached, or the session is being created there."""
        return self._connecting.locked()

    @property
    def lost_master(self) -> bool:
        """Whether a session that there was at the master is gone, because the connection is."""
        return self.master.lost or not self.handle

    @property
    def is_current(self) -> bool:
        """Whether the session exists at its master, with all nodes of the graph."""
        return bool(self.handle) and not (self.closed or self.recovery.is_due) and self.sent.is_whole

    # -- connecting ----------------------------------------------------------------------------

    async def connect(self, limit: float = CONNECT_TIMEOUT, *, anew: bool = False, bare: bool = False) -> None:
        """Reach the master and create the session there; do nothing if that is done.

        If the call fails or is cancelled, nothing stays open, and the next call tries again.

        Args:
            limit: seconds that this may take, unless the session has a limit for operations.
            anew: whether this may create a session in place of one that was lost.
            bare: whether the session is created without the graph, which then follows with the first run, so
                that nothing of it can be refused.

        Raises:
            UnavailableError: if no master answers at the target in time, or the session was lost.
            UnauthenticatedError: if the master requires another token than ours.
            DeadlineExceededError: if the master's cluster is not complete in time.
            CancelledError: if the session is closed.
        """
        async with self._connecting:
            self.check_open()
            if self.handle:
                return
            if not anew:
                self.check_there()
            deadline = Deadline.after(self._config.operation_timeout or limit)
            try:
                with shown_while(f"connecting to {self.target}"):
                    await self._create(deadline, bare)
            except BaseException as exc:
                # The master drops a session whose client has hung up.
                await self.master.hang_up(0.0)
                if self.closed and isinstance(exc, OpError):
                    raise CancelledError(SESSION_CLOSED) from exc
                raise

    async def _create(self, deadline: Deadline, bare: bool) -> None:
        taken = self.sent.snapshot(bare=bare)
        message: CreateSession | None = None
        for left in reversed(range(_TRIES)):
            await self.master.reach(deadline)
            if message is None:
                message = CreateSession(
                    graph=await self.sent.described(lambda: taken.operations, taken.size, deadline),
                    config=self._config.to_wire(),
                    target=self.master.address,
                    request_id=self.request_id(),
                    client=self._request_prefix,
                )
            elif message.target != self.master.address:
                message = replace(message, target=self.master.address)
            try:
                created = await self.master.ask(message, deadline, SessionCreated)
                break
            except UnavailableError:
                if not (self.master.lost and left):
                    raise
                # The answer may have been lost. The master recognises the request by its id, so a repeat
                # makes no second session.
                await self.master.hang_up(0.0)
                await asyncio.sleep(RETRY)
        self.sent.note(created.graph_version, taken)
        self.handle = created.session_handle
        try:
            await self.recovery.begin(checked_seconds("restart_wait", created.restart_wait))
        except BaseException:
            self.handle = ""
            raise

    async def forget(self, handle: str, loss: OpError | None) -> None:
        """End the connection and what there was of a session, before it is created anew.

        Args:
            handle: its handle; nothing is done if there is another session by now.
            loss: why it is created anew, if that is known.
        """
        async with self._connecting:
            if self.handle != handle:  # of a run and ``reattach``, the first has created it
                return
            # Before the connection ends: if that is cancelled, the session must not count as connected.
            self.handle = ""
            self.sent.note(0, Snapshot())
            await self.master.give_up("its session begins anew" if loss is None else loss.message)

    async def be_connected(self, deadline: Deadline | None = None, *, bare: bool = False) -> None:
        """Connect, or go on after the loss of the master where that is possible.

        Raises:
            WorkerRestartedError: if state was lost with the master.
            OpError: as ``connect`` does.
        """
        deadline = deadline or Deadline.never()
        if not self.recovery.is_due:
            await deadline.wait(self.connect(bare=bare), what=f"the session at {self.target} to begin")
            return
        what = f"the master at {self.master.address}, which was lost, to be started again"
        # A child, so that closing the session ends it.
        resuming = self._children.start(self.recovery.resume(), name=what, awaited=True)
        try:
            await deadline.wait(outcome(resuming, CancelledError(SESSION_CLOSED)), what=what)
        except (asyncio.CancelledError, DeadlineExceededError):
            resuming.cancel()  # nobody waits for it any more
            raise

    async def send_graph(self) -> None:
        """Connect, and send the master the nodes that were added to the graph."""
        await self.be_connected()
        if not self.sent.is_whole:
            # In a child, because cancelling a run must not lose the count of what was sent.
            extending = self._children.start(self.sent.extend(), name="extend the graph", awaited=True)
            await outcome(extending, CancelledError(SESSION_CLOSED))

    # -- requests ------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise ``CancelledError`` if the session is closed."""
        if self.closed:
            raise CancelledError(SESSION_CLOSED)

    def check_there(self) -> None:
        """Raise the error of a session that is closed, or that ``reattach`` could not bring back."""
        if self.closed:
            raise CancelledError(SESSION_CLOSED)
        failure = self.recovery.failure
        if failure is not None:
            raise UnavailableError(failure.message, task=failure.task)

    def request_id(self) -> str:
        """Return a new id for a request, by which the master recognises a repeat."""
        return f"{self._request_prefix}-{next(self._requests)}"

    async def ask(self, message: object, deadline: Deadline, reply: type[T]) -> T:
        """Send the master a message and return its answer; see ``MasterConnection.ask``.

        Raises:
            CancelledError: if the session is closed, also while the master has not answered.
            OpError: as ``MasterConnection.ask`` does.
        """
        self.check_open()
        try:
            return await self.master.ask(message, deadline, reply)
        except GONE as error:
            if self.closed:
                raise CancelledError(SESSION_CLOSED) from error
            raise

    async def devices(self) -> list[DeviceAttributes]:
        """Return the devices of a session that exists at the master."""
        answer = await self.ask(ListDevices(session_handle=self.handle), Deadline.after(CONNECT_TIMEOUT), DeviceList)
        return [DeviceAttributes.from_wire(d) for d in answer.devices]

    async def placement(self) -> PlacementFound:
        """Return where the master of a session that exists has placed the nodes."""
        return await self.ask(FindPlacement(session_handle=self.handle), Deadline.after(self.limit), PlacementFound)

    async def wait_for(self, tasks: str, count: int, deadline: Deadline) -> list[str]:
        """Wait at the master until tasks of the cluster answer it; see ``WaitForTasks``.

        Raises:
            DeadlineExceededError: if too few did in time.
        """
        left = max(deadline.time_left or 0.0, LEAST)
        message = WaitForTasks(
            session_handle=self.handle, tasks=tasks, count=count, timeout_in_ms=math.ceil(left * 1000)
        )
        return (await self.ask(message, Deadline.after(left + ANSWER_MARGIN), TasksPresent)).tasks

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """Start a child of the session; do nothing once the session is closed."""
        with contextlib.suppress(AbortedError):
            return self._children.start(work, name=name)
        return None

    # -- end -----------------------------------------------------------------------------------

    def end(self) -> None:
        """Refuse further requests, because the session is closed, and end what is under way in a thread."""
        self.closed = True
        self.sent.close(CancelledError(SESSION_CLOSED))

    async def close(self) -> None:
        """Close the session at the master, if the master still answers, and the connection."""
        await self._tell_closed()
        await self.master.hang_up(_GRACE)
        await self._children.stop(_GRACE)

    async def abandon(self) -> None:
        """Do the same when the loop of the session has ended, and with it whatever ran there."""
        if not self.over_link:  # a master in this process does not see the end of a connection
            await self._tell_closed()
        self.master.drop()

    async def _tell_closed(self) -> None:
        handle, self.handle = self.handle, ""
        if handle and self.master.reached:
            # The master may be gone or have dropped the session; then there is nothing to close there.
            with contextlib.suppress(*GONE):
                await self.master.ask(CloseSession(session_handle=handle), Deadline.after(_CLOSE), Done)
