"""Administration requests to a server from outside of its cluster, over a separate connection.

Used by the command line and by programs that manage clusters: the statistics of a task, the cluster that it
is part of, its wait graphs, its last steps and errors, its log and variables, a change of its cluster, and its
stop. Any client that can connect may send them,
also while the task is busy with steps, because the answers wait for no step; ``server.control`` decides which
peers may stop a server. Imports links and messages.

Invariant: every request has a deadline, and leaves neither a connection nor a child behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.server.memory import TaskErrors, TaskVariable
from actorsession.cluster.server.statistics import CLIENT, ServerStatistics
from actorsession.cluster.spec import full_address
from actorsession.cluster.wait_graphs import collect_wait_graphs
from actorsession.config.step_record import ErrorRecord, StepRecord
from actorsession.errors import (
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    ProtocolError,
    UnavailableError,
)
from actorsession.messages.done import Done
from actorsession.messages.server import (
    SERVER,
    ClusterView,
    ErrorsRead,
    GetCluster,
    KeepServer,
    ListVariables,
    LogRead,
    NoteRestart,
    ReadErrors,
    ReadLog,
    ReadSteps,
    StepsRead,
    StopServer,
    VariablesListed,
)
from actorsession.messages.worker import WORKER, AskWhy, GetStatus, UpdateCluster, WorkerStatus, WorkerWhy
from actorsession.rpc.dial import dial
from actorsession.rpc.link import Link
from actorsession.rpc.liveness.peer_monitor import probe_factory
from actorsession.rpc.security import bare_scheme, shared_security, shared_token
from actorsession.runtime.hang_report import HangReport, explain
from transports import Hello, SecurityConfig, TransportError
from transports.host import current_host

__all__ = [
    "PATIENCE", "TaskLink", "ToldTasks", "ask_server", "keep_server", "note_restart", "read_cluster", "read_errors",
    "read_log", "read_statistics", "read_steps", "read_variables", "read_why", "send_cluster", "stop_server",
    "update_cluster",
]  # fmt: skip

T = TypeVar("T")

ToldTasks: TypeAlias = tuple[Mapping[str, str], Collection[str]]
"""What a server is told of its cluster: address by task, and the tasks that are given up."""

# Seconds to answer a request that needs no work; a task that takes longer is blocked.
PATIENCE = 10.0
_CLOSE = 1.0


async def read_statistics(
    address: str, *, token: str | None = None, deadline: Deadline | None = None, security: SecurityConfig | None = None
) -> ServerStatistics:
    """Return the counters of the server at an address.

    Args:
        address: where it listens, such as ``Server.target``.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        deadline: the deadline of the request; by default 10 s from now.
        security: TLS files, for ``tls://``; by default those of the environment.

    Raises:
        UnavailableError: if no server answers there.
        DeadlineExceededError: if it takes too long.
    """
    deadline = deadline or Deadline.after(PATIENCE)
    async with _link(address, "statistics", token, security, deadline) as link:
        status: WorkerStatus = await link.ask(WORKER, GetStatus(), deadline)
    return ServerStatistics.from_wire(status.statistics)


async def read_cluster(
    address: str, *, token: str | None = None, deadline: Deadline | None = None, security: SecurityConfig | None = None
) -> ClusterView:
    """Return the cluster that the server at an address is part of.

    Args:
        address: where it listens.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        deadline: the deadline of the request; by default 10 s from now.
        security: TLS files, for ``tls://``; by default those of the environment.

    Raises:
        UnavailableError: if no server answers there.
        DeadlineExceededError: if it takes too long.
    """
    deadline = deadline or Deadline.after(PATIENCE)
    async with _link(address, "cluster", token, security, deadline) as link:
        view: ClusterView = await link.ask(SERVER, GetCluster(), deadline)
    return view


async def ask_server(
    address: str,
    what: str,
    message: Any,
    reply: type[T],
    *,
    task: str | None = None,
    cluster_id: str | None = None,
    token: str | None = None,
    deadline: Deadline | None = None,
    security: SecurityConfig | None = None,
) -> T:
    """Send the server at an address one request, and return its answer.

    Args:
        address: where it listens.
        what: what is asked for, in a word for errors.
        message: the request, of ``messages.server``.
        reply: the class of its answer.
        task: the expected task; another one at the address is not asked.
        cluster_id: the id of the expected cluster, likewise.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        deadline: the deadline of the request; by default 10 s from now.
        security: TLS files, for ``tls://``; by default those of the environment.

    Raises:
        UnavailableError: if no server answers there, or an unexpected one.
        DeadlineExceededError: if it takes too long.
        UnimplementedError: if it runs a version that does not know the request.
    """
    deadline = deadline or Deadline.after(PATIENCE)
    async with _link(address, what, token, security, deadline, (task, cluster_id)) as link:
        answer = await link.ask(SERVER, message, deadline)
    if not isinstance(answer, reply):
        raise ProtocolError(f"the {what} of {address} were answered by a {type(answer).__name__}")
    return answer


async def read_steps(
    address: str, count: int = 20, slower_than: float = 0.0, *, running: bool = False, **to: Any
) -> list[StepRecord]:
    """Return what the server at an address remembers of its last steps, in the order of their ends.

    A master knows steps as a whole, a worker the parts that it has run: ``merge_records`` puts the answers of
    several tasks together.

    Args:
        address: where it listens.
        count: how many steps at most.
        slower_than: only steps that took so many seconds or more.
        running: also those that have not ended, which come last.
        to: keywords of ``ask_server``.

    Raises:
        FailedPreconditionError: if it keeps none.
        OpError: as ``ask_server`` does.
    """
    message = ReadSteps(count=count, slower_than=slower_than, session="", running=running, steps=[])
    answer = await ask_server(address, "last steps", message, StepsRead, **to)
    if not answer.kept:
        raise FailedPreconditionError(f"{answer.task} keeps no steps: kept_steps of its settings is 0")
    return [StepRecord.from_wire(step) for step in answer.steps]


async def read_errors(address: str, **to: Any) -> TaskErrors:
    """Return the last errors of the server at an address, and how often its task was started again.

    Args:
        address: where it listens.
        to: keywords of ``ask_server``.

    Raises:
        OpError: as ``ask_server`` does.
    """
    answer = await ask_server(address, "errors", ReadErrors(), ErrorsRead, **to)
    return TaskErrors(
        task=answer.task,
        errors=tuple([ErrorRecord.from_wire(error) for error in answer.errors]),
        counts=answer.counts,
        restarts=answer.restarts,
        predecessor=answer.predecessor,
        since=answer.since,
    )


async def read_log(address: str, lines: int = 100, after: int = 0, **to: Any) -> LogRead:
    """Return the last lines of the log of the server at an address.

    Args:
        address: where it listens.
        lines: how many at most.
        after: only lines after that with this number; the ``last`` of an earlier answer.
        to: keywords of ``ask_server``.

    Raises:
        OpError: as ``ask_server`` does.
    """
    return await ask_server(address, "log", ReadLog(lines=lines, after=after), LogRead, **to)


async def read_variables(address: str, **to: Any) -> list[TaskVariable]:
    """Return the variables of the task at an address, the largest first; its values stay there.

    Args:
        address: where it listens.
        to: keywords of ``ask_server``.

    Raises:
        OpError: as ``ask_server`` does.
    """
    answer = await ask_server(address, "variables", ListVariables(), VariablesListed, **to)
    return [TaskVariable.from_wire(variable) for variable in answer.variables]


async def note_restart(address: str, restarts: int, predecessor: str, **to: Any) -> None:
    """Tell the server at an address that its task was started again.

    Args:
        address: where it listens.
        restarts: how often so far.
        predecessor: how the process before ended.
        to: keywords of ``ask_server``.

    Raises:
        PermissionDeniedError: if the server does not accept the request from this client.
        OpError: as ``ask_server`` does.
    """
    message = NoteRestart(restarts=restarts, predecessor=predecessor)
    _ = await ask_server(address, "restart", message, Done, **to)


async def stop_server(
    address: str,
    *,
    reason: str = "",
    task: str | None = None,
    cluster_id: str | None = None,
    token: str | None = None,
    deadline: Deadline | None = None,
    security: SecurityConfig | None = None,
) -> str:
    """Stop the server at an address, and wait until it has closed the connection.

    Args:
        address: where it listens.
        reason: for the server's log.
        task: the expected task; another one at the address is left alone.
        cluster_id: the id of the expected cluster, likewise.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        deadline: the deadline of the request; by default 10 s from now.
        security: TLS files, for ``tls://``; by default those of the environment.

    Returns:
        The task that has ended.

    Raises:
        PermissionDeniedError: if the server does not accept the request from this client.
        UnavailableError: if no server answers there, or an unexpected one.
        DeadlineExceededError: if it takes too long; the server may end nevertheless.
        DataLossError: if the server has ended and could not write its last snapshot; says what is lost.
    """
    deadline = deadline or Deadline.after(PATIENCE)
    meant = (task, cluster_id)
    async with _link(address, "end", token, security, deadline, meant) as link:
        what = f"the end of {link.peer_name} at {address}"
        lost: DataLossError | None = None
        try:
            # A server that keeps snapshots answers when the last one is written.
            asking = link.ask(SERVER, StopServer(reason=reason), Deadline.never())
            await deadline.wait(asking, what=what)
        except DataLossError as error:
            lost = error
        await deadline.wait(link.wait_closed(), what=what)
        if lost is not None:
            raise lost
        return link.peer_name


async def keep_server(
    address: str,
    seconds: float,
    *,
    task: str,
    cluster_id: str,
    token: str | None = None,
    security: SecurityConfig | None = None,
) -> None:
    """Keep a server from stopping by itself, until the connection to it is lost or this is cancelled.

    Args:
        address: where it listens.
        seconds: how long it serves without us; it is asked four times as often.
        task: the expected task.
        cluster_id: the id of the expected cluster.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        security: TLS files, for ``tls://``; by default those of the environment.

    Raises:
        PermissionDeniedError: if the server does not accept the request from this client.
        UnavailableError: if no server answers there, or an unexpected one.
        DeadlineExceededError: if it does not answer in time.
    """
    patience, meant = Deadline.after(min(PATIENCE, seconds)), (task, cluster_id)
    async with _link(address, "life", token, security, patience, meant) as link:
        while True:
            await link.ask(SERVER, KeepServer(seconds=seconds), Deadline.after(seconds / 2))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds / 4):
                    await link.wait_closed()
                    return


async def update_cluster(
    address: str,
    tasks: Mapping[str, str],
    *,
    given_up: Collection[str] = (),
    token: str | None = None,
    deadline: Deadline | None = None,
    security: SecurityConfig | None = None,
) -> None:
    """Send the server at an address the current tasks of its cluster; its sessions follow between two steps.

    Args:
        address: where it listens.
        tasks: address by task name, for all tasks including the server's own.
        given_up: those that have ended and are not started again, so that steps do not wait for them; see
            ``restart_wait`` of ``Server``.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        deadline: the deadline of the request; by default 10 s from now.
        security: TLS files, for ``tls://``; by default those of the environment.

    Raises:
        InvalidArgumentError: for a cluster without the server's task, or invalid addresses.
        UnavailableError: if no server answers there.
        DeadlineExceededError: if it takes too long.
    """
    await send_cluster(address, lambda: (tasks, given_up), token=token, deadline=deadline, security=security)


async def send_cluster(
    address: str,
    now: Callable[[], ToldTasks],
    *,
    token: str | None = None,
    deadline: Deadline | None = None,
    security: SecurityConfig | None = None,
) -> ToldTasks:
    """Do the same with tasks that may change until the server has registered them.

    A server that starts again takes long to be reached, and must not hear then what no longer holds.

    Args:
        address: see ``update_cluster``.
        now: returns the tasks as they are.
        token: see ``update_cluster``.
        deadline: see ``update_cluster``.
        security: see ``update_cluster``.

    Returns:
        What the server has registered.
    """
    deadline = deadline or Deadline.after(PATIENCE)
    async with _link(address, "update", token, security, deadline) as link:
        while True:
            tasks, given_up = told = now()
            await link.ask(WORKER, UpdateCluster(cluster=dict(tasks), given_up=sorted(given_up)), deadline)
            if told == now():
                return told


async def read_why(
    address: str, *, token: str | None = None, deadline: Deadline | None = None, security: SecurityConfig | None = None
) -> HangReport:
    """Ask all tasks of a cluster why its steps hang, and return the report.

    Args:
        address: where one of the tasks listens.
        token: its shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        deadline: the deadline of all requests; by default 10 s from now. The report names the tasks that have
            not answered by then.
        security: TLS files, for ``tls://``; by default those of the environment.

    Raises:
        UnavailableError: if no server answers at the address.
        DeadlineExceededError: if that takes too long.
    """
    deadline = deadline or Deadline.after(PATIENCE)
    view = await read_cluster(address, token=token, deadline=deadline, security=security)
    tasks = {**view.tasks, view.task: address}

    links: dict[str, Link] = {}
    async with contextlib.AsyncExitStack() as stack:

        def asking(task: str) -> Callable[[AskWhy, Deadline], Awaitable[WorkerWhy]]:
            async def ask(message: AskWhy, limit: Deadline) -> WorkerWhy:
                link = links.get(task)
                if link is None:  # each task is asked one thing at a time
                    meant = (task, view.cluster_id)
                    opened = _link(tasks[task], "steps", token, security, limit, meant)
                    link = links[task] = await stack.enter_async_context(opened)
                said: WorkerWhy = await link.ask(WORKER, message, limit)
                return said

            return ask

        graphs = await collect_wait_graphs({task: asking(task) for task in tasks}, "", deadline)
    return explain(graphs.waits, graphs.silent)


class TaskLink:
    """A link to the server at an address that is kept from one request to the next; dialled when one is made.

    For programs that ask the same tasks again and again. A link that has ended is dialled anew by the next
    request.

    Args:
        address: where the server listens.
        task: the expected task; any if left out.
        cluster_id: the id of the expected cluster, likewise.
        token: the shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        security: TLS files, for ``tls://``; by default those of the environment.

    Attributes:
        address: where the server listens.
        round_trip: the seconds that the last request took; 0 before the first.
    """

    def __init__(
        self,
        address: str,
        task: str | None = None,
        cluster_id: str | None = None,
        *,
        token: str | None = None,
        security: SecurityConfig | None = None,
    ) -> None:
        self.address, self.round_trip = address, 0.0
        self._expected = (task, cluster_id)
        self._token, self._security = token, security
        self._dialling = asyncio.Lock()
        self._link: Link | None = None
        self._held = contextlib.AsyncExitStack()

    async def connect(self, deadline: Deadline) -> Link:
        """Return the link; dial it if there is none, or if it has ended.

        Raises:
            UnavailableError: if no server answers there, or an unexpected one.
            DeadlineExceededError: if it takes too long.
        """
        link = self._link
        if link is None or link.closed:
            link = await deadline.wait(self._dial(deadline), what=f"a connection to {self.address}")
        return link

    async def ask(self, target: str, message: Any, deadline: Deadline) -> Any:
        """Send a message to an actor of the server and return the answer.

        Raises:
            OpError: the errors of ``connect``, and the error that the handler raised.
        """
        link = await self.connect(deadline)
        begun = current_host().clock.monotonic()
        answer = await link.ask(target, message, deadline)
        self.round_trip = current_host().clock.monotonic() - begun
        return answer

    async def _dial(self, deadline: Deadline) -> Link:
        async with self._dialling:
            if self._link is None or self._link.closed:
                await self._held.aclose()
                self._link = await self._held.enter_async_context(
                    _link(self.address, "state", self._token, self._security, deadline, self._expected)
                )
            return self._link

    async def aclose(self) -> None:
        """Close the link; a later request dials anew."""
        async with self._dialling:
            self._link = None
            await self._held.aclose()


@asynccontextmanager
async def _link(
    address: str,
    what: str,
    token: str | None,
    security: SecurityConfig | None,
    deadline: Deadline,
    meant: tuple[str | None, str | None] = (None, None),
) -> AsyncIterator[Link]:
    """Open a link to the server at an address, optionally only to the expected task and cluster."""
    security = security or shared_security()
    address = full_address(address, bare_scheme(tls=security is not None))
    token = token or shared_token(address)
    if deadline.expired:
        raise DeadlineExceededError(f"the {what} of {address}: the deadline is over")
    hello = Hello(
        cluster_id="",
        task=CLIENT,
        incarnation=current_host().entropy.randbits(63),
        pid=current_host().processes.getpid(),
    )
    try:
        connection = await dial(
            address, hello, deadline, token=token, security=security, expect_task=meant[0], expect_cluster=meant[1]
        )
    except TransportError as exc:
        raise UnavailableError(f"no {what} of {address}: {exc}") from exc
    link = Link(connection, serves={}, watch=probe_factory(token))
    children = Children(f"{what} of {address}")
    _ = children.start(link.run(), name=f"link to {address}")
    try:
        yield link
    finally:
        await link.aclose(_CLOSE)
        await children.stop(_CLOSE)
