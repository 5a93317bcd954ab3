""""""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actorsession import errors
from actorsession.actors import Actor, CallContext, Deadline, LocalRef, answers, ask_without_withdrawing
from actorsession.actors.delivery import Delivery
from tests.actors.kit import PATIENCE, Break, Desk, Hold, Note, Said, Say, Stranger, eventually, soon, turns
from tests.loops import cancelled


class Elsewhere:
    """A thread with a loop of its own, and a desk that lives there."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="elsewhere")
        self._thread.start()
        self.desk: Desk = self.run(self._make())

    async def _make(self, **options: Any) -> Desk:
        return Desk(**options)

    def run(self, coroutine: Any) -> Any:
        """Runs something there and waits for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    async def until(self, mark: str) -> None:
        """Waits here until something has happened there."""
        future = asyncio.run_coroutine_threadsafe(self.desk.until(mark), self.loop)
        await soon(asyncio.wrap_future(future))

    def let_go(self, name: str) -> None:
        """Lets a held handler go on."""
        self.loop.call_soon_threadsafe(self.desk.let_go, name)

    def close(self) -> None:
        """Ends the thread."""
        if not self.loop.is_closed():
            self.run(self.desk.stop())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    there = Elsewhere()
    yield there
    there.close()


async def test_an_ask_from_another_loop_is_answered_on_the_askers_loop(elsewhere: Elsewhere) -> None:
    assert await soon(elsewhere.desk.ref.ask(Say(text="across"))) == Said(text="across")


async def test_a_handler_that_awaits_answers_across_loops_too(elsewhere: Elsewhere) -> None:
    asker = asyncio.create_task(elsewhere.desk.ref.ask(Hold(name="a")))
    await elsewhere.until("a began")
    elsewhere.let_go("a")
    assert await soon(asker) == Said(text="a")


@pytest.mark.parametrize("late", [False, True])
async def test_an_error_crosses_over(elsewhere: Elsewhere, late: bool) -> None:
    with pytest.raises(errors.FailedPreconditionError, match="broken"):
        await soon(elsewhere.desk.ref.ask(Break(kind="ours", late=late)))
    with pytest.raises(errors.UnimplementedError, match="it handles Break, Hold, Note, Say"):
        await soon(elsewhere.desk.ref.ask(Stranger()))


async def test_cancelling_the_asker_cancels_the_handler_on_the_other_loop(elsewhere: Elsewhere) -> None:
    asker = asyncio.create_task(elsewhere.desk.ref.ask(Hold(name="a")))
    await elsewhere.until("a began")
    await cancelled(asker)
    await elsewhere.until("a cancelled")


async def test_an_answer_that_is_cancelled_on_the_other_loop_is_an_error(elsewhere: Elsewhere) -> None:
    """As that of a repeat whose first caller has given up; nobody would end the wait before its deadline."""

    class Counter(Actor):
        @answers(Say, direct=True)
        def on_say(self, message: Say, call: CallContext) -> asyncio.Future[Said]:
            answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
            answer.cancel()
            return answer

    async def opened() -> Counter:
        counter = Counter("counter")
        assert counter.ref.is_here()
        return counter

    counter = elsewhere.run(opened())
    with pytest.raises(errors.CancelledError, match="Say was cancelled"):
        await soon(counter.ref.ask(Say(text="")))


async def test_a_deadline_cancels_the_handler_on_the_other_loop(elsewhere: Elsewhere) -> None:
    with pytest.raises(errors.DeadlineExceededError, match="actor 'desk'"):
        await soon(elsewhere.desk.ref.ask(Hold(name="a"), Deadline.after(0.05)))
    await elsewhere.until("a cancelled")


async def test_the_deadline_holds_even_if_the_other_loop_stands_still(elsewhere: Elsewhere) -> None:
    release = threading.Event()
    elsewhere.loop.call_soon_threadsafe(release.wait, PATIENCE)
    started = time.monotonic()
    expected = r"the answer of actor 'desk' \(on another loop\) to Say; it did not come"
    with pytest.raises(errors.DeadlineExceededError, match=expected):
        await soon(elsewhere.desk.ref.ask(Say(text="late"), Deadline.after(0.05)))
    assert time.monotonic() - started < 5
    release.set()
    await soon(elsewhere.desk.ref.ask(Say(text="next")))
    assert elsewhere.desk.seen == ["next"]  # the one that nobody waited for was not handled


async def test_a_tell_from_another_loop_or_thread_arrives_in_order(elsewhere: Elsewhere) -> None:
    for number in range(5):
        elsewhere.desk.ref.tell(Note(number=number))
    thread = threading.Thread(target=lambda: elsewhere.desk.ref.tell(Note(number=5)))
    thread.start()
    thread.join()
    await elsewhere.until("note 5")
    assert [n for n in elsewhere.desk.seen if isinstance(n, int)] == [0, 1, 2, 3, 4, 5]


async def test_a_tell_that_cannot_be_delivered_is_refused_in_the_callers_thread(elsewhere: Elsewhere) -> None:
    with pytest.raises(errors.UnimplementedError):
        elsewhere.desk.ref.tell(Stranger())
    elsewhere.run(elsewhere.desk.stop("done"))
    with pytest.raises(errors.AbortedError, match="done"):
        elsewhere.desk.ref.tell(Note(number=1))


async def test_tells_from_another_thread_share_the_limit(elsewhere: Elsewhere) -> None:
    desk = elsewhere.run(elsewhere._make(limit=3))
    release = threading.Event()
    elsewhere.loop.call_soon_threadsafe(release.wait, PATIENCE)
    for number in range(3):
        desk.ref.tell(Note(number=number))
    with pytest.raises(errors.ResourceExhaustedError, match=r"full \(3 messages\); Note was not accepted"):
        desk.ref.tell(Note(number=3))
    release.set()
    elsewhere.run(desk.until("note 2"))
    desk.ref.tell(Note(number=4))
    elsewhere.run(desk.until("note 4"))
    assert 3 not in desk.seen


async def test_a_tell_that_comes_after_the_stop_is_dropped_quietly(elsewhere: Elsewhere) -> None:
    """1. The other loop is held up. 2. A tell is posted to it. 3. The actor stops before the tell is looked at."""
    release = threading.Event()
    elsewhere.loop.call_soon_threadsafe(release.wait, PATIENCE)
    elsewhere.loop.call_soon_threadsafe(elsewhere.desk._shut, "test")
    elsewhere.desk.ref.tell(Note(number=1))
    release.set()
    elsewhere.run(asyncio.sleep(0))
    assert elsewhere.desk.seen == []


async def test_an_actor_whose_loop_is_closed_aborts_its_callers(elsewhere: Elsewhere) -> None:
    elsewhere.close()
    desk = Desk()
    desk.loop = elsewhere.loop
    with pytest.raises(errors.AbortedError, match="the event loop of actor 'desk' is closed"):
        await soon(desk.ref.ask(Say(text="")))
    with pytest.raises(errors.AbortedError, match="the event loop of actor 'desk' is closed"):
        desk.ref.tell(Note(number=1))


def test_an_ask_without_a_running_loop_says_what_it_needs(elsewhere: Elsewhere) -> None:
    with pytest.raises(errors.FailedPreconditionError, match="asking it needs a running one"):
        elsewhere.desk.ref.ask(Say(text="")).send(None)


async def test_an_answer_to_an_asker_whose_loop_is_closed_is_dropped(elsewhere: Elsewhere) -> None:
    loop = asyncio.new_event_loop()
    askers: list[asyncio.Task[Any]] = []

    async def ask_and_leave() -> None:
        askers.append(asyncio.create_task(elsewhere.desk.ref.ask(Hold(name="a"))))
        await elsewhere.until("a began")

    await asyncio.to_thread(loop.run_until_complete, ask_and_leave())
    loop.close()
    askers.pop()._log_destroy_pending = False  # type: ignore[attr-defined]  # the point of the test
    elsewhere.let_go("a")
    await elsewhere.until("a ended")
    assert await soon(elsewhere.desk.ref.ask(Say(text="next"))) == Said(text="next")


# --- refs as values ------------------------------------------------------------------------------
async def test_an_actor_made_without_a_loop_lives_where_it_is_first_called() -> None:
    desk = await asyncio.to_thread(Desk)
    assert desk.ref.loop is None
    await desk.ref.ask(Say(text=""))
    assert desk.ref.loop is asyncio.get_running_loop()


@pytest.mark.parametrize("end", ["the wait", "a cancellation"])
async def test_what_is_to_happen_in_any_case_is_not_withdrawn(end: str) -> None:
    """The mailbox is full; the wait for room in it ends before there is any."""
    desk = Desk(limit=1)
    holding = desk.ref.submit(Hold(name="a"), CallContext())
    asking = asyncio.ensure_future(
        ask_without_withdrawing(desk.ref, Say(text="b"), 0.0 if end == "the wait" else PATIENCE)
    )
    await turns()
    if end == "the wait":
        with pytest.raises(errors.DeadlineExceededError, match=r"desk did not answer Say within 0 s"):
            await soon(asking)
    else:
        await cancelled(asking)
    desk.let_go("a")
    await soon(holding)
    await eventually(lambda: desk.has("b"))


@pytest.mark.parametrize("late", [False, True])
async def test_what_is_to_happen_in_any_case_may_fail(late: bool, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    asking = ask_without_withdrawing(desk.ref, Break(kind="ours", late=late), PATIENCE)
    with pytest.raises(errors.FailedPreconditionError, match="broken"):
        await soon(asking)
    if late:
        with pytest.raises(errors.DeadlineExceededError):
            await ask_without_withdrawing(desk.ref, Break(kind="ours", late=True), 0.0)
        await turns()
    gc.collect()
    assert not caplog.text


async def test_refs_to_the_same_actor_are_equal() -> None:
    desk, other = Desk(), Desk()
    assert desk.ref == desk.ref
    assert desk.ref != other.ref
    assert len({desk.ref, desk.ref, other.ref}) == 2
    assert (desk.ref.name, isinstance(desk.ref, LocalRef)) == ("desk", True)


async def test_many_threads_may_ask_at_once(elsewhere: Elsewhere) -> None:
    answers: list[Said] = []

    def ask_many(name: int) -> None:
        async def main() -> None:
            answers.extend([await elsewhere.desk.ref.ask(Say(text=f"{name}.{i}")) for i in range(20)])

        asyncio.run(main())

    await soon(asyncio.gather(*(asyncio.to_thread(ask_many, n) for n in range(4))))
    assert sorted(a.text for a in answers) == sorted(f"{n}.{i}" for n in range(4) for i in range(20))


def expecting(seconds: float | None = 10.0) -> tuple[Delivery, Any, list[Delivery]]:
    delivery = Delivery(Say(text=""), CallContext(Deadline.after(seconds)), "desk")
    abandoned: list[Delivery] = []
    return delivery, delivery.expect_answer(abandoned.append), abandoned


async def test_the_first_answer_counts() -> None:
    delivery, answer, _ = expecting()
    delivery.succeed("first")
    delivery.succeed("second")
    delivery.fail(errors.AbortedError("third"))
    assert await soon(answer) == "first"


async def test_the_first_error_counts() -> None:
    delivery, answer, _ = expecting()
    delivery.fail(errors.UnavailableError("first"))
    delivery.succeed("second")
    with pytest.raises(errors.UnavailableError, match="first"):
        await soon(answer)


async def test_an_answer_that_is_cancelled_before_a_child_works_is_abandoned() -> None:
    delivery, answer, abandoned = expecting()
    assert not delivery.abandoned
    answer.cancel()
    await turns()
    assert (delivery.abandoned, abandoned) == (True, [delivery])


async def test_an_answer_that_is_cancelled_while_a_child_works_cancels_the_child() -> None:
    delivery, answer, abandoned = expecting()
    delivery.child = asyncio.create_task(asyncio.Event().wait())
    answer.cancel()
    await turns()
    assert (delivery.child.cancelled(), abandoned) == (True, [])


async def test_without_a_child_the_deadline_says_that_there_was_no_room() -> None:
    _, answer, _ = expecting(0.01)
    with pytest.raises(errors.DeadlineExceededError, match=r"Say to actor 'desk' .* waited for space"):
        await soon(answer)


async def test_an_answer_ends_the_timer() -> None:
    delivery, answer, _ = expecting()
    delivery.succeed("x")
    assert await soon(answer) == "x"
    await turns()
    assert delivery._timer is not None
    assert delivery._timer.cancelled()


async def test_without_a_limit_no_timer_runs() -> None:
    delivery, answer, _ = expecting(None)
    assert delivery._timer is None
    answer.cancel()
    await turns()


async def test_nobody_is_answered_for_a_tell() -> None:
    delivery = Delivery(Note(number=1), CallContext(Deadline.never()), "desk")
    delivery.succeed("x")
    delivery.fail(errors.AbortedError("y"))
    assert (delivery.answer, delivery.abandoned, str(delivery)) == (None, False, "Note to actor 'desk'")


def test_a_call_without_a_deadline_gets_the_default_once_and_keeps_it() -> None:
    context = CallContext()
    first = context.deadline
    assert 25 < (first.remaining() or 0) <= 30
    assert context.deadline is first


def test_a_deadline_that_was_given_is_kept() -> None:
    deadline = Deadline.after(3)
    assert CallContext(deadline).deadline is deadline


def test_a_local_caller_is_never_gone() -> None:
    called: list[int] = []
    unregister = CallContext().on_gone(lambda: called.append(1))
    unregister()
    unregister()
    assert called == []


def test_the_callback_for_a_caller_that_goes_is_registered_with_its_link() -> None:
    watched: list[Callable[[], None]] = []

    def watch(callback: Callable[[], None]) -> Callable[[], None]:
        watched.append(callback)
        return watched.clear

    def callback() -> None: ...

    context = CallContext(None, "/job:ps/task:0", "tcp://h:1", watch)
    unregister = context.on_gone(callback)
    assert watched == [callback]
    unregister()
    assert watched == []
    assert repr(context) == "<CallContext from /job:ps/task:0 at tcp://h:1>"
