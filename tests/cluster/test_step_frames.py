"""Steps that travel as frames keep every guarantee of a step, over a link and within a process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import queue
import signal
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, NoReturn

import numpy as np
import pytest

from actorsession import AsyncSession, DType, Graph, LocalCluster, SecurityConfig, Session, Tensor, as_dtype, ops
from actorsession.config import (
    ConfigProto,
    DebugOptions,
    DebugTensorWatch,
    RPCOptions,
    RunMetadata,
    RunOptions,
    TraceLevel,
)
from actorsession.errors import AbortedError, CancelledError, DeadlineExceededError, OpError, UnavailableError
from actorsession.graph import codec
from actorsession.graph.codec import INLINE_LIMIT, pack
from actorsession.graph.dtypes import ALL_TYPES
from actorsession.messages import MASTER, CreateSession, step_frames
from actorsession.rpc import Link
from actorsession.rpc.local_calls import LocalCalls
from actorsession.rpc.step_calls import StepCalls
from actorsession.runtime.interruptible import CancelScope
from actorsession.runtime.loop_thread import LoopThread
from actorsession.testing.faults import Proxy
from tests.cluster.kit import (
    PATIENCE,
    W0,
    W1,
    InProcess,
    Outcome,
    chain,
    eventually,
    in_process,
    is_idle,
    lose_pushes,
    on,
    plan_of,
    reach_over_links,
    soon,
    until_all,
)
from tests.cluster.test_hostile_clients import linked
from tests.loops import run_to_end
from tests.nodes import make_one, op_type
from tests.rows import for_each
from tests.transports.authority import Authority
from transports import Frame

pytestmark = pytest.mark.usefixtures("way", "patient_clients")
# For what is done otherwise for a master in this process, which is called directly.
both_ways = pytest.mark.parametrize("way", ["link", "direct"], indirect=True)


@pytest.fixture
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """How sessions reach a master of this process: over a link, unless the test says otherwise."""
    way = getattr(request, "param", "link")
    if way == "link":
        reach_over_links(monkeypatch)
    return str(way)


class Wait:
    """A node that waits on the event loop of its server until the test says so, in this process. A kernel that holds a
    thread, as ``Gate`` has, would not do: after runs in which it was quick it is called on the loop."""

    _made: ClassVar[dict[str, Wait]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.entered = 0
        self.value: Any = None  # what it has in place of its input, if anything
        self.error: OpError | None = None  # with which it fails, if any
        self._open = asyncio.Event()
        self._open.set()
        self._made[name] = self

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()
        self.entered = 0

    async def wait_entered(self, times: int = 1) -> None:
        await eventually(lambda: self.entered >= times)

    def __call__(self, x: Tensor) -> Tensor:
        return make_one("TestWait", (x,), {"wait": self.name})

    async def _pass(self, x: Any) -> Any:
        self.entered += 1
        await self._open.wait()
        if self.error is not None:
            raise self.error
        return x if self.value is None else self.value

    @classmethod
    def kernel(cls, context: Any) -> Callable[[Any], Any]:
        return cls._made[context.attrs["wait"]]._pass


op_type("TestWait", Wait.kernel, attrs={"wait": ""}, suspends=True)


class Requests:
    """The runs that this process has requested.

    Attributes:
        of_clients: those of sessions whose frames were sent, or begun by a master in this process.
        of_threads: those of clients that the caller's thread has written.
    """

    def __init__(self) -> None:
        self.of_clients = self.of_threads = 0


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    seen = Requests()
    run, run_from_thread, count = StepCalls.request, StepCalls.run_from_thread, threading.Lock()

    def counted(self: StepCalls, kind: int, *args: Any) -> None:
        seen.of_clients += kind == step_frames.RUN_STEP
        run(self, kind, *args)

    def counted_in_thread(self: StepCalls, *args: Any) -> bool:
        was_sent = run_from_thread(self, *args)
        with count:
            seen.of_clients += was_sent
            seen.of_threads += was_sent
        return was_sent

    for name, function in {"request": counted, "run_from_thread": counted_in_thread}.items():
        monkeypatch.setattr(StepCalls, name, function)
    return seen


async def warm(session: AsyncSession, *args: Any) -> Any:
    """Runs a plan twice: the first run brings the plan along, the second one needs it not."""
    await soon(session.run(*args))
    return await soon(session.run(*args))


def two_tasks() -> tuple[Tensor, Tensor]:
    """A value that is fed, and what both tasks make of it."""
    x = ops.placeholder("float32", [], name="x")
    return x, chain(x, 3, (W1, W0))


# -- values ----------------------------------------------------------------------------------------
@both_ways
async def test_runs_of_a_plan_give_their_own_values_from_the_first_on(session: AsyncSession) -> None:
    x, end = two_tasks()
    for number in range(5):
        assert await soon(session.run(end, {x: float(number)})) == number + 3.0


FED = tuple(t for t in ALL_TYPES if t.kind not in "rv")


def values_of(dtype: DType) -> list[Any]:
    """Values of one dtype: of rank 0, empty, small, large, and large ones that lie in other orders."""
    large = np.arange(2 * INLINE_LIMIT).reshape(128, -1) % 100
    if dtype.kind == "s":
        made = large[:4].astype(np.bytes_).astype(object)
        made[0, 0] = b"\x00\xff"
    else:
        made = large.astype(dtype.np_dtype)
    return [made[0, 1], made[:0, :3], made[:2, 1:2], made, made[::2, ::-3], made.T]


async def test_values_of_every_dtype_size_and_order_arrive_as_they_are(session: AsyncSession) -> None:
    feeds: dict[Tensor, Any] = {}
    fetches = []
    for dtype in FED:
        for value in values_of(dtype):
            x = ops.placeholder(dtype, np.shape(value))
            feeds[x] = value
            with on(W1):
                there = ops.expand_dims(x, 0)
            with on(W0):
                fetches.append(ops.squeeze(there, [0]))
    for _ in range(3):
        found = await soon(session.run(fetches, feeds))
        for got, fed in zip(found, feeds.values(), strict=True):
            wanted = np.asarray(fed)
            if wanted.dtype.fields is not None:  # of quantised numbers the integers are fetched
                wanted = wanted.view(as_dtype(wanted.dtype).integers)
            assert np.asarray(got).dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


@both_ways
@pytest.mark.parametrize("size", [3, INLINE_LIMIT, 2**20])
async def test_fetched_arrays_are_the_callers_own(session: AsyncSession, size: int, way: str) -> None:
    here = on(W0, lambda: ops.Variable(np.zeros(size, np.float32)))
    there = on(W1, lambda: ops.Variable(np.zeros(size, np.float32)))
    x = ops.placeholder("float32", [size])
    fetches = [here.read_value(), there.read_value(), x * 1.0, x * 2.0]
    fed = np.ones(size, np.float32)
    await soon(session.run([here.initializer, there.initializer]))
    for _ in range(4):
        found = await soon(session.run(fetches, {x: fed}))
        for value, expected in zip(found, (0, 0, 1, 2), strict=True):
            assert value.flags.writeable
            np.testing.assert_array_equal(value, np.full(size, expected))
            value[:] = 7
        np.testing.assert_array_equal(fed, np.ones(size))
    # Copying large feeds for a master in this process takes a thread, and so a message.


@both_ways
async def test_one_callable_and_fifty_runs_at_once_get_their_own_answers(cluster: InProcess, graph: Graph) -> None:
    x, end = two_tasks()
    async with AsyncSession(cluster.target(), graph) as session:
        called = session.make_callable(end, [x])
        for number in range(3):
            assert await soon(called(float(number))) == number + 3.0
        assert await warm(session, end, {x: 1.0}) == 4.0
        runs = [called(float(n)) for n in range(25)]
        runs += [session.run(end, {x: float(n)}) for n in range(25, 50)]
        assert await soon(asyncio.gather(*runs)) == [n + 3.0 for n in range(50)]
    await cluster.until_idle()


@both_ways
async def test_threads_of_a_session_get_their_answers(cluster: InProcess, graph: Graph, requests: Requests) -> None:
    x, end = two_tasks()
    large = ops.placeholder("float32", [None])
    total = on(W1, lambda: ops.reduce_sum(large))

    def program() -> None:
        with Session(cluster.target(), graph) as session:
            called = session.make_callable(end, [x])
            fetches = [end, total]
            session.run(fetches, {x: 0.0, large: np.zeros(3)})
            called(0.0)

            def work(thread: int) -> None:
                for number in range(20):
                    value = 100.0 * thread + number
                    assert called(value) == value + 3.0
                    array = np.full(INLINE_LIMIT, value, np.float32)
                    found = session.run(fetches, {x: value, large: array})
                    assert found == [value + 3.0, np.sum(array)]

            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                list(threads.map(work, range(8)))
            over_link = session._session.connection.master.link is not None  # type: ignore[attr-defined]
            assert (requests.of_threads > 0) is over_link

    await soon(asyncio.to_thread(program))
    await cluster.until_idle()


async def test_a_thread_writes_its_run_itself(cluster: InProcess, graph: Graph, requests: Requests) -> None:
    """The step runs while the loop of the session does something else."""
    began, go_on = threading.Event(), threading.Event()
    before: queue.SimpleQueue[int] = queue.SimpleQueue()
    counter = on(W1, lambda: ops.Variable(0.0))
    more = counter.assign_add(1.0)

    def hold() -> None:
        began.set()
        go_on.wait(PATIENCE)

    def program() -> Any:
        with Session(cluster.target(), graph) as session:
            session.run(counter.initializer)
            while not requests.of_threads:
                last = session.run(more)
            thread: Any = session._thread
            thread.call(hold)
            assert began.wait(PATIENCE)
            before.put(received())
            return last, session.run(more)

    def received() -> int:
        links = [link for server in cluster.statistics().values() for link in server.links]
        return sum(link.calls_received for link in links)

    running = asyncio.ensure_future(asyncio.to_thread(program))
    calls = await asyncio.to_thread(before.get, timeout=PATIENCE)
    await eventually(lambda: received() > calls)
    go_on.set()
    last, found = await soon(running)
    assert found == last + 1.0
    await cluster.until_idle()


async def test_over_tls_the_loop_writes_the_runs_of_threads(
    graph: Graph, requests: Requests, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files: SecurityConfig = Authority(tmp_path_factory.mktemp("authority") / "ca").files()
    x, end = two_tasks()
    rpc = RPCOptions(ca_file=files.ca_file, certificate_file=files.certificate_file, key_file=files.key_file)

    def program(target: str) -> None:
        with Session(target, graph, ConfigProto(rpc_options=rpc)) as session:
            session.run(end, {x: 1.0})
            assert session.run(end, {x: 2.0}) == 5.0

    async with in_process(security=files) as cluster:
        await soon(asyncio.to_thread(program, cluster.target()))
        assert requests.of_threads == 0


@pytest.mark.process
@pytest.mark.usefixtures("processes")
async def test_large_values_between_processes_arrive_as_they_are(processes: LocalCluster, graph: Graph) -> None:
    """They go through shared memory, which is used again for those of the next run."""
    x = ops.placeholder("float64", [None])
    there = on(W1, lambda: x * 2.0)
    end = on(W0, lambda: there + 1.0)
    async with AsyncSession(processes.target("worker"), graph) as session:
        kept = []
        for number in range(5):
            fed = np.arange(2**17, dtype=np.float64) + number
            kept.append((fed, await soon(session.run([there, end], {x: fed}))))
        for fed, (doubled, ended) in kept:
            np.testing.assert_array_equal(doubled, 2 * fed)
            np.testing.assert_array_equal(ended, 2 * fed + 1)
            doubled[:] = ended[:] = 0.0


# -- how a step ends before its values are there ------------------------------------------------------
class Held:
    """A step over both tasks, of which a test holds the part on worker 1."""

    def __init__(self, name: str) -> None:
        self.gate = Wait(name)
        self.x = ops.placeholder("float32", [], name="x")
        there = on(W1, lambda: self.gate(self.x))
        self.end = on(W0, lambda: ops.add(there, 1.0, name="end"))

    async def warm(self, session: AsyncSession) -> None:
        """Runs the plan, and closes the gate."""
        assert await warm(session, self.end, {self.x: 1.0}) == 2.0
        self.gate.close()

    async def run_in_thread(self, session: Session, timeout: float | None = None) -> Any:
        """Runs the step in a thread that waits for it."""
        return await asyncio.to_thread(session.run, self.end, {self.x: 1.0}, timeout=timeout)

    async def begin(self, session: AsyncSession, value: float = 1.0) -> asyncio.Task[Any]:
        """Starts a run, and waits until it is in the gate."""
        before = self.gate.entered
        run = asyncio.create_task(session.run(self.end, {self.x: value}))
        await self.gate.wait_entered(before + 1)
        return run


async def nothing_is_left(cluster: InProcess, session: AsyncSession) -> None:
    """Waits until no step is left anywhere, nor room that a step had."""
    await cluster.until_idle()
    seen = session._session.statistics()
    assert (seen.steps, seen.waiting) == (0, 0)
    channel = session._session.connection.master.channel  # type: ignore[attr-defined]
    if isinstance(channel, LocalCalls):
        assert not channel.pending
    else:
        assert seen.link is not None
        assert seen.link.pending == 0
    assert session._session.steps._inflight.statistics().in_flight == 0  # type: ignore[attr-defined]
    for server in cluster.statistics().values():
        assert server.waiting == 0
        assert all((s.steps, s.waiting) == (0, 0) for s in server.open_sessions)
        assert all(link.serving <= 0 for link in server.links)


@both_ways
async def test_a_limit_ends_the_step_on_all_tasks_and_names_those_at_work(cluster: InProcess, graph: Graph) -> None:
    held = Held("frames limit")
    async with AsyncSession(cluster.target(), graph) as session:
        await held.warm(session)
        words = rf"exceeded the run's limit of 0.2 s; still at work on it: {W0}, {W1}$"
        with pytest.raises(DeadlineExceededError, match=words):
            await soon(session.run(held.end, {held.x: 1.0}, timeout=0.2))
        held.gate.open()
        await nothing_is_left(cluster, session)
        assert await soon(session.run(held.end, {held.x: 1.0}, timeout=PATIENCE)) == 2.0


@both_ways
async def test_a_limit_ends_the_run_of_a_thread(cluster: InProcess, graph: Graph) -> None:
    held = Held("frames limit in a thread")
    session = Session(cluster.target(), graph)
    run = partial(held.run_in_thread, session)
    await soon(asyncio.to_thread(session.run, held.end, {held.x: 1.0}))
    await soon(run())  # the first run of a thread opens the link to threads
    held.gate.close()
    words = rf"exceeded the run's limit of 0.2 s; still at work on it: {W0}, {W1}$"
    with pytest.raises(DeadlineExceededError, match=words):
        await soon(run(timeout=0.2))
    held.gate.open()
    assert await soon(run()) == 2.0
    await soon(asyncio.to_thread(session.close))
    await cluster.until_idle()


@pytest.fixture
def silent_on_limits(
    cluster: InProcess, answer_margin: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Return a function that has the master of the only session, once it is there, end no step in time."""

    def forget_limits() -> None:
        answer_margin(0.0)
        (master,) = cluster.server(W0).actors.master._sessions.values()
        monkeypatch.setattr(type(master.steps), "seconds_of", lambda self, run: PATIENCE)

    return forget_limits


async def test_a_thread_gives_up_a_master_that_does_not_answer_in_time(
    cluster: InProcess, graph: Graph, requests: Requests, silent_on_limits: Callable[[], None]
) -> None:
    held = Held("frames silent master of a thread")
    session = Session(cluster.target(), graph)
    run = partial(held.run_in_thread, session)
    while not requests.of_threads:
        await soon(run())
    held.gate.close()
    silent_on_limits()
    before = requests.of_threads
    words = f"{W0} at .* did not answer a step within 0.2 s"
    with pytest.raises(DeadlineExceededError, match=words):
        await soon(run(timeout=0.2))
    assert requests.of_threads == before + 1
    held.gate.open()
    assert await soon(run()) == 2.0
    assert session.statistics().steps == 0
    await soon(asyncio.to_thread(session.close))
    await cluster.until_idle()


async def test_a_client_gives_up_a_master_that_does_not_answer_in_time(
    cluster: InProcess, graph: Graph, silent_on_limits: Callable[[], None]
) -> None:
    held = Held("frames silent master")
    async with AsyncSession(cluster.target(), graph) as session:
        await held.warm(session)
        silent_on_limits()
        words = f"{W0} at .* did not answer a step within 0.2 s"
        with pytest.raises(DeadlineExceededError, match=words):
            await soon(session.run(held.end, {held.x: 1.0}, timeout=0.2))
        held.gate.open()
        await nothing_is_left(cluster, session)


@both_ways
async def test_a_cancelled_run_ends_its_step_on_all_tasks(session: AsyncSession, cluster: InProcess) -> None:
    held = Held("frames cancelled")
    await held.warm(session)
    cancelled, stays = await held.begin(session), await held.begin(session, 5.0)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    assert cancelled.cancelled()
    # Beside the other step there is nothing any more.
    await eventually(lambda: [s.steps for s in cluster.statistics().values()] == [1, 1])
    held.gate.open()
    assert await soon(stays) == 6.0
    await nothing_is_left(cluster, session)


@pytest.mark.parametrize("size", [1, 2**19])
async def test_a_run_may_be_cancelled_before_its_frame_has_left(
    size: int, cluster: InProcess, graph: Graph, requests: Requests
) -> None:
    """A large frame is overtaken by its own cancellation: its step does not begin, or is ended."""
    gate = Wait("frames overtaken")
    x = ops.placeholder("float32", [None])
    end = on(W1, lambda: gate(ops.reduce_sum(x)))
    async with AsyncSession(cluster.target(), graph) as session:
        assert await warm(session, end, {x: np.ones(1)}) == 1.0
        gate.close()
        run = asyncio.create_task(session.run(end, {x: np.ones(size)}))
        while requests.of_clients < 3:  # noqa: ASYNC110 - it is cancelled while its frame is written
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait([run])
        await nothing_is_left(cluster, session)
        gate.open()
        assert await soon(session.run(end, {x: np.ones(3)})) == 3.0


@both_ways
async def test_closing_a_session_ends_its_runs(cluster: InProcess, graph: Graph) -> None:
    held = Held("frames closed")
    session = AsyncSession(cluster.target(), graph)
    await held.warm(session)
    runs = [await held.begin(session) for _ in range(3)]
    await soon(session.close())
    for run in runs:
        with pytest.raises(CancelledError, match=r"^Session has been closed\.$"):
            await soon(run)
    held.gate.open()
    await cluster.until_idle()


@both_ways
async def test_a_cancel_scope_ends_the_run_of_its_thread(cluster: InProcess, graph: Graph) -> None:
    """As queue runners do when their program stops."""
    held, scope = Held("frames scope"), CancelScope()
    session = Session(cluster.target(), graph)

    def run_in_scope() -> Any:
        with scope:
            return session.run(held.end, {held.x: 1.0})

    await soon(asyncio.to_thread(session.run, held.end, {held.x: 1.0}))
    held.gate.close()
    run = asyncio.ensure_future(asyncio.to_thread(run_in_scope))
    await held.gate.wait_entered()
    scope.cancel()
    with pytest.raises(CancelledError, match="the run was cancelled"):
        await soon(run)
    held.gate.open()
    await cluster.until_idle()
    assert await soon(asyncio.to_thread(session.run, held.end, {held.x: 1.0})) == 2.0
    await asyncio.to_thread(session.close)


def abort_by_signal(signum: int, frame: FrameType | None) -> NoReturn:
    raise AbortedError("by the handler of a signal")


@pytest.mark.process
@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize(
    ("handler", "raised"), [(signal.default_int_handler, KeyboardInterrupt), (abort_by_signal, AbortedError)]
)
def test_ctrl_c_ends_a_blocked_run_at_once_and_the_next_run_is_as_any(
    processes: LocalCluster,
    graph: Graph,
    handler: Callable[[int, FrameType | None], NoReturn],
    raised: type[BaseException],
) -> None:
    """The queue stays full, so nothing but what the signal's handler raises can end the run."""
    address = processes.target("worker", 1)
    with on(W1):
        queue = ops.FIFOQueue(2, "float32", [[]])
        put, element = queue.enqueue(1.0), queue.dequeue()

    def press() -> None:
        run_to_end(until_all([address], lambda seen: seen.steps == 1))
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted() -> None:
        before = signal.signal(signal.SIGINT, handler)
        try:
            thread.start()
            session.run(put)
        finally:
            signal.signal(signal.SIGINT, before)

    thread = threading.Thread(target=press)
    with Session(processes.target("worker"), graph) as session:
        for _ in range(2):
            session.run(put)
            session.run(element)
        session.run(put)
        session.run(put)
        with pytest.raises(raised):
            interrupted()
        thread.join()
        run_to_end(until_all([address], is_idle))
        session.run(element)
        session.run(put)


@pytest.mark.parametrize("way", ["direct"], indirect=True)
@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_ends_a_blocked_run_of_a_master_in_this_process(graph: Graph) -> None:
    """Servers in a thread of the program, as TensorFlow 1 has them; the next run is as any."""
    with on(W1):
        queue = ops.FIFOQueue(2, "float32", [[]])
        put, element = queue.enqueue(1.0), queue.dequeue()
    loop, cluster = LoopThread("servers"), InProcess({"worker": 2})

    async def press() -> None:
        await eventually(lambda: cluster.server(W1).statistics().steps == 1)
        os.kill(os.getpid(), signal.SIGINT)

    loop.wait(cluster.start())
    try:
        with Session(cluster.target(), graph) as session:
            for _ in range(2):
                session.run(put)
                session.run(element)
            session.run(put)
            session.run(put)
            pressed = loop.submit(press())
            with pytest.raises(KeyboardInterrupt):
                session.run(put)
            pressed.result(PATIENCE)
            loop.wait(cluster.until_idle())
            session.run(element)
            session.run(put)
    finally:
        loop.wait(cluster.stop())
        loop.stop()


@both_ways
async def test_a_run_that_waited_at_its_client_is_told_its_whole_limit(cluster: InProcess, graph: Graph) -> None:
    """The time that it has waited counts, and the error names the limit that was set."""
    held = Held("frames waited")
    config = ConfigProto(max_inflight_steps=1)
    async with AsyncSession(cluster.target(), graph, config) as session:
        await held.warm(session)
        first = await held.begin(session)
        second = asyncio.create_task(session.run(held.end, {held.x: 1.0}, timeout=0.5))
        await eventually(lambda: session._session.statistics().waiting == 1)
        first.cancel()
        with pytest.raises(DeadlineExceededError, match=r"exceeded the run's limit of 0\.5 s; still"):
            await soon(second)
        held.gate.open()
        await nothing_is_left(cluster, session)


@both_ways
@pytest.mark.parametrize("task", [W0, W1])
async def test_a_kernels_own_deadline_is_its_own_error(session: AsyncSession, task: str, cluster: InProcess) -> None:
    """Only the limit of the step is told as that of the step."""
    wait = Wait("frames own deadline")
    x = ops.placeholder("float32", [], name="x")
    end = on(task, lambda: ops.add(wait(x), 1.0))
    await warm(session, end, {x: 1.0})
    wait.error = DeadlineExceededError("the lookup took more than 3 s")
    error = await error_of(session, end, {x: 1.0})
    assert isinstance(error, DeadlineExceededError)
    assert "the lookup took more than 3 s" in error.message
    assert (error.node, error.task) == (end.op.inputs[0].op.name, task)
    await nothing_is_left(cluster, session)


# -- one root cause ----------------------------------------------------------------------------------
async def error_of(session: AsyncSession, *args: Any) -> OpError:
    """The error with which a run ends."""
    with pytest.raises(OpError) as info:
        await soon(session.run(*args))
    return info.value


@both_ways
@pytest.mark.parametrize("failing", ["w0", "w1", "both"])
async def test_a_kernel_error_names_node_device_task_and_line(failing: str, cluster: InProcess, graph: Graph) -> None:
    a, b = ops.placeholder("int32", [], name="a"), ops.placeholder("int32", [], name="b")
    on_w0 = on(W0, lambda: ops.floordiv(7, a, name="on_w0"))
    on_w1 = on(W1, lambda: ops.floordiv(9, b, name="on_w1") + on_w0)
    end = on(W0, lambda: on_w1 + 1)
    feeds = {a: int(failing == "w1"), b: int(failing == "w0")}
    async with AsyncSession(cluster.target(), graph) as session:
        await warm(session, end, {a: 1, b: 1})
        error = await error_of(session, end, feeds)
        assert "division by zero" in error.message
        task = W1 if failing == "w1" else W0
        node = "on_w1" if failing == "w1" else "on_w0"
        if failing != "both":
            assert (error.node, error.task, error.device) == (node, task, f"{task}/device:CPU:0")
            assert f"{Path(__file__).name}:" in str(error.source)
        assert await soon(session.run(end, {a: 1, b: 1})) == 17
        await nothing_is_left(cluster, session)


async def test_a_lost_value_ends_its_step(cluster: InProcess, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker 1 has ended its part and has nothing to send any more, which it says when it is asked."""
    x = ops.placeholder("float32", [], name="x")
    end = chain(x, 2, (W1, W0))
    async with AsyncSession(cluster.target(), graph) as session:
        await warm(session, end, {x: 1.0})
        worker: Any = cluster.server(W1).actors.worker
        with monkeypatch.context() as patch:
            lose_pushes(worker._workers, patch)
            error = await error_of(session, end, {x: 1.0})
        assert isinstance(error, UnavailableError)
        assert "were lost on their way" in error.message
        assert error.task == W1
        assert await soon(session.run(end, {x: 2.0})) == 4.0
        await nothing_is_left(cluster, session)


# -- backpressure and admission -----------------------------------------------------------------------
@both_ways
@pytest.mark.parametrize("where", ["client", "server"])
async def test_runs_beyond_the_limit_wait_and_run_in_order(where: str, graph: Graph) -> None:
    held = Held(f"program admission {where}")
    order: list[float] = []
    options: dict[str, Any] = {"max_inflight_steps": 2} if where == "server" else {}
    config = ConfigProto(max_inflight_steps=2) if where == "client" else None
    async with in_process(**options) as cluster, AsyncSession(cluster.target(), graph, config) as session:
        await held.warm(session)

        async def run(number: int) -> None:
            order.append(await session.run(held.end, {held.x: float(number)}))

        runs = [asyncio.create_task(run(number)) for number in range(20)]

        def waiting() -> int:
            here = session._session.statistics().waiting
            return here + cluster.server(W0).statistics().waiting

        await held.gate.wait_entered(2)
        await eventually(lambda: waiting() == 18)
        assert held.gate.entered == 2
        held.gate.open()
        await soon(asyncio.gather(*runs))
        assert order == [number + 1.0 for number in range(20)]
        await nothing_is_left(cluster, session)


@both_ways
async def test_bytes_under_way_are_limited_too(cluster: InProcess, graph: Graph) -> None:
    gate = Wait("frames bytes")
    x = ops.placeholder("float32", [None], name="x")
    end = on(W1, lambda: ops.reduce_sum(gate(x)))
    config = ConfigProto(max_inflight_bytes=2**20)
    async with AsyncSession(cluster.target(), graph, config) as session:
        assert await warm(session, end, {x: np.ones(3)}) == 3.0
        gate.close()
        fed = np.ones(2**17, np.float32)  # half a MiB, of which two fit
        runs = [asyncio.create_task(session.run(end, {x: fed})) for _ in range(8)]
        await gate.wait_entered(2)
        await eventually(lambda: session._session.statistics().waiting == 6)
        assert gate.entered == 2
        gate.open()
        assert await soon(asyncio.gather(*runs)) == [2**17] * 8
        await nothing_is_left(cluster, session)


async def test_threads_beyond_the_limit_lose_no_run(cluster: InProcess, graph: Graph) -> None:
    x, end = two_tasks()

    def program() -> None:
        with Session(cluster.target(), graph, ConfigProto(max_inflight_steps=2)) as session:
            session.run(end, {x: 0.0})

            def work(number: int) -> Any:
                return session.run(end, {x: float(number)})

            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                assert list(threads.map(work, range(200))) == [n + 3.0 for n in range(200)]

    await soon(asyncio.to_thread(program))
    await cluster.until_idle()


async def test_nothing_is_decoded_before_it_is_admitted(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held("frames decoded")
    read: list[step_frames.WireValues] = []
    read_all = step_frames.WireValues.read_all

    def noted(self: step_frames.WireValues) -> list[Any]:
        read.append(self)
        return read_all(self)

    async with in_process(max_inflight_steps=1) as cluster, AsyncSession(cluster.target(), graph) as session:
        await held.warm(session)
        first = await held.begin(session)
        monkeypatch.setattr(step_frames.WireValues, "read_all", noted)
        second = asyncio.create_task(session.run(held.end, {held.x: 2.0}))
        await eventually(lambda: cluster.server(W0).statistics().waiting == 1)
        decoded = len(read)
        held.gate.open()
        assert await soon(asyncio.gather(first, second)) == [2.0, 3.0]
        assert decoded == 0


class HeldCodec:
    """The part of the codec that strings go through; a thread in it waits for the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self._work = getattr(codec, name)
        self.go, self.threads = threading.Event(), list[int]()
        monkeypatch.setattr(codec, name, self)

    def __call__(self, value: Any, *args: Any) -> Any:
        if len(value) > 2**16:
            self.threads.append(threading.get_ident())
            assert self.go.wait(PATIENCE), "nobody has let it go on"
        return self._work(value, *args)


LONG_TEXTS = np.array([b"%06d" % k for k in range(2**16 + 1)], dtype=object)


@for_each("name", ["_unpack_strings", "pack"])
@for_each("task", [W0, W1])
@for_each("is_first", [False, True], ids=["again", "first"])
async def test_many_strings_are_read_and_written_in_threads_while_another_session_goes_on(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, name: str, task: str, is_first: bool
) -> None:
    """Fed to and fetched from the master's own task, and another."""
    with on(task):
        texts, count = ops.placeholder("string", [None]), ops.placeholder("int32", [])
        end = ops.size(texts) if name == "_unpack_strings" else ops.fill([count], "text")
    feeds: dict[Any, Any] = {texts: LONG_TEXTS} if name == "_unpack_strings" else {count: len(LONG_TEXTS)}
    with Graph().as_default() as beside:
        x, y = two_tasks()
    async with (
        in_process() as cluster,
        AsyncSession(cluster.target(), graph) as session,
        AsyncSession(cluster.target(), beside) as other,
    ):
        if not is_first:
            await warm(session, end, feeds)
        await warm(other, y, {x: 0.0})
        held = HeldCodec(monkeypatch, name)
        found = asyncio.create_task(session.run(end, feeds))
        await eventually(lambda: bool(held.threads))
        assert await soon(other.run(y, {x: 1.0})) == 4.0
        assert not found.done()
        held.go.set()
        assert np.size(await soon(found)) == (1 if name == "_unpack_strings" else len(LONG_TEXTS))
        assert threading.get_ident() not in held.threads
        await cluster.until_idle()


# -- what changes between two runs ---------------------------------------------------------------------
@both_ways
async def test_the_graph_may_grow_and_plans_run_as_before(session: AsyncSession) -> None:
    x, end = two_tasks()
    assert await warm(session, end, {x: 1.0}) == 4.0
    for number in range(3):
        with on(W1):
            end_of_more = end * float(number)
        assert await warm(session, end_of_more, {x: 1.0}) == 4.0 * number
        assert await soon(session.run(end, {x: 2.0})) == 5.0


@both_ways
async def test_a_plan_that_was_evicted_is_made_again(cluster: InProcess, graph: Graph) -> None:
    """The master keeps one plan, and the client has two, by turns."""
    x, end = two_tasks()
    other = on(W1, lambda: x * 3.0)
    async with AsyncSession(cluster.target(), graph, ConfigProto(plan_cache_size=1)) as session:
        for number in range(6):
            value = float(number)
            for _ in range(3):
                assert await soon(session.run(end, {x: value})) == value + 3.0
            for _ in range(3):
                assert await soon(session.run(other, {x: value})) == value * 3.0
        await eventually(lambda: [s.graphs for s in cluster.statistics().values()] == [0, 1])
        await nothing_is_left(cluster, session)


@both_ways
async def test_what_runs_take_is_settled_when_their_values_have_arrived(cluster: InProcess, graph: Graph) -> None:
    with on(W1):
        queue = ops.FIFOQueue(9, "float32", [[]])
        put, element = queue.enqueue_many([np.arange(5, dtype=np.float32)]), queue.dequeue()
    async with AsyncSession(cluster.target(), graph, ConfigProto(plan_cache_size=1)) as session:
        await soon(session.run(put))
        for number in range(5):
            assert await soon(session.run(element)) == number
        await eventually(lambda: not any(s.unsettled for s in cluster.statistics().values()))
        await nothing_is_left(cluster, session)


async def test_a_link_that_is_lost_takes_its_plans_along(cluster: InProcess, graph: Graph) -> None:
    x, end = two_tasks()
    async with Proxy(cluster.target()) as proxy, AsyncSession(proxy.address, graph) as session:
        assert await warm(session, end, {x: 1.0}) == 4.0
        proxy.cut()
        with pytest.raises(UnavailableError):
            await soon(session.run(end, {x: 1.0}))
        proxy.heal()
        await soon(session.reattach())
        assert await warm(session, end, {x: 2.0}) == 5.0


# -- observation ---------------------------------------------------------------------------------------
@both_ways
@pytest.mark.parametrize(
    "options",
    [None, RunOptions(), RunOptions(timeout_in_ms=1000 * int(PATIENCE)), "timeout"],
    ids=["none", "empty", "timeout_in_ms", "timeout"],
)
async def test_a_run_with_no_other_option_than_a_limit_is_a_plain_run(
    options: Any, cluster: InProcess, graph: Graph, requests: Requests
) -> None:
    x, end = two_tasks()
    more = {"timeout": PATIENCE} if options == "timeout" else {"options": options}
    async with AsyncSession(cluster.target(), graph) as session:
        for number in range(3):
            assert await soon(session.run(end, {x: float(number)}, **more)) == number + 3.0

    def in_thread() -> None:
        with Session(cluster.target(), graph) as session:
            assert session.run(end, {x: 1.0}, **more) == 4.0

    await soon(asyncio.to_thread(in_thread))


@both_ways
@pytest.mark.parametrize("how", ["options", "metadata", "debugger"])
async def test_a_run_that_asks_for_more_is_followed_by_plain_ones(how: str, cluster: InProcess, graph: Graph) -> None:
    x, end = two_tasks()
    metadata = RunMetadata()
    watched = DebugTensorWatch(
        node_name=end.op.name, output_slot=0, debug_ops=["DebugIdentity"], debug_urls=["memory://"]
    )
    more: dict[str, dict[str, Any]] = {
        "options": {"options": RunOptions(trace_level=TraceLevel.FULL_TRACE)},
        "metadata": {"options": RunOptions(trace_level=TraceLevel.FULL_TRACE), "run_metadata": metadata},
        "debugger": {"options": RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=[watched]))},
    }
    async with AsyncSession(cluster.target(), graph) as session:
        assert await warm(session, end, {x: 1.0}) == 4.0
        for _ in range(2):
            assert await soon(session.run(end, {x: 2.0}, **more[how])) == 5.0
            assert await soon(session.run(end, {x: 3.0})) == 6.0
        if how == "metadata":
            assert metadata.step_stats is not None
            names = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
            assert end.op.name in names
        await nothing_is_left(cluster, session)


# -- peers that send what no client would ------------------------------------------------------------
class Hostile:
    """A client that has a session whose plan has run, and sends frames of its own making.

    Attributes:
        number: the number of its plan, which is fed one value.
        answers: the step frames that have come.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self.number = 77
        self.answers: asyncio.Queue[list[Any]] = asyncio.Queue()

    async def open(self, graph: Graph, feed: str, fetch: str) -> None:
        created = await self.link.ask(
            MASTER,
            CreateSession(
                graph=graph.as_graph_def().to_wire(), config=ConfigProto().to_wire(), target="", request_id=""
            ),
        )
        handle = created.session_handle
        plan = plan_of(handle, [fetch], [feed])
        outcome = Outcome()
        values, asked = step_frames.WireValues.of([np.float32(1.0)]), step_frames.StepRequest(plan=plan)
        self.link.steps.request(step_frames.RUN_STEP, 99, self.number, None, asked, values, outcome)
        await outcome
        receive = self.link.steps.receive

        def note(header: Any, segments: Any, wire: Any = None) -> None:
            self.answers.put_nowait(step_frames.read_header(header))
            receive(header, segments, wire)

        self.link.steps.receive = note  # type: ignore[method-assign]

    def send(self, *wire: Any) -> None:
        self.link._connection.write(Frame(step_frames.write_header(list(wire)), ()))

    async def answer(self) -> list[Any]:
        return await soon(self.answers.get())


ONE_VALUE = step_frames.WireValues.of([np.float32(1.0)]).items


@pytest.fixture(params=[(W1, W0), (W0, W1)], ids=["fed there", "fed at the master"])
async def hostile(request: Any, cluster: InProcess, graph: Graph) -> AsyncIterator[Hostile]:
    x = ops.placeholder("float32", [], name="x")
    end = chain(x, 3, request.param)
    async with linked(cluster.target()) as link:
        made = Hostile(link)
        await made.open(graph, x.name, end.name)
        yield made
    await cluster.until_idle()
    await serves(cluster)


async def serves(cluster: InProcess) -> None:
    """Checks that a session of others gets right answers, and that nothing is held for anybody else."""
    with Graph().as_default() as graph:
        x, end = two_tasks()
        async with AsyncSession(cluster.target(), graph) as session:
            assert await warm(session, end, {x: 1.0}) == 4.0
            await nothing_is_left(cluster, session)


@for_each("items", [[], 2 * ONE_VALUE], ids=["none", "two"])
async def test_a_run_with_another_number_of_values_fails(hostile: Hostile, items: Any) -> None:
    hostile.send(step_frames.RUN_STEP, 7, hostile.number, None, None, *items)
    kind, call, error = await hostile.answer()
    assert (kind, call) == (step_frames.FAIL, 7)
    assert "brings 1 values" in str(error)


@for_each(
    "items",
    [
        (None, b"\xc1"),
        (None, b""),
        (None, None),
        (None, pack("text")),
        (None, pack([1, 2])),
        tuple(step_frames.WireValues.of([np.zeros(3, np.float32)]).items),
        tuple(step_frames.WireValues.of([np.int64(1)]).items),
        tuple(step_frames.WireValues.of([np.array([b"text"], object)]).items),
    ],
    ids=["no msgpack", "nothing", "dead", "text", "list", "shape", "dtype", "strings"],
)
async def test_a_value_that_does_not_fit_fails_its_run_or_is_computed_and_holds_nothing(
    items: Any, hostile: Hostile, cluster: InProcess
) -> None:
    for call in range(3):
        hostile.send(step_frames.RUN_STEP, call, hostile.number, None, None, *items)
        kind, answered, *_ = await hostile.answer()
        assert (kind in (step_frames.FAIL, step_frames.DONE), answered) == (True, call)
    hostile.send(step_frames.RUN_STEP, 8, hostile.number, None, None, *ONE_VALUE)
    assert (await hostile.answer())[:2] == [step_frames.DONE, 8]
    await cluster.until_idle()
    assert [s.steps for s in cluster.server(W0).statistics().open_sessions] == [0]
    (master,) = cluster.server(W0).actors.master._sessions.values()
    assert master.steps.waits(10).steps == ()


@pytest.mark.parametrize(
    "wire",
    [
        (step_frames.RUN_STEP, 1, "number", None, None),
        (step_frames.RUN_STEP, 1, 2, None, None, b"\x01", b"no float"),
        (step_frames.PARTIAL_RUN, 1, 2, None, pack([["x:0"], [1]])),
        (step_frames.RUN_GRAPH, 1, 2, None, pack([1, None])),
        (step_frames.PUSH, 1, 10**6, *ONE_VALUE),
        (step_frames.FAIL, 1, "no error"),
    ],
    ids=repr,
)
async def test_a_frame_that_is_malformed_ends_the_link_and_nothing_else(wire: Any, hostile: Hostile) -> None:
    hostile.send(*wire)
    await soon(hostile.link.wait_closed())
    assert hostile.answers.empty()


async def test_answers_to_runs_that_the_server_has_not_requested_are_dropped(hostile: Hostile) -> None:
    hostile.send(step_frames.DONE, 5, None)
    hostile.send(step_frames.GONE, 5)
    hostile.send(step_frames.CANCEL, 5)
    hostile.send(step_frames.PUSH, 5, f"{W1};0;{W0};e;0:0", *ONE_VALUE)
    hostile.send(step_frames.RUN_STEP, 8, hostile.number, None, None, *ONE_VALUE)
    assert (await hostile.answer())[:2] == [step_frames.DONE, 8]
