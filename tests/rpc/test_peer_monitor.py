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
from actorsession.rpc.liveness.sidecar import ASKED, Sighting, answer, ask, derive_key, read_answer, read_turns, sight
from actorsession.rpc.liveness.verdict import PATIENCE, LivenessVerdict
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
    reply: Any = answer(KEY, ask(KEY, NONCE), Sighting("R", 1.0, 1))
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


needs_proc = pytest.mark.skipif(not this_host(), reason="needs /proc")


@pytest.mark.parametrize(
    "note",
    [
        HeartbeatLocation(beat=1.0),
        HeartbeatLocation(beat=0.25, host="0123abcd", started=2**40, memory=17),
        HeartbeatLocation(beat=0.25, port=65535, secret=b"\0\xff" * 8),
    ],
)
def test_a_note_survives_the_hello(note: HeartbeatLocation) -> None:
    assert HeartbeatLocation.parse(str(note)) == note
    assert str(note).isprintable()
    assert len(str(note)) < 128


@pytest.mark.parametrize(
    "text", ["", "nonsense", "1 a 2 3 4 zz", "1 a b 3 4 -", "x a 1 1 1 -", "1 - 1 1 1 - more", "- - - - - -"]
)
def test_a_note_that_makes_no_sense_says_nothing(text: str) -> None:
    assert HeartbeatLocation.parse(text) == HeartbeatLocation()


def test_a_peer_cannot_ask_for_a_flood_of_beats() -> None:
    for text in ("0 - 0 -1 0 -", "-5 - 0 -1 0 -", "1e-9 - 0 -1 0 -", "nan - 0 -1 0 -"):
        assert HeartbeatLocation.parse(text).beat >= 0.02
    assert HeartbeatLocation.parse("1 - 0 -1 70000 -").port == 0


@needs_proc
async def test_a_pulse_says_which_process_it_is_of() -> None:
    with HeartbeatMemory() as pulse:
        assert (pulse.note.host, pulse.note.beat) == (this_host(), 1.0)
        assert sight(os.getpid(), pulse.note.started) is not None
        assert sight(os.getpid(), pulse.note.started + 1) is None  # an earlier process of that number


@needs_proc
async def test_the_turns_of_the_loop_are_counted_and_not_while_it_is_held() -> None:
    with HeartbeatMemory(0.02) as pulse:
        assert read_turns(pulse.memory) == 0
        await eventually(lambda: (read_turns(pulse.memory) or 0) >= 3)
        before = read_turns(pulse.memory)
        time.sleep(0.1)  # noqa: ASYNC251 - the loop is to be held
        assert read_turns(pulse.memory) == before
        await eventually(lambda: (read_turns(pulse.memory) or 0) > (before or 0))
        assert pulse.worst_lag >= 0.05


async def test_a_pulse_that_is_closed_counts_no_more_and_may_be_closed_again() -> None:
    pulse = HeartbeatMemory(0.02)
    pulse.close()
    pulse.close()
    await asyncio.sleep(0)
    assert pulse.memory == -1


VERDICT_LEASE = 5.0


def told(silence: LivenessVerdict, now: float, state: str, cpu: float, turns: int | None) -> str | None:
    """What is found of a peer that was last heard at 0."""
    silence.note(now, Sighting(state, cpu, turns))
    return silence.finding(now, now)


def over(seen: list[tuple[str, float, int | None]]) -> str | None:
    """What is found after some looks, one second apart, of which the first is 2 s after the last beat."""
    silence = LivenessVerdict("process 7", VERDICT_LEASE)
    found = None
    for index, (state, cpu, turns) in enumerate(seen):
        found = told(silence, 2.0 + index, state, cpu, turns)
    return found


def test_a_process_that_uses_the_processor_is_waited_for_however_long_it_takes() -> None:
    assert over([("S", 0.1 + 0.9 * second, 40) for second in range(3600)]) is None


def test_a_process_that_is_ready_to_run_is_waited_for_though_it_gets_no_processor() -> None:
    assert over([("R", 0.1, 40)] * 3600) is None


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_process_is_lost_whatever_it_did_before(state: str) -> None:
    seen: list[tuple[str, float, int | None]] = [("R", float(n), 40) for n in range(6)]
    assert over([*seen, (state, 6.0, 40)]) == "process 7 is stopped (SIGSTOP?)"


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_process_that_has_ended_is_gone_though_somebody_must_still_wait_for_it(state: str) -> None:
    assert over([(state, 1.0, 40)]) == "process 7 is gone"


def test_a_process_that_is_not_there_any_more_is_gone() -> None:
    silence = LivenessVerdict("process 7", VERDICT_LEASE)
    assert told(silence, 2.0, "R", 1.0, 40) is None
    silence.note(3.0, None)
    assert silence.finding(5.0, 5.0) == "process 7 is gone"


def test_a_process_whose_loop_turns_is_cut_off_though_it_is_busy() -> None:
    found = over([("R", float(n), 40 + 2 * n) for n in range(4)])
    assert found == "process 7 runs, so what it sends does not come through"


def test_two_turns_of_the_loop_prove_nothing_because_timers_lie_as_they_like() -> None:
    assert over([("R", 0.0, 40), ("R", 1.0, 42), ("R", 2.0, 42), ("R", 3.0, 42)]) is None


def test_a_loop_that_cannot_be_seen_is_judged_by_the_processor_alone() -> None:
    assert over([("S", float(n), None) for n in range(60)]) is None
    found = over([("S", 1.0, None)] * 60)
    assert found == "process 7 does not answer and uses no processor time"


def test_turns_are_counted_anew_after_a_look_that_could_not_see_them() -> None:
    found = over([("R", 0.0, 40), ("R", 1.0, None), ("R", 2.0, 43), ("R", 3.0, 45)])
    assert found is None
    found = over([("R", 0.0, 40), ("R", 1.0, None), ("R", 2.0, 43), ("R", 3.0, 46)])
    assert found == "process 7 runs, so what it sends does not come through"


def test_a_process_that_neither_turns_nor_works_is_lost_after_some_leases_and_not_before() -> None:
    silence = LivenessVerdict("process 7", VERDICT_LEASE)
    found = {now: told(silence, float(now), "S", 1.0, 40) for now in range(2, 20)}
    end = int(PATIENCE * VERDICT_LEASE)
    assert {now: found[now] for now in range(2, end)} == dict.fromkeys(range(2, end))
    assert found[end] == "process 7 does not answer and uses no processor time"


def test_threads_that_only_wait_for_the_lock_are_not_taken_for_work() -> None:
    """Five of them, each of which wakes every 5 ms and uses 0.2 % of a processor."""
    found = over([("S", 0.01 * second, 40) for second in range(16)])
    assert found == "process 7 does not answer and uses no processor time"


def test_the_patience_with_a_process_counts_from_its_last_work() -> None:
    busy: list[tuple[str, float, int | None]] = [("S", float(n), 40) for n in range(100)]
    rest: list[tuple[str, float, int | None]] = [("S", 99.0, 40)] * int(PATIENCE * VERDICT_LEASE)
    assert over([*busy, *rest]) is None
    found = over([*busy, *rest, *[("S", 99.0, 40)] * int(VERDICT_LEASE)])
    assert found == "process 7 does not answer and uses no processor time"


def test_what_was_seen_before_the_peer_was_heard_again_does_not_count() -> None:
    """1. The peer is silent, and its loop turns a little. 2. It is heard, and then held: the turns of before are not
    added to those of now."""
    silence = LivenessVerdict("process 7", VERDICT_LEASE)
    assert told(silence, 2.0, "S", 1.0, 40) is None
    assert told(silence, 3.0, "S", 1.0, 42) is None
    silence.heard()
    assert told(silence, 4.0, "R", 1.0, 44) is None
    assert told(silence, 5.0, "R", 1.0, 45) is None
    silence.note(6.0, None)
    silence.heard()
    assert told(silence, 7.0, "R", 1.0, 46) is None


def test_nothing_is_found_where_nothing_was_seen() -> None:
    assert LivenessVerdict("process 7", VERDICT_LEASE).finding(100.0, 100.0) is None
