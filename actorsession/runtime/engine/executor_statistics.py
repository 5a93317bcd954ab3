"""The counters of executors, apart from them: clients of a server read them and load no engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.runtime.engine.executor import Executor

__all__ = ["ExecutorStatistics", "statistics_by_device"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStatistics:
    """The counters of an executor.

    Attributes:
        device: full name of its device.
        loaded: partitions that are loaded now.
        begun: partitions of steps begun so far. Plans that run as one call begin none.
        running: partitions that are under way.
        offloaded: segments and nodes that were submitted to the kernel pool so far.
        runs: segments and nodes that have run so far, those of plans that run as one call included.
        seconds: the total time of these runs.
    """

    device: str
    loaded: int = 0
    begun: int = 0
    running: int = 0
    offloaded: int = 0
    runs: int = 0
    seconds: float = 0.0


def statistics_by_device(executors: Iterable[Executor]) -> tuple[ExecutorStatistics, ...]:
    """Return the counters of executors, those of several executors of one device added."""
    found: dict[str, ExecutorStatistics] = {}
    for executor in executors:
        one = executor.executor_statistics()
        other = found.get(one.device)
        if other is not None:
            one = ExecutorStatistics(
                device=one.device, loaded=one.loaded + other.loaded, begun=one.begun + other.begun,
                running=one.running + other.running, offloaded=one.offloaded + other.offloaded,
                runs=one.runs + other.runs, seconds=one.seconds + other.seconds,
            )  # fmt: skip
        found[one.device] = one
    return tuple(found.values())
