"""Mutexes and critical sections: what runs in one runs alone, whatever becomes of the step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, control_dependencies, ops, opsets
from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.ops import raw
from actorsession.opsets.staging.mutexes import CRITICAL_SECTION_EXECUTIONS, CRITICAL_SECTIONS, MutexState
from tests.cluster.kit import soon
from tests.ops.queues.kit import held
from tests.rows import refused, refused_later


@pytest.fixture
def number(graph: Graph) -> Any:
    return ops.Variable(0.0, name="number")


def adding(number: Any, by: float = 2.0) -> Callable[[], Any]:
    """Return a function that builds an addition whose reading and writing others can come between."""

    def fn() -> Any:
        before = number.read_value()
        with control_dependencies([number.assign(before + by)]):
            return ops.identity(before)

    return fn


# -- the state -------------------------------------------------------------------------------------


def test_a_lock_is_given_in_the_order_of_asking() -> None:
    mutex = MutexState("Mutex 'm'")
    first, second, third = mutex.lock(), mutex.lock(), mutex.lock()
    assert first.done()
    assert not second.done()
    assert second.cancel()
    first.result().release()
    assert third.done()
    # A second return of the same lock does nothing to who holds it now.
    first.result().release()
    fourth = mutex.lock()
    assert not fourth.done()
    third.put_back()
    assert fourth.done()


def test_who_waits_for_a_mutex_that_is_reset_fails() -> None:
    mutex = MutexState("Mutex 'm'")
    held, behind = mutex.lock(), mutex.lock()
    mutex.clear()
    assert held.done()
    refused(lambda: behind.result(), CancelledError, "Mutex 'm' was reset")


# -- sections --------------------------------------------------------------------------------------


async def test_what_runs_in_a_section_runs_alone(session: AsyncSession, number: Any) -> None:
    section = opsets.CriticalSection(shared_name="cs")
    results = [section.execute(adding(number)) for _ in range(50)]
    await session.run(number.initializer)
    assert sorted(await session.run(results)) == [2.0 * i for i in range(50)]
    # So do concurrent steps.
    found = await asyncio.gather(*[session.run(results[:2]) for _ in range(10)])
    assert sorted(v for pair in found for v in pair) == [100.0 + 2 * i for i in range(20)]


async def test_a_section_may_be_in_a_branch_and_have_one(session: AsyncSession, number: Any) -> None:
    section = opsets.CriticalSection()
    inside = ops.placeholder("bool", ())

    def fn() -> Any:
        return ops.cond(inside, adding(number), number.read_value)

    results = [ops.cond(inside, lambda: section.execute(fn), number.read_value) for _ in range(8)]
    await session.run(number.initializer)
    assert sorted(await session.run(results, {inside: True})) == [2.0 * i for i in range(8)]
    assert await session.run(results[:2], {inside: False}) == [16.0, 16.0]


async def test_an_operation_may_be_what_runs(session: AsyncSession, number: Any) -> None:
    section = opsets.CriticalSection()
    results = [section.execute(lambda: number.assign_add(2.0).op) for _ in range(5)]
    await session.run(number.initializer)
    await session.run(results)
    assert await session.run(number) == 10.0


async def test_a_step_that_fails_in_a_section_gives_the_lock_back(session: AsyncSession, number: Any) -> None:
    section = opsets.CriticalSection(shared_name="cs")

    def failing(good: bool) -> Callable[[], Any]:
        def fn() -> Any:
            with control_dependencies([ops.Assert(good, ["the reason"])]):
                return number.read_value()

        return fn

    results = [section.execute(failing(good)) for good in (False, True)]
    await session.run(number.initializer)
    for _ in range(20):
        await refused_later(session.run(results), InvalidArgumentError, "the reason")
    assert await session.run(results[1]) == 0.0


async def test_a_step_that_is_ended_in_a_section_gives_the_lock_back(session: AsyncSession, number: Any) -> None:
    section = opsets.CriticalSection()
    queue = ops.FIFOQueue(1, "float32", shapes=())
    taking = section.execute(queue.dequeue)
    other = section.execute(number.read_value)
    await session.run(number.initializer)
    step = await held(session, taking)
    behind = await held(session, other, count=2)
    assert not behind.done()
    step.cancel()
    assert await soon(behind) == 0.0


async def test_a_lock_that_is_no_lock_is_refused(session: AsyncSession, graph: Graph) -> None:
    made = raw.ConsumeMutexLock(ops.placeholder("variant", ()))
    assert made.type == "ConsumeMutexLock"
    refused(lambda: raw.MutexLock(1.0), TypeError, "handle of a mutex")


# -- building --------------------------------------------------------------------------------------


def test_sections_and_what_runs_in_them_are_in_collections(graph: Graph) -> None:
    section = opsets.CriticalSection(name="s")
    assert (section.name, graph.get_collection(CRITICAL_SECTIONS)) == ("s", [section])
    result = section.execute(lambda: ops.constant(1.0) + 1.0, name="part")
    (execution,) = graph.get_collection(CRITICAL_SECTION_EXECUTIONS)
    assert execution.op.name == "part/MutexLock"
    assert result.name.startswith("part/")


def test_a_section_does_not_run_in_itself(graph: Graph) -> None:
    section = opsets.CriticalSection(shared_name="cs")
    with pytest.raises(ValueError, match="would cause deadlocks"):
        section.execute(lambda: section.execute(lambda: ops.constant(1.0)))
    same = opsets.CriticalSection(shared_name="cs")
    with pytest.raises(ValueError, match="would cause deadlocks"):
        section.execute(lambda: same.execute(lambda: ops.constant(1.0)))


def test_two_sections_do_not_use_one_variable_unless_they_agree(graph: Graph, number: Any) -> None:
    first, second = opsets.CriticalSection(), opsets.CriticalSection()
    first.execute(number.read_value)
    first.execute(number.read_value)
    for alone in (True, False):
        with pytest.raises(ValueError, match="exclusive_resource_access=False"):
            second.execute(number.read_value, exclusive_resource_access=alone)
    other = ops.Variable(1.0)
    first.execute(other.read_value, exclusive_resource_access=False)
    second.execute(other.read_value, exclusive_resource_access=False)


def test_a_definition_is_not_supported(graph: Graph) -> None:
    refused(lambda: opsets.CriticalSection(critical_section_def=object()), NotImplementedError)
    refused(lambda: opsets.CriticalSection("s", critical_section_def=object()), ValueError, "mutually exclusive")
