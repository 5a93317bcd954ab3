"""Why a step hangs, asked of all tasks: lost values, slow kernels, silent tasks, enormous steps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Server, Session, ops
from actorsession.actors import CallContext, Deadline
from actorsession.actors.deadline import NEVER
from actorsession.cluster import read_why
from actorsession.cluster.wait_graphs import MOST
from actorsession.config import ConfigProto, GraphOptions, OptimizerOptions, OptLevel, RPCOptions
from actorsession.errors import UnavailableError
from actorsession.messages import VOCABULARY
from actorsession.messages.worker import AskWhy, WorkerWhy
from actorsession.plan.rendezvous_key import build_key
from actorsession.runtime.hang_report import HangReport, Looks, explain
from actorsession.runtime.wait_graph import KernelNow, MasterWaits, SentKey, StepWaits, TaskWaits, Waiter
from actorsession.testing import SimulatedCluster
from tests.cli.kit import called
from tests.cluster.kit import (
    PATIENCE,
    W0,
    W1,
    W2,
    Gate,
    chain,
    eventually,
    hold_back,
    in_process,
    lose_pushes,
    on,
    silent_address,
    simulated,
    soon,
    until_root,
)
from tests.loops import run_to_end
from tests.ports import HoldPorts, held_ports
from tests.transports.authority import Authority

# Bytes that the answers of one question may have, whatever the steps are: little enough for any screen.
SMALL = 200_000


@pytest.mark.parametrize("over_wire", [False, True], ids=["called", "over a link"])
async def test_a_slow_kernel_of_another_task_is_the_root(graph: Graph, over_wire: bool) -> None:
    """W2 runs it; W1 waits for W2, and W0 for W1."""
    gate = Gate(f"why slow {over_wire}")
    x = ops.placeholder("float32", [], name="x")
    slow = on(W2, lambda: gate(x))
    between = on(W1, lambda: slow + 1.0)
    end = on(W0, lambda: ops.multiply(between, 2.0, name="end"))
    config = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=over_wire))
    async with in_process({"worker": 3}) as cluster, AsyncSession(cluster.target(), graph, config) as session:
        running = asyncio.ensure_future(session.run(end, {x: 1.0}))
        try:
            await soon(gate.wait_entered())
            why, seen = await soon(session.why()), await soon(read_why(cluster.target(W1)))
        finally:
            gate.open()
        assert await running == 4.0
        for found in (why, seen):
            root: Any = found.root
            assert (root.kind, root.task, root.op) == ("runs", W2, "TestGate")
            assert re.search(r"\.py:\d+$", root.source)
            assert found.silent == {}
            assert str(found).startswith("'TestGate' (TestGate) [")
        assert set(why.steps[0].unfinished) == {W0, W1, W2}
        assert str(await soon(session.why())) == "No step is under way."


async def test_a_lost_value_is_named_although_its_sender_waits_too(graph: Graph, monkeypatch: Any) -> None:
    """Both wait for each other's later values; that is no circle, because the first one was sent."""
    x = ops.placeholder("float32", [], name="x")
    end = chain(x, 5)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        assert await session.run(end, {x: 1.0}) == 6.0
        lose_pushes(cluster.server(W1).actors.worker._workers, monkeypatch)
        stuck = asyncio.ensure_future(session.run(end, {x: 1.0}))
        await eventually(lambda: cluster.server(W1).statistics().runs == 2)
        why = await soon(session.why())
        stuck.cancel()
        await asyncio.wait([stuck])
        assert [c.kind for c in why.steps[0].causes] == ["lost"]
        root: Any = why.root
        key = root.keys[-1]
        assert (root.task, key.src_device, key.dst_device) == ((W1, f"{W1}/device:CPU:0", f"{W0}/device:CPU:0"))
        assert key.edge_name.endswith("add_1:0")
        await cluster.until_idle()


async def test_a_partial_run_on_other_tasks_says_what_it_was_not_fed(graph: Graph) -> None:
    x, y = ops.placeholder("float32", [], name="x"), ops.placeholder("float32", [], name="y")
    total = on(W1, lambda: x + y)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        async with session.partial([total], [x, y]) as run:
            await run.run([], {x: 1.0})
            await eventually(lambda: cluster.server(W1).statistics().steps == 1)
            why = await soon(session.why())
            assert why.root is not None
            assert (why.root.kind, why.root.node) == ("unfed", "y:0")
            assert why.steps[0].partial is not None
            assert why.steps[0].partial.feeds == ("y:0",)
            assert why.steps[0].partial.calls == 1
            assert session.statistics().partial_runs == 1
            assert await run.run(total, {y: 2.0}) == 3.0
        assert session.statistics().partial_runs == 0


async def test_a_step_that_is_held_back_names_the_task_that_does_not_read(graph: Graph, monkeypatch: Any) -> None:
    x = ops.placeholder("float32", [], name="x")
    there = on(W1, lambda: x + 1.0)
    end = on(W0, lambda: there + 1.0)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        free = hold_back(cluster.server(W1)._cache, monkeypatch)
        running = asyncio.ensure_future(session.run(end, {x: 1.0}))
        await eventually(lambda: cluster.server(W1).statistics().held == 1)
        why = await soon(session.why())
        free.set()
        assert await soon(running) == 3.0
        assert why.root is not None
        assert (why.root.kind, why.root.task, why.root.link) == ("held", W1, W0)
        assert str(why).startswith(f"{W1} holds the step back until {W0} reads")


async def test_a_held_step_is_reported_among_running_ones_by_how_long_it_has_been_held(
    graph: Graph, monkeypatch: Any
) -> None:
    """1. A step that sends to worker 0 is held at worker 1. 2. More steps than a report has room for start after it.
    3. The held step is the oldest, so the report begins with it and leaves out one that runs."""
    gate = Gate("why held")
    x = ops.placeholder("float32", [], name="x")
    with on(W1):
        there = x + 1.0
        slow = gate(x)
    end = on(W0, lambda: there + 1.0)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        server = cluster.server(W1)
        await session.run(end, {x: 1.0})
        free = hold_back(server._cache, monkeypatch)
        held = asyncio.ensure_future(session.run(end, {x: 1.0}))
        await eventually(lambda: server.statistics().held == 1)
        running = [asyncio.ensure_future(session.run(slow, {x: 1.0})) for _ in range(3)]
        await eventually(lambda: server.statistics().steps == 3)
        message = AskWhy(session_handle="", most=3, steps=[], keys=[])
        found = TaskWaits.from_wire(server.actors.worker.submit(message, CallContext(NEVER)).waits)
        free.set()
        gate.open()
        assert await soon(asyncio.gather(held, *running)) == [3.0, 1.0, 1.0, 1.0]
    assert [step.state for step in found.steps] == ["held", "runs", "runs"]
    assert found.steps[0].seconds > found.steps[1].seconds > 0
    assert found.more_steps == 1


async def test_a_step_for_which_only_values_have_come_names_its_task() -> None:
    async with in_process() as cluster:
        server = cluster.server(W1)
        key = build_key(f"{W0}/device:CPU:0", 1, f"{W1}/device:CPU:0", "edge")
        server.actors.worker.take_push(W0, 7, [key], [1.0], [False])
        message = AskWhy(session_handle="", most=MOST, steps=[], keys=[])
        found = TaskWaits.from_wire(server.actors.worker.submit(message, CallContext(NEVER)).waits)
    (step,) = found.steps
    assert (step.step_id, step.task, step.state) == (7, W1, "unbegun")
    # The master knows the session; the report of the task that has only values does not hide it.
    master = MasterWaits(session="s", task=W0, steps=((7, 1.0, (W1,)),))
    why = explain([found, TaskWaits(task=W0, masters=(master,))])
    assert (why.steps[0].session, [c.kind for c in why.steps[0].causes]) == ("s", ["unbegun"])
    assert f"{W1}: has not begun it" in str(why)


async def test_the_synchronous_face_asks_from_another_thread(graph: Graph) -> None:
    gate = Gate("why synchronous")
    x = ops.placeholder("float32", [], name="x")
    end = on(W1, lambda: gate(x))
    async with in_process() as cluster:
        session = Session(cluster.target(), graph)
        running = asyncio.ensure_future(asyncio.to_thread(session.run, end, {x: 1.0}))
        try:
            await soon(gate.wait_entered())
            why = await soon(asyncio.to_thread(session.why))
        finally:
            gate.open()
        assert await running == 1.0
        assert why.root is not None
        assert (why.root.kind, why.root.task) == ("runs", W1)
        with pytest.raises(RuntimeError, match="running event loop"):
            session.why()
        await asyncio.to_thread(session.close)


async def test_a_session_that_never_connected_has_no_step(graph: Graph) -> None:
    session = AsyncSession("tcp://127.0.0.1:1", graph)
    assert str(await session.why()) == "No step is under way."
    await session.close()


def test_a_stuck_step_of_15_000_nodes_is_explained_in_little_room(graph: Graph, monkeypatch: Any) -> None:
    """Half of the nodes are on each task, and every thirtieth waits for the other one."""
    x = ops.placeholder("float32", [], name="x")
    ends = []
    for number in range(500):
        with on(W1):
            y = x + float(number)
        with on(W0):
            for _ in range(14):
                y = ops.identity(y)
        with on(W1):
            for _ in range(15):
                y = ops.identity(y)
        ends.append(y)
    total = on(W0, lambda: ops.add_n(ends))
    assert len(graph.get_operations()) > 15_000
    # On one loop: it is the time to build and plan such a graph that this test takes.
    run_to_end(_explain_the_stuck(graph, x, total, monkeypatch))


async def _explain_the_stuck(graph: Graph, x: Any, total: Any, monkeypatch: Any) -> None:
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, _unoptimised()) as session:
        async with asyncio.timeout(3 * PATIENCE):
            await session.run(total, {x: 0.0})
        lose_pushes(cluster.server(W1).actors.worker._workers, monkeypatch)
        stuck = asyncio.ensure_future(session.run(total, {x: 0.0}))
        await eventually(lambda: cluster.server(W0).statistics().steps == 1)
        worker: Any = cluster.server(W0).actors.worker
        message = AskWhy(session_handle="", most=MOST, steps=[], keys=[])
        said = worker.submit(message, CallContext(NEVER))
        why = await soon(session.why(PATIENCE))
        stuck.cancel()
        await asyncio.wait([stuck])
        assert isinstance(said, WorkerWhy)
        assert len(json.dumps(said.waits)) < SMALL
        assert len(json.dumps(why.to_json())) < 2 * SMALL
        part = next(p for p in why.steps[0].tasks if p.task == W0)
        assert (len(part.waiters), part.more_waiters) == (MOST, 500 + 1 - MOST)
        assert (len(why.steps[0].causes), why.steps[0].causes[0].kind) == (5, "lost")
        assert why.steps[0].more_causes == MOST - 5
        assert len(str(why).splitlines()) < 40


def _unoptimised() -> ConfigProto:
    return ConfigProto(graph_options=GraphOptions(optimizer_options=OptimizerOptions(opt_level=OptLevel.L0)))


async def test_a_task_answers_nonsense_about_values_without_harm() -> None:
    async with in_process({"worker": 1}) as cluster:
        worker: Any = cluster.server(W0).actors.worker
        message = AskWhy(session_handle="nobody", most=-3, steps=[1, 2], keys=["no key"])
        said = [(k["key"], k["state"]) for k in worker.submit(message, CallContext(NEVER)).waits["keys"]]
        assert said == [("no key", "unbegun")]
        assert VOCABULARY.reply_of(AskWhy) is WorkerWhy


# -- steps that move -------------------------------------------------------------------------------
async def one_run(session: AsyncSession, x: Any, end: Any) -> None:
    assert await session.run(end, {x: 1.0}) == 5.0


async def one_partial_run(session: AsyncSession, x: Any, end: Any) -> None:
    async with session.partial([end], [x]) as run:
        await run.run([], {x: 1.0})
        assert await run.run(end) == 5.0


async def said_beside_running_steps(
    work: Any, target: str, other: str, config: ConfigProto, times: int, **access: Any
) -> list[HangReport]:
    """What both questions answer while two sessions run steps over two tasks, one after the other.

    They are asked so many times, and then until they have seen a step that moves: it may be over before they look.
    """
    graph, stop, found = Graph(), asyncio.Event(), list[HangReport]()
    with graph.as_default():
        x = ops.placeholder("float32", [], name="x")
        end = chain(x, 4)

    async def go_on(session: AsyncSession) -> None:
        while not stop.is_set():
            await work(session, x, end)

    async with AsyncSession(target, graph, config) as one, AsyncSession(target, graph, config) as two:
        for session in (one, two):
            await soon(work(session, x, end))
        async with asyncio.TaskGroup() as group:
            for session in (one, two):
                _ = group.create_task(go_on(session))
            async with asyncio.timeout(60):
                while len(found) < 2 * times or not any(step.moves for report in found for step in report.steps):
                    found += [await soon(read_why(other, **access)), await soon(one.why())]
            stop.set()
    return found


def say_nothing_but_that_they_run(found: list[HangReport]) -> bool:
    """Whether no report has a cause, or hides that steps run."""
    headlines = {str(report).splitlines()[0] for report in found}
    assert headlines <= {"The steps under way move; none of them hangs.", "No step is under way."}
    return all(report.root is None and not report.silent for report in found)


@pytest.mark.parametrize(
    ("tls", "work"), [(False, one_run), (True, one_run), (False, one_partial_run)], ids=["runs", "tls", "partial runs"]
)
async def test_of_steps_that_run_nothing_is_said_but_that_they_move(tls: bool, work: Any, tmp_path: Path) -> None:
    """200 questions on both loops: each look shows values on their way, and parts that have not begun yet."""
    access: dict[str, Any] = {"security": Authority(tmp_path / "ca").files()} if tls else {}
    files = asdict(access["security"]) if tls else {}
    config = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True, **files))
    async with in_process(**access) as cluster:
        found = await said_beside_running_steps(work, cluster.target(), cluster.target(W1), config, 13, **access)
    assert say_nothing_but_that_they_run(found)


async def test_a_local_step_that_moves_between_looks_is_not_diagnosed(graph: Graph) -> None:
    """It suspends again and again; the report is made on the loop that goes on with it."""
    queue = ops.FIFOQueue(9, "int32", shapes=[[]])
    ends = queue.enqueue(ops.constant(1)), queue.dequeue()
    async with AsyncSession(graph=graph) as session:
        taking = asyncio.ensure_future(session.run(ends[1]))
        await eventually(lambda: session.statistics().steps == 1)
        reporting = asyncio.ensure_future(session.why())
        await asyncio.sleep(0)  # it has looked once
        await session.run(ends[0])
        assert await soon(taking) == 1
        assert (await soon(reporting)).root is None


def test_looks_diagnose_what_stands_still_and_end_once_all_else_has_moved() -> None:
    """1. The first look shows two steps that wait; a second one is needed. 2. One has moved by the second look, and a
    third step has begun. The other may still move. 3. It stands still for half a second: it is diagnosed, and no
    further look is needed."""

    def waits(steps: dict[int, str]) -> list[TaskWaits]:
        key = partial(build_key, f"{W1}/device:CPU:0", 1, f"{W0}/device:CPU:0")
        waiters = {
            step: Waiter(device=f"{W0}/device:CPU:0", nodes=("n",), more_nodes=0, keys=(key(edge),), more_keys=0)
            for step, edge in steps.items()
        }
        return [
            TaskWaits(task=W0, steps=tuple([StepWaits(step_id=s, task=W0, waiters=(w,)) for s, w in waiters.items()])),
            TaskWaits(
                task="", keys=tuple([SentKey(step_id=s, key=w.keys[0], state="sent") for s, w in waiters.items()])
            ),
        ]

    looks = Looks(5.0)
    assert looks.add(waits({1: "a", 2: "a"}), 10.0) is not None
    assert looks.add(waits({1: "a", 2: "b", 3: "a"}), 10.1) is not None
    assert looks.add(waits({1: "a", 2: "b", 3: "a"}), 10.6) is None
    steps = {step.step_id: step for step in explain(looks.waits).steps}
    assert [cause.kind for cause in steps[1].causes] == ["lost"]
    assert [(steps[s].moves, steps[s].causes) for s in (2, 3)] == [(True, ())] * 2
    assert TaskWaits.from_wire(looks.waits[-1].to_wire()).moving == (2, 3)
    assert Looks(5.0).add([], 10.0) is None


def test_a_step_that_only_waits_for_a_kernel_that_runs_needs_two_looks() -> None:
    kernel = KernelNow(node="n", op="Op", device=f"{W0}/device:CPU:0", source="", seconds=1.0, step_id=1)
    looks = Looks(5.0)
    for now, seconds in ((10.0, 1.0), (10.01, 1.01)):
        running = StepWaits(step_id=1, task=W0, kernels=(replace(kernel, seconds=seconds),))
        more = looks.add([TaskWaits(task=W0, steps=(running,))], now)
    assert more is None
    root: Any = explain(looks.waits).root
    assert (root.kind, root.seconds) == ("runs", 1.01)


# -- the command -----------------------------------------------------------------------------------
async def until_said(word: str, *words: str) -> tuple[int, str, str]:
    """What a command prints once a word is in it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            code, out, err = await asyncio.to_thread(called, *words)
            if word in out:
                return code, out, err


async def test_a_send_that_was_lost_is_named_in_full(graph: Graph, monkeypatch: Any) -> None:
    x = ops.placeholder("float32", [], name="x")
    lost = on(W1, lambda: ops.multiply(x, 3.0, name="lost"))
    end = on(W0, lambda: ops.add(lost, 1.0, name="end"))

    async def stay_stuck(session: AsyncSession) -> None:
        while True:  # a value that is owed for two leases ends its step
            with contextlib.suppress(UnavailableError):
                await session.run(end, {x: 1.0})

    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        lose_pushes(cluster.server(W1)._cache, monkeypatch)
        stuck = asyncio.ensure_future(stay_stuck(session))
        root: Any = (await until_root(session, "lost")).root
        code, out, err = await until_said("lost:0", "why", cluster.target(W1))
        as_json = await until_said('"kind": "lost"', "why", cluster.target(), "--json")
        stuck.cancel()
        await asyncio.wait([stuck])
    key = root.keys[-1]
    assert (root.task, root.waiters) == (W1, ("end",))
    assert (key.src_device, key.dst_device) == (f"{W1}/device:CPU:0", f"{W0}/device:CPU:0")
    assert key.edge_name.endswith("lost:0")
    assert (code, err) == (0, "")
    first = out.splitlines()[0]
    for word in ("lost:0", W0, W1, key.text, "'end'"):
        assert word in first
    assert as_json[0] == 0
    causes = [cause for step in json.loads(as_json[1])["steps"] for cause in step["causes"]]
    assert [(c["kind"], c["keys"][-1]["edge"]) for c in causes] == [("lost", key.edge_name)]


@simulated()
async def test_a_task_that_is_stopped_is_named_and_the_others_answer(cluster: SimulatedCluster, graph: Graph) -> None:
    """One of them is at work on the step, and waits for the one that is stopped."""
    there = on(W1, lambda: ops.FIFOQueue(1, "float32", [[]], name="queue").dequeue(name="take"))
    end = on(W0, lambda: there + 1.0)
    async with cluster.session(graph) as session:
        stuck = asyncio.ensure_future(session.run(end))
        before: Any = await until_root(session, "suspended")
        cluster.task("worker", 1).stall()
        found = [await session.why(2.0), await read_why(cluster.target("worker"), deadline=Deadline.after(2.0))]
        cluster.task("worker", 1).go_on()
        stuck.cancel()
        await asyncio.wait([stuck])
    assert (before.root.task, before.root.node, before.silent) == (W1, "take", {})
    for why in found:
        root: Any = why.root
        assert (list(why.silent), root.kind, root.task) == ([W1], "silent", W1)
        assert str(why).startswith(f"{W1} does not answer: ")


async def test_the_command_fails_where_a_task_does_not_answer() -> None:
    with silent_address() as silent, held_ports(1) as ports:
        spec = {"worker": [f"127.0.0.1:{ports[0]}", silent.removeprefix("tcp://")]}
        async with Server(spec, "worker", 0) as server:
            code, out, _ = await asyncio.to_thread(called, "why", server.target, "--timeout", "0.5")
    assert code == 1
    assert out.startswith(f"{W1}: no answer.\ndoes not answer: {W1}: ")


def test_asking_an_address_where_nobody_is_fails_in_one_line(hold_ports: HoldPorts) -> None:
    code, out, err = called("why", f"127.0.0.1:{hold_ports(1)[0]}", "--timeout", "1")
    assert (code, out) == (1, "")
    assert err.startswith("actorsession why: ")
    assert len(err.splitlines()) == 1
