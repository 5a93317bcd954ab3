"""What the settings of a session and the options of a run do, in both faces."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.ops as ops
from actorsession.config import (
    ConfigProto,
    Experimental,
    GraphOptions,
    OptimizerOptions,
    OptLevel,
    RunMetadata,
    RunOptions,
    SessionMetadata,
    ThreadPoolOptionProto,
)
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, NotFoundError
from actorsession.graph.graph import Graph
from actorsession.plan.optimise import OptimiserSettings, optimiser_settings
from actorsession.runtime.blas_threads import blas_threads
from actorsession.session import AsyncSession, Session
from tests.session.probe import Probe

KERNEL = "actorsession-kernel"
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:{}"
NOWHERE = "/job:nowhere/task:3"
Make = Callable[..., Any]


OWN_THREADS = ConfigProto(device_count={"CPU": 2}, use_per_session_threads=True)


def pool(index: int) -> RunOptions:
    return RunOptions(inter_op_thread_pool=index)


def two_pools() -> ConfigProto:
    one = ThreadPoolOptionProto(num_threads=1)
    return ConfigProto(session_inter_op_thread_pool=[one, one])


# -- kernel pools ----------------------------------------------------------------------------------


async def test_sessions_share_the_threads_of_the_process(graph: Graph) -> None:
    probe = Probe("shared")
    y = probe(ops.constant(1.0))
    config = ConfigProto(inter_op_parallelism_threads=1)
    async with AsyncSession(graph=graph, config=config) as one:
        async with AsyncSession(graph=graph, config=config) as other:
            await one.run(y)
            await other.run(y)
            await other.run(y)
            assert probe.threads == [f"{KERNEL}_0"] * 3
            assert one.statistics().offloaded == 1
            assert other.statistics().offloaded == 2


async def test_closing_a_session_leaves_the_threads_to_the_others(graph: Graph) -> None:
    probe = Probe("left")
    y = probe(ops.constant(1.0))
    async with AsyncSession(graph=graph) as other:
        async with AsyncSession(graph=graph) as one:
            await one.run(y)
        assert await other.run(y) == 1.0
    assert all(name.startswith(f"{KERNEL}_") for name in probe.threads)


async def test_the_threads_of_a_session_that_was_dropped_end_with_it(graph: Graph) -> None:
    probe = Probe("dropped")
    y = probe(ops.constant(1.0))
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
    probe = Probe("own")
    y = probe(ops.constant(1.0))
    session = make_session(ConfigProto(use_per_session_threads=True))
    assert await session.run(y) == 1.0
    assert probe.threads == [f"{KERNEL}-session_0"]
    assert session.session.statistics().offloaded == 1


async def test_a_run_chooses_one_of_the_sessions_pools(make_session: Make, graph: Graph) -> None:
    probe = Probe("numbered")
    y = probe(ops.constant(1.0))
    session = make_session(two_pools())
    await session.run(y)
    await session.run(y, options=pool(1))
    await session.run(y, options=pool(0))
    assert probe.threads == [f"{KERNEL}-0_0", f"{KERNEL}-1_0", f"{KERNEL}-0_0"]
    assert session.session.statistics().offloaded == 3


@pytest.mark.parametrize(
    "config",
    [two_pools(), ConfigProto(use_per_session_threads=True), ConfigProto()],
    ids=["listed pools", "own threads", "shared threads"],
)
async def test_pool_minus_one_is_the_callers_thread(
    config: ConfigProto, make_session: Make, graph: Graph
) -> None:
    probe = Probe("caller")
    y = probe(ops.constant(1.0))
    session = make_session(config)
    assert await session.run(y, options=pool(-1)) == 1.0
    (name,) = probe.threads
    assert not name.startswith(KERNEL)
    assert session.session.statistics().offloaded == 0


def test_the_callers_thread_of_the_synchronous_face_is_the_thread_that_calls(graph: Graph) -> None:
    probe = Probe("main")
    y = probe(ops.constant(1.0))
    with Session(graph=graph, config=two_pools()) as session:
        session.run(y, options=pool(-1))
    assert probe.threads == [threading.current_thread().name]


@pytest.mark.parametrize("variable", [None, "TF_NUM_INTEROP_THREADS"])
async def test_a_negative_number_of_threads_is_the_callers_thread(
    variable: str | None, make_session: Make, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = Probe("negative")
    y = probe(ops.constant(1.0))
    if variable is not None:
        monkeypatch.setenv(variable, "-1")
    threads = 0 if variable else -1
    session = make_session(ConfigProto(inter_op_parallelism_threads=threads))
    assert await session.run(y) == 1.0
    assert not probe.threads[0].startswith(KERNEL)


@pytest.mark.parametrize("index", [-2, 2])
async def test_a_pool_that_the_session_does_not_have_is_an_invalid_argument(
    index: int, make_session: Make, graph: Graph
) -> None:
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
    probe = Probe("named")
    y = probe(ops.constant(1.0))
    option = ThreadPoolOptionProto(num_threads=1, global_name="serving")
    for _ in range(2):
        await make_session(ConfigProto(session_inter_op_thread_pool=[option])).run(y)
    assert probe.threads == [f"{KERNEL}-serving_0"] * 2


async def test_a_synchronous_session_made_on_an_event_loop_does_not_run_there(
    graph: Graph,
) -> None:
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
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
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


# -- devices ---------------------------------------------------------------------------------------


def devices_of(session: Any) -> list[str]:
    return [d.name for d in session.session._session.list_devices()]


@pytest.mark.parametrize(
    ("filters", "seen"),
    [
        ([], [0, 1, 2]),
        (["/job:localhost"], [0, 1, 2]),
        (["/device:CPU:2"], [0, 2]),
        (["/cpu:1", "/cpu:2"], [0, 1, 2]),
        (["/job:ps", "/job:worker/task:1"], [0]),
    ],
)
async def test_a_session_sees_the_devices_that_its_filters_allow_and_its_client_device(
    filters: list[str], seen: list[int], make_session: Make, graph: Graph
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 3}, device_filters=filters))
    assert devices_of(session) == [DEVICE.format(i) for i in seen]


async def test_an_op_cannot_be_placed_on_a_device_that_is_filtered_out(
    make_session: Make, graph: Graph
) -> None:
    with graph.device("/cpu:1"):
        y = ops.constant(1.0) + 1.0
    session = make_session(ConfigProto(device_count={"CPU": 2}, device_filters=["/cpu:0"]))
    with pytest.raises(InvalidArgumentError, match=r"device:CPU:1, which does not exist"):
        await session.run(y)


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_malformed_filter_is_an_invalid_argument(kind: Any, graph: Graph) -> None:
    with pytest.raises(InvalidArgumentError, match=r"invalid device filter: .*'nonsense::'"):
        kind(graph=graph, config=ConfigProto(device_filters=["nonsense::"]))


async def test_device_count_gives_the_number_of_devices(make_session: Make, graph: Graph) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    assert devices_of(session) == [DEVICE.format(0), DEVICE.format(1)]
    with pytest.raises(NotFoundError, match="at least one CPU"):
        make_session(ConfigProto(device_count={"CPU": 0}))


# -- placement -------------------------------------------------------------------------------------


async def test_soft_placement_takes_what_exists_of_type_and_number_but_keeps_the_task(
    make_session: Make, graph: Graph
) -> None:
    with graph.device("/device:GPU:7"):
        y = ops.constant(1.0) + 1.0
    with pytest.raises(InvalidArgumentError, match="GPU:7"):
        await make_session().run(y)
    soft = ConfigProto(allow_soft_placement=True)
    assert await make_session(soft).run(y) == 2.0
    with graph.device(NOWHERE):
        z = y + 1.0
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        await make_session(soft).run(z)


async def test_log_device_placement_logs_the_devices_and_a_line_for_each_node(
    make_session: Make, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    a = ops.constant(1.0, name="a")
    with graph.device("/cpu:1"):
        ops.add(a, a, name="b")
    with caplog.at_level(logging.INFO, "actorsession.session"):
        session = make_session(ConfigProto(device_count={"CPU": 2}, log_device_placement=True))
        await session.run("b:0")
    mapping, *lines = [r.message for r in caplog.records if r.name == "actorsession.session"]
    first, *devices = mapping.splitlines()
    assert first == "Device mapping:"
    assert [d.partition(" -> ")[0] for d in devices] == [DEVICE.format(0), DEVICE.format(1)]
    assert all("device type: CPU" in d for d in devices)
    assert lines == [
        f"a: (Const): {DEVICE.format(1)} (no device asked for: where its consumer is)",
        f"b: (AddV2): {DEVICE.format(1)} (asked for /device:CPU:1)",
    ]


async def test_without_log_device_placement_nothing_is_logged(
    make_session: Make, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    y = ops.constant(1.0) + 1.0
    with caplog.at_level(logging.INFO, "actorsession.session"):
        await make_session().run(y)
    assert caplog.records == []


def pruned(**settings: Any) -> ConfigProto:
    return ConfigProto(
        device_count={"CPU": 2}, graph_options=GraphOptions(place_pruned_graph=True), **settings
    )


async def test_place_pruned_graph_forgives_a_bad_device_on_a_node_that_is_not_needed(
    make_session: Make, graph: Graph
) -> None:
    y = ops.constant(1.0) + 1.0
    with graph.device(NOWHERE):
        z = y + 1.0
    session = make_session(pruned())
    assert await session.run(y) == 2.0
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        await session.run(z)
    assert await session.run(y) == 2.0
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        await make_session().run(y)


async def test_under_place_pruned_graph_state_stays_where_it_was_placed_first(
    make_session: Make, graph: Graph
) -> None:
    """1. The first run needs the variable and no reader: it goes to the client device.
    2. A later run reads it under another device: the reader goes where the state is.
    3. The graph grows by a node that must be with the variable: it goes there as well."""
    v = ops.Variable(3.0, name="v")
    with graph.device("/cpu:1"):
        read = v.read_value()
    session = make_session(pruned())
    await session.run(v.initializer)
    assert await session.run(read) == 3.0
    with graph.colocate_with(v.op):
        tied = ops.identity(read, name="tied")
    assert await session.run(tied) == 3.0
    placed = session.session._session.placement()
    assert {placed[n].device for n in ("v", read.op.name, "tied")} == {DEVICE.format(0)}


async def test_under_place_pruned_graph_each_run_places_what_has_no_state_anew(
    make_session: Make, graph: Graph
) -> None:
    """1. Alone, ``a`` goes to the client device. 2. With ``c``, which must be where ``a`` is and asks
    for the other device, both go there."""
    a = ops.add(ops.constant(1.0), 1.0, name="a")
    with graph.colocate_with(a.op), graph.device("/cpu:1"):
        c = ops.identity(a, name="c")
    session = make_session(pruned())
    assert await session.run(a) == 2.0
    assert session.session._session.placement()["a"].device == DEVICE.format(0)
    assert await session.run(c) == 2.0
    placed = session.session._session.placement()
    assert placed["a"].device == placed["c"].device == DEVICE.format(1)


# -- limits in time --------------------------------------------------------------------------------


def slow_then_more(graph: Graph, far: bool) -> tuple[Any, Probe, threading.Event]:
    """A node that takes longer than the limit, one behind it, and a switch that makes it fast."""
    fast = threading.Event()
    slow = Probe("slow", lambda: None if fast.is_set() else time.sleep(0.05), dear=False)
    after = Probe("after", dear=False)
    held = slow(ops.constant(1.0))
    with graph.device("/cpu:1" if far else "/cpu:0"):
        return after(held), after, fast


LIMITS = {
    "the session's": (ConfigProto(operation_timeout_in_ms=20), None),
    "the run's": (ConfigProto(), RunOptions(timeout_in_ms=20)),
    "the run's before the session's": (
        ConfigProto(operation_timeout_in_ms=60_000), RunOptions(timeout_in_ms=20),
    ),
    "in the caller's thread": (
        ConfigProto(inter_op_parallelism_threads=-1), RunOptions(timeout_in_ms=20),
    ),
}  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("far", [False, True], ids=["one call", "two devices"])
async def test_a_run_that_is_too_long_ends_between_two_nodes_with_deadline_exceeded(
    limit: str, far: bool, make_session: Make, graph: Graph
) -> None:
    config, options = LIMITS[limit]
    config = ConfigProto(
        **{
            n: getattr(config, n)
            for n in ("operation_timeout_in_ms", "inter_op_parallelism_threads")
        },
        device_count={"CPU": 2},
    )
    y, after, fast = slow_then_more(graph, far)
    session = make_session(config)
    with pytest.raises(DeadlineExceededError):
        await session.run(y, options=options)
    assert after.threads == []
    assert session.session.statistics().steps == 0
    fast.set()
    assert await session.run(y, options=RunOptions(timeout_in_ms=60_000)) == 1.0
    assert len(after.threads) == 1


async def test_a_last_node_that_takes_too_long_is_too_late_as_well(
    make_session: Make, graph: Graph
) -> None:
    y = Probe("last", lambda: time.sleep(0.05), dear=False)(ops.constant(1.0))
    session = make_session()
    with pytest.raises(DeadlineExceededError):
        await session.run(y, options=RunOptions(timeout_in_ms=20))


async def test_a_limit_ends_a_step_in_a_pool_of_the_session(
    make_session: Make, graph: Graph
) -> None:
    slow = Probe("pooled slow", lambda: time.sleep(0.5))
    after = Probe("pooled after")
    y = after(slow(ops.constant(1.0)))
    session = make_session(ConfigProto(use_per_session_threads=True))
    with pytest.raises(DeadlineExceededError, match="for step"):
        await session.run(y, options=RunOptions(timeout_in_ms=250))
    assert slow.threads == [f"{KERNEL}-session_0"]
    assert after.threads == []


# -- kernels of a step that has failed -------------------------------------------------------------


def fails_while_another_runs(graph: Graph) -> tuple[Any, threading.Event]:
    """A step of which one part is held in the pool while the other fails."""
    gate = threading.Event()

    def fail() -> None:
        raise InvalidArgumentError("this part fails")

    held = Probe("held", lambda: gate.wait(20))(ops.constant(1.0))
    with graph.device("/cpu:1"):
        failing = Probe("failing", fail, dear=False)(ops.constant(1.0))
    return [held, failing], gate


@pytest.mark.parametrize("variable", ["ACTORSESSION_SYNC_ON_FINISH", "TF_SYNC_ON_FINISH"])
@pytest.mark.parametrize("word", ["false", "0", "False"])
async def test_without_sync_on_finish_a_failed_step_does_not_wait_for_its_kernels(
    variable: str, word: str, make_session: Make, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, word)
    fetches, gate = fails_while_another_runs(graph)
    session = make_session(OWN_THREADS)
    with pytest.raises(InvalidArgumentError, match="this part fails"):
        await session.run(fetches)
    assert not gate.is_set()
    gate.set()


@pytest.mark.parametrize("word", [None, "true", "1", "maybe"])
async def test_a_failed_step_waits_for_its_kernels_by_default(
    word: str | None,
    make_session: Make,
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if word is not None:
        monkeypatch.setenv("TF_SYNC_ON_FINISH", word)
    fetches, gate = fails_while_another_runs(graph)
    with caplog.at_level(logging.ERROR, "actorsession.config"):
        session = make_session(OWN_THREADS)
    assert ("TF_SYNC_ON_FINISH is ignored: 'maybe'" in caplog.text) == (word == "maybe")
    run = asyncio.create_task(session.run(fetches))
    done, _ = await asyncio.wait({run}, timeout=0.1)
    assert not done
    gate.set()
    with pytest.raises(InvalidArgumentError, match="this part fails"):
        await run


async def test_a_step_given_up_without_sync_on_finish_leaves_its_kernel_behind(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTORSESSION_SYNC_ON_FINISH", "false")
    gate = threading.Event()
    held = Probe("behind", lambda: gate.wait(20))(ops.constant(1.0))
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(DeadlineExceededError):
            await session.run(held, options=RunOptions(timeout_in_ms=20))
        assert not gate.is_set()
        gate.set()
        assert await session.run(held) == 1.0


# -- state and names -------------------------------------------------------------------------------


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_direct_session_always_has_state_of_its_own(
    isolated: bool, make_session: Make, graph: Graph
) -> None:
    v = ops.Variable(1.0)
    add = v.assign_add(1.0)
    one, other = (make_session(ConfigProto(isolate_session_state=isolated)) for _ in range(2))
    await one.run(v.initializer)
    await other.run(v.initializer)
    await one.run(add)
    assert (await one.run(v), await other.run(v)) == (2.0, 1.0)


def serving(name: str, version: int) -> ConfigProto:
    metadata = SessionMetadata(name=name, version=version)
    return ConfigProto(experimental=Experimental(session_metadata=metadata))


async def test_a_session_metadata_version_is_not_negative(make_session: Make) -> None:
    with pytest.raises(InvalidArgumentError, match=r"at least 0, got -1 for 'model'"):
        make_session(serving("model", -1))


async def test_two_living_sessions_have_different_names_or_versions(make_session: Make) -> None:
    first = make_session(serving("model", 1))
    make_session(serving("model", 2))
    make_session(serving("other", 1))
    with pytest.raises(InvalidArgumentError, match="'model' with version 1 lives already"):
        make_session(serving("model", 1))
    await first.close()
    make_session(serving("model", 1))


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_the_name_of_a_session_that_is_gone_is_free(kind: Any, graph: Graph) -> None:
    session = kind(graph=graph, config=serving("gone", 1))
    del session
    gc.collect()
    with Session(graph=graph, config=serving("gone", 1)):
        pass


def test_a_session_that_could_not_be_made_takes_no_name(graph: Graph) -> None:
    metadata = SessionMetadata(name="failed", version=1)
    bad = ConfigProto(
        experimental=Experimental(session_metadata=metadata), device_filters=["nonsense::"]
    )
    with pytest.raises(InvalidArgumentError, match="filter"):
        Session(graph=graph, config=bad)
    with Session(graph=graph, config=serving("failed", 1)):
        pass


# -- what would have no effect ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ConfigProto(placement_period=5), "placement_period=5 has no effect without a cost model"),
        (
            ConfigProto(graph_options=GraphOptions(build_cost_model_after=3)),
            r"graph_options\.build_cost_model_after=3 has no effect without a cost model",
        ),
        (
            ConfigProto(placement_period=5, graph_options=GraphOptions(timeline_step=2)),
            "set graph_options.build_cost_model to the number of runs",
        ),
    ],
    ids=["placement", "after", "placement with timelines"],
)
def test_what_needs_a_cost_model_is_refused_where_none_is_built(
    config: ConfigProto, said: str, graph: Graph
) -> None:
    for face in (Session, AsyncSession):
        with pytest.raises(InvalidArgumentError, match=said):
            face(graph=graph, config=config)


async def test_options_and_metadata_of_a_wrong_type_are_refused_before_anything_runs(
    make_session: Make, graph: Graph
) -> None:
    v = ops.Variable(0.0)
    count = v.assign_add(1.0)
    session = make_session()
    await session.run(v.initializer)
    call = session.callable(count, accept_options=True)
    wrong: list[Any] = [{}, {"timeout_in_ms": 3}, ConfigProto(), RunOptions, 5, "x"]
    for options in wrong:
        with pytest.raises(TypeError, match="options is a RunOptions, got"):
            await session.run(count, options=options)
        with pytest.raises(TypeError, match="options is a RunOptions, got"):
            await call(options=options)
    wrong = [{}, RunOptions(), RunMetadata, 5, "x"]
    for metadata in wrong:
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await session.run(count, run_metadata=metadata)
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await session.run([], run_metadata=metadata)
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await call(run_metadata=metadata)
    assert await session.run(v) == 0


@pytest.mark.parametrize("limit", [2**31, 2**62, 2**63 - 1])
async def test_a_limit_of_any_length_is_a_limit(
    limit: int, make_session: Make, graph: Graph
) -> None:
    x = ops.placeholder("float32", [])
    y = ops.py_func(lambda value: value, [x], "float32")  # which leaves the event loop
    session = make_session(ConfigProto(operation_timeout_in_ms=limit))
    assert await session.run(y, {x: 1.0}) == 1
    assert await session.run(y, {x: 1.0}, options=RunOptions(timeout_in_ms=limit)) == 1


# -- planning --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (OptimizerOptions(), (True, True, 0)),
        (OptimizerOptions(max_folded_constant_in_bytes=9), (True, True, 9)),
        (OptimizerOptions(opt_level=OptLevel.L0), (False, False, 0)),
        (
            OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True),
            (False, True, 0),
        ),
        (
            OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True),
            (True, False, 0),
        ),
    ],
    ids=["L1", "L1 with a limit", "L0", "L0 and folding", "L0 and merging"],
)
def test_level_1_stands_for_all_optimisations_and_level_0_for_those_that_are_named(
    options: OptimizerOptions, settings: tuple[bool, bool, int]
) -> None:
    merges, folds, limit = settings
    assert optimiser_settings(options) == OptimiserSettings(
        do_common_subexpression_elimination=merges,
        do_constant_folding=folds,
        max_folded_constant_in_bytes=limit,
    )


@pytest.mark.parametrize(
    ("options", "folds", "merges"),
    [
        (OptimizerOptions(), True, True),
        (OptimizerOptions(opt_level=OptLevel.L0), False, False),
        (OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True), True, False),
        (
            OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True),
            False,
            True,
        ),
        (OptimizerOptions(max_folded_constant_in_bytes=3), False, True),
    ],
    ids=["L1", "L0", "L0 and folding", "L0 and merging", "L1 with a limit"],
)
async def test_optimizer_options_change_what_a_run_computes_and_not_its_values(
    options: OptimizerOptions, folds: bool, merges: bool, make_session: Make, graph: Graph
) -> None:
    x = ops.placeholder("float32", [], name="x")
    sum_ = ops.add(ops.constant(1.0), ops.constant(2.0), name="sum")
    one, other = ops.multiply(x, sum_, name="one"), ops.multiply(x, sum_, name="other")
    y = ops.subtract(one, other) + one
    session = make_session(ConfigProto(graph_options=GraphOptions(optimizer_options=options)))
    metadata = RunMetadata()
    asked = RunOptions(output_partition_graphs=True)
    assert await session.run(y, {x: 2.0}, options=asked, run_metadata=metadata) == 6.0
    types = {n.name: n.op for g in metadata.partition_graphs for n in g.nodes}
    assert types["sum"] == ("Const" if folds else "AddV2")
    assert ("other" in types) != merges


async def test_between_devices_of_one_process_nothing_is_narrowed(
    make_session: Make, graph: Graph
) -> None:
    """As in TensorFlow: bfloat16 is for what travels from task to task."""
    x = ops.placeholder("float32", [3])
    with graph.device("/cpu:0"):
        a = x * 1.0
    with graph.device("/cpu:1"):
        y = a + 0.0
    session = make_session(
        ConfigProto(
            device_count={"CPU": 2}, graph_options=GraphOptions(enable_bfloat16_sendrecv=True)
        )
    )
    exact = np.array([1.0001, 3.14159, 7e-3], np.float32)
    np.testing.assert_array_equal(await session.run(y, {x: exact}), exact)
