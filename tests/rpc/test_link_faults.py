"""Links over a network that parts, slows down and cuts, to peers that stand still or die: all in a simulation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors import Children
from actorsession.errors import OpError, UnavailableError
from actorsession.rpc import Link
from tests.actors.kit import Desk, Hold, Said, Say
from tests.transports.peers import PS
from tests.transports.world import World, simulate
from transports import Connection

SEEDS = range(5)


async def began(connection: Connection, desk: Desk | None = None, *, lease: float) -> Link:
    """A link that receives, on the machine where this runs."""
    link = Link(connection, serves={} if desk is None else {"desk": desk.ref}, beat=0.05, lease=lease)
    _ = Children("test").start(link.run(), name=repr(link))
    return link


async def linked(world: World, *, lease: float, their_lease: float = 60.0) -> tuple[Desk, Link, Link]:
    """A link from a to a desk on b: the desk, our end, and the desk's."""
    near, far = await world.linked()
    desk = Desk()
    return desk, await world.on("a", began(near, lease=lease)), await world.on("b", began(far, desk, lease=their_lease))


def test_a_stopped_peer_fails_pending_asks_within_the_lease() -> None:
    """1. Two asks are pending; the peer's process is stopped: its sockets stay open, the kernel acknowledges, nothing
    is sent. 2. The lease runs out: both fail, naming the peer and the silence. 3. Later asks fail at once."""

    async def main(world: World) -> None:
        _desk, link, _there = await linked(world, lease=1.5)
        assert await world.on("a", link.ask("desk", Say(text="hi"))) == Said(text="hi")
        askers = [world.on("a", link.ask("desk", Hold(name=name))) for name in "ab"]
        await asyncio.sleep(0.01)
        world.hosts["b"].stall()
        stopped = world.loop.now
        outcomes = await asyncio.gather(*askers, return_exceptions=True)
        assert 1.4 < world.loop.now - stopped < 1.8
        for outcome in outcomes:
            assert isinstance(outcome, UnavailableError)
            assert str(outcome).startswith(f"{PS.task}: nothing came from it for ")
            assert "; the connection to it at tcp://b:7000" in str(outcome)
        with pytest.raises(UnavailableError, match="nothing came from it"):
            await world.on("a", link.ask("desk", Say(text="")))
        world.hosts["b"].go_on()

    for seed in SEEDS:
        simulate(main, seed)


def test_a_peer_stopped_for_less_than_the_lease_answers_late() -> None:
    async def main(world: World) -> None:
        _desk, link, _there = await linked(world, lease=30.0)
        world.hosts["b"].stall()
        asker = world.on("a", link.ask("desk", Say(text="late")))
        await asyncio.sleep(25)
        assert not asker.done()
        world.hosts["b"].go_on()
        assert await asker == Said(text="late")

    for seed in SEEDS:
        simulate(main, seed)


def test_the_process_we_are_in_may_stand_still_itself() -> None:
    """1. Our own loop is held for longer than the lease. 2. The peer has sent its beats meanwhile; they lie unread when
    the lease is looked at. 3. The link stays."""

    async def main(world: World) -> None:
        _desk, link, _there = await linked(world, lease=1.2)
        await world.on("a", link.ask("desk", Say(text="before")))
        world.hosts["a"].stall()
        await asyncio.sleep(10)
        world.hosts["a"].go_on()
        assert await world.on("a", link.ask("desk", Say(text="after"))) == Said(text="after")
        assert not link.closed

    for seed in SEEDS:
        simulate(main, seed)


def test_bytes_of_a_large_unfinished_frame_are_a_sign_of_life() -> None:
    """1. The line is so narrow that a frame takes many leases. 2. No beat can pass it; the link stays. 3. The frame's
    end comes, and it is handled."""

    async def main(world: World) -> None:
        _desk, link, there = await linked(world, lease=1.5, their_lease=1.5)
        world.network.slow("a", "b", 0.0, bandwidth=10_000)
        begin = world.loop.now
        text = "x" * 100_000
        assert await world.on("a", link.ask("desk", Say(text=text))) == Said(text=text)
        assert world.loop.now - begin > 15
        assert not link.closed
        assert not there.closed

    for seed in SEEDS:
        simulate(main, seed)


FAULTS = ("part", "mute", "deafen", "slow", "cut", "vanish", "stall", "stall here", "crash")


async def harm(world: World, kind: str, seconds: float) -> None:
    """Do a harm to the link, and end it after a time if it has an end."""
    network = world.network
    match kind:
        case "part":
            network.part("a", "b")
        case "mute":
            network.part("b", "a", one_way=True)
        case "deafen":
            network.part("a", "b", one_way=True)
        case "slow":
            network.slow("a", "b", seconds / 10, seconds / 10)
        case "cut" | "vanish":
            network.cut("a", "b", silent=kind == "vanish")
        case "stall":
            world.hosts["b"].stall()
        case "stall here":
            world.hosts["a"].stall()
        case "crash":
            world.crash("b")
    await asyncio.sleep(seconds)
    network.heal()
    world.hosts["a"].go_on()
    world.hosts["b"].go_on()


LEASE = 1.5
# A peer that hears us may be cut off from answering: its own lease ends the link, and ours does if we do not hear that.
LONGEST = 4 * LEASE


def play(seed: int) -> tuple[World, set[str]]:
    """Ask many things while harm is done; return how the asks ended."""

    async def main(world: World) -> set[str]:
        draw = world.loop.random("story")
        desk, link, there = await linked(world, lease=LEASE, their_lease=LEASE)
        ends: dict[str, tuple[Any, float]] = {}

        async def ask(text: str) -> None:
            begin = world.loop.now
            outcome: object
            try:
                outcome = await link.ask("desk", Say(text=text))
            except OpError as error:
                outcome = error
            ends[text] = outcome, world.loop.now - begin

        async def ask_all() -> None:
            askers = []
            for number in range(40):
                askers.append(asyncio.create_task(ask(str(number))))
                await asyncio.sleep(draw.random() * 0.2)
            await asyncio.gather(*askers)

        asking = world.on("a", ask_all())
        stood = 0.0
        for _ in range(draw.randint(1, 3)):
            await asyncio.sleep(draw.random() * 2)
            kind, seconds = draw.choice(FAULTS), draw.random() * 3
            stood += seconds if kind == "stall here" else 0.0
            await harm(world, kind, seconds)
        await asking
        for text, (outcome, seconds) in ends.items():
            assert seconds < LONGEST + stood, f"{text}: {outcome!r} after {seconds} s"
            if isinstance(outcome, Said):
                assert outcome == Said(text=text)
                assert desk.seen.count(text) == 1
            else:
                assert isinstance(outcome, UnavailableError)
                assert PS.task in str(outcome)
                assert desk.seen.count(text) <= 1
        assert desk.seen == sorted(desk.seen, key=int), "asks of one link are handled in order"
        await world.on("a", link.aclose())
        if not world.hosts["b"].is_dead:
            async with asyncio.timeout(LONGEST):
                await world.on("b", there.wait_closed())
        return {type(outcome).__name__ for outcome, _seconds in ends.values()}

    return simulate(main, seed)


def test_each_ask_ends_in_time_once_and_in_order_whatever_befalls_the_link() -> None:
    ends = [play(seed)[1] for seed in range(60)]
    assert set().union(*ends) == {"Said", "UnavailableError"}
