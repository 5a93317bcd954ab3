"""Writes that are gathered: what is written in one turn leaves each connection in one system call.

Each write wakes the peer, and a wake-up costs more than a step's own work. Event loops do not join writes:
uvloop 0.23 and the standard loop pass each to the kernel at once while nothing is queued. So a connection
over a stream writes to an ``Outbox``, which keeps what is written while the ``WriteTurn`` of its event loop
is open, and writes it when the turn ends. ``delivery`` opens a turn around the callbacks of a connection, and
``Connection.hold_writes`` opens one for any other code. Outside a turn everything is written at once.

``delivery``, ``stream.connection`` and ``stream.bulk`` use the module, which imports ``frame``. Invariants:
pieces are written in the order in which they were passed; an outbox is empty outside a turn; no turn is open
while the event loop waits, because turns contain no ``await``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

from transports.frame import Buffer

# An outbox writes within a turn when it holds more than this many bytes: a further system call is nothing
# against the time that sending them takes, and the peer can begin to read.
_MOST_HELD = 2**18
# Up to this many bytes are joined for transports whose writelines() would join everything. The copy takes
# some microseconds, as a system call does.
_JOIN_UP_TO = 2**16

logger = logging.getLogger("transports")


class WriteTurn:
    """The turn of one event loop: a context manager around code that writes, without an ``await``.

    Turns may be nested; the outermost one counts.

    Attributes:
        depth: How many blocks are open; writes are held while there is one. Who changes it himself, which takes
            fewer calls than ``with``, does what ``__exit__`` does.
        waiting: The outboxes to be written at the end of the turn, in this order.
    """

    __slots__ = ("depth", "waiting")

    def __init__(self) -> None:
        """Make a turn that is not open."""
        self.depth = 0
        self.waiting: list[Outbox] = []

    @property
    def is_open(self) -> bool:
        """Whether writes are held."""
        return self.depth > 0

    def __enter__(self) -> None:
        """Hold writes until the end of the block."""
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        """Write what was held, whether the block has raised or not."""
        self.depth = depth = self.depth - 1
        if not depth and self.waiting:
            self.flush()

    def flush(self) -> None:
        """Write what was held, at the end of the outermost block."""
        waiting, self.waiting = self.waiting, []
        for outbox in waiting:
            try:
                outbox.flush()
            except Exception as error:  # such as no memory; the others are written all the same
                outbox.fail(error)


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, WriteTurn] = WeakKeyDictionary()


def turn_of(loop: asyncio.AbstractEventLoop) -> WriteTurn:
    """Return the turn that all connections of an event loop share."""
    turn = _turns.get(loop)
    if turn is None:
        turn = _turns[loop] = WriteTurn()
    return turn


class Writable(Protocol):
    """What an outbox needs of a transport."""

    def write(self, data: Buffer, /) -> None:
        """Queue bytes."""

    def writelines(self, pieces: Iterable[Buffer], /) -> None:
        """Queue pieces."""

    def is_closing(self) -> bool:
        """Return whether nothing more can be written."""

    def abort(self) -> None:
        """End the connection at once."""


class Outbox:
    """What was written to one transport and is held until the end of the turn.

    Attributes:
        nbytes: The number of bytes held.
        pieces: What is held. Who adds a short piece while the turn is open, which takes a call less than
            ``write``, does what that does.
    """

    __slots__ = ("_gathers", "_transport", "_turn", "nbytes", "pieces")

    def __init__(self, transport: Writable, turn: WriteTurn) -> None:
        """Make an empty outbox.

        Args:
            transport: What is written to.
            turn: Of the event loop of the transport.
        """
        self._transport = transport
        self._turn = turn
        # The inherited method, which that of Python 3.11's standard event loop is, joins the pieces, however
        # large they are; any other method passes them to one system call.
        self._gathers = type(transport).writelines is not asyncio.WriteTransport.writelines
        self.pieces: list[Buffer] = []
        self.nbytes = 0

    def write(self, pieces: Sequence[Buffer], size: int) -> None:
        """Write pieces of ``size`` bytes together, at the end of the turn if one is open."""
        turn, held = self._turn, self.pieces
        if turn.depth:
            if not held:
                turn.waiting.append(self)
            held += pieces
            self.nbytes = size = self.nbytes + size
            if size > _MOST_HELD:
                self.flush()
        elif len(pieces) == 1 and not held:  # what flush() does, without a call
            if not self._transport.is_closing():
                self._transport.write(pieces[0])
        else:
            held += pieces
            self.nbytes += size
            self.flush()

    def divert(self, transport: Writable) -> None:
        """Write to another object from now on, which stands before the transport and gathers as it does."""
        self._transport = transport

    def write_now(self, pieces: Sequence[Buffer], size: int) -> None:
        """Write what is held, and then pieces of ``size`` bytes, without waiting for the end of the turn."""
        self.flush()
        self.pieces += pieces
        self.nbytes += size
        self.flush()

    def fail(self, error: Exception) -> None:
        """End the connection, because something could not be written that nobody writes again."""
        logger.error("a connection is given up: writing to it has failed", exc_info=error)
        self.pieces, self.nbytes = [], 0
        self._transport.abort()

    def flush(self) -> None:
        """Write what is held in one call, unless that would copy large pieces.

        If the transport is closed, it is dropped.
        """
        pieces = self.pieces
        if not pieces:
            return
        transport, size = self._transport, self.nbytes
        self.pieces, self.nbytes = [], 0
        if transport.is_closing():
            return
        if len(pieces) == 1:
            transport.write(pieces[0])
        elif self._gathers:
            transport.writelines(pieces)
        elif size <= _JOIN_UP_TO:
            transport.write(b"".join(pieces))
        else:
            for piece in pieces:
                transport.write(piece)
