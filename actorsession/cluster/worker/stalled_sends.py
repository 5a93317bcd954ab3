"""Detection of values that were lost on the way from one worker to another.

A value that was on its way when a link was lost does not arrive any more. The sender's partitions may have
succeeded, so that no other part of the system observes a failure. Therefore a worker checks once per
heartbeat period which steps wait for other tasks, and asks those tasks. A task that cannot be reached will
send nothing more. A task whose partitions of the step are over, or that has pushed the value, reports that by a
message that takes the same path as its values: a value that has not arrived before that message was lost. The
second matters where each of two tasks waits for a value of the other, so that neither is ever over.

Owned by a worker actor. Imports refs, messages and the rendezvous table. Invariants: A task that is merely
busy fails no step. A value that is still on its way is not reported lost, because the report arrives behind
it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable, SessionPeers
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.messages.worker import AskOwed, ValuesLost
from actorsession.plan.rendezvous_key import parse_key
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS
from transports.host import current_host

__all__ = ["MissingTensorProbe"]

_log = logging.getLogger("actorsession.cluster")
# A task that values are awaited from, with the tasks of the session that has a cluster of its own.
_Sender: TypeAlias = "tuple[str, SessionPeers | None]"
_Awaited: TypeAlias = "list[tuple[int, str]]"  # steps and keys

# Limit on the keys in one request; a worker with more of them asks again in the next period.
_ASKED = 1000


class MissingTensorProbe:
    """Fails steps that wait for a value that cannot arrive.

    Args:
        table: the rendezvous of the worker's steps.
        incarnations: the incarnations of the worker's devices.
        workers: the other tasks of the worker's cluster.
        give_up: ends a step with an error.
    """

    def __init__(
        self,
        table: RendezvousTable,
        incarnations: Collection[int],
        workers: WorkerCacheInterface,
        give_up: Callable[[int, OpError], None],
    ) -> None:
        self._table = table
        self._incarnations = frozenset(incarnations)
        self._workers = workers
        self._give_up = give_up
        self._asking: set[_Sender] = set()

    # -- the receiving side --------------------------------------------------------------------

    async def watch(self, children: Children) -> None:
        """Check the steps periodically, until this is cancelled.

        Args:
            children: own the requests.
        """
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                self._look(children)
            except Exception:  # the steps of the next look may wait for ever otherwise
                _log.exception("a look for missing tensors has failed")

    def _look(self, children: Children) -> None:
        for sender, steps in self._waiting().items():
            if sender not in self._asking:
                self._asking.add(sender)
                asking = self._ask(sender, steps)
                _ = children.start(asking, name=f"ask {sender[0]} for missing tensors")

    def _waiting(self) -> Mapping[_Sender, _Awaited]:
        """Return, by awaited task, the waiting steps with their awaited keys."""
        waiting: defaultdict[_Sender, _Awaited] = defaultdict(list)
        limit = current_host().clock.monotonic() - BEAT_SECONDS
        for rendezvous in self._table.begun_before(limit):
            for task, keys in rendezvous.awaited().items():
                awaited = waiting[task, rendezvous.peers]
                awaited += [(rendezvous.step_id, key) for key in keys[: _ASKED - len(awaited)]]
        return waiting

    async def _ask(self, sender: _Sender, steps: _Awaited) -> None:
        try:
            error = await self._ask_sender(sender, steps, CONNECT_TIMEOUT)
            if error is not None:
                # Usually the master of the step asks the task too, and has a better description of the
                # failure. Besides, a reset of the link does not mean that the task is lost; the link is
                # dialled again once.
                await asyncio.sleep(BEAT_SECONDS)
                error = await self._ask_sender(sender, steps, LEASE_SECONDS / 2)
            if error is not None:
                self._fail(steps, error)
        finally:
            self._asking.discard(sender)

    async def _ask_sender(self, sender: _Sender, steps: _Awaited, limit: float) -> OpError | None:
        """Ask a task; return the error if it cannot be reached."""
        waiting = [r for step_id, _ in steps if (r := self._table.find(step_id)) is not None]
        if not waiting:
            return None
        task, peers = sender
        workers = self._workers if peers is None else peers.workers
        message = AskOwed(
            steps=[step_id for step_id, _ in steps],
            keys=[key for _, key in steps],
            reply_to=waiting[0].task,
            session_handle="" if peers is None else peers.session_handle,
        )
        try:
            await workers.worker(task).ask(message, Deadline.after(limit))
        except DeadlineExceededError as error:
            return None if workers.is_linked(task) else error  # otherwise it is busy
        except OpError as error:
            return error
        return None

    def _fail(self, steps: _Awaited, error: OpError) -> None:
        for step_id, key in dict(steps).items():
            task = parse_key(key).src_task
            rendezvous = self._table.find(step_id)
            if rendezvous is not None and task in rendezvous.awaited():
                words = f"{rendezvous.what} waits for values of {task}: {error.message}"
                self._give_up(step_id, UnavailableError(words, task=task))

    def values_lost(self, message: ValuesLost) -> None:
        """Fail a step that still waits for values of a task that will send nothing more."""
        rendezvous = self._table.find(message.step_id)
        if rendezvous is None:
            return
        awaited = rendezvous.awaited().get(message.task, ())
        if message.key in awaited if message.key else awaited:
            words = (
                f"values of {message.task} for {rendezvous.what} were lost on their way to {rendezvous.task}, with "
                "the link that they were sent over"
            )
            self._give_up(message.step_id, UnavailableError(words, task=message.task))

    # -- the sending side ----------------------------------------------------------------------

    def answer(self, message: AskOwed, workers: WorkerCacheInterface) -> None:
        """Report the steps for which nothing more will be sent, and the values that were; others are not mentioned.

        Args:
            message: the request.
            workers: the tasks of the session that it names.

        Raises:
            InvalidArgumentError: for a malformed key.
        """
        reported: set[int] = set()  # one report ends a step
        for step_id, text in zip(message.steps, message.keys, strict=False):
            key = parse_key(text)
            if step_id in reported:
                continue
            rendezvous = self._table.find(step_id)
            if self._table.is_over(step_id) or key.src_incarnation not in self._incarnations:
                text = ""
            elif rendezvous is None or not rendezvous.has_pushed(text):
                continue
            reported.add(step_id)
            workers.tell_after_pushes(message.reply_to, ValuesLost(step_id=step_id, task=key.src_task, key=text))
