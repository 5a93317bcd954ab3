"""A step in one process: segments run when their inputs are there, and the first error ends everything."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from actorsession import Graph, Tensor, errors, ops
from actorsession.actors import Deadline
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.testing import StillClock
from tests.runtime.kit import Loaded
from transports.host import Host, on_host


def new_step(loaded: Loaded, *, trace: bool = False, pool: KernelPool | None = None) -> Step:
    loop = asyncio.get_running_loop() if pool is not None else None
    parts = len(loaded.graph.parts)
    return Step(1, Rendezvous(), loaded.fetches, partitions=parts, trace=trace, pool=pool, loop=loop)


def ping_pong(hops: int) -> tuple[Graph, Tensor, Tensor]:
    """A value that goes to and fro between two devices, one more at each hop."""
    with Graph().as_default() as graph:
        x = y = ops.placeholder("float32", [])
        for hop in range(hops):
            with graph.device(f"/cpu:{hop % 2}"):
                y = y + 1.0
    return graph, x, y


def unbegun(hops: int) -> tuple[Loaded, Step]:
    """A loaded graph of so many hops, and a step of it."""
    graph, x, y = ping_pong(hops)
    loaded = Loaded(graph, [y], [x], devices=2)
    return loaded, new_step(loaded)


def test_two_devices_hand_values_to_each_other() -> None:
    loaded, step = unbegun(2)
    step.begin(loaded.graph.parts, [np.float32(3)])
    assert step.done
    assert step.result() == [5.0]


def test_a_thousand_hops_need_no_deep_stack() -> None:
    loaded, step = unbegun(1000)
    step.begin(loaded.graph.parts, [np.float32(0)])
    assert step.result() == [1000.0]


def test_a_step_leaves_nothing_in_its_rendezvous() -> None:
    loaded, step = unbegun(7)
    step.begin(loaded.graph.parts, [np.float32(0)])
    assert step.rendezvous.pending == (0, 0)


def test_control_edges_between_devices_order_side_effects() -> None:
    with Graph().as_default() as graph:
        with graph.device("/cpu:0"):
            v = ops.Variable(np.float32(1), name="v")
            first = v.assign_add(10.0)
        with graph.device("/cpu:1"), graph.control_dependencies([first]):
            token = ops.constant(2.0) * ops.placeholder("float32", [], name="p")
        with graph.device("/cpu:0"), graph.control_dependencies([token]):
            last = v.assign_add(100.0)
    p = graph.get_tensor_by_name("p:0")
    loaded = Loaded(graph, [last], [p], devices=2)
    loaded.devices[0].resources.variable("", "v", first.spec).assign(np.float32(1))
    step = new_step(loaded)
    step.begin(loaded.graph.parts, [np.float32(1)])
    assert step.result() == [111.0]


def test_values_that_came_before_the_step_began_are_used_and_end_it_once() -> None:
    """A worker's rendezvous may be filled by pushes before RunGraph arrives."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        with graph.device("/cpu:0"):
            first, second = x + 1.0, x + 2.0
        with graph.device("/cpu:1"):
            y = first * second
    loaded = Loaded(graph, [y], [x], devices=2)
    consumer = next(p for p in loaded.graph.parts if p.bound.compiled.recvs)
    step = Step(1, Rendezvous(), 1, partitions=1)
    for value, (_, key) in enumerate(consumer.bound.compiled.recvs, 3):
        step.rendezvous.send(key, np.float32(value))
    ends: list[bool] = []
    step.on_done(lambda: ends.append(True))
    step.begin([consumer], [])
    assert step.done
    assert step.result() == [12.0]
    assert ends == [True]


def failing(graph: Graph) -> tuple[Tensor, Tensor]:
    """An integer division, to be fed with a zero."""
    with graph.as_default():
        divisor = ops.placeholder("int32", [], name="divisor")
        return divisor, ops.constant(1, name="one") // divisor


def test_the_error_of_a_kernel_names_node_device_and_line() -> None:
    graph = Graph()
    divisor, quotient = failing(graph)
    loaded = Loaded(graph, [quotient], [divisor])
    step = new_step(loaded)
    step.begin(loaded.graph.parts, [np.int32(0)])
    with pytest.raises(errors.InvalidArgumentError, match="division by zero") as caught:
        step.result()
    assert caught.value.node == quotient.op.name
    assert caught.value.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert caught.value.source is not None
    assert "test_step.py" in caught.value.source


def test_an_error_on_one_device_ends_the_others_and_is_the_one_that_is_raised() -> None:
    graph = Graph()
    with graph.as_default(), graph.device("/cpu:0"):
        divisor, quotient = failing(graph)
        with graph.device("/cpu:1"):
            waits = quotient + 1
            apart = divisor + 5
    loaded = Loaded(graph, [waits, apart], [divisor], devices=2)
    step = new_step(loaded)
    step.begin(loaded.graph.parts, [np.int32(0)])
    assert step.done
    with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
        step.result()
    assert step.rendezvous.pending == (0, 0)


def test_the_first_error_wins() -> None:
    loaded, step = unbegun(2)
    step.begin(loaded.graph.parts[1:], [np.float32(0)])
    step.fail(errors.UnavailableError("the root cause"))
    step.fail(errors.CancelledError("a consequence"))
    with pytest.raises(errors.UnavailableError, match="the root cause"):
        step.result()


def test_a_step_that_waits_says_for_which_keys() -> None:
    loaded, step = unbegun(2)
    waiting = next(p for p in loaded.graph.parts if p.bound.compiled.recvs)
    step.begin([waiting], [np.float32(0)])
    assert not step.done
    assert [key.split(";")[2] for key in step.rendezvous.waiting_keys()] == [waiting.bound.device]
    with pytest.raises(errors.InternalError, match="waits for"):
        step.result()


def test_failing_a_step_that_is_over_changes_nothing() -> None:
    loaded, step = unbegun(2)
    step.begin(loaded.graph.parts, [np.float32(0)])
    step.fail(errors.CancelledError("too late"))
    assert step.result() == [2.0]


def test_a_step_that_is_over_keeps_its_values_past_its_limit_but_not_if_it_was_cancelled() -> None:
    """Whoever looks at the limit of a step that has just ended ends nothing by that."""
    graph, x, y = ping_pong(2)
    loaded, clock = Loaded(graph, [y], [x], devices=2), StillClock()
    with on_host(Host(clock=clock)):
        deadline = Deadline.after(1.0)
        step = Step(1, Rendezvous(), loaded.fetches, partitions=len(loaded.graph.parts), deadline=deadline)
        step.begin(loaded.graph.parts, [np.float32(0)])
        looks = [step.abort_error]
        clock.advance(2.0)
        looks.append(step.abort_error)
    assert looks[0] is None
    assert isinstance(looks[1], errors.DeadlineExceededError)
    assert step.result() == [2.0]
    step.cancel(errors.CancelledError("nobody waits for it"))
    with pytest.raises(errors.CancelledError, match="nobody waits for it"):
        step.result()


def test_a_traced_step_notes_each_node_and_both_ends_of_each_transfer() -> None:
    graph, x, y = ping_pong(3)
    loaded = Loaded(graph, [y], [x], devices=2)
    step = new_step(loaded, trace=True)
    step.begin(loaded.graph.parts, [np.float32(0)])
    assert step.stats is not None
    names = [n.node for n in step.stats.nodes if not n.op.startswith("_")]
    assert names == [op.name for op in graph.get_operations() if op.type.startswith("Add")]
    assert all(n.start <= n.end for n in step.stats.nodes)
    sent = [t.key for t in step.stats.transfers if t.kind == "send"]
    received = [t.key for t in step.stats.transfers if t.kind == "recv"]
    assert len(sent) == 2
    assert sent == received


def dear(graph: Graph, size: int = 600) -> tuple[Tensor, Tensor]:
    """A product that is estimated above what may run on the loop."""
    with graph.as_default():
        x = ops.placeholder("float32", [size, size], name="x")
        return x, ops.matmul(x, x)


async def test_a_dear_segment_runs_in_the_pool_while_the_loop_goes_on() -> None:
    graph = Graph()
    x, y = dear(graph)
    with graph.as_default(), graph.device("/cpu:1"):
        total = ops.reduce_sum(y)
    loaded = Loaded(graph, [y, total], [x], devices=2)
    pool = KernelPool(1)
    value = np.full([600, 600], 0.5, np.float32)
    step = new_step(loaded, pool=pool, trace=True)
    step.begin(loaded.graph.parts, [value])
    assert not step.done  # it is in the pool, and we are not
    await step.wait()
    product, found = step.result()
    np.testing.assert_allclose(product, value @ value, rtol=1e-5)
    np.testing.assert_allclose(found, (value @ value).sum(), rtol=1e-4)
    assert step.stats is not None
    thread = {n.node: n.thread for n in step.stats.nodes}[y.op.name]
    assert thread.startswith("actorsession-kernel")
    pool.shutdown()


async def test_a_cancelled_step_is_done_only_when_its_kernel_is_back() -> None:
    graph = Graph()
    x, y = dear(graph)
    loaded = Loaded(graph, [y], [x])
    pool = KernelPool(1)
    gate = threading.Event()
    pool.submit(gate.wait, 10)  # the only thread is busy, so the segment waits behind it
    step = new_step(loaded, pool=pool)
    step.begin(loaded.graph.parts, [np.ones([600, 600], np.float32)])
    step.fail(errors.CancelledError("given up"))
    assert not step.done
    gate.set()
    await step.wait()
    with pytest.raises(errors.CancelledError, match="given up"):
        step.result()
    pool.shutdown()


async def test_a_step_whose_pool_is_shut_down_is_cancelled() -> None:
    graph = Graph()
    x, y = dear(graph)
    loaded = Loaded(graph, [y], [x])
    pool = KernelPool(1)
    pool.shutdown()
    step = new_step(loaded, pool=pool)
    step.begin(loaded.graph.parts, [np.ones([600, 600], np.float32)])
    with pytest.raises(errors.CancelledError, match="shut down"):
        step.result()


def test_a_graph_of_one_segment_is_one_call() -> None:
    with Graph().as_default() as graph:
        a, b = ops.placeholder("float32", []), ops.placeholder("float32", [])
        difference, total = a - b, a + b
    loaded = Loaded(graph, [difference, total], [b, a])
    assert loaded.graph.inline is not None
    values = loaded.graph.inline.run([np.float32(1), np.float32(5)], Gate())
    assert list(values) == [4.0, 6.0]


def test_a_graph_that_sends_is_not_one_call() -> None:
    graph, x, y = ping_pong(2)
    assert Loaded(graph, [y], [x], devices=2).graph.inline is None


def test_stateful_kernels_are_shared_by_all_plans_with_the_same_states() -> None:
    with Graph().as_default() as graph:
        drawn = ops.random_normal([3], seed=7)
        doubled = drawn * 2.0
    first = Loaded(graph, [drawn])
    (value,) = first.run_once()
    (after,) = first.run_once()
    assert not np.array_equal(value, after)  # another step draws anew
    again = Loaded(graph, [doubled])
    (restarted,) = again.run_once()
    np.testing.assert_allclose(restarted, value * 2)  # other states begin the sequence anew
