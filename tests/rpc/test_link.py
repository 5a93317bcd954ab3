"""A link between two processes: asks, answers and tells, and what it counts of them."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from actorsession import errors, metrics
from actorsession.actors import Children, Deadline
from actorsession.graph.codec import pack
from actorsession.messages import Beat, Call, Cancel, Reply, decode, encode
from actorsession.rpc import Link, RemoteRef
from actorsession.testing import StillClock
from tests.actors.kit import (
    CLIENT,
    SERVER,
    Break,
    Desk,
    Hold,
    Note,
    Said,
    Say,
    Take,
    connected,
    desk_at,
    each_transport,
    eventually,
    linked,
    soon,
    turns,
)
from tests.allocation_failures import Shortage
from tests.loops import cancelled
from tests.rows import for_each
from transports import ConnectionClosed, Frame
from transports.host import Host, on_host


def frame_of(envelope: Any) -> Frame:
    """A message as it travels."""
    return Frame(*encode(envelope))


async def start(link: Link, owner: Children) -> None:
    """Begins to receive, in a child of the owner."""
    _ = owner.start(link.run(), name=repr(link))
    await asyncio.sleep(0)


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
    async with desk_at(scheme) as (desk, here, _):
        for number in range(100):
            here.tell("desk", Note(number=number))
        await soon(here.ask("desk", Say(text="last")))
        assert [n for n in desk.seen if not str(n).startswith("note")] == [*range(100), "last"]


@each_transport
async def test_a_handler_that_waits_does_not_hold_up_other_calls(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, _):
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
        with pytest.raises(errors.FailedPreconditionError, match="broken") as caught:
            await soon(here.ask("desk", Break(kind="ours", late=late)))
        assert caught.value.task == SERVER


async def test_the_context_names_the_peer_and_its_address() -> None:
    async with desk_at("tcp") as (desk, here, there):
        await soon(here.ask("desk", Say(text="")))
        (context,) = desk.contexts
        assert (context.peer, context.address) == (CLIENT, there.address)
        assert there.address.startswith("tcp://127.0.0.1:")


async def test_of_the_reasons_that_a_peer_gives_for_the_end_the_last_one_counts_and_is_kept() -> None:
    async with linked("tcp", serves={"desk": Desk().ref}) as (here, there):
        for number in range(1000):
            there.say_goodbye(f"reason {number}")
        await eventually(lambda: here._end.announced == "reason 999")


async def test_a_peer_that_lives_is_told_why_its_link_is_dropped() -> None:
    async with linked("tcp", serves={"desk": Desk().ref}) as (here, there):
        there.drop("the client has left")
        error = await soon(here.wait_closed())
        assert isinstance(error, errors.UnavailableError)
        assert error.message.startswith("the client has left: the connection to ")


async def test_a_peer_that_writes_meanwhile_is_told_why_its_link_is_dropped() -> None:
    """1. A peer writes at each turn of the loop. 2. The link is dropped, with something of that unread: to close the
    connection at once would reset it. 3. The peer, whose write would then fail before it reads, has the reason."""
    for count in range(20):
        async with linked("tcp", serves={"desk": Desk().ref}) as (here, there):
            for turn in itertools.count():
                if turn == count:
                    there.drop("the client has left")
                if here.closed:
                    break
                here.tell("desk", Note(number=turn))
                await asyncio.sleep(0)
            error = await soon(here.wait_closed())
            assert error.message.startswith("the client has left: the connection to "), count


async def test_the_name_of_the_peer_may_be_given() -> None:
    async with connected("inproc") as (dialled, _):
        assert Link(dialled, serves={}).peer_name == SERVER
        assert Link(dialled, serves={}).peer.incarnation == 1
        assert Link(dialled, serves={}, peer_name="ps0").peer_name == "ps0"


@each_transport
async def test_cancelling_an_ask_cancels_the_remote_handler(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        await cancelled(asker)
        await desk.until("a cancelled")
        assert (here.statistics().pending, there.statistics().serving) == (0, 0)


@each_transport
async def test_the_deadline_holds_at_both_ends(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, _):
        with pytest.raises(errors.DeadlineExceededError, match=r"Hold to .*'desk'.* within"):
            await soon(here.ask("desk", Hold(name="a"), Deadline.after(0.05)))
        await desk.until("a cancelled")
        left = desk.contexts[0].deadline.time_left
        assert left is not None
        assert left < 0.05


async def test_a_deadline_that_is_over_sends_nothing() -> None:
    async with linked("inproc", serves={"desk": Desk().ref}) as (here, _):
        with pytest.raises(errors.DeadlineExceededError, match=f"was not sent to {SERVER} at inproc://"):
            await here.ask("desk", Say(text=""), Deadline.after(0))
        assert here.statistics().calls_sent == 0


async def test_without_a_deadline_thirty_seconds_travel() -> None:
    async with desk_at("inproc") as (desk, here, _):
        await soon(here.ask("desk", Say(text="")))
        assert 25 < (desk.contexts[0].deadline.time_left or 0) <= 30


async def test_what_does_not_travel_is_the_senders_error_and_the_link_stays() -> None:
    async with linked("inproc", serves={"desk": Desk().ref}) as (here, _):
        with pytest.raises(errors.InvalidArgumentError):
            await here.ask("desk", Say(text=object()))  # type: ignore[arg-type]
        with pytest.raises(errors.InvalidArgumentError):
            here.tell("desk", object())
        assert await soon(here.ask("desk", Say(text="next"))) == Said(text="next")


async def test_a_remote_ref_asks_and_tells_its_target() -> None:
    async with desk_at("inproc") as (desk, here, _):
        ref = RemoteRef(here, "desk")
        assert await soon(ref.ask(Say(text="hi"))) == Said(text="hi")
        ref.tell(Note(number=7))
        await desk.until("note 7")
        with pytest.raises(errors.DeadlineExceededError):
            await soon(ref.ask(Hold(name="a"), Deadline.after(0.02)))


async def test_an_actor_of_a_third_process_is_reached_through_a_ref() -> None:
    """Client, middle and server: the middle serves its ref to the server's actor."""
    async with desk_at("inproc") as (desk, middle, _):
        async with linked("tcp", serves={"desk": RemoteRef(middle, "desk")}) as (client, _):
            assert await soon(client.ask("desk", Say(text="far"))) == Said(text="far")
            asker = asyncio.create_task(client.ask("desk", Hold(name="a")))
            await desk.until("a began")
            asker.cancel()
            await desk.until("a cancelled")
            with pytest.raises(errors.NotFoundError, match="no actor 'nobody' here; there are: desk"):
                await soon(client.ask("nobody", Say(text="")))


# -- statistics ------------------------------------------------------------------------------------
@each_transport
async def test_statistics_count_both_directions(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, there):
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
        with pytest.raises(errors.InvalidArgumentError, match="at least two beats"):
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
                    except errors.ResourceExhaustedError as error:
                        failed += "no memory for the " in error.message
                    else:
                        assert np.array_equal(answer.text, expected)
                is_short = shortage.failed > 0
                assert await soon(here.ask("desk", Say(text="small"))) == Said(text="small")
            assert failed
        assert not here.closed
        desk.let_go("a")
        assert await soon(waits) == Said(text="a")


async def test_what_cannot_be_encoded_without_memory_is_not_sent_and_the_link_stays(monkeypatch: Any) -> None:
    async with linked("tcp", serves={"desk": Desk().ref}) as (here, _):
        with monkeypatch.context() as patched:
            patched.setattr("transports.stream.connection.encode_frame", mock.Mock(side_effect=MemoryError))
            with pytest.raises(errors.ResourceExhaustedError, match="no memory to send a Call"):
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


# -- the end of the link ---------------------------------------------------------------------------
async def cut_by_peer(here: Link, there: Link) -> None:
    await there.aclose()


async def cut_hard(here: Link, there: Link) -> None:
    there._connection.abort()


@each_transport
@pytest.mark.parametrize("cut", [cut_by_peer, cut_hard])
async def test_a_lost_link_fails_every_pending_ask_at_once(scheme: str, cut: Callable[[Link, Link], Any]) -> None:
    async with desk_at(scheme) as (desk, here, there):
        askers = [asyncio.create_task(here.ask("desk", Hold(name=f"{i}"))) for i in range(3)]
        for i in range(3):
            await desk.until(f"{i} began")
        await cut(here, there)
        for outcome in await soon(asyncio.gather(*askers, return_exceptions=True)):
            assert isinstance(outcome, errors.UnavailableError)
            assert outcome.task == SERVER
            told = f"the connection to {SERVER} at {here.address} was closed by the peer"
            assert str(outcome).startswith(told)
            assert outcome.__notes__ == ["Hold to 'desk' has no answer"]
        for i in range(3):
            await desk.until(f"{i} cancelled")
        assert here.closed
        assert isinstance(await soon(here.wait_closed()), errors.UnavailableError)


@each_transport
async def test_after_the_loss_asks_and_tells_fail_with_the_same_reason(scheme: str) -> None:
    async with linked(scheme, serves={"desk": Desk().ref}) as (here, there):
        await there.aclose()
        await soon(here.wait_closed())
        with pytest.raises(errors.UnavailableError, match="Say to 'desk' has no answer"):
            await here.ask("desk", Say(text=""))
        with pytest.raises(errors.UnavailableError, match="was closed by the peer"):
            here.tell("desk", Note(number=1))


@each_transport
async def test_closing_it_ourselves_cancels_pending_asks_and_says_who_did(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        await here.aclose()
        expected = r"was closed here\nHold to 'desk' has no answer"
        with pytest.raises(errors.CancelledError, match=expected) as caught:
            await soon(asker)
        assert caught.value.task is None
        with pytest.raises(errors.CancelledError, match="closed here"):
            await here.ask("desk", Say(text=""))
        await desk.until("a cancelled")
        assert isinstance(await soon(there.wait_closed()), errors.UnavailableError)


@each_transport
async def test_what_was_told_before_a_close_arrives(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, _):
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
        await cancelled(runner)
        with pytest.raises(errors.CancelledError, match="its receive loop was cancelled"):
            await soon(asker)
        assert isinstance(await soon(there.wait_closed()), errors.UnavailableError)
        await owner.stop()


async def test_the_receive_loop_runs_once() -> None:
    async with linked("inproc") as (here, _):
        with pytest.raises(RuntimeError, match="is run by somebody already"):
            await here.run()


@each_transport
async def test_callbacks_are_called_once_with_the_reason_after_pending_asks_have_failed(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, there):
        heard: list[tuple[type[errors.OpError], int]] = []

        def callback(error: errors.OpError) -> None:
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
        assert heard == [(errors.UnavailableError, 0)] * 2
        await soon(asyncio.gather(asker, return_exceptions=True))


async def test_a_callback_that_fails_does_not_hold_up_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async with linked("inproc") as (here, there):
        heard: list[errors.OpError] = []

        def fail(_: errors.OpError) -> None:
            raise KeyError("mine")

        here.on_closed(fail)
        here.on_closed(heard.append)
        await there.aclose()
        await soon(here.wait_closed())
        assert len(heard) == 1
        assert f"a callback for the end of the link to {SERVER} failed" in caplog.text


@each_transport
async def test_a_handler_hears_that_its_caller_is_gone(scheme: str) -> None:
    async with desk_at(scheme) as (desk, here, there):
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


@for_each("second", ENDINGS)
@for_each("first", ENDINGS)
async def test_an_ask_over_a_link_ends_once_whatever_comes_first(first: str, second: str) -> None:
    """Each pair of endings in both orders within one turn of the loop, over tcp."""
    async with desk_at("tcp") as (desk, here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        for name in (first, second):
            ENDINGS[name](desk, here, there, asker)
        (outcome,) = await soon(asyncio.gather(asker, return_exceptions=True))
        expected: dict[str, Any] = {
            "answer": Said,
            "cancel": asyncio.CancelledError,
            "peer goes": errors.UnavailableError,
            "we go": errors.CancelledError,
        }
        assert type(outcome) in {expected[first], expected[second]}
        if "cancel" in (first, second):
            assert type(outcome) is asyncio.CancelledError
        assert here.statistics().pending == 0


# -- signs of life ---------------------------------------------------------------------------------
@each_transport
async def test_beats_keep_an_idle_link_alive(scheme: str) -> None:
    async with linked(scheme, serves={"desk": Desk().ref}, beat=0.02, lease=0.2) as (here, there):
        both = (here, there)
        await eventually(lambda: min(link.statistics().frames_received for link in both) >= 20)
        assert (here.closed, there.closed) == (False, False)
        assert await soon(here.ask("desk", Say(text="hi"))) == Said(text="hi")


@each_transport
async def test_each_end_measures_how_long_a_heartbeat_takes_to_the_other_and_back(scheme: str) -> None:
    before = metrics.round_trips()
    async with linked(scheme, serves={}, beat=0.02, lease=10.0) as (here, there):
        await eventually(lambda: bool(here.statistics().round_trip and there.statistics().round_trip))
        assert max(here.statistics().round_trip, there.statistics().round_trip) < 10
    measured = metrics.round_trips() - before
    assert measured.total >= 2
    assert measured.sum > 0


async def test_an_answer_to_a_heartbeat_that_did_not_ask_measures_nothing() -> None:
    async with connected("inproc") as (dialled, accepted):
        owner = Children("test")
        here = Link(dialled, serves={}, beat=5.0, lease=10.0)
        await start(here, owner)
        for number in (1, 2**62):
            accepted.write(frame_of(Beat(answers=number)))
        accepted.write(frame_of(Beat(asks=7)))
        assert decode(*await soon(accepted.recv())) == Beat(answers=7)
        assert here.statistics().round_trip == 0
        await here.aclose()
        await owner.stop()


@each_transport
async def test_a_peer_that_says_nothing_is_lost_when_the_lease_is_over(scheme: str) -> None:
    async with connected(scheme) as (dialled, _):
        owner = Children("test")
        here = Link(dialled, serves={}, beat=0.02, lease=0.1)
        await start(here, owner)
        started = time.monotonic()
        with pytest.raises(errors.UnavailableError, match=r"nothing came from it for 0\.\d+ s; the conn"):
            await soon(here.ask("desk", Say(text="")))
        assert 0.05 < time.monotonic() - started < 5
        await owner.stop()


async def test_the_lease_is_measured_by_the_clock_of_the_host() -> None:
    """1. The host's clock stands still while the peer is silent for many leases: the link stays. 2. The clock goes
    on, a beat at a time: the peer is lost within the lease."""
    clock = StillClock()
    async with connected("inproc") as (dialled, _):
        owner = Children("test")
        with on_host(Host(clock=clock)):
            here = Link(dialled, serves={}, beat=0.01, lease=0.05)
        await start(here, owner)
        await eventually(lambda: here.statistics().frames_sent >= 20)
        assert here.statistics().over is None

        async def another_beat() -> None:
            sent = here.statistics().frames_sent
            await eventually(lambda: here.closed or here.statistics().frames_sent > sent)

        for _ in range(6):
            clock.advance(0.01)
            await another_beat()
        assert here.closed
        assert isinstance(await soon(here.wait_closed()), errors.UnavailableError)
        await owner.stop()


# -- slow peers ------------------------------------------------------------------------------------
@each_transport
async def test_an_ask_waits_for_a_peer_that_reads_slowly_beats_and_cancels_do_not(scheme: str) -> None:
    """1. The peer reads nothing; what we tell it fills the buffers beyond the high-water mark. 2. An ask that brings an
    array waits for room, and its deadline names the peer. 3. A tell, a beat and the cancel of an earlier ask are
    written all the same."""
    async with connected(scheme) as (dialled, accepted):
        owner = Children("test")
        here = Link(dialled, serves={}, beat=0.02, lease=60.0)
        await start(here, owner)
        early = asyncio.create_task(here.ask("desk", Hold(name="early")))
        await turns()
        big = Say(text="x" * 2**20)
        large = Take(name="large", array=np.zeros(2**20))
        for _ in range(16):
            here.tell("desk", big)
        written = here.statistics().frames_sent
        with pytest.raises(errors.DeadlineExceededError, match=f"{SERVER} at .* to read on, before the"):
            await soon(here.ask("desk", large, Deadline.after(0.05)))
        assert here.statistics().calls_sent == 1
        early.cancel()
        await soon(asyncio.gather(early, return_exceptions=True))
        # The cancel, and beats.
        await eventually(lambda: here.statistics().frames_sent >= written + 3)
        waiting = asyncio.create_task(here.ask("desk", large))
        await turns()
        there = Link(accepted, serves={"desk": Desk().ref})
        await start(there, owner)
        assert await soon(waiting) == Said(text="large")
        await here.aclose()
        await owner.stop()


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "closed here"])
async def test_asks_that_wait_for_room_fail_when_the_link_ends(lost: bool) -> None:
    """However many there are, which notice it one after the other, while closing the link ends what is left of it."""
    async with connected("inproc") as (dialled, accepted):
        owner = Children("test")
        here = Link(dialled, serves={})
        await start(here, owner)
        here.tell("desk", Say(text="x" * 2**22))
        askers = [asyncio.create_task(here.ask("desk", Say(text=""))) for _ in range(20)]
        await turns()
        assert here.statistics().calls_sent == 0
        await cancelled(askers.pop())
        if lost:
            accepted.abort()
        else:
            await soon(here.aclose(0.0))
        for asker in askers:
            kind = errors.UnavailableError if lost else errors.CancelledError
            with pytest.raises(kind, match="Say to 'desk' has no answer"):
                await soon(asker)
        await owner.stop()


async def test_a_flood_of_frames_lets_the_loop_have_its_turn() -> None:
    async with desk_at("inproc") as (desk, here, _):
        for number in range(1000):
            here.tell("desk", Note(number=number))
        seen = []
        while 999 not in desk.seen:
            await asyncio.sleep(0)
            seen.append(len([n for n in desk.seen if isinstance(n, int)]))
        steps = [after - before for before, after in itertools.pairwise(seen)]
        assert max(steps) <= 64


async def send_raw(header: bytes, scheme: str = "inproc") -> tuple[list[Any], errors.OpError | None]:
    """Sends a header to a link, then a good call.

    Returns:
        What came back, up to the answer to the good call, and why the link was over, if it was.
    """
    async with connected(scheme) as (dialled, accepted):
        owner = Children("test")
        there = Link(accepted, serves={"desk": Desk().ref})
        await start(there, owner)
        dialled.write(Frame(header))
        dialled.write(frame_of(Call(99, "desk", None, Say(text="good"))))
        answers: list[Any] = []
        over: errors.OpError | None = None
        try:
            while not answers or answers[-1].call_id != 99:
                frame = await soon(dialled.recv())
                answers.append(decode(frame.header, frame.segments))
        except ConnectionClosed:
            over = await soon(there.wait_closed())
        await there.aclose()
        await owner.stop()
        return answers, over


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ([1, 5, "desk", None, ["nope"]], "unknown message tag 'nope'"),
        ([1, 5, "desk", None, ["test.say", 3]], "field 'text' is declared str"),
        ([1, 5, "desk", "soon", ["test.say", "x"]], "a time left must be a number of seconds"),
        ([1, 5, 7, None, ["test.say", "x"]], "a target must be the name"),
    ],
    ids=repr,
)
async def test_a_bad_call_is_answered_with_a_protocol_error_and_the_link_stays(wire: Any, words: str) -> None:
    (failure, good), over = await send_raw(pack(wire))
    assert over is None
    assert (failure.call_id, type(failure.error)) == (5, errors.ProtocolError)
    assert words in str(failure.error)
    assert good == Reply(99, Said(text="good"))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"", "cannot decode"),
        (b"\xc1", "cannot decode"),
        (pack({"call": 1}), "an envelope must be a list"),
        (pack([20]), "the kind of an envelope"),
        (pack([2, "desk", ["nope"]]), "unknown message tag"),
        (pack([1, "x", "desk", None, ["test.say", "x"]]), "a call id must be an int"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scheme", ["inproc", "tcp"])
async def test_what_cannot_be_understood_at_all_ends_the_link_and_is_logged(
    header: bytes, words: str, scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    answers, over = await send_raw(header, scheme)
    assert answers == []
    assert isinstance(over, errors.UnavailableError)
    assert words in str(over)
    assert f"closing the link to {CLIENT}" in caplog.text


@pytest.mark.parametrize("answer", [[3, 0, ["nope"]], [3, 0, ["done"]], [4, 0, "x"]], ids=repr)
async def test_a_bad_answer_fails_its_ask_and_the_link_stays(answer: Any) -> None:
    async with connected("inproc") as (dialled, accepted):
        owner = Children("test")
        here = Link(dialled, serves={})
        await start(here, owner)
        asker = asyncio.create_task(here.ask("desk", Say(text="")))
        await soon(accepted.recv())
        accepted.write(Frame(pack(answer)))
        with pytest.raises(errors.ProtocolError, match="Say to 'desk'") as caught:
            await soon(asker)
        assert caught.value.task == SERVER
        assert not here.closed
        await here.aclose()
        await owner.stop()


async def test_answers_to_calls_that_nobody_made_are_harmless() -> None:
    for envelope in (Reply(3, Said(text="")), Cancel(4)):
        (good,), over = await send_raw(encode(envelope)[0])
        assert (good.message, over) == (Said(text="good"), None)


async def test_a_tell_that_finds_no_room_ends_the_link() -> None:
    desk = Desk(limit=1)
    async with linked("inproc", serves={"desk": desk.ref}) as (here, there):
        asker = asyncio.create_task(here.ask("desk", Hold(name="a")))
        await desk.until("a began")
        here.tell("desk", Note(number=1))
        with pytest.raises(errors.UnavailableError):
            await soon(asker)
        assert "the mailbox of actor 'desk' is full" in str(await soon(there.wait_closed()))


@pytest.mark.parametrize("scheme", ["tcp", "unix"])
async def test_bytes_that_are_no_frame_end_the_link(scheme: str) -> None:
    async with connected(scheme) as (dialled, accepted):
        owner = Children("test")
        there = Link(accepted, serves={})
        await start(there, owner)
        dialled._transport.write(b"GET / HTTP/1.1\r\n\r\n")  # type: ignore[attr-defined]
        assert isinstance(await soon(there.wait_closed()), errors.UnavailableError)
        await owner.stop()
