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

import actorsession as acts
from actorsession import ops, opsets
from actorsession.config import CallableOptions, DebugOptions, DebugTensorWatch, OptLevel, TensorConnection
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, NotFoundError
from tests.default_device import BESIDE, LOCAL
from tests.ops.raw_control import raw_while
from tests.rows import for_each
from tests.session.session_adapters import Made


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
    with pytest.raises(TypeError, match="None is no number: write float"):
        await run(None, 2)
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
    options, metadata = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE), acts.RunMetadata()
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


async def test_many_children_call_one_callable_at_once(graph: acts.Graph) -> None:
    a, b, total = sum_of_two()
    async with acts.AsyncSession(graph=graph) as session:
        run = session.make_callable(total, [a, b])
        found = await asyncio.gather(*[run(i, 1) for i in range(100)])
    assert found == [i + 1 for i in range(100)]


def test_many_threads_call_one_callable_at_once(graph: acts.Graph) -> None:
    a, b, total = sum_of_two()
    right: list[bool] = []
    with acts.Session(graph=graph) as session:
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


async def test_a_callable_that_blocks_is_refused_on_a_running_loop_like_a_run(graph: acts.Graph) -> None:
    a, b, total = sum_of_two()
    session = acts.Session(graph=graph)
    run = session.make_callable(total, [a, b])
    with pytest.raises(RuntimeError, match="inside a running event loop: use AsyncSession"):
        run(1, 2)
    with pytest.raises(RuntimeError, match="inside a running event loop: use AsyncSession"):
        session.run(total, {a: 1, b: 2})
    assert await asyncio.to_thread(run, 1, 2) == 3.0
    session.close()


async def test_nodes_added_before_each_call_are_counted_and_warned_of_once(session: Any) -> None:
    x = ops.placeholder("float32", [])
    call = session.callable(x + 1.0, [x])
    await call(0)

    async def careless_loop() -> None:
        for i in range(30):
            ops.identity(x)
            assert await call(i) == i + 1

    with pytest.warns(acts.debugging.GraphGrowthWarning, match=r"test_callables.py:\d+") as told:
        await careless_loop()
    assert len(told) == 1
    counted = session.session.statistics()
    assert (counted.growths, counted.grown_nodes) == (30, 30)
    assert counted.cache.misses == 1  # the callable itself looks at no new node


CPU = LOCAL + "CPU:{}"


def connect(*pairs: tuple[str, str]) -> list[TensorConnection]:
    return [TensorConnection(from_tensor=source, to_tensor=to) for source, to in pairs]


def make(session: Any, **options: Any) -> Any:
    """A callable of either face; its result is awaited."""
    made = session.session.make_callable_from_options(CallableOptions(**options))
    return Made(made, threaded=session.name == "Session")


@pytest.fixture
def chain(graph: acts.Graph) -> Any:
    """a = [1, 2]; x is fed; y = x * 2; z = y + 1; w = -z."""
    a = ops.constant([1.0, 2.0], name="a")
    x = ops.placeholder("float32", [2], name="x")
    y = ops.multiply(x, 2.0, name="y")
    z = ops.add(y, 1.0, name="z")
    return a, x, y, z, ops.negative(z, name="w")


# -- feeds, fetches, targets -----------------------------------------------------------------------
async def test_values_are_fed_and_returned_in_the_order_of_the_names(session: Any, chain: Any) -> None:
    ops.add(chain[0], chain[1], name="sum")
    run = make(session, feed=["a:0", "x"], fetch=["z:0", "sum:0", "z"], target=["w"])
    found = await run([5, 6], [1, 2])
    assert isinstance(found, list)
    np.testing.assert_array_equal(found, [[3, 5], [6, 8], [3, 5]])


async def test_targets_run_without_a_value(session: Any, graph: acts.Graph) -> None:
    v = ops.Variable(1.0, name="v")
    raised = v.assign_add(1.0)
    await session.run(v.initializer)
    run = make(session, target=[raised.op.name])
    assert await run() == []
    assert await run() == []
    assert await session.run(v) == 3.0
    assert await make(session, fetch=["v:0"])() == [3.0]


async def test_there_is_one_value_for_each_feed(session: Any, chain: Any) -> None:
    run = make(session, feed=["x:0"], fetch=["z:0"])
    for values in ((), ([1, 2], [3, 4])):
        with pytest.raises(InvalidArgumentError, match=rf"takes 1 values, for x:0, got {len(values)}"):
            await run(*values)
    with pytest.raises(InvalidArgumentError, match="takes 0 values, got 1"):
        await make(session, fetch=["a:0"])(1.0)
    with pytest.raises(ValueError, match=r"shape \(3,\) for Tensor x:0"):
        await run([1, 2, 3])


@for_each(
    "options, kind, said",
    [
        ({"feed": ["q:0"], "fetch": ["y:0"]}, InvalidArgumentError, "feed names 'q:0'"),
        ({"fetch": ["y:1"]}, InvalidArgumentError, "fetch names 'y:1'"),
        ({"fetch": [""]}, InvalidArgumentError, "fetch names ''"),
        ({"target": ["q"]}, NotFoundError, "target names 'q'"),
        ({"target": ["y:0"]}, NotFoundError, "target names 'y:0'"),
        ({"feed": ["x:0", "x"], "fetch": ["y:0"]}, InvalidArgumentError, "fed more than once"),
        ({"feed": ["x:0"], "fetch": ["x:0"]}, InvalidArgumentError, "'x:0' is both fed and fetched"),
        ({}, InvalidArgumentError, "at least one target"),
        ({"feed": ["x:0"]}, InvalidArgumentError, "at least one target"),
    ],
)
async def test_a_name_that_cannot_be_used_is_refused_where_the_callable_is_made(
    session: Any, chain: Any, options: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        make(session, **options)


def test_options_of_other_types_are_refused() -> None:
    for field, value in {
        "feed": "x:0",
        "fetch": [1],
        "target": {"a"},
        "tensor_connection": [("a", "b")],
        "run_options": 3,
        "feed_devices": ["x:0"],
        "fetch_devices": {"x:0": 3},
        "fetch_skip_sync": "no",
    }.items():
        wrong: Any = {field: value}
        with pytest.raises(TypeError, match=field):
            CallableOptions(**wrong)
    with pytest.raises(TypeError, match="fetches"):
        CallableOptions(fetches=["x:0"])  # type: ignore[call-arg]


async def test_what_are_no_options_is_refused(session: Any, chain: Any) -> None:
    with pytest.raises(TypeError, match="options is a CallableOptions, got 'y:0'"):
        session.session.make_callable_from_options("y:0")


# -- run options -----------------------------------------------------------------------------------
async def test_the_run_options_are_those_of_each_call(session: Any, chain: Any) -> None:
    options = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE, output_partition_graphs=True)
    run = make(session, feed=["x:0"], fetch=["z:0"], run_options=options)
    metadata = acts.RunMetadata()
    np.testing.assert_array_equal((await run([1, 2], run_metadata=metadata))[0], [3, 5])
    assert metadata.step_stats is not None
    assert len(metadata.partition_graphs) == 1 + len(BESIDE)  # feeds enter by the CPU
    with pytest.raises(TypeError, match="takes no others: set their run_options"):
        await run([1, 2], options=acts.RunOptions())
    plain = make(session, feed=["x:0"], fetch=["z:0"])
    await plain([1, 2], run_metadata=metadata)
    assert metadata.step_stats is None


async def test_the_limit_of_the_run_options_ends_a_call(session: Any, graph: acts.Graph) -> None:
    queue = ops.FIFOQueue(1, "float32", [[]])
    element = queue.dequeue()
    run = make(session, fetch=[element.name], run_options=acts.RunOptions(timeout_in_ms=50))
    with pytest.raises(DeadlineExceededError):
        await run()


async def test_the_pool_of_the_run_options_is_checked(session: Any, chain: Any) -> None:
    run = make(session, fetch=["a:0"], run_options=acts.RunOptions(inter_op_thread_pool=7))
    with pytest.raises(InvalidArgumentError, match="7"):
        await run()


async def test_watched_tensors_are_dumped_in_each_call(session: Any, chain: Any) -> None:
    watch = DebugTensorWatch(node_name="y", output_slot=0, debug_urls=["memory://"])
    options = acts.RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=[watch]))
    run = make(session, fetch=["z:0"], run_options=options, tensor_connection=connect(("a:0", "x:0")))
    np.testing.assert_array_equal((await run())[0], [3, 5])
    (dump,) = session.session.debug_dumps()
    np.testing.assert_array_equal(dump.value, [2, 4])


# -- connections -----------------------------------------------------------------------------------
async def test_a_tensor_is_used_in_the_place_of_another(session: Any, chain: Any) -> None:
    run = make(session, fetch=["w:0"], tensor_connection=connect(("a:0", "y:0")))
    np.testing.assert_array_equal(await run(), [[-2, -3]])
    both = make(session, fetch=["a:0", "w:0"], tensor_connection=connect(("a", "y")))
    np.testing.assert_array_equal(await both(), [[1, 2], [-2, -3]])
    np.testing.assert_array_equal(await session.run("w:0", {"x:0": [1, 1]}), [-3, -3])


async def test_one_tensor_is_used_in_the_place_of_several(session: Any, graph: acts.Graph) -> None:
    p, q = (ops.placeholder("float32", [], name=name) for name in "pq")
    ops.subtract(p * 10.0, q, name="d")
    ops.constant(3.0, name="three")
    connected = connect(("three:0", "p:0"), ("three:0", "q:0"))
    assert await make(session, fetch=["d:0"], tensor_connection=connected)() == [27.0]


async def test_a_value_that_is_fed_passes_on_through_connections_in_any_order(session: Any, graph: acts.Graph) -> None:
    """TensorFlow lets the order of the connections decide; see docs/semantics.md."""
    p, q, r = (ops.placeholder("float32", [], name=name) for name in "pqr")
    ops.add(p * 100.0 + q * 10.0, r, name="sum")
    pairs = [("p:0", "q:0"), ("q:0", "r:0")]
    for ordered in (pairs, pairs[::-1]):
        run = make(session, feed=["p:0"], fetch=["sum:0"], tensor_connection=connect(*ordered))
        assert await run(2.0) == [222.0]


async def test_what_runs_after_a_connected_placeholder_runs_after_its_substitute(
    session: Any, graph: acts.Graph
) -> None:
    v = ops.Variable(1.0, name="v")
    raised = v.assign_add(4.0)
    p = ops.placeholder("float32", [], name="p")
    with graph.control_dependencies([p.op]):
        after = v.read_value()
    await session.run(v.initializer)
    run = make(session, fetch=[after.name], tensor_connection=connect((raised.name, "p:0")))
    assert await run() == [5.0]


async def test_a_connected_value_has_the_shape_that_its_readers_were_built_for(session: Any, chain: Any) -> None:
    ops.placeholder("float32", None, name="any")
    ops.placeholder("float32", [None], name="row")
    for source in ("any:0", "row:0"):
        run = make(session, feed=[source], fetch=["z:0"], tensor_connection=connect((source, "x:0")))
        np.testing.assert_array_equal(await run([1, 2]), [[3, 5]])
        with pytest.raises(InvalidArgumentError, match=r"shape \(2,\) is wanted, got \[3\]"):
            await run([1, 2, 3])


async def test_the_value_of_a_variable_is_connected(session: Any, chain: Any) -> None:
    v = ops.Variable([3.0, 4.0], name="v")
    await session.run(v.initializer)
    v.read_value()
    run = make(session, fetch=["z:0"], tensor_connection=connect(("v:0", "x:0")))
    np.testing.assert_array_equal(await run(), [[7, 9]])


FED, FETCHED, TWICE = {"feed": ["x:0"]}, {"fetch": ["x:0"]}, ("y:0", "x:0")


@for_each(
    "pairs, options, kind, said",
    [
        ([("w:0", "x:0")], {}, InvalidArgumentError, "'w:0' to 'x:0' would create a cycle"),
        ([("x:0", "x:0")], {}, InvalidArgumentError, "would create a cycle"),
        ([("a:0", "x:0"), ("x:0", "a:0")], {}, InvalidArgumentError, "would create a cycle"),
        ([("q:0", "x:0")], {}, InvalidArgumentError, "tensor_connection.from_tensor names 'q:0'"),
        ([("a:7", "x:0")], {}, InvalidArgumentError, "tensor_connection.from_tensor names 'a:7'"),
        ([("a:0", "q:0")], {}, NotFoundError, "tensor_connection.to_tensor names 'q:0'"),
        ([("a:0", "x:0"), TWICE], {}, InvalidArgumentError, "'x:0' is fed more than once"),
        ([("a:0", "x:0")], FED, InvalidArgumentError, "'x:0' is fed more than once"),
        ([("a:0", "x:0")], FETCHED, InvalidArgumentError, "'x:0' is both fed and fetched"),
        ([("number:0", "x:0")], {}, InvalidArgumentError, "their dtypes are int32 and float32"),
        ([("long:0", "x:0")], {}, InvalidArgumentError, r"both their shapes, \(3,\) and \(2,\)"),
    ],
)
async def test_a_connection_that_cannot_be_made_is_refused_where_the_callable_is_made(
    session: Any, chain: Any, pairs: Any, options: Any, kind: type[Exception], said: str
) -> None:
    ops.constant([1, 2], name="number")
    ops.constant([1.0, 2.0, 3.0], name="long")
    with pytest.raises(kind, match=said):
        make(session, tensor_connection=connect(*pairs), **{"fetch": ["z:0"], **options})


async def test_connections_that_only_together_are_a_cycle_are_refused(session: Any, graph: acts.Graph) -> None:
    p, q = (ops.placeholder("float32", [], name=name) for name in "pq")
    ops.add(p, 1.0, name="above_p")
    ops.add(q, 1.0, name="above_q")
    pairs = [("above_p:0", "q:0"), ("above_q:0", "p:0")]
    for pair in pairs:  # each alone is fine
        make(session, fetch=["above_p:0", "above_q:0"], tensor_connection=connect(pair))
    with pytest.raises(InvalidArgumentError, match="would create a cycle"):
        make(session, fetch=["above_p:0"], tensor_connection=connect(*pairs))


async def test_a_feed_in_between_leaves_no_cycle(session: Any, chain: Any) -> None:
    run = make(session, feed=["y:0"], fetch=["w:0"], tensor_connection=connect(("z:0", "x:0")))
    np.testing.assert_array_equal(await run([1, 2]), [[-2, -3]])


async def test_runs_with_other_connections_have_other_plans(session: Any, chain: Any) -> None:
    ops.constant([7.0, 8.0], name="b")
    first = make(session, fetch=["z:0"], tensor_connection=connect(("a:0", "x:0")))
    second = make(session, fetch=["z:0"], tensor_connection=connect(("b:0", "x:0")))
    again = make(session, fetch=["z:0"], tensor_connection=connect(("a:0", "x:0")))
    for _ in range(2):
        np.testing.assert_array_equal(await first(), [[3, 5]])
        np.testing.assert_array_equal(await second(), [[15, 17]])
        np.testing.assert_array_equal(await again(), [[3, 5]])
    assert session.session.statistics().cache.plans == 2


# -- devices ---------------------------------------------------------------------------------------
def transfers(metadata: acts.RunMetadata) -> list[tuple[str, str]]:
    """The pairs of devices between which the step sent something, by number."""
    keys = [
        node.attrs["key"].split(";")
        for graph in metadata.partition_graphs
        for node in graph.nodes
        if node.op == "_Send"
    ]
    return sorted((key[0][-1], key[2][-1]) for key in keys)


async def test_feeds_enter_and_fetches_leave_at_the_devices_named_for_them(
    make_session: Any, graph: acts.Graph
) -> None:
    session = make_session(acts.ConfigProto(device_count={"CPU": 4}))
    x = ops.placeholder("float32", [], name="x")
    with graph.device("/device:CPU:1"):
        ops.multiply(x, 2.0, name="y")
    traced = acts.RunOptions(output_partition_graphs=True)
    expected = {
        (): [("0", "1")],  # the client's device
        ("feed",): [("2", "1")],
        ("fetch",): [("0", "1"), ("1", "3")],
        ("feed", "fetch"): [("1", "3"), ("2", "1")],
    }
    for kinds, sent in expected.items():
        devices = {"feed": {"x:0": CPU.format(2)}, "fetch": {"y": CPU.format(3)}}
        given: Any = {f"{kind}_devices": devices[kind] for kind in kinds}
        run = make(session, feed=["x"], fetch=["y:0"], run_options=traced, **given)
        metadata = acts.RunMetadata()
        assert await run(4.0, run_metadata=metadata) == [8.0]
        assert transfers(metadata) == sent, kinds


async def test_older_spellings_of_a_device_are_taken_and_permission_to_return_early_is_not_needed(
    make_session: Any, chain: Any
) -> None:
    session = make_session(acts.ConfigProto(device_count={"CPU": 2}))
    run = make(
        session,
        feed=["x:0"],
        fetch=["z:0"],
        fetch_skip_sync=True,
        fetch_devices={"z:0": "/job:localhost/replica:0/task:0/cpu:1"},
    )
    np.testing.assert_array_equal(await run([1, 2]), [[3, 5]])


@for_each(
    "devices, said",
    [
        ({"feed_devices": {"x:0": CPU.format(1)}}, f"{CPU.format(1)!r} for tensor 'x:0', which does"),
        (
            {"fetch_devices": {"z:0": "/job:ps/replica:0/task:0/device:CPU:0"}},
            f"does not exist; the devices of the session are {', '.join(LOCAL + name for name in ['CPU:0', *BESIDE])}$",
        ),
        ({"fetch_devices": {"z:0": "/device:CPU:0"}}, "not the full name of a device"),
        ({"feed_devices": {"x:0": "GPU 0"}}, "malformed device name 'GPU 0'"),
        ({"feed_devices": {"a:0": CPU.format(0)}}, "which feed does not list; it lists x:0"),
        ({"fetch_devices": {"y:0": CPU.format(0)}}, "which fetch does not list; it lists z:0"),
        ({"fetch_devices": {"z:0": CPU.format(0), "z": CPU.format(1)}}, "names two devices for tensor 'z'"),
    ],
)
async def test_a_device_that_cannot_be_used_is_refused_where_the_callable_is_made(
    session: Any, chain: Any, devices: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        make(session, feed=["x:0"], fetch=["z:0"], **devices)


@for_each("level", [OptLevel.L0, OptLevel.L1])
@for_each("pruned", [False, True])
async def test_loops_of_single_operations_are_fed_fetched_and_connected_at_any_device(
    make_session: Any, graph: acts.Graph, level: OptLevel, pruned: bool
) -> None:
    options = acts.GraphOptions(place_pruned_graph=pruned, optimizer_options=acts.OptimizerOptions(opt_level=level))
    session = make_session(acts.ConfigProto(device_count={"CPU": 4}, graph_options=options))
    n, _ = (ops.placeholder("int32", [], name=name) for name in "nm")
    with graph.device("/device:CPU:1"):
        (counted,) = raw_while(lambda v, c: v[0] < c[0], lambda v, _: [v[0] + 1], [ops.constant(0)], [n])
    ops.identity(counted, name="counted")
    far = {"fetch": ["counted:0"], "fetch_devices": {"counted:0": CPU.format(3)}}
    for number in (1, 2):
        fed = make(session, feed=["n:0"], feed_devices={"n:0": CPU.format(number)}, **far)
        assert await fed(5) == [5]
        connected = make(
            session,
            feed=["m:0"],
            feed_devices={"m:0": CPU.format(number)},
            tensor_connection=connect(("m:0", "n:0")),
            **far,
        )
        assert await connected(7) == [7]


# -- many at once ----------------------------------------------------------------------------------
