from __future__ import annotations

from collections.abc import Callable

from actorsession.actors import CallContext, Deadline


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
