"""Planning apart: in threads, one piece after the other, while the event loop goes on."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from typing import Any
from unittest import mock

import pytest

from actorsession.errors import CancelledError, InvalidArgumentError, ResourceExhaustedError
from actorsession.runtime import planning as module
from actorsession.runtime.planning import LARGE, Planning
from tests.cluster.kit import PATIENCE, eventually, soon


class Held:
    """Work that waits until a test lets it go on."""

    def __init__(self, result: Any = None) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.result = result

    def __call__(self) -> Any:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.fixture
async def planning() -> AsyncIterator[Planning]:
    made = Planning()
    yield made
    made.close(CancelledError("over"))
    await eventually(lambda: not made.busy)


def threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "actorsession-planning"]


async def test_the_loop_goes_on_while_work_is_done(planning: Planning) -> None:
    held = Held("plan")
    run = asyncio.ensure_future(planning.run(held))
    await eventually(held.begun.is_set)
    assert planning.busy
    held.go.set()
    assert await soon(run) == "plan"
    assert not planning.busy


async def test_small_work_is_done_at_once_unless_other_work_is_under_way(planning: Planning) -> None:
    assert not planning.must_wait(LARGE)
    assert planning.must_wait(LARGE + 1)
    held = Held()
    run = asyncio.ensure_future(planning.run(held))
    await eventually(held.begun.is_set)
    assert planning.must_wait(1)
    held.go.set()
    await soon(run)


async def test_pieces_of_one_owner_run_one_after_the_other(planning: Planning) -> None:
    first, second = Held(1), Held(2)
    runs = [asyncio.ensure_future(planning.run(work)) for work in (first, second)]
    await eventually(first.begun.is_set)
    second.go.set()
    assert not second.begun.is_set()
    first.go.set()
    assert await soon(asyncio.gather(*runs)) == [1, 2]


async def test_those_of_several_owners_run_side_by_side_up_to_a_number() -> None:
    plannings = [Planning() for _ in range(module._MOST + 2)]
    works = [Held(k) for k in range(len(plannings))]
    runs = [asyncio.ensure_future(p.run(w)) for p, w in zip(plannings, works, strict=True)]
    await eventually(lambda: sum(w.begun.is_set() for w in works) == module._MOST)
    for work in works:
        work.go.set()
    assert await soon(asyncio.gather(*runs)) == list(range(len(plannings)))
    await eventually(lambda: not threads())


async def test_those_who_ask_by_one_key_share_the_work(planning: Planning) -> None:
    held, other = Held("shared"), Held("another")
    asked = [planning.shared("key", work) for work in (held, other)]
    held.go.set()
    assert [await soon(asyncio.shield(future)) for future in asked] == ["shared"] * 2
    assert not other.begun.is_set()
    other.go.set()
    assert await soon(planning.shared("key", other)) == "another"


async def test_an_error_reaches_whoever_waits(planning: Planning) -> None:
    held = Held(InvalidArgumentError("no such node"))
    held.go.set()
    with pytest.raises(InvalidArgumentError, match="no such node"):
        await soon(planning.run(held))
    assert not planning.busy


async def test_work_that_nobody_waits_for_any_more_is_not_begun(planning: Planning) -> None:
    first, second, third = Held(), Held(), Held("third")
    runs = [asyncio.ensure_future(planning.run(work)) for work in (first, second, third)]
    await eventually(first.begun.is_set)
    for run in runs[:2]:
        run.cancel()
    await asyncio.wait(runs[:2])
    third.go.set()
    first.go.set()
    assert await soon(runs[2]) == "third"
    assert not second.begun.is_set()


async def test_closing_ends_all_waits_and_work_where_it_checks() -> None:
    planning = Planning()
    reached = threading.Event()
    held = Held()

    def work() -> None:
        held()
        planning.check()
        reached.set()

    runs = [asyncio.ensure_future(planning.run(w)) for w in (work, Held())]
    await eventually(held.begun.is_set)
    planning.close(CancelledError("the session is closed"))
    for run in runs:
        with pytest.raises(CancelledError, match="the session is closed"):
            await soon(run)
    held.go.set()
    await eventually(lambda: not planning.busy)
    assert not reached.is_set()
    with pytest.raises(CancelledError, match="the session is closed"):
        await soon(planning.run(Held()))


async def test_the_garbage_collector_rests_meanwhile(planning: Planning) -> None:
    held = Held()
    run = asyncio.ensure_future(planning.run(held))
    await eventually(held.begun.is_set)
    assert not gc.isenabled()
    held.go.set()
    await soon(run)
    assert gc.isenabled()


async def test_plans_without_threads_fail_and_later_ones_do_not(planning: Planning, monkeypatch: Any) -> None:
    with monkeypatch.context() as patched:
        none = mock.Mock(side_effect=RuntimeError("can't start new thread"))
        patched.setattr(threading.Thread, "start", none)
        with pytest.raises(ResourceExhaustedError, match="no threads left"):
            await soon(planning.run(lambda: 1))
        assert not planning.busy
    held = Held(2)
    first = asyncio.ensure_future(planning.run(held))
    await eventually(held.begun.is_set)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none)
        other = Planning().start(lambda: 3)  # by the thread that there is
        held.go.set()
        assert [await soon(first), await soon(other)] == [2, 3]
