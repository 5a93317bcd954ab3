"""The garbage collector rests while blocks make objects that stay."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest

from actorsession.collector import pause_collector


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """The collector as tests have it: it works, and what was there before them is frozen."""
    assert gc.isenabled()
    yield
    gc.enable()
    gc.freeze()


@pytest.mark.parametrize("frozen", [False, True], ids=["", "beside frozen objects"])
def test_it_rests_in_the_block_and_works_again_afterwards(frozen: bool) -> None:
    gc.freeze()
    if not frozen:
        gc.unfreeze()
    with pause_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    # What a program has frozen stays so, and nothing else does.
    assert bool(gc.get_freeze_count()) == frozen


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each count walks over all of them: a new plan would cost more, the more the program has frozen."""
    counted: list[int] = []
    count = gc.get_freeze_count

    def counting() -> int:
        counted.append(count())
        return counted[-1]

    monkeypatch.setattr(gc, "get_freeze_count", counting)
    gc.freeze()
    for _ in range(5):
        with pause_collector():
            pass
    assert len(counted) <= 1
    assert count() > 0


def test_it_works_again_after_an_error() -> None:
    with pytest.raises(ImportError), pause_collector():
        raise ImportError
    assert gc.isenabled()


def test_one_that_a_program_has_switched_off_stays_off() -> None:
    gc.disable()
    with pause_collector():
        pass
    assert not gc.isenabled()


def test_it_rests_until_the_last_block_of_any_thread_has_ended() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with pause_collector(), pause_collector():
            begun.set()
            go_on.wait(50)

    thread = threading.Thread(target=work)
    with pause_collector():
        thread.start()
        assert begun.wait(50)
    assert not gc.isenabled()
    go_on.set()
    thread.join(50)
    assert gc.isenabled()


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_it_works_in_a_child_that_is_forked_in_a_block_and_rests_in_blocks_of_the_child() -> None:
    with pause_collector():
        child = os.fork()
        if not child:
            on = gc.isenabled()
            with pause_collector():
                off = not gc.isenabled()
            os._exit(0 if on and off and gc.isenabled() else 1)
        assert not gc.isenabled()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
