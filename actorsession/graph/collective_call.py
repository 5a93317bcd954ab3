"""Collective calls: a node's part in an operation of several devices, which its step carries out.

The kernel of a collective op returns a ``CollectiveCall``. It is pending until the step has begun it, because
only the step knows the other members and how to reach them; see ``runtime.collective``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from actorsession.errors import CancelledError
from actorsession.graph.completion import Completion
from actorsession.graph.dtypes import DType
from actorsession.records import dataclass

__all__ = [
    "ALL_TO_ALL",
    "BROADCAST",
    "GATHER",
    "REDUCE",
    "REDUCE_SCATTER",
    "Collective",
    "CollectiveCall",
    "DeviceGroup",
    "DeviceGroups",
]

REDUCE = "reduce"
"""Each member gets the values of all members, merged."""
GATHER = "gather"
"""Each member gets the values of all members, joined along the first axis."""
REDUCE_SCATTER = "reduce-scatter"
"""Each member gets its part, along the first axis, of the merged values."""
ALL_TO_ALL = "all-to-all"
"""Each member sends its i-th part along the first axis to member i."""
BROADCAST = "broadcast"
"""Each member gets the value of the one that sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """What all members of an instance must agree on, but for their values.

    Attributes:
        kind: one of the kinds of this module.
        group: key of the group.
        instance: key of the instance; members meet in the one of the same key.
        size: number of members.
        merge: how values are merged: ``Add``, ``Mul``, ``Min`` or ``Max``; "" where none are.
        final: ``Div`` to divide what was merged by ``size``, ``Id`` to leave it, "" where nothing is merged.
    """

    kind: str
    group: int
    instance: int
    size: int
    merge: str = ""
    final: str = ""

    def __str__(self) -> str:
        return f"instance {self.instance} of group {self.group}"


class DeviceGroup(Protocol):
    """One member's end of a group of devices that exchange their arrays by a library of their own.

    It belongs to a thread that makes it, calls it and drops it, which closes it: the members that wait for this one
    fail then.
    """

    def exchange(self, collective: Collective, value: Any, shape: Sequence[int], dtype: DType, source: int) -> Any:
        """Take part in a collective, and wait until the result can be used by this member's device.

        All members call it for the same collectives in the same order.

        Args:
            collective: what the members agree on.
            value: this member's array, borrowed; ``None`` for one that only receives.
            shape: of each member's value.
            dtype: of each member's value.
            source: the rank of the member that sends, of a broadcast.

        Returns:
            An array of the device: a new one, but for the sender of a broadcast, who may get its own.

        Raises:
            Exception: a member is gone, or makes no progress; the group is of no use afterwards.
        """


class DeviceGroups(Protocol):
    """A library by which devices of one type exchange arrays in collectives."""

    def takes(self, collective: Collective, dtype: DType) -> bool:
        """Return whether it carries out a collective of a dtype, with the results that it has without it."""

    def begin(self, host: str) -> tuple[str, Any]:
        """Begin a new group, at its first member; soon done.

        Args:
            host: the name or address under which the other members reach this process.

        Returns:
            The address at which the members meet, and what the group exists as long as.
        """

    def join(self, address: str, device: str, rank: int, size: int, host: str) -> DeviceGroup:
        """Return this member's end of a group; wait until all have joined, or fail after a limit.

        Args:
            address: as ``begin`` has returned it.
            device: full name of this member's device.
            rank: of this member.
            size: number of members.
            host: as for ``begin``, of this member.
        """


class CollectiveCall(Completion):
    """The value, later, of a node that takes part in a collective.

    Attributes:
        collective: what the members agree on.
        value: this member's value, borrowed, an array of its device or of numpy; ``None`` for one that only receives.
        shape: the shape that a member without a value expects.
        dtype: the name of the dtype that it expects.
        seconds: limit of the node; 0 for that of the step.
        after: instances that must have begun on the node's device before this one begins.
        hint: the name of the library by which the devices of the members may exchange their arrays; of none, the
            rendezvous of the step.
    """

    __slots__ = ("_ends", "after", "collective", "dtype", "hint", "seconds", "shape", "value")

    def __init__(
        self,
        collective: Collective,
        value: Any,
        *,
        shape: tuple[int, ...] = (),
        dtype: str = "",
        seconds: float = 0.0,
        after: tuple[int, ...] = (),
        hint: str = "",
    ) -> None:
        super().__init__()
        self.collective = collective
        self.value = value
        self.shape = shape
        self.dtype = dtype
        self.seconds = seconds
        self.after = after
        self.hint = hint
        self._ends: list[Callable[[CollectiveCall], object]] = []

    def on_end(self, callback: Callable[[CollectiveCall], object]) -> None:
        """Call a function with this when it is done or was abandoned; at once if it is."""
        self._ends.append(callback)
        if self.done:
            self._end()

    def _end(self) -> None:
        while self._ends:
            self._ends.pop()(self)

    def complete(
        self, values: Any, undo: Callable[[], None] | None = None, *, error: BaseException | None = None
    ) -> None:
        """See ``Completion.complete``."""
        super().complete(values, undo, error=error)
        self._end()

    def abandon(self) -> None:
        """End the call, because its step has ended."""
        super().abandon()
        self.fail(CancelledError("the step is over", derived=True))
