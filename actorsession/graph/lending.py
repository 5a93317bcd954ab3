"""Values on their way to a device of another task, which may be lent to it in place of being sent by the host.

Code of a device makes a ``Lent`` of an array that goes to a device of its family at another task. Whether it is lent
is known when it is sent: the link to that task has to reach a process of the same host. There, ``taken`` makes a copy
of it, on the device. Code generation and links call this module; the rendezvous passes a ``Lent`` on as it does arrays.

Invariant: an array is lent as long as its ``Loan`` exists, which a link keeps until the other process has its copy, or
can make none any more.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any

from actorsession.errors import FailedPreconditionError
from actorsession.graph.device import device_task
from actorsession.graph.device_kernels import Lending, kernels_of, peer_arrays

__all__ = ["LEAST", "Lent", "Loan", "conversion_to", "staged_of", "taken"]

LEAST = 2**16
"""Bytes from which arrays are lent: a loan takes a message there, one back, and a copy that is waited for."""

_log = logging.getLogger(__name__)


class Loan:
    """An array that is lent until nothing refers to this object any more.

    Attributes:
        ticket: by which the other process copies it.
    """

    __slots__ = ("__weakref__", "_array", "ticket")

    def __init__(self, array: Any, lending: Lending, ticket: bytes) -> None:
        self._array = array
        self.ticket = ticket
        weakref.finalize(self, _release, lending, ticket).atexit = False


def _release(lending: Lending, ticket: bytes) -> None:
    try:
        lending.release(ticket)
    except Exception:  # whoever drops the last reference has nothing to do with it
        _log.exception("the end of a loan has failed")


class Lent:
    """An array of a device that is sent to another task, where it goes as a ticket if it can.

    Args:
        array: the array.
        lending: that of the device.
        to_host: makes it one of the host.

    Attributes:
        shape: that of the array.
        nbytes: its bytes, as traces and counters read them.
    """

    __slots__ = ("_array", "_lending", "_to_host", "nbytes", "shape")

    def __init__(self, array: Any, lending: Lending, to_host: Callable[[Any], Any]) -> None:
        self._array = array
        self._lending = lending
        self._to_host = to_host
        self.nbytes: int = array.nbytes
        self.shape = array.shape

    def on_host(self) -> Any:
        """Return the array as one of the host, which is dropped when it was sent."""
        return self._to_host(self._array)

    def lend(self) -> Loan | None:
        """Lend the array; ``None`` if it has to go by the host."""
        ticket = self._lending.lend(self._array)
        return None if ticket is None else Loan(self._array, self._lending, ticket)


def staged_of(device: str) -> Callable[[Any], Any] | None:
    """Return what makes an array of a device, given its full name, the host's to be sent; ``None`` for ``to_host``."""
    kernels = kernels_of(device)
    return None if kernels is None or kernels.staged is None else kernels.staged(device)


def conversion_to(source: str, target: str) -> Callable[[Any], Any] | None:
    """Return what makes of an array of a device what goes to another device without the host.

    Args:
        source: full name of the first device.
        target: full name of the other one, which holds the array's dtype.

    Returns:
        The function; ``None`` if values go by the host.
    """
    arrays, kernels = peer_arrays(source, target), kernels_of(source)
    if arrays is None or kernels is None:
        return None
    lending, to_host = kernels.lending, staged_of(source) or kernels.arrays(source).to_host
    if device_task(source) == device_task(target) or lending is None:
        return arrays.to_device
    return lambda array: Lent(array, lending, to_host) if array.nbytes >= LEAST else to_host(array)


def taken(device: str, ticket: bytes) -> Any:
    """Return a copy of an array that another process lends to a device; see ``Lending.take``.

    Raises:
        FailedPreconditionError: if arrays of the device are not lent.
    """
    kernels = kernels_of(device)
    if kernels is None or kernels.lending is None:
        raise FailedPreconditionError(f"{device} takes no arrays that are lent to it")
    return kernels.lending.take(device, ticket)
