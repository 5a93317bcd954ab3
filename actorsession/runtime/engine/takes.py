"""What a step has taken out of queues and the like, until its values are delivered.

The partition that continues with the values of a ``Completion`` records it here. If the step ends early
for a reason outside of it (see ``ended_from_outside``), everything taken is put back, the last take first. A
take whose value an operation of the step has already stored is left alone, because the value would exist
twice. An error of the step's own node puts nothing back, as in TensorFlow: an element that cannot be
processed would come again for ever. What was only lent, a ``Loan``, is put back at the end of every step.

Owned by one ``Step``. Loops and branches record from their threads; everything else belongs to the step's
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from actorsession.errors import AbortedError, CancelledError, DeadlineExceededError, OpError, UnavailableError
from actorsession.graph.completion import Completion

if TYPE_CHECKING:
    from actorsession.plan.takes import TakeUses

__all__ = ["Takes", "ended_from_outside"]

_FROM_OUTSIDE = (CancelledError, DeadlineExceededError, UnavailableError, AbortedError)


def ended_from_outside(error: OpError) -> bool:
    """Return whether a step with this error was ended from outside and has not failed by itself."""
    return isinstance(error, _FROM_OUTSIDE)


class Taken(NamedTuple):
    """A take.

    Attributes:
        take: puts the values back.
        uses: the plan's record of the uses of its value.
        is_stored: returns whether an operation of the partition has stored the value.
    """

    take: Completion
    uses: TakeUses
    is_stored: Callable[[], bool]


class Takes(list[Taken]):
    """The takes of one step, in their order."""

    is_over = is_ended = has_loans = False
    """Whether the step was rolled back, and whether it has ended: later takes are put back, or later loans."""

    def add(self, taken: Taken) -> None:
        """Record a take; put it back at once if the step was rolled back already."""
        self.append(taken)
        if taken.take.lent:
            self.has_loans = True
        if self.is_over:
            self.roll_back()
        if self.is_ended:
            self.return_loans()

    def return_loans(self) -> None:
        """Put back what was only lent to the step, which has ended."""
        for taken in self.copy():
            if taken.take.lent:
                self.remove(taken)
                taken.take.put_back()

    def roll_back(self, *, ran: bool = False, handed_out: Collection[int] = ()) -> None:
        """Put back everything taken that was neither stored nor delivered.

        Args:
            ran: whether the whole step has run, in every process.
            handed_out: positions of a partial run's fetches whose values the caller has received.
        """
        self.is_over = True
        while self:
            take, uses, is_stored = self.pop()
            stored = uses.stored if ran else is_stored()
            if not stored and uses.fetches.isdisjoint(handed_out):
                take.put_back()
