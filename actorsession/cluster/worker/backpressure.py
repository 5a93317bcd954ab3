"""Steps that a worker does not start yet because of backpressure from a task that they send to.

A step pushes its tensors from synchronous code, where nothing can wait. Therefore the start of a step waits:
while more than ``BACKLOG`` bytes are queued on a link, no step starts that sends over it. Such a step only
waits until bytes have left, which the peer reads whatever else it does. It never waits for another step, so
held steps cannot deadlock.

Owned by a worker session. Imports children. Invariants: The steps of a link start in the order in which they
came. A step that is cancelled is removed at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from actorsession.actors.supervision import Children
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.errors import AbortedError, OpError, from_exception
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["HeldStep", "StepGate"]


@dataclass(frozen=True, slots=True, eq=False)
class HeldStep:
    """A step that is held.

    Attributes:
        begin: starts it; may hold it again for another link.
        fail: ends it with an error instead.
        link: the task whose link it waits for.
        since: when it was first held, by the monotonic clock.
    """

    begin: Callable[[], None]
    fail: Callable[[OpError], None]
    link: str
    since: float


class StepGate:
    """The held steps of one session at one worker.

    Args:
        workers: the other tasks; a step that sends over a backlogged link to one of them is held.
        children: own the waiting.

    Attributes:
        by_link: the held steps by the task whose link they wait for, and by their ids.
    """

    def __init__(self, workers: WorkerCacheInterface, children: Children) -> None:
        self._workers = workers
        self._children = children
        self.by_link: dict[str, OrderedDict[int, HeldStep]] = {}
        # The link of the step that is being started, and when that step was first held.
        self._releasing: str | None = None
        self._since: float | None = None

    def __len__(self) -> int:
        """Return the number of held steps."""
        return sum(map(len, self.by_link.values()))

    @property
    def steps(self) -> dict[int, HeldStep]:
        """The held steps by step id, those of each link in the order in which they came."""
        return {step_id: held for steps in self.by_link.values() for step_id, held in steps.items()}

    def blocked(self, tasks: Iterable[str]) -> str | None:
        """Return the first task whose link a step that sends to ``tasks`` has to wait for."""
        for task in tasks:
            behind = task in self.by_link and task != self._releasing
            if behind or self._workers.is_backlogged(task):
                return task
        return None

    def hold(self, name: str, step_id: int, begin: Callable[[], None], fail: Callable[[OpError], None]) -> None:
        """Hold a step until its link is no longer backlogged.

        Args:
            name: the task that ``blocked`` returned.
            step_id: the step.
            begin: starts it.
            fail: ends it with an error instead.
        """
        steps = self.by_link.get(name)
        if steps is None:
            steps = self.by_link[name] = OrderedDict()
            _ = self._children.start(self._begin_later(name), name=f"hold steps that send to {name}")
        since = current_host().clock.monotonic() if self._since is None else self._since
        steps[step_id] = HeldStep(begin, fail, name, since)

    def give_up(self, step_id: int, error: OpError) -> None:
        """End a step if it is held."""
        for steps in self.by_link.values():
            held = steps.pop(step_id, None)
            if held is not None:
                held.fail(error)

    def close(self, error: OpError) -> None:
        """End every held step."""
        for steps in self.by_link.values():
            for step_id in list(steps):
                self.give_up(step_id, error)

    async def _begin_later(self, name: str) -> None:
        steps = self.by_link[name]
        try:
            while steps:
                await self._workers.wait_for_capacity(name)
                while steps and not self._workers.is_backlogged(name):
                    _, held = steps.popitem(last=False)
                    self._begin_now(held)
        finally:
            for step_id in list(steps):  # the session was stopped without an error
                self.give_up(step_id, AbortedError("the worker session was stopped"))
            del self.by_link[name]

    def _begin_now(self, held: HeldStep) -> None:
        self._releasing, self._since = held.link, held.since
        try:
            held.begin()
        except Exception as exc:
            held.fail(from_exception(exc))
        finally:
            self._releasing = self._since = None
