"""Workers that are not there: what they were asked is kept, what they answer a test says."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actorsession.actors import CallContext, Children, Deadline
from actorsession.errors import OpError
from actorsession.messages import Done, GraphRegistered, RegisterGraph
from actorsession.messages.step_frames import WireValues
from actorsession.messages.worker import EndGroup, ValuesLost
from actorsession.rpc.pushes import Pushed
from actorsession.rpc.step_calls import StepCalls
from tests.cluster.kit import eventually


class FakeWorker:
    """Answers with what ``answers`` holds for a class of messages: a value, an error or a future."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[Any] = []
        self.told: list[Any] = []
        self.cancelled: list[Any] = []
        self.deadlines: list[Deadline | None] = []
        self._handles = itertools.count()
        self.answers: dict[type[Any], Any] = {}

    async def ask(self, message: Any, deadline: Deadline | None = None) -> Any:
        self.asked.append(message)
        self.deadlines.append(deadline)
        answer = self.answers.get(type(message), self._usual(message))
        if isinstance(answer, asyncio.Future):
            limit = deadline if deadline is not None else Deadline.never()
            try:
                answer = await limit.wait(asyncio.shield(answer), what=f"{self.name} to answer")
            except asyncio.CancelledError:
                self.cancelled.append(message)
                raise
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def submit(self, message: Any, context: CallContext) -> asyncio.Task[Any]:
        return asyncio.create_task(self.ask(message, context.deadline))

    def tell(self, message: Any) -> None:
        self.told.append(message)

    def hold(self, kind: type[Any]) -> asyncio.Future[Any]:
        """Lets asks of a class wait until the future has a result."""
        self.answers[kind] = asyncio.get_running_loop().create_future()
        held: asyncio.Future[Any] = self.answers[kind]
        return held

    def of(self, kind: type[Any]) -> list[Any]:
        """What was asked, of one class."""
        return [message for message in self.asked if type(message) is kind]

    async def until_asked(self, kind: type[Any], times: int = 1) -> None:
        await eventually(lambda: len(self.of(kind)) >= times)

    def _usual(self, message: Any) -> Any:
        if isinstance(message, RegisterGraph):
            return GraphRegistered(graph_handle=f"{self.name}-{next(self._handles)}")
        return Done()


class FakeWorkerCache:
    """The workers of a cluster without links; what is sent to them is kept."""

    def __init__(self, workers: Mapping[str, FakeWorker] | None = None) -> None:
        self.workers = dict(workers or {})
        self.addresses: dict[str, str] = {}
        self.pushed: list[tuple[str, Pushed]] = []
        self.told: list[tuple[str, EndGroup | ValuesLost]] = []
        self.watchers: dict[str, Callable[[], None]] = {}
        self.of_sessions: dict[str, FakeWorkerCache] = {}
        self.task = ""
        self.released = 0

    def worker(self, task: str, incarnation: int | None = None) -> FakeWorker:
        return self.workers.setdefault(task, FakeWorker(task))

    def step_calls(self, task: str, incarnation: int) -> None:
        return None

    def is_linked(self, task: str) -> bool:
        return False

    def watch(self, task: str, callback: Callable[[], None]) -> Callable[[], None]:
        self.watchers[task] = callback
        return lambda: None

    async def refresh_addresses(self, deadline: Deadline) -> str:
        return ""

    def learn_from_session(self, addresses: Mapping[str, str]) -> None:
        self.addresses.update(addresses)

    def learn(self, addresses: Mapping[str, str]) -> None:
        self.addresses.update(addresses)

    def forget(self, tasks: Iterable[str]) -> None:
        for task in tasks:
            self.addresses.pop(task, None)

    def for_session(self, handle: str, task: str, addresses: Mapping[str, str]) -> FakeWorkerCache:
        made = self.of_sessions[handle] = FakeWorkerCache()
        made.task = task
        made.learn(addresses)
        return made

    def release(self) -> None:
        self.released += 1

    def push(self, task: str, message: Pushed) -> None:
        self.pushed.append((task, message))

    def tell_after_pushes(self, task: str, message: EndGroup | ValuesLost) -> None:
        self.told.append((task, message))

    def is_backlogged(self, task: str) -> bool:
        return False

    def unsent_bytes(self, task: str) -> int:
        return 0

    async def wait_for_capacity(self, task: str) -> None:
        return


class Outcome:
    """Waits for a run; what comes of it is its values, an error, or that it is gone."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.extra: Any = None

    def done(self, values: WireValues, extra: Any) -> None:
        self.extra = extra
        self._end(list(values.read_all()))

    def failed(self, error: OpError) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)

    def gone(self) -> None:
        self._end("gone")

    def _end(self, result: Any) -> None:
        if not self.ended.done():
            self.ended.set_result(result)


def joined_steps(task: str, client: str) -> tuple[StepCalls, StepCalls]:
    """The step frames of both ends of a link: of the client, and of the task that it is linked to."""
    loop = asyncio.get_running_loop()

    def end(peer: str) -> StepCalls:
        def send(header: bytes, segments: Sequence[Any]) -> None:
            copies = [bytearray(segment) for segment in segments]
            loop.call_soon(other[peer].receive, header, copies)

        line = StepLine(send)
        return StepCalls(peer, line, line, Children("steps"))

    here, there = end(task), end(client)
    other = {task: there, client: here}
    return here, there


class StepLine:
    """What step frames are sent over: never from a thread, and never congested; nothing is lent over it."""

    lent: dict[int, object] | None = None
    reads_peer = False

    def __init__(self, write: Callable[[bytes, Sequence[Any]], None]) -> None:
        self.write = write

    def write_short(self, header: bytes) -> bool:
        return False

    def write_from_thread(self, header: bytes) -> bool:
        return False

    def is_backlogged(self) -> bool:
        return False

    async def drain(self) -> bool:
        raise AssertionError("nothing is congested")
