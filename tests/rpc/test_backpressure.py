"""Links under pressure: what waits, what is held back, and what passes."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import numpy as np
import pytest

from actorsession.actors import Children
from actorsession.errors import ResourceExhaustedError
from actorsession.messages import Beat, Call, Failure, Reply, decode, encode
from actorsession.messages.step_frames import CANCEL, RUN_GRAPH, WireValues, is_step_frame, read_header, write_header
from actorsession.rpc import Link
from actorsession.rpc import backpressure as room_module
from actorsession.rpc.pending_calls import MAX_PENDING
from actorsession.rpc.served_runs import ServedRun
from actorsession.rpc.service import MAX_SERVING
from tests.actors.kit import Desk, Hold, Note, Said, Say, Take, connected, eventually, linked, soon, turns
from transports import Connection, ConnectionClosed, Frame

MIB = 2**20


class Fetch:
    """The program of a step that fetches an array of a MiB, for a peer of a link."""

    def __init__(self, link: Link) -> None:
        self.number = link.steps.served.register(self)
        self.begun: list[int] = []

    def begin(self, run: ServedRun) -> None:
        self.begun.append(run.call)
        run.done(WireValues.of([np.zeros(MIB, np.uint8)]))

    def frame(self, call: int) -> Frame:
        return Frame(write_header([RUN_GRAPH, call, self.number, None, None]))


def frame_of(envelope: Any) -> Frame:
    return Frame(*encode(envelope))


async def start(link: Link, owner: Children) -> None:
    _ = owner.start(link.run(), name=repr(link))
    await asyncio.sleep(0)


@pytest.fixture
def small_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "BACKLOG", 2 * MIB)


@pytest.mark.parametrize("scheme", ["inproc", "tcp"])
async def test_a_peer_that_does_not_read_its_answers_gets_no_more_work_done(scheme: str, small_backlog: None) -> None:
    """1. The peer asks for fifty arrays and reads nothing; after some answers its runs are held. 2. Calls are answered
    all the same, and beats are sent. 3. It cancels a run that is held; then it reads, and has an answer to each of the
    others."""
    store, owner = Desk(), Children("test")
    async with connected(scheme) as (dialled, accepted):
        there = Link(accepted, serves={"desk": store.ref}, beat=0.02, lease=60.0)
        await start(there, owner)
        fetch = Fetch(there)
        for number in range(50):
            dialled.write(fetch.frame(number))
        await eventually(lambda: there.statistics().calls_received == 50)
        done = len(fetch.begun)
        assert done < 25
        assert there.statistics().held == there.statistics().serving == 50 - done
        dialled.write(frame_of(Call(99, "desk", 60.0, Say(text="how are you"))))
        dialled.write(Frame(write_header([CANCEL, 49])))
        sent = there.statistics().frames_sent
        await eventually(lambda: "how are you" in store.seen)
        await eventually(lambda: there.statistics().frames_sent >= sent + 3)
        assert len(fetch.begun) < 25  # but for what the kernel has taken
        answers = set[int]()
        while len(answers) < 50:
            frame = await soon(dialled.recv())
            if is_step_frame(frame.header):
                answers.add(read_header(frame.header)[1])
            elif isinstance(envelope := decode(*_parts(frame)), Reply):
                answers.add(envelope.call_id)
        assert answers == {*range(49), 99}
        await eventually(lambda: there.statistics().held == 0)
        await there.aclose()
        await owner.stop()


def _parts(frame: Frame) -> tuple[Any, Any]:
    return frame.header, frame.segments


async def test_runs_that_are_held_are_forgotten_with_the_link(small_backlog: None) -> None:
    owner = Children("test")
    async with connected("tcp") as (dialled, accepted):
        there = Link(accepted, serves={})
        await start(there, owner)
        fetch = Fetch(there)
        for number in range(50):
            dialled.write(fetch.frame(number))
        await eventually(lambda: there.statistics().held > 0)
        dialled.abort()
        await soon(there.wait_closed())
        assert there.statistics().held == 0
        await turns()
        assert len(fetch.begun) < 25
        await owner.stop()


class Ending:
    """A connection that has lost its peer, and whose end is not reported yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def unsent_exceeds(self, *marks: int) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def drain(self, above: int = 0) -> None:
        raise ConnectionClosed("it is about to end", address="tcp://x", by_us=False)


async def test_an_ending_connection_does_not_keep_the_loop_busy_with_held_runs(small_backlog: None) -> None:
    """Bytes that were not sent may be counted until the end is reported, in a later turn of the loop."""
    owner = Children("test")
    async with connected("tcp") as (dialled, accepted):
        there = Link(cast(Connection, Ending(accepted)), serves={})
        await start(there, owner)
        draining = asyncio.ensure_future(there.drain())
        fetch = Fetch(there)
        dialled.write(fetch.frame(1))
        await eventually(lambda: there.statistics().held == 1)
        await turns()
        assert not draining.done()
        dialled.abort()
        await soon(there.wait_closed())
        await soon(draining)
        assert there.statistics().held == 0
        assert fetch.begun == []
        await owner.stop()


async def test_a_cancel_passes_the_arrays_of_other_calls_and_of_its_own() -> None:
    """The call comes after its cancellation, and is not begun."""
    store, owner = Desk(), Children("test")
    async with linked("tcp", serves={"desk": store.ref}) as (here, there):
        held = asyncio.create_task(here.ask("desk", Hold(name="held")))
        await store.until("held began")
        large = np.zeros(32 * MIB, np.uint8)
        first = asyncio.create_task(here.ask("desk", Take(name="first", array=large)))
        await turns()
        assert here.statistics().send_buffer > 16 * MIB
        held.cancel()
        first.cancel()
        await store.until("held cancelled")
        assert there.statistics().bytes_received < 32 * MIB
        await soon(here.ask("desk", Say(text="after")))
        await eventually(lambda: there.statistics().bytes_received > 32 * MIB)
        await turns()
        assert "first" not in store.seen
    await owner.stop()


async def test_a_tell_may_be_sent_behind_the_arrays_before_it() -> None:
    store = Desk()
    async with linked("tcp", serves={"desk": store.ref}) as (here, _):
        asking = asyncio.create_task(here.ask("desk", Take(name="array", array=np.zeros(16 * MIB, np.uint8))))
        await turns()
        here.tell("desk", Note(number=1), ordered=True)
        here.tell("desk", Note(number=2))
        await soon(asking)
        await store.until("note 1")
        assert [n for n in store.seen if not str(n).startswith("note")] == [2, "array", 1]


async def test_asks_that_wait_for_a_slow_peer_are_written_one_after_the_other() -> None:
    """Room for one array does not let all of them in at once."""
    store, owner = Desk(), Children("test")
    async with connected("tcp") as (dialled, accepted):
        here = Link(dialled, serves={})
        await start(here, owner)
        array = np.zeros(8 * MIB, np.uint8)
        asks = [asyncio.create_task(here.ask("desk", Take(name=str(number), array=array))) for number in range(20)]
        await turns()
        assert here.statistics().waiting == 19
        most = [0]

        async def look() -> None:
            while True:
                most[0] = max(most[0], here.statistics().send_buffer)
                await asyncio.sleep(0)

        looking = asyncio.create_task(look())
        there = Link(accepted, serves={"desk": store.ref})
        await start(there, owner)
        assert await soon(asyncio.gather(*asks)) == [Said(text=str(n)) for n in range(20)]
        assert store.seen == [str(number) for number in range(20)]
        assert most[0] < 20 * MIB
        looking.cancel()
        await here.aclose()
        await owner.stop()


async def test_asks_over_the_limit_of_a_link_wait_for_an_answer() -> None:
    store, names = Desk(), [str(number) for number in range(MAX_PENDING + 2)]
    async with linked("inproc", serves={"desk": store.ref}) as (here, _):
        asks = [asyncio.create_task(here.ask("desk", Hold(name=name))) for name in names]
        await store.until(f"{names[-3]} began")
        await turns()
        assert (here.statistics().pending, here.statistics().waiting) == (MAX_PENDING, 2)
        asks[-2].cancel()
        await turns()
        assert here.statistics().waiting == 1
        for name in names:
            store.let_go(name)
        answers = await soon(asyncio.gather(*asks, return_exceptions=True))
        expected = [*names[:-2], None, names[-1]]
        assert [getattr(answer, "text", None) for answer in answers] == expected


async def answered(dialled: Connection) -> Any:
    """The next message that is no heartbeat."""
    while isinstance(message := decode(*_parts(await soon(dialled.recv()))), Beat):
        pass
    return message


async def test_calls_over_the_limit_of_a_peer_are_refused_and_the_link_stays() -> None:
    store, owner = Desk(), Children("test")
    async with connected("tcp") as (dialled, accepted):
        there = Link(accepted, serves={"desk": store.ref})
        await start(there, owner)
        for number in range(MAX_SERVING + 1):
            dialled.write(frame_of(Call(number, "desk", 600.0, Hold(name=str(number)))))
        answer = await answered(dialled)
        assert isinstance(answer, Failure)
        assert answer.call_id == MAX_SERVING
        assert isinstance(answer.error, ResourceExhaustedError)
        store.let_go("0")
        assert await answered(dialled) == Reply(0, Said(text="0"))
        await there.aclose()
        await owner.stop()


async def test_an_ask_without_arrays_passes_those_that_wait_with_theirs() -> None:
    """The peer reads slowly; what it is asked in few bytes it hears before most of the arrays."""
    store = Desk()
    async with linked("tcp", serves={"desk": store.ref}) as (here, there):
        array = np.zeros(24 * MIB, np.uint8)
        asks = [here.ask("desk", Take(name=str(number), array=array)) for number in range(4)]
        large = asyncio.gather(*asks)
        await turns()
        assert here.statistics().waiting == 3
        assert await soon(here.ask("desk", Say(text="small"))) == Said(text="small")
        assert there.statistics().bytes_received < 48 * MIB
        await soon(large)
        assert store.seen == ["small", "0", "1", "2", "3"]


class Free:
    """A connection that has just become free."""

    congested, ahead, full = False, 0, False

    def unsent_exceeds(self, nbytes: int) -> bool:
        return False


def test_an_ask_with_arrays_waits_behind_those_that_wait_though_there_is_room_now() -> None:
    """Those have been woken, and have not been written yet."""
    state: Any = Free()
    room = room_module.Backpressure(state, state)
    large = Take(name="large", array=np.zeros(MIB, np.uint8))
    assert not room.must_wait(large)
    room.waiting = 1
    assert room.must_wait(large)
    assert not room.must_wait(Say(text="small"))


async def test_asks_without_arrays_wait_when_there_are_too_many_of_them() -> None:
    owner = Children("test")
    async with connected("tcp") as (dialled, accepted):
        here = Link(dialled, serves={})
        await start(here, owner)
        text = "x" * 60_000
        asks = [asyncio.create_task(here.ask("desk", Say(text=text))) for _ in range(400)]
        await turns()
        assert here.statistics().waiting > 100
        assert here.statistics().send_buffer < 8 * MIB
        there = Link(accepted, serves={"desk": Desk().ref})
        await start(there, owner)
        assert len(await soon(asyncio.gather(*asks))) == 400
        await here.aclose()
        await owner.stop()
