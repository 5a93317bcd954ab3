"""Partial runs: a step fed and fetched in several calls, in both faces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, Tensor, ops
from actorsession.errors import InvalidArgumentError, UnimplementedError
from actorsession.session.conversions import _CONVERSIONS
from tests.session.partial_kit import Stages

# -- what it is ------------------------------------------------------------------------------------


async def test_two_stages_give_what_one_run_gives(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    first = await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2})
    second = await session.partial_run(handle, stages.second, {stages.c: first * 5})
    assert (first, second) == (3, 45)
    assert type(first) is type(second) is np.float32


async def test_a_handle_is_a_string_and_new_each_time(session: Any, stages: Stages) -> None:
    handles = [await stages.setup(session) for _ in range(3)]
    assert all(isinstance(handle, str) for handle in handles)
    assert len(set(handles)) == 3
    assert handles[0].startswith("a:0,b:0,c:0->first:0,second:0/")


async def test_all_forms_of_fetches_and_keys_are_taken(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup({"x": ["first:0"], "y": (stages.second,)}, ["a:0", "b:0", "c:0"])
    given = {"a:0": 1, stages.b: 2}
    assert await session.partial_run(handle, {"x": ["first:0", stages.first]}, given) == {"x": [3, 3]}
    assert await session.partial_run(handle, (stages.second,), {"c:0": 2}) == (6,)


async def test_one_feed_need_not_stand_in_a_list(session: Any, stages: Stages) -> None:
    doubled = stages.a * 2.0
    for feeds in (stages.a, "a:0", (stages.a,)):
        handle = await session.partial_run_setup(doubled, feeds)
        assert await session.partial_run(handle, doubled, {stages.a: 4}) == 8


async def test_values_are_computed_once_per_handle_and_random_ones_agree(session: Any, stages: Stages) -> None:
    drawn = ops.random_uniform([])
    first, second = drawn + stages.a, drawn + stages.b
    seen = set()
    for _ in range(2):
        handle = await session.partial_run_setup([drawn, first, second], [stages.a, stages.b])
        value = await session.partial_run(handle, drawn)
        assert await session.partial_run(handle, first, {stages.a: 0}) == value
        assert await session.partial_run(handle, second, {stages.b: 0}) == value
        seen.add(float(value))
    assert len(seen) == 2


async def test_a_side_effect_happens_once_however_many_calls_there_are(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(0))
    await session.run(v.initializer)
    update = v.assign_add(stages.a)
    later = update * stages.b
    handle = await session.partial_run_setup([update, later], [stages.a, stages.b])
    assert await session.partial_run(handle, update, {stages.a: 5}) == 5
    assert await session.partial_run(handle, later, {stages.b: 3}) == 15
    assert await session.run(v) == 5


async def test_what_needs_no_feed_runs_at_setup(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(1))
    await session.run(v.initializer)
    read = ops.identity(v) * 1.0
    handle = await session.partial_run_setup([read, stages.first], [stages.a, stages.b])
    await session.run(v.assign(7.0))
    assert await session.partial_run(handle, read) == 1


async def test_feeding_alone_and_fetching_alone(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    assert await session.partial_run(handle, [], {stages.a: 1, stages.b: 2}) == []
    assert await session.partial_run(handle, stages.first) == 3
    assert await session.partial_run(handle, {}, {stages.c: 2}) == {}
    assert await session.partial_run(handle, [stages.second]) == [6]


async def test_a_feed_that_nothing_needs_is_fed_like_the_others(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup(stages.first, stages.feeds)
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2}) == 3
    assert session.counts()[0] == 1
    assert await session.partial_run(handle, [], {stages.c: 2}) == []
    assert session.counts() == (0, 0, 0)


async def test_any_tensor_may_be_fed(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup(stages.second, [stages.first, stages.c])
    assert await session.partial_run(handle, stages.second, {stages.first: 10, stages.c: 2}) == 20


async def test_a_fetch_that_is_fed_in_the_same_call_gives_the_value_as_an_array(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    fed, first = await session.partial_run(handle, [stages.a, stages.first], {stages.a: 1, stages.b: 2})
    assert isinstance(fed, np.ndarray)
    assert [float(fed), first] == [1, 3]
    with pytest.raises(InvalidArgumentError, match="fetch a:0 was not specified"):
        await session.partial_run(handle, stages.a)


async def test_an_operation_may_be_named_at_setup_and_runs_when_its_inputs_are_there(
    session: Any, stages: Stages
) -> None:
    v = ops.Variable(np.float32(0))
    await session.run(v.initializer)
    update = v.assign_add(stages.a)
    handle = await session.partial_run_setup([update.op, stages.first], [stages.a, stages.b])
    await session.partial_run(handle, [], {stages.a: 5})
    assert await session.run(v) == 5
    assert await session.partial_run(handle, stages.first, {stages.b: 1}) == 6
    assert await session.run(v) == 5


async def test_operations_alone_make_a_partial_run(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(0))
    await session.run(v.initializer)
    update = v.assign_add(stages.a)
    handle = await session.partial_run_setup([update.op], [stages.a])
    assert await session.partial_run(handle, [], {stages.a: 5}) == []
    assert await session.run(v) == 5
    assert session.counts() == (0, 0, 0)
    handle = await session.partial_run_setup([v.initializer])  # complete before its first call
    assert await session.partial_run(handle, []) == []
    with pytest.raises(InvalidArgumentError, match="No partial run of this session"):
        await session.partial_run(handle, [])


# -- whose memory it is ----------------------------------------------------------------------------


async def test_fetched_arrays_are_the_callers_own(session: Any, graph: Graph) -> None:
    p, q = ops.placeholder("float32", [3]), ops.placeholder("float32", [3])
    v = ops.Variable(np.ones(3, np.float32))
    await session.run(v.initializer)
    made, passed, constant = p * 1.0, ops.identity(p), ops.constant([1.0, 2.0, 3.0])
    read, total = ops.identity(v), made + q
    fetches = [made, passed, constant, read, total, ops.identity(v)]
    for _ in range(2):
        handle = await session.partial_run_setup(fetches, [p, q])
        taken = await session.partial_run(handle, fetches[:4], {p: np.ones(3, np.float32)})
        np.testing.assert_array_equal(taken, [[1, 1, 1], [1, 1, 1], [1, 2, 3], [1, 1, 1]])
        for array in taken:
            array[:] = 99
        rest = await session.partial_run(handle, fetches[4:], {q: np.zeros(3, np.float32)})
        np.testing.assert_array_equal(rest, np.ones([2, 3]))
    np.testing.assert_array_equal(await session.run(v), [1, 1, 1])


async def test_fed_arrays_that_the_caller_changes_between_calls_change_nothing(session: Any, graph: Graph) -> None:
    p, q = ops.placeholder("float32", [3]), ops.placeholder("float32", [3])
    passed, total = ops.identity(p), p + q
    handle = await session.partial_run_setup([passed, total], [p, q])
    fed = np.ones(3, np.float32)
    await session.partial_run(handle, [], {p: fed})
    fed[:] = 99
    np.testing.assert_array_equal(await session.partial_run(handle, passed), [1, 1, 1])
    np.testing.assert_array_equal(await session.partial_run(handle, total, {q: [1, 1, 1]}), [2, 2, 2])


async def test_strings_and_sparse_tensors_are_fed_as_in_a_run(session: Any, graph: Graph) -> None:
    text, scalar = ops.placeholder("string", []), ops.placeholder("float32", [2])
    fetches = [ops.identity(text), ops.reduce_sum(scalar)]
    handle = await session.partial_run_setup(fetches, [text, scalar])
    assert await session.partial_run(handle, fetches, {text: "é", scalar: [1, 2]}) == ["é".encode(), 3]


class Pair:
    """Two tensors under one key."""

    def __init__(self, left: Tensor, right: Tensor) -> None:
        self.parts = [left, right]


async def test_objects_with_a_conversion_stand_for_their_tensors(session: Any, stages: Stages) -> None:
    acts.plugins.register_session_run_conversion_functions(
        Pair,
        lambda pair: (pair.parts, tuple),
        lambda pair, values: list(zip(pair.parts, values, strict=True)),
        lambda pair: pair.parts,
    )
    try:
        fed, fetched = Pair(stages.a, stages.b), Pair(stages.first, stages.second)
        handle = await session.partial_run_setup(fetched, [fed, stages.c])
        assert await session.partial_run(handle, [], {fed: (1, 2)}) == []
        assert await session.partial_run(handle, fetched, {stages.c: 4}) == (3, 12)
    finally:
        del _CONVERSIONS[0]


async def test_tensor_handles_are_fetched_and_fed_as_in_a_run(session: Any, stages: Stages) -> None:
    kept = ops.get_session_handle(stages.first)
    run = await session.partial_run_setup([kept, stages.second], stages.feeds)
    handle = await session.partial_run(run, kept, {stages.a: 1, stages.b: 2})
    assert handle.eval() == 3
    assert await session.partial_run(run, stages.second, {stages.c: handle}) == 9


# -- other kinds of session ------------------------------------------------------------------------


class NoPartialRuns:
    """A session of a kind from outside, which does not know partial runs."""

    partial_runs = None


async def test_a_kind_of_session_without_partial_runs_says_so(session: Any, stages: Stages) -> None:
    session.session._session, local = NoPartialRuns(), session.session._session
    try:
        for call in (session.partial_run_setup(stages.first, stages.feeds), session.partial_run("h", stages.first)):
            with pytest.raises(UnimplementedError, match="makes no partial runs: only sessions in"):
                await call
    finally:
        session.session._session = local


async def test_the_synchronous_face_inside_a_loop_says_which_class_to_use(graph: Graph, stages: Stages) -> None:
    session = Session(graph=graph)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        session.partial_run_setup(stages.first, stages.feeds)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        session.partial_run("h", stages.first)
    session.close()
