"""The connection from a client to a master, which is found in this process or dialled.

Holds one connection and its messages. A master in the same process is called directly, without encoding,
unless ``rpc_options.use_rpc_for_inprocess_master`` requests the wire. Used by remote sessions and by
``reset``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Sequence
from typing import TypeVar

from actorsession.actors import registry
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    UnauthenticatedError,
    UnavailableError,
)  # fmt: skip
from actorsession.messages.done import Done
from actorsession.messages.session import MASTER, ResetContainers
from actorsession.rpc.exit_reports import add_exit_status
from actorsession.rpc.link import Link
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatMemory
from actorsession.rpc.liveness.peer_monitor import probe_factory
from actorsession.rpc.remote_ref import RemoteRef
from actorsession.rpc.security import are_our_files_at_fault, security_of, shared_token
from transports import (
    AuthenticationError,
    Connection,
    Hello,
    ProtocolError,
    SecurityConfig,
    TransportError,
    WrongPeer,
    connect,
)  # fmt: skip

__all__ = ["RETRY", "MasterConnection", "reset_master"]

T = TypeVar("T")

RETRY = 0.1
"""Seconds between attempts to reach a master that does not answer yet."""

# Seconds for closing a connection.
_GRACE = 2.0


class MasterConnection:
    """A connection to the master at a target; it can be made again after a loss.

    Args:
        target: address of the master.
        over_wire: whether a master in this process is dialled like a remote one.
        children: owns the connection's asyncio tasks.
        security: TLS files, for a target of ``tls://``.
    """

    def __init__(
        self,
        target: str,
        children: Children,
        *,
        over_wire: bool,
        security: SecurityConfig | None = None,
    ) -> None:
        self._target = target
        self._children = children
        self._over_wire = over_wire
        self._security = security
        self._ref: Ref | None = None
        self.link: Link | None = None

    @property
    def reached(self) -> bool:
        """Whether the master was reached, so that messages can be sent."""
        return self._ref is not None

    @property
    def lost(self) -> bool:
        """Whether there was a link that has closed."""
        return self.link is not None and self.link.closed

    async def reach(self, deadline: Deadline) -> None:
        """Find the master in this process, or dial it until it answers.

        Raises:
            UnavailableError: if no master answers at the target in time.
            UnauthenticatedError: if the master requires another token than ours, or one side does not
                accept the other's certificate.
            InvalidArgumentError: if our own TLS files are unusable.
        """
        local = None if self._over_wire else registry.lookup(self._target)
        self._ref = local if local is not None else await self._dial(deadline)

    async def _dial(self, deadline: Deadline) -> Ref:
        pulse = HeartbeatMemory()
        try:
            connection = await self._connect(_hello(str(pulse.note)), deadline)
        except BaseException:
            pulse.close()
            raise
        self.link = Link(
            connection,
            serves={},
            peer_name=connection.peer.task,
            watch=probe_factory(shared_token()),
        )
        self.link.on_closed(lambda _: pulse.close())
        _ = self._children.start(self.link.run(), name=f"link to {self._target}")
        return RemoteRef(self.link, MASTER)

    async def _connect(self, hello: Hello, deadline: Deadline) -> Connection:
        attempts = 0
        while True:
            attempts += 1
            left = deadline.time_left or 0.0
            try:
                return await connect(
                    self._target, hello, timeout=max(left, RETRY), token=shared_token(),
                    security=self._security,
                )  # fmt: skip
            except AuthenticationError as exc:
                raise UnauthenticatedError(f"the master at {self._target}: {exc}") from exc
            except (WrongPeer, ProtocolError) as exc:
                raise UnavailableError(f"no master of ours is at {self._target}: {exc}") from exc
            except TransportError as exc:
                if are_our_files_at_fault(exc):
                    raise InvalidArgumentError(str(exc)) from exc
                last = exc
            if left <= RETRY:
                error = UnavailableError(
                    f"no master answers at {self._target} after {attempts} "
                    f"attempt{'s' * (attempts > 1)}; last: {last}"
                )
                raise await add_exit_status(error, self._target) from last
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
            raise InternalError("the session is not connected")
        try:
            answer = await self._ref.ask(message, deadline)
        except UnavailableError as error:
            await add_exit_status(error, self._target)
            raise
        if not isinstance(answer, reply):
            raise InternalError(
                f"the master answered {type(answer).__name__}, not {reply.__name__}"
            )
        return answer

    def tell(self, message: object) -> None:
        """Send the master a message without an answer; drop it if the master is gone or not reached yet."""
        with contextlib.suppress(OpError):
            if self._ref is not None:
                self._ref.tell(message)

    async def hang_up(self, grace: float) -> None:
        """Close the connection, if there is one."""
        link, self.link, self._ref = self.link, None, None
        if link is not None:
            await link.aclose(grace)


def _hello(pulse: str) -> Hello:
    return Hello(
        cluster_id="", task="client", incarnation=secrets.randbits(63), pid=os.getpid(), pulse=pulse
    )


async def reset_master(target: str, config: ConfigProto, containers: Sequence[str]) -> None:
    """Make a master close all its sessions and clear containers on all tasks.

    Args:
        target: address of the master.
        config: gives the time limit, by default 30 s, and the RPC options.
        containers: names of the containers; the default container if empty.

    Raises:
        UnavailableError: if the master cannot be reached; or, once everything else is done, if containers on
            some tasks could not be cleared; it names these tasks.
        DeadlineExceededError: if the master does not answer in time.
    """
    deadline = Deadline.after(config.operation_timeout or CONNECT_TIMEOUT)
    children = Children(f"reset of {target}")
    options = config.rpc_options
    master = MasterConnection(
        target, children, over_wire=options.use_rpc_for_inprocess_master,
        security=security_of(options),
    )  # fmt: skip
    try:
        await master.reach(deadline)
        await master.ask(ResetContainers(containers=list(containers)), deadline, Done)
    finally:
        await master.hang_up(_GRACE)
        await children.stop(_GRACE)
