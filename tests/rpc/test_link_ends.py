"""The end of a link: every call that is pending fails once, whoever ends it and whatever comes first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from actorsession.actors import Children
from actorsession.errors import CancelledError, OpError, UnavailableError
from actorsession.rpc import Link
from tests.actors.kit import SERVER, Desk, Hold, Note, Said, Say, connected, each_transport, linked, soon, turns
from tests.rpc.link_kit import start

# -- the end of the link ---------------------------------------------------------------------------


async def cut_by_peer(here: Link, there: Link) -> None:
    await there.aclose()


async def cut_hard(here: Link, there: Link) -> None:
    there._connection.abort()


@each_transport
@pytest.mark.parametrize("cut", [cut_by_peer, cut_hard])
async def test_a_lost_link_fails_every_pending_ask_at_once(scheme: str, cut: Callable[[Link, Link], Any]) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        askers = [asyncio.create_task(here.ask("desk", Hold(name=f"{i}"))) for i in range(3)]
        for i in range(3):
            await desk.until(f"{i} began")
        await cut(here, there)
        for outcome in await soon(asyncio.gather(*askers, return_exceptions=True)):
            assert isinstance(outcome, UnavailableError)
            assert outcome.task == SERVER
            told = f"the connection to {SERVER} at {here.address} was closed by the peer"
            assert str(outcome).startswith(told)
            assert outcome.__notes__ == ["Hold to 'desk' has no answer"]
        for i in range(3):
            await desk.until(f"{i} cancelled")
        assert here.closed
        assert isinstance(await soon(here.wait_closed()), UnavailableError)


@each_transport
async def test_after_the_loss_asks_and_tells_fail_with_the_same_reason(scheme: str) -> None:
    async with linked(scheme, serves={"desk": Desk().ref}) as (here, there):
        await there.aclose()
        await soon(here.wait_closed())
        with pytest.raises(UnavailableError, match="Say to 'desk' has no answer"):
            await here.ask("desk", Say(text=""))
        with pytest.raises(UnavailableError, match="was closed by the peer"):
            here.tell("desk", Note(number=1))


@each_transport
async def test_closing_it_ourselves_cancels_pending_asks_and_says_who_did(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        await here.aclose()
        expected = r"was closed here\nHold to 'desk' has no answer"
        with pytest.raises(CancelledError, match=expected) as caught:
            await soon(asker)
        assert caught.value.task is None
        with pytest.raises(CancelledError, match="closed here"):
            await here.ask("desk", Say(text=""))
        await desk.until("a cancelled")
        assert isinstance(await soon(there.wait_closed()), UnavailableError)


@each_transport
async def test_what_was_told_before_a_close_arrives(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, _):
        for number in range(50):
            here.tell("desk", Note(number=number))
        await here.aclose()
        await desk.until("note 49")


@pytest.mark.parametrize("scheme", ["tcp", "unix"])
async def test_aclose_is_bounded_even_if_the_peer_reads_nothing(scheme: str) -> None:
    async with connected(scheme) as (dialled, _):
        owner = Children("test")
        here = Link(dialled, serves={})
        await start(here, owner)
        for _turn in range(16):
            here.tell("desk", Say(text="x" * 2**20))
        started = time.monotonic()
        await here.aclose(grace=0.05)
        assert time.monotonic() - started < 5
        await owner.stop()


async def test_aclose_may_be_called_again_and_from_several_places() -> None:
    async with linked("tcp") as (here, _):
        await soon(asyncio.gather(here.aclose(), here.aclose()))
        await soon(here.aclose())
        assert here.closed


async def test_cancelling_the_receive_loop_ends_the_link() -> None:
    desk = Desk()
    async with connected("tcp") as (dialled, accepted):
        owner = Children("test")
        here, there = Link(dialled, serves={}), Link(accepted, serves={"desk": desk.ref})
        await start(there, owner)
        runner = asyncio.create_task(here.run())
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        runner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await runner
        with pytest.raises(CancelledError, match="its receive loop was cancelled"):
            await soon(asker)
        assert isinstance(await soon(there.wait_closed()), UnavailableError)
        await owner.stop()


async def test_the_receive_loop_runs_once() -> None:
    async with linked("inproc") as (here, _):
        with pytest.raises(RuntimeError, match="is run by somebody already"):
            await here.run()


@each_transport
async def test_callbacks_are_called_once_with_the_reason_after_pending_asks_have_failed(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        heard: list[tuple[type[OpError], int]] = []

        def callback(error: OpError) -> None:
            heard.append((type(error), here.statistics().pending))

        here.on_closed(callback)
        here.on_closed(callback)()  # taken back
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        await there.aclose()
        await soon(here.wait_closed())
        here.on_closed(callback)  # too late: called soon
        await turns()
        await here.aclose()
        assert heard == [(UnavailableError, 0)] * 2
        await soon(asyncio.gather(asker, return_exceptions=True))


async def test_a_callback_that_fails_does_not_hold_up_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async with linked("inproc") as (here, there):
        heard: list[OpError] = []

        def fail(_: OpError) -> None:
            raise KeyError("mine")

        here.on_closed(fail)
        here.on_closed(heard.append)
        await there.aclose()
        await soon(here.wait_closed())
        assert len(heard) == 1
        assert f"a callback for the end of the link to {SERVER} failed" in caplog.text


@each_transport
async def test_a_handler_hears_that_its_caller_is_gone(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        here.tell("desk", Note(number=1))
        await soon(here.ask("desk", Say(text="")))
        told, asked = desk.contexts
        gone: list[str] = []
        told.on_gone(lambda: gone.append("told"))
        asked.on_gone(lambda: gone.append("asked"))
        asked.on_gone(lambda: gone.append("taken back"))()
        await here.aclose()
        await soon(there.wait_closed())
        assert gone == ["told", "asked"]
        asked.on_gone(lambda: gone.append("late"))
        asked.on_gone(lambda: gone.append("late, taken back"))()
        await turns()
        assert gone == ["told", "asked", "late"]


# -- races over a real link ------------------------------------------------------------------------


ENDINGS: dict[str, Callable[[Desk, Link, Link, asyncio.Task[Any]], Any]] = {
    "answer": lambda desk, here, there, asker: desk.let_go("a"),
    "cancel": lambda desk, here, there, asker: asker.cancel(),
    "peer goes": lambda desk, here, there, asker: there._connection.abort(),
    "we go": lambda desk, here, there, asker: here._end.set("test", ours=True, abort=True),
}


@pytest.mark.parametrize("second", ENDINGS)
@pytest.mark.parametrize("first", ENDINGS)
async def test_an_ask_over_a_link_ends_once_whatever_comes_first(first: str, second: str) -> None:
    """Each pair of endings in both orders within one turn of the loop, over tcp."""
    desk = Desk()
    async with linked("tcp", serves={"desk": desk.ref}) as (here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        for name in (first, second):
            ENDINGS[name](desk, here, there, asker)
        (outcome,) = await soon(asyncio.gather(asker, return_exceptions=True))
        expected: dict[str, Any] = {
            "answer": Said,
            "cancel": asyncio.CancelledError,
            "peer goes": UnavailableError,
            "we go": CancelledError,
        }
        assert type(outcome) in {expected[first], expected[second]}
        if "cancel" in (first, second):
            assert type(outcome) is asyncio.CancelledError
        assert here.statistics().pending == 0
