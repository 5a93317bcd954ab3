"""The step of a partial run in this process."""

from __future__ import annotations

from collections.abc import Callable

from actorsession.errors import OpError
from actorsession.runtime.engine.step import Step

__all__ = ["LocalPartialStep"]


class LocalPartialStep:
    """A step of this process, in the form in which a ``PartialRunDriver`` uses steps.

    Args:
        step: the step; not begun yet.
        start: begins its partitions.
        on_close: called with the step when the run is over.

    Attributes:
        cancel: ends the step from any thread, between two nodes.
        settled: waits for the kernels of a step that was aborted.
    """

    __slots__ = (
        "_on_close",
        "_start",
        "cancel",
        "feed",
        "handed_out",
        "limit",
        "rendezvous",
        "settled",
        "step",
        "step_id",
    )

    shares_memory = True
    unfinished = ()

    def __init__(self, step: Step, start: Callable[[], None], on_close: Callable[[Step], None]) -> None:
        self.step = step
        self.step_id = step.step_id
        self.rendezvous = step.rendezvous
        self.handed_out = step.handed_out
        self.feed = step.feed
        self.limit = step.limit
        self.cancel = step.cancel
        self.settled = step.settled
        self._start = start
        self._on_close = on_close

    def start(self, on_end: Callable[[OpError | None], None]) -> None:
        """Start all partitions in the calling thread; ``on_end`` is called once."""
        self._start()
        self.step.on_done(lambda: on_end(self.step.error))

    def abort(self, error: OpError) -> None:
        """Fail the step, and drop what is in its rendezvous."""
        self.step.fail(error)
        # A step whose partitions have all ended may still hold values that were not fetched.
        self.rendezvous.abort(error)

    def roll_back(self, error: OpError) -> None:
        """Put back what the step has taken and not delivered, if it has ended without an error."""
        self.step.give_back()

    def close(self) -> None:
        """Stop tracking the step."""
        self._on_close(self.step)
