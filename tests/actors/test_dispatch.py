"""How messages reach their handlers: by turns, at once, once per request, or at another actor."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from actorsession.actors import Actor, CallContext, Deadline, answers, handles, routes
from actorsession.errors import AbortedError, DeadlineExceededError, NotFoundError, UnimplementedError
from tests.actors.kit import Hold, Note, Say, Stranger, soon, turns
from tests.loops import cancelled


@dataclass(frozen=True, slots=True)
class Order:
    """A request that is not idempotent."""

    request_id: str
    wait: bool = False


@dataclass(frozen=True, slots=True)
class Extend:
    """A request whose small answer is kept."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for one of the rooms of a house."""

    room: str


class Shop(Actor):
    """Counts how often its handlers run."""

    def __init__(self, **options: Any) -> None:
        super().__init__("shop", **options)
        self.seen: list[Any] = []
        self.open = asyncio.Event()

    @answers(Order, once=True)
    def on_order(self, message: Order, call: CallContext) -> Any:
        self.seen.append(message.request_id)
        return self._later(message) if message.wait else f"order {len(self.seen)}"

    async def _later(self, message: Order) -> str:
        await self.open.wait()
        return f"order {len(self.seen)}"

    @answers(Extend, once=True, keep_answer=True)
    def on_extend(self, message: Extend, call: CallContext) -> str:
        self.seen.append(message.request_id)
        return f"extension {len(self.seen)}"

    @answers(Hold)
    async def on_hold(self, message: Hold, call: CallContext) -> None:
        await self.open.wait()

    @answers(Say, direct=True)
    def on_say(self, message: Say, call: CallContext) -> str:
        return f"{message.text} at once"

    @answers(Visit, direct=True)
    def on_visit(self, message: Visit, call: CallContext) -> asyncio.Future[Any]:
        return self.answer_later(message, call, self._visited(message))

    async def _visited(self, message: Visit) -> str:
        self.seen.append(message.room)
        await self.open.wait()
        if message.room == "cellar":
            raise NotFoundError("there is no cellar")
        return f"{message.room} later"

    @handles(Note, direct=True)
    def on_note(self, message: Note, call: CallContext) -> None:
        self.seen.append(message.number)

    @handles(Stranger)
    def on_stranger(self, message: Stranger, call: CallContext) -> str:
        self.deliver(Note(number=1))
        return str(self.submit(Say(text="inside"), call))


class Room(Actor):
    @answers(Visit)
    def on_visit(self, message: Visit, call: CallContext) -> str:
        return f"{self.name} for {call.peer}"


class House(Actor):
    def __init__(self) -> None:
        super().__init__("house")
        self.rooms = {name: Room(name) for name in ("kitchen", "cellar")}

    @routes(Visit, by="room")
    def _room(self, name: str) -> Room:
        if name not in self.rooms:
            raise NotFoundError(f"there is no {name}")
        return self.rooms[name]


# -- direct handlers -------------------------------------------------------------------------------
async def test_a_direct_handler_is_called_however_full_the_mailbox_is() -> None:
    shop = Shop(limit=1)
    holding = asyncio.create_task(shop.ref.ask(Hold(name="a")))
    await turns()
    assert await shop.ref.ask(Say(text="hi"), Deadline.after(5)) == "hi at once"
    shop.deliver(Note(number=3))
    assert shop.seen == [3]
    shop.open.set()
    await soon(holding)


async def test_a_direct_handler_is_called_while_another_handler_runs() -> None:
    shop = Shop()
    assert await soon(shop.ref.ask(Stranger())) == "inside at once"
    assert shop.seen == [1]


async def test_a_direct_handler_is_called_after_the_actor_has_stopped() -> None:
    shop = Shop()
    await shop.stop()
    assert await soon(shop.ref.ask(Say(text="late"))) == "late at once"
    shop.deliver(Note(number=2))
    assert shop.seen == [2]


async def test_a_direct_tell_of_another_thread_gives_its_space_back() -> None:
    shop = Shop(limit=1)
    for number in range(3):
        await asyncio.to_thread(shop.ref.tell, Note(number=number))
        await turns()
    assert shop.seen == [0, 1, 2]


async def test_a_direct_handler_may_answer_later_however_full_the_mailbox_is() -> None:
    shop = Shop(limit=1)
    asks: list[Any] = [Hold(name="a"), Visit("hall"), Visit("cellar"), Visit("attic")]
    hold, hall, cellar, attic = [asyncio.create_task(shop.ref.ask(message)) for message in asks]
    await turns()
    assert shop.seen == ["hall", "cellar", "attic"]
    assert shop.statistics().in_flight == 1
    await cancelled(attic)
    with pytest.raises(DeadlineExceededError, match="Visit to actor 'shop' was not answered within"):
        await soon(shop.ref.ask(Visit("hall"), Deadline.after(0.01)))
    shop.open.set()
    assert await soon(hall) == "hall later"
    with pytest.raises(NotFoundError, match="no cellar"):
        await soon(cellar)
    await soon(hold)


async def test_whoever_waits_for_a_direct_handler_hears_that_the_actor_was_stopped() -> None:
    """None is cancelled, whom nobody has cancelled."""
    shop = Shop()
    asks = [asyncio.create_task(shop.ref.ask(Visit("hall"))) for _ in range(2)]
    await turns()
    await shop.stop("closing time")
    for ask in asks:
        with pytest.raises(AbortedError, match=r"was stopped \(closing time\); Visit has no answer"):
            await soon(ask)


def test_a_coroutine_function_cannot_be_direct() -> None:
    with pytest.raises(TypeError, match="on_say is direct"):

        class Wrong(Actor):
            @answers(Say, direct=True)
            async def on_say(self, message: Say, call: CallContext) -> None:
                """Never runs."""


# -- requests that are only asked ------------------------------------------------------------------
@pytest.mark.parametrize("message", [Order("a"), Say(text=""), Hold(name="a")], ids=str)
async def test_a_request_cannot_be_told(message: Any) -> None:
    shop = Shop()
    with pytest.raises(UnimplementedError, match=type(message).__name__):
        shop.ref.tell(message)
    with pytest.raises(UnimplementedError):
        await asyncio.to_thread(shop.ref.tell, message)
    assert shop.seen == []


# -- requests that come twice ----------------------------------------------------------------------
async def test_a_request_that_has_ended_does_not_run_again() -> None:
    shop = Shop()
    assert await shop.ref.ask(Order("a")) == "order 1"
    with pytest.raises(AbortedError, match="was run already"):
        await shop.ref.ask(Order("a"))
    assert await shop.ref.ask(Order("b")) == "order 2"
    assert shop.seen == ["a", "b"]


async def test_a_repeat_of_a_request_in_progress_gets_its_answer() -> None:
    shop = Shop()
    asks = [asyncio.create_task(shop.ref.ask(Order("a", wait=True))) for _ in range(2)]
    await turns()
    shop.open.set()
    assert await soon(asyncio.gather(*asks)) == ["order 1", "order 1"]
    with pytest.raises(AbortedError):
        await shop.ref.ask(Order("a", wait=True))


async def test_a_kept_answer_is_given_again() -> None:
    shop = Shop()
    assert [await shop.ref.ask(Extend("a")) for _ in range(3)] == ["extension 1"] * 3


async def test_requests_without_an_id_all_run() -> None:
    shop = Shop()
    assert [await shop.ref.ask(Order("")) for _ in range(2)] == ["order 1", "order 2"]


# -- routes ----------------------------------------------------------------------------------------
async def test_a_routed_request_is_answered_by_the_actor_that_its_field_names() -> None:
    house = House()
    found = [house.submit(Visit(room), CallContext(peer="guest")) for room in house.rooms]
    assert found == ["kitchen for guest", "cellar for guest"]
    assert [room.statistics().asks for room in house.rooms.values()] == [1, 1]
    assert house.statistics().asks == 0


async def test_a_route_that_finds_no_actor_fails_its_request() -> None:
    with pytest.raises(NotFoundError, match="there is no attic"):
        await House().ref.ask(Visit("attic"))


async def test_a_routed_request_cannot_be_told() -> None:
    with pytest.raises(UnimplementedError, match="actor 'house' does not handle Visit"):
        House().ref.tell(Visit("kitchen"))


async def test_a_routed_request_that_its_actor_does_not_handle_names_that_actor() -> None:
    @dataclass(frozen=True, slots=True)
    class Paint:
        room: str

    class Painted(House):
        @routes(Paint, by="room")
        def _painted(self, name: str) -> Room:
            return self.rooms[name]

    with pytest.raises(UnimplementedError, match="actor 'cellar' does not handle Paint"):
        await Painted().ref.ask(Paint("cellar"))
