"""The host of the code that runs: one value that holds clock, entropy, files, network and processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from transports.host.clock import Clock
from transports.host.entropy import Entropy
from transports.host.files import Files
from transports.host.network import Network
from transports.host.processes import Processes

__all__ = ["HOST", "SYSTEM", "Host", "current_host", "on_host"]

T = TypeVar("T")


class Host:
    """A machine as one process sees it.

    Args:
        name: what it is called, in messages of a simulation; "" for this machine.
        clock: tells the time.
        entropy: draws random numbers.
        files: opens files.
        network: resolves names, connects and listens.
        processes: starts processes and threads.
    """

    __slots__ = ("_own", "clock", "entropy", "files", "name", "network", "processes")

    def __init__(
        self,
        name: str = "",
        *,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        files: Files | None = None,
        network: Network | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.name = name
        self.clock = clock or Clock()
        self.entropy = entropy or Entropy()
        self.files = files or Files()
        self.network = network or Network()
        self.processes = processes or Processes()
        self._own: dict[object, Any] = {}

    def own(self, make: Callable[[], T]) -> T:
        """Return what there is once in each process, in place of a variable of a module: a counter, a table.

        A forked child has none of its parent's.

        Args:
            make: makes it at the first call on this host, and identifies it. What it makes may have a method
                ``process_ended``, which gives back what a simulated process has of the real one, such as a handler of
                logs.
        """
        kept = self._own.get(make)
        if kept is None:
            # Two threads may both make one; both get the one that was stored.
            kept = self._own.setdefault(make, make())
        return cast(T, kept)

    def shown(self, line: str) -> str:
        """Return how messages to other processes name a line of the program, ``file:line``."""
        return line

    def shown_version(self, version: str) -> str:
        """Return how messages to other processes name the version of the program."""
        return version

    def __repr__(self) -> str:
        return f"<Host {self.name or 'of this machine'}>"


SYSTEM = Host()
"""This machine."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SYSTEM._own.clear)

HOST: ContextVar[Host] = ContextVar("host", default=SYSTEM)
"""The host of a context, for event loops, which ask a context that is not the current one."""

current_host: Callable[[], Host] = HOST.get
"""Return the host on which the code runs."""


@contextmanager
def on_host(host: Host) -> Iterator[None]:
    """Run a block, and the callbacks and tasks that it starts, on a host."""
    token = HOST.set(host)
    try:
        yield
    finally:
        HOST.reset(token)
