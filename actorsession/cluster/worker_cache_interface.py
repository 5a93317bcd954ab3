"""What masters and workers know of the other tasks: refs to their workers, and the links to them.

TensorFlow's ``WorkerCacheInterface``. A server passes its ``WorkerCache`` to its master and to its worker,
which import only this protocol. A session whose client brings a cluster along has a cache of its own, in
which the tasks have the names of that cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.messages.worker import EndGroup, ValuesLost
from actorsession.rpc.pushes import Pushed
from actorsession.rpc.step_calls import StepCalls

__all__ = ["WorkerCacheInterface"]


class WorkerCacheInterface(Protocol):
    """The workers of a cluster, seen from one task."""

    def worker(self, task: str, incarnation: int | None = None) -> Ref:
        """Return a ref to the worker of a task, which is dialled on the first request.

        Args:
            task: the task; the worker of this task is called directly.
            incarnation: the expected incarnation of the task; any if left out.
        """

    def step_calls(self, task: str, incarnation: int) -> StepCalls | None:
        """Return the step frames of the link to an incarnation of a task, if there is one."""

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

    def learn(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks, replacing known ones."""

    def forget(self, tasks: Iterable[str]) -> None:
        """Remove tasks that have left the cluster; links to them are closed."""

    def for_session(self, handle: str, task: str, addresses: Mapping[str, str]) -> WorkerCacheInterface:
        """Return the cache of a session whose client brought a cluster along, to be released.

        Its links are the session's own: peers use none of them for anything else, and they end with it.

        Args:
            handle: the session; all calls with one handle return one cache until it is released.
            task: this task, by its name in that cluster.
            addresses: all tasks of that cluster.
        """

    def release(self) -> None:
        """Stop holding the cache of a session; the last release closes its links, without waiting."""

    def push(self, task: str, message: Pushed) -> None:
        """Deliver tensors to the worker of another task; never blocks."""

    def tell_after_pushes(self, task: str, message: EndGroup | ValuesLost) -> None:
        """Deliver a message to the worker of another task after all earlier pushes; never blocks."""

    def is_backlogged(self, task: str) -> bool:
        """Return whether so much is queued for a task that no step that sends to it should start."""

    def unsent_bytes(self, task: str) -> int:
        """Return how many bytes are queued for a task."""

    async def wait_for_capacity(self, task: str) -> None:
        """Wait until the link to a task is no longer backlogged, is lost, or cannot be established."""
