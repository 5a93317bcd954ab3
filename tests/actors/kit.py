"""What the tests of actors and links share: messages, an actor that can be held, linked pairs."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from actorsession.actors import Actor, CallContext, Children, Ref, handles
from actorsession.errors import FailedPreconditionError
from actorsession.messages import message
from actorsession.rpc import Link
from transports import Connection, Hello, connect, listen

# A test that needs longer waits for something that does not come.
PATIENCE = 60.0

# A link is the same over either kind of stream.
SCHEMES = ("inproc", "tcp", pytest.param("unix", marks=pytest.mark.whole))
each_transport = pytest.mark.parametrize("scheme", SCHEMES)


@message("test.say", reply="test.said")
@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Asks for the text to be said at once."""

    text: str


@message("test.said")
@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The text was said."""

    text: Any


@message("test.hold", reply="test.said")
@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Asks for a handler that waits until the test lets it go on."""

    name: str


@message("test.take", reply="test.said")
@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """Brings an array along."""

    name: str
    array: Any


@message("test.break", reply="test.said")
@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Asks for an error; ``late`` raises it in a child."""

    kind: str
    late: bool


@message("test.note")
@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Is told, never asked."""

    number: int


@message("test.stranger", reply="test.said")
@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """What a desk does not handle."""


ERRORS: dict[str, type[Exception]] = {
    "ours": FailedPreconditionError,
    "foreign": ZeroDivisionError,
    "memory": MemoryError,
}


class Desk(Actor):
    """Handles the messages above, and remembers in which order what happened."""

    def __init__(self, name: str = "desk", **options: Any) -> None:
        super().__init__(name, **options)
        self.seen: list[Any] = []
        self.contexts: list[CallContext] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._marks: dict[str, asyncio.Event] = {}

    @handles(Say)
    def on_say(self, message: Say, call: CallContext) -> Said:
        self.seen.append(message.text)
        self.contexts.append(call)
        return Said(text=message.text)

    @handles(Take)
    def on_take(self, message: Take, call: CallContext) -> Said:
        self.seen.append(message.name)
        return Said(text=message.name)

    @handles(Hold)
    async def on_hold(self, message: Hold, call: CallContext) -> Said:
        self.contexts.append(call)
        self._mark(f"{message.name} began")
        try:
            await self._gate(message.name).wait()
        except asyncio.CancelledError:
            self._mark(f"{message.name} cancelled")
            raise
        self._mark(f"{message.name} ended")
        return Said(text=message.name)

    @handles(Break)
    def on_break(self, message: Break, call: CallContext) -> Awaitable[Said]:
        if message.late:
            return self._break_late(message.kind)
        raise ERRORS[message.kind]("broken")

    @handles(Note)
    def on_note(self, message: Note, call: CallContext) -> None:
        self.seen.append(message.number)
        self.contexts.append(call)
        self._mark(f"note {message.number}")

    def let_go(self, name: str) -> None:
        """Lets a held handler go on."""
        self._gate(name).set()

    async def until(self, mark: str) -> None:
        """Waits until something has happened: ``<name> began``, ``ended`` or ``cancelled``."""
        await soon(self._marks.setdefault(mark, asyncio.Event()).wait())

    def has(self, mark: str) -> bool:
        """Whether it has happened."""
        return mark in self.seen

    async def _break_late(self, kind: str) -> Said:
        await asyncio.sleep(0)
        raise ERRORS[kind]("broken")

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def _mark(self, mark: str) -> None:
        self.seen.append(mark)
        self._marks.setdefault(mark, asyncio.Event()).set()


async def soon(awaitable: Awaitable[Any]) -> Any:
    """Awaits what must come without anybody's help."""
    async with asyncio.timeout(PATIENCE):
        return await awaitable


async def eventually(condition: Callable[[], bool], *running: asyncio.Task[Any]) -> None:
    """Waits for what no event tells of, such as a counter; the tasks go on until then, or their error is raised."""
    pause = 0.002
    async with asyncio.timeout(PATIENCE):
        while not condition():
            for task in running:
                assert not task.done(), f"it has ended before, with {task.result()!r}"
            await asyncio.sleep(pause)
            pause = min(1.1 * pause, 0.02)  # a simulation may be asked through a whole lease


async def turns(count: int = 5) -> None:
    """Lets everything happen that needs no event from outside."""
    for _ in range(count):
        await asyncio.sleep(0)


@contextmanager
def address_of(scheme: str) -> Iterator[str]:
    """A free address."""
    if scheme == "unix":
        with tempfile.TemporaryDirectory() as folder:
            yield f"unix://{folder}/s"
    else:
        yield {"tcp": "tcp://127.0.0.1:0", "inproc": "inproc://test"}[scheme]


def hello(task: str) -> Hello:
    """Who a side of a test is."""
    return Hello(cluster_id="test", task=task, incarnation=1, pid=os.getpid())


SERVER, CLIENT = "/job:worker/replica:0/task:0", "client"


@asynccontextmanager
async def connected(scheme: str) -> AsyncIterator[tuple[Connection, Connection]]:
    """Two ends of a connection: the dialler's and the listener's."""
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    finished = asyncio.Event()

    async def keep(connection: Connection) -> None:
        accepted.set_result(connection)
        await finished.wait()

    with address_of(scheme) as address:
        listener = await listen(address, hello(SERVER), keep)
        dialled = await connect(listener.address, hello(CLIENT))
        try:
            yield dialled, await soon(accepted)
        finally:
            dialled.abort()
            finished.set()
            await listener.aclose()


@asynccontextmanager
async def linked(
    scheme: str,
    *,
    serves: Mapping[str, Ref] | None = None,
    serves_here: Mapping[str, Ref] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Link, Link]]:
    """Two links joined by a connection: ours, and the peer's that serves ``serves``."""
    async with connected(scheme) as (dialled, accepted):
        here = Link(dialled, serves=serves_here or {}, **options)
        there = Link(accepted, serves=serves or {}, **options)
        runners = Children("test")
        children = [runners.start(link.run(), name=repr(link)) for link in (here, there)]
        await asyncio.sleep(0)  # both are receiving
        try:
            yield here, there
        finally:
            await here.aclose()
            await there.aclose()
            await soon(asyncio.gather(*children))
            await runners.stop()


class Loopback(Actor):
    """Tells itself things from inside its handlers."""

    def __init__(self, **options: Any) -> None:
        super().__init__("loopback", **options)
        self.seen: list[str] = []

    @handles(Say)
    def on_say(self, message: Say, call: CallContext) -> None:
        self.seen.append(f"{message.text} begins")
        if message.text == "outer":
            self.ref.tell(Say(text="inner"))
        self.seen.append(f"{message.text} ends")

    @handles(Hold)
    async def on_hold(self, message: Hold, call: CallContext) -> None:
        self.seen.append("child begins")
        self.ref.tell(Say(text="from child"))
        self.seen.append("child goes on")
        await asyncio.sleep(0)

    @handles(Note)
    def on_note(self, message: Note, call: CallContext) -> None:
        self.seen.append(str(message.number))
        self.ref.tell(Note(number=message.number + 1))


async def full_desk(limit: int = 2) -> tuple[Desk, list[asyncio.Task[Any]]]:
    """A desk that takes no more messages, and the asks that hold it."""
    desk = Desk(limit=limit)
    holders = [asyncio.create_task(desk.ref.ask(Hold(name=f"h{i}"))) for i in range(limit)]
    for i in range(limit):
        await desk.until(f"h{i} began")
    return desk, holders


class Mule(Actor):
    """Ignores that it is cancelled, until it is let go."""

    def __init__(self) -> None:
        super().__init__("mule")
        self.release = asyncio.Event()

    @handles(Say)
    async def on_say(self, message: Say, call: CallContext) -> None:
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue


@asynccontextmanager
async def desk_at(scheme: str) -> AsyncIterator[tuple[Desk, Link, Link]]:
    """A desk that one end of a link serves, the end that asks it, and the end that serves."""
    desk = Desk()
    async with linked(scheme, serves={"desk": desk.ref}) as (here, there):
        yield desk, here, there
