"""Callables from options: runs described by names, with connected tensors and devices of their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import ConfigProto, Graph, GraphOptions, OptimizerOptions, RunMetadata, RunOptions, TraceLevel, ops
from actorsession.config import CallableOptions, DebugOptions, DebugTensorWatch, OptLevel, TensorConnection
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, NotFoundError
from tests.ops.raw_control import raw_while
from tests.rows import for_each
from tests.session.session_adapters import Made

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}"


def connect(*pairs: tuple[str, str]) -> list[TensorConnection]:
    return [TensorConnection(from_tensor=source, to_tensor=to) for source, to in pairs]


def make(session: Any, **options: Any) -> Any:
    """A callable of either face; its result is awaited."""
    made = session.session.make_callable_from_options(CallableOptions(**options))
    return Made(made, threaded=session.name == "Session")


@pytest.fixture
def chain(graph: Graph) -> Any:
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


async def test_targets_run_without_a_value(session: Any, graph: Graph) -> None:
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
    options = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)
    run = make(session, feed=["x:0"], fetch=["z:0"], run_options=options)
    metadata = RunMetadata()
    np.testing.assert_array_equal((await run([1, 2], run_metadata=metadata))[0], [3, 5])
    assert metadata.step_stats is not None
    assert len(metadata.partition_graphs) == 1
    with pytest.raises(TypeError, match="takes no others: set their run_options"):
        await run([1, 2], options=RunOptions())
    plain = make(session, feed=["x:0"], fetch=["z:0"])
    await plain([1, 2], run_metadata=metadata)
    assert metadata.step_stats is None


async def test_the_limit_of_the_run_options_ends_a_call(session: Any, graph: Graph) -> None:
    queue = ops.FIFOQueue(1, "float32", [[]])
    element = queue.dequeue()
    run = make(session, fetch=[element.name], run_options=RunOptions(timeout_in_ms=50))
    with pytest.raises(DeadlineExceededError):
        await run()


async def test_the_pool_of_the_run_options_is_checked(session: Any, chain: Any) -> None:
    run = make(session, fetch=["a:0"], run_options=RunOptions(inter_op_thread_pool=7))
    with pytest.raises(InvalidArgumentError, match="7"):
        await run()


async def test_watched_tensors_are_dumped_in_each_call(session: Any, chain: Any) -> None:
    watch = DebugTensorWatch(node_name="y", output_slot=0, debug_urls=["memory://"])
    options = RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=[watch]))
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


async def test_one_tensor_is_used_in_the_place_of_several(session: Any, graph: Graph) -> None:
    p, q = (ops.placeholder("float32", [], name=name) for name in "pq")
    ops.subtract(p * 10.0, q, name="d")
    ops.constant(3.0, name="three")
    connected = connect(("three:0", "p:0"), ("three:0", "q:0"))
    assert await make(session, fetch=["d:0"], tensor_connection=connected)() == [27.0]


async def test_a_value_that_is_fed_passes_on_through_connections_in_any_order(session: Any, graph: Graph) -> None:
    """TensorFlow lets the order of the connections decide; see docs/semantics.md."""
    p, q, r = (ops.placeholder("float32", [], name=name) for name in "pqr")
    ops.add(p * 100.0 + q * 10.0, r, name="sum")
    pairs = [("p:0", "q:0"), ("q:0", "r:0")]
    for ordered in (pairs, pairs[::-1]):
        run = make(session, feed=["p:0"], fetch=["sum:0"], tensor_connection=connect(*ordered))
        assert await run(2.0) == [222.0]


async def test_what_runs_after_a_connected_placeholder_runs_after_what_took_its_place(
    session: Any, graph: Graph
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


async def test_connections_that_only_together_are_a_cycle_are_refused(session: Any, graph: Graph) -> None:
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


def transfers(metadata: RunMetadata) -> list[tuple[str, str]]:
    """The pairs of devices between which the step sent something, by number."""
    keys = [
        node.attrs["key"].split(";")
        for graph in metadata.partition_graphs
        for node in graph.nodes
        if node.op == "_Send"
    ]
    return sorted((key[0][-1], key[2][-1]) for key in keys)


async def test_feeds_enter_and_fetches_leave_at_the_devices_named_for_them(make_session: Any, graph: Graph) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 4}))
    x = ops.placeholder("float32", [], name="x")
    with graph.device("/device:CPU:1"):
        ops.multiply(x, 2.0, name="y")
    traced = RunOptions(output_partition_graphs=True)
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
        metadata = RunMetadata()
        assert await run(4.0, run_metadata=metadata) == [8.0]
        assert transfers(metadata) == sent, kinds


async def test_older_spellings_of_a_device_are_taken_and_permission_to_return_early_is_not_needed(
    make_session: Any, chain: Any
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
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
            f"does not exist; the devices of the session are {CPU.format(0)}$",
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
    make_session: Any, graph: Graph, level: OptLevel, pruned: bool
) -> None:
    options = GraphOptions(place_pruned_graph=pruned, optimizer_options=OptimizerOptions(opt_level=level))
    session = make_session(ConfigProto(device_count={"CPU": 4}, graph_options=options))
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
