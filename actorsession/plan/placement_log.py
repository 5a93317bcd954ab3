"""The log of ``log_device_placement``: the devices of a session, and the device of every node.

Lines begin as TensorFlow's do, so that tools for its logs read these; here they also give the reason. Whoever
asks for them in the settings sees them: where no logging takes them they go to standard error.
Called by direct sessions, and by masters for the sessions of their clients.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from actorsession.graph.device import DeviceAttributes
from actorsession.graph.node import NodeDef
from actorsession.plan.place import Placed
from actorsession.terminal_text import write_lines

__all__ = ["PLACEMENT_LOG", "log_devices", "log_placement"]

PLACEMENT_LOG = "actorsession.session.placement"
"""Name of the logger, for handlers that want nothing else."""

_log = logging.getLogger(PLACEMENT_LOG)


def log_devices(devices: Sequence[DeviceAttributes]) -> None:
    """Log the devices of a new session, the client device first."""
    lines = (f"{d.name} -> device type: {d.device_type}, memory limit: {d.memory_limit} bytes" for d in devices)
    _say("\n".join(["Device mapping:", *lines]))


def log_placement(nodes: Iterable[NodeDef], placed: Mapping[str, Placed]) -> None:
    """Log a line for each node that was placed: name, type, device and reason."""
    for node in nodes:
        where = placed.get(node.name)
        if where is not None:
            _say(f"{node.name}: ({node.op}): {where.device} ({where.reason})")


def _say(text: str) -> None:
    if _log.isEnabledFor(logging.INFO) and any(map(_takes, _handlers())):
        _log.info("%s", text)
    elif sys.stderr is not None:
        with contextlib.suppress(OSError):
            _ = write_lines(sys.stderr, text.splitlines())


def _takes(handler: logging.Handler) -> bool:
    """Return whether a handler does something with records of the level."""
    return handler.level <= logging.INFO and not isinstance(handler, logging.NullHandler)


def _handlers() -> Iterator[logging.Handler]:
    """Yield the handlers that get the records of the logger."""
    logger: logging.Logger | None = _log
    while logger is not None:
        yield from logger.handlers
        logger = logger.parent if logger.propagate else None
