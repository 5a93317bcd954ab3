"""What the operating system says of a process, and a sidecar that tells it to other hosts.

Owns the look at ``/proc``, the two datagrams in which one host asks another for it, and the program that
answers them: a process beside a server that shares no interpreter lock with it, so it can answer when the
server cannot. ``peer_monitor`` and ``heartbeat_memory`` import it; a server starts it as ``python -I -S
sidecar.py``, so it imports the standard library alone and reads no text but numbers.

Invariants: it ends with the server, however that ends, because the pipe at its standard input does; an
answer is never longer than its question, and only those are answered who have the key.
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

__all__ = [
    "ASKED", "NONCE", "TURNS", "Sighting", "answer", "ask", "derive_key", "read_answer", "read_turns",
    "sight",
]  # fmt: skip

NONCE = 16
"""Bytes of random that a question has, and its answer is made over."""

TURNS = struct.Struct("=q")
"""The memory in which a process counts the turns of its event loop."""

_ASK, _ANSWER = b"asession pulse?\1", b"asession pulse!\1"
_MAC = 32
# state, processor seconds, turns of the loop (-1 if unknown)
_SEEN = struct.Struct("!cdq")
ASKED = len(_ASK) + NONCE + _MAC + _SEEN.size
"""Bytes of a question: as many as of an answer, so nobody gets more than they have sent."""

_MOST = 256
# Seconds between looks at who the parent is: a process that the server forked holds the pipe open.
_LOOK = 5.0


class Sighting(NamedTuple):
    """A process as it was seen at one moment.

    Attributes:
        state: the letter that the kernel has for it; "T" and "t" are stopped, "Z" and "X" have ended.
        cpu: processor seconds that it has used so far, in steps of about 10 ms.
        turns: how often its event loop came round to count so far; ``None`` if that cannot be seen.
    """

    state: str
    cpu: float
    turns: int | None


def sight(pid: int, started: int) -> Sighting | None:
    """Look at a process; ``turns`` is not looked at.

    Args:
        pid: its number.
        started: when it was started, in the kernel's ticks: numbers are given out again.

    Returns:
        What is to be seen; ``None`` if the process is gone.

    Raises:
        OSError: if it must not be looked at, or there is no ``/proc``.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in brackets may hold anything, brackets and blanks included.
    words = text[text.rindex(b")") + 2 :].split()
    if int(words[19]) != started:
        return None
    return Sighting(words[0].decode(), (int(words[11]) + int(words[12])) / _TICKS, None)


_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def read_turns(descriptor: int) -> int | None:
    """Return the count in a file of ``TURNS``; ``None`` if it holds none."""
    data = os.pread(descriptor, TURNS.size, 0)
    return int(TURNS.unpack(data)[0]) if len(data) == TURNS.size else None


# -- the datagrams ---------------------------------------------------------------------------------


def derive_key(token: str | None, secret: bytes) -> bytes:
    """Return the key of a sidecar.

    Args:
        token: the cluster's, if it has one.
        secret: what the server says in its hello; known to the whole network unless that was encrypted.
    """
    return hmac.digest((token or "").encode(), secret, hashlib.sha256)


def ask(key: bytes, nonce: bytes) -> bytes:
    """A question, which is answered once to whoever sends it."""
    body = _ASK + nonce + bytes(_SEEN.size)
    return body + hmac.digest(key, body, hashlib.sha256)


def answer(key: bytes, question: bytes, seen: Sighting) -> bytes | None:
    """Return the answer to a question; ``None`` if it deserves none."""
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
    """Return what an answer says; ``None`` if it is no answer to the question with that nonce."""
    body, mac = data[:-_MAC], data[-_MAC:]
    if len(data) != ASKED or not body.startswith(_ANSWER + nonce):
        return None
    if not hmac.compare_digest(mac, hmac.digest(key, body, hashlib.sha256)):
        return None
    state, cpu, turns = _SEEN.unpack(body[len(_ANSWER) + NONCE :])
    return Sighting(state.decode("ascii", "replace"), cpu, turns if turns >= 0 else None)


# -- the program -----------------------------------------------------------------------------------


def main(pid: int, started: int, sock: socket.socket, turns: int) -> None:
    """Answer for a process until the standard input ends; the key comes from there.

    Args:
        pid: the process.
        started: when it was started.
        sock: a bound datagram socket.
        turns: descriptor of its count of turns; -1 for none.
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
            except OSError:  # an asker that is gone, or a full buffer; who needs it asks again
                continue


if __name__ == "__main__":
    main(
        int(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])), int(sys.argv[4])
    )
    os._exit(0)  # at once: the server waits for us, and there is nothing to clean up
