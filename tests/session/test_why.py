"""Why a session hangs: what tasks say, put together; and sessions in this process."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Session, ops
from actorsession.errors import ProtocolError
from actorsession.plan.rendezvous_key import build_key
from actorsession.runtime import wait_graph
from actorsession.runtime.hang_report import CIRCLE, awaited_keys, explain
from tests.cluster.kit import W0, W1, W2, Gate, eventually
from tests.rows import for_each

STEP = 7


def key(source: str, destination: str, name: str) -> str:
    return build_key(f"{source}/device:CPU:0", 1, f"{destination}/device:CPU:0", f"edge_0_{name}:0")


A = key(W1, W0, "a")  # what W0 waits for
B = key(W2, W1, "b")


def waiting(task: str, *keys: str, **more: Any) -> wait_graph.StepWaits:
    """A step at a task, where one node waits for some values."""
    waiter = wait_graph.Waiter(device=f"{task}/device:CPU:0", nodes=("reader",), more_nodes=0, keys=keys, more_keys=0)
    return wait_graph.StepWaits(
        step_id=STEP, session="s", task=task, seconds=3.0, unfinished=1, waiters=(waiter,), **more
    )


def says(*steps: wait_graph.StepWaits, keys: tuple[wait_graph.SentKey, ...] = (), **more: Any) -> wait_graph.TaskWaits:
    task = steps[0].task if steps else ""
    return wait_graph.TaskWaits(task=task, names={"s": task}, steps=steps, keys=keys, **more)


def sent(key: str, state: str, **more: Any) -> wait_graph.SentKey:
    return wait_graph.SentKey(step_id=STEP, key=key, state=state, **more)


SLOW = wait_graph.KernelNow(
    node="slow", op="MatMul", device=f"{W2}/device:CPU:0", source="model.py:12", seconds=9.0, step_id=STEP
)


# -- causes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", [wait_graph.SENT, wait_graph.NOBODY])
def test_a_lost_value_is_named_in_full(state: str) -> None:
    why = explain([says(waiting(W0, A)), says(keys=(sent(A, state, over=True),))])
    root: Any = why.root
    assert (root.kind, root.task, root.chain, root.waiters) == ("lost", W1, (A,), ("reader",))
    found = root.keys[0]
    assert (found.edge_name, found.src_device, found.dst_device) == (
        ("edge_0_a:0", f"{W1}/device:CPU:0", f"{W0}/device:CPU:0")
    )
    first = str(why).splitlines()[0]
    for word in ("a:0", W0, W1, A, "lost", "has ended"):
        assert word in first


def test_a_kernel_at_the_end_of_a_chain_is_the_root() -> None:
    """W0 waits for W1, which waits for W2, which runs a kernel."""
    keys = (sent(A, wait_graph.WAITS, keys=(B,)), sent(B, wait_graph.RUNS, kernel=SLOW))
    why = explain([says(waiting(W0, A)), says(waiting(W1, B)), says(keys=keys)])
    root: Any = why.root
    assert (root.kind, root.node, root.task, root.seconds) == (wait_graph.RUNS, "slow", W2, 9.0)
    assert [cause.kind for cause in why.steps[0].causes] == [wait_graph.RUNS]  # one cause, however one gets there
    assert str(why).splitlines()[0].startswith("'slow' (MatMul) [model.py:12] has been running on")


def test_a_report_shows_who_waits_for_whom_down_to_the_root() -> None:
    keys = (sent(A, wait_graph.WAITS, keys=(B,)), sent(B, wait_graph.RUNS, kernel=SLOW))
    why = explain([says(waiting(W0, A)), says(waiting(W1, B)), says(keys=keys)], {"/job:ps": "<script>"})
    cpu = "device:CPU:0"
    chain = [f"reader on {W1}/{cpu}", f"b:0 of {W2}/{cpu}", f"slow on {W2}/{cpu}"]
    assert [(waits, awaited) for waits, awaited, _ in why.edges()] == list(itertools.pairwise(chain))
    page = why._repr_html_()
    assert page.count("<svg") == 1
    assert page.count('class="acts-b acts-kerror"') == 2  # the kernel, and its colour in the legend
    assert "has been running on" in page
    assert "<script" not in page
    assert str(explain([])) in explain([])._repr_html_()


def test_values_that_wait_for_each_other_are_named_as_a_circle() -> None:
    back = key(W0, W1, "back")
    keys = (sent(A, wait_graph.WAITS, keys=(back,)), sent(back, wait_graph.WAITS, keys=(A,)))
    why = explain([says(waiting(W0, A)), says(waiting(W1, back)), says(keys=keys)])
    assert [cause.kind for cause in why.steps[0].causes] == [CIRCLE]
    first = str(why).splitlines()[0]
    assert "circle" in first
    assert "a:0 of " in first
    assert "back:0 of " in first


def test_a_task_that_does_not_answer_is_the_root_with_the_reason() -> None:
    why = explain([says(waiting(W0, A))], {W1: "no answer within 2 s"})
    assert why.root is not None
    assert (why.root.kind, why.root.task) == ("silent", W1)
    assert f"{W1} does not answer: no answer within 2 s" in str(why).splitlines()[0]


def test_a_lost_value_is_told_before_a_kernel_that_runs() -> None:
    other = key(W2, W0, "other")
    keys = (sent(A, wait_graph.SENT), sent(other, wait_graph.RUNS, kernel=SLOW))
    why = explain([says(waiting(W0, A, other)), says(keys=keys)])
    assert [cause.kind for cause in why.steps[0].causes] == ["lost", wait_graph.RUNS]


def test_backpressure_is_named_with_the_task_that_does_not_read() -> None:
    held = wait_graph.StepWaits(step_id=STEP, session="s", task=W1, state=wait_graph.HELD, link=W2)
    why = explain([says(waiting(W0, A)), says(held, keys=(sent(A, wait_graph.HELD, link=W2),))])
    assert why.root is not None
    assert (why.root.kind, why.root.task, why.root.link) == (wait_graph.HELD, W1, W2)
    assert f"until {W2} reads" in str(why).splitlines()[0]


def test_a_task_that_has_not_begun_the_step_is_named() -> None:
    why = explain([says(waiting(W0, A)), says(keys=(sent(A, wait_graph.UNBEGUN),))])
    assert f"{W1} has not begun its part of the step" in str(why.root)


def test_a_kernel_that_waits_for_a_thread_is_not_said_to_run() -> None:
    queued = wait_graph.KernelNow(**{**_fields(SLOW), "queued": True})
    why = explain([says(waiting(W0, A, kernels=(queued,)))], {})
    assert wait_graph.QUEUED in [cause.kind for cause in why.steps[0].causes]
    assert "free thread of the kernel pool" in str(why)


def test_a_kernel_that_gets_no_thread_is_told_with_what_holds_them_all() -> None:
    queued = wait_graph.KernelNow(**{**_fields(SLOW), "queued": True})
    full = wait_graph.HeldPool(task=W0, threads=2, held=2, kernels=(SLOW,))
    held = f"2 of 2 threads of the kernel pool are held by kernels whose steps are over: {SLOW.node!r}"
    why = explain([says(waiting(W0, A, kernels=(queued,)), pools=(full,))])
    (cause,) = [cause for cause in why.steps[0].causes if cause.kind == wait_graph.QUEUED]
    assert held in str(cause)
    assert f"{W0}: {held}" in str(why)
    half = wait_graph.HeldPool(task=W0, threads=3, held=2, kernels=(SLOW,))
    why = explain([says(waiting(W0, A, kernels=(queued,)), pools=(half,))])
    assert [c.reason for c in why.steps[0].causes if c.kind == wait_graph.QUEUED] == [""]


def _fields(kernel: wait_graph.KernelNow) -> dict[str, Any]:
    return {name: getattr(kernel, name) for name in kernel.__slots__}


@pytest.mark.parametrize("pending", [("x:0",), ()], ids=["not fed", "fed and lost"])
def test_a_partial_run_waits_for_its_feed_or_has_lost_it(pending: tuple[str, ...]) -> None:
    device = f"{W0}/device:CPU:0"
    feed = build_key(device, 1, f"{W1}/device:CPU:0", "feed_0_x:0")
    run = wait_graph.PartialWaits(
        handle="h", step_id=STEP, session="s", seconds=5.0, feeds=pending, fetches=("y:0",), calls=0
    )
    master = wait_graph.MasterWaits(session="s", task=W0, partial_runs=(run,))
    why = explain([says(waiting(W1, feed), masters=(master,), keys=(sent(feed, wait_graph.NOBODY),))])
    assert why.root is not None
    assert why.root.kind == ("unfed" if pending else "lost")
    assert why.steps[0].partial == run
    assert "partial run 'h'" in str(why)


def test_nothing_under_way_is_said_in_one_line() -> None:
    assert str(explain([])) == "No step is under way."


def test_runs_that_wait_to_begin_are_counted() -> None:
    master = wait_graph.MasterWaits(session="s", task=W0, in_flight=4, waiting=9, registering=((W0, W1),))
    text = str(explain([wait_graph.TaskWaits(task=W0, masters=(master,))], waiting=2))
    assert text.splitlines() == [
        "No step is under way; some wait to begin.",
        "session s: 9 steps wait until fewer than 4 are in flight",
        f"session s: a graph is being registered at {W0}, {W1}",
        "2 runs wait in this process until fewer are in flight",
    ]


def test_a_long_chain_and_many_causes_are_cut_and_counted() -> None:
    chain = [key(W1, W0, f"n{i}") for i in range(40)]
    links = tuple(sent(a, wait_graph.WAITS, keys=(b,)) for a, b in itertools.pairwise(chain))
    lost = [key(W2, W0, f"lost{i}") for i in range(9)]
    keys = (*links, sent(chain[-1], wait_graph.SENT), *[sent(k, wait_graph.SENT) for k in lost])
    step = explain([says(waiting(W0, chain[0], *lost)), says(keys=keys)]).steps[0]
    assert (len(step.causes), step.more_causes) == (5, 5)
    longest = max(step.causes, key=lambda cause: len(cause.chain))
    assert (len(longest.chain), longest.more_chain) == (12, 28)
    assert longest.chain[-1] == chain[-1]


# -- what travels ----------------------------------------------------------------------------------
def test_what_a_task_says_travels() -> None:
    run = wait_graph.PartialWaits(
        handle="h", step_id=3, session="s", seconds=1.0, feeds=("x:0",), fetches=(), calls=1, given={"y:0": 0.25}
    )
    master = wait_graph.MasterWaits(
        session="s",
        task=W0,
        steps=((STEP, 1.5, (W0, W1)),),
        registering=((W0,),),
        in_flight=1,
        waiting=2,
        partial_runs=(run,),
        left_out=4,
    )
    waits = says(
        waiting(W0, A, kernels=(SLOW,), more_waiters=3),
        keys=(sent(A, wait_graph.RUNS, kernel=SLOW, keys=(B,)), sent(B, wait_graph.SENT)),
        masters=(master,),
        kernels=(SLOW,),
        pools=(wait_graph.HeldPool(task=W0, threads=2, held=1, kernels=(SLOW,)),),
    )
    assert wait_graph.TaskWaits.from_wire(json.loads(json.dumps(waits.to_wire()))) == waits


@for_each(
    "wrong",
    [
        None,
        [],
        {},
        {"task": 3},
        {"task": W0, "steps": [{}]},
        {"task": W0, "steps": [{"step_id": "one"}]},
        {"task": W0, "keys": [{"step_id": 1, "key": "k", "state": wait_graph.RUNS, "kernel": {"node": 1}}]},
        {"task": W0, "masters": [{"session": "s", "task": W0, "steps": [[1]]}]},
    ],
    ids=str,
)
def test_nonsense_of_a_task_is_refused(wrong: Any) -> None:
    with pytest.raises(ProtocolError):
        wait_graph.TaskWaits.from_wire(wrong)


def test_the_keys_to_ask_for_are_those_that_somebody_waits_for() -> None:
    said = [says(waiting(W0, A)), says(keys=(sent(A, wait_graph.WAITS, keys=(B,)),))]
    assert awaited_keys(said) == {(STEP, A): "s", (STEP, B): ""}


def test_json_has_each_key_in_its_parts() -> None:
    made = explain([says(waiting(W0, A)), says(keys=(sent(A, wait_graph.SENT),))]).to_json()
    cause = json.loads(json.dumps(made))["steps"][0]["causes"][0]
    assert cause["keys"] == [{"edge": "edge_0_a:0", "from": f"{W1}/device:CPU:0", "to": f"{W0}/device:CPU:0"}]
    assert cause["words"].startswith("a value was lost: a:0")


# -- sessions in this process ----------------------------------------------------------------------
async def test_a_session_names_the_kernel_that_its_step_waits_for(graph: Graph) -> None:
    gate = Gate("why direct")
    x = ops.placeholder("float32", [], name="x")
    with graph.device("/cpu:1"):
        slow = gate(x + 1.0)
    with graph.device("/cpu:0"):
        end = ops.multiply(slow, 2.0, name="end")
    config = ConfigProto(device_count={"CPU": 2}, inter_op_parallelism_threads=2)
    async with AsyncSession(graph=graph, config=config) as session:
        assert str(await session.why()) == "No step is under way."
        running = asyncio.ensure_future(session.run(end, {x: 1.0}))
        try:
            await gate.wait_entered()
            why = await session.why()
        finally:
            gate.open()
        assert await running == 4.0
        assert why.root is not None
        assert (why.root.kind, why.root.op) == (wait_graph.RUNS, "TestGate")
        assert why.root.device.endswith("CPU:1")
        assert why.root.source.rpartition(":")[0].endswith(".py")
        part = why.steps[0].tasks[0]
        assert [waiter.nodes for waiter in part.waiters] == [("end",)]
        assert str(await session.why()) == "No step is under way."


@for_each("queued", [False, True], ids=["that runs", "that is queued"])
async def test_a_value_whose_own_inputs_are_there_waits_for_a_kernel_before_it(graph: Graph, queued: bool) -> None:
    """The nodes that make it have all that comes from elsewhere, and need what a kernel beside them makes."""
    gate, other = Gate(f"why before {queued}"), Gate(f"why other {queued}")
    with graph.device("/cpu:1"):
        arrives = ops.placeholder("float32", [], name="x") + 1.0
    with graph.device("/cpu:0"):
        value = gate(ops.constant(1.0)) + arrives
    with graph.device("/cpu:1"):
        end = ops.multiply(value, 2.0, name="end")
        holding = other(ops.constant(0.0))  # the only thread
    config = ConfigProto(device_count={"CPU": 2}, inter_op_parallelism_threads=1, use_per_session_threads=True)
    async with AsyncSession(graph=graph, config=config) as session:
        runs = []
        try:
            if queued:
                runs.append(asyncio.ensure_future(session.run(holding)))
                await other.wait_entered()
            runs.append(asyncio.ensure_future(session.run(end, {"x:0": 1.0})))
            await eventually(lambda: session.statistics().offloaded == len(runs))
            if not queued:
                await gate.wait_entered()
            why = await session.why()
        finally:
            gate.open()
            other.open()
        assert (await asyncio.gather(*runs))[-1] == 6.0
        step = next(s for s in why.steps if s.tasks[0].waiters)
        waits = [cause for cause in step.causes if cause.device.endswith("CPU:0")]
        kind = wait_graph.QUEUED if queued else wait_graph.RUNS
        assert [(c.kind, c.op, c.waiters) for c in waits] == [(kind, "TestGate", ("end",))]


async def test_a_kernel_without_a_thread_is_told_from_one_that_runs(graph: Graph) -> None:
    gate = Gate("why queued")
    values = [0.0, 1.0]
    gated = [gate(ops.constant(value)) for value in values]
    config = ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)
    async with AsyncSession(graph=graph, config=config) as session:
        runs = [asyncio.ensure_future(session.run(t)) for t in gated]
        try:
            await eventually(lambda: gate.entered == 1)
            await eventually(lambda: session.statistics().offloaded == len(gated))
            kinds = [[k.queued for k in s.tasks[0].kernels] for s in (await session.why()).steps]
        finally:
            gate.open()
        assert await asyncio.gather(*runs) == values
        assert sorted(kinds) == [[False], [True]]


@pytest.mark.parametrize("devices", [1, 2], ids=["without a step", "in a step"])
def test_a_thread_asks_what_another_thread_runs(graph: Graph, devices: int) -> None:
    gate = Gate(f"why thread {devices}")
    with graph.device(f"/cpu:{devices - 1}"):
        slow = gate(ops.constant(3.0))
    with graph.device("/cpu:0"):
        end = slow + 1.0
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": devices})) as session:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(session.run(end)))
        thread.start()
        try:
            asyncio.run(gate.wait_entered())
            why = session.why()
        finally:
            gate.open()
            thread.join()
        assert found == [4.0]
        kernels = why.kernels if devices == 1 else why.steps[0].tasks[0].kernels
        assert [kernel.op for kernel in kernels] == ["TestGate"]
        assert "(TestGate)" in str(why).splitlines()[0]


async def test_a_partial_run_says_what_it_was_not_fed(graph: Graph) -> None:
    x, y = ops.placeholder("float32", [], name="x"), ops.placeholder("float32", [], name="y")
    total = x + y
    async with AsyncSession(graph=graph) as session, session.partial([total], [x, y]) as run:
        await run.run([], {x: np.float32(1.0)})
        why = await session.why()
        assert why.root is not None
        assert (why.root.kind, why.root.node) == ("unfed", "y:0")
        assert await run.run(total, {y: np.float32(2.0)}) == 3.0


@for_each("within", [0.0, -1.0, float("inf"), float("nan")])
def test_a_limit_that_is_none_is_refused(graph: Graph, within: float) -> None:
    with Session(graph=graph) as session, pytest.raises(ValueError, match="within"):
        session.why(within)


def test_a_closed_session_is_not_explained(graph: Graph) -> None:
    session = Session(graph=graph)
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.why()
