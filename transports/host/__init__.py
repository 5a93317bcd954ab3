"""What a process gets from the machine on which it runs, as one value: ``Host``.

Everything above that asks for the time, draws random numbers, opens a connection or a file, or starts a process
or a thread asks ``current_host()``. By default that is ``SYSTEM``, this machine. A simulation runs many hosts in
one process: each callback of its event loop carries its host in its context, as a process is carried by the
kernel. The package imports only the standard library; every other package may import it.
"""

from __future__ import annotations

from transports.host.clock import Clock
from transports.host.entropy import Entropy
from transports.host.files import AnyPath, Files
from transports.host.host import HOST, SYSTEM, Host, current_host, on_host
from transports.host.network import Network, Resolved
from transports.host.processes import Processes, StartedThread, Workers

__all__ = [
    "HOST",
    "SYSTEM",
    "AnyPath",
    "Clock",
    "Entropy",
    "Files",
    "Host",
    "Network",
    "Processes",
    "Resolved",
    "StartedThread",
    "Workers",
    "current_host",
    "on_host",
]
