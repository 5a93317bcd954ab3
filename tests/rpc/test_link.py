"""A link between two processes: asks, answers and tells, and what it counts of them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from unittest import mock

import numpy as np
import pytest

from actorsession.actors import Deadline
from actorsession.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from actorsession.messages import decode
from actorsession.rpc import Link, RemoteRef
from tests.actors.kit import (
    CLIENT,
    SERVER,
    Break,
    Desk,
    Hold,
    Note,
    Said,
    Say,
    connected,
    each_transport,
    eventually,
    linked,
    soon,
)
from tests.allocation_failures import Shortage
from transports import Frame

# -- asking and telling ----------------------------------------------------------------------------


@each_transport
async def test_an_ask_is_answered(scheme: str) -> None:
    async with linked(scheme, serves={"desk": Desk().ref}) as (here, _):
        assert await soon(here.ask("desk", Say(text="hi"))) == Said(text="hi")


@each_transport
async def test_both_ends_may_ask_at_the_same_time(scheme: str) -> None:
    desk = Desk()
    serves = {"desk": desk.ref}
    async with linked(scheme, serves=serves, serves_here=serves) as (here, there):
        asks = [link.ask("desk", Say(text=f"{i}")) for i in range(20) for link in (here, there)]
        answers = await soon(asyncio.gather(*asks))
        assert [a.text for a in answers] == [str(i) for i in range(20) for _ in range(2)]


@each_transport
async def test_tells_arrive_in_order_and_before_a_later_ask(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, _):
        for number in range(100):
            here.tell("desk", Note(number=number))
        await soon(here.ask("desk", Say(text="last")))
        assert [n for n in desk.seen if not str(n).startswith("note")] == [*range(100), "last"]


@each_transport
async def test_a_handler_that_waits_does_not_hold_up_other_calls(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, _):
        held = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        assert await soon(here.ask("desk", Say(text="meanwhile"))) == Said(text="meanwhile")
        desk.let_go("a")
        assert await soon(held) == Said(text="a")


@each_transport
async def test_large_arrays_arrive_whole(scheme: str) -> None:
    class Mirror(Desk):
        def on_say(self, message: Say, call: Any) -> Said:
            return Said(text=np.arange(1_000_000))

    async with linked(scheme, serves={"desk": Mirror().ref}) as (here, _):
        answer = await soon(here.ask("desk", Say(text="")))
        assert np.array_equal(answer.text, np.arange(1_000_000))


@each_transport
@pytest.mark.parametrize("late", [False, True])
async def test_an_error_arrives_as_its_class_with_the_task_named(scheme: str, late: bool) -> None:
    async with linked(scheme, serves={"desk": Desk().ref}) as (here, _):
        with pytest.raises(FailedPreconditionError, match="broken") as caught:
            await soon(here.ask("desk", Break(kind="ours", late=late)))
        assert caught.value.task == SERVER


async def test_the_context_names_the_peer_and_its_address() -> None:
    desk = Desk()
    async with linked("tcp", serves={"desk": desk.ref}) as (here, there):
        await soon(here.ask("desk", Say(text="")))
        (context,) = desk.contexts
        assert (context.peer, context.address) == (CLIENT, there.address)
        assert there.address.startswith("tcp://127.0.0.1:")


async def test_of_the_reasons_that_a_peer_gives_for_the_end_the_last_one_counts_and_is_kept() -> None:
    async with linked("tcp", serves={"desk": Desk().ref}) as (here, there):
        for number in range(1000):
            there.say_goodbye(f"reason {number}")
        await eventually(lambda: here._end.announced == "reason 999")


async def test_the_name_of_the_peer_may_be_given() -> None:
    async with connected("inproc") as (dialled, _):
        assert Link(dialled, serves={}).peer_name == SERVER
        assert Link(dialled, serves={}).peer.incarnation == 1
        assert Link(dialled, serves={}, peer_name="ps0").peer_name == "ps0"


@each_transport
async def test_cancelling_an_ask_cancels_the_remote_handler(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        asker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asker
        await desk.until("a cancelled")
        assert (here.statistics().pending, there.statistics().serving) == (0, 0)


@each_transport
async def test_the_deadline_holds_at_both_ends(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, _):
        with pytest.raises(DeadlineExceededError, match=r"Hold to .*'desk'.* within"):
            await soon(here.ask("desk", Hold(name="a"), Deadline.after(0.05)))
        await desk.until("a cancelled")
        left = desk.contexts[0].deadline.time_left
        assert left is not None
        assert left < 0.05


async def test_a_deadline_that_is_over_sends_nothing() -> None:
    async with linked("inproc", serves={"desk": Desk().ref}) as (here, _):
        with pytest.raises(DeadlineExceededError, match=f"was not sent to {SERVER} at inproc://"):
            await here.ask("desk", Say(text=""), Deadline.after(0))
        assert here.statistics().calls_sent == 0


async def test_without_a_deadline_thirty_seconds_travel() -> None:
    desk = Desk()
    async with linked("inproc", serves={"desk": desk.ref}) as (here, _):
        await soon(here.ask("desk", Say(text="")))
        assert 25 < (desk.contexts[0].deadline.time_left or 0) <= 30


async def test_what_does_not_travel_is_the_senders_error_and_the_link_stays() -> None:
    async with linked("inproc", serves={"desk": Desk().ref}) as (here, _):
        with pytest.raises(InvalidArgumentError):
            await here.ask("desk", Say(text=object()))  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError):
            here.tell("desk", object())
        assert await soon(here.ask("desk", Say(text="next"))) == Said(text="next")


async def test_a_remote_ref_asks_and_tells_its_target() -> None:
    desk = Desk()
    async with linked("inproc", serves={"desk": desk.ref}) as (here, _):
        ref = RemoteRef(here, "desk")
        assert await soon(ref.ask(Say(text="hi"))) == Said(text="hi")
        ref.tell(Note(number=7))
        await desk.until("note 7")
        with pytest.raises(DeadlineExceededError):
            await soon(ref.ask(Hold(name="a"), Deadline.after(0.02)))


async def test_an_actor_of_a_third_process_is_reached_through_a_ref() -> None:
    """Client, middle and server: the middle serves its ref to the server's actor."""
    desk = Desk()
    async with linked("inproc", serves={"desk": desk.ref}) as (middle, _):
        async with linked("tcp", serves={"desk": RemoteRef(middle, "desk")}) as (client, _):
            assert await soon(client.ask("desk", Say(text="far"))) == Said(text="far")
            asker = asyncio.create_task(client.ask("desk", Hold(name="a")))
            await desk.until("a began")
            asker.cancel()
            await desk.until("a cancelled")
            with pytest.raises(NotFoundError, match="no actor 'nobody' here; there are: desk"):
                await soon(client.ask("nobody", Say(text="")))


# -- statistics ------------------------------------------------------------------------------------


@each_transport
async def test_statistics_count_both_directions(scheme: str) -> None:
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        held = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        await soon(here.ask("desk", Say(text="")))
        here.tell("desk", Note(number=1))
        await desk.until("note 1")
        ours, theirs = here.statistics(), there.statistics()
        assert (ours.calls_sent, ours.tells_sent, ours.pending) == (2, 1, 1)
        assert (theirs.calls_received, theirs.tells_received, theirs.serving) == (2, 1, 1)
        assert (ours.frames_sent, ours.frames_received) == (3, 1)
        assert (ours.bytes_sent, ours.bytes_received) == (theirs.bytes_received, theirs.bytes_sent)
        assert (ours.peer, ours.address, ours.over) == (SERVER, here.address, None)
        assert repr(here) == f"<Link open to {SERVER} at {here.address}, 1 pending>"
        desk.let_go("a")
        await soon(held)
        await here.aclose()
        assert here.statistics().over == (f"the connection to {SERVER} at {here.address} was closed here")
        assert repr(here) == f"<Link over to {SERVER} at {here.address}, 0 pending>"


async def test_a_lease_that_is_too_short_is_refused() -> None:
    async with connected("inproc") as (dialled, _):
        with pytest.raises(InvalidArgumentError, match="at least two beats"):
            Link(dialled, serves={}, beat=1.0, lease=1.0)


# -- no memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["tcp", "unix"])
async def test_a_message_without_memory_fails_its_call_and_the_link_goes_on(scheme: str) -> None:
    """Whichever allocation fails, at either end; each of these calls needs some there and some here."""

    class Mirror(Desk):
        def on_say(self, message: Say, call: Any) -> Said:
            return Said(text=np.arange(2**17) if message.text == "array" else message.text)

    desk = Mirror()
    long = "x" * 2**19
    async with linked(scheme, serves={"desk": desk.ref}) as (here, _):
        waits = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        for text, expected in [("array", np.arange(2**17)), (long, np.array(long))]:
            nth = failed = 0
            is_short = True
            while is_short:
                nth += 1
                with pytest.MonkeyPatch.context() as patched:
                    shortage = Shortage(patched, nth)
                    try:
                        answer = await soon(here.ask("desk", Say(text=text)))
                    except ResourceExhaustedError as error:
                        failed += "no memory for the " in error.message
                    else:
                        assert np.array_equal(answer.text, expected)
                is_short = shortage.failed > 0
                assert await soon(here.ask("desk", Say(text="small"))) == Said(text="small")
            assert failed
        assert not here.closed
        desk.let_go("a")
        assert await soon(waits) == Said(text="a")


async def test_what_cannot_be_encoded_for_lack_of_memory_is_not_sent_and_the_link_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with linked("tcp", serves={"desk": Desk().ref}) as (here, _):
        with monkeypatch.context() as patched:
            patched.setattr("transports.stream.connection.encode_frame", mock.Mock(side_effect=MemoryError))
            with pytest.raises(ResourceExhaustedError, match="no memory to send a Call"):
                await soon(here.ask("desk", Say(text="x" * 2**17)))
        assert await soon(here.ask("desk", Say(text="hi"))) == Said(text="hi")


# -- long headers ----------------------------------------------------------------------------------


async def test_a_long_header_is_decoded_in_a_thread_while_other_links_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A long message arrives. 2. A short one arrives behind it. 3. Another link asks and is answered while
    the first is still decoded. 4. The two are answered in their order."""
    go, threads = threading.Event(), list[int]()

    def held(header: Any, segments: Any = ()) -> Any:
        if len(header) > 2**18:
            threads.append(threading.get_ident())
            assert go.wait(60), "nobody has let it be decoded"
        return decode(header, segments)

    monkeypatch.setattr("actorsession.rpc.link.decode", held)
    desk = Desk()
    serves, long = {"desk": desk.ref}, "x" * 2**18
    async with linked("tcp", serves=serves) as (here, _), linked("tcp", serves=serves) as (other, _):
        first = asyncio.ensure_future(here.ask("desk", Say(text=long)))
        await eventually(lambda: len(threads) == 1)
        second = asyncio.ensure_future(here.ask("desk", Say(text="behind it")))
        assert await soon(other.ask("desk", Say(text="beside it"))) == Said(text="beside it")
        assert not second.done()
        go.set()
        answers = await soon(asyncio.gather(first, second))
    assert [answer.text for answer in answers] == [long, "behind it"]
    assert threading.get_ident() not in threads


@each_transport
async def test_a_long_header_that_is_none_ends_its_link_as_a_short_one_does(scheme: str) -> None:
    async with linked(scheme, serves={}) as (here, there):
        here._connection.write(Frame(b"\xc1" * 2**19))
        assert "could not be accepted" in str(await soon(there.wait_closed()))
