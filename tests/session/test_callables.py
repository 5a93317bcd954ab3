"""Callables: runs prepared once, for as many calls, threads and children as one likes."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, RunMetadata, RunOptions, Session, TraceLevel, ops, opsets
from actorsession.errors import CancelledError, InvalidArgumentError


def sum_of_two() -> tuple[Any, Any, Any]:
    a = ops.placeholder("float32", [], name="a")
    b = ops.placeholder("float32", [], name="b")
    return a, b, ops.add(a, b, name="sum")


async def test_arguments_are_fed_in_the_order_of_the_feed_list(session: Any) -> None:
    a, b, _ = sum_of_two()
    difference = a - b
    forward = session.callable(difference, [a, b])
    backward = session.callable(difference, ("b:0", a))
    assert await forward(5, 3) == 2.0
    assert await backward(5, 3) == -2.0


async def test_the_result_has_the_structure_of_the_fetches(session: Any) -> None:
    a, b, total = sum_of_two()
    nothing = ops.no_op()
    run = session.callable({"x": total, "y": [a, nothing]}, [a, b])
    found = await run(1, 2)
    assert found == {"x": 3.0, "y": [1.0, None]}
    assert isinstance(found["x"], np.float32)
    assert await session.callable(nothing)() is None


async def test_fetching_what_is_fed_needs_no_step(session: Any) -> None:
    a, _, _ = sum_of_two()
    echo = session.callable([a], [a])
    (value,) = await echo(3)
    assert value.shape == ()
    assert value == 3.0
    assert session.session.statistics().cache.misses == 0


async def test_values_are_converted_and_checked_as_in_a_run(session: Any) -> None:
    a, b, total = sum_of_two()
    run = session.callable(total, [a, b])
    assert np.isnan(await run(None, 2))
    with pytest.raises(ValueError, match="could not convert string to float"):
        await run("x", 2)
    with pytest.raises(ValueError, match=r"shape \(2,\) for Tensor a:0"):
        await run([1.0, 2.0], 2)


async def test_missing_values_are_named_and_further_ones_ignored(session: Any) -> None:
    a, b, total = sum_of_two()
    run = session.callable(total, [a, b])
    with pytest.raises(InvalidArgumentError, match="takes 2 values, for a:0, b:0, got 1"):
        await run(1)
    assert await run(1, 2, 3) == 3.0  # as TensorFlow does


async def test_values_for_a_callable_without_a_feed_list_are_refused(session: Any) -> None:
    _, _, total = sum_of_two()
    for run in (session.callable(ops.constant(1.0)), session.callable(total * 0.0 + 1.0, [])):
        with pytest.raises(TypeError, match="takes no values, got 2: name the tensors"):
            await run(1, 2)


async def test_a_tensor_named_twice_gets_the_later_value(session: Any) -> None:
    a, b, total = sum_of_two()
    assert await session.callable(total, [a, a, b])(1, 2, 3) == 5.0


async def test_keys_may_stand_for_several_tensors(session: Any) -> None:
    a, b, total = sum_of_two()
    sparse = opsets.sparse_placeholder("float32", [4])
    dense = opsets.sparse_tensor_to_dense(sparse)
    run = session.callable([total, dense], [(a, b), sparse])
    found = await run((1, 2), ([[1]], [5.0], [4]))
    assert found[0] == 3.0
    np.testing.assert_array_equal(found[1], [0, 5, 0, 0])
    with pytest.raises(InvalidArgumentError, match="takes 2 values"):
        await run((1, 2))


async def test_a_bad_feed_list_is_refused(session: Any) -> None:
    a, _, total = sum_of_two()
    for bad in (a, {a}, "a:0"):
        with pytest.raises(TypeError, match="`feed_list` must be a list or tuple of tensors"):
            session.callable(total, bad)
    with pytest.raises(TypeError, match="zzz"):
        session.callable(total, ["zzz:0"])


async def test_nothing_to_run_is_refused(session: Any) -> None:
    sum_of_two()
    # As in TensorFlow the call is refused.
    for nothing in (list[Any](), (), dict[str, Any]()):
        empty = session.callable(nothing)
        with pytest.raises(InvalidArgumentError, match="at least one target"):
            await empty()
    with pytest.raises(TypeError, match="None"):
        session.callable(None)


async def test_an_unknown_keyword_is_refused(session: Any) -> None:
    a, b, total = sum_of_two()
    with pytest.raises(TypeError, match="speed"):
        await session.callable(total, [a, b])(1, 2, speed=3)


async def test_options_are_taken_when_they_were_announced(session: Any) -> None:
    a, b, total = sum_of_two()
    options, metadata = RunOptions(trace_level=TraceLevel.FULL_TRACE), RunMetadata()
    announced = session.callable(total, [a, b], accept_options=True)
    assert await announced(1, 2, options=options, run_metadata=metadata) == 3.0
    assert metadata.step_stats is not None
    assert [n.node for n in metadata.step_stats.nodes] == ["sum"]
    plain = session.callable(ops.constant(1) + 1)
    with pytest.raises(TypeError, match="accept_options=True"):
        await plain(options=options)


async def test_a_call_does_no_graph_work(session: Any) -> None:
    a, b, total = sum_of_two()
    run = session.callable(total, [a, b])
    await run(0, 0)
    before = session.session.statistics().cache
    for i in range(20):
        assert await run(i, i) == 2 * i
    assert session.session.statistics().cache == replace(before, hits=before.hits + 20)


async def test_a_callable_keeps_its_part_of_a_graph_that_grows(session: Any) -> None:
    a, b, total = sum_of_two()
    run = session.callable(total, [a, b])
    assert await run(1, 2) == 3.0
    more = total * 2.0
    assert await session.run(more, {a: 1, b: 2}) == 6.0
    assert await run(1, 2) == 3.0


async def test_a_callable_of_a_closed_session_says_so_when_it_is_called(session: Any) -> None:
    a, b, total = sum_of_two()
    fed, unfed = session.callable(total, [a, b]), session.callable(ops.no_op())
    assert await fed(1, 2) == 3.0
    await session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        await fed(1, 2)
    with pytest.raises(CancelledError, match="Session has been closed"):
        await unfed()
    later = session.callable(ops.no_op())  # making one is no error
    with pytest.raises(CancelledError, match="Session has been closed"):
        await later()


async def test_closing_releases_what_callables_hold(session: Any) -> None:
    a, b, total = sum_of_two()
    run = session.callable(total, [a, b])
    await run(1, 2)
    plan = weakref.ref(run.made._request.plan.graph)
    assert session.session.statistics().callables == 1
    await session.close()
    gc.collect()
    assert plan() is None
    assert session.session.statistics().callables == 0


async def test_a_callable_that_is_dropped_is_no_longer_counted(session: Any) -> None:
    a, b, total = sum_of_two()
    run = session.callable(total, [a, b])
    assert session.session.statistics().callables == 1
    del run
    gc.collect()
    assert session.session.statistics().callables == 0


async def test_many_children_call_one_callable_at_once(graph: Graph) -> None:
    a, b, total = sum_of_two()
    async with AsyncSession(graph=graph) as session:
        run = session.make_callable(total, [a, b])
        found = await asyncio.gather(*[run(i, 1) for i in range(100)])
    assert found == [i + 1 for i in range(100)]


def test_many_threads_call_one_callable_at_once(graph: Graph) -> None:
    a, b, total = sum_of_two()
    right: list[bool] = []
    with Session(graph=graph) as session:
        run = session.make_callable(total, [a, b])

        def work(offset: int) -> None:
            right.extend([run(i, offset) == i + offset for i in range(200)])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(right) == 16 * 200
    assert all(right)


async def test_a_callable_that_blocks_is_refused_on_a_running_loop_like_a_run(graph: Graph) -> None:
    a, b, total = sum_of_two()
    session = Session(graph=graph)
    run = session.make_callable(total, [a, b])
    with pytest.raises(RuntimeError, match="inside a running event loop: use AsyncSession"):
        run(1, 2)
    with pytest.raises(RuntimeError, match="inside a running event loop: use AsyncSession"):
        session.run(total, {a: 1, b: 2})
    assert await asyncio.to_thread(run, 1, 2) == 3.0
    session.close()
