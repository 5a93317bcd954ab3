"""What is wrong with a task, by its counters, in words for its operator: ``actorsession status`` and the page."""

from __future__ import annotations

from collections.abc import Iterable

from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.whole_numbers import is_index

__all__ = ["findings", "short_duration"]

# Seconds by which an event loop is late when something holds it, and not only a busy machine.
_LATE = 0.5


def findings(counters: ServerStatistics, versions: Iterable[str]) -> list[str]:
    """Return what is wrong with a task that has answered, one sentence each.

    Args:
        counters: the counters of the task.
        versions: the versions that the tasks of its cluster run.
    """
    texts = []
    newest = max(versions, key=_order, default="")
    if _order(counters.version) < _order(newest):
        texts.append(f"it runs version {counters.version or 'unknown'}, and another task {newest}")
    if counters.loop_lag > _LATE:
        texts.append(f"its event loop was {counters.loop_lag:.1f} s late; a kernel or callback holds it")
    if counters.snapshot_overdue:
        texts.append(
            f"its last snapshot is {short_duration(counters.snapshot_age)} old, with one every "
            f"{short_duration(counters.snapshot_every)}; its log has the reason"
        )
    if counters.overdue:
        all_held = counters.overdue >= counters.pool_threads
        last = "; other kernels wait until the task is restarted" if all_held else ""
        texts.append(f"{counters.overdue_kernels}{last}")
    return texts


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key by which versions are sorted: numbers by value, and before a word such as "rc1"."""
    parts = version.replace("-", ".").split(".") if version else []
    return tuple((1, int(p), "") if is_index(p) else (0, 0, p) for p in parts)


def short_duration(seconds: float) -> str:
    """Return a time in the two largest units that it has."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{whole % 60:02}s" if minutes else f"{seconds:.3g}s"
