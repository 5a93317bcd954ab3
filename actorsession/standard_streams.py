"""Descriptors 0 to 2, which a program may be started without, and the streams of Python that are over them.

What is opened next takes the lowest free descriptor. A socket or a pipe at one of the first three would get
what a library writes to standard error, and uvloop aborts the process when it closes one. So they are opened
on the null device first. Called before a loop is chosen, a connection is dialled, or a process is started,
and by ``main`` of the command line; imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["open_standard_descriptors", "open_standard_streams"]

_STREAMS = ("stdin", "stdout", "stderr")


def open_standard_descriptors() -> None:
    """Open the null device at each of the descriptors 0 to 2 that is closed; child processes inherit it."""
    with contextlib.suppress(OSError):  # no null device, or no descriptor is left, so all three are in use
        while (lowest := os.open(os.devnull, os.O_RDWR)) < len(_STREAMS):
            os.set_inheritable(lowest, True)
        os.close(lowest)


def open_standard_streams() -> None:
    """Open closed descriptors, and the streams of ``sys`` that Python has set to ``None`` because of them.

    For programs of this package; in another one, ``None`` is what its own code expects.
    """
    open_standard_descriptors()
    for descriptor, name in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            mode = "w" if descriptor else "r"
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))
