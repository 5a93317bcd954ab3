"""The private folder in which the processes of a local cluster listen.

Owned by a ``LocalCluster``, whose children bind there. Only its user can enter it, so that every peer that
connects is that user (or root). It is removed with the cluster; if its owner is killed, the last of the
orphaned children removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from actorsession.errors import OpError, ResourceExhaustedError
from actorsession.process_bound import finalize_here
from actorsession.session.targets import master_addresses
from transports import parse_address
from transports.host import current_host

__all__ = ["SocketFolder", "remove_orphaned_folder"]

# Bytes of the path of a socket: 103 on macOS, 107 on Linux, and one more for the terminator.
_LONGEST = 103
_PREFIX = "actorsession-"
_RANDOM = 8  # characters that ``mkdtemp`` adds
_NAME = 16  # of a generated name, which replaces one that is too long


class SocketFolder:
    """A new folder of mode 0700 whose path is short enough for the names of sockets.

    Raises:
        ResourceExhaustedError: if no place has such a path, or none can be written to.
    """

    def __init__(self) -> None:
        self.path = _made()
        # Also removed if the cluster is never stopped, but not by a process that its owner has forked.
        self._removal = finalize_here(self, shutil.rmtree, self.path, True)

    def address(self, name: str) -> str:
        """Return an address for a new task, with this name unless it is too long or taken."""
        path = f"{self.path}/{name}"
        if len(os.fsencode(path)) > _LONGEST or os.path.lexists(path):
            name = current_host().entropy.token_hex(_NAME // 2)
        return f"unix://{self.path}/{name}"

    def remove(self) -> None:
        """Remove the folder with whatever killed processes have left there; may be called twice."""
        self._removal()


def _made() -> str:
    room = _LONGEST - len(f"/{_PREFIX}/") - _RANDOM - _NAME
    faults = []
    places = ["/tmp"]
    try:
        places.insert(0, tempfile.gettempdir())
    except OSError as exc:
        faults.append(str(exc))
    for place in dict.fromkeys(places):
        if len(os.fsencode(place)) > room:
            faults.append(f"{place!r} is longer than {room} bytes")
            continue
        if not _is_address(f"unix://{place}/"):
            faults.append(f"{place!r} has characters that addresses do not have")
            continue
        try:
            return tempfile.mkdtemp(prefix=_PREFIX, dir=place)
        except OSError as exc:
            faults.append(f"{place!r}: {exc.strerror}")
    raise ResourceExhaustedError(
        f"the cluster has no place for its sockets: {'; '.join(faults)}; set TMPDIR to a folder with a "
        "short name, or protocol='tcp'"
    )


def _is_address(text: str) -> bool:
    """Return whether others can be told an address, and take it as a target."""
    try:
        return bool(text.encode()) and master_addresses(text) == (text,)
    except (UnicodeEncodeError, OpError):
        return False


def remove_orphaned_folder(address: str) -> None:
    """Remove the folder of a socket whose owner is gone, once it is empty.

    Args:
        address: the address of a task; an address without a path has no folder.
    """
    path = parse_address(address).path
    if path:
        with contextlib.suppress(OSError):  # others are there, or it is gone
            os.rmdir(os.path.dirname(path))
