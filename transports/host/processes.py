"""The processes and threads of a host."""

from __future__ import annotations

import os

__all__ = ["Processes"]


class Processes:
    """The processes of this machine; a derived class runs the work of threads on the event loop."""

    are_visible = True
    """Whether others on the same machine may find them in ``/proc``, if it has that."""

    getpid = staticmethod(os.getpid)
