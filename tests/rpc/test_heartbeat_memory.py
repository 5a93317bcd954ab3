"""What a process shows of itself, and what a hello says of it."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation, HeartbeatMemory, this_host
from actorsession.rpc.liveness.sidecar import read_turns, sight
from tests.actors.kit import eventually

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
