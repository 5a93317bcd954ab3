"""What is pushed to tasks to which no link is established yet, and what becomes of it.

Pushes never wait: messages that are pushed before a link is established are delivered by a child once it is,
in order. Owned by a worker cache.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.peer_links import PeerLinks
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import OpError, error_to_wire, from_exception
from actorsession.graph.held_arrays import bytes_held
from actorsession.graph.lending import Lent
from actorsession.messages.step_frames import fault_of
from actorsession.messages.worker import WORKER, CleanupGraph, EndGroup, ValuesLost
from actorsession.records import dataclass
from actorsession.rpc.link import Link
from actorsession.rpc.loans import of_value
from actorsession.rpc.pushes import Pushed

__all__ = ["Told", "WaitingPushes"]

Told: TypeAlias = "Pushed | ValuesLost | EndGroup"
"""What goes to other workers without an answer."""


@dataclass(slots=True, eq=False)
class WaitingPushes:
    """The messages that wait for a link.

    Attributes:
        messages: what waits for the link to each task, in order.
    """

    _links: PeerLinks
    _on_lost: Callable[[int, OpError], None]  # told the step id of a message that is lost, and why
    _children: Children  # own the waiting
    messages: dict[str, list[Told]] = field(default_factory=dict, init=False)

    def add(self, task: str, message: Told) -> None:
        """Deliver a message once there is a link."""
        waiting = self.messages.setdefault(task, [])
        waiting.append(message)
        if len(waiting) == 1:
            _ = self._children.start(self._push_later(task), name=f"push to {task}")

    def nbytes(self, task: str) -> int:
        """Return how many bytes wait for the link to a task."""
        pushed = (message for message in self.messages[task] if isinstance(message, Pushed))
        return sum(bytes_held(message.values) for message in pushed)

    async def _push_later(self, task: str) -> None:
        while waiting := self.messages.get(task):
            count = len(waiting)
            try:
                link = await self._links.link(task, Deadline.after(CONNECT_TIMEOUT))
                break
            except OpError as error:
                # Messages that were pushed later get a dial of their own, because this one may have failed
                # for an earlier reason.
                tried = waiting[:count]
                del waiting[:count]
                if not waiting:
                    del self.messages[task]
                for message in tried:
                    self._on_lost(message.step_id, error)
        else:
            return
        # The task may have dialled us at the same time; then its link is in use, and later messages go by it.
        link = self._links.in_use.get(task, link)
        for message in self.messages.pop(task, []):
            self.tell(link, task, message)

    def tell(self, link: Link, task: str, message: Told) -> None:
        """Send a message over a link."""
        try:
            if isinstance(message, Pushed):
                link.steps.pushes.push(message)
            else:
                link.tell(WORKER, message, ordered=True)
        except Exception as exc:
            self.not_pushed(link, task, message, from_exception(exc))

    def not_pushed(self, link: Link, task: str, message: Told, error: OpError) -> None:
        """Fail a step here and at the receiver, which would wait for values that cannot be sent."""
        if link.closed:  # the receiver notices that itself
            self._on_lost(message.step_id, error.locate(task=task))
            return
        if isinstance(message, Pushed):
            error = _of_value(message, error)
        self._on_lost(message.step_id, error)
        end = CleanupGraph(step_id=message.step_id, error=error_to_wire(error), settles=False)
        with contextlib.suppress(OpError):  # the link has ended: see above
            link.tell(WORKER, end)


def _of_value(message: Pushed, error: OpError) -> OpError:
    """Return the error of values that cannot be sent, with the node and the device of the first of them."""
    if error.node is not None:
        return error
    sent = zip(message.keys, message.values, message.dead, strict=True)
    faults = ((key, fault_of(value)) for key, value, dead in sent if not dead and type(value) is not Lent)
    # Each of them alone may be one that can be sent.
    text, fault = next((unsendable for unsendable in faults if unsendable[1]), (message.keys[0], error))
    assert fault is not None
    return of_value(text, fault)
