"""pyzmq and msgpack by hand: what a program has that does without a runtime.

A client and two workers push messages to one another. A message is a header, packed by msgpack, and the bytes
of an array. The header has the number of the step, the operations that are left, dtype and shape. A worker
applies the first operation and passes the result on to the worker of the next one, or to the client. Nothing
watches over the processes, no step has a deadline, and arrays are copied through sockets.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

__all__ = ["CLIENT", "Node", "Route", "main"]

msgpack: Any = import_module("msgpack")
zmq: Any = import_module("zmq")

Route: TypeAlias = Sequence[tuple[str, str, Any]]  # worker, operation and operand, one after the other
CLIENT = "client"
# Bytes from which sending without a copy is worth its bookkeeping.
_LARGE = 64 * 2**10


class Node:
    """The sockets of a process: one to receive, and one to each other process.

    Args:
        name: of the process.
        addresses: of all processes, by name.
    """

    def __init__(self, name: str, addresses: Mapping[str, str]) -> None:
        self._context = zmq.Context()
        self._inbox = self._context.socket(zmq.PULL)
        self._inbox.bind(addresses[name])
        self._outboxes = {other: self._context.socket(zmq.PUSH) for other in addresses}
        for other, outbox in self._outboxes.items():
            outbox.connect(addresses[other])

    def send(self, step: int, route: Route, value: Any) -> None:
        """Send a value to the first worker of a route, or to the client at its end."""
        value = np.asarray(value, order="C")
        header = msgpack.packb([step, route, value.dtype.str, value.shape])
        outbox = self._outboxes[route[0][0] if route else CLIENT]
        outbox.send_multipart([header, value.data], copy=value.nbytes < _LARGE)

    def receive(self) -> tuple[int, Route, Any]:
        """Wait for a message; return the number of the step, the route that is left, and the value."""
        header, data = self._inbox.recv_multipart(copy=False)
        step, route, dtype, shape = msgpack.unpackb(header.buffer)
        return step, route, np.frombuffer(data.buffer, dtype).reshape(shape)

    def close(self) -> None:
        """Close the sockets."""
        self._context.destroy(linger=0)


def main(out: int, arguments: Sequence[str]) -> None:
    """Serve as a worker until standard input ends.

    Args:
        out: the file descriptor on which to report that the worker runs.
        arguments: the worker's name, and all addresses as JSON.
    """
    name, addresses = arguments
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    node = Node(name, json.loads(addresses))
    os.write(out, b"up\n")
    held = None
    while True:
        step, ((_, operation, operand), *rest), value = node.receive()
        if operation == "hold":
            held = np.arange(operand, dtype="f4")
        elif operation == "held":
            value = held
        elif operation == "held plus":
            value = held + np.float32(operand)
        elif operation == "every":
            value = value[::operand]
        elif operation == "add":
            value = value + np.float32(operand)
        else:
            value = value * np.float32(operand)
        node.send(step, rest, value)


def _exit_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)
