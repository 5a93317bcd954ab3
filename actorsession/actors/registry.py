"""The actors of this process by address, so that a session can call its master without encoding.

There is one table for each process. Servers publish their master under each of its addresses,
and session factories look there before they dial. The module imports the ref. Any thread may call it; a
returned ref may be called from any event loop.

A forked child finds none of its parent's, because the event loops of its parent do not run in it.
"""

from __future__ import annotations

import threading

from actorsession.actors.ref import LocalRef, Ref
from actorsession.errors import AlreadyExistsError
from transports.host import current_host

__all__ = ["lookup", "publish", "withdraw"]

_lock = threading.Lock()


class _Published(dict[str, Ref]):
    """The actors of one process by address."""


def publish(address: str, ref: Ref) -> None:
    """Register an actor under an address.

    Args:
        address: the address to dial, such as ``tcp://127.0.0.1:7000`` or ``inproc://master``.
        ref: the actor; kept until it is withdrawn.

    Raises:
        AlreadyExistsError: another running actor is registered under the address.
    """
    with _lock:
        known = _find(address)
        if known is not None and known != ref:
            raise AlreadyExistsError(f"{address} stands for actor {known.name!r}, it cannot for {ref.name!r}")
        current_host().own(_Published)[address] = ref


def withdraw(address: str, ref: Ref | None = None) -> None:
    """Remove an address from the table; do nothing if it is not registered.

    Args:
        address: the address.
        ref: if given, only this actor is removed, not one that has replaced it.
    """
    with _lock:
        if ref is None or _find(address) == ref:
            current_host().own(_Published).pop(address, None)


def lookup(address: str) -> Ref | None:
    """Return the actor of this process that is registered under an address, or None."""
    with _lock:
        return _find(address)


def _find(address: str) -> Ref | None:
    ref = current_host().own(_Published).get(address)
    if isinstance(ref, LocalRef) and ref.loop is not None and ref.loop.is_closed():
        return None  # its publisher ended without withdrawing it
    return ref
