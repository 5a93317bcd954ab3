"""Steps that a worker does not begin yet, because a task that they send to does not read.

What a step pushes is told by synchronous code in the middle of the step, where nothing can wait. So it is
the beginning of a step that waits: while more than ``BACKLOG`` bytes stand before a link, no step begins
that sends over it. What such a step waits for is only that bytes leave, which the other end reads whatever
else it does; it never waits for another step, so held steps cannot wait for each other in a circle.

Owned by a worker session, which passes in how a step begins. It imports messages and children. Invariants:
the steps of a link begin in the order in which they came; one that is given up or cancelled leaves at once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from actorsession.actors.supervision import Children
from actorsession.cluster.worker.worker_rendezvous import LinkName
from actorsession.errors import AbortedError, OpError, from_exception
from actorsession.messages.worker import GraphDone, RunGraph

__all__ = ["LinkCapacity", "StepGate"]

Answer: TypeAlias = "asyncio.Future[GraphDone]"


class LinkCapacity(Protocol):
    """The links to other tasks, by a task's own name or a peer key."""

    def is_backlogged(self, task: str) -> bool:
        """Return whether so much waits to be sent to a task that no step should begin that sends there."""

    async def wait_for_room(self, task: str) -> None:
        """Wait while it does, or until the link is lost."""


class StepGate:
    """The held steps of one session at one worker.

    Args:
        room: the links.
        link_name: from a task of the session to the name of links to it; ``None`` if that is its own.
        begin: begins a step, and answers it at once or later; may hold it again for another link.
        children: own the waiting.
    """

    def __init__(
        self,
        room: LinkCapacity,
        link_name: LinkName | None,
        begin: Callable[[RunGraph], GraphDone | Answer],
        children: Children,
    ) -> None:
        self._room = room
        self._link_name = link_name
        self._begin = begin
        self._children = children
        self._held: dict[str, OrderedDict[int, tuple[RunGraph, Answer]]] = {}
        self._releasing: str | None = None  # the link whose turn it is

    def __len__(self) -> int:
        """Return how many steps are held."""
        return sum(map(len, self._held.values()))

    @property
    def links(self) -> dict[int, str]:
        """The steps that are held, with the name of the link that each waits for."""
        return {step_id: name for name, steps in self._held.items() for step_id in steps}

    def blocked(self, tasks: Iterable[str]) -> str | None:
        """Return the name of the first link that a step which sends to some tasks has to wait for."""
        for task in tasks:
            name = task if self._link_name is None else self._link_name(task)
            if name is None:
                continue
            if (name in self._held and name != self._releasing) or self._room.is_backlogged(name):
                return name
        return None

    def hold(self, name: str, message: RunGraph) -> Answer:
        """Keep a step until there is room on a link.

        Args:
            name: what ``blocked`` returned.
            message: begins the step.

        Returns:
            Its answer; cancelling it gives the step up.
        """
        answer: Answer = asyncio.get_running_loop().create_future()
        steps = self._held.get(name)
        if steps is None:
            steps = self._held[name] = OrderedDict()
            _ = self._children.start(
                self._begin_later(name), name=f"hold steps that send to {name}"
            )
        steps[message.step_id] = message, answer
        answer.add_done_callback(lambda _: steps.pop(message.step_id, None))
        return answer

    def give_up(self, step_id: int, error: OpError) -> None:
        """End a step that is held, if it is."""
        for steps in self._held.values():
            held = steps.pop(step_id, None)
            if held is not None and not held[1].done():
                held[1].set_exception(error)

    def close(self, error: OpError) -> None:
        """End every step that is held."""
        for steps in self._held.values():
            for step_id in list(steps):
                self.give_up(step_id, error)

    async def _begin_later(self, name: str) -> None:
        steps = self._held[name]
        try:
            while steps:
                await self._room.wait_for_room(name)
                while steps and not self._room.is_backlogged(name):
                    _, (message, answer) = steps.popitem(last=False)
                    self._begin_now(name, message, answer)
        finally:
            for step_id in list(steps):  # the session has ended without a word
                self.give_up(step_id, AbortedError("the worker session was stopped"))
            del self._held[name]

    def _begin_now(self, name: str, message: RunGraph, answer: Answer) -> None:
        if answer.done():
            return
        self._releasing = name
        try:
            result = self._begin(message)
        except Exception as exc:
            answer.set_exception(from_exception(exc))
            return
        finally:
            self._releasing = None
        if isinstance(result, asyncio.Future):
            _join(result, answer)
        else:
            answer.set_result(result)


def _join(later: asyncio.Future[Any], answer: asyncio.Future[Any]) -> None:
    """Have one answer end as another does, and the other cancelled with it."""

    def ended(later: asyncio.Future[Any]) -> None:
        if answer.done():
            if not later.cancelled():
                _ = later.exception()  # looked at, or asyncio complains that nobody did
        elif later.cancelled():
            answer.cancel()
        elif (error := later.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(later.result())

    later.add_done_callback(ended)
    answer.add_done_callback(lambda done: later.cancel() if done.cancelled() else None)
