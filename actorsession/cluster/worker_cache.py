"""The addresses of the other tasks of the cluster, and the links to them.

One link per pair of tasks serves both directions: the task that dials first creates it, and the other uses
it. A lost link is dialled again by the next call, at the current address of the task: the server's resolver
is asked again, and the transport resolves host names anew. Pushes never wait: messages that are pushed before
a link is established are delivered by a child once it is, in order.

Owned by a server; masters and workers know it as a ``WorkerCacheInterface``. Imports links and transports.

A session whose client brings a cluster along has a cache of its own at each server, with links of its own:
``for_session``. The sides of the session at the server, of its master and of its worker, hold it together,
and its links end with the last of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import STOP_GRACE, Children
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    WorkerRestartedError,
    error_to_wire,
    from_exception,
)
from actorsession.graph.codec import bytes_held
from actorsession.messages.step_frames import fault_of
from actorsession.messages.worker import WORKER, CleanupGraph, EndGroup, ValuesLost
from actorsession.plan.rendezvous_key import parse_key
from actorsession.rpc.backpressure import BACKLOG
from actorsession.rpc.dial import dial
from actorsession.rpc.link import Link, LinkStatistics
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS
from actorsession.rpc.liveness.peer_monitor import probe_factory
from actorsession.rpc.pushes import Pushed
from actorsession.rpc.step_calls import StepCalls
from transports import (
    AuthenticationError,
    Connection,
    Hello,
    SecurityConfig,
    TransportError,
    WrongPeer,
)

__all__ = ["PeerRef", "WorkerCache"]

_log = logging.getLogger("actorsession.cluster")
# Seconds to learn the addresses of tasks; a third of the limit of a dial, so that the dial still has time.
_ASK = CONNECT_TIMEOUT / 3
# A client on another host has no sidecar that could report that it is merely busy. Nothing waits for a
# client: a lost client that is kept costs memory, but a live client that is declared lost loses its session.
_CLIENT_LEASES = 3
# What goes to other workers without an answer.
_Told: TypeAlias = "Pushed | ValuesLost | EndGroup"
# Seconds for an address given by the master of a session, where our own cluster gives another.
_UNCERTAIN = 5.0
# Limit on the tasks whose addresses masters of sessions may give: more than any cluster has.
_REPORTED = 4096


class WorkerCache:
    """The links of one task to the others.

    Args:
        task: this task.
        hello: how this task introduces itself.
        serves: the actors that peers may address.
        on_lost_push: called with the step id of tensors that could not be delivered, and the error.
        token: shared secret of the cluster, if it has one.
        resolve: updates the addresses from the resolver; called before each dial, so that a task may come
            back elsewhere.
        security: TLS files of this task, for peers at ``tls://``.
        beat: seconds between heartbeats on each link.
        lease: seconds of silence after which a peer is declared lost, unless it is found to be busy.
        server: the cache of the server, if this is that of a session; see ``for_session``.
    """

    def __init__(
        self,
        task: str,
        hello: Hello,
        serves: Mapping[str, Ref],
        on_lost_push: Callable[[int, OpError], None],
        token: str | None = None,
        resolve: Callable[[Deadline], Awaitable[None]] | None = None,
        security: SecurityConfig | None = None,
        *,
        beat: float = BEAT_SECONDS,
        lease: float = LEASE_SECONDS,
        server: WorkerCache | None = None,
    ) -> None:
        self._server = self if server is None else server
        self._task = task
        self._hello = hello
        self._beat = beat
        self._lease = lease
        self._probes = probe_factory(token)
        self._serves = serves
        self._on_lost_push = on_lost_push
        self._token = token
        self._security = security
        self._resolve = resolve
        self._addresses: dict[str, str] = {}
        self._reported: dict[str, str] = {}  # addresses given by masters of sessions
        self._links: dict[str, Link] = {}  # the link in use for each task
        # All links of the server, including those of clients and of sessions.
        self._open: set[Link] = set() if server is None else server._open
        self._of_sessions: dict[str, WorkerCache] = {}  # those that are held, by session handle
        self._to_close: set[WorkerCache] = set()  # and those whose links are being closed as well
        self._holders = 0
        self._ended = False
        self._dialling: dict[str, asyncio.Task[Link]] = {}
        self._faults: dict[str, str] = {}  # latest errors of dials in progress
        self._unsent: dict[str, list[_Told]] = {}
        self._children = Children(f"links of {hello.task}")
        self.pushes = 0

    def introduce_as(self, hello: Hello) -> None:
        """Set how this task introduces itself from now on."""
        self._hello = hello

    @property
    def addresses(self) -> Mapping[str, str]:
        """The known address of each task."""
        return self._addresses

    def learn(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks, replacing known ones."""
        self._addresses.update(addresses)
        for task in addresses:
            self._reported.pop(task, None)

    def learn_from_session(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks as given by the master of a session.

        Such an address is tried first, because a master may be informed of a move earlier. But the address
        given by our own cluster is kept: otherwise any client that opens a session could cut us off from the
        other tasks.
        """
        self._reported.update(addresses)
        while len(self._reported) > _REPORTED:
            del self._reported[next(iter(self._reported))]

    def forget(self, tasks: Iterable[str]) -> None:
        """Remove tasks that have left the cluster; links to them are closed."""
        for task in tasks:
            self._addresses.pop(task, None)
            self._reported.pop(task, None)
            link = self._links.get(task)
            if link is not None:
                _ = self._children.start(
                    link.aclose(), name=f"close the link to {task}, which left"
                )

    # -- sessions with a cluster of their own --------------------------------------------------

    def for_session(self, handle: str, task: str, addresses: Mapping[str, str]) -> WorkerCache:
        """Return the cache of a session whose client brought a cluster along; see the interface."""
        cache = self._of_sessions.get(handle)
        if cache is None:
            # Peers take only links of a task for the way to it. This one is the session's and ends with it.
            hello = replace(self._hello, task=f"{self._task} for session {handle!r:.40}")
            cache = self._of_sessions[handle] = WorkerCache(
                task, hello, self._serves, self._on_lost_push, self._token, None, self._security,
                beat=self._beat, lease=self._lease, server=self,
            )  # fmt: skip
            cache.learn(addresses)
            self._to_close.add(cache)
        cache._holders += 1
        return cache

    def release(self) -> None:
        """Stop holding the cache of a session; see the interface."""
        self._holders -= 1
        if self._holders or self._ended:
            return
        self._ended = True
        of_sessions = self._server._of_sessions
        for handle in [h for h, cache in of_sessions.items() if cache is self]:
            del of_sessions[handle]
        closing = self.aclose(STOP_GRACE)
        _ = self._server._children.start(closing, name=f"close the links of {self._hello.task}")

    # -- links ---------------------------------------------------------------------------------

    def serve(self, connection: Connection) -> Awaitable[None]:
        """Serve a connection that a peer or client opened; return what waits until it is closed."""
        peer = connection.peer
        in_cluster = self._is_cluster_task(peer)
        link = self._make_link(connection, peer.task, in_cluster=in_cluster)
        self._register(link)
        if in_cluster:
            self._use(peer.task, link)
        return link.run()

    def _make_link(self, connection: Connection, name: str, *, in_cluster: bool = True) -> Link:
        lease = self._lease
        if not in_cluster and self._probes(connection, self._beat, lease) is None:
            lease *= _CLIENT_LEASES
        return Link(
            connection, serves=self._serves, peer_name=name, beat=self._beat, lease=lease,
            watch=self._probes,
        )  # fmt: skip

    def _is_cluster_task(self, peer: Hello) -> bool:
        """Return whether the peer that dialled is a task of our cluster, and not a client with its name."""
        known = peer.task in self._addresses or peer.task in self._reported
        return known and peer.cluster_id == self._hello.cluster_id

    def _register(self, link: Link) -> None:
        self._open.add(link)
        _log.info("%s has a link to %s at %s", self._hello.task, link.peer_name, link.address)
        link.on_closed(lambda why: self._unregister(link, why))

    def _unregister(self, link: Link, why: OpError) -> None:
        self._open.discard(link)
        _log.info(
            "%s has no link to %s at %s any more: %s",
            self._hello.task, link.peer_name, link.address, why.message,
        )  # fmt: skip

    def _use(self, task: str, link: Link) -> None:
        """Use a link for a task, unless one to the same incarnation of the task is in use."""
        known = self._links.get(task)
        if known is not None:
            if known.peer.incarnation == link.peer.incarnation:
                return
            # The task came back before the end of its former incarnation was noticed.
            closing = known.aclose()
            _ = self._children.start(closing, name=f"close the link to a former {task}")
        self._links[task] = link
        link.on_closed(lambda _: self._forget(task, link))

    def _forget(self, task: str, link: Link) -> None:
        if self._links.get(task) is link:
            del self._links[task]

    def current_link(self, task: str) -> Link | None:
        """Return the link to a task if there is one."""
        return self._links.get(task)

    def step_calls(self, task: str, incarnation: int) -> StepCalls | None:
        """Return the step frames of the link to an incarnation of a task; see the interface."""
        link = self._links.get(task)
        return None if link is None or link.peer.incarnation != incarnation else link.steps

    def is_linked(self, task: str) -> bool:
        """Return whether there is a link to a task."""
        return task in self._links

    def watch(self, task: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for the end of the link to a task; called soon if there is none.

        Args:
            task: the task.
            callback: called once.

        Returns:
            A function that unregisters the callback. It may be called repeatedly, and after the callback.
        """
        link = self._links.get(task)
        if link is None:
            return asyncio.get_running_loop().call_soon(callback).cancel
        return link.on_closed(lambda _: callback())

    async def link(self, task: str, deadline: Deadline) -> Link:
        """Return the link to a task; dial it if there is none.

        Raises:
            UnavailableError: if the task cannot be reached; names the task and its address.
            DeadlineExceededError: if that takes too long.
        """
        found = self._links.get(task)
        if found is not None:
            return found
        if self._ended:
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
        where = f"a connection to {task} at {' or '.join(self._candidate_addresses(task)) or 'no address'}"
        # Several callers may wait for one attempt; the cancellation of one must not end it for the others.
        try:
            return await deadline.wait(asyncio.shield(dialling), what=where)
        except DeadlineExceededError as error:
            fault = self._faults.get(task)
            if fault is None:
                raise
            raise DeadlineExceededError(f"{error.message}; last: {fault}", task=task) from error

    def _dialled(self, task: str, dialling: asyncio.Task[Link]) -> None:
        self._dialling.pop(task, None)
        self._faults.pop(task, None)
        if not dialling.cancelled():
            dialling.exception()  # retrieved, because all waiters may have been cancelled

    def _candidate_addresses(self, task: str) -> list[str]:
        """Return the addresses at which a task may be, in the order in which they are tried."""
        addresses = (self._reported.get(task), self._addresses.get(task))
        return list(dict.fromkeys(address for address in addresses if address))

    async def _dial(self, task: str) -> Link:
        hint = await self.refresh_addresses(Deadline.after(_ASK))
        addresses = self._candidate_addresses(task)
        if not addresses:
            raise UnavailableError(f"no address is known for {task}{hint}", task=task)
        faults: list[str] = []
        for address in addresses:
            timeout = CONNECT_TIMEOUT if address == addresses[-1] else _UNCERTAIN
            try:
                # A task of a session's own cluster introduces itself by the name that it was started with.
                connection = await dial(
                    address, self._hello, Deadline.after(timeout),
                    expect_task=task if self._server is self else None,
                    expect_cluster=self._hello.cluster_id, token=self._token,
                    security=self._security,
                    on_fault=lambda fault: self._faults.__setitem__(task, str(fault)),
                )  # fmt: skip
                break
            except TransportError as exc:
                if isinstance(exc, (WrongPeer, AuthenticationError)):  # it answers, but is unusable
                    who = {"peer": f"{task} {address}"}
                    _log.warning("%s does not use %s: %s", self._task, address, exc, extra=who)
                faults.append(f"at {address}: {exc}")
                last = exc
        else:
            raise UnavailableError(
                f"cannot reach {task} {', nor '.join(faults)}{hint}", task=task
            ) from last
        link = self._make_link(connection, task)
        self._register(link)
        self._use(task, link)
        _ = self._children.start(link.run(), name=f"link to {task}")
        return link

    async def refresh_addresses(self, deadline: Deadline) -> str:
        """Update the addresses from the resolver, if there is one.

        If that fails, the last known addresses may still be tried, because a peer that answers introduces
        itself with its task.

        Returns:
            Text to append to an error about an address that does not answer; "" on success.
        """
        if self._resolve is None:
            return ""
        try:
            await self._resolve(Deadline.after(_ASK).earliest(deadline))
        except OpError as error:
            _log.warning("%s: where tasks are could not be asked: %s", self._task, error.message)
            return f"; that address may be old: {error.message}"
        return ""

    def start(self, ask: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start the ask of a ref whose link is not established yet."""
        return self._children.start(ask, name=f"ask {name}", awaited=True)

    def worker(self, task: str, incarnation: int | None = None) -> Ref:
        """Return a ref to the worker of a task; that of this task is called directly.

        Args:
            task: the task; another one is dialled on the first request.
            incarnation: the expected incarnation of the task; any if left out.
        """
        return self._serves[WORKER] if task == self._task else PeerRef(self, task, incarnation)

    # -- pushes --------------------------------------------------------------------------------

    def push(self, task: str, message: Pushed) -> None:
        """Deliver tensors to the worker of another task; never blocks."""
        self._server.pushes += 1
        link = self._links.get(task)
        if link is None or self._unsent:
            self.tell_after_pushes(task, message)
            return
        try:
            link.steps.pushes.push(message)
        except Exception as exc:
            self._not_pushed(link, task, message, from_exception(exc))

    def tell_after_pushes(self, task: str, message: _Told) -> None:
        """Deliver a message to the worker of another task after all earlier pushes; never blocks."""
        link = self._links.get(task)
        if link is not None and task not in self._unsent:
            self._tell(link, task, message)
            return
        if self._ended:
            return  # the steps of the session are over
        waiting = self._unsent.setdefault(task, [])
        waiting.append(message)
        if len(waiting) == 1:
            _ = self._children.start(self._push_later(task), name=f"push to {task}")

    def is_backlogged(self, task: str) -> bool:
        """Return whether so much is queued for a task that no step that sends to it should start."""
        if task in self._unsent:  # the link is not established yet
            return self.unsent_bytes(task) > BACKLOG
        link = self._links.get(task)
        return link is not None and link.backlogged

    def unsent_bytes(self, task: str) -> int:
        """Return how many bytes are queued for a task."""
        waiting = self._unsent.get(task)
        if waiting is not None:
            return sum(_nbytes(message) for message in waiting)
        link = self._links.get(task)
        return 0 if link is None else link.statistics().send_buffer

    async def wait_for_capacity(self, task: str) -> None:
        """Wait until the link is no longer backlogged, is lost, or cannot be established."""
        if task in self._unsent:
            with contextlib.suppress(OpError):
                await self.link(task, Deadline.after(CONNECT_TIMEOUT))
            await asyncio.sleep(0)  # the queued messages are sent first
        link = self._links.get(task)
        if link is not None:
            await link.drain()

    async def _push_later(self, task: str) -> None:
        while waiting := self._unsent.get(task):
            count = len(waiting)
            try:
                link = await self.link(task, Deadline.after(CONNECT_TIMEOUT))
                break
            except OpError as error:
                # Messages that were pushed later get a dial of their own, because this one may have failed
                # for an earlier reason.
                tried = waiting[:count]
                del waiting[:count]
                if not waiting:
                    del self._unsent[task]
                for message in tried:
                    self._on_lost_push(message.step_id, error)
        else:
            return
        # The task may have dialled us at the same time; then its link is in use, and later messages go by it.
        link = self._links.get(task, link)
        for message in self._unsent.pop(task, []):
            self._tell(link, task, message)

    def _tell(self, link: Link, task: str, message: _Told) -> None:
        try:
            if isinstance(message, Pushed):
                link.steps.pushes.push(message)
            else:
                link.tell(WORKER, message, ordered=True)
        except Exception as exc:
            self._not_pushed(link, task, message, from_exception(exc))

    def _not_pushed(self, link: Link, task: str, message: _Told, error: OpError) -> None:
        """Fail a step here and at the receiver, which would wait for values that cannot be sent."""
        if link.closed:  # the receiver notices that itself
            self._on_lost_push(message.step_id, error.locate(task=task))
            return
        if isinstance(message, Pushed):
            error = _of_value(message, error)
        self._on_lost_push(message.step_id, error)
        end = CleanupGraph(step_id=message.step_id, error=error_to_wire(error), settles=False)
        with contextlib.suppress(OpError):  # the link has ended: see above
            link.tell(WORKER, end)

    # -- end -----------------------------------------------------------------------------------

    def say_goodbye(self, reason: str) -> None:
        """Tell all peers and clients why their connections are going to end."""
        owners: list[Link | WorkerCache] = [*self._open, *self._to_close]
        for owner in owners:
            owner.say_goodbye(reason)

    async def aclose(self, grace: float) -> None:
        """Close all links to other tasks at once; takes at most ``grace`` seconds and as many again."""
        owners: list[Link | WorkerCache] = [*self._links.values(), *self._to_close]
        async with asyncio.TaskGroup() as group:
            for owner in owners:
                group.create_task(owner.aclose(grace), name=f"close {owner!r}")
        await self._children.stop(grace)
        self._server._to_close.discard(self)

    def statistics(self) -> tuple[LinkStatistics, ...]:
        """Return the traffic of each open link, sorted by peer."""
        return tuple(sorted((k.statistics() for k in self._open), key=lambda s: s.peer))


def _of_value(message: Pushed, error: OpError) -> OpError:
    """Return the error of values that cannot be sent, with the node and the device of the first of them."""
    sent = zip(message.keys, message.values, message.dead, strict=True)
    faults = ((key, fault_of(value)) for key, value, dead in sent if not dead)
    # Each of them alone may be one that can be sent.
    text, fault = next((found for found in faults if found[1]), (message.keys[0], error))
    assert fault is not None
    try:
        key = parse_key(text)
    except InvalidArgumentError:  # which the receiver would refuse, too
        return fault
    node = key.tensor.removeprefix("^").partition(":")[0] or None
    made = type(fault)(
        f"the value of {key.tensor or key.edge_name} cannot be sent to {key.dst_device}: {fault.message}"
    )
    made.__cause__ = fault
    return made.locate(node=node, device=key.src_device, task=key.src_task)


def _nbytes(message: _Told) -> int:
    return bytes_held(message.values) if isinstance(message, Pushed) else 0


class PeerRef:
    """A ref to the worker of another task, over the current link to it.

    Args:
        cache: the owner of the links.
        task: the other task.
        incarnation: the expected incarnation of the task; any if ``None``.
    """

    __slots__ = ("_cache", "_incarnation", "name", "task")

    def __init__(self, cache: WorkerCache, task: str, incarnation: int | None) -> None:
        self._cache = cache
        self._incarnation = incarnation
        self.task = task
        self.name = f"worker {self.task}"

    async def ask(self, message: Any, deadline: Deadline | None = None) -> Any:
        """Send a request and return the answer, see ``Ref.ask``; dials first if there is no link.

        Raises:
            WorkerRestartedError: if another incarnation of the task answers.
            UnavailableError: if the task cannot be reached, or was lost.
        """
        link = self._cache.current_link(self.task)
        if link is None:
            limit = deadline if deadline is not None else Deadline.after(CONNECT_TIMEOUT)
            link = await self._cache.link(self.task, limit)
        if self._incarnation not in (None, link.peer.incarnation):
            raise self._restarted()
        return await link.ask(WORKER, message, deadline)

    def submit(self, message: Any, context: CallContext) -> asyncio.Future[Any]:
        """Send a request and return a future of the answer, see ``Ref.submit``; dials first, as ``ask`` does.

        Raises:
            WorkerRestartedError: if another incarnation of the task answers.
            UnavailableError: if the task was lost.
        """
        link = self._cache.current_link(self.task)
        if link is None:
            return self._cache.start(self.ask(message, context.deadline), self.name)
        if self._incarnation not in (None, link.peer.incarnation):
            raise self._restarted()
        return link.submit(WORKER, message, context.deadline)

    def tell(self, message: Any) -> None:
        """Send a message, see ``Ref.tell``; does not dial, and accepts any incarnation of the task.

        Raises:
            UnavailableError: if there is no link to the task.
        """
        link = self._cache.current_link(self.task)
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
