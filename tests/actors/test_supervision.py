from __future__ import annotations

import asyncio
import gc
import logging
import time

import pytest

from actorsession.actors import Children, outcome
from actorsession.errors import AbortedError, CancelledError, UnavailableError
from tests.actors.kit import soon, turns
from tests.loops import cancelled


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _fail() -> None:
    raise KeyError("mine")


async def test_a_child_is_held_until_it_ends() -> None:
    children = Children("owner")
    gate = asyncio.Event()
    child = children.start(gate.wait(), name="child")
    assert (len(children), child in children, child.get_name()) == (1, True, "child")
    gate.set()
    assert await soon(child) is True
    await turns()
    assert (len(children), child in children) == (0, False)


async def test_the_error_of_a_child_that_nobody_awaits_goes_to_the_callback() -> None:
    heard: list[tuple[str, str]] = []
    children = Children("owner", lambda name, error: heard.append((name, repr(error))))
    _ = children.start(_fail(), name="child")
    await turns()
    assert heard == [("child", "KeyError('mine')")]


async def test_the_error_of_a_child_that_is_awaited_goes_to_the_one_who_awaits() -> None:
    heard: list[str] = []
    children = Children("owner", lambda name, error: heard.append(name))
    with pytest.raises(KeyError, match="mine"):
        await children.start(_fail(), name="child", awaited=True)
    await turns()
    assert heard == []


async def test_without_a_callback_an_error_is_logged_with_owner_and_child(caplog: pytest.LogCaptureFixture) -> None:
    _ = Children("owner").start(_fail(), name="child")
    await turns()
    assert [record.getMessage() for record in caplog.records] == ["owner: child child failed"]


async def test_a_callback_that_fails_itself_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def callback(name: str, error: BaseException) -> None:
        raise RuntimeError("callback")

    _ = Children("owner", callback).start(_fail(), name="child")
    await turns()
    assert "the callback for failed children has failed" in caplog.text


async def test_a_child_that_is_cancelled_is_no_error() -> None:
    heard: list[str] = []
    children = Children("owner", lambda name, error: heard.append(name))
    children.start(_for_ever(), name="child").cancel()
    await turns()
    assert (heard, len(children)) == ([], 0)


async def test_stop_cancels_all_children_and_awaits_their_clean_up() -> None:
    cleaned = []

    async def tidy(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(name)

    children = Children("owner")
    for name in "ab":
        _ = children.start(tidy(name), name=name)
    await turns()
    await children.stop()
    assert (sorted(cleaned), len(children)) == (["a", "b"], 0)


async def test_a_child_that_has_not_begun_can_be_stopped() -> None:
    children = Children("owner")
    child = children.start(_for_ever(), name="child")
    await children.stop()
    assert child.cancelled()


async def test_after_stop_no_child_is_started_and_its_work_is_closed() -> None:
    children = Children("owner")
    await children.stop()
    with pytest.raises(AbortedError, match="owner was stopped and starts no child 'child'"):
        _ = children.start(_for_ever(), name="child")


async def test_stop_may_be_called_again_and_from_several_places() -> None:
    children = Children("owner")
    _ = children.start(_for_ever(), name="child")
    await soon(asyncio.gather(children.stop(), children.stop()))
    await children.stop()
    assert len(children) == 0


async def test_a_child_may_stop_its_siblings_and_goes_on_itself() -> None:
    children = Children("owner")
    sibling = children.start(_for_ever(), name="sibling")

    async def stopper() -> str:
        await children.stop()
        return "went on"

    assert await soon(children.start(stopper(), name="stopper", awaited=True)) == "went on"
    assert sibling.cancelled()


async def test_stop_ends_after_the_grace_and_names_the_stubborn(caplog: pytest.LogCaptureFixture) -> None:
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    children = Children("owner")
    child = children.start(stubborn(), name="mule")
    _ = children.start(_for_ever(), name="lamb")
    await turns()
    started = time.monotonic()
    await children.stop(grace=0.02)
    assert time.monotonic() - started < 5
    (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert record.getMessage() == ("owner: 1 children did not end within 0.02 s of being cancelled: mule")
    released.set()
    await soon(child)


def test_a_stubborn_child_whose_loop_goes_away_is_not_reported_by_asyncio(caplog: pytest.LogCaptureFixture) -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue
            except GeneratorExit:
                return

    async def main() -> None:
        children = Children("owner")
        _ = children.start(stubborn(), name="mule")
        await turns()
        await children.stop(grace=0.01)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
    del loop
    gc.collect()
    assert "mule" in caplog.text
    assert [record for record in caplog.records if record.name == "asyncio"] == []


# -- waits for children of others ------------------------------------------------------------------
class Shared:
    """A child that several wait for, which ends as the test says."""

    def __init__(self) -> None:
        self.owner = Children("owner")
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.child = self.owner.start(self._work(), name="child", awaited=True)

    async def _work(self) -> str:
        return await self.end

    async def waiter(self) -> asyncio.Task[str]:
        """Somebody who waits for it."""
        waiter = asyncio.create_task(outcome(self.child, UnavailableError("the owner has ended")))
        await turns()
        return waiter


async def test_each_who_waits_for_a_child_has_its_result_or_its_error() -> None:
    for error in (None, CancelledError("refused")):
        shared = Shared()
        waiters = [await shared.waiter() for _ in range(2)]
        shared.end.set_result("done") if error is None else shared.end.set_exception(error)
        for waiter in [*waiters, await shared.waiter()]:
            if error is None:
                assert await soon(waiter) == "done"
            else:
                with pytest.raises(CancelledError, match="refused"):
                    await soon(waiter)


async def test_the_end_of_an_owner_is_an_error_to_those_who_wait_for_its_child() -> None:
    shared = Shared()
    waiters = [await shared.waiter() for _ in range(2)]
    await shared.owner.stop()
    for waiter in [*waiters, await shared.waiter()]:
        with pytest.raises(UnavailableError, match="the owner has ended"):
            await soon(waiter)


async def test_who_is_cancelled_while_an_owner_ends_is_cancelled() -> None:
    """Both in one turn: nobody may take a cancellation for an error."""
    shared = Shared()
    waiter = await shared.waiter()
    shared.child.cancel()
    await cancelled(waiter)


async def test_a_child_outlives_those_who_wait_for_it_and_its_error_is_dropped_with_the_last() -> None:
    shared = Shared()
    first, last = await shared.waiter(), await shared.waiter()
    await cancelled(first)
    assert not shared.child.done()
    await cancelled(last)
    shared.end.set_exception(AbortedError("of no interest"))
    await turns()
    assert shared.child.done()
