"""What masters and workers know of the other tasks: refs to their workers, and the links to them.

TensorFlow's ``WorkerCacheInterface``. A server passes its ``WorkerCache`` to its master and to its worker,
which import only this protocol. A task is named by its full name or, if only some session has it, by its
``peer_key``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.messages.worker import PushTensors, ValuesLost

__all__ = ["WorkerCacheInterface"]


class WorkerCacheInterface(Protocol):
    """The workers of a cluster, seen from one task."""

    def worker(self, task: str, incarnation: int | None = None) -> Ref:
        """Return a ref to the worker of a task, which is dialled on the first request.

        Args:
            task: the task; the worker of this task is called directly.
            incarnation: the expected incarnation of the task; any if left out.
        """

    def is_linked(self, task: str) -> bool:
        """Return whether there is a link to a task."""

    def watch(self, task: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for the end of the link to a task; called soon if there is none.

        Returns:
            A function that unregisters the callback. It may be called repeatedly, and after the callback.
        """

    async def refresh_addresses(self, deadline: Deadline) -> str:
        """Update the addresses of the tasks from the resolver, if there is one.

        Returns:
            Text to append to an error about an address that does not answer; "" on success.
        """

    def learn_from_session(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks as given by the master of a session."""

    def push(self, task: str, message: PushTensors) -> None:
        """Deliver tensors to the worker of another task; never blocks."""

    def tell_after_pushes(self, task: str, message: ValuesLost) -> None:
        """Deliver a message to the worker of another task after all earlier pushes; never blocks."""

    def is_backlogged(self, task: str) -> bool:
        """Return whether so much is queued for a task that no step that sends to it should start."""

    async def wait_for_capacity(self, task: str) -> None:
        """Wait until the link to a task is no longer backlogged, is lost, or cannot be established."""
