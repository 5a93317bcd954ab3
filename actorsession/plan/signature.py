"""The run signature: the names in a run's feeds, fetches and targets, under which its plan is kept.

A debugged run has a ``DebugSignature``, so that caches keep its plan beside that of the plain run, whose
partitions have no debug nodes.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from actorsession.config import DebugOptions
from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass

__all__ = ["PLAIN", "DebugSignature", "RunSignature", "Wiring"]

# Names of each kind that errors and logs show.
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a run changes about the ways of its tensors; all names are canonical, and each list is sorted.

    Attributes:
        connections: pairs of tensors, of which the first is used in the place of the second.
        feed_devices: pairs of a fed tensor and the full name of the device at which it enters the step.
        fetch_devices: pairs of a fetched tensor and the full name of the device at which it leaves the step.
    """

    connections: tuple[tuple[str, str], ...] = ()
    feed_devices: tuple[tuple[str, str], ...] = ()
    fetch_devices: tuple[tuple[str, str], ...] = ()

    def to_wire(self) -> list[Any]:
        """Return the wiring as plain values; an empty list if nothing is changed."""
        if self == PLAIN:
            return []
        lists = (self.connections, self.feed_devices, self.fetch_devices)
        return [[list(pair) for pair in pairs] for pairs in lists]

    @classmethod
    def from_wire(cls, value: Any) -> Wiring:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: for any other form.
        """
        if not value:
            return PLAIN
        try:
            connections, feed_devices, fetch_devices = [_pairs(pairs) for pairs in value]
        except (TypeError, ValueError):
            raise InvalidArgumentError(f"this is not the wire form of a wiring: {reprlib.repr(value)}") from None
        return cls(connections, feed_devices, fetch_devices)


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """Return a list of pairs of names as tuples, in order.

    Raises:
        TypeError: or ValueError for any other form.
    """
    pairs = []
    for first, second in value:
        if not (isinstance(first, str) and isinstance(second, str)):
            raise TypeError("a pair is made of two names")
        pairs.append((first, second))
    return tuple(sorted(pairs))


PLAIN = Wiring()
"""The wiring of a run that changes nothing."""


@dataclass(frozen=True, slots=True)
class RunSignature:
    """The names in a run's feeds, fetches and targets, each name once.

    Attributes:
        feeds: names of the tensors whose values the caller provides.
        fetches: names of the tensors whose values are returned.
        targets: names of the operations that must run.
        wiring: what the run changes about the ways of its tensors.
        collective_graph_key: see ``RunExperimental``.
    """

    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    wiring: Wiring = PLAIN
    collective_graph_key: int = 0

    def sorted(self) -> RunSignature:
        """Return the same signature with its names in order, so that all orders find one plan."""
        names = (self.feeds, self.fetches, self.targets)
        feeds, fetches, targets = in_order = tuple([tuple(sorted(each)) for each in names])
        return self if in_order == names else replace(self, feeds=feeds, fetches=fetches, targets=targets)

    @property
    def size(self) -> int:
        """The number of its names, with those of its wiring."""
        wiring = self.wiring
        changed = (wiring.connections, wiring.feed_devices, wiring.fetch_devices)
        return sum(map(len, (self.feeds, self.fetches, self.targets, *changed)))

    def __str__(self) -> str:
        names = f"{_listed(self.feeds)}->{_listed(self.fetches)}/{_listed(self.targets)}"
        wiring = self.wiring
        connected = [f"{source} for {replaced}" for source, replaced in wiring.connections]
        placed = [f"{t} at {d}" for t, d in (*wiring.feed_devices, *wiring.fetch_devices)]
        changed = ", ".join([*connected, *placed])
        return f"{names} with {changed}" if changed else names


def _listed(names: Sequence[str]) -> str:
    more = f",... ({len(names) - _LISTED} more)" if len(names) > _LISTED else ""
    return ",".join(names[:_LISTED]) + more


@dataclass(frozen=True, slots=True)
class DebugSignature(RunSignature):
    """The signature of a debugged run, which never equals that of a plain run.

    Attributes:
        debug_options: the options of its plan; see ``DebugOptions.of_plan``.
    """

    debug_options: DebugOptions = DebugOptions()
