"""The remote session: the client's side of a session that a master runs.

Connects to the master that the target names, sends it the graph, and requests steps. A master in the same
process and loop is called directly, without encoding. The graph may grow: new nodes are sent before the next
run that needs a plan.

Made by the session factory, used by the session API.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.actors.timer_wheel import TimerWheel
from actorsession.config import (
    CONNECT_TIMEOUT,
    DEFAULT_STEP_TIMEOUT,
    ConfigProto,
    RunMetadata,
    RunOptions,
    StepStats,
)  # fmt: skip
from actorsession.config.limits import check_graph_size, check_run_size
from actorsession.config.remote_settings import refuse_local_settings
from actorsession.durations import checked_seconds, in_seconds
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
)  # fmt: skip
from actorsession.graph.codec import INLINE_LIMIT, bytes_held
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.function import nodes_in, size_of
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef
from actorsession.graph.operation import Operation
from actorsession.messages.done import Done
from actorsession.messages.registry import VOCABULARY
from actorsession.messages.session import (
    AskSessionWhy,
    CloseSession,
    CreateSession,
    DeviceList,
    ExtendSession,
    FindPlacement,
    ListDevices,
    PlacementFound,
    ReattachSession,
    SessionCreated,
    SessionExtended,
    SessionReattached,
    SessionWhy,
    TasksPresent,
    WaitForTasks,
)  # fmt: skip
from actorsession.messages.step_frames import StepRequest
from actorsession.metrics import session_tally
from actorsession.plan.cost_model import check_cost_model_settings
from actorsession.plan.place import Placed
from actorsession.plan.signature import RunSignature
from actorsession.rpc.exit_reports import is_given_up
from actorsession.rpc.link import Link
from actorsession.rpc.local_calls import LocalCalls
from actorsession.rpc.security import security_of
from actorsession.runtime.admission import Admission
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.hang_report import HangReport, explain
from actorsession.runtime.kept_feeds import aside, large_arrays
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.planning import LARGE, Planning
from actorsession.runtime.session_names import check_version
from actorsession.runtime.wait_graph import TaskWaits
from actorsession.session.partial.remote_partial_runs import RemotePartialRuns
from actorsession.session.reattach import Reattached
from actorsession.session.remote.master_connection import RETRY, MasterConnection
from actorsession.session.remote.master_restart import MasterRestart
from actorsession.session.remote.remote_debugger import RemoteDebugger
from actorsession.session.remote.remote_run import AsyncRun, MustWait, RemoteRun, ThreadRun
from actorsession.session.remote.values import (
    RemotePlan,
    SessionProgram,
    copies_much,
    fill_metadata,
    plan_to_wire,
    sent_feeds,
    timeline_of,
)
from actorsession.session.session_interface import SESSION_CLOSED, TIMELINES, SessionInterface
from actorsession.session.statistics import SessionStatistics
from actorsession.session.targets import master_addresses
from actorsession.session.value_delivery import ValueDelivery

__all__ = ["RemotePlan", "RemoteSession"]

# Attempts to create a session when the connection is lost before the answer arrives.
_TRIES = 3
# Seconds for the master to close a session; it gives its workers two of them.
_CLOSE = 5.0
# Seconds for closing the connection.
_GRACE = 2.0
# Seconds that the client waits beyond the limit of a run, for the master's report on what was late.
_ANSWER_MARGIN = 0.25
# Seconds that are left of a limit at least, so that the answer is an error of the step, not of the request.
_LEAST = 1e-3
_GONE = (UnavailableError, DeadlineExceededError, AbortedError, CancelledError)

T = TypeVar("T")
R = TypeVar("R", bound=RemoteRun)


class RemoteSession(SessionInterface[RemotePlan]):
    """The client of a session that a master runs.

    Args:
        graph: it may grow.
        target: address of the master, or several, of which the first that answers is taken.
        config: settings; sent to the master.

    Attributes:
        handle: the master's name for the session; "" while there is none.
        tally: the counters of the session for the process metrics.
        calls: the numbers of the runs of programs.
        step_limit: seconds that a step may take by default.
        wheel: the deadlines of the runs of programs.

    Raises:
        InvalidArgumentError: for a malformed target, settings that only local sessions support, a negative
            version of the session, a malformed device filter, or an environment that sets only some of the
            three TLS variables.
    """

    # The other attributes are few enough for CPython to keep them without a dictionary of each session.
    __slots__ = ("calls", "handle", "step_limit", "tally", "wheel")

    # Why the session is not at its master any more, once ``reattach`` has failed: all calls say so. They are
    # the class's until then: objects of up to 30 attributes share their keys, others take 1.5 KB more.
    _lost: OpError | None = None
    _loss: OpError | None = None  # and what had happened before it was called

    def __init__(self, graph: Graph, target: str, config: ConfigProto) -> None:
        addresses = master_addresses(target)
        refuse_local_settings(config)
        check_cost_model_settings(config)
        check_version(config.experimental.session_metadata)
        DeviceFilters(
            config.device_filters
        )  # the master reads them; this finds malformed ones here
        self._graph = graph
        self._target = target
        self._config = config
        self._children = Children(f"session to {target}")
        self._master = MasterConnection(
            addresses, self._children, over_wire=config.rpc_options.use_rpc_for_inprocess_master,
            security=security_of(config.rpc_options),
        )  # fmt: skip
        self.handle = ""
        self._version = 0
        # Whether the graph is still being built: a static one is sent by the first run.
        self._unbuilt = config.experimental.optimize_for_static_graph
        self._sent = 0  # number of operations that were sent to the master
        self._extensions = 0  # and number of extensions of them
        self._size = 0  # and their nodes, with those of functions
        self._planning = Planning()
        self._pool: KernelPool | None = None  # for work on large values; most sessions need none
        self._connecting = asyncio.Lock()
        self._extending = asyncio.Lock()
        self._restart = MasterRestart(self, graph, config)
        self._steps = 0  # requests under way that may take as long as a step
        self._runs = itertools.count(1)
        self._running: set[RemoteRun] = set()
        self._inflight = Admission(config.max_inflight_steps).share(
            config.max_inflight_steps, config.max_inflight_bytes
        )
        self._may_wait = False  # whether the graph has ops that may wait for other steps
        self._requests = itertools.count()
        self._request_prefix = secrets.token_hex(8)
        self._timelines: deque[StepStats] | None = None
        self._closed = False
        self._debugger = RemoteDebugger(self)
        self._partial_runs = RemotePartialRuns(
            self, self._debugger, in_seconds(config.partial_run_idle_limit_in_ms)
        )
        self.calls = itertools.count()
        self._operation_timeout = config.operation_timeout
        self.step_limit = config.operation_timeout or DEFAULT_STEP_TIMEOUT
        self.wheel = TimerWheel()
        self.tally = session_tally("remote", self)

    @property
    def partial_runs(self) -> RemotePartialRuns:
        """Steps that are fed and fetched in several calls."""
        return self._partial_runs

    @property
    def debug_store(self) -> DumpStore:
        """The results of debugged runs."""
        return self._debugger.store

    @property
    def target(self) -> str:
        """The address of the master, as the client wrote it."""
        return self._target

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._closed

    # -- connecting ----------------------------------------------------------------------------

    async def connect(
        self, limit: float = CONNECT_TIMEOUT, *, anew: bool = False, bare: bool = False
    ) -> None:
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
            self._check_open()
            if self.handle:
                return
            if not anew:
                self._check_there()
            deadline = Deadline.after(self._config.operation_timeout or limit)
            try:
                await self._create(deadline, bare or self._unbuilt)
            except BaseException as exc:
                # The master drops a session whose client has hung up.
                await self._master.hang_up(0.0)
                if self._closed and isinstance(exc, OpError):
                    raise CancelledError(SESSION_CLOSED) from exc
                raise

    async def _create(self, deadline: Deadline, bare: bool) -> None:
        with self._graph.growing():
            operations = [] if bare else self._graph.get_operations()
            extensions = 0 if bare else len(self._graph.changes.extended)
            size = 0 if bare else self._graph.nodes.total_size
        check_graph_size(size)
        message: CreateSession | None = None
        for left in reversed(range(_TRIES)):
            await self._master.reach(deadline)
            if message is None:
                message = CreateSession(
                    graph=await self._described(lambda: operations, size, deadline),
                    config=self._config.to_wire(),
                    target=self._master.address,
                    request_id=self.request_id(),
                    client=self._request_prefix,
                )
            elif message.target != self._master.address:
                message = replace(message, target=self._master.address)
            try:
                created = await self.ask(message, deadline, SessionCreated)
                break
            except UnavailableError:
                if not (self._master.lost and left):
                    raise
                # The answer may have been lost. The master recognises the request by its id, so a repeat
                # makes no second session.
                await self._master.hang_up(0.0)
                await asyncio.sleep(RETRY)
        self._version = created.graph_version
        self._sent, self._extensions, self._size = len(operations), extensions, size
        self.handle = created.session_handle
        try:
            await self._restart.begin(checked_seconds("restart_wait", created.restart_wait))
        except BaseException:
            self.handle = ""
            raise

    async def _described(
        self, operations: Callable[[], Sequence[Operation]], number: int, deadline: Deadline
    ) -> list[Any]:
        """Return operations in wire form; many are described, and encoded for a link, in a thread.

        Args:
            operations: returns them; called under the lock of the graph.
            number: their approximate number.
            deadline: the time until which to wait.
        """
        many, seed = number > LARGE, self._graph.seed

        def describe() -> tuple[bool, list[Any]]:
            if many:
                self._graph.nodes.describe(self._sent, self._planning.check)
            with self._graph.growing():
                found = operations()
                nodes = GraphDef(tuple(op.plain for op in found), seed=seed)
            self._planning.check()
            return _may_wait(found), nodes.to_wire(pack=many and self.over_link)

        described = self._planning.run(describe) if many else _now(describe)
        may_wait, wire = await deadline.wait(described, what="the graph to be described")
        self._may_wait = self._may_wait or may_wait
        return wire

    @property
    def lost_master(self) -> bool:
        """Whether a session that there was at the master is gone, because the connection is."""
        return self._master.lost or not self.handle

    async def connect_anew(self, limit: float = CONNECT_TIMEOUT) -> None:
        """Create a new session at the master for the same graph; see ``connect``.

        Errors say how the former session was lost, too.
        """
        self._loss = self._loss or self._master.loss
        async with self._connecting:
            # Before the connection ends: if that is cancelled, the session must not count as connected.
            self.handle, self._version, self._sent, self._extensions = "", 0, 0, 0
            self._size = 0
            await self._master.hang_up(0.0)
        try:
            await self.connect(limit, anew=True)
        except OpError as error:
            if self._loss is not None and not self._closed:
                error.message += f"; the session had been lost before: {self._loss.message}"
            raise
        self._loss = None

    async def _be_connected(self, deadline: Deadline | None = None, *, bare: bool = False) -> None:
        """Connect, or go on after the loss of the master where that is possible.

        Raises:
            WorkerRestartedError: if state was lost with the master.
            OpError: as ``connect`` does.
        """
        if not self._restart.is_due:
            await self.connect(bare=bare)
            return
        what = f"the master at {self._master.address}, which was lost, to be started again"
        # A child, so that closing the session ends it.
        resuming = self._children.start(self._restart.resume(), name=what, awaited=True)
        try:
            await (deadline or Deadline.never()).wait(resuming, what=what)
        except asyncio.CancelledError as error:
            caller = asyncio.current_task()
            if self._closed and not (caller is not None and caller.cancelling()):
                raise CancelledError(SESSION_CLOSED) from error
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise CancelledError(SESSION_CLOSED)

    def _check_there(self) -> None:
        self._check_open()
        if self._lost is not None:
            raise UnavailableError(self._lost.message, task=self._lost.task)

    @property
    def over_link(self) -> bool:
        """Whether messages are encoded on their way to the master."""
        return self._master.link is not None

    async def ask(self, message: object, deadline: Deadline, reply: type[T]) -> T:
        """Send the master a message and return its answer; see ``MasterConnection.ask``."""
        return await self._master.ask(message, deadline, reply)

    async def ask_step(self, message: object, limit: float | None, reply: type[T]) -> T:
        """Send the master a request that may take as long as a step, and return its answer.

        Args:
            message: the request.
            limit: seconds that the master may take; ``None`` for the session's limit, or the default.
            reply: the class of the answer.
        """
        self._check_there()
        if limit is None:
            limit = self.step_limit
        self._steps += 1
        try:
            deadline = Deadline.after(self.patience(limit))
            return await self._master.ask(message, deadline, reply)
        except _GONE as error:
            if self._closed:
                raise CancelledError(SESSION_CLOSED) from error
            raise
        finally:
            self._steps -= 1

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start a child of the session; do nothing once the session is closed."""
        with contextlib.suppress(AbortedError):
            _ = self._children.start(work, name=name)

    def request_id(self) -> str:
        """Return a new id for a request, by which the master recognises a repeat."""
        return f"{self._request_prefix}-{next(self._requests)}"

    async def reattach(self) -> Reattached:
        """Continue with the tasks that are present now; connect again if the master was lost.

        Raises:
            UnavailableError: if the master cannot be reached.
            DeadlineExceededError: if tasks that the graph uses do not answer; it names all of them.
        """
        self._check_open()
        deadline = Deadline.after(self._config.operation_timeout or CONNECT_TIMEOUT)
        loss = self._loss
        if self.handle and self._master.reached:
            try:
                anew = self._restart.in_doubt or self._restart.replaced
                found = await self._ask_to_reattach(deadline, anew=anew)
                lost = self._restart.lost
                await self._restart.begin(self._restart.wait)
                self._restart.settle()
                return replace(found, restarted=tuple(dict.fromkeys((*found.restarted, *lost))))
            except (UnavailableError, AbortedError) as error:
                loss = error  # the master is gone, or has dropped the session
        return await self._create_anew(deadline, loss)

    async def wait_for(self, tasks: str, count: int | None, limit: float) -> list[str]:
        """Wait until tasks of the cluster answer; see ``AsyncSession.wait_for``."""
        deadline = Deadline.after(limit)
        await self._be_connected(deadline)
        left = max(deadline.time_left or 0.0, _LEAST)
        message = WaitForTasks(
            session_handle=self.handle, tasks=tasks, count=count or 0,
            timeout_in_ms=math.ceil(left * 1000),
        )  # fmt: skip
        return (await self.ask(message, Deadline.after(left + _ANSWER_MARGIN), TasksPresent)).tasks

    async def _ask_to_reattach(self, deadline: Deadline, *, anew: bool) -> Reattached:
        message = ReattachSession(
            session_handle=self.handle, anew=anew, request_id=self.request_id()
        )
        found = await self.ask(message, deadline, SessionReattached)
        return Reattached(
            tuple(found.added), tuple(found.removed), tuple(found.restarted), tuple(found.lost),
            tuple(found.restored),
        )  # fmt: skip

    async def _create_anew(self, deadline: Deadline, loss: OpError | None) -> Reattached:
        """Create a new session at the master for the same graph, in place of one that was lost."""
        before = self._master.link.peer if self._master.link is not None else None
        self._restart.replaced = True
        self._loss = self._lost = loss
        try:
            await self.connect_anew()
        except OpError as error:
            if loss is not None:
                again = "" if is_given_up(self._master.address) else ", and may be tried again"
                words = f"reattach() has failed{again}: {error.message}"
                self._lost = UnavailableError(words, task=loss.task)
            raise
        self._lost = None
        found = await self._ask_to_reattach(deadline, anew=True)
        self._restart.settle()
        now = self._master.link.peer if self._master.link is not None else None
        if before is not None and now is not None and before.incarnation != now.incarnation:
            return replace(found, restarted=(now.task,))
        return replace(found, restored=())  # those of a master that was not restarted are old news

    # -- running -------------------------------------------------------------------------------

    async def prepare(self, signature: RunSignature) -> RemotePlan:
        """Return the plan of a signature once everything that it names was sent to the master."""
        check_run_size(signature.size)
        await self._send_graph()
        return RemotePlan(signature.sorted())

    @property
    def is_current(self) -> bool:
        """Whether the session exists at its master, with all nodes of the graph."""
        return (
            bool(self.handle) and not (self._closed or self._restart.is_due)
            and len(self._graph.nodes.order) == self._sent
        )  # fmt: skip

    async def _send_graph(self) -> None:
        """Connect, and send the master the nodes that were added to the graph."""
        await self._be_connected()
        if len(self._graph.nodes.order) > self._sent:
            # In a child, because cancelling a run must not lose the count of what was sent.
            extending = self._children.start(self._extend(), name="extend the graph", awaited=True)
            await asyncio.shield(extending)

    async def warm_up(self, signature: RunSignature, *, partial: bool) -> None:
        """Make the master plan a step and register its partitions.

        Args:
            signature: feeds, fetches and targets of the step.
            partial: whether it is the step of partial runs.

        Raises:
            OpError: if it cannot be planned, or a task refuses its partitions or cannot be reached.
        """
        await self.prepare(signature)
        await self.prepare_step(signature, None, partial=partial)

    async def prepare_step(
        self, signature: RunSignature, options: RunOptions | None, *, partial: bool
    ) -> None:
        """Make the master plan a step and register its partitions, with what its options watch."""
        message = plan_to_wire(self.handle, signature, options, partial=partial)
        await self.ask_step(message, None, Done)

    async def _extend(self) -> None:
        async with self._extending:
            grown: list[Operation] = []
            added: list[Operation] = []
            size = 0

            def new() -> list[Operation]:
                nonlocal size
                size = self._graph.nodes.total_size
                grown[:] = self._graph.changes.extended[self._extensions :]
                added[:] = self._graph.nodes.order[self._sent :]
                return [*(op for op in dict.fromkeys(grown) if op.number < self._sent), *added]

            deadline = Deadline.after(self._config.operation_timeout or DEFAULT_STEP_TIMEOUT)
            total = self._graph.nodes.total_size
            check_graph_size(total)
            grows = size_of(self._graph.changes.extended[self._extensions :])
            wire = await self._described(new, grows + total - self._size, deadline)
            if not nodes_in(wire[-1]):
                return
            extended = await self.ask(
                ExtendSession(
                    session_handle=self.handle,
                    graph=wire,
                    current_graph_version=self._version,
                    request_id=self.request_id(),
                ),
                deadline,
                SessionExtended,
            )
            self._unbuilt = False
            self._version = extended.graph_version
            self._sent += len(added)
            self._extensions += len(grown)
            self._size = size

    async def run(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        delivery: ValueDelivery | None = None,
    ) -> Sequence[Any]:
        """Run a step; wait first while the limit of runs under way is reached.

        Cancelling the call aborts the step on every worker.

        Args:
            plan: a result of ``prepare``.
            feeds: values in the plan's order.
            limit: seconds; ``None`` for the default.
            options: of this run.
            metadata: filled with what ``options`` request.
            delivery: notified of what the step has taken, if the values go to a caller in another thread.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            UnavailableError: if the master, or a task that the step needs, is lost.
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """
        if limit == self._operation_timeout and not (options and options.timeout_in_ms):
            limit = None  # the session's own, which the master knows by that name
        if options is not None and options.is_plain:
            options = None
        if options is None or not options.debug_options.active:
            return await self._run(plan, feeds, limit, options, metadata, delivery)

        def step(key: str, debug_run: list[Any], held: ValueDelivery) -> Awaitable[Sequence[Any]]:
            return self._run(plan, feeds, limit, options, metadata, held, key, debug_run)

        return await self._debugger.run(plan.signature, options.debug_options, delivery, step)

    async def _run(
        self, plan: RemotePlan, feeds: Sequence[Any], limit: float | None,
        options: RunOptions | None, metadata: RunMetadata | None, delivery: ValueDelivery | None,
        key: str = "", debug_run: list[Any] | None = None,
    ) -> Sequence[Any]:  # fmt: skip
        asked = None
        if options is not None or metadata is not None:
            wire = {} if options is None else options.to_wire()
            asked = StepRequest(options=wire, key=key, debug_run=debug_run)
        run = self._new_run(AsyncRun, plan, feeds, limit, asked, options)
        if run is None or not self.admit(run, run.program, run.values.nbytes):
            run = await self._wait_to_run(plan, feeds, limit, asked, options)
        values = await self.finish(run, delivery)
        if metadata is not None or run.extra is not None:
            self._report(run, metadata)
        return values

    def _report(self, run: RemoteRun, metadata: RunMetadata | None) -> None:
        """Fill metadata with the master's report on a run, and keep its timeline; callable in any thread."""
        wire = None if run.extra is None else run.extra[0]
        if metadata is None and not wire:
            return
        metadata = RunMetadata() if metadata is None else metadata
        fill_metadata(metadata, wire)
        timeline = timeline_of(metadata, wire)
        if timeline is not None:
            if self._timelines is None:
                self._timelines = deque(maxlen=TIMELINES)
            self._timelines.append(timeline)

    async def finish(self, run: AsyncRun, delivery: ValueDelivery | None) -> Sequence[Any]:
        """Request a run that was admitted, and return its values.

        Nothing may be awaited between the end of this call and the caller of the run.

        Args:
            run: the run.
            delivery: see ``run``.
        """
        try:
            await run.start()
        except asyncio.CancelledError:
            run.cancel()
            raise
        values = run.result()
        if run.extra is not None and run.unconfirmed:
            if delivery is None:
                run.confirm(received=True)
            else:
                delivery.hold(run.confirm)
        return values

    def _new_run(
        self, kind: type[R], plan: RemotePlan, feeds: Sequence[Any], limit: float | None,
        asked: StepRequest | None = None, options: RunOptions | None = None,
    ) -> R | None:  # fmt: skip
        """Return a run of a plan; ``None`` if it has to wait for a connection, or for copies of its feeds."""
        channel = self._master.channel
        if channel is None or (self._restart.wait and self._restart.is_due):
            return None
        if large_arrays(feeds) and copies_much(feeds, over_link=self.over_link):
            return None
        program = self.program(plan.programs, plan.signature, options, partial=False)
        return kind(self, program, program.sent(feeds), limit, len(plan.signature.fetches), asked)

    async def _wait_to_run(
        self, plan: RemotePlan, feeds: Sequence[Any], limit: float | None,
        asked: StepRequest | None, options: RunOptions | None,
    ) -> AsyncRun:  # fmt: skip
        """Return a run that was admitted, once it need not wait any more."""
        self._check_there()
        seconds = limit or self.step_limit
        late = Deadline.after(seconds)
        nbytes = 0 if self._may_wait else bytes_held(feeds)
        if not self._inflight.enter_nowait(nbytes):
            await self._inflight.enter(late, nbytes)
        try:
            self._check_open()
            if self._restart.is_due:
                await self._be_connected(late)
            kept = await self.sent_feeds(feeds)
            program = self.program(plan.programs, plan.signature, options, partial=False)
            values = program.sent(kept)
            if isinstance(program.channel, Link):
                await program.channel.wait_to_run(late)
            waited = seconds - max(late.time_left or 0.0, _LEAST)
            asked = replace(asked or StepRequest(), waited=max(waited, 0.0))
            run = AsyncRun(self, program, values, limit, len(plan.signature.fetches), asked)
        except BaseException:
            self._inflight.leave(nbytes)
            raise
        run.nbytes, run.admitted = nbytes, True
        self._running.add(run)
        self.tally.runs = next(self._runs)
        return run

    def program(
        self, programs: dict[Any, SessionProgram], signature: RunSignature,
        options: RunOptions | None, *, partial: bool,
    ) -> SessionProgram:  # fmt: skip
        """Return the plan of a signature as it is run over the present connection.

        Args:
            programs: where those of the signature are kept.
            signature: the signature.
            options: of the run.
            partial: whether it is the plan of partial runs.

        Raises:
            UnavailableError: if there is no connection.
        """
        channel = self._master.channel
        if channel is None:
            raise UnavailableError(
                f"there is no connection to the master at {self._master.address}"
            )
        key = made = None
        if options is not None:
            debug, group = options.debug_options, options.experimental.collective_graph_key
            if debug.active or group:
                made = RunOptions(debug_options=debug.of_plan, experimental=options.experimental)
                key = made.debug_options, group
        program = programs.get(key)
        if program is None or program.channel is not channel:
            plan = plan_to_wire(self.handle, signature, made, partial=partial)
            program = SessionProgram.over(channel, next(self.calls), VOCABULARY.to_wire(plan))
            programs[key] = program
        return program

    def run_in_thread(
        self, plan: RemotePlan, feeds: Sequence[Any], limit: float | None,
        call: Callable[[Callable[[], object]], None],
    ) -> Sequence[Any] | None:  # fmt: skip
        """Run a step of a program for a thread that waits; see ``SessionInterface.run_in_thread``."""
        run = self._new_run(ThreadRun, plan, feeds, limit)
        if run is None:
            return None
        try:
            values = run.run(call)
        except MustWait:
            return None
        if run.extra is not None:
            self._report(run, None)
        return values

    def admit(self, run: RemoteRun, program: SessionProgram, nbytes: int) -> bool:
        """Admit a run of a program, unless it has to go by message; callable in any thread.

        Raises:
            CancelledError: if the session is closed.
        """
        if self._closed:
            raise CancelledError(SESSION_CLOSED)
        channel = program.channel
        if (
            channel is not self._master.channel
            or channel.must_wait
            or (self._restart.wait and self._restart.is_due)
        ):
            return False
        run.nbytes = 0 if self._may_wait or nbytes <= INLINE_LIMIT else nbytes
        if not self._inflight.enter_run(run):
            return False
        self._running.add(run)
        self.tally.runs = next(self._runs)
        return True

    def leave(self, run: RemoteRun) -> None:
        """Record that a run has ended, if it was admitted."""
        self._running.discard(run)
        if run.counts:
            self._inflight.leave_run(run)
        else:
            run.admitted = False

    async def request(self, run: AsyncRun, delivery: ValueDelivery | None) -> Sequence[Any]:
        """Request the setup or a call of a partial run, which no admission counts; see ``finish``."""
        self._check_there()
        channel = run.program.channel
        if isinstance(channel, Link) and channel.must_wait:
            await channel.wait_to_run(Deadline.after(self.step_limit))
        run.admitted = True
        self._running.add(run)
        return await self.finish(run, delivery)

    @property
    def channel(self) -> Link | LocalCalls | None:
        """How runs reach the master; ``None`` while there is no connection."""
        return self._master.channel

    def patience(self, limit: float | None) -> float:
        """Return the seconds within which the answer of a run with a limit must come."""
        return (limit or self.step_limit) + _ANSWER_MARGIN

    def explain(self, error: OpError, then: Callable[[OpError], None]) -> None:
        """Pass on the error of a run, with the exit status of a lost task."""
        if self._closed:
            then(CancelledError(SESSION_CLOSED) if isinstance(error, _GONE) else error)
            return
        if isinstance(error, UnavailableError):
            asking = self._master.add_fate(error)
            with contextlib.suppress(AbortedError):  # the session is closing
                child = self._children.start(asking, name="exit status of a lost task")
                # Not in the child, which runs no code if it is cancelled before it begins.
                child.add_done_callback(lambda _: then(error))
                return
        then(error)

    async def sent_feeds(self, feeds: Sequence[Any]) -> Sequence[Any]:
        """Return feeds that cannot change while the step is under way; copy large ones in a thread."""
        over_link = self.over_link
        if not copies_much(feeds, over_link=over_link):
            return sent_feeds(feeds, over_link=over_link)
        return await self.offload(lambda: sent_feeds(feeds, over_link=over_link))

    async def offload(self, work: Callable[[], T]) -> T:
        """Do work on large values in a thread of the session."""
        self._check_open()
        if self._pool is None:
            self._pool = KernelPool(1)
        return await aside(self._pool, work)

    async def devices(self) -> list[DeviceAttributes]:
        """Return the devices that the session may use, the client device first."""
        await self._be_connected(bare=True)
        return await self.ask_devices(Deadline.after(CONNECT_TIMEOUT))

    async def ask_devices(self, deadline: Deadline) -> list[DeviceAttributes]:
        """Ask the master of a session that exists for its devices."""
        answer = await self.ask(ListDevices(session_handle=self.handle), deadline, DeviceList)
        return [DeviceAttributes.from_wire(d) for d in answer.devices]

    async def find_placement(self) -> dict[str, Placed]:
        """Return where the master has placed the nodes of the graph, with the reasons."""
        await self._send_graph()
        found = await self.ask_placement()
        return {n: Placed(d, found.reasons.get(n, "")) for n, d in found.devices.items()}

    async def ask_placement(self) -> PlacementFound:
        """Ask the master of a session that exists where it has placed the nodes."""
        limit = self._config.operation_timeout or CONNECT_TIMEOUT
        message = FindPlacement(session_handle=self.handle)
        return await self.ask(message, Deadline.after(limit), PlacementFound)

    def timelines(self) -> list[StepStats]:
        """Return the last few steps that the master traced for ``timeline_step``, oldest first."""
        return list(self._timelines or ())

    async def why(self, within: float) -> HangReport:
        """Return what the session's steps wait for on all tasks, with the tasks that do not answer.

        Args:
            within: seconds to wait for answers.
        """
        waiting = self._inflight.statistics().waiting
        if not (self.handle and self._master.reached):
            silent = {self._target: "there is no session yet"} if self._connecting.locked() else {}
            return explain([], silent, waiting=waiting)
        message = AskSessionWhy(
            session_handle=self.handle, timeout_in_ms=max(1, int(within * 1000))
        )
        try:
            found = await self.ask(message, Deadline.after(within + _ANSWER_MARGIN), SessionWhy)
            waits = [TaskWaits.from_wire(said) for said in found.waits]
        except OpError as error:
            return explain([], {self._target: error.message}, waiting=waiting)
        return explain(waits, found.silent, waiting=waiting)

    # -- end -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the session at the master, if the master still answers, and the connection.

        Takes at most a few seconds and may be called again. Runs under way end with ``CancelledError``.
        """
        self._end()
        await self._tell_closed()
        await self._master.hang_up(_GRACE)
        await self._children.stop(_GRACE)

    async def abandon(self) -> None:
        """Do the same when the loop of the session has ended, and with it whatever ran there."""
        with contextlib.suppress(RuntimeError):  # a closed loop calls nothing
            self._end()
        if (
            self._master.link is None
        ):  # a master in this process does not see the end of a connection
            await self._tell_closed()
        self._master.drop()

    def _end(self) -> None:
        self._closed = True
        self._planning.close(CancelledError(SESSION_CLOSED))
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._inflight.close(CancelledError(SESSION_CLOSED))
        self.wheel.close()
        self._debugger.close(CancelledError(SESSION_CLOSED))

    async def _tell_closed(self) -> None:
        handle, self.handle = self.handle, ""
        if handle and self._master.reached:
            # The master may be gone or have dropped the session; then there is nothing to close there.
            with contextlib.suppress(*_GONE):
                await self.ask(CloseSession(session_handle=handle), Deadline.after(_CLOSE), Done)

    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""
        link = self._master.link
        return SessionStatistics(
            steps=self._steps + len(self._running),
            waiting=self._inflight.statistics().waiting,
            partial_runs=len(self._partial_runs),
            link=link.statistics() if link is not None else None,
        )


def _may_wait(operations: Sequence[Operation]) -> bool:
    return any(op.op_def.blocks for op in operations)


async def _now(work: Callable[[], T]) -> T:
    return work()
