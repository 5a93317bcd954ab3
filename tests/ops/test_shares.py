"""Threads of a kernel share its work out, and nobody waits for one that has not begun."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import pytest

from actorsession.ops import shares
from actorsession.ops.shares import begin, in_shares, slices
from tests.rows import for_each, refused


@for_each("threads, count", [(1, 1), (2, 2), (3, 3), (9, 5)])
def test_shares_are_neighbours_and_their_results_come_in_order(threads: int, count: int) -> None:
    seen = in_shares(list, [1, 2, 3, 4, 5], threads)
    assert (len(seen), [item for share in seen for item in share]) == (count, [1, 2, 3, 4, 5])


def test_shares_are_worked_on_at_the_same_time() -> None:
    """Each share waits until all have begun."""
    together = threading.Barrier(3)

    def work(share: Sequence[int]) -> int:
        together.wait(60)
        return threading.get_ident()

    assert len(set(in_shares(work, [1, 2, 3], 3))) == 3


def test_the_caller_does_what_no_helper_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy:
        def offer(self, job: object, helpers: int, most: int = 0) -> None:
            pass

    monkeypatch.setattr(shares, "_helpers", Busy())
    assert set(in_shares(lambda share: threading.get_ident(), [1, 2, 3], 3)) == {threading.get_ident()}
    assert begin(threading.get_ident).result() == threading.get_ident()


def test_a_call_that_is_begun_runs_beside_the_caller() -> None:
    """It waits for what the caller does then."""
    gone_on, begun = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        assert gone_on.wait(60)
        return threading.get_ident()

    call = begin(work)
    assert begun.wait(60)
    gone_on.set()
    assert call.result() != threading.get_ident()


def test_calls_that_wait_get_helpers_of_their_own_up_to_a_number() -> None:
    helpers, begun, gone_on = shares._Helpers(), threading.Semaphore(0), threading.Event()

    def work(_: object) -> int:
        begun.release()
        assert gone_on.wait(60)
        return threading.get_ident()

    calls: list[shares.Begun[int]] = []
    for _ in range(3):
        for _ in range(2):
            calls.append(shares.Begun(work, [int]))
            helpers.offer(calls[-1], 1, 3)
        assert begun.acquire(timeout=60)  # as many are busy as there are
    assert helpers._count == 3
    gone_on.set()
    assert len({call.result() for call in calls}) >= 3


def test_at_the_end_what_has_begun_is_waited_for_and_nothing_else_begins() -> None:
    helpers, begun, gone_on = shares._Helpers(), threading.Event(), threading.Event()
    done: list[str] = []

    def work(name: str) -> None:
        begun.set()
        assert gone_on.wait(60)
        done.append(name)

    for name in ("first", "second"):
        helpers.offer(shares._Job(work, [name]), 1)
        assert begun.wait(60)

    class Last:
        def join(self, timeout: float) -> None:
            """Is waited for first, when nothing else can begin any more."""
            gone_on.set()

    helpers._threads.insert(0, Last())  # type: ignore[arg-type]
    helpers.end()
    assert done == ["first"]
    assert not any(thread.is_alive() for thread in helpers._threads[1:])


def test_who_asks_for_the_result_of_a_call_gets_its_error() -> None:
    with pytest.raises(ZeroDivisionError):
        begin(lambda: 1 // 0).result()


def test_a_helper_that_comes_too_late_finds_nothing_to_do() -> None:
    done: list[Sequence[int]] = []
    job = shares._Job(done.append, [[1], [2]])
    job.finish()
    job.help()
    assert done == [[1], [2]]
    assert job.work is None


def test_nothing_to_share_is_one_share_of_nothing() -> None:
    assert in_shares(len, [], 4) == [0]


@for_each("length, count, cuts", [(7, 2, [0, 3, 7]), (3, 9, [0, 1, 2, 3]), (0, 4, [0, 0]), (5, 0, [0, 5])])
def test_slices_are_about_equally_long(length: int, count: int, cuts: list[int]) -> None:
    found = slices(length, count)
    assert [found[0].start, *(part.stop for part in found)] == cuts


@for_each(
    "length, count, lead, cuts",
    [
        (256, 2, 0.12, [0, 144, 256]),  # 32 more, a multiple of 16
        (784, 2, 0.12, [0, 440, 784]),
        (300, 3, 0.1, [0, 121, 210, 300]),
        (20, 2, 0.12, [0, 10, 20]),  # too short for that
        (100, 1, 0.25, [0, 100]),
    ],
)
def test_the_first_slice_may_be_longer(length: int, count: int, lead: float, cuts: list[int]) -> None:
    found = slices(length, count, lead)
    assert [found[0].start, *(part.stop for part in found)] == cuts


@pytest.mark.parametrize("bad", [0, 3])
def test_what_a_share_raises_is_raised_when_all_have_ended(bad: int) -> None:
    ended = []

    def work(share: Sequence[int]) -> None:
        ended.append(share[0])
        if share[0] == bad:
            raise ZeroDivisionError(f"share {bad}")

    refused(lambda: in_shares(work, range(4), 4), ZeroDivisionError, f"share {bad}")
    assert sorted(ended) == [0, 1, 2, 3]


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    def meet() -> int:
        together = threading.Barrier(2)
        return len(in_shares(lambda share: together.wait(60), [1, 2], 2))

    assert meet() == 2  # now this process has a helper
    pid = os.fork()
    if pid == 0:
        os._exit(0 if meet() == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
