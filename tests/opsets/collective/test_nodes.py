"""Collective op types in sessions: values, static shapes, attributes that act, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from actorsession.ops import raw
from tests.cluster.kit import soon
from tests.ops.queues.kit import held
from tests.rows import for_each, refused

DEVICES = acts.ConfigProto(device_count={"CPU": 3})
V1: dict[str, Any] = {"group_size": 3, "group_key": 1, "instance_key": 1}
SUM: dict[str, Any] = {"merge_op": "Add", "final_op": "Id"}


def on_each(build: Callable[[int], Any], size: int = 3) -> list[Any]:
    """What is built on each device."""
    made = []
    for i in range(size):
        with acts.device(f"/cpu:{i}"):
            made.append(build(i))
    return made


def run(fetches: Any, feeds: Any = None, **options: Any) -> Any:
    with acts.Session(config=DEVICES) as session:
        return session.run(fetches, feeds, **options)


def keys(instance: int = 1, size: int = 3) -> tuple[int, int, int]:
    return size, 1, instance


def fed(i: int) -> Any:
    """A value that nothing is folded of."""
    return acts.placeholder_with_default(np.array([[i, 10.0], [1.0, i]], np.float32), [2, 2])


VALUES = [np.array([[i, 10.0], [1.0, i]], np.float32) for i in range(3)]


@pytest.mark.parametrize("version", [1, 2])
def test_reduce(version: int) -> None:
    def build(i: int) -> Any:
        if version == 1:
            return raw.CollectiveReduce(fed(i), **V1, **SUM, subdiv_offsets=[0])
        return raw.CollectiveReduceV2(fed(i), *keys(), [], **SUM)

    nodes = on_each(build)
    assert nodes[0].shape.as_list() == [2, 2]
    for value in run(nodes):
        np.testing.assert_array_equal(value, sum(VALUES))


@pytest.mark.parametrize("version", [1, 2])
def test_gather(version: int) -> None:
    def build(i: int) -> Any:
        if version == 1:
            return raw.CollectiveGather(fed(i), **V1, shape=[6, 2])
        return raw.CollectiveGatherV2(fed(i), *keys(), [])

    nodes = on_each(build)
    assert nodes[0].shape.as_list() == [6, 2]
    for value in run(nodes):
        np.testing.assert_array_equal(value, np.concatenate(VALUES))


@for_each("version", [1, 2])
@for_each("source", range(3))
def test_broadcast(version: int, source: int) -> None:
    def build(i: int) -> Any:
        if version == 1:
            if i == source:
                return raw.CollectiveBcastSend(fed(i), **V1, shape=[2, 2])
            return raw.CollectiveBcastRecv(T="float32", **V1, shape=[2, 2])
        if i == source:
            return raw.CollectiveBcastSendV2(fed(i), *keys())
        return raw.CollectiveBcastRecvV2(*keys(), [2, 2], T="float32")

    nodes = on_each(build)
    assert all(node.shape.as_list() == [2, 2] for node in nodes)
    for value in run(nodes):
        np.testing.assert_array_equal(value, VALUES[source])


def test_reduce_scatter_and_all_to_all() -> None:
    x = acts.placeholder("float32", [None, 2])
    parts = on_each(lambda i: raw.CollectiveReduceScatterV2(x + float(i), *keys(1), [], **SUM))
    swapped = on_each(lambda i: raw.CollectiveAllToAllV2(x + float(i), *keys(2), []))
    assert parts[0].shape.as_list() == [None, 2]
    value = np.arange(12, dtype=np.float32).reshape(6, 2)
    found = run([parts, swapped], {x: value})
    for i in range(3):
        rows = value[2 * i : 2 * i + 2]
        np.testing.assert_array_equal(found[0][i], 3 * rows + 3)
        np.testing.assert_array_equal(found[1][i], np.concatenate([rows, rows + 1, rows + 2]))


def test_large_values_go_round_a_ring_and_belong_to_the_caller() -> None:
    x = acts.placeholder("float32", [None])
    nodes = on_each(lambda i: raw.CollectiveReduceV2(x * float(i + 1), *keys(), [], **SUM))
    value = np.random.default_rng(1).normal(size=700_001).astype(np.float32)
    found = run(nodes, {x: value})
    for each in found:
        np.testing.assert_allclose(each, 6 * value, rtol=1e-5)
        each[...] = 0  # nobody else holds it


def test_what_comes_after_a_collective_does_not_change_what_others_still_read() -> None:
    """Elementwise nodes write over arrays that nobody reads any more; these are read elsewhere."""
    x = acts.placeholder("float32", [None])

    def build(i: int) -> Any:
        mine = x + float(i)
        total = raw.CollectiveReduceV2(mine, *keys(1), [], **SUM)
        again = raw.CollectiveReduceV2(total * 2.0 + mine, *keys(2), [], **SUM)
        return acts.reduce_sum(acts.sqrt(again * again) - 3.0 * total)

    value = np.ones(300_000, np.float32)
    # Three times 2 * (1 + 2 + 3) + (1 + 2 + 3), less 3 * 6, for each element.
    for found in run(on_each(build), {x: value}):
        assert found == pytest.approx((42.0 - 18.0) * value.size)


def test_a_loop_meets_once_an_iteration() -> None:
    def build(i: int) -> Any:
        def body(n: Any, total: Any) -> Any:
            return n + 1, raw.CollectiveReduceV2(total + float(i), *keys(), [], **SUM)

        return acts.while_loop(lambda n, total: n < 4, body, [0, acts.constant(0.0)])[1]

    wanted = 0.0
    for _ in range(4):
        wanted = 3 * wanted + 3
    assert run(on_each(build)) == [wanted] * 3


def test_steps_at_once_do_not_meet() -> None:
    x = acts.placeholder("float32", [])
    nodes = on_each(lambda i: raw.CollectiveReduceV2(x * float(i), *keys(), [], **SUM))
    with acts.Session(config=DEVICES) as session:
        call = session.make_callable(nodes, [x])
        import concurrent.futures

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            found = list(threads.map(call, range(40)))
    assert found == [[3.0 * k] * 3 for k in range(40)]


async def test_an_instance_begins_after_those_that_it_waits_for() -> None:
    """1. The later ones wait, and what the earlier ones depend on. 2. Others begin and end. 3. All go on."""
    gate, ended = (acts.FIFOQueue(3, "int32", []) for _ in range(2))

    def build(i: int) -> Any:
        late = raw.CollectiveReduce(1.0, **V1, **SUM, subdiv_offsets=[0], wait_for=[2])
        with acts.control_dependencies([late]):
            noted = ended.enqueue(i)
        with acts.control_dependencies([gate.dequeue()]):
            early = raw.CollectiveReduce(2.0, **{**V1, "instance_key": 2}, **SUM, subdiv_offsets=[0])
        return late, early, noted

    nodes, others = on_each(build), on_each(lambda i: raw.CollectiveReduceV2(fed(i), *keys(3), [], **SUM))
    async with acts.AsyncSession(config=DEVICES) as session:
        step = await held(session, nodes, count=6)
        await session.run(others)
        assert await session.run(ended.size()) == 0
        await session.run(gate.enqueue_many([[0, 0, 0]]))
        assert await soon(step) == [(3.0, 6.0, None)] * 3


def test_a_collective_of_one_member_is_its_value() -> None:
    assert run(raw.CollectiveReduceV2(5.0, 1, 1, 1, [], merge_op="Add", final_op="Div")) == 5.0


# -- what is refused -----------------------------------------------------------------------------


@for_each(
    "changes, said",
    [
        ({"merge_op": "Sub"}, r"merge_op is one of \['Add', 'Mul', 'Min', 'Max'\], got 'Sub'"),
        ({"final_op": "Mean"}, r"final_op is one of \['Id', 'Div'\], got 'Mean'"),
        ({"group_size": 0}, "group_size is at least 1, got 0"),
        ({"timeout_seconds": -1.0}, "timeout_seconds is at least 0"),
    ],
)
def test_wrong_attributes_are_refused_when_the_node_is_built(changes: Any, said: str) -> None:
    attrs = {**V1, **SUM, "subdiv_offsets": [0], **changes}
    refused(lambda: raw.CollectiveReduce(1.0, **attrs), ValueError, said)


def test_rows_that_cannot_be_split_are_refused() -> None:
    with pytest.raises(ValueError, match="4 rows are not divisible among 3 members"):
        raw.CollectiveAllToAllV2(np.zeros(4, np.float32), *keys(), [])
    x = acts.placeholder("float32", None)
    nodes = on_each(lambda i: raw.CollectiveReduceScatterV2(x, *keys(), [], **SUM))
    refused(lambda: run(nodes, {x: np.zeros(4)}), InvalidArgumentError, "4 rows are not divisible among 3 members")
    refused(lambda: run(nodes, {x: 1.0}), InvalidArgumentError, "at least one dimension, got a scalar")


@for_each("hint", ["nccl", "NCCL", "ring", "auto", "", "gloo", "pigeons"])
def test_a_hint_that_the_devices_cannot_follow_changes_nothing(hint: str) -> None:
    """As in TensorFlow without NCCL."""
    nodes = on_each(lambda i: raw.CollectiveReduceV2(1.0, *keys(), [], **SUM, communication_hint=hint))
    assert run(nodes) == [3.0] * 3


def test_members_that_do_not_agree_name_each_other_and_the_session_lives() -> None:
    nodes = on_each(lambda i: raw.CollectiveReduceV2(np.zeros(i + 1, "f"), *keys(), [], **SUM))
    good = on_each(lambda i: raw.CollectiveReduceV2(1.0, *keys(2), [], **SUM))
    with acts.Session(config=DEVICES) as session:
        refused(lambda: session.run(nodes), InvalidArgumentError, r"CPU:\d has a reduce .* \[\d\], .*CPU:\d has a")
        assert session.run(good) == [3.0] * 3


@pytest.mark.parametrize(("dtype", "shape"), [("int32", [2]), ("float32", [3])])
def test_who_receives_another_value_than_it_expects_says_so(dtype: str, shape: list[int]) -> None:
    def build(i: int) -> Any:
        if i == 0:
            return raw.CollectiveBcastSendV2(np.zeros(2, np.float32), *keys(size=2))
        return raw.CollectiveBcastRecvV2(*keys(size=2), shape, T=dtype)

    said = rf"CPU:1 has a broadcast of 2 members with {dtype} \[{shape[0]}\], the sender .* float32 \[2\]"
    refused(lambda: run(on_each(build, 2)), InvalidArgumentError, said)


def test_a_node_has_a_limit_of_its_own() -> None:
    """The size is computed, so that only the step can know that members are missing."""
    size = acts.placeholder_with_default(3, [])
    alone = raw.CollectiveReduceV2(1.0, size, 1, 1, [], **SUM, timeout_seconds=0.05)
    refused(lambda: run(alone), DeadlineExceededError, r"instance 1 of group 1 took longer than its")


@pytest.mark.parametrize("version", [1, 2])
def test_a_step_without_some_of_the_members_is_refused_at_once(version: int) -> None:
    def build(i: int) -> Any:
        if version == 1:
            return raw.CollectiveReduce(fed(i), **V1, **SUM, subdiv_offsets=[0], name=f"m{i}")
        return raw.CollectiveReduceV2(fed(i), *keys(), [], **SUM, name=f"m{i}")

    nodes = on_each(build)
    with pytest.raises(
        InvalidArgumentError, match=r"instance 1 of group 1 has 3 members, and the step runs 2 of them: m0, m2; "
    ):
        run([nodes[0], nodes[2]])


def test_two_members_on_one_device_are_refused_at_once() -> None:
    nodes = [raw.CollectiveReduceV2(1.0, *keys(1, 2), [], **SUM, name=n) for n in ("a", "b")]
    refused(lambda: run(nodes), InvalidArgumentError, r"different devices, but a, b are on .*CPU:0")
