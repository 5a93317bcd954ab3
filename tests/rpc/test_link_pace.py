"""Peers that say nothing, or read slowly: what counts as a sign of life, and what waits for room."""

from __future__ import annotations

import asyncio
import itertools
import time

import numpy as np
import pytest

from actorsession.actors import Children, Deadline
from actorsession.errors import DeadlineExceededError, UnavailableError
from actorsession.messages import Tell
from actorsession.rpc import Link
from tests.actors.kit import (
    SERVER,
    Desk,
    HandClock,
    Hold,
    Note,
    Said,
    Say,
    Take,
    connected,
    each_transport,
    eventually,
    linked,
    soon,
    turns,
)
from tests.rpc.link_kit import frame_of, start
from transports import encode_frame

# -- signs of life ---------------------------------------------------------------------------------


@each_transport
async def test_beats_keep_an_idle_link_alive(scheme: str) -> None:
    async with linked(scheme, serves={"desk": Desk().ref}, beat=0.02, lease=0.2) as (here, there):
        both = (here, there)
        await eventually(lambda: min(link.statistics().frames_received for link in both) >= 20)
        assert (here.closed, there.closed) == (False, False)
        assert await soon(here.ask("desk", Say(text="hi"))) == Said(text="hi")


@each_transport
async def test_a_peer_that_says_nothing_is_lost_when_the_lease_is_over(scheme: str) -> None:
    async with connected(scheme) as (dialled, _):
        owner = Children("test")
        here = Link(dialled, serves={}, beat=0.02, lease=0.1)
        await start(here, owner)
        started = time.monotonic()
        with pytest.raises(UnavailableError, match=r"nothing came from it for 0\.\d+ s; the conn"):
            await soon(here.ask("desk", Say(text="")))
        assert 0.05 < time.monotonic() - started < 5
        await owner.stop()


async def test_bytes_of_a_large_unfinished_frame_are_a_sign_of_life() -> None:
    """
    1. A peer begins a frame, and goes on with it a few bytes at a time for several leases.
    2. No frame is complete, no beat can come in between; the link stays.
    3. The frame's end comes, and it is handled.
    """
    desk = Desk()
    loop = asyncio.get_running_loop()
    async with connected("tcp") as (dialled, accepted):
        owner = Children("test")
        there = Link(accepted, serves={"desk": desk.ref}, beat=0.02, lease=0.1)
        await start(there, owner)
        writer = dialled._transport  # type: ignore[attr-defined]  # a peer with a narrow line
        data = b"".join(encode_frame(frame_of(Tell("desk", Note(number=1)))))
        until = loop.time() + 0.5
        sent = 0
        while loop.time() < until or sent < len(data):
            if sent < len(data) - 1 or loop.time() >= until:
                writer.write(data[sent : sent + 1])
                sent += 1
            await asyncio.sleep(0.02)
            assert not there.closed, there.statistics().over
        await desk.until("note 1")
        await there.aclose()
        await owner.stop()


async def test_the_lease_is_measured_by_the_clock_that_was_given() -> None:
    """
    1. The link's own clock stands still while the peer is silent for many leases: the link stays.
    2. The clock goes on, a beat at a time: the peer is lost within the lease.
    """
    clock = HandClock()
    async with connected("inproc") as (dialled, _):
        owner = Children("test")
        here = Link(dialled, serves={}, beat=0.01, lease=0.05, clock=clock)
        await start(here, owner)
        await eventually(lambda: here.statistics().frames_sent >= 20)
        assert here.statistics().over is None

        async def another_beat() -> None:
            sent = here.statistics().frames_sent
            await eventually(lambda: here.closed or here.statistics().frames_sent > sent)

        for _ in range(6):
            clock.time += 0.01
            await another_beat()
        assert here.closed
        assert isinstance(await soon(here.wait_closed()), UnavailableError)
        await owner.stop()


# -- slow peers ------------------------------------------------------------------------------------


@each_transport
async def test_an_ask_waits_for_a_peer_that_reads_slowly_beats_and_cancels_do_not(scheme: str) -> None:
    """
    1. The peer reads nothing; what we tell it fills the buffers beyond the high-water mark.
    2. An ask that brings an array waits for room, and its deadline names the peer.
    3. A tell, a beat and the cancel of an earlier ask are written all the same.
    """
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
        with pytest.raises(DeadlineExceededError, match=f"{SERVER} at .* to read on, before the"):
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


async def test_an_ask_that_waits_for_room_fails_when_the_link_is_lost() -> None:
    async with connected("inproc") as (dialled, accepted):
        owner = Children("test")
        here = Link(dialled, serves={})
        await start(here, owner)
        here.tell("desk", Say(text="x" * 2**22))
        asker = asyncio.create_task(here.ask("desk", Say(text="")))
        await turns()
        assert here.statistics().calls_sent == 0
        accepted.abort()
        with pytest.raises(UnavailableError, match="Say to 'desk' has no answer"):
            await soon(asker)
        await owner.stop()


async def test_a_flood_of_frames_lets_the_loop_have_its_turn() -> None:
    desk = Desk()
    async with linked("inproc", serves={"desk": desk.ref}) as (here, _):
        for number in range(1000):
            here.tell("desk", Note(number=number))
        seen = []
        while 999 not in desk.seen:
            await asyncio.sleep(0)
            seen.append(len([n for n in desk.seen if isinstance(n, int)]))
        steps = [after - before for before, after in itertools.pairwise(seen)]
        assert max(steps) <= 64
