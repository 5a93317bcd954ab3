"""What the tests of clusters share: servers in this process, a gate inside a step, patience."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast, overload

import pytest

from actorsession import LocalCluster, Tensor, get_default_graph, ops
from actorsession.actors import Deadline, registry
from actorsession.cluster import ServerStatistics, read_statistics
from actorsession.errors import NotFoundError, OpError
from actorsession.messages import VOCABULARY, PrepareStep
from actorsession.messages.step_frames import RUN_STEP, StepRequest, WireValues
from actorsession.rpc.local_calls import LocalCalls, LocalValues
from actorsession.rpc.step_calls import StepCalls
from actorsession.runtime.hang_report import HangReport
from actorsession.testing import InProcessCluster, SimulatedCluster
from tests.actors.kit import PATIENCE as PATIENCE
from tests.actors.kit import eventually as eventually
from tests.actors.kit import soon as soon
from tests.nodes import make_one, op_type
from tests.rows import few_of

T = TypeVar("T")

_NUMBERS = itertools.count()
PS0, W0, W1, W2 = (
    f"/job:{job}/replica:0/task:{index}" for job, index in [("ps", 0), ("worker", 0), ("worker", 1), ("worker", 2)]
)


# A lease that nothing outlasts which a test waits for: what is noticed before, no lease has told.
LONG_LEASE = 10 * PATIENCE


def patient_cluster(jobs: dict[str, int], **options: Any) -> LocalCluster:
    """A cluster of processes that take nobody for lost because of silence."""
    cluster = LocalCluster(jobs, **options)
    cast("Any", cluster._spawner)._options += ("--lease", str(LONG_LEASE))
    return cluster


# -- a cluster in this process ---------------------------------------------------------------------
class InProcess(InProcessCluster):
    """Servers of one cluster, all in this process and on this loop."""

    async def until_idle(self) -> None:
        """Waits until nothing is left of any step on any task."""
        await eventually(lambda: all(s.idle for s in self.statistics().values()))


@asynccontextmanager
async def in_process(jobs: dict[str, int] | None = None, **options: Any) -> AsyncIterator[InProcess]:
    async with InProcess(jobs or {"worker": 2}, **options) as cluster:
        yield cluster


# -- a cluster in a simulation ---------------------------------------------------------------------
def simulated(
    jobs: Mapping[str, int] | None = None, seeds: int = 3, **options: Any
) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """Makes a test of a coroutine function, whose ``cluster`` is a simulated one that has started, once for each of
    some seeds, the short suite for the first. Its other arguments are fixtures as ever."""

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(seed: int, **fixtures: Any) -> None:
            async def main(cluster: SimulatedCluster) -> None:
                async with cluster:
                    await test(cluster=cluster, **fixtures)

            SimulatedCluster(seed, jobs, **options).run(main)

        # What pytest reads: the cluster is no fixture, and the seed is a parameter.
        kept = [p for name, p in inspect.signature(test).parameters.items() if name != "cluster"]
        seed = inspect.Parameter("seed", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature([seed, *kept])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("seed", few_of(range(seeds), seeds))(run)

    return decorate


async def crashed(cluster: SimulatedCluster, job: str, index: int = 0) -> Any:
    """Kills the process of a task, and returns it when the other tasks and the program have seen it end."""
    process = cluster.task(job, index)
    others = [one.server for one in cluster.processes.values() if one is not process and not one.has_ended]
    caches = [server._cache.links for server in others if server is not None]
    links = [(cache, link) for cache in caches if (link := cache.in_use.get(process.task)) is not None]
    process.crash()
    await process.wait_ended()
    # Its next process may have links by then.
    await eventually(lambda: all(cache.in_use.get(process.task) is not link for cache, link in links))
    return process


async def until(cluster: SimulatedCluster, condition: Callable[[ServerStatistics], bool], *tasks: str) -> None:
    """Waits until tasks meet a condition."""
    for task in tasks:
        server = cluster.processes[task].server
        assert server is not None
        await eventually(lambda server=server: condition(server.statistics()))  # type: ignore[misc]


class Outcome:
    """Waits for the outcome of a run that a test requests by frames; see ``RunWaiter``."""

    def __init__(self) -> None:
        self._ended: asyncio.Future[tuple[list[Any], Any]] = asyncio.get_running_loop().create_future()

    def done(self, values: Any, extra: Any) -> None:
        self._ended.set_result((list(values.read_all()), extra))

    def failed(self, error: OpError) -> None:
        self._ended.set_exception(error)

    def gone(self) -> None:
        self.failed(NotFoundError("gone"))

    def __await__(self) -> Any:
        return self._ended.__await__()


def plan_of(
    handle: str, fetches: Sequence[str], feeds: Sequence[str] = (), targets: Sequence[str] = (), **more: Any
) -> list[Any]:
    """A plan in wire form, as the first run of it brings it along."""
    message = PrepareStep(
        session_handle=handle,
        feeds=list(feeds),
        fetches=list(fetches),
        targets=list(targets),
        **{"partial": False, **more},
    )
    return VOCABULARY.to_wire(message)


async def run_by_frame(
    calls: StepCalls | LocalCalls,
    handle: str,
    fetches: Sequence[str],
    targets: Sequence[str] = (),
    options: dict[str, Any] | None = None,
    **feeds: Any,
) -> list[Any]:
    """Requests a run as a client does that has not run its plan before; the names of feeds are of nodes."""
    plan = plan_of(handle, fetches, [f"{name}:0" for name in feeds], targets)
    outcome, values = Outcome(), feeds.values()
    sent: Any = WireValues.of(values) if isinstance(calls, StepCalls) else LocalValues.of(values)
    number = next(_NUMBERS)
    asked = StepRequest(plan=plan, options=options or {})
    calls.request(RUN_STEP, number, number, None, asked, sent, outcome)
    found, _ = await outcome
    return found


def reach_over_links(monkeypatch: Any) -> None:
    """Makes sessions dial masters of this process as if they were elsewhere."""
    monkeypatch.setattr(registry, "lookup", lambda address: None)


def lose_pushes(links: Any, monkeypatch: Any) -> None:
    """Has a task of this process lose what it sends to others over these links."""
    monkeypatch.setattr(links, "push", lambda task, message: None)


def hold_back(links: Any, monkeypatch: Any) -> asyncio.Event:
    """Has a task of this process hold its steps back, as where a peer reads slowly, until the event is set."""
    free = asyncio.Event()
    answers = {"is_backlogged": lambda task: not free.is_set(), "wait_for_capacity": lambda task: free.wait()}
    for name, answer in answers.items():
        monkeypatch.setattr(links, name, answer)
    return free


async def until_all(addresses: Iterable[str], condition: Callable[[ServerStatistics], bool]) -> None:
    """Waits until the servers at these addresses, whichever process they are in, meet a condition."""
    async with asyncio.timeout(PATIENCE):
        for address in addresses:
            limit = Deadline.after(PATIENCE)
            while not condition(await read_statistics(address, deadline=limit)):  # noqa: ASYNC110
                await asyncio.sleep(0.005)


async def until_root(session: Any, kind: str) -> HangReport:
    """What the session says once the root cause is of a kind."""
    async with asyncio.timeout(PATIENCE):
        while True:
            why: HangReport = await session.why()
            if why.root is not None and why.root.kind == kind:
                return why
            await asyncio.sleep(0.01)


def is_idle(seen: ServerStatistics) -> bool:
    """Whether nothing is left of any step."""
    return seen.idle


def is_empty(seen: ServerStatistics) -> bool:
    """Whether nothing is left of any session."""
    return seen.idle and not (seen.sessions or seen.worker_sessions or seen.graphs)


@contextmanager
def silent_address() -> Iterator[str]:
    """An address where the kernel takes connections and nobody ever answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"


# -- a gate inside a step --------------------------------------------------------------------------
class Gate:
    """A node of a graph that a test holds: it lets its input pass when the test says so."""

    _gates: dict[str, Gate] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.entered = 0
        self.on_entered: Callable[[], None] | None = None  # called in the kernel's thread
        self._open = threading.Event()
        self._gates[name] = self

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    async def wait_entered(self, times: int = 1) -> None:
        await eventually(lambda: self.entered >= times)

    def __call__(self, x: Tensor) -> Tensor:
        return make_one("TestGate", (x,), {"gate": self.name})

    @classmethod
    def kernel(cls, context: Any) -> Callable[[Any], Any]:
        gate = cls._gates[context.attrs["gate"]]

        def hold(x: Any) -> Any:
            gate.entered += 1
            if gate.on_entered is not None:
                gate.on_entered()
            assert gate._open.wait(PATIENCE), f"nobody has opened gate {gate.name}"
            return x

        return hold


# To the kernel pool, always.
op_type("TestGate", Gate.kernel, attrs={"gate": ""}, aliases=True, cost=lambda inputs, outputs: 1e6)


# -- graphs ----------------------------------------------------------------------------------------
@overload
def on(task: str) -> AbstractContextManager[None]: ...
@overload
def on(task: str, build: Callable[[], T]) -> T: ...
def on(task: str, build: Any = None) -> Any:
    """The device scope of a task, in the default graph; or what is built in it."""
    scope = get_default_graph().device(task)
    if build is None:
        return scope
    with scope:
        return build()


def chain(x: Tensor, hops: int, tasks: tuple[str, ...] = (W0, W1)) -> Tensor:
    """Adds 1 on each task in turn, ``hops`` times."""
    for number in range(hops):
        with on(tasks[number % len(tasks)]):
            x = x + 1.0
    return x


def long_product(x: Tensor, factors: int = 400) -> Tensor:
    """A chain of products that takes seconds for a few hundred rows."""
    y = x
    for _ in range(factors):
        y = ops.matmul(y, x) * 0.01
    return y
