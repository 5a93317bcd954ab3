"""Owners: what is refused on another loop, after the end of a loop and in a forked child."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import threading

import pytest

from actorsession.actors.ownership import Owner
from tests.forks import in_a_child
from tests.loops import new_event_loop

FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


async def test_an_object_belongs_to_the_first_loop_that_asks() -> None:
    owner = Owner("desk")
    owner.check()
    assert owner.loop is asyncio.get_running_loop()
    assert owner.thread == threading.get_ident()
    owner.check()


def test_without_a_loop_an_object_without_one_stays_without() -> None:
    owner = Owner("desk")
    owner.check()
    assert owner.loop is None


async def test_another_loop_is_refused_by_an_error_that_names_both() -> None:
    owner = Owner("desk")
    owner.check()
    own, said = asyncio.get_running_loop(), []

    async def ask() -> None:
        with pytest.raises(RuntimeError) as info:
            owner.check()
        said.append((str(info.value), asyncio.get_running_loop()))

    thread = threading.Thread(target=lambda: asyncio.run(ask()), name="the other")
    thread.start()
    await asyncio.to_thread(thread.join)
    (message, other), *_ = said
    assert message.startswith("this desk belongs to the event loop ")
    for loop, name in ((own, threading.current_thread().name), (other, "the other")):
        assert f"({id(loop):#x}, of thread {name!r})" in message
    assert owner.loop is own


async def test_a_thread_without_a_loop_is_told_so() -> None:
    owner = Owner("desk")
    owner.check()
    with pytest.raises(RuntimeError, match="was called where no event loop runs"):
        await asyncio.to_thread(owner.check)


@pytest.mark.parametrize("moves", [False, True])
def test_an_object_whose_loop_has_ended_is_refused_or_moves_to_the_next(moves: bool) -> None:
    owner = Owner("desk")
    seen: list[asyncio.AbstractEventLoop] = []

    async def ask() -> None:
        owner.check(moves=moves)
        seen.append(asyncio.get_running_loop())

    asyncio.run(ask())
    assert owner.loop_has_ended
    if not moves:
        with pytest.raises(RuntimeError, match=r"which has ended: only closing the desk is possible"):
            asyncio.run(ask())
        return
    asyncio.run(ask())
    assert owner.loop is seen[-1] is not seen[0]


@FORKS
def test_a_forked_child_is_told_whose_the_object_is() -> None:
    owner = Owner("desk")
    found = in_a_child({"check": owner.check, "forked": lambda: owner.is_forked})
    assert found["forked"] == "returned True"
    assert found["check"].startswith(f"RuntimeError: this desk was made in process {os.getpid()} and")
    assert "it belongs to the parent process" in found["check"]
    assert not owner.is_forked


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="Linux")
@FORKS
async def test_what_a_forked_child_does_to_the_loop_leaves_that_of_the_parent_alone() -> None:
    """1. A loop waits for a socket. 2. A forked child takes the socket off its copy of the loop, as it does
    where it closes what it has. 3. The parent still hears of the socket."""
    Owner("desk").check()
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    heard = asyncio.Event()
    with ours, theirs:
        loop.add_reader(ours.fileno(), heard.set)
        await asyncio.sleep(0)  # uvloop tells the kernel in its next turn
        child = os.fork()
        if not child:
            signal.alarm(30)
            selector = getattr(loop, "_selector", None)
            shared = loop._get_backend_id() if selector is None else selector.fileno()  # type: ignore[attr-defined]
            poll = select.epoll.fromfd(shared)
            try:
                poll.unregister(ours.fileno())
            except OSError:
                os._exit(0)  # it is not in the child's
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        theirs.send(b"x")
        async with asyncio.timeout(30):
            await heard.wait()
        loop.remove_reader(ours.fileno())


def test_a_loop_that_is_closed_is_no_concern_of_a_fork() -> None:
    loop = new_event_loop()

    async def ask() -> None:
        Owner("desk").check()

    loop.run_until_complete(ask())
    loop.close()
    assert in_a_child({"nothing": lambda: None}) == {"nothing": "returned None"}
