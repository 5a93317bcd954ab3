"""Steps that break at the first node that makes a NaN or an infinity."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, nn, ops
from actorsession.config import DebugOptions
from actorsession.errors import InvalidArgumentError
from tests.session.debugger_kit import BREAK, seen, watch

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}".format
MakeSession = Callable[..., Any]


async def test_the_step_breaks_at_the_first_node_that_makes_one(session: Any, log_of: Any) -> None:
    x, z = log_of
    after = ops.exp(z, name="after")
    with pytest.raises(InvalidArgumentError) as raised:
        await session.run(after, {x: [1.0, -1.0, -5.0]}, BREAK)
    error = raised.value
    assert (error.node, error.device) == ("z", CPU(0))
    assert "conftest.py:" in (error.source or "")  # where log_of builds it
    assert "'z' (Log) made a NaN or Inf: z:0 (float32[3]) has 1 NaN and 1 Inf of 3" in str(error)
    assert "inputs: y:0 (float32[3]) min -4.0, max 2.0" in str(error)
    assert session.session.debug_reports()[0].error == str(error)


async def test_a_healthy_step_is_not_broken(session: Any, log_of: Any) -> None:
    x, z = log_of
    assert (await session.run(z, {x: [0.0]}, BREAK)).tolist() == [0.0]


async def test_the_value_that_breaks_the_step_was_dumped(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="made a NaN or Inf"):
        await session.run(z, {x: [-1.0]}, watch("y", "z", break_on="nan_or_inf"))
    assert seen(session) == {"y:0:DebugIdentity": [0.0], "z:0:DebugIdentity": [-np.inf]}


async def test_what_only_passes_on_is_not_blamed(session: Any, log_of: Any) -> None:
    """With the logarithm excused, what reads its infinity is not at fault; a new NaN is."""
    x, z = log_of
    passed = ops.identity(z, name="passed")
    made = ops.subtract(passed, z, name="made")  # inf - inf
    excused = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf", break_exclude=["z", "q*"]))
    assert (await session.run(passed, {x: [-1.0]}, excused)).tolist() == [-np.inf]
    with pytest.raises(InvalidArgumentError, match=r"'made' \(Sub\) made a NaN"):
        await session.run(made, {x: [-1.0]}, excused)


async def test_a_nan_that_was_fed_on_purpose_passes_through(session: Any, log_of: Any) -> None:
    x, z = log_of
    excused = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf", break_exclude=["x"]))
    assert np.isnan(await session.run(z, {x: [np.nan]}, excused)).all()


async def test_a_nan_that_was_fed_is_told_as_such(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="a NaN or Inf was fed: x:0") as raised:
        await session.run(z, {x: [np.nan]}, BREAK)
    assert raised.value.node == "x"


async def test_an_infinite_constant_is_what_the_program_says(session: Any, graph: Graph) -> None:
    mask = ops.constant([-np.inf, 0.0])
    x = ops.placeholder("float32", [2], name="x")
    y = nn.softmax(x + mask)
    assert (await session.run(y, {x: [1.0, 1.0]}, BREAK)).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
async def test_every_type_that_has_nans_breaks(session: Any, graph: Graph, dtype: str) -> None:
    x = ops.placeholder("float64", [2], name="x")
    y = ops.cast(x, dtype, name="y")
    z = ops.multiply(y, y * ops.cast(0.5, dtype), name="z")
    with pytest.raises(InvalidArgumentError, match=f"'y' .* y:0 .{dtype}.*1 Inf of 2|'z' .*Inf"):
        await session.run(z, {x: [1.0, 1e308]}, BREAK)


async def test_a_break_on_another_device_names_it_and_the_tensor_that_came_there(
    make_session: MakeSession, graph: Graph
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    x = ops.placeholder("float32", [1], name="x")
    with graph.device("/cpu:0"):
        y = ops.add(x, 1.0, name="y")
    with graph.device("/cpu:1"):
        z = ops.log(y, name="z")
    with graph.device("/cpu:0"):
        w = ops.exp(z, name="w")
    with pytest.raises(InvalidArgumentError, match=r"inputs: y:0 \(float32\[1\]\) min 0.0") as e:
        await session.run(w, {x: [-1.0]}, BREAK)
    assert (e.value.node, e.value.device) == ("z", CPU(1))


async def test_inside_a_loop_the_node_of_the_body_is_named(session: Any, graph: Graph) -> None:
    """The logarithm of the logarithm of 1: the second iteration makes the infinity."""
    x = ops.placeholder("float32", [], name="x")
    _, last = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.log(v, name="log")), [ops.constant(0), x])
    with pytest.raises(InvalidArgumentError, match=r"'while/log' \(Log\) made.* min 0.0") as raised:
        await session.run(last + 1.0, {x: 1.0}, BREAK)
    assert raised.value.node == "while/log"
    assert "test_debugger_breaks.py" in str(raised.value)
    assert await session.run(last, {x: 1.0}) != 0  # without the break it runs to its end


async def test_a_watch_inside_a_loop_is_refused_with_what_can_be_watched(session: Any, graph: Graph) -> None:
    y = ops.while_loop(lambda v: v < 9.0, lambda v: ops.add(v, 1.0, name="add"), [ops.constant(0.0)])
    with pytest.raises(InvalidArgumentError, match=r"'while/add' is inside 'while' \(While\).*itself"):
        await session.run(y, None, watch("while/add"))
    await session.run(y, None, watch("while"))
    assert seen(session) == {"while:0:DebugIdentity": 9.0}


async def test_inside_branches_and_nested_loops_the_innermost_node_is_named(session: Any, graph: Graph) -> None:
    x = ops.placeholder("float32", [2], name="x")

    def body(i: Any, v: Any) -> Any:
        deep = ops.cond(i > 1, lambda: ops.sqrt(v - 5.0, name="root"), lambda: ops.identity(v) + 1.0, name="if")
        return i + 1, deep

    _, last = ops.while_loop(lambda i, v: i < 4, body, [ops.constant(0), x], name="outer")
    with pytest.raises(InvalidArgumentError, match=r"\(Sqrt\) made.*inputs: .*sub:0") as raised:
        await session.run(last, {x: [1.0, 9.0]}, BREAK)
    assert raised.value.node == "outer/if/root"
    excused = DebugOptions(break_on="nan_or_inf", break_exclude=["*/root"])
    found = await session.run(last * 1.0, {x: [1.0, 9.0]}, RunOptions(debug_options=excused))
    assert np.isnan(found[0])
    assert (await session.run(last, {x: [100.0, 100.0]}, BREAK) > 0).all()


async def test_checks_inside_a_loop_change_no_value(session: Any, graph: Graph) -> None:
    """A variable that nothing reads is dropped from the loop as without checks."""
    x = ops.placeholder("float32", [3], name="x")
    start = [ops.constant(0), x, x]
    i, v, _ = ops.while_loop(lambda i, v, unread: i < 5, lambda i, v, unread: (i + 1, v * 1.5 + x, unread / 0.0), start)
    fed = {x: [1.0, 2.0, 3.0]}
    plain = await session.run([i, v], fed)
    checked = await session.run([i, v], fed, BREAK)
    assert checked[0] == plain[0] == 5
    np.testing.assert_array_equal(checked[1], plain[1])


async def test_what_was_assigned_before_the_break_stays_and_nothing_after_it_runs(
    session: Any, log_of: Any, graph: Graph
) -> None:
    x, _ = log_of
    before = ops.Variable(np.float32(0), name="before")
    after = ops.Variable(np.float32(0), name="after")
    first = before.assign_add(1.0)
    with graph.control_dependencies([first]):
        middle = ops.log(x, name="middle")
    with graph.control_dependencies([middle]):
        last = after.assign_add(1.0)
    await session.run([before.initializer, after.initializer])
    with pytest.raises(InvalidArgumentError, match="'middle'"):
        await session.run([last, middle], {x: [-1.0]}, BREAK)
    assert await session.run([before, after]) == [1.0, 0.0]


async def test_a_variable_that_went_wrong_earlier_is_found_where_it_is_read(session: Any, graph: Graph) -> None:
    v = ops.Variable(np.float32(0), name="v")
    await session.run(v.initializer)
    await session.run(v.assign(np.float32(np.nan)))
    read = v.value()
    with pytest.raises(InvalidArgumentError, match=r"inputs: v:0 \(resource\)"):
        await session.run(read + 1.0, None, BREAK)


async def test_many_runs_at_once_break_each_by_itself(make_session: MakeSession, graph: Graph) -> None:
    session = make_session(ConfigProto(inter_op_parallelism_threads=2))
    x = ops.placeholder("float32", [None], name="x")
    z = ops.log(x, name="z")

    async def one(i: int) -> str:
        try:
            await session.run(z, {x: np.full(1000, i % 2, np.float32)}, BREAK)
        except InvalidArgumentError as error:
            return error.node or ""
        return "fine"

    found = await asyncio.gather(*[one(i) for i in range(20)])
    assert found == ["z", "fine"] * 10


async def test_on_an_event_loop_values_are_taken_in_the_kernel_pool(graph: Graph) -> None:
    threads: list[str] = []
    acts.debugging.register_debug_sink("threads", lambda dump: threads.append(threading.current_thread().name))
    try:
        async with AsyncSession(graph=graph) as session:
            y = ops.identity(ops.constant(1.0), name="y")
            await session.run(y, None, watch("y", debug_urls=["sink://threads"]))
    finally:
        acts.debugging.unregister_debug_sink("threads")
    assert threads[0].startswith("actorsession-kernel")
