"""The run signature: the names in a run's feeds, fetches and targets, under which its plan is kept.

A debugged run has a ``DebugSignature``, so that caches keep its plan beside that of the plain run, whose
partitions have no debug nodes.
"""

from __future__ import annotations

from actorsession.config import DebugOptions
from actorsession.records import dataclass

__all__ = ["DebugSignature", "RunSignature"]


@dataclass(frozen=True, slots=True)
class RunSignature:
    """The names in a run's feeds, fetches and targets, each name once.

    Attributes:
        feeds: names of the tensors whose values the caller provides.
        fetches: names of the tensors whose values are returned.
        targets: names of the operations that must run.
    """

    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def sorted(self) -> RunSignature:
        """Return the same signature with its names in order, so that all orders find one plan."""
        return RunSignature(
            tuple(sorted(self.feeds)), tuple(sorted(self.fetches)), tuple(sorted(self.targets))
        )

    def __str__(self) -> str:
        return f"{','.join(self.feeds)}->{','.join(self.fetches)}/{','.join(self.targets)}"


@dataclass(frozen=True, slots=True)
class DebugSignature(RunSignature):
    """The signature of a debugged run, which never equals that of a plain run.

    Attributes:
        debug_options: the options of its plan; see ``DebugOptions.of_plan``.
    """

    debug_options: DebugOptions = DebugOptions()

    def sorted(self) -> DebugSignature:
        """Return the same signature with its names in order."""
        plain = RunSignature(self.feeds, self.fetches, self.targets).sorted()
        return DebugSignature(plain.feeds, plain.fetches, plain.targets, self.debug_options)
