"""The tasks of a session that have not answered, and the search for those that are needed.

A step that needs such a task waits for it within its own limit. However many steps wait for a task, there is
one search for it, which runs while any step waits and ends with the session at the latest. Owned by
``Membership``, which admits the tasks that are found; imports the device finder.

Invariant: there is no search for a task that nothing waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.master.device_discovery import RETRY, FoundTask, TaskSearch, did_not_answer, sooner
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import NotFoundError, OpError, UnavailableError, first_error, from_exception
from actorsession.records import dataclass

__all__ = ["AbsentTasks"]


@dataclass(slots=True, eq=False)
class _Pursuit:
    """One search, and the number of its waiters."""

    search: TaskSearch
    child: asyncio.Task[None]
    waiting: int = 0


class AbsentTasks:
    """The tasks of one session that have not answered.

    Args:
        cluster: the cluster of the session.
        take: admits a task that has answered; if it raises ``UnavailableError``, the search goes on.

    Attributes:
        reasons: for each absent task a text that describes the attempts to reach it.
    """

    def __init__(self, cluster: SessionCluster, take: Callable[[FoundTask], Awaitable[None]]) -> None:
        self._cluster = cluster
        self._take = take
        self._children = Children(f"searches of session {cluster.handle}")
        self._pursuits: dict[str, _Pursuit] = {}
        self.reasons: dict[str, str] = {}

    async def wait_for(self, tasks: Collection[str], deadline: Deadline) -> None:
        """Wait until tasks have answered and were admitted, or have left the cluster.

        Args:
            tasks: the tasks to wait for.
            deadline: the deadline, but at most 30 s from now.

        Raises:
            DeadlineExceededError: names the tasks that did not answer, with address, attempts and last error.
            OpError: if one of them refused.
        """
        limit = Deadline.after(CONNECT_TIMEOUT).earliest(sooner(deadline))
        pursuits = {task: self._pursue(task) for task in tasks}
        for pursuit in pursuits.values():
            pursuit.waiting += 1
        children = {pursuit.child: task for task, pursuit in pursuits.items()}
        try:
            await asyncio.wait(children, timeout=limit.time_left, return_when=asyncio.FIRST_EXCEPTION)
            errors = [self._error(child) for child in children if child.done()]
            error = first_error([error for error in errors if error is not None])
            if error is not None:
                raise error
            late = {task: self._failed(task) for child, task in children.items() if not child.done()}
            if late:
                raise did_not_answer(late, len(self._cluster.wanted()))
        finally:
            for task, pursuit in pursuits.items():
                self._leave(task, pursuit)

    async def aclose(self) -> None:
        """End all searches."""
        await self._children.stop()

    def _pursue(self, task: str) -> _Pursuit:
        known = self._pursuits.get(task)
        if known is not None and not known.child.done():
            return known
        search = TaskSearch(task, self._cluster.links.worker(task))
        child = self._children.start(self._run(search), name=f"search for {task}", awaited=True)
        # All waiters may have been cancelled by the time it fails.
        child.add_done_callback(lambda done: done.cancelled() or done.exception())
        pursuit = self._pursuits[task] = _Pursuit(search, child)
        return pursuit

    async def _run(self, search: TaskSearch) -> None:
        while True:
            task_found = await search.run(Deadline.never())
            if search.task not in self._cluster.wanted():
                raise NotFoundError(f"{search.task} has left the cluster", task=search.task)
            assert task_found is not None  # there is no deadline
            try:
                await self._take(task_found)
                return
            except UnavailableError as error:  # lost again
                search.last = error.message
            await asyncio.sleep(RETRY)

    def _error(self, child: asyncio.Task[None]) -> OpError | None:
        if child.cancelled():
            return UnavailableError("the session is closing, and searches for no task any more")
        error = child.exception()
        return None if error is None else from_exception(error)

    def _failed(self, task: str) -> str:
        address = self._cluster.wanted().get(task, "no address any more")
        words = self._pursuits[task].search.failed(address)
        if task in self.reasons:
            self.reasons[task] = words
        return words

    def _leave(self, task: str, pursuit: _Pursuit) -> None:
        pursuit.waiting -= 1
        if not pursuit.waiting:
            pursuit.child.cancel()
            if self._pursuits.get(task) is pursuit:
                del self._pursuits[task]
