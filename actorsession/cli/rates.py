"""What tasks do per second, as commands that ask again and again show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actorsession.drawing.text import byte_size, duration

if TYPE_CHECKING:
    from actorsession.cli.status import TaskAnswer
    from actorsession.cluster import ServerStatistics, TaskRates

__all__ = ["RATE_HEADINGS", "Rounds", "rate_cells"]

RATE_HEADINGS = ("STEPS/S", "P50", "P99", "CPU", "SENT/S", "RECEIVED/S", "ERRORS")


class Rounds:
    """The answers of tasks of one round, with which those of the next are compared."""

    def __init__(self) -> None:
        self._earlier: dict[str, ServerStatistics] = {}

    def rates(self, answers: Sequence[TaskAnswer]) -> dict[str, TaskRates]:
        """Return what tasks have done since the last round, by address; those that have answered both times.

        Args:
            answers: those of this round.
        """
        from actorsession.cluster import rates_between

        later = {answer.address: answer.counters for answer in answers if answer.counters is not None}
        earlier, self._earlier = self._earlier, later
        between = {at: rates_between(earlier[at], seen) for at, seen in later.items() if at in earlier}
        return {at: rates for at, rates in between.items() if rates is not None}


def rate_cells(rates: TaskRates | None) -> tuple[str, ...]:
    """Return the cells of a task below ``RATE_HEADINGS``."""
    if rates is None:
        return ("-",) * len(RATE_HEADINGS)
    return (
        f"{rates.steps:.1f}" if rates.steps < 100 else f"{rates.steps:.0f}",
        duration(rates.p50) if rates.p50 else "-",
        duration(rates.p99) if rates.p99 else "-",
        f"{100 * rates.cpu:.0f} %",
        byte_size(rates.sent),
        byte_size(rates.received),
        str(rates.errors),
    )
