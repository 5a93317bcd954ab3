"""What a run asks for, reduced to names: the key under which its plan is kept."""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["RunSignature"]


@dataclass(frozen=True, slots=True)
class RunSignature:
    """The names that a run feeds, fetches and targets, each name once.

    Attributes:
        feeds: tensor names whose values the caller gives.
        fetches: tensor names whose values the caller wants.
        targets: operation names that must run.
    """

    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def sorted(self) -> RunSignature:
        """Return the same request with its names in order, so that all orders find one plan."""
        return RunSignature(
            tuple(sorted(self.feeds)), tuple(sorted(self.fetches)), tuple(sorted(self.targets))
        )

    def __str__(self) -> str:
        return f"{','.join(self.feeds)}->{','.join(self.fetches)}/{','.join(self.targets)}"
