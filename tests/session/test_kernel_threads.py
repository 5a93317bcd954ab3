"""Which threads the kernels of a session run in, and what becomes of them."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, Session, ops
from actorsession.config import ThreadPoolOptionProto
from actorsession.errors import InvalidArgumentError, ResourceExhaustedError
from actorsession.ops.blas_threads import blas_threads
from tests.cluster.kit import eventually
from tests.rows import for_each
from tests.session.probe import Probe

KERNEL = "actorsession-kernel"
Make = Callable[..., Any]
OWN_THREADS = ConfigProto(device_count={"CPU": 2}, use_per_session_threads=True)


def pool(index: int) -> RunOptions:
    return RunOptions(inter_op_thread_pool=index)


def two_pools() -> ConfigProto:
    one = ThreadPoolOptionProto(num_threads=1)
    return ConfigProto(session_inter_op_thread_pool=[one, one])


def probed(name: str) -> tuple[Probe, Any]:
    """A probe, and a tensor whose kernel it notes."""
    probe = Probe(name)
    return probe, probe(ops.constant(1.0))


# -- kernel pools ----------------------------------------------------------------------------------
def pools(threads: list[str]) -> list[str]:
    """The pools that threads belong to."""
    return [re.sub(r"_\d+$", "", thread) for thread in threads]


async def test_sessions_share_the_threads_of_the_process(graph: Graph) -> None:
    probe, y = probed("shared")
    config = ConfigProto(inter_op_parallelism_threads=1)
    async with AsyncSession(graph=graph, config=config) as one, AsyncSession(graph=graph, config=config) as other:
        await one.run(y)
        await other.run(y)
        await other.run(y)
        assert pools(probe.threads) == [KERNEL] * 3
        assert one.statistics().offloaded == 1
        assert other.statistics().offloaded == 2


async def test_closing_a_session_leaves_the_threads_to_the_others(graph: Graph) -> None:
    probe, y = probed("left")
    async with AsyncSession(graph=graph) as other:
        async with AsyncSession(graph=graph) as one:
            await one.run(y)
        assert await other.run(y) == 1.0
    assert all(name.startswith(f"{KERNEL}_") for name in probe.threads)


async def test_the_threads_of_a_session_that_was_dropped_end_with_it(graph: Graph) -> None:
    probe, y = probed("dropped")
    session = AsyncSession(graph=graph, config=ConfigProto(use_per_session_threads=True))
    await session.run(y)
    (thread,) = [t for t in threading.enumerate() if t.name == probe.threads[0]]
    del session
    gc.collect()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


def test_all_threads_of_a_synchronous_session_that_was_dropped_end_with_it(graph: Graph) -> None:
    y = Probe("dropped, synchronous")(ops.constant(1.0))
    before = set(threading.enumerate())
    session = Session(graph=graph, config=ConfigProto(use_per_session_threads=True))
    session.run(y)
    threads = set(threading.enumerate()) - before
    assert len(threads) == 2  # one for the kernel, one with the session's loop
    del session
    gc.collect()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


async def test_a_session_may_have_threads_of_its_own(make_session: Make, graph: Graph) -> None:
    probe, y = probed("own")
    session = make_session(ConfigProto(use_per_session_threads=True))
    assert await session.run(y) == 1.0
    assert pools(probe.threads) == [f"{KERNEL}-session"]
    assert session.session.statistics().offloaded == 1


async def test_a_run_chooses_one_of_the_sessions_pools(make_session: Make, graph: Graph) -> None:
    probe, y = probed("numbered")
    session = make_session(two_pools())
    await session.run(y)
    await session.run(y, options=pool(1))
    await session.run(y, options=pool(0))
    assert pools(probe.threads) == [f"{KERNEL}-0", f"{KERNEL}-1", f"{KERNEL}-0"]
    assert session.session.statistics().offloaded == 3


@for_each(
    "config",
    [two_pools(), ConfigProto(use_per_session_threads=True), ConfigProto()],
    ids=["listed pools", "own threads", "shared threads"],
)
async def test_pool_minus_one_is_the_callers_thread(config: ConfigProto, make_session: Make, graph: Graph) -> None:
    probe, y = probed("caller")
    session = make_session(config)
    assert await session.run(y, options=pool(-1)) == 1.0
    (name,) = probe.threads
    assert not name.startswith(KERNEL)
    assert session.session.statistics().offloaded == 0


def test_the_callers_thread_of_the_synchronous_face_is_the_thread_that_calls(graph: Graph) -> None:
    probe, y = probed("main")
    with Session(graph=graph, config=two_pools()) as session:
        session.run(y, options=pool(-1))
    assert probe.threads == [threading.current_thread().name]


@for_each("variable", [None, "TF_NUM_INTEROP_THREADS"])
async def test_a_negative_number_of_threads_is_the_callers_thread(
    variable: str | None, make_session: Make, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, y = probed("negative")
    if variable is not None:
        monkeypatch.setenv(variable, "-1")
    threads = 0 if variable else -1
    session = make_session(ConfigProto(inter_op_parallelism_threads=threads))
    assert await session.run(y) == 1.0
    assert not probe.threads[0].startswith(KERNEL)


@pytest.mark.usefixtures("graph")
@for_each("index", [-2, 2])
async def test_a_pool_that_the_session_does_not_have_is_an_invalid_argument(index: int, make_session: Make) -> None:
    y = ops.constant(1.0) + 1.0
    session = make_session(two_pools())
    with pytest.raises(InvalidArgumentError, match=f"Invalid inter_op_thread_pool: {index}"):
        await session.run(y, options=pool(index))
    assert await session.run(y, options=pool(1)) == 2.0


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_named_pool_has_one_size_in_the_process(kind: Any, graph: Graph) -> None:
    def named(threads: int) -> ConfigProto:
        option = ThreadPoolOptionProto(num_threads=threads, global_name="options test")
        return ConfigProto(session_inter_op_thread_pool=[option])

    with Session(graph=graph, config=named(1)):
        with pytest.raises(InvalidArgumentError, match=r"'options test' has 1 threads .* 2 now"):
            kind(graph=graph, config=named(2))
    with Session(graph=graph, config=named(2)):
        pass  # nobody uses the other any more


async def test_sessions_share_a_pool_by_its_name(make_session: Make, graph: Graph) -> None:
    probe, y = probed("named")
    option = ThreadPoolOptionProto(num_threads=1, global_name="serving")
    for _ in range(2):
        await make_session(ConfigProto(session_inter_op_thread_pool=[option])).run(y)
    assert pools(probe.threads) == [f"{KERNEL}-serving"] * 2


# -- as many at once as the pool has threads ---------------------------------------------------------
ONE_THREAD = {
    "a numbered pool": lambda: ConfigProto(session_inter_op_thread_pool=[ThreadPoolOptionProto(num_threads=1)]),
    "a named pool": lambda: one_thread("at once"),
    "own threads": lambda: ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True),
}
BUILDS: dict[str, Callable[[Probe, Any], Any]] = {
    "a segment": lambda probe, x: probe(x),
    "a loop": lambda probe, x: ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, probe(y)), [0, x])[1],
    "a branch": lambda probe, x: ops.cond(x < 100.0, lambda: probe(x), lambda: x),
}


class Counter:
    """How many kernels run at once."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.002)  # others have a chance to begin; nothing waits for it
        with self._lock:
            self.running -= 1


@for_each("config", ONE_THREAD.values(), ids=list(ONE_THREAD))
@for_each("build", BUILDS)
async def test_a_pool_of_one_runs_one_kernel_at_once(
    config: Callable[[], ConfigProto], build: str, graph: Graph
) -> None:
    """Eight first runs of one plan and of eight plans; then in threads that call a synchronous session."""
    counter = Counter()
    probe = Probe(f"one at a time, {build}", counter)
    same = BUILDS[build](probe, ops.constant(1.0))
    others = [BUILDS[build](probe, ops.constant(float(k))) for k in range(2, 10)]
    async with AsyncSession(graph=graph, config=config()) as session:
        found = await asyncio.gather(*map(session.run, [*[same] * 8, *others]))
    with Session(graph=graph, config=config()) as sync:
        found += await asyncio.gather(*[asyncio.to_thread(sync.run, y) for y in [same, *others]])
    assert found == [*[1.0] * 8, *map(float, range(2, 10)), *map(float, range(1, 10))]
    assert counter.most == 1


@for_each("config", ONE_THREAD.values(), ids=list(ONE_THREAD))
@for_each("runs", [1, 3])
async def test_a_dequeue_inside_a_first_run_keeps_no_thread_of_the_pool(
    config: Callable[[], ConfigProto], runs: int, make_session: Make, graph: Graph
) -> None:
    """1. First runs wait in loops for a queue. 2. What fills it needs the only thread of the same pool."""
    queue = ops.FIFOQueue(10, "float32", [[]])
    probe, source = Probe("behind a dequeue"), Probe("before a dequeue")
    _, end = ops.while_loop(
        lambda i, y: i < 2, lambda i, y: (i + 1, probe(y + queue.dequeue())), [0, probe(ops.constant(0.0))]
    )
    fill = queue.enqueue(source(ops.constant(2.0)))
    session = make_session(config())
    waiting = [asyncio.create_task(session.run(end)) for _ in range(runs)]
    await eventually(lambda: len(probe.threads) == runs)
    async with asyncio.timeout(60):
        for _ in range(2 * runs):
            await session.run(fill)
        assert sum(await asyncio.gather(*waiting)) == 4.0 * runs


@for_each("work", ["a kernel", "a function that blocks"])
async def test_without_threads_the_runs_that_need_one_fail_and_the_session_goes_on(
    work: str, make_session: Make, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ops.constant(3.0)
    y = Probe("no threads")(x) if work == "a kernel" else ops.py_func(lambda v: v, [x], "float32")
    cheap = ops.placeholder("float32", []) + 1.0
    session = make_session(OWN_THREADS)
    begin = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("actorsession"):
            raise RuntimeError("can't start new thread")
        begin(thread)  # one of the test

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(2):
            with pytest.raises(ResourceExhaustedError, match="no threads left"):
                await session.run(y)
    assert await session.run(y) == 3.0
    assert await session.run(cheap, {cheap.op.inputs[0]: 1.0}) == 2.0


# -- functions that block ---------------------------------------------------------------------------
def one_thread(name: str, **settings: Any) -> ConfigProto:
    option = ThreadPoolOptionProto(num_threads=1, global_name=name)
    return ConfigProto(session_inter_op_thread_pool=[option], **settings)


class Held:
    """A Python function of a graph that keeps its thread until the test lets it go."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.threads: set[str] = set()
        self.go = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, x: Any) -> Any:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(threading.current_thread().name)
        assert self.go.wait(60)
        with self._lock:
            self.running -= 1
        return x


async def test_functions_that_block_take_no_thread_of_their_pool(make_session: Make, graph: Graph) -> None:
    """1. Three functions wait beside a pool of one thread, at once. 2. Its thread is free for a kernel."""
    held = Held()
    y = ops.py_func(held, [ops.constant(1.0)], "float32")
    kernel = Probe("beside functions")(ops.constant(2.0))
    session = make_session(one_thread("functions"))
    runs = [asyncio.create_task(session.run(y)) for _ in range(3)]
    await eventually(lambda: held.running == 3)
    assert await session.run(kernel) == 2.0
    held.go.set()
    assert await asyncio.gather(*runs) == [1.0] * 3
    assert {re.sub(r"_\d+$", "", name) for name in held.threads} == {f"{KERNEL}-functions-blocked"}


async def test_max_inflight_steps_bounds_functions_that_block(make_session: Make, graph: Graph) -> None:
    held = Held()
    y = ops.py_func(held, [ops.constant(1.0)], "float32")
    session = make_session(one_thread("bounded", max_inflight_steps=2))
    runs = [asyncio.create_task(session.run(y)) for _ in range(5)]
    await eventually(lambda: held.running == 2 and session.session.statistics().waiting == 3)
    held.go.set()
    assert await asyncio.gather(*runs) == [1.0] * 5
    assert held.most == 2


@pytest.mark.usefixtures("graph")
async def test_a_function_may_run_a_step_in_the_very_pool_that_it_was_called_from(make_session: Make) -> None:
    """Which is why it takes none of the pool's threads: the step needs the only one."""
    config = one_thread("its own")
    probe = Probe("inner")
    with Graph().as_default() as other:
        inner = probe(ops.constant(3.0))

    def run_another(x: Any) -> Any:
        with Session(graph=other, config=config) as session:
            return x + session.run(inner)

    y = ops.py_func(run_another, [ops.constant(1.0)], "float32")
    async with asyncio.timeout(60):
        assert await make_session(config).run(y) == 4.0
    assert pools(probe.threads) == [f"{KERNEL}-its own"]


async def test_a_synchronous_session_made_on_an_event_loop_does_not_run_there(graph: Graph) -> None:
    """1. A session is made on this loop. 2. A thread runs a step in the session's pool, for which the
    session has a loop of its own. 3. This loop stands still meanwhile: the step ends all the same."""
    with graph.device("/cpu:1"):
        y = Probe("elsewhere")(ops.constant(2.0))
    found: list[Any] = []
    fetches = [y, y + 1.0]
    session = Session(graph=graph, config=OWN_THREADS)
    thread = threading.Thread(target=lambda: found.append(session.run(fetches)))
    thread.start()
    thread.join(10)
    assert found == [[2.0, 3.0]]
    await asyncio.to_thread(session.close)


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("own", [False, True], ids=["shared threads", "a named pool"])
def test_a_new_session_in_a_forked_child_has_threads(own: bool, graph: Graph) -> None:
    """1. The parent's pool has an idle thread. 2. The child forks off without it.
    3. A new session there gets threads of the child, and its kernel runs."""
    probe = Probe("forked")
    y = probe(ops.constant(2.0))
    option = ThreadPoolOptionProto(num_threads=1, global_name="forked")
    config = ConfigProto(session_inter_op_thread_pool=[option] if own else [])

    async def run_once() -> Any:
        async with AsyncSession(graph=graph, config=config) as session:
            return await session.run(y)

    async def run_around_a_fork() -> int:
        async with AsyncSession(graph=graph, config=config) as session:
            await session.run(y)
            return os.fork()

    pid = asyncio.run(run_around_a_fork())
    if pid == 0:
        code = 1
        try:
            asyncio._set_running_loop(None)
            code = 0 if asyncio.run(asyncio.wait_for(run_once(), 20)) == 2.0 else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.process
def test_a_program_that_closes_nothing_ends(graph: Graph) -> None:
    program = """
import asyncio, numpy as np, actorsession as acts
x = acts.placeholder("float32", [600, 600])
y = acts.matmul(x, x)
session = acts.AsyncSession()
sync = acts.Session(config=acts.ConfigProto(use_per_session_threads=True))
feed = {x: np.ones([600, 600], np.float32)}
asyncio.run(session.run(y, feed))
sync.run(y, feed)
print(session.statistics().offloaded, sync.statistics().offloaded)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False)
    assert (ran.returncode, ran.stdout) == (0, "1 1\n"), ran.stderr


# -- BLAS ------------------------------------------------------------------------------------------
@pytest.mark.skipif(blas_threads() is None, reason="numpy's BLAS is no OpenBLAS here")
async def test_intra_op_parallelism_threads_is_the_number_of_blas_threads_while_the_session_lives(
    make_session: Make, graph: Graph
) -> None:
    before = blas_threads()
    session = make_session(ConfigProto(intra_op_parallelism_threads=1))
    assert blas_threads() == 1
    other = make_session(ConfigProto(intra_op_parallelism_threads=1))
    await session.close()
    assert blas_threads() == 1
    await other.close()
    assert blas_threads() == before
