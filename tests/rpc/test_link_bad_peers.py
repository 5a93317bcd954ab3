"""Peers that send what no link would: the call fails, or the link ends, and says why."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors import Children
from actorsession.errors import OpError, ProtocolError, UnavailableError
from actorsession.graph.codec import pack
from actorsession.messages import Call, Cancel, Reply, decode, encode
from actorsession.rpc import Link
from tests.actors.kit import CLIENT, SERVER, Desk, Hold, Note, Said, Say, connected, linked, soon
from tests.rpc.link_kit import frame_of, start
from transports import ConnectionClosed, Frame


async def send_raw(header: bytes, scheme: str = "inproc") -> tuple[list[Any], OpError | None]:
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
        over: OpError | None = None
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
    assert (failure.call_id, type(failure.error)) == (5, ProtocolError)
    assert words in str(failure.error)
    assert good == Reply(99, Said(text="good"))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"", "cannot decode"),
        (b"\xc1", "cannot decode"),
        (pack({"call": 1}), "an envelope must be a list"),
        (pack([16]), "the kind of an envelope"),
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
    assert isinstance(over, UnavailableError)
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
        with pytest.raises(ProtocolError, match="Say to 'desk'") as caught:
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
        with pytest.raises(UnavailableError):
            await soon(asker)
        assert "the mailbox of actor 'desk' is full" in str(await soon(there.wait_closed()))


@pytest.mark.parametrize("scheme", ["tcp", "unix"])
async def test_bytes_that_are_no_frame_end_the_link(scheme: str) -> None:
    async with connected(scheme) as (dialled, accepted):
        owner = Children("test")
        there = Link(accepted, serves={})
        await start(there, owner)
        dialled._transport.write(b"GET / HTTP/1.1\r\n\r\n")  # type: ignore[attr-defined]
        assert isinstance(await soon(there.wait_closed()), UnavailableError)
        await owner.stop()
