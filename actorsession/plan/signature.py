"""The run signature: the names in a run's feeds, fetches and targets, under which its plan is kept."""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["RunSignature"]


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
