"""Values that one worker owes another: whether what a step waits for can still come.

A value that was on its way when a link was lost comes no more, and the part of the step that has sent it may
have ended well, so that nobody else knows of a failure. So a worker looks once a beat at the steps that wait
for other tasks, and asks those: a task that cannot be asked owes nothing any more, and one whose part of the
step is over says so by the way that its values take. What has not come by then was lost.

Owned by a worker actor. It imports refs, messages and the rendezvous table. Invariants: a task that is only
busy fails nothing; a value that is still on its way is not called lost, because the word of it comes behind.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.messages.worker import AskOwed, ValuesLost
from actorsession.plan.rendezvous_key import parse_key
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS

__all__ = ["MissingTensorProbe", "Peers"]


class Peers(Protocol):
    """The other tasks, by the names that links to them have: a task's own or a peer key."""

    def worker(self, task: str) -> Ref:
        """Return the worker of a task."""

    def link_now(self, task: str) -> object | None:
        """Return the link to a task if there is one."""

    def tell_behind(self, task: str, message: ValuesLost) -> None:
        """Deliver a message to a task behind all values that were pushed to it."""


# Steps asked about in one message; a worker with more of them asks again at the next beat.
_ASKED = 1000


class MissingTensorProbe:
    """Sees to it that no step waits for a value that cannot come.

    Args:
        table: the rendezvous of the worker's steps.
        incarnations: of the worker's devices.
        peers: the other tasks.
        give_up: ends a step with an error.
    """

    def __init__(
        self,
        table: RendezvousTable,
        incarnations: Collection[int],
        peers: Peers,
        give_up: Callable[[int, OpError], None],
    ) -> None:
        self._table = table
        self._incarnations = frozenset(incarnations)
        self._peers = peers
        self._give_up = give_up
        self._asking: set[str] = set()

    # -- the side that waits -------------------------------------------------------------------

    async def watch(self, children: Children) -> None:
        """Look at the steps again and again, until it is cancelled.

        Args:
            children: own the questions.
        """
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            for name, steps in self._waiting().items():
                if name not in self._asking:
                    self._asking.add(name)
                    _ = children.start(self._ask(name, steps), name=f"ask {name} what it owes")

    def _waiting(self) -> Mapping[str, dict[int, str]]:
        """For each task that is waited for, the steps that do with a key of each."""
        found: defaultdict[str, dict[int, str]] = defaultdict(dict)
        limit = time.monotonic() - BEAT_SECONDS
        for rendezvous in self._table.begun_before(limit):
            for task, key in rendezvous.awaited().items():
                name = rendezvous.link_name(task)
                if name is not None and len(found[name]) < _ASKED:
                    found[name][rendezvous.step_id] = key
        return found

    async def _ask(self, name: str, steps: Mapping[int, str]) -> None:
        try:
            error = await self._question(name, steps, CONNECT_TIMEOUT)
            if error is not None:
                # The master of a step asks the task too, as a rule, and has better words for what is wrong
                # with it. And a link that is reset says nothing of the task: it is dialled anew once.
                await asyncio.sleep(BEAT_SECONDS)
                error = await self._question(name, steps, LEASE_SECONDS / 2)
            if error is not None:
                self._fail(steps, error)
        finally:
            self._asking.discard(name)

    async def _question(self, name: str, steps: Mapping[int, str], limit: float) -> OpError | None:
        """Ask a task; return why it cannot be asked."""
        waiting = [r for step_id in steps if (r := self._table.find(step_id)) is not None]
        if not waiting:
            return None
        message = AskOwed(
            steps=list(steps), keys=list(steps.values()), reply_to=waiting[0].link_name() or ""
        )
        try:
            await self._peers.worker(name).ask(message, Deadline.after(limit))
        except DeadlineExceededError as error:
            return error if self._peers.link_now(name) is None else None  # else it is busy
        except OpError as error:
            return error
        return None

    def _fail(self, steps: Mapping[int, str], error: OpError) -> None:
        for step_id, key in steps.items():
            task = parse_key(key).src_task
            rendezvous = self._table.find(step_id)
            if rendezvous is not None and task in rendezvous.awaited():
                words = f"step {step_id} waits for values of {task}: {error.message}"
                self._give_up(step_id, UnavailableError(words, task=task))

    def lost(self, message: ValuesLost) -> None:
        """Take in that nothing more comes for a step from a task."""
        rendezvous = self._table.find(message.step_id)
        if rendezvous is not None and message.task in rendezvous.awaited():
            words = (
                f"values of {message.task} for step {message.step_id} were lost on their way, with the "
                "link that they were sent over"
            )
            self._give_up(message.step_id, UnavailableError(words, task=message.task))

    # -- the side that owes --------------------------------------------------------------------

    def asked(self, message: AskOwed) -> None:
        """Say of which steps nothing more will come; of those that are not over it says nothing.

        Raises:
            InvalidArgumentError: for a malformed key, or lists that do not match.
        """
        for step_id, text in zip(message.steps, message.keys, strict=False):
            key = parse_key(text)
            if self._table.is_over(step_id) or key.src_incarnation not in self._incarnations:
                lost = ValuesLost(step_id=step_id, task=key.src_task)
                self._peers.tell_behind(message.reply_to, lost)
