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
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.config import CONNECT_TIMEOUT, ConfigProto, RunMetadata, RunOptions, StepStats
from actorsession.config.limits import check_run_size
from actorsession.config.remote_settings import refuse_local_settings
from actorsession.durations import checked_seconds, in_seconds
from actorsession.errors import AbortedError, CancelledError, OpError, UnavailableError
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.messages.done import Done
from actorsession.messages.session import (
    AskSessionWhy,
    CloseSession,
    CreateSession,
    DeviceList,
    FindPlacement,
    ListDevices,
    PlacementFound,
    ReattachSession,
    SessionCreated,
    SessionReattached,
    SessionWhy,
    TasksPresent,
    WaitForTasks,
)
from actorsession.metrics import session_tally
from actorsession.plan.cost_model import check_cost_model_settings
from actorsession.plan.place import Placed
from actorsession.plan.signature import RunSignature
from actorsession.rpc.exit_reports import is_given_up
from actorsession.rpc.link import Link
from actorsession.rpc.local_calls import LocalCalls
from actorsession.rpc.security import security_of
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.hang_report import HangReport, explain
from actorsession.runtime.session_names import check_version
from actorsession.runtime.wait_graph import TaskWaits
from actorsession.session.partial.remote_partial_runs import RemotePartialRuns
from actorsession.session.reattach import Reattached
from actorsession.session.remote.master_connection import RETRY, MasterConnection
from actorsession.session.remote.master_restart import MasterRestart
from actorsession.session.remote.remote_debugger import RemoteDebugger
from actorsession.session.remote.remote_run import ANSWER_MARGIN
from actorsession.session.remote.remote_steps import GONE, LEAST, RemoteSteps
from actorsession.session.remote.sent_graph import SentGraph, Snapshot
from actorsession.session.remote.values import RemotePlan, plan_to_wire
from actorsession.session.session_interface import SESSION_CLOSED, SessionInterface
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
T = TypeVar("T")


class RemoteSession(SessionInterface[RemotePlan]):
    """The client of a session that a master runs.

    Args:
        graph: it may grow.
        target: address of the master, or several, of which the first that answers is taken.
        config: settings; sent to the master.

    Attributes:
        handle: the master's name for the session; "" while there is none.
        tally: the counters of the session for the process metrics.
        steps: its runs.
        sent: what the master has of the graph.
        restart: goes on after the loss of the master, where that is possible.

    Raises:
        InvalidArgumentError: for a malformed target, settings that only local sessions support, a negative
            version of the session, a malformed device filter, or an environment that sets only some of the
            three TLS variables.
    """

    # The other attributes are few enough for CPython to keep them without a dictionary of each session.
    __slots__ = ("handle", "restart", "sent", "steps", "tally")

    # Why the session is not at its master any more, once ``reattach`` has failed: all calls say so. They are
    # the class's until then: objects of up to 30 attributes share their keys, others take 1.5 KB more.
    _lost: OpError | None = None
    _loss: OpError | None = None  # and what had happened before it was called

    def __init__(self, graph: Graph, target: str, config: ConfigProto) -> None:
        addresses = master_addresses(target)
        refuse_local_settings(config)
        check_cost_model_settings(config)
        check_version(config.experimental.session_metadata)
        DeviceFilters(config.device_filters)  # the master reads them; this finds malformed ones here
        self._graph = graph
        self._target = target
        self._config = config
        self._children = Children(f"session to {target}")
        self._master = MasterConnection(
            addresses,
            self._children,
            over_wire=config.rpc_options.use_rpc_for_inprocess_master,
            security=security_of(config.rpc_options),
        )
        self.handle = ""
        self._connecting = asyncio.Lock()
        self.restart = MasterRestart(self, graph, config)
        self.sent = SentGraph(self, graph, config)
        self._steps = 0  # requests under way that may take as long as a step
        self._requests = itertools.count()
        self._request_prefix = secrets.token_hex(8)
        self.closed = False
        self._debugger = RemoteDebugger(self)
        self._partial_runs = RemotePartialRuns(self, self._debugger, in_seconds(config.partial_run_idle_limit_in_ms))
        self.tally = session_tally("remote", self)
        self.steps = RemoteSteps(self, self._master, config, self.tally)

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
                await self._create(deadline, bare)
            except BaseException as exc:
                # The master drops a session whose client has hung up.
                await self._master.hang_up(0.0)
                if self.closed and isinstance(exc, OpError):
                    raise CancelledError(SESSION_CLOSED) from exc
                raise

    async def _create(self, deadline: Deadline, bare: bool) -> None:
        taken = self.sent.snapshot(bare=bare)
        message: CreateSession | None = None
        for left in reversed(range(_TRIES)):
            await self._master.reach(deadline)
            if message is None:
                message = CreateSession(
                    graph=await self.sent.described(lambda: taken.operations, taken.size, deadline),
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
        self.sent.note(created.graph_version, taken)
        self.handle = created.session_handle
        try:
            await self.restart.begin(checked_seconds("restart_wait", created.restart_wait))
        except BaseException:
            self.handle = ""
            raise

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
            self.handle = ""
            self.sent.note(0, Snapshot())
            await self._master.hang_up(0.0)
        try:
            await self.connect(limit, anew=True)
        except OpError as error:
            if self._loss is not None and not self.closed:
                error.message += f"; the session had been lost before: {self._loss.message}"
            raise
        self._loss = None

    async def be_connected(self, deadline: Deadline | None = None, *, bare: bool = False) -> None:
        """Connect, or go on after the loss of the master where that is possible.

        Raises:
            WorkerRestartedError: if state was lost with the master.
            OpError: as ``connect`` does.
        """
        if not self.restart.is_due:
            await self.connect(bare=bare)
            return
        what = f"the master at {self._master.address}, which was lost, to be started again"
        # A child, so that closing the session ends it.
        resuming = self._children.start(self.restart.resume(), name=what, awaited=True)
        try:
            await (deadline or Deadline.never()).wait(resuming, what=what)
        except asyncio.CancelledError as error:
            caller = asyncio.current_task()
            if self.closed and not (caller is not None and caller.cancelling()):
                raise CancelledError(SESSION_CLOSED) from error
            raise

    def check_open(self) -> None:
        """Raise ``CancelledError`` if the session is closed."""
        if self.closed:
            raise CancelledError(SESSION_CLOSED)

    def check_there(self) -> None:
        """Raise the error of a session that is closed, or that ``reattach`` could not bring back."""
        if self.closed:
            raise CancelledError(SESSION_CLOSED)
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
        self.check_there()
        if limit is None:
            limit = self.steps.step_limit
        self._steps += 1
        try:
            deadline = Deadline.after(limit + ANSWER_MARGIN)
            return await self._master.ask(message, deadline, reply)
        except GONE as error:
            if self.closed:
                raise CancelledError(SESSION_CLOSED) from error
            raise
        finally:
            self._steps -= 1

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """Start a child of the session; do nothing once the session is closed."""
        with contextlib.suppress(AbortedError):
            return self._children.start(work, name=name)
        return None

    def request_id(self) -> str:
        """Return a new id for a request, by which the master recognises a repeat."""
        return f"{self._request_prefix}-{next(self._requests)}"

    async def reattach(self) -> Reattached:
        """Continue with the tasks that are present now; connect again if the master was lost.

        Raises:
            UnavailableError: if the master cannot be reached.
            DeadlineExceededError: if tasks that the graph uses do not answer; it names all of them.
        """
        self.check_open()
        deadline = Deadline.after(self._config.operation_timeout or CONNECT_TIMEOUT)
        loss = self._loss
        if self.handle and self._master.reached:
            try:
                anew = self.restart.in_doubt or self.restart.replaced
                answer = await self._ask_to_reattach(deadline, anew=anew)
                lost = self.restart.lost
                await self.restart.begin(self.restart.wait)
                self.restart.settle()
                return replace(answer, restarted=tuple(dict.fromkeys((*answer.restarted, *lost))))
            except (UnavailableError, AbortedError) as error:
                loss = error  # the master is gone, or has dropped the session
        return await self._create_anew(deadline, loss)

    async def wait_for(self, tasks: str, count: int | None, limit: float) -> list[str]:
        """Wait until tasks of the cluster answer; see ``AsyncSession.wait_for``."""
        deadline = Deadline.after(limit)
        await self.be_connected(deadline)
        left = max(deadline.time_left or 0.0, LEAST)
        message = WaitForTasks(
            session_handle=self.handle, tasks=tasks, count=count or 0, timeout_in_ms=math.ceil(left * 1000)
        )
        return (await self.ask(message, Deadline.after(left + ANSWER_MARGIN), TasksPresent)).tasks

    async def _ask_to_reattach(self, deadline: Deadline, *, anew: bool) -> Reattached:
        message = ReattachSession(session_handle=self.handle, anew=anew, request_id=self.request_id())
        answer = await self.ask(message, deadline, SessionReattached)
        return Reattached(
            tuple(answer.added),
            tuple(answer.removed),
            tuple(answer.restarted),
            tuple(answer.lost),
            tuple(answer.restored),
        )

    async def _create_anew(self, deadline: Deadline, loss: OpError | None) -> Reattached:
        """Create a new session at the master for the same graph, in place of one that was lost."""
        before = self._master.link.peer if self._master.link is not None else None
        self.restart.replaced = True
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
        answer = await self._ask_to_reattach(deadline, anew=True)
        self.restart.settle()
        now = self._master.link.peer if self._master.link is not None else None
        if before is not None and now is not None and before.incarnation != now.incarnation:
            return replace(answer, restarted=(now.task,))
        return replace(answer, restored=())  # those of a master that was not restarted are old news

    # -- running -------------------------------------------------------------------------------

    async def prepare(self, signature: RunSignature) -> RemotePlan:
        """Return the plan of a signature once everything that it names was sent to the master."""
        check_run_size(signature.size)
        await self._send_graph()
        return RemotePlan(signature.sorted())

    @property
    def is_current(self) -> bool:
        """Whether the session exists at its master, with all nodes of the graph."""
        return bool(self.handle) and not (self.closed or self.restart.is_due) and self.sent.is_whole

    async def _send_graph(self) -> None:
        """Connect, and send the master the nodes that were added to the graph."""
        await self.be_connected()
        if not self.sent.is_whole:
            # In a child, because cancelling a run must not lose the count of what was sent.
            extending = self._children.start(self.sent.extend(), name="extend the graph", awaited=True)
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

    async def prepare_step(self, signature: RunSignature, options: RunOptions | None, *, partial: bool) -> None:
        """Make the master plan a step and register its partitions, with what its options watch."""
        message = plan_to_wire(self.handle, signature, options, partial=partial)
        await self.ask_step(message, None, Done)

    def run(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        delivery: ValueDelivery | None = None,
    ) -> Coroutine[Any, Any, Sequence[Any]]:
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
        if options is not None and options.is_plain:
            options = None
        if options is None or not options.debug_options.active:
            return self.steps.run(plan, feeds, limit, options, metadata, delivery)

        def step(key: str, debug_run: list[Any], held: ValueDelivery) -> Awaitable[Sequence[Any]]:
            return self.steps.run(plan, feeds, limit, options, metadata, held, key, debug_run)

        return self._debugger.run(plan.signature, options.debug_options, delivery, step)

    def run_in_thread(
        self, plan: RemotePlan, feeds: Sequence[Any], limit: float | None, call: Callable[[Callable[[], object]], None]
    ) -> Sequence[Any] | None:
        """Run a step for a thread that waits; see ``SessionInterface.run_in_thread``."""
        return self.steps.run_in_thread(plan, feeds, limit, call)

    async def offload(self, work: Callable[[], T]) -> T:
        """Do work on large values in a thread of the session."""
        return await self.steps.offload(work)

    @property
    def channel(self) -> Link | LocalCalls | None:
        """How runs reach the master; ``None`` while there is no connection."""
        return self._master.channel

    async def devices(self) -> list[DeviceAttributes]:
        """Return the devices that the session may use, the client device first."""
        await self.be_connected(bare=True)
        return await self.ask_devices(Deadline.after(CONNECT_TIMEOUT))

    async def ask_devices(self, deadline: Deadline) -> list[DeviceAttributes]:
        """Ask the master of a session that exists for its devices."""
        answer = await self.ask(ListDevices(session_handle=self.handle), deadline, DeviceList)
        return [DeviceAttributes.from_wire(d) for d in answer.devices]

    async def find_placement(self) -> dict[str, Placed]:
        """Return where the master has placed the nodes of the graph, with the reasons."""
        await self._send_graph()
        placement = await self.ask_placement()
        return {n: Placed(d, placement.reasons.get(n, "")) for n, d in placement.devices.items()}

    async def ask_placement(self) -> PlacementFound:
        """Ask the master of a session that exists where it has placed the nodes."""
        limit = self._config.operation_timeout or CONNECT_TIMEOUT
        message = FindPlacement(session_handle=self.handle)
        return await self.ask(message, Deadline.after(limit), PlacementFound)

    def timelines(self) -> list[StepStats]:
        """Return the last few steps that the master traced for ``timeline_step``, oldest first."""
        return self.steps.timelines()

    async def why(self, within: float) -> HangReport:
        """Return what the session's steps wait for on all tasks, with the tasks that do not answer.

        Args:
            within: seconds to wait for answers.
        """
        waiting = self.steps.waiting
        if not (self.handle and self._master.reached):
            silent = {self._target: "there is no session yet"} if self._connecting.locked() else {}
            return explain([], silent, waiting=waiting)
        message = AskSessionWhy(session_handle=self.handle, timeout_in_ms=max(1, int(within * 1000)))
        try:
            answer = await self.ask(message, Deadline.after(within + ANSWER_MARGIN), SessionWhy)
            waits = [TaskWaits.from_wire(said) for said in answer.waits]
        except OpError as error:
            return explain([], {self._target: error.message}, waiting=waiting)
        return explain(waits, answer.silent, waiting=waiting)

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
        if self._master.link is None:  # a master in this process does not see the end of a connection
            await self._tell_closed()
        self._master.drop()

    def _end(self) -> None:
        self.closed = True
        self.sent.close(CancelledError(SESSION_CLOSED))
        self.steps.close()
        self._debugger.close(CancelledError(SESSION_CLOSED))

    async def _tell_closed(self) -> None:
        handle, self.handle = self.handle, ""
        if handle and self._master.reached:
            # The master may be gone or have dropped the session; then there is nothing to close there.
            with contextlib.suppress(*GONE):
                await self.ask(CloseSession(session_handle=handle), Deadline.after(_CLOSE), Done)

    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""
        link = self._master.link
        return SessionStatistics(
            steps=self._steps + self.steps.under_way,
            waiting=self.steps.waiting,
            partial_runs=len(self._partial_runs),
            link=link.statistics() if link is not None else None,
        )
