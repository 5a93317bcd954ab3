"""Sessions that run loops and conditionals of single operations: values, death, frames, errors, ends."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, GraphOptions, OptimizerOptions, Tensor
from actorsession.config import OptLevel
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from actorsession.ops.flow import dataflow
from tests.loops import cancelled
from tests.nodes import make
from tests.ops.raw_control import raw_cond, raw_while
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

Values = Sequence[Tensor]


@pytest.fixture(params=[1, 2], ids=["one device", "two devices"])
def session(request: pytest.FixtureRequest) -> Iterator[acts.Session]:
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": request.param})) as made:
        yield made


def counted(n: Tensor, parallel_iterations: int = 10) -> Tensor:
    """A loop that counts to ``n``."""
    return raw_while(
        lambda v, c: v[0] < c[0],
        lambda v, _: [v[0] + 1],
        [acts.constant(0)],
        [n],
        parallel_iterations=parallel_iterations,
    )[0]


def endless() -> Tensor:
    return raw_while(lambda v, _: v[0] < 1, lambda v, _: [v[0] * 1], [acts.constant(0)])[0]


# -- ways ------------------------------------------------------------------------------------------
def test_a_merge_gives_the_value_that_lives_and_where_it_came_from(session: acts.Session) -> None:
    value, taken = acts.placeholder("float32", [2]), acts.placeholder("bool", [])
    ways = dataflow.switch(value, taken)
    merged = dataflow.merge([ways.output_false + 1.0, ways.output_true * 2.0])
    for given, expected, index in [(True, [2, 4], 1), (False, [2, 3], 0)]:
        found = session.run(merged, {value: [1, 2], taken: given})
        assert found.output.tolist() == expected
        assert found.value_index == index
        assert found.value_index.dtype == np.int32


def test_a_merge_waits_for_what_it_runs_after(session: acts.Session) -> None:
    variable, taken = acts.Variable(0), acts.placeholder("bool", [])
    ways = dataflow.switch(acts.constant(5), taken)
    doubled, change = ways.output_true * 2, variable.assign_add(1)
    with acts.control_dependencies([change]):
        merged = dataflow.merge([ways.output_false, doubled])
    session.run(variable.initializer)
    assert session.run(merged, {taken: True}) == (10, 1)
    assert session.run(merged, {taken: False}) == (5, 0)
    assert session.run(variable) == 2


def test_the_way_not_taken_does_not_run(session: acts.Session) -> None:
    taken = acts.placeholder("bool", [])
    calls: list[int] = []

    def note(value: int) -> int:
        calls.append(int(value))
        return value

    ways = dataflow.switch(acts.constant(5), taken)
    noted = acts.py_func(note, [ways.output_true], "int32")
    merged = dataflow.merge([ways.output_false, noted]).output
    assert session.run(merged, {taken: False}) == 5
    assert calls == []
    assert session.run(merged, {taken: True}) == 5
    assert calls == [5]


def test_fetching_what_is_dead_is_an_error_and_targeting_it_is_fine(session: acts.Session) -> None:
    taken = acts.placeholder("bool", [])
    dead = dataflow.switch(acts.constant(5), taken).output_true + 1
    with pytest.raises(InvalidArgumentError, match=r"'add:0' has no value.*dead"):
        session.run(dead, {taken: False})
    assert session.run(dead.op, {taken: False}) is None
    assert session.run(dead, {taken: True}) == 6


def test_what_runs_after_a_dead_operation_is_dead_unless_a_trigger_is_between(session: acts.Session) -> None:
    taken = acts.placeholder("bool", [])
    way = acts.identity(dataflow.switch(acts.constant(5), taken).output_true)
    with acts.control_dependencies([way]):
        after = acts.identity(acts.constant(1))
        trigger = dataflow.control_trigger()
    with acts.control_dependencies([trigger]):
        always = acts.constant(2)
    assert session.run([after, always], {taken: True}) == [1, 2]
    assert session.run(always, {taken: False}) == 2
    with pytest.raises(InvalidArgumentError, match="dead"):
        session.run(after, {taken: False})


def test_an_index_out_of_range_takes_the_last_of_several_ways(session: acts.Session) -> None:
    index = acts.placeholder("int32", [])
    ways = dataflow.switch_n(acts.constant(7), index, 3)
    found = dataflow.merge([way + k for k, way in enumerate(ways)]).output
    assert [int(session.run(found, {index: i})) for i in (0, 1, 2, 9, -1)] == [7, 8, 9, 9, 9]


def test_a_predicate_that_turns_out_to_be_no_scalar_is_an_error_at_the_switch(session: acts.Session) -> None:
    taken = acts.placeholder("bool")
    merged = dataflow.merge(dataflow.switch(acts.constant(1), taken)).output
    with pytest.raises(InvalidArgumentError, match=r"scalar, but it has shape \[1\]") as info:
        session.run(merged, {taken: [True]})
    assert info.value.node == "Switch"
    assert "test_raw_control_flow.py:" in str(info.value.source)


# -- loops -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("parallel", [1, 2, 10])
def test_a_loop_counts_whatever_may_be_under_way_at_once(session: acts.Session, parallel: int) -> None:
    n = acts.placeholder("int32", [])
    count = counted(n, parallel_iterations=parallel)
    assert [int(session.run(count, {n: k})) for k in (0, 1, 2, 50)] == [0, 1, 2, 50]


def test_variables_of_a_loop_may_change_their_shape(session: acts.Session) -> None:
    n = acts.placeholder("int32", [])
    start = [acts.constant(0), acts.constant([1.0])]
    _, grown = raw_while(
        lambda v, c: v[0] < c[0], lambda v, _: [v[0] + 1, acts.concat([v[1], v[1] + 1.0], 0)], start, [n]
    )
    assert session.run(grown, {n: 2}).tolist() == [1, 2, 2, 3]


def test_a_loop_on_a_way_not_taken_is_dead_and_ends(session: acts.Session) -> None:
    taken, n = acts.placeholder("bool", []), acts.placeholder("int32", [])
    (found,) = raw_cond(taken, lambda v: [counted(v[0])], lambda v: [v[0] * 10], [n])
    assert session.run(found, {taken: True, n: 4}) == 4
    assert session.run(found, {taken: False, n: 4}) == 40


@pytest.mark.parametrize("level", OptLevel)
def test_what_runs_after_a_loop_on_a_way_not_taken_is_dead(level: OptLevel) -> None:
    taken, n = acts.placeholder("bool", []), acts.placeholder("int32", [])
    count = counted(dataflow.switch(n, taken).output_true)
    with acts.control_dependencies([count]):
        after = acts.identity(acts.constant(1))
    options = GraphOptions(optimizer_options=OptimizerOptions(opt_level=level))
    with acts.Session(config=acts.ConfigProto(graph_options=options)) as session:
        assert session.run(after, {taken: True, n: 4}) == 1
        with pytest.raises(InvalidArgumentError, match="dead"):
            session.run(after, {taken: False, n: 4})


def test_loops_within_loops_begin_anew_each_time(session: acts.Session) -> None:
    n = acts.placeholder("int32", [])
    start = [acts.constant(0), acts.constant(0)]
    _, total = raw_while(lambda v, c: v[0] < c[0], lambda v, _: [v[0] + 1, v[1] + counted(v[0])], start, [n])
    assert session.run(total, {n: 6}) == math.comb(6, 2)


def test_loops_of_one_operation_run_within_them(session: acts.Session) -> None:
    n = acts.placeholder("int32", [])

    def body(values: Values, _: Values) -> list[Tensor]:
        end = values[0]
        inner = acts.while_loop(lambda i, p: i < end, lambda i, p: (i + 1, p * 2), [0, 1])[1]
        return [values[0] + 1, values[1] + inner]

    start = [acts.constant(0), acts.constant(0)]
    _, total = raw_while(lambda v, c: v[0] < c[0], body, start, [n])
    assert session.run(total, {n: 5}) == 2**5 - 1


def test_what_is_fetched_inside_is_the_last_value_that_lived(session: acts.Session) -> None:
    entered = dataflow.enter(acts.constant([1.0, 2.0]), "frame")
    assert session.run(entered).tolist() == [1, 2]


def test_a_step_sees_what_it_fetches_as_the_callers_own(session: acts.Session) -> None:
    value, taken = acts.placeholder("float32", [2]), acts.placeholder("bool", [])
    ways = dataflow.switch(value, taken)
    given = np.ones(2, np.float32)
    found = session.run(ways.output_true, {value: given, taken: True})
    found[0] = 9
    assert given.tolist() == [1, 1]


def test_state_is_changed_in_each_iteration(session: acts.Session) -> None:
    n = acts.placeholder("int32", [])
    variable = acts.Variable(0)
    attrs = variable.assign_add(1).op.inputs  # builds the operation whose attributes are borrowed
    assert attrs
    adding = next(op for op in n.graph.get_operations() if op.type == "AssignAddVariableOp")

    def body(values: Values, given: Values) -> list[Tensor]:
        added = make("AssignAddVariableOp", [given[1], acts.constant(2)], adding.attrs)
        with acts.control_dependencies([added]):
            return [values[0] + 1]

    results = raw_while(lambda v, c: v[0] < c[0], body, [acts.constant(0)], [n, variable.handle], parallel_iterations=1)
    session.run(variable.initializer)
    assert session.run(results, {n: 4}) == [4]
    assert session.run(variable) == 8


@pytest.mark.parametrize("most", [1, 10])
def test_a_loop_within_a_loop_may_be_run_for_its_effects_alone(session: acts.Session, most: int) -> None:
    """Nobody waits for its result, yet an iteration around it ends only when it has ended."""
    n, variable = acts.placeholder("int32", []), acts.Variable(0)
    attrs = {"dtype": variable.dtype}
    effects: list[Tensor] = []

    def body(values: Values, given: Values) -> list[Tensor]:
        def within(inner: Values, handles: Values) -> list[Tensor]:
            added = make("AssignAddVariableOp", [handles[0], acts.constant(1)], attrs)
            with acts.control_dependencies([added]):
                effects.append(acts.identity(inner[0]))
            return [inner[0] + 1]

        raw_while(lambda v, _: v[0] < 2, within, [values[0] * 0], [given[1]])
        return [values[0] + 1]

    results = raw_while(
        lambda v, c: v[0] < c[0], body, [acts.constant(0)], [n, variable.handle], parallel_iterations=most
    )
    session.run(variable.initializer)
    assert session.run([*results, *[t.op for t in effects]], {n: 4}) == [4, None]
    assert session.run(variable) == 8


def test_a_run_that_is_traced_knows_every_iteration(session: acts.Session) -> None:
    n = acts.placeholder("int32", [])
    count = counted(n)
    metadata = acts.RunMetadata()
    options = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE)
    session.run(count, {n: 3}, options=options, run_metadata=metadata)
    assert metadata.step_stats is not None
    names = [stats.node for stats in metadata.step_stats.nodes]
    assert names.count("raw_while/Less") == 4
    assert names.count("raw_while/add") == 3


def test_a_partial_run_waits_for_what_a_loop_needs(session: acts.Session) -> None:
    n, later = acts.placeholder("int32", []), acts.placeholder("int32", [])
    count = counted(n)
    total = count + later
    handle = session.partial_run_setup([count, total], [n, later])
    assert session.partial_run(handle, count, {n: 3}) == 3
    assert session.partial_run(handle, total, {later: 4}) == 7


def test_a_loop_may_be_closed_after_the_session_has_run_something_else(session: acts.Session) -> None:
    entered = dataflow.enter(acts.constant(1), "frame")
    merged = dataflow.merge([entered, entered]).output
    assert session.run(acts.constant(5)) == 5
    end = dataflow.enter(acts.constant(9), "frame", is_constant=True)
    ways = dataflow.switch(merged, dataflow.loop_cond(merged < end))
    doubled = ways.output_true + ways.output_true
    assert session.run(acts.constant(6)) == 6
    dataflow.close_loop(merged, dataflow.next_iteration(doubled))
    assert session.run(dataflow.exit_(ways.output_false)) == 16


# -- what is no program ----------------------------------------------------------------------------
def test_inputs_from_different_frames_are_refused(session: acts.Session) -> None:
    value = acts.placeholder("float32", [])
    mixed = dataflow.enter(value, "inner") + value
    with pytest.raises(InvalidArgumentError, match=r"'add' has inputs from different frames"):
        session.run(mixed, {value: 1.0})


def test_leaving_a_loop_that_was_never_entered_is_refused(session: acts.Session) -> None:
    with pytest.raises(InvalidArgumentError, match="not inside a loop"):
        session.run(dataflow.exit_(acts.constant(1)))


# -- ends ------------------------------------------------------------------------------------------
def test_an_error_in_an_iteration_names_node_and_line(session: acts.Session) -> None:
    start = [acts.constant(3), acts.constant(0)]
    results = raw_while(lambda v, _: v[0] > -3, lambda v, _: [v[0] - 1, 6 // v[0]], start)
    with pytest.raises(InvalidArgumentError) as info:
        session.run(results)
    assert info.value.node == "raw_while/floordiv"
    assert "test_raw_control_flow.py:" in str(info.value.source)


def test_an_endless_loop_ends_at_its_deadline(session: acts.Session) -> None:
    loop = endless()
    with pytest.raises(DeadlineExceededError):
        session.run(loop, options=acts.RunOptions(timeout_in_ms=50))
    assert session.run(acts.constant(1)) == 1


async def test_an_endless_loop_leaves_the_event_loop_to_others_and_can_be_cancelled(graph: Graph) -> None:
    loop, one = endless(), acts.constant(1)
    async with acts.AsyncSession(graph=graph) as session:
        task = asyncio.create_task(session.run(loop))
        for _ in range(20):
            await asyncio.sleep(0)
            assert await session.run(one) == 1
        await cancelled(task)
        assert await session.run(one) == 1


async def test_an_endless_loop_that_is_compiled_within_others_leaves_the_event_loop_too(graph: Graph) -> None:
    """It stands on a way that nobody merges, so the engine runs what is around it."""
    start = dataflow.switch(acts.constant(0), acts.placeholder("bool", [], name="p")).output_true
    (loop,) = raw_while(lambda v, _: v[0] < 1, lambda v, _: [v[0] * 1], [start])
    one = acts.constant(1)
    async with acts.AsyncSession(graph=graph) as session:
        task = asyncio.create_task(session.run(loop, {"p:0": True}))
        for _ in range(20):
            await asyncio.sleep(0)
            assert await session.run(one) == 1
        await cancelled(task)


async def test_an_operation_that_waits_in_a_loop_lets_others_go_on(graph: Graph) -> None:
    queue = acts.FIFOQueue(10, "int32", [[]])
    put = queue.enqueue_many([[5, 6, 7]])
    attrs = queue.dequeue().op.attrs

    def body(values: Values, given: Values) -> list[Tensor]:
        taken = make("QueueDequeueV2", [given[0]], attrs).outputs[0]
        return [values[0] + 1, values[1] + taken]

    start = [acts.constant(0), acts.constant(0)]
    results = raw_while(lambda v, _: v[0] < 3, body, start, [queue.queue_ref])
    async with acts.AsyncSession(graph=graph) as session:
        task = asyncio.create_task(session.run(results))
        await asyncio.sleep(0)
        assert not task.done()
        await session.run(put)
        assert await task == [3, 18]


@for_each("most", [1, 3])
async def test_no_more_iterations_are_under_way_than_were_asked_for(graph: Graph, most: int) -> None:
    """Each notes that it began and waits; what counts the iterations waits for nothing."""
    begun, gate = acts.FIFOQueue(10, "int32", [[]]), acts.FIFOQueue(10, "int32", [[]])
    put, size, attrs = gate.enqueue(1), begun.size(), gate.dequeue().op.attrs

    def body(values: Values, given: Values) -> list[Tensor]:
        with acts.control_dependencies([make("QueueEnqueueV2", [given[0], values[0]], attrs)]):
            taken = make("QueueDequeueV2", [given[1]], attrs).outputs[0]
        return [values[0] + 1, values[1] + taken]

    start = [acts.constant(0), acts.constant(0)]
    queues = [begun.queue_ref, gate.queue_ref]
    results = raw_while(lambda v, _: v[0] < 6, body, start, queues, parallel_iterations=most)
    async with acts.AsyncSession(graph=graph) as session:
        task = asyncio.create_task(session.run(results))
        for ended in range(6):
            found, wanted = 0, min(most + ended, 6)
            while found < wanted:
                _, found = await asyncio.gather(asyncio.sleep(0), session.run(size))
            assert found == wanted
            await session.run(put)
        assert await task == [6, 6]


async def test_functions_of_the_user_run_in_other_threads(graph: Graph) -> None:
    start = [acts.constant(0), acts.constant(0)]
    results = raw_while(
        lambda v, _: v[0] < 5,
        lambda v, _: [v[0] + 1, acts.reshape(acts.py_func(lambda x: x * x, [v[0]], "int32"), [])],
        start,
    )
    async with acts.AsyncSession(graph=graph) as session:
        assert await session.run(results) == [5, 16]


async def test_what_hangs_in_a_loop_is_named(graph: Graph) -> None:
    queue = acts.FIFOQueue(10, "int32", [[]])
    attrs = queue.dequeue().op.attrs
    going, begun = threading.Event(), threading.Event()

    def wait(value: int) -> int:
        begun.set()
        going.wait(20)
        return value

    start = [acts.constant(0), acts.constant(0)]
    taking = raw_while(
        lambda v, _: v[0] < 1,
        lambda v, c: [v[0] + 1, v[1] + make("QueueDequeueV2", [c[0]], attrs).outputs[0]],
        start,
        [queue.queue_ref],
        name="taking",
    )
    calling = raw_while(
        lambda v, _: v[0] < 1,
        lambda v, _: [v[0] + 1, acts.reshape(acts.py_func(wait, [v[0]], "int32"), [])],
        start,
        name="calling",
    )
    put = queue.enqueue([5])
    async with acts.AsyncSession(graph=graph) as session:
        tasks = [asyncio.create_task(session.run(r)) for r in (taking, calling)]
        said = ""
        async with asyncio.timeout(60):
            while not begun.is_set() or "'taking/QueueDequeueV2'" not in said:
                await asyncio.sleep(0.001)
                said = str(await session.why())
        going.set()
        await session.run(put)
        assert await asyncio.gather(*tasks) == [[1, 5], [1, 0]]
    assert "'taking/QueueDequeueV2'" in said
    assert "'calling/PyFunc' (PyFunc)" in said
    assert "for a thread" not in said
