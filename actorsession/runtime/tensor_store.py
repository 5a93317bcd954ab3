"""Values that a session keeps between steps, by tensor handle.

One store belongs to one direct session and is shared by its devices. Each value has a home device, and may
have copies on other devices to which it was moved. The ops find the store as a resource of their device; a
device without a store (a worker's) keeps no values. Stored values never change: arrays are made read-only
when they are stored.

No method takes a lock, because every change is one dictionary operation. Therefore finalisers, which run in
any thread and at any point, may discard values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.held_arrays import total_bytes
from actorsession.graph.registry import TENSOR_STORE
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from transports.host import current_host

__all__ = ["TensorStore", "install_tensor_store"]


def _handle_numbers() -> Iterator[int]:
    # One sequence for all sessions of a process, so that a handle of one session is unknown to the others.
    return itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    home: str
    values: dict[str, Any] = field(default_factory=dict)  # by device


class TensorStore:
    """The values of one session to which handles refer."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def new_handle(self, node: str, device: str) -> str:
        """Return a handle that was never used before: ``node;number;device``."""
        return f"{node};{next(current_host().own(_handle_numbers))};{device}"

    def save(self, handle: str, value: Any) -> None:
        """Keep a value under a handle, on the device that the handle names.

        Args:
            handle: a result of ``new_handle``.
            value: owned by the store from now on; an array becomes read-only.
        """
        home = handle.rpartition(";")[2]
        self._kept[handle] = _Kept(home, {home: _frozen(value)})

    def get(self, handle: str, device: str) -> Any:
        """Return a value as it is on a device, or else on its home device; borrowed, never changes.

        Raises:
            InvalidArgumentError: if nothing is kept under the handle.
        """
        kept = self._kept.get(handle)
        if kept is None:
            raise InvalidArgumentError(
                f"the tensor with handle {handle!r:.200} is not in the session's store: it was deleted, "
                "its TensorHandle was dropped, or it belongs to another session"
            )
        return kept.values.get(device, kept.values[kept.home])

    def devices(self, handle: str) -> tuple[str, ...]:
        """Return the devices that have a value, its home first; none if the handle is unknown."""
        kept = self._kept.get(handle)
        return tuple(kept.values) if kept is not None else ()

    def copy_to(self, handle: str, device: str, value: Any) -> None:
        """Keep a value on another device for as long as its handle is kept."""
        kept = self._kept.get(handle)
        if kept is not None:
            kept.values[device] = _frozen(value)

    def remove(self, handle: str) -> None:
        """Delete a value everywhere.

        Raises:
            InvalidArgumentError: if nothing is kept under the handle.
        """
        if self._kept.pop(handle, None) is None:
            raise InvalidArgumentError(
                f"failed to delete a tensor with handle {handle!r:.200}: it is not in the session's store"
            )

    def discard(self, handle: str) -> None:
        """Delete a value if it exists."""
        self._kept.pop(handle, None)

    @property
    def nbytes(self) -> int:
        """The bytes of the values, on all devices together."""
        return total_bytes([kept.values for kept in list(self._kept.values())])

    def clear(self) -> None:
        """Delete all values."""
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if not value.ndim:
            return value[()]
        value.flags.writeable = False
    return value


def install_tensor_store(devices: Iterable[Device]) -> TensorStore:
    """Give devices one store, in which their kernels keep values, and return it."""
    store = TensorStore()
    for device in devices:
        device.resources.lookup_or_create(*TENSOR_STORE, lambda: store)
    return store
