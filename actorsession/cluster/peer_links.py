"""The links of one task to the others, and the dials to those that have none yet.

One link per pair of tasks serves both directions: the task that dials first creates it, and the other uses
it. A lost link is dialled again by the next call, at the current address of the task, and the transport
resolves host names anew. Owned by a worker cache; imports links and transports.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Coroutine, Mapping
from dataclasses import field
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children, outcome
from actorsession.cluster.task_addresses import ASK, TaskAddresses
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import AbortedError, DeadlineExceededError, OpError, UnavailableError, WorkerRestartedError
from actorsession.messages.worker import WORKER, ReadClock
from actorsession.records import dataclass
from actorsession.rpc.dial import dial
from actorsession.rpc.link import Link
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS
from actorsession.rpc.liveness.peer_monitor import ProbeFactory, probe_factory
from actorsession.runtime.step_log import ErrorLog
from transports import AuthenticationError, Connection, Hello, SecurityConfig, TransportError, WrongPeer

__all__ = ["LinkOptions", "PeerLinks", "PeerRef"]

_log = logging.getLogger("actorsession.cluster")
# A client on another host has no sidecar that could report that it is merely busy. Nothing waits for a
# client: a lost client that is kept costs memory, but a live client that is declared lost loses its session.
_CLIENT_LEASES = 3
# Seconds for an address given by the master of a session, where our own cluster gives another.
_UNCERTAIN = 5.0


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """How the links of a server are made.

    Attributes:
        token: shared secret of the cluster, if it has one.
        security: TLS files of the task, for peers at ``tls://``.
        beat: seconds between heartbeats on each link.
        lease: seconds of silence after which a peer is declared lost, unless it is found to be busy.
        errors: remembers the links to other tasks that were lost; ``None`` for nobody.
    """

    token: str | None = None
    security: SecurityConfig | None = None
    beat: float = BEAT_SECONDS
    lease: float = LEASE_SECONDS
    errors: ErrorLog | None = None

    @property
    def probes(self) -> ProbeFactory:
        """Makes the probes of silent peers."""
        return probe_factory(self.token)


@dataclass(slots=True, eq=False)
class PeerLinks:
    """The links of one task to the others.

    Attributes:
        hello: how the task introduces itself.
        in_use: the link in use for each task.
        ended: whether no task is dialled any more.
    """

    hello: Hello
    _serves: Mapping[str, Ref]  # the actors that peers may address
    _addresses: TaskAddresses
    _options: LinkOptions
    _children: Children  # own the links that are dialled here
    _open: dict[Link, None]  # all links of the server, including those of clients and of sessions
    _named: bool  # whether a task that is dialled introduces itself by the name that it has here
    in_use: dict[str, Link] = field(default_factory=dict, init=False)
    ended: bool = field(default=False, init=False)
    _dialling: dict[str, asyncio.Task[Link]] = field(default_factory=dict, init=False)
    _arrivals: dict[str, asyncio.Future[Link]] = field(default_factory=dict, init=False)  # awaited beside these
    _faults: dict[str, str] = field(default_factory=dict, init=False)  # of dials in progress

    def serve(self, connection: Connection) -> Awaitable[None]:
        """Serve a connection that a peer or client opened; return what waits until it is closed."""
        peer = connection.peer
        # Else it is a client, perhaps one with the name of a task.
        in_cluster = peer.task in self._addresses and peer.cluster_id == self.hello.cluster_id
        link = self._make_link(connection, peer.task, in_cluster=in_cluster)
        # A client without heartbeats asks once, as status reports do again and again, and says nothing new.
        self._register(link, logging.INFO if in_cluster or peer.pulse else logging.DEBUG)
        if in_cluster:
            self._use(peer.task, link)
        return link.run()

    def _make_link(self, connection: Connection, name: str, *, in_cluster: bool = True) -> Link:
        options, lease = self._options, self._options.lease
        if not in_cluster and options.probes(connection, options.beat, lease) is None:
            lease *= _CLIENT_LEASES
        return Link(
            connection, serves=self._serves, peer_name=name, beat=options.beat, lease=lease, watch=options.probes
        )

    def _register(self, link: Link, level: int = logging.INFO) -> None:
        self._open[link] = None
        _log.log(level, "%s has a link to %s at %s", self.hello.task, link.peer_name, link.address)
        link.on_closed(lambda why: self._unregister(link, why, level))

    def _unregister(self, link: Link, why: OpError, level: int) -> None:
        self._open.pop(link, None)
        names = self.hello.task, link.peer_name, link.address
        _log.log(level, "%s has no link to %s at %s any more: %s", *names, why.message)
        errors = self._options.errors
        if errors is not None and link.peer_name in self._addresses and not self.ended:
            errors.note(why, subject="link", task=link.peer_name)

    def _use(self, task: str, link: Link) -> None:
        """Use a link for a task, unless one is in use; a link to another incarnation has to show that it lives."""
        known = self.in_use.get(task)
        if known is None:
            self.in_use[task] = link
            link.on_closed(lambda _: self._forget(task, link))
            arrival = self._arrivals.pop(task, None)
            if arrival is not None:
                arrival.set_result(link)
        elif known.peer.incarnation != link.peer.incarnation:
            with contextlib.suppress(AbortedError):  # all links are ending
                _ = self._children.start(self._succeed(task, link), name=f"another life of {task}")

    async def _succeed(self, task: str, link: Link) -> None:
        """Use a link in place of one to another incarnation, once the peer has answered over it.

        Either the task came back before the end of its former incarnation was noticed, or this is the former one,
        which has died in its handshake: our side of that may end late.
        """
        with contextlib.suppress(OpError):
            await link.ask(WORKER, ReadClock(), Deadline.never())
        known = self.in_use.get(task)
        if not link.closed and (known is None or known.peer.incarnation != link.peer.incarnation):
            if known is not None:
                known.drop(f"{task} was started again")
                self._forget(task, known)
            self._use(task, link)

    def _forget(self, task: str, link: Link) -> None:
        if self.in_use.get(task) is link:
            del self.in_use[task]

    async def link(self, task: str, deadline: Deadline) -> Link:
        """Return the link to a task; dial it if there is none, unless the task does so first.

        Raises:
            UnavailableError: if the task cannot be reached; names the task and its address.
            DeadlineExceededError: if that takes too long.
        """
        link = self.in_use.get(task)
        if link is not None:
            return link
        if self.ended:
            raise UnavailableError(f"the session of the link to {task} has ended", task=task)
        dialling = self._dialling.get(task)
        if dialling is not None:
            # It may fail for a reason that applied when it began, before this caller needed the link.
            with contextlib.suppress(UnavailableError):
                return await self._wait_for(task, dialling, deadline)
            dialling = self._dialling.get(task)
        if dialling is None:
            dialling = self._children.start(self._dial(task), name=f"dial {task}", awaited=True)
            self._dialling[task] = dialling
            dialling.add_done_callback(lambda done: self._dialled(task, done))
        return await self._wait_for(task, dialling, deadline)

    async def _wait_for(self, task: str, dialling: asyncio.Task[Link], deadline: Deadline) -> Link:
        where = f"a connection to {task} at {' or '.join(self._addresses.candidates(task)) or 'no address'}"
        closed = AbortedError(f"{task} is not dialled any more: the links of {self.hello.task} are closed", task=task)
        # Several callers may wait for one attempt; the cancellation of one must not end it for the others. Where the
        # attempt hangs, because the process that it has reached is gone, the next process may dial us meanwhile.
        arrival = self._arrivals.get(task)
        if arrival is None:
            arrival = self._arrivals[task] = asyncio.get_running_loop().create_future()
        first = asyncio.wait((arrival, dialling), return_when=asyncio.FIRST_COMPLETED)
        try:
            await deadline.wait(first, what=where)
            return arrival.result() if arrival.done() else await outcome(dialling, closed)
        except DeadlineExceededError as error:
            fault = self._faults.get(task)
            if fault is None:
                raise
            raise DeadlineExceededError(f"{error.message}; last: {fault}", task=task) from error

    def _dialled(self, task: str, dialling: asyncio.Task[Link]) -> None:
        self._dialling.pop(task, None)
        self._arrivals.pop(task, None)
        self._faults.pop(task, None)
        if not dialling.cancelled():
            dialling.exception()  # retrieved, because all waiters may have been cancelled

    async def _dial(self, task: str) -> Link:
        hint = await self._addresses.refresh(Deadline.after(ASK))
        addresses = self._addresses.candidates(task)
        if not addresses:
            raise UnavailableError(f"no address is known for {task}{hint}", task=task)
        faults: list[str] = []
        for address in addresses:
            timeout = CONNECT_TIMEOUT if address == addresses[-1] else _UNCERTAIN
            try:
                # A task of a session's own cluster introduces itself by the name that it was started with.
                connection = await dial(
                    address,
                    self.hello,
                    Deadline.after(timeout),
                    expect_task=task if self._named else None,
                    expect_cluster=self.hello.cluster_id,
                    token=self._options.token,
                    security=self._options.security,
                    on_fault=lambda fault: self._faults.__setitem__(task, str(fault)),
                )
                break
            except TransportError as exc:
                if isinstance(exc, (WrongPeer, AuthenticationError)):  # it answers, but is unusable
                    who = {"peer": f"{task} {address}"}
                    _log.warning("%s does not use %s: %s", self._addresses.task, address, exc, extra=who)
                faults.append(f"at {address}: {exc}")
                last = exc
        else:
            raise UnavailableError(f"cannot reach {task} {', nor '.join(faults)}{hint}", task=task) from last
        link = self._make_link(connection, task)
        self._register(link)
        self._use(task, link)
        _ = self._children.start(link.run(), name=f"link to {task}")
        return link

    def start(self, ask: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start the ask of a ref whose link is not established yet."""
        return self._children.start(ask, name=f"ask {name}", awaited=True)


class PeerRef:
    """A ref to the worker of another task, over the current link to it.

    Args:
        links: the links of this task.
        task: the other task.
        incarnation: the expected incarnation of the task; any if ``None``.
    """

    __slots__ = ("_incarnation", "_links", "name", "task")

    def __init__(self, links: PeerLinks, task: str, incarnation: int | None) -> None:
        self._links = links
        self._incarnation = incarnation
        self.task = task
        self.name = f"worker {self.task}"

    async def ask(self, message: Any, deadline: Deadline | None = None) -> Any:
        """Send a request and return the answer, see ``Ref.ask``; dials first if there is no link.

        Raises:
            WorkerRestartedError: if another incarnation of the task answers.
            UnavailableError: if the task cannot be reached, or was lost.
        """
        link = self._links.in_use.get(self.task)
        if link is None:
            limit = deadline if deadline is not None else Deadline.after(CONNECT_TIMEOUT)
            link = await self._links.link(self.task, limit)
        if self._incarnation not in (None, link.peer.incarnation):
            raise self._restarted()
        return await link.ask(WORKER, message, deadline)

    def submit(self, message: Any, context: CallContext) -> asyncio.Future[Any]:
        """Send a request and return a future of the answer, see ``Ref.submit``; dials first, as ``ask`` does.

        Raises:
            WorkerRestartedError: if another incarnation of the task answers.
            UnavailableError: if the task was lost.
        """
        link = self._links.in_use.get(self.task)
        if link is None:
            return self._links.start(self.ask(message, context.deadline), self.name)
        if self._incarnation not in (None, link.peer.incarnation):
            raise self._restarted()
        return link.submit(WORKER, message, context.deadline)

    def tell(self, message: Any) -> None:
        """Send a message, see ``Ref.tell``; does not dial, and accepts any incarnation of the task.

        Raises:
            UnavailableError: if there is no link to the task.
        """
        link = self._links.in_use.get(self.task)
        if link is None:
            raise UnavailableError(f"there is no link to {self.task}", task=self.task)
        link.tell(WORKER, message)

    def _restarted(self) -> WorkerRestartedError:
        return WorkerRestartedError(
            f"{self.task} has restarted: its variables and the graphs registered there are gone; "
            "session.reattach() goes on with the new one",
            task=self.task,
        )

    def __repr__(self) -> str:
        return f"<PeerRef to {self.name}>"
