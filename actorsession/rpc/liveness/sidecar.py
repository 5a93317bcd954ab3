"""The state of a process as the operating system reports it, and a sidecar that sends it to other hosts.

The module holds the inspection of ``/proc``, the two datagrams by which one host queries another, and the
program that answers them. The program is a process beside a server that shares no interpreter lock with it,
so it can answer when the server cannot. ``peer_monitor`` and ``heartbeat_memory`` import the module. A
server starts it as ``python -I -S sidecar.py``, so it imports only the standard library, and its arguments
are numbers.

Invariants: the program ends with the server, however that ends, because the pipe at its standard input
closes. An answer is never longer than its query, and only queries made with the key are answered.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import select
import socket
import struct
import sys
from typing import NamedTuple

__all__ = ["ASKED", "NONCE", "TURNS", "Sighting", "answer", "ask", "derive_key", "read_answer", "read_turns", "sight"]

NONCE = 16
"""Random bytes of a query; its answer is authenticated over them."""

TURNS = struct.Struct("=q")
"""The memory in which a process counts the iterations of its event loop."""

_ASK, _ANSWER = b"asession pulse?\1", b"asession pulse!\1"
_MAC = 32
# state, processor seconds, iterations of the event loop (-1 if unavailable)
_SEEN = struct.Struct("!cdq")
ASKED = len(_ASK) + NONCE + _MAC + _SEEN.size
"""Bytes of a query, and of an answer: a sender never receives more than it has sent."""

_MOST = 256
# Seconds between checks of the parent pid: a process that the server forked keeps the pipe open.
_LOOK = 5.0


class Sighting(NamedTuple):
    """The state of a process at one moment.

    Attributes:
        state: the kernel's letter for the state; "T" and "t" are stopped, "Z" and "X" have ended.
        cpu: processor seconds used so far, in steps of about 10 ms.
        turns: the counter of its event loop; ``None`` if it cannot be read.
    """

    state: str
    cpu: float
    turns: int | None


def sight(pid: int, started: int) -> Sighting | None:
    """Inspect a process, except for its ``turns``.

    Args:
        pid: the pid of the process.
        started: its start time in the kernel's clock ticks, because pids are recycled.

    Returns:
        The state; ``None`` if the process is gone.

    Raises:
        OSError: the process may not be inspected, or there is no ``/proc``.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in brackets may contain any characters, including brackets and blanks.
    words = text[text.rindex(b")") + 2 :].split()
    if int(words[19]) != started:
        return None
    return Sighting(words[0].decode(), (int(words[11]) + int(words[12])) / _TICKS, None)


_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def read_turns(descriptor: int) -> int | None:
    """Return the counter in a file of ``TURNS``; ``None`` if it is too short."""
    data = os.pread(descriptor, TURNS.size, 0)
    return int(TURNS.unpack(data)[0]) if len(data) == TURNS.size else None


# -- the datagrams ---------------------------------------------------------------------------------


def derive_key(token: str | None, secret: bytes) -> bytes:
    """Return the key of a sidecar.

    Args:
        token: the token of the cluster, if it has one.
        secret: the secret of the server's hello; public unless the hello was encrypted.
    """
    return hmac.digest((token or "").encode(), secret, hashlib.sha256)


def ask(key: bytes, nonce: bytes) -> bytes:
    """Return a query, which is answered once to its sender."""
    body = _ASK + nonce + bytes(_SEEN.size)
    return body + hmac.digest(key, body, hashlib.sha256)


def answer(key: bytes, question: bytes, seen: Sighting) -> bytes | None:
    """Return the answer to a query; ``None`` if the query is malformed or made without the key."""
    body, mac = question[:-_MAC], question[-_MAC:]
    if len(question) != ASKED or not body.startswith(_ASK):
        return None
    if not hmac.compare_digest(mac, hmac.digest(key, body, hashlib.sha256)):
        return None
    nonce = body[len(_ASK) : len(_ASK) + NONCE]
    turns = -1 if seen.turns is None else seen.turns
    body = _ANSWER + nonce + _SEEN.pack(seen.state.encode(), seen.cpu, turns)
    return body + hmac.digest(key, body, hashlib.sha256)


def read_answer(key: bytes, nonce: bytes, data: bytes) -> Sighting | None:
    """Return the state in an answer; ``None`` if it does not answer the query with that nonce."""
    body, mac = data[:-_MAC], data[-_MAC:]
    if len(data) != ASKED or not body.startswith(_ANSWER + nonce):
        return None
    if not hmac.compare_digest(mac, hmac.digest(key, body, hashlib.sha256)):
        return None
    state, cpu, turns = _SEEN.unpack(body[len(_ANSWER) + NONCE :])
    return Sighting(state.decode("ascii", "replace"), cpu, turns if turns >= 0 else None)


# -- the program -----------------------------------------------------------------------------------


def main(pid: int, started: int, sock: socket.socket, turns: int) -> None:
    """Answer queries about a process until the standard input ends, which also supplies the key.

    Args:
        pid: the process.
        started: its start time.
        sock: a bound datagram socket.
        turns: descriptor of its counter; -1 for none.
    """
    key = os.read(0, _MAC)
    parent = os.getppid()
    sock.setblocking(False)
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(sock, select.POLLIN)
    while os.getppid() == parent:
        for descriptor, _ in poll.poll(_LOOK * 1000):
            if descriptor == 0:
                return
            try:
                question, where = sock.recvfrom(_MOST)
                seen = sight(pid, started)
                if seen is None:
                    return
                count = read_turns(turns) if turns >= 0 else None
                reply = answer(key, question, seen._replace(turns=count))
                if reply is not None:
                    sock.sendto(reply, where)
            except OSError:  # the sender is gone, or a buffer is full; the sender will query again
                continue


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])), int(sys.argv[4]))
    os._exit(0)  # at once: the server waits for this process, and there is nothing to clean up
