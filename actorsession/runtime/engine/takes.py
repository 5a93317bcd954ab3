"""What a step has taken out of queues and their like, until its values are handed out.

A ``Take`` that was fulfilled is recorded here by the partition that goes on with its values. If the step ends
early and the reason lies outside of it (see ``ended_from_outside``), what was taken is put back, the last
take first. A take whose value an operation of the step has stored already is left alone: the value would be
there twice. An error of a node of its own puts nothing back, as in TensorFlow: an element that cannot be
worked on would come again for ever.

Owned by one ``Step``. Loops and branches record from their threads; everything else belongs to the step's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
)
from actorsession.graph.take import Take

if TYPE_CHECKING:
    from actorsession.plan.takes import TakeUses

__all__ = ["Takes", "ended_from_outside"]

_FROM_OUTSIDE = (CancelledError, DeadlineExceededError, UnavailableError, AbortedError)


def ended_from_outside(error: OpError) -> bool:
    """Return whether a step with this error was ended, and has not failed by itself."""
    return isinstance(error, _FROM_OUTSIDE)


class Taken(NamedTuple):
    """A take that was fulfilled.

    Attributes:
        take: it.
        uses: what the plan knows of its value.
        is_stored: whether an operation of the partition has stored the value.
    """

    take: Take
    uses: TakeUses
    is_stored: Callable[[], bool]


class Takes:
    """The fulfilled takes of one step."""

    __slots__ = ("_over", "_taken")

    def __init__(self) -> None:
        self._taken: list[Taken] = []
        self._over = False

    def __len__(self) -> int:
        return len(self._taken)

    def add(self, taken: Taken) -> None:
        """Record a take; one of a step that was rolled back is put back at once."""
        self._taken.append(taken)
        if self._over:
            self.roll_back()

    def roll_back(self, *, ran: bool = False, handed_out: Collection[int] = ()) -> None:
        """Put back what was taken and is nobody's.

        Args:
            ran: whether all of the step has run, in every process.
            handed_out: positions of the fetches of a partial run whose values the caller has.
        """
        self._over = True
        while self._taken:
            take, uses, is_stored = self._taken.pop()
            stored = uses.stored if ran else is_stored()
            if not stored and uses.fetches.isdisjoint(handed_out):
                take.put_back()
