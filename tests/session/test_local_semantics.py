"""Behaviour of local sessions that no other file shows; docs/semantics.md names these tests."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
import actorsession.errors as errors
from actorsession import AsyncSession, ConfigProto, Graph, RunMetadata, RunOptions, Session, get_default_graph, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from tests.default_device import HOME
from tests.loops import cancelled
from tests.rows import for_each
from tests.session.probe import Probe

Make = Callable[..., Any]
TWO = ConfigProto(device_count={"CPU": 2})
ONE_THREAD = ConfigProto(inter_op_parallelism_threads=1)


def device_of(face: Any, name: str) -> str:
    """The short device name of a node of the session's graph."""
    placed = face.session._session.placement()[name]
    return str(placed.device).rpartition("/device:")[2]


# -- fetches ---------------------------------------------------------------------------------------
@for_each("as_name", [False, True], ids=["tensor", "name"])
async def test_what_was_built_in_a_branch_cannot_be_fetched_or_fed(session: Any, as_name: bool) -> None:
    inside: list[Any] = []

    def branch() -> Any:
        inside.append(ops.constant(1.0) + 1.0)
        return inside[0]

    result = ops.cond(ops.placeholder_with_default(True, []), branch, lambda: ops.constant(0.0))
    wanted = inside[0].name if as_name else inside[0]
    for fetches in (wanted, [result, wanted], inside[0].op):
        with pytest.raises(errors.InaccessibleTensorError, match="inside 'cond'"):
            await session.run(fetches)
    with pytest.raises(errors.InaccessibleTensorError, match="inside 'cond'"):
        await session.run(result, {wanted: 1.0})
    assert await session.run(result) == 2


async def test_what_is_fetched_twice_runs_once(session: Any) -> None:
    v = ops.Variable(0.0)
    counted = v.assign_add(1.0)
    await session.run(v.initializer)
    found = await session.run([counted, (counted, counted.op), {"again": counted.name}])
    assert found == [1, (1, None), {"again": 1}]
    assert await session.run(v) == 1


@for_each("as_name", [False, True], ids=["tensor", "name"])
async def test_what_was_built_in_a_loop_cannot_be_fetched_or_fed(session: Any, as_name: bool) -> None:
    inside: list[Any] = []

    def turn(i: Any) -> Any:
        inside.append(i + 3)
        return i + 1

    loop = ops.while_loop(lambda i: i < 3, turn, [0])
    wanted = inside[0].name if as_name else inside[0]
    for fetches in (wanted, [loop, wanted], inside[0].op):
        with pytest.raises(errors.InaccessibleTensorError, match="inside 'while'"):
            await session.run(fetches)
    with pytest.raises(errors.InaccessibleTensorError, match="inside 'while'"):
        await session.run(loop, {wanted: 1})
    assert await session.run(loop) == 3


# -- the life of a session -------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_session_without_a_graph_takes_the_default_graph(kind: Any, graph: Graph) -> None:
    session = kind()
    with Graph().as_default():
        assert session.graph is graph
        assert kind().graph is not graph


# -- devices ---------------------------------------------------------------------------------------
async def test_what_asks_for_no_device_runs_on_the_first(make_session: Make) -> None:
    face = make_session(ConfigProto(device_count={"CPU": 3}))
    x = ops.placeholder("float32", [], name="x")
    y = ops.tanh(x, name="y")
    assert await face.run(y, {x: 0}) == 0
    assert device_of(face, "y") == HOME


async def test_running_changes_no_device_that_was_asked_for(make_session: Make) -> None:
    face = make_session(ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))
    graph = get_default_graph()
    with graph.device("/device:GPU:3"):
        soft = ops.placeholder("float32", [], name="x") * 2.0
    with graph.device("/cpu:1"):
        v = ops.Variable(1.0)
        far = soft + 1.0
    free = far + 1.0
    with graph.device("/cpu:0"):
        update = v.assign_add(free)
    operations = graph.get_operations()
    before = [op.device for op in operations]
    await face.run(v.initializer)
    assert await face.run(update, {"x:0": 1}) == 5
    assert [op.device for op in operations] == before
    assert (soft.op.device, far.op.device, free.op.device) == ("/device:GPU:3", "/device:CPU:1", "")


async def test_what_takes_a_resource_runs_where_the_state_is(make_session: Make) -> None:
    face, graph = make_session(TWO), get_default_graph()
    with graph.device("/cpu:1"):
        v = ops.Variable(1.0, name="v")
    attrs = {"dtype": "float32", "shape": []}
    with graph.device("/cpu:0"):
        [read] = graph.create_op("ReadVariableOp", [v.handle], attrs, "read").outputs
    assert read.op.device == "/device:CPU:0"
    await face.run(v.initializer)
    assert await face.run(read) == 1
    assert device_of(face, "read") == device_of(face, "v") == "CPU:1"


async def test_a_value_crosses_once_however_many_read_it(make_session: Make) -> None:
    face, graph = make_session(TWO), get_default_graph()
    with graph.device("/cpu:0"):
        made = ops.tanh(ops.placeholder("float32", [], name="x"))
    with graph.device("/cpu:1"):
        readers = [made + float(i) for i in range(5)]
        with graph.control_dependencies([readers[0].op]):
            readers.append(made * 2.0)
    metadata = RunMetadata()
    options = RunOptions(output_partition_graphs=True)
    await face.run(readers, {"x:0": 0}, options=options, run_metadata=metadata)
    found = [n.op for part in metadata.partition_graphs for n in part.nodes]
    assert (found.count("_Send"), found.count("_Recv")) == (1, 1)


async def test_the_shape_of_a_value_elsewhere_crosses_without_it(make_session: Make) -> None:
    """1. A large value is made on one device. 2. Its shape is asked for on the other. 3. What crosses is the shape."""
    face, graph = make_session(TWO), get_default_graph()
    x = ops.placeholder("float32", [None], name="x")
    with graph.device("/cpu:1"):
        large = ops.tanh(x, name="large")
    size = ops.shape(large, name="shape") + 1
    metadata = RunMetadata()
    options = RunOptions(output_partition_graphs=True)
    found = await face.run(size, {x: np.zeros(50)}, options=options, run_metadata=metadata)
    np.testing.assert_array_equal(found, [51])
    sent = [n for part in metadata.partition_graphs for n in part.nodes if n.op == "_Send"]
    assert sorted(node.inputs[0][0] for node in sent) == ["_arg/x/0", "shape"]


# -- control flow ----------------------------------------------------------------------------------
async def test_control_inputs_run_first(session: Any) -> None:
    """A chain of effects that another order would give another value: ((1 + 2) * 10) + 3."""
    v = ops.Variable(1.0)
    await session.run(v.initializer)
    graph = get_default_graph()
    first = v.assign_add(2.0)
    with graph.control_dependencies([first]):
        second = v.assign(v.read_value() * 10.0)
    with graph.control_dependencies([second.op]):
        third = v.assign_add(3.0)
    with graph.control_dependencies([third]):
        seen = v.read_value()
    assert await session.run(seen) == 33


async def test_only_the_branch_taken_and_the_iterations_made_have_effects(session: Any) -> None:
    taken, other, outside = (ops.Variable(0.0) for _ in range(3))
    x = ops.placeholder("float32", [])
    built = outside.assign_add(1.0)
    branch = ops.cond(x > 0.0, lambda: taken.assign_add(x), lambda: other.assign_add(built))
    loop = ops.while_loop(lambda i: i < x, lambda i: i + taken.assign_add(10.0) * 0.0 + 1.0, [0.0])
    await session.run([v.initializer for v in (taken, other, outside)])
    assert await session.run(branch, {x: 3}) == 3
    assert await session.run([taken, other, outside]) == [3, 0, 1]
    assert await session.run(branch, {x: -3}) == 2
    assert await session.run([taken, other, outside]) == [3, 2, 2]
    for value, times in ((4, 4), (0, 0)):
        before = await session.run(taken)
        assert await session.run(loop, {x: value}) == times
        assert await session.run(taken) == before + 10 * times


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("v"), errors.InvalidArgumentError),
        (StopIteration(), errors.OutOfRangeError),
        (MemoryError(), errors.ResourceExhaustedError),
        (NotImplementedError(), errors.UnimplementedError),
        (KeyError("k"), errors.UnknownError),
    ],
    ids=lambda v: v.__name__ if isinstance(v, type) else type(v).__name__,
)
async def test_an_error_of_a_python_function_ends_the_run_and_not_the_session(
    session: Any, raised: Exception, kind: type[errors.OpError]
) -> None:
    x = ops.placeholder("float32", [])

    def may_fail(value: Any) -> Any:
        if value < 0:
            raise raised
        return value

    y = ops.py_func(may_fail, [x], "float32", name="mine")
    with pytest.raises(errors.OpError) as caught:
        await session.run(y, {x: -1})
    assert type(caught.value) is kind
    assert caught.value.node == "mine"
    assert await session.run(y, {x: 1}) == 1


async def test_a_debugger_sees_a_loop_as_one_node(session: Any) -> None:
    x = ops.placeholder("float32", [], name="x")
    loop = ops.while_loop(lambda v: v < 8.0, lambda v: ops.multiply(v, 2.0, name="turn"), [x])
    watch = DebugTensorWatch(node_name="*", output_slot=-1, debug_urls=["memory://"])
    options = RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=[watch]))
    assert await session.run(loop, {x: 1}, options=options) == 8
    values = {d.tensor_name: d.value.tolist() for d in session.session.debug_dumps()}
    assert values["while:0"] == 8
    assert not [name for name in values if name.startswith("while/turn")]


async def test_parallel_iterations_change_neither_values_nor_the_order_of_effects(session: Any) -> None:
    results = []
    for wanted in (1, 2, 10, 1000):
        v = ops.Variable(1.0)

        def turn(i: Any, total: Any, v: Any = v) -> Any:
            # Twice the variable and then one more: another order gives another value.
            with get_default_graph().control_dependencies([v.assign(v.read_value() * 2.0).op]):
                grown = v.assign_add(1.0)
            return i + 1, total + grown

        _, total = tf.while_loop(lambda i, t: i < 6, turn, [0, 0.0], parallel_iterations=wanted)
        await session.run(v.initializer)
        results.append((float(await session.run(total)), float(await session.run(v))))
    want = [3.0, 7.0, 15.0, 31.0, 63.0, 127.0]
    assert results == [(sum(want), want[-1])] * 4


# -- concurrency -----------------------------------------------------------------------------------
async def test_a_run_that_is_blocked_blocks_no_other_with_one_thread(make_session: Make) -> None:
    """1. A function of one run waits. 2. Other runs end, also one that needs the only kernel thread.
    3. The function goes on."""
    face, entered, gate = make_session(ONE_THREAD), threading.Event(), threading.Event()

    def wait_at_gate() -> Any:
        entered.set()
        return gate.wait(30)

    blocked = ops.py_func(wait_at_gate, [], "bool")
    cheap = ops.constant(1.0) + 1.0
    dear = Probe("beside a blocked run")(ops.constant(3.0))
    running = asyncio.create_task(face.run(blocked))
    assert await asyncio.to_thread(entered.wait, 20)
    for _ in range(3):
        assert await face.run([cheap, dear]) == [2, 3]
    assert not running.done()
    gate.set()
    assert await running


# -- factories -------------------------------------------------------------------------------------
async def test_reset_clears_the_containers_that_are_named(make_session: Make) -> None:
    for containers, left in ([], {"kept"}), (["kept"], {""}):
        face, graph = make_session(), get_default_graph()
        variables = {}
        for container in ("", "kept"):
            with graph.container(container):
                variables[container] = ops.Variable(1.0)
        await face.run([v.initializer for v in variables.values()])
        *_, device = face.session._session._devices
        holders = {c: device.resources.variable(c, v.op.name, v.value().spec) for c, v in variables.items()}
        await face.reset("", containers)
        assert {c for c, holder in holders.items() if holder.initialized} == left


async def test_a_session_that_was_closed_is_none_that_reset_closes(make_session: Make) -> None:
    closed, living = make_session(), make_session()
    v = ops.Variable(1.0)
    await closed.run(v.initializer)
    *_, device = closed.session._session._devices
    await closed.close()
    await living.reset("")
    assert device.resources.variable("", v.op.name, v.value().spec).initialized
    with pytest.raises(RuntimeError, match="closed Session"):
        await closed.run(v)


# -- steps -----------------------------------------------------------------------------------------
async def test_a_kernel_that_does_not_come_back_is_waited_for_no_longer_than_a_limit(
    graph: Graph, settle: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    """1. A kernel runs in the pool. 2. Its run is cancelled. 3. The kernel does not end; the run does."""
    settle(0.02)
    entered, gate = threading.Event(), threading.Event()

    def stay() -> None:
        entered.set()
        gate.wait(30)

    held = Probe("never back", stay)(ops.constant(1.0))
    async with AsyncSession(graph=graph) as session:
        running = asyncio.create_task(session.run(held))
        assert await asyncio.to_thread(entered.wait, 20)
        with caplog.at_level(logging.WARNING, "actorsession.runtime"):
            await cancelled(running)
        assert "kernels of a cancelled step" in caplog.text
        assert session.statistics().steps == 0
        gate.set()


async def test_signatures_share_the_state_of_kernels(session: Any) -> None:
    """Two signatures that draw with one node go through one sequence; another session begins it anew."""
    drawn = ops.random_uniform([4], seed=7)
    doubled = drawn * 2.0
    first, second = await session.run(drawn), await session.run(doubled) / 2
    third = await session.run(drawn)
    assert len({tuple(v) for v in (first, second, third)}) == 3
    with Session(graph=get_default_graph()) as other:
        again = await asyncio.to_thread(lambda: [other.run(drawn) for _ in range(3)])
    np.testing.assert_allclose(again, [first, second, third])


async def test_a_partial_run_is_named_by_its_signature_and_a_counter(session: Any) -> None:
    a, b = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="b")
    total = ops.add(a, b, name="total")
    handles = [await session.partial_run_setup([total, total.op], [a, b]) for _ in range(2)]
    numbers = [re.fullmatch(r"a:0,b:0->total:0/total;(\d+)", handle) for handle in handles]
    first, second = [int(found[1]) for found in numbers if found]
    assert second == first + 1
