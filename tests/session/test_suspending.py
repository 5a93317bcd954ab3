"""Nodes that suspend: the step goes on without them, and no thread waits for their values."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from actorsession.extend import NOT_DIFFERENTIABLE, Completion, OpDef, TensorSpec
from actorsession.extend import register_op as register
from tests.cluster.kit import eventually, in_process, soon
from tests.nodes import op_type
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph", "registrations")

PATIENCE = 60.0


class Later:
    """Nodes whose values a test hands over: those of its input, or others."""

    _all: dict[str, Later] = {}

    def __init__(self, name: str, outputs: int = 1) -> None:
        self.name = name
        self.outputs = outputs
        self.ready = False
        self.begun: list[tuple[Future[Any], tuple[Any, ...]]] = []
        self._all[name] = self

    def node(self, *inputs: Any) -> acts.Operation:
        attrs = {"later": self.name, "outputs": self.outputs}
        return acts.get_default_graph().create_op("TestLater", [acts.convert_to_tensor(x) for x in inputs], attrs)

    def __call__(self, *inputs: Any) -> acts.Tensor:
        return self.node(*inputs).outputs[0]

    def scalar(self, x: Any) -> acts.Tensor:
        made = self(x)
        made.set_shape([])
        return made

    def give(self, index: int, value: Any = None) -> None:
        future, inputs = self.begun[index]
        if future.set_running_or_notify_cancel():
            future.set_result(inputs[0] if value is None else value)

    async def until_begun(self, count: int = 1) -> None:
        await eventually(lambda: len(self.begun) >= count)

    @classmethod
    def kernel(cls, context: Any) -> Any:
        later = cls._all[context.attrs["later"]]

        def begin(*inputs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            later.begun.append((future, inputs))
            if later.ready:
                later.give(-1)
            return future

        return begin


_FIELDS: Any = {"attrs": {"later": "", "outputs": 1}, "stateful": True, "suspends": True, "keeps": frozenset([0])}
op_type(
    "TestLater",
    Later.kernel,
    infer=lambda ctx: [TensorSpec(acts.float32, acts.TensorShape(None))] * ctx.attrs["outputs"],
    **_FIELDS,
)


ONE_THREAD = acts.ConfigProto(inter_op_parallelism_threads=1)


async def test_the_rest_of_the_step_goes_on_and_what_waited_runs_when_the_value_is_there() -> None:
    later, ran = Later("rest"), threading.Event()
    x = ops.placeholder("float32", [2])

    def note(v: Any) -> Any:
        ran.set()
        return v

    other = ops.py_func(note, [x], "float32")
    y = later(x * 2.0) + 1.0
    async with acts.AsyncSession(config=ONE_THREAD) as session:
        run = asyncio.ensure_future(session.run([y, other], {x: [1.0, 2.0]}))
        await later.until_begun()
        assert await asyncio.to_thread(ran.wait, PATIENCE)
        assert not run.done()
        later.give(0)
        found = await soon(run)
        np.testing.assert_array_equal(found[0], [3.0, 5.0])
        assert session.statistics().steps == 0


async def test_a_value_that_is_there_at_once_is_taken_at_once() -> None:
    later = Later("at once")
    later.ready = True
    async with acts.AsyncSession() as session:
        assert await soon(session.run(ops.sqrt(later(4.0)))) == 2.0


@for_each("how", ["value", "value at once", "error", "error at once", "end of the step"])
async def test_a_kernel_may_return_a_completion(how: str) -> None:
    begun: list[Completion] = []
    forgotten: list[Completion] = []

    def end(completion: Completion) -> None:
        if "error" in how:
            completion.fail(InvalidArgumentError("of no use"))
        else:
            completion.complete(np.float32(3.0))

    def begin(x: Any) -> Completion:
        completion = Completion(forgotten.append)
        begun.append(completion)
        if "at once" in how:
            end(completion)
        return completion

    name = f"TestCompletion{how.title().replace(' ', '')}"
    register(
        OpDef(
            name=name,
            infer=lambda ctx: [TensorSpec(acts.float32, acts.TensorShape([]))],
            kernel=lambda ctx: begin,
            gradient=NOT_DIFFERENTIABLE,
            attrs={},
            stateful=True,
            suspends=True,
        )
    )
    y = acts.get_default_graph().create_op(name, [acts.convert_to_tensor(1.0)], {}).outputs[0] + 1.0
    async with acts.AsyncSession() as session:
        run = asyncio.ensure_future(session.run(y))
        await eventually(lambda: bool(begun))
        if how == "end of the step":
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await soon(run)
        if "at once" not in how:
            await asyncio.to_thread(end, begun[0])
        if "value" in how:
            assert await soon(run) == 4.0
        elif "error" in how:
            with pytest.raises(InvalidArgumentError, match="of no use") as info:
                await soon(run)
            assert info.value.node == y.op.inputs[0].op.name
    assert forgotten == (begun if how == "end of the step" else [])


async def test_hundreds_wait_at_once_beside_one_pool_thread() -> None:
    later = Later("hundreds")
    x = ops.placeholder("float32", [])
    y = later(x) + 1.0
    short = x * 2.0
    threads = threading.active_count()
    async with acts.AsyncSession(config=ONE_THREAD) as session:
        runs = [asyncio.ensure_future(session.run(y, {x: i})) for i in range(300)]
        await later.until_begun(300)
        assert threading.active_count() <= threads + 1
        assert await soon(session.run(short, {x: 4.0})) == 8.0
        for i in reversed(range(300)):
            later.give(i)
        assert await soon(asyncio.gather(*runs)) == [i + 1.0 for i in range(300)]


async def test_a_node_may_have_several_outputs_or_none() -> None:
    two, none = Later("two", 2), Later("none", 0)
    a, b = two.node(1.0).outputs
    done = none.node(1.0)
    async with acts.AsyncSession() as session:
        run = asyncio.ensure_future(session.run([a + b, b, done]))
        await two.until_begun()
        await none.until_begun()
        two.give(0, (np.float32(1.0), np.float32(2.0)))
        assert not run.done()
        none.give(0, ())
        assert await soon(run) == [3.0, 2.0, None]


async def test_a_control_edge_waits_for_it_too(graph: acts.Graph) -> None:
    none, seen = Later("control", 0), threading.Event()

    def note() -> Any:
        seen.set()
        return np.float32(1.0)

    with graph.control_dependencies([none.node(1.0)]):
        after = ops.py_func(note, [], "float32")
    async with acts.AsyncSession() as session:
        run = asyncio.ensure_future(session.run(after))
        await none.until_begun()
        assert not seen.is_set()
        none.give(0, ())
        assert await soon(run) == 1.0


async def test_one_node_may_wait_for_what_another_of_its_step_waits_for() -> None:
    first, second = Later("first"), Later("second")
    y = second(first(1.0) + 1.0) * 10.0
    async with acts.AsyncSession() as session:
        run = asyncio.ensure_future(session.run(y))
        await first.until_begun()
        assert second.begun == []
        first.give(0)
        await second.until_begun()
        second.give(0)
        assert await soon(run) == 20.0


def test_a_synchronous_session_waits_on_a_loop_of_its_own() -> None:
    later = Later("sync")
    y = later(3.0) + 1.0
    with acts.Session(config=ONE_THREAD) as session:
        giver = threading.Thread(target=asyncio.run, args=[_give_soon(later)])
        giver.start()
        assert session.run(y) == 4.0
        giver.join()


async def _give_soon(later: Later) -> None:
    await later.until_begun()
    later.give(0)


async def test_what_it_raises_names_the_node_and_its_line() -> None:
    later = Later("raises")
    y = later(1.0) + 1.0
    async with acts.AsyncSession() as session:
        run = asyncio.ensure_future(session.run(y))
        await later.until_begun()
        later.begun[0][0].set_exception(InvalidArgumentError("of no use"))
        with pytest.raises(InvalidArgumentError, match="of no use") as info:
            await soon(run)
        assert info.value.node == "TestLater"
        assert "test_suspending.py:" in (info.value.source or "")


@for_each("how", ["cancel", "limit", "close", "other error"])
async def test_a_step_that_ends_early_cancels_what_it_waits_for(how: str) -> None:
    later, fail = Later(f"early {how}"), threading.Event()

    def stop(x: Any) -> Any:
        fail.wait(PATIENCE)
        raise ValueError("stopped")

    y = later(1.0) + 1.0
    fetches = [y, ops.py_func(stop, [1.0], "float32")] if how == "other error" else [y]
    options = acts.RunOptions(timeout_in_ms=100) if how == "limit" else None
    session = acts.AsyncSession()
    run = asyncio.ensure_future(session.run(fetches, options=options))
    await later.until_begun()
    if how == "cancel":
        run.cancel()
    elif how == "close":
        await session.close()
    fail.set()
    wanted = {
        "cancel": asyncio.CancelledError,
        "limit": DeadlineExceededError,
        "close": CancelledError,
        "other error": InvalidArgumentError,
    }[how]
    with pytest.raises(wanted):
        await soon(run)
    assert later.begun[0][0].cancelled()
    later.give(0)  # comes too late and harms nobody
    await session.close()


@for_each("face", ["async", "sync"])
async def test_in_loops_and_branches_a_thread_waits_that_is_none_of_the_pool(face: str) -> None:
    later = Later(f"loop {face}")
    x = ops.placeholder("float32", [])
    total = ops.while_loop(lambda i: i < 3.0, lambda i: later.scalar(i) + 1.0, [x])
    y = ops.cond(x < 1.0, lambda: later.scalar(x) * 10.0, lambda: x)

    async def give() -> None:
        for i in range(4):
            await later.until_begun(i + 1)
            later.give(i)

    giving = asyncio.ensure_future(give())
    if face == "async":
        async with acts.AsyncSession(config=ONE_THREAD) as session:
            assert await soon(session.run([total, y], {x: 0.0})) == [3.0, 0.0]
    else:
        with acts.Session(config=ONE_THREAD) as other:
            found = await asyncio.to_thread(other.run, [total, y], {x: 0.0})
            assert found == [3.0, 0.0]
    await giving


async def test_a_wait_in_a_loop_ends_with_its_step() -> None:
    later = Later("loop ends")
    total = ops.while_loop(lambda i: i < 3.0, lambda i: later.scalar(i) + 1.0, [ops.constant(0.0)])
    async with acts.AsyncSession() as session:
        with pytest.raises(DeadlineExceededError):
            await session.run(total, options=acts.RunOptions(timeout_in_ms=100))
        await eventually(lambda: later.begun[0][0].cancelled())


async def test_a_session_says_what_it_waits_for() -> None:
    later = Later("why")
    y = later(1.0) + 1.0
    async with acts.AsyncSession() as session:
        run = asyncio.ensure_future(session.run(y))
        await later.until_begun()
        why = await session.why()
        assert why.root is not None
        assert (why.root.kind, why.root.op) == ("suspended", "TestLater")
        assert "'TestLater' (TestLater)" in str(why)
        assert "for what comes from outside its step" in str(why)
        later.give(0)
        await soon(run)


async def test_a_trace_notes_when_it_began() -> None:
    later, metadata = Later("trace", 2), acts.RunMetadata()
    a, b = later.node(1.0).outputs
    async with acts.AsyncSession() as session:
        options = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE)
        run = asyncio.ensure_future(session.run(a + b, None, options, metadata))
        await later.until_begun()
        later.give(0, (np.float32(1.0), np.float32(2.0)))
        assert await soon(run) == 3.0
    assert metadata.step_stats is not None
    names = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
    assert "TestLater" in names


async def test_a_partial_run_waits_on_a_loop_which_a_synchronous_session_has_for_it() -> None:
    later = Later("partial")
    x = ops.placeholder("float32", [])
    y = later(x) + 1.0
    async with acts.AsyncSession() as session, session.partial([y], [x]) as run:
        call = asyncio.ensure_future(run.run(y, {x: 2.0}))
        await later.until_begun()
        later.give(0)
        assert await soon(call) == 3.0
    with acts.Session() as other:
        handle = await asyncio.to_thread(other.partial_run_setup, [y], [x])
        call = asyncio.ensure_future(asyncio.to_thread(other.partial_run, handle, y, {x: 4.0}))
        await later.until_begun(2)
        later.give(1)
        assert await soon(call) == 5.0


async def test_it_waits_on_other_tasks_as_well(graph: acts.Graph) -> None:
    later = Later("remote")
    with graph.device("/job:worker/task:1"):
        y = later(3.0) * 2.0
    with graph.device("/job:worker/task:0"):
        z = y + 1.0
    async with in_process() as cluster, acts.AsyncSession(cluster.target(), graph) as session:
        run = asyncio.ensure_future(session.run(z))
        await later.until_begun()
        later.give(0)
        assert await soon(run) == 7.0
        run = asyncio.ensure_future(session.run(z))
        await later.until_begun(2)
        run.cancel()
        await asyncio.wait([run])
        await eventually(lambda: later.begun[1][0].cancelled())
        await cluster.until_idle()
