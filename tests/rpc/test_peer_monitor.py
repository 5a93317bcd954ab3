"""Watching a silent peer: on this host by its process, elsewhere through its sidecar."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation, HeartbeatMemory, this_host
from actorsession.rpc.liveness.lease import Look
from actorsession.rpc.liveness.peer_monitor import LocalProbe, PeerMonitor, RemoteProbe
from actorsession.rpc.liveness.sidecar import ASKED, Sighting, answer, ask, derive_key, read_answer, sight
from tests.actors.kit import eventually

pytestmark = pytest.mark.skipif(not this_host(), reason="needs /proc")

LEASE = 0.1
KEY = derive_key("secret", b"s" * 16)
NONCE = b"n" * 16


# -- on this host ----------------------------------------------------------------------------------


async def test_a_peer_whose_loop_turns_is_cut_off() -> None:
    with HeartbeatMemory(0.02) as pulse:
        watch = LocalProbe(os.getpid(), pulse.note, LEASE)
        assert watch.sees()

        def found() -> bool:
            watch.look(time.monotonic())
            return watch.finding(time.monotonic(), LEASE) is not None

        await eventually(found)
        finding = watch.finding(time.monotonic(), LEASE)
        assert finding == f"process {os.getpid()} runs, so what it sends does not come through"


async def test_a_number_that_was_given_out_again_is_not_believed() -> None:
    with HeartbeatMemory() as pulse:
        note = replace(pulse.note, started=pulse.note.started - 1)
    assert not LocalProbe(os.getpid(), note, LEASE).sees()


async def test_only_the_memory_of_a_pulse_is_opened_by_its_number() -> None:
    """A pipe would take the byte away from its reader, and a terminal or a lock might do worse."""
    reading, writing = os.pipe()
    try:
        os.write(writing, b"12345678")
        with HeartbeatMemory() as pulse:
            watch = LocalProbe(os.getpid(), replace(pulse.note, memory=reading), LEASE)
            for now in range(5):
                watch.look(float(now))
            assert watch._turns() is None
        assert os.read(reading, 99) == b"12345678"
    finally:
        os.close(reading)
        os.close(writing)


def test_looking_at_a_process_of_this_host_takes_microseconds() -> None:
    """It is done on the loop: at most once per beat and silent peer."""
    own = _own_note()
    watch = LocalProbe(os.getpid(), own, LEASE)
    times = []
    for now in range(50):
        begin = time.perf_counter()
        watch.look(float(now))
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.005


def _own_note() -> HeartbeatLocation:
    async def main() -> HeartbeatLocation:
        with HeartbeatMemory() as pulse:
            return pulse.note

    return asyncio.run(main())


# -- the datagrams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seen", [Sighting("R", 12.25, 2**40), Sighting("T", 0.0, None)])
def test_what_was_seen_survives_the_wire(seen: Sighting) -> None:
    reply = answer(KEY, ask(KEY, NONCE), seen)
    assert reply is not None
    assert read_answer(KEY, NONCE, reply) == seen


def test_an_answer_is_no_longer_than_its_question() -> None:
    question = ask(KEY, NONCE)
    assert len(question) == len(answer(KEY, question, Sighting("R", 1.0, 1)) or b"") == ASKED


def test_who_does_not_have_the_token_is_not_answered() -> None:
    seen = Sighting("R", 1.0, 1)
    for key in (derive_key("other", b"s" * 16), derive_key(None, b"s" * 16), derive_key("secret", b"")):
        assert answer(KEY, ask(key, NONCE), seen) is None


@pytest.mark.parametrize("cut", [0, 1, 16, ASKED - 1])
def test_bytes_that_are_no_question_are_not_answered(cut: int) -> None:
    question, seen = ask(KEY, NONCE), Sighting("R", 1.0, 1)
    changed = bytearray(question)
    changed[cut] ^= 1
    assert answer(KEY, question[:cut], seen) is None
    assert answer(KEY, bytes(changed), seen) is None
    assert answer(KEY, question + b"x", seen) is None


def test_an_answer_to_another_question_or_of_another_is_no_answer() -> None:
    reply = answer(KEY, ask(KEY, NONCE), Sighting("R", 1.0, 1))
    assert reply is not None
    assert read_answer(KEY, b"m" * 16, reply) is None
    assert read_answer(derive_key("other", b"s" * 16), NONCE, reply) is None
    assert read_answer(KEY, NONCE, reply[:-1]) is None
    # Nor is a question that comes back.
    assert read_answer(KEY, NONCE, ask(KEY, NONCE)) is None


# -- through a sidecar ---------------------------------------------------------------------------


class _Sidecar(asyncio.DatagramProtocol):
    """Says what a test wants it to."""

    def __init__(self) -> None:
        self.seen: Sighting | None = sight(os.getpid(), _started())
        self.asked = 0
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.asked += 1
        reply = None if self.seen is None else answer(KEY, data, self.seen)
        if reply is not None:
            self.transport.sendto(b"no answer at all", addr)
            self.transport.sendto(reply, addr)


def _started() -> int:
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


@asynccontextmanager
async def sidecar() -> AsyncIterator[tuple[_Sidecar, int]]:
    transport, made = await asyncio.get_running_loop().create_datagram_endpoint(_Sidecar, local_addr=("127.0.0.1", 0))
    try:
        yield made, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


async def looked(watch: RemoteProbe, now: float) -> str | None:
    work = watch.look(now)
    assert work is not None
    await work
    return watch.finding(now, LEASE)


async def test_a_sidecar_is_asked_what_the_peer_does() -> None:
    async with sidecar() as (made, port):
        watch = RemoteProbe("127.0.0.1", port, KEY, 7, 5.0, LEASE)
        made.seen = Sighting("R", 1.0, 1)
        assert await looked(watch, 1.0) is None
        made.seen = Sighting("T", 1.0, 1)
        assert await looked(watch, 2.0) == "process 7 is stopped (SIGSTOP?)"
        watch.heard()
        assert watch.finding(2.0, 1.0) is None


async def test_a_sidecar_is_asked_one_thing_at_a_time() -> None:
    async with sidecar() as (made, port):
        watch = RemoteProbe("127.0.0.1", port, KEY, 7, 5.0, LEASE)
        work = watch.look(1.0)
        assert work is not None
        assert watch.look(2.0) is None
        await work
        assert made.asked == 1
        assert await looked(watch, 3.0) is None


async def test_a_sidecar_that_does_not_answer_twice_says_that_its_host_is_lost() -> None:
    """Each question is sent again a few times before: a datagram may be lost."""
    async with sidecar() as (made, port):
        made.seen = None
        watch = RemoteProbe("127.0.0.1", port, KEY, 7, 0.1, LEASE)
        assert await looked(watch, 1.0) is None
        assert made.asked >= 2
        found = await looked(watch, 2.0)
        assert found == f"its sidecar at 127.0.0.1, udp port {port}, does not answer either"
        made.seen = Sighting("R", 1.0, 1)
        assert await looked(watch, 3.0) is None


async def test_a_sidecar_that_is_not_there_or_knows_another_token_does_not_answer() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        held.connect(held.getsockname())  # so the kernel tells everybody else that nobody is there
        async with sidecar() as (_, port):
            stranger = derive_key("other", b"s" * 16)
            for watch in (
                RemoteProbe("127.0.0.1", held.getsockname()[1], KEY, 7, 0.05, LEASE),
                RemoteProbe("127.0.0.1", port, stranger, 7, 0.05, LEASE),
            ):
                await looked(watch, 1.0)
                assert "does not answer either" in (await looked(watch, 2.0) or "")


async def test_an_answer_that_comes_when_the_peer_was_heard_again_is_forgotten() -> None:
    async with sidecar() as (made, port):
        made.seen = Sighting("T", 1.0, 1)
        watch = RemoteProbe("127.0.0.1", port, KEY, 7, 5.0, LEASE)
        work = watch.look(1.0)
        assert work is not None
        watch.heard()
        await work
        assert watch.finding(2.0, LEASE) is None


# -- what a link makes of it -----------------------------------------------------------------------


class _Told:
    """A watch that finds what a test says."""

    def __init__(self) -> None:
        self.found: str | None = None
        self.calls: list[str] = []

    def heard(self) -> None:
        self.calls.append("heard")

    def look(self, now: float) -> None:
        self.calls.append("look")

    def finding(self, now: float, silence: float) -> str | None:
        return self.found


def judged(vigil: PeerMonitor, silence: float) -> str | None:
    return vigil.judge(Look(False, silence, silence >= 5.0), 0.0)[0]


def test_a_peer_that_nobody_watches_is_lost_when_its_lease_is_over() -> None:
    vigil = PeerMonitor(None, 1.0, "ps")
    assert judged(vigil, 4.0) is None
    assert judged(vigil, 5.0) == "nothing came from it for 5 s"


def test_a_watched_peer_is_lost_when_something_is_found_and_the_lease_is_over() -> None:
    watch = _Told()
    vigil = PeerMonitor(watch, 1.0, "ps")
    watch.found = "process 7 is gone"
    assert [judged(vigil, silence) for silence in (1.0, 2.0, 4.0)] == [None] * 3
    assert judged(vigil, 5.25) == "process 7 is gone; nothing came from it for 5.25 s"


def test_a_watched_peer_is_waited_for_while_nothing_is_found() -> None:
    watch = _Told()
    vigil = PeerMonitor(watch, 1.0, "ps")
    assert [judged(vigil, float(silence)) for silence in range(100)] == [None] * 100
    assert watch.calls == ["look"] * 98  # one beat that is missing says nothing
    assert judged(vigil, 0.0) is None
    assert judged(vigil, 0.0) is None
    assert watch.calls[98:] == ["heard"]


def test_it_is_logged_once_that_a_peer_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "actorsession.actors")
    vigil = PeerMonitor(_Told(), 1.0, "/job:ps/replica:0/task:0 at tcp://h:1")
    for silence in (4.0, 5.0, 6.0, 7.0, 0.0, 5.0):
        judged(vigil, silence)
    assert [r.getMessage() for r in caplog.records] == [
        "/job:ps/replica:0/task:0 at tcp://h:1 is waited for: nothing came from it for 5 s, but it does not look dead"
    ] * 2
