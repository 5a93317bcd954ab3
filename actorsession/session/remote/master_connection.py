"""The connection from a client to a master, which is found in this process or dialled.

Holds one connection and its messages. A master in the same process is called directly, without encoding,
unless ``rpc_options.use_rpc_for_inprocess_master`` requests the wire. Used by remote sessions and by
``reset``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

from actorsession.actors import registry
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import LocalRef, Ref
from actorsession.actors.supervision import Children
from actorsession.config import CONNECT_TIMEOUT, ConfigProto, RPCOptions
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    OpError,
    UnauthenticatedError,
    UnavailableError,
)
from actorsession.messages.done import Done
from actorsession.messages.session import MASTER, ResetContainers
from actorsession.rpc.exit_reports import add_exit_status, is_given_up, note_answer
from actorsession.rpc.link import Link
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatMemory
from actorsession.rpc.liveness.peer_monitor import probe_factory
from actorsession.rpc.local_calls import LocalCalls
from actorsession.rpc.remote_ref import RemoteRef
from actorsession.rpc.security import are_our_files_at_fault, bare_scheme, security_of, shared_token
from actorsession.session.targets import master_addresses
from transports import AuthenticationError, Connection, Hello, ProtocolError, TransportError, WrongPeer, connect
from transports.host import current_host

__all__ = ["GONE", "RETRY", "MasterConnection", "reset_master"]

T = TypeVar("T")

RETRY = 0.1
"""Seconds between attempts to reach a master that does not answer yet."""
GONE = (UnavailableError, DeadlineExceededError, AbortedError, CancelledError)
"""The errors of a request that a closed session, or a lost master, makes."""

# Seconds for closing a connection.
_GRACE = 2.0
# Seconds of one attempt to dial a master. One that is lost in the middle of the handshake, as with a machine that
# starts anew, is told to nobody; the master that is there by then answers the next attempt.
_ATTEMPT = 5.0


class MasterConnection:
    """A connection to a master; it can be made again after a loss.

    Args:
        target: the addresses of masters, any of which will do. The first that answers is taken, each time anew.
        children: owns the connection's asyncio tasks.
        options: whether a master in this process is dialled like a remote one, and the TLS files.

    Attributes:
        address: of the master that was reached; the first of all until one was.
        link: the link to the master, if it was dialled.
        channel: how runs reach the master: the link, or direct calls; ``None`` until it was reached.

    Raises:
        InvalidArgumentError: for a malformed target, or an environment that sets only some of the three TLS
            variables.
    """

    def __init__(self, target: str, children: Children, options: RPCOptions) -> None:
        self._security = security_of(options)
        self._addresses = master_addresses(target, bare_scheme(tls=self._security is not None))
        self.address = self._addresses[0]
        self._children = children
        self._over_wire = options.use_rpc_for_inprocess_master
        self._ref: Ref | None = None
        self._fate = ""  # what has become of the master, once that was found out
        self.link: Link | None = None
        self.channel: Link | LocalCalls | None = None

    @property
    def reached(self) -> bool:
        """Whether the master was reached, so that messages can be sent."""
        return self._ref is not None

    @property
    def lost(self) -> bool:
        """Whether there was a link that has closed."""
        return self.link is not None and self.link.closed

    @property
    def loss(self) -> OpError | None:
        """The reason why the link that there was has closed."""
        if self.link is None or not self.link.closed:
            return None
        words = self._fate or self.link.statistics().over or ""
        return UnavailableError(words, task=self.link.peer_name)

    @property
    def known(self) -> str | None:
        """The task of the master that was reached last."""
        return None if self.link is None else self.link.peer_name

    async def reach(self, deadline: Deadline) -> None:
        """Find a master in this process, or dial all addresses until one answers.

        Raises:
            UnavailableError: if no master answers at any address in time; it names each with the reason.
            UnauthenticatedError: if the master requires another token than ours, or one side does not
                accept the other's certificate.
            InvalidArgumentError: if our own TLS files are unusable.
        """
        for address in () if self._over_wire else self._addresses:
            self._ref = registry.lookup(address)
            if self._ref is not None:
                self.address = address
                assert isinstance(self._ref, LocalRef)  # those of this process are
                self.channel = LocalCalls(self._ref, address)
                return
        self._ref = await self._dial(deadline)
        self.channel, self._fate = self.link, ""

    async def _dial(self, deadline: Deadline) -> Ref:
        pulse = HeartbeatMemory()
        try:
            hello = _hello(str(pulse.note))
            self.address, connection = await self._connect_any(hello, deadline)
        except BaseException:
            pulse.close()
            raise
        self.link = Link(
            connection, serves={}, peer_name=connection.peer.task, watch=probe_factory(shared_token(self.address))
        )
        self.link.on_closed(lambda _: pulse.close())
        _ = self._children.start(self.link.run(), name=f"link to {self.address}")
        return RemoteRef(self.link, MASTER)

    async def _connect_any(self, hello: Hello, deadline: Deadline) -> tuple[str, Connection]:
        """Dial all addresses at once; return the first connection that is made, with its address.

        The others are given up. Of two that are made at the same time, the one that is listed first counts.
        """
        if len(self._addresses) == 1:
            return self.address, await self._connect(self._addresses[0], hello, deadline)
        dials: dict[str, asyncio.Task[Connection]] = {}
        taken = None
        try:
            for address in self._addresses:
                dialling = self._connect(address, hello, deadline)
                name = f"dial {address}"
                dials[address] = self._children.start(dialling, name=name, awaited=True)
            waiting = set(dials.values())
            while waiting:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                taken = next((address for address in dials if _made(dials[address])), None)
                if taken is not None:
                    return taken, dials[taken].result()
            raise _none_reached(list(dials.values()))
        finally:
            await _give_up([dial for address, dial in dials.items() if address != taken])

    async def _connect(self, address: str, hello: Hello, deadline: Deadline) -> Connection:
        attempts = 0
        while True:
            attempts += 1
            left = deadline.time_left or 0.0
            try:
                seconds = max(min(left, _ATTEMPT), RETRY)
                connection = await connect(
                    address, hello, timeout=seconds, token=shared_token(address), security=self._security
                )
                note_answer(address)
                return connection
            except AuthenticationError as exc:
                raise UnauthenticatedError(f"the master at {address}: {exc}") from exc
            except (WrongPeer, ProtocolError) as exc:
                raise UnavailableError(f"no master of ours is at {address}: {exc}") from exc
            except TransportError as exc:
                if are_our_files_at_fault(exc):
                    raise InvalidArgumentError(str(exc)) from exc
                last = exc
            if left <= RETRY or is_given_up(address):
                error = UnavailableError(
                    f"no master answers at {address} after {attempts} attempt{'s' * (attempts > 1)}; last: {last}",
                    task=self.known,
                )
                raise await add_exit_status(error, address) from last
            await asyncio.sleep(RETRY)

    async def ask(self, message: object, deadline: Deadline, reply: type[T]) -> T:
        """Send the master a message and return its answer.

        Args:
            message: the message.
            deadline: the time until which to wait.
            reply: the class of the answer.

        Raises:
            OpError: the master's error, or the reason why it cannot be reached.
        """
        if self._ref is None:
            raise UnavailableError(f"there is no connection to the master at {self.address}", task=self.known)
        target = self.channel if isinstance(self.channel, LocalCalls) else self._ref
        try:
            answer = await target.ask(message, deadline)
        except UnavailableError as error:
            await self.add_fate(error)
            raise
        if not isinstance(answer, reply):
            raise InternalError(f"the master answered {type(answer).__name__}, not {reply.__name__}")
        return answer

    async def add_fate(self, error: UnavailableError) -> None:
        """Add to an error what has become of the process of its task; for a lost master, the same each time.

        The next process of the task may be registered by the time of a later call.
        """
        if self.lost and self._fate:
            error.message = self._fate
            return
        link = self.link
        if link is not None and not link.closed and error.task in (None, link.peer_name):
            return  # what a master answers that lives, whatever became of the process before it
        plain = error.message
        await add_exit_status(error, self.address)
        if self.lost and error.message != plain:
            self._fate = error.message

    def tell(self, message: object) -> None:
        """Send the master a message without an answer; drop it if the master is gone or not reached yet."""
        with contextlib.suppress(OpError):
            if self._ref is not None:
                self._ref.tell(message)

    def drop(self) -> None:
        """Drop the connection without waiting, when the loop that it belongs to has ended."""
        channel, link = self.channel, self.link
        self.channel = self.link = self._ref = None
        if isinstance(channel, LocalCalls):
            with contextlib.suppress(RuntimeError):  # nothing is called on a closed loop
                channel.end()
        elif link is not None:
            link.abandon()

    async def give_up(self, why: str) -> None:
        """Close the connection of a session that goes on: what waits for it fails as lost, as nobody has cancelled it.

        Args:
            why: the reason, as the rest of a sentence.
        """
        if self.link is not None:
            self.link.drop(why)
        await self.hang_up(0.0)

    async def hang_up(self, grace: float) -> None:
        """Close the connection, if there is one."""
        channel, link = self.channel, self.link
        self.channel = self.link = self._ref = None
        if isinstance(channel, LocalCalls):
            channel.end()
        elif link is not None:  # a session that is closed while it dials has no channel yet
            await link.aclose(grace)


def _made(dial: asyncio.Task[Connection]) -> bool:
    return dial.done() and not dial.cancelled() and dial.exception() is None


async def _give_up(dials: Sequence[asyncio.Task[Connection]]) -> None:
    """Cancel dials, and close the connections that were made all the same."""
    for dial in dials:
        dial.cancel()
    if dials:
        await asyncio.wait(dials)
    for dial in dials:
        if _made(dial):
            await dial.result().aclose()


def _none_reached(dials: Sequence[asyncio.Task[Connection]]) -> BaseException:
    """Return the error for several addresses, with the reason of each; of their class if it is one."""
    errors: list[OpError] = []
    for dial in dials:
        error = AbortedError("the connection is closing") if dial.cancelled() else dial.exception()
        if not isinstance(error, OpError):
            return error or InternalError(f"{dial.get_name()} has neither failed nor succeeded")
        errors.append(error)
    kinds = {type(error) for error in errors}
    kind = kinds.pop() if len(kinds) == 1 else UnavailableError
    reasons = "; ".join(f"({i}) {error.message}" for i, error in enumerate(errors, 1))
    return kind(f"none of {len(errors)} masters can be used: {reasons}")


def _hello(pulse: str) -> Hello:
    host = current_host()
    incarnation, pid = host.entropy.randbits(63), host.processes.getpid()
    return Hello(cluster_id="", task="client", incarnation=incarnation, pid=pid, pulse=pulse)


@contextlib.contextmanager
def _late(config: ConfigProto) -> Iterator[None]:
    """Say that the caller's time limit has passed where there is one and nobody can be reached."""
    try:
        yield
    except UnavailableError as exc:
        if config.operation_timeout:
            raise DeadlineExceededError(exc.message) from exc
        raise


async def reset_master(target: str, config: ConfigProto, containers: Sequence[str]) -> None:
    """Make a master close all its sessions and clear containers on all tasks.

    Args:
        target: address of the master, or several, of which the first that answers is taken.
        config: gives the time limit, by default 30 s, and the RPC options.
        containers: names of the containers; the default container if empty.

    Raises:
        InvalidArgumentError: for a malformed target.
        UnavailableError: if the master cannot be reached; or, once everything else is done, if containers on
            some tasks could not be cleared; it names these tasks.
        DeadlineExceededError: if the master does not answer in time.
    """
    deadline = Deadline.after(config.operation_timeout or CONNECT_TIMEOUT)
    children = Children(f"reset of {target}")
    with _late(config):
        master = MasterConnection(target, children, config.rpc_options)
    try:
        with _late(config):
            await master.reach(deadline)
        await master.ask(ResetContainers(containers=list(containers)), deadline, Done)
    finally:
        await master.hang_up(_GRACE)
        await children.stop(_GRACE)
