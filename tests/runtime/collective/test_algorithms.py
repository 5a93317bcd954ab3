"""Exchanges give what numpy gives, for each size of group, way of exchange, dtype and order of arrival."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.graph.collective_call import ALL_TO_ALL, BROADCAST, GATHER, REDUCE, REDUCE_SCATTER, CollectiveCall
from actorsession.runtime.collective import algorithms
from actorsession.runtime.collective.algorithms import exchange_for
from actorsession.runtime.collective.buffers import BufferPool
from actorsession.runtime.collective.executor import CollectiveExecutor
from actorsession.runtime.collective.groups import Group, GroupTable, Member
from actorsession.runtime.rendezvous import Rendezvous
from tests.rows import for_each
from tests.runtime.collective.kit import collective, device, exchange

MERGES: dict[str, Any] = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}
# The way of exchange is the same for all examples of a test.
same_way = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.int64]


@pytest.fixture(params=["direct", "ring"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every value is small, or every value is large and has several chunks."""
    way: str = request.param
    limits = {"DIRECT_BYTES": 2**40 if way == "direct" else -1, "CHUNK_BYTES": 16}
    for name, value in limits.items():
        monkeypatch.setattr(algorithms, name, value)
    return way


def results(kind: str, values: list[Any], order: Any = (), **more: Any) -> list[Any]:
    calls = [CollectiveCall(collective(kind, len(values), **more), np.asarray(v)) for v in values]
    return [call.wait(pytest.fail) for call in exchange(calls, order)]


@st.composite
def shapes_and_orders(draw: st.DrawFn) -> tuple[int, tuple[int, ...], list[int]]:
    size = draw(st.integers(1, 5))
    shape = tuple(draw(st.lists(st.integers(0, 6), max_size=3)))
    return size, shape, draw(st.permutations(range(size)))


def numbers(size: int, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.integers(-4, 5, shape).astype(dtype) for _ in range(size)]


@same_way
@given(shapes_and_orders(), st.sampled_from(sorted(MERGES)), st.sampled_from(DTYPES))
def test_all_reduce(way: str, drawn: Any, merge: str, dtype: Any) -> None:
    size, shape, order = drawn
    values = numbers(size, shape, dtype)
    wanted = values[0]
    for value in values[1:]:
        wanted = MERGES[merge](wanted, value)
    for found in results(REDUCE, values, order, merge=merge, final="Id"):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_instances_of_two_groups_may_have_one_key(way: str) -> None:
    """The two members begin their exchanges in different orders."""
    rendezvous, members = Rendezvous(), tuple(Member(device(n).name, device(n).incarnation) for n in range(2))
    calls: dict[tuple[int, int], CollectiveCall] = {}
    for group, rank in ((1, 0), (2, 1), (2, 0), (1, 1)):
        made = collective(REDUCE, 2, group=group, merge="Add", final="Id")
        call = calls[group, rank] = CollectiveCall(made, np.array([group * 10.0 + rank]))
        exchange_for(call, Group(group, members), members[rank].device, rendezvous, 0, BufferPool()).begin()
    assert {key: call.wait(pytest.fail).tolist() for key, call in calls.items()} == {
        (1, 0): [21.0],
        (1, 1): [21.0],
        (2, 0): [41.0],
        (2, 1): [41.0],
    }


@same_way
@given(shapes_and_orders(), st.sampled_from(DTYPES))
def test_a_mean_is_divided_in_the_dtype_and_rounded_to_zero(way: str, drawn: Any, dtype: Any) -> None:
    size, shape, order = drawn
    values = numbers(size, shape, dtype)
    total = np.sum(values, axis=0).astype(np.float64) / size
    whole = np.dtype(dtype).kind == "i"
    for found in results(REDUCE, values, order, merge="Add", final="Div"):
        assert found.dtype == dtype
        np.testing.assert_allclose(found.astype(float), np.trunc(total) if whole else total, rtol=0.02)


@same_way
@given(shapes_and_orders())
def test_all_gather_joins_along_the_first_axis_by_rank(way: str, drawn: Any) -> None:
    size, shape, order = drawn
    values = numbers(size, (2, *shape), np.float32)
    for found in results(GATHER, values, order):
        np.testing.assert_array_equal(found, np.concatenate(values))


@same_way
@given(shapes_and_orders())
def test_reduce_scatter_gives_each_its_part_of_the_sum(way: str, drawn: Any) -> None:
    size, shape, order = drawn
    values = numbers(size, (3 * size, *shape), np.float32)
    wanted = np.split(np.sum(values, axis=0), size)
    found = results(REDUCE_SCATTER, values, order, merge="Add", final="Id")
    for got, part in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, part)


@same_way
@given(shapes_and_orders())
def test_all_to_all_transposes_parts_and_members(way: str, drawn: Any) -> None:
    size, shape, order = drawn
    values = numbers(size, (2 * size, *shape), np.int32)
    parts = [np.split(value, size) for value in values]
    for rank, found in enumerate(results(ALL_TO_ALL, values, order)):
        np.testing.assert_array_equal(found, np.concatenate([p[rank] for p in parts]))


@same_way
@given(shapes_and_orders(), st.integers(0, 4))
def test_a_broadcast_gives_all_the_value_of_the_one_that_sends(way: str, drawn: Any, source: int) -> None:
    size, shape, order = drawn
    value = numbers(1, shape, np.float32)[0]
    same = collective(BROADCAST, size)
    calls = [
        CollectiveCall(same, value if rank == source % size else None, shape=shape, dtype="float32")
        for rank in range(size)
    ]
    for call in exchange(calls, order):
        np.testing.assert_array_equal(call.wait(pytest.fail), value)


def test_every_member_gets_the_same_bits(way: str) -> None:
    values = [np.float32(np.random.default_rng(k).normal(size=100) * 10.0**k) for k in range(4)]
    first, *others = results(REDUCE, values, merge="Add", final="Div")
    for other in others:
        assert other.tobytes() == first.tobytes()


def test_nothing_that_was_given_is_written_to(way: str) -> None:
    values = numbers(3, (40,), np.float32)
    before = [value.copy() for value in values]
    for value in values:
        value.flags.writeable = False
    results(REDUCE, values, merge="Add", final="Div")
    np.testing.assert_array_equal(values, before)


# -- repeated, at once ---------------------------------------------------------------------------
def test_executions_of_an_instance_meet_in_their_order(way: str) -> None:
    """As in a loop: one member may be an iteration ahead of the other."""
    executor = CollectiveExecutor(Rendezvous(), GroupTable(), None)
    same = collective(REDUCE, 2, merge="Add", final="Id")

    def begin(rank: int, value: float) -> CollectiveCall:
        call = CollectiveCall(same, np.full(9, value))
        executor.begin(call, device(rank))
        return call

    ahead = begin(0, 1.0)
    behind = begin(1, 10.0)
    assert ahead.wait(pytest.fail)[0] == behind.wait(pytest.fail)[0] == 11.0
    ahead, behind = begin(0, 2.0), begin(1, 20.0)
    assert ahead.wait(pytest.fail)[0] == behind.wait(pytest.fail)[0] == 22.0


def test_instances_do_not_meet(way: str) -> None:
    executor = CollectiveExecutor(Rendezvous(), GroupTable(), None)
    calls = [
        CollectiveCall(collective(REDUCE, 2, merge="Add", final="Id", instance=instance), np.full(9, 10.0**instance))
        for instance in (1, 2, 2, 1)
    ]
    for rank, call in zip((0, 0, 1, 1), calls, strict=True):
        executor.begin(call, device(rank))
    assert [call.wait(pytest.fail)[0] for call in calls] == [20.0, 200.0, 200.0, 20.0]


# -- what does not fit ---------------------------------------------------------------------------
@for_each(
    "other, said",
    [
        (CollectiveCall(collective(REDUCE, 2, merge="Add", final="Id"), np.zeros(6)), r"float64 \[6\]"),
        (CollectiveCall(collective(REDUCE, 2, merge="Add", final="Id"), np.zeros((2, 2))), r"float64 \[2, 2\]"),
        (CollectiveCall(collective(REDUCE, 2, merge="Add", final="Id"), np.zeros(4, np.int32)), r"int32 \[4\]"),
        (
            CollectiveCall(collective(REDUCE, 2, merge="Max", final="Id"), np.zeros(4)),
            "a reduce of 2 members by Max with",
        ),
        (CollectiveCall(collective(GATHER, 2), np.zeros(4)), "a gather of 2 members with"),
    ],
    ids=["size", "shape", "dtype", "merge", "kind"],
)
def test_members_that_do_not_agree_fail_and_name_each_other(way: str, other: CollectiveCall, said: str) -> None:
    mine = CollectiveCall(collective(REDUCE, 2, merge="Add", final="Id"), np.zeros(4))
    theirs = CollectiveCall(other.collective, other.value)
    for call in exchange([mine, theirs]):
        with pytest.raises(InvalidArgumentError, match=said) as caught:
            call.wait(pytest.fail)
        for rank in range(2):
            assert device(rank).name in str(caught.value)
        assert "instance 1 of group 1" in str(caught.value)


def test_two_calls_of_one_device_are_refused(way: str) -> None:
    executor = CollectiveExecutor(Rendezvous(), GroupTable(), None)
    same = collective(REDUCE, 2, merge="Add", final="Id")
    first, second = (CollectiveCall(same, np.zeros(9)) for _ in range(2))
    executor.begin(first, device(0))
    executor.begin(second, device(0))
    with pytest.raises(InvalidArgumentError, match=r"two nodes on .*CPU:0 take part in instance 1"):
        second.wait(pytest.fail)
    assert not first.done


def test_the_end_of_the_rendezvous_ends_the_calls(way: str) -> None:
    rendezvous, table = Rendezvous(), GroupTable()
    executor = CollectiveExecutor(rendezvous, table, None)
    same = collective(REDUCE, 3, merge="Add", final="Id")
    exchange([CollectiveCall(same, np.zeros(9)) for _ in range(3)], tables=table)
    call = CollectiveCall(same, np.zeros(9))
    executor.begin(call, device(0))
    found = executor.awaited_by(call)
    assert found
    assert set(found) <= {device(1).name, device(2).name}
    rendezvous.abort(CancelledError("the step is over"))
    with pytest.raises(CancelledError, match="the step is over"):
        call.wait(pytest.fail)


def test_a_call_that_is_cancelled_leaves_nothing_behind(way: str) -> None:
    rendezvous, table = Rendezvous(), GroupTable()
    executor = CollectiveExecutor(rendezvous, table, None)
    same = collective(REDUCE, 2, merge="Add", final="Id")
    call = CollectiveCall(same, np.zeros(9))
    executor.begin(call, device(0))
    assert executor.waits() == [(device(0).name, same, ())]
    call.abandon()
    assert executor.waits() == []
    exchange([CollectiveCall(same, np.zeros(9)) for _ in range(2)], tables=table)
    call = CollectiveCall(same, np.zeros(9))
    executor.begin(call, device(0))
    assert rendezvous.waiting_keys()
    call.abandon()
    assert not rendezvous.waiting_keys()
