"""The actors of this process by address, so that a session can call its master without encoding
anything.

Owns one table for the whole process. Servers publish their master under each of its addresses;
session factories look there before they dial. It imports the ref. Any thread may call it; the ref
that it returns knows the loop of its actor and crosses over by itself.

Entries are the process's own: after a fork the child finds nothing, because the loops of its parent
do not run in it.
"""

from __future__ import annotations

import os
import threading

from actorsession.actors.ref import LocalRef, Ref
from actorsession.errors import AlreadyExistsError

__all__ = ["lookup", "publish", "withdraw"]

_lock = threading.Lock()
_published: dict[str, tuple[int, Ref]] = {}


def publish(address: str, ref: Ref) -> None:
    """Make an actor known under an address.

    Args:
        address: as others would dial it, such as ``tcp://127.0.0.1:7000`` or ``inproc://master``.
        ref: the actor; kept until it is withdrawn.

    Raises:
        AlreadyExistsError: if another living actor is known under it.
    """
    with _lock:
        known = _find(address)
        if known is not None and known != ref:
            raise AlreadyExistsError(
                f"{address} stands for actor {known.name!r}, it cannot for {ref.name!r}"
            )
        _published[address] = (os.getpid(), ref)


def withdraw(address: str, ref: Ref | None = None) -> None:
    """Forget an address; nothing if it is not known.

    Args:
        address: the address.
        ref: if given, only this actor is forgotten, not one that took its place.
    """
    with _lock:
        if ref is None or _find(address) == ref:
            _published.pop(address, None)


def lookup(address: str) -> Ref | None:
    """Return the actor of this process that is known under an address, if one is."""
    with _lock:
        return _find(address)


def _find(address: str) -> Ref | None:
    pid, ref = _published.get(address, (0, None))
    if pid != os.getpid():
        return None
    if isinstance(ref, LocalRef) and ref.loop is not None and ref.loop.is_closed():
        return None  # whoever published it went without a word
    return ref
