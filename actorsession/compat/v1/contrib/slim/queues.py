"""``slim.queues``: the threads of queues in a block of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorsession.train import Coordinator, start_queue_runners

__all__ = ["NestedQueueRunnerError", "QueueRunners"]


class NestedQueueRunnerError(Exception):
    """Queues were started inside a block that had started them."""


@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run the threads of all queues of the graph inside the block.

    Args:
        session: the session.
    """
    coordinator = Coordinator()
    threads = start_queue_runners(sess=session, coord=coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
