"""The remote session: the client's side of a session that a master runs.

Connects to the master that the target names, gives it the graph, and asks it to run steps. A master in the
same process and loop is called directly, without encoding anything. The graph may grow: what was added is
sent before the next run that needs a plan.

Made by the session factory, called by the faces; it imports actors, messages and transports.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorsession.actors import registry
from actorsession.actors.deadline import Deadline
from actorsession.actors.link import Link, LinkStatistics
from actorsession.actors.ref import Ref
from actorsession.actors.remote_ref import RemoteRef
from actorsession.actors.supervision import Children
from actorsession.config import (
    CONNECT_TIMEOUT,
    DEFAULT_STEP_TIMEOUT,
    ConfigProto,
    RunMetadata,
    RunOptions,
    StepStats,
)  # fmt: skip
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InternalError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
)  # fmt: skip
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef
from actorsession.messages.done import Done
from actorsession.messages.session import (
    MASTER,
    CloseSession,
    CreateSession,
    DeviceList,
    ExtendSession,
    ListDevices,
    RunStep,
    SessionCreated,
    SessionExtended,
    StepDone,
)  # fmt: skip
from actorsession.plan.signature import RunSignature
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.session.remote_settings import refuse_local_settings
from transports import AuthenticationError, Hello, ProtocolError, TransportError, WrongPeer, connect

__all__ = ["TOKEN_VARIABLE", "RemotePlan", "RemoteSession", "RemoteStatistics", "shared_token"]

TOKEN_VARIABLE = "ACTORSESSION_TOKEN"
"""The environment variable with the secret of servers that listen on more than loopback."""

# Seconds between attempts to reach a master that is not there yet.
_RETRY = 0.1
# Seconds for the master to close a session; it gives its workers two.
_CLOSE = 5.0
# Seconds for the connection to end.
_GRACE = 2.0
# Seconds that the client waits longer than the limit of a run, for the master's word on what was late.
_ANSWER_MARGIN = 0.25
_GONE = (UnavailableError, DeadlineExceededError, AbortedError, CancelledError)
_CLOSED = "Session has been closed."


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """What a remote session keeps of a plan: the names in the order in which values travel.

    Attributes:
        signature: the names.
        fetches: its fetches, as messages have them.
        targets: its targets, likewise.
    """

    signature: RunSignature
    fetches: list[str]
    targets: list[str]


@dataclass(frozen=True, slots=True)
class RemoteStatistics:
    """Counters of a remote session.

    Attributes:
        steps: steps that run now.
        link: traffic with the master; ``None`` if it is in this process or not connected.
    """

    steps: int
    link: LinkStatistics | None


class RemoteSession:
    """Asks a master to run a graph.

    Args:
        graph: it may grow.
        target: address of the master.
        config: settings; sent to the master.

    Raises:
        InvalidArgumentError: for settings that only local sessions have, or a malformed device filter.
    """

    def __init__(self, graph: Graph, target: str, config: ConfigProto) -> None:
        refuse_local_settings(config)
        DeviceFilters(config.device_filters)  # the master reads them; a malformed one is told here
        self._graph = graph
        self._target = target
        self._config = config
        self._children = Children(f"session to {target}")
        self._ref: Ref | None = None
        self._link: Link | None = None
        self._handle = ""
        self._version = 0
        self._sent = 0  # how many operations the master knows
        self._connecting = asyncio.Lock()
        self._extending = asyncio.Lock()
        self._steps = 0
        self._requests = itertools.count()
        self._request_prefix = secrets.token_hex(8)
        self._closed = False

    # -- connecting ----------------------------------------------------------------------------

    async def connect(self) -> None:
        """Reaches the master and creates the session there; does nothing if that was done.

        If it fails or is cancelled nothing is left open, and the next call tries anew.

        Raises:
            UnavailableError: if nobody answers at the target in time.
            UnauthenticatedError: if the master asks for another token than ours.
            DeadlineExceededError: if the master's cluster does not come together in time.
            CancelledError: if the session is closed.
        """
        async with self._connecting:
            self._check_open()
            if self._handle:
                return
            deadline = Deadline.after(self._config.operation_timeout or CONNECT_TIMEOUT)
            try:
                self._ref = await self._reach(deadline)
                await self._create(deadline)
            except BaseException:
                # The master drops a session whose client has hung up.
                await self._hang_up(0.0)
                raise

    async def _create(self, deadline: Deadline) -> None:
        operations = self._graph.get_operations()
        created = await self._ask(
            CreateSession(
                graph=_wire(operations, self._graph.seed),
                config=self._config.to_wire(),
                request_id=self._request_id(),
            ),
            deadline,
            SessionCreated,
        )
        self._version = created.graph_version
        self._sent = len(operations)
        self._handle = created.session_handle

    async def _reach(self, deadline: Deadline) -> Ref:
        if not self._config.rpc_options.use_rpc_for_inprocess_master:
            here = registry.lookup(self._target)
            if here is not None:
                return here
        attempts = 0
        while True:
            attempts += 1
            left = deadline.time_left or 0.0
            try:
                connection = await connect(
                    self._target, _hello(), timeout=max(left, _RETRY), token=shared_token()
                )
                break
            except AuthenticationError as exc:
                raise UnauthenticatedError(f"the master at {self._target}: {exc}") from exc
            except (WrongPeer, ProtocolError) as exc:
                raise UnavailableError(f"no master of ours is at {self._target}: {exc}") from exc
            except TransportError as exc:
                last = exc
            if left <= _RETRY:
                raise UnavailableError(
                    f"no master answers at {self._target} after {attempts} "
                    f"attempt{'s' * (attempts > 1)}; last: {last}"
                ) from last
            await asyncio.sleep(_RETRY)
        self._link = Link(connection, serves={}, peer_name=connection.peer.task)
        _ = self._children.start(self._link.run(), name=f"link to {self._target}")
        return RemoteRef(self._link, MASTER)

    async def _hang_up(self, grace: float) -> None:
        link, self._link, self._ref = self._link, None, None
        if link is not None:
            await link.aclose(grace)

    def _check_open(self) -> None:
        if self._closed:
            raise CancelledError(_CLOSED)

    async def _ask(self, message: Any, deadline: Deadline, reply: type[Any]) -> Any:
        if self._ref is None:
            raise InternalError("the session is not connected")
        answer = await self._ref.ask(message, deadline)
        if not isinstance(answer, reply):
            raise InternalError(
                f"the master answered {type(answer).__name__}, not {reply.__name__}"
            )
        return answer

    def _request_id(self) -> str:
        return f"{self._request_prefix}-{next(self._requests)}"

    # -- running -------------------------------------------------------------------------------

    async def prepare(self, signature: RunSignature) -> RemotePlan:
        """Makes sure that the master knows everything a signature names."""
        await self.connect()
        if self._graph.operations_since(self._sent):
            # A child does it, because cancelling a run must not lose count of what the master knows.
            extending = self._children.start(self._extend(), name="extend the graph", awaited=True)
            await asyncio.shield(extending)
        ordered = signature.sorted()
        return RemotePlan(ordered, list(ordered.fetches), list(ordered.targets))

    async def _extend(self) -> None:
        async with self._extending:
            new = self._graph.operations_since(self._sent)
            if not new:
                return
            extended = await self._ask(
                ExtendSession(
                    session_handle=self._handle,
                    graph=_wire(new, self._graph.seed),
                    current_graph_version=self._version,
                    request_id=self._request_id(),
                ),
                Deadline.after(self._config.operation_timeout or DEFAULT_STEP_TIMEOUT),
                SessionExtended,
            )
            self._version = extended.graph_version
            self._sent += len(new)

    async def run(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
    ) -> Sequence[Any]:
        """Runs a step; cancelling it gives the step up on every worker.

        Args:
            plan: what ``prepare`` returned.
            feeds: values in the plan's order.
            limit: seconds; ``None`` for the default.
            options: of this run.
            metadata: filled with what ``options`` ask for.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            UnavailableError: if the master, or a task that the step needs, is lost.
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """
        self._check_open()
        if options is not None and options.debug_options.active:
            raise UnimplementedError(
                f"debug_options: a session of {self._target!r} watches no tensors yet; only sessions in "
                "this process do"
            )
        names = plan.signature.feeds
        # A master in this process gets the arrays themselves, and the caller might change them while
        # the step is suspended; over a link they are borrowed until the answer is there.
        kept = feeds if self._link is not None else [_kept(f) for f in feeds]
        message = RunStep(
            session_handle=self._handle,
            feeds=dict(zip(names, kept, strict=True)),
            fetches=plan.fetches,
            targets=plan.targets,
            options=_wire_options(options, limit),
            request_id=self._request_id(),
        )
        deadline = Deadline.after((limit or DEFAULT_STEP_TIMEOUT) + _ANSWER_MARGIN)
        self._steps += 1
        try:
            done = await self._ask(message, deadline, StepDone)
        except _GONE as error:
            if self._closed:
                raise CancelledError(_CLOSED) from error
            raise
        finally:
            self._steps -= 1
        if metadata is not None:
            _fill(metadata, done.metadata)
        make_own = _scalar if self._link is not None else _own
        return [make_own(value) for value in done.values]

    async def devices(self) -> list[DeviceAttributes]:
        """The devices that the session may use, the client device first."""
        await self.connect()
        answer = await self._ask(
            ListDevices(session_handle=self._handle), Deadline.after(CONNECT_TIMEOUT), DeviceList
        )
        return [DeviceAttributes.from_wire(d) for d in answer.devices]

    # -- end -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Closes the session at the master, if it still answers, and the connection.

        Takes at most a few seconds, and may be called again. Runs that are under way end with
        CancelledError.
        """
        self._closed = True
        handle, self._handle = self._handle, ""
        if handle and self._ref is not None:
            # The master may be gone or have dropped the session: nothing is left to close there then.
            with contextlib.suppress(*_GONE):
                await self._ask(CloseSession(session_handle=handle), Deadline.after(_CLOSE), Done)
        link, self._link = self._link, None
        if link is not None:
            await link.aclose(_GRACE)
        await self._children.stop(_GRACE)

    def statistics(self) -> RemoteStatistics:
        """Counters of the session."""
        return RemoteStatistics(self._steps, self._link.statistics() if self._link else None)


def shared_token() -> str | None:
    """The secret that servers and clients must share, if the environment has one."""
    return os.environ.get(TOKEN_VARIABLE) or None


def _hello() -> Hello:
    return Hello(cluster_id="", task="client", incarnation=secrets.randbits(63), pid=os.getpid())


def _wire(operations: Sequence[Any], seed: int | None) -> list[Any]:
    return GraphDef(tuple(op.node_def for op in operations), seed=seed).to_wire()


def _wire_options(options: RunOptions | None, limit: float | None) -> dict[str, Any]:
    """The options as the master gets them; it keeps the limit, for it knows what the step waits for."""
    if limit is None:
        return options.to_wire() if options is not None else {}
    return {**(options or RunOptions()).to_wire(), "timeout_in_ms": max(1, round(limit * 1000))}


def _kept(feed: Any) -> Any:
    """A fed value that nobody changes while the step is under way."""
    return feed.copy() if isinstance(feed, np.ndarray) and feed.flags.writeable else feed


def _own(value: Any) -> Any:
    """A value of a master in this process, made the caller's own."""
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value) if value.ndim else value[()]


def _scalar(value: Any) -> Any:
    """A decoded value; rank 0 becomes a scalar, as TensorFlow gives."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _fill(metadata: RunMetadata, wire: dict[str, Any] | None) -> None:
    metadata.clear()
    if not wire:
        return
    if wire.get("step_stats") is not None:
        metadata.step_stats = StepStats.from_wire(wire["step_stats"])
    metadata.partition_graphs = [GraphDef.from_wire(g) for g in wire.get("partition_graphs") or ()]
