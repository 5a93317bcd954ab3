"""Small frames that other threads write to the socket of a stream, without the event loop.

A thread that waits for an answer saves a wake of the loop's thread if it writes its request itself. The
``StreamConnection`` opens a stream to threads when it is asked to: from then on its ``Outbox`` writes to a
``ThreadWriter``, which has the lock that all writers share. A thread writes only while nothing else is
unsent; then bytes of its own that the kernel has not accepted are passed to the transport by the loop.

Invariants: bytes of two writers never mix; what one thread has begun to write is written to its end, also if
an interrupt ends its call; nothing is written to the socket once the connection has noted its end. The socket
has a descriptor of its own, because the transport closes the other one whenever it likes, and its number may
then be that of a stranger.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from transports.frame import Buffer
from transports.stream.bytestream import ByteTransport


class ThreadWriter:
    """The writing side of one stream, for its event loop and for other threads.

    Attributes:
        is_clear: Whether threads may write: nothing is unsent, and the connection has not ended.
        frames: How many frames other threads have written.
        nbytes: Their size in bytes.
    """

    __slots__ = ("_begun", "_has_ended", "_lock", "_loop", "_socket", "_transport", "frames", "is_clear", "nbytes")

    def __init__(self, transport: ByteTransport, descriptor: int) -> None:
        """Make a writer, on the event loop of the transport.

        Args:
            transport: What the loop writes to.
            descriptor: Of the transport's socket.
        """
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._socket.setblocking(False)
        self._lock = threading.Lock()
        # The frame that a thread has begun to write, and how much of it the kernel has accepted.
        self._begun: tuple[bytes, list[int]] | None = None
        self._has_ended = False
        self.is_clear = not transport.get_write_buffer_size()
        self.frames = self.nbytes = 0

    # -- for other threads -------------------------------------------------------------------------

    def send(self, data: bytes) -> bool:
        """Write a frame at once, in any thread.

        An exception of a signal handler comes before the frame or after it, never in the middle.

        Returns:
            Whether it was written; False while anything else is unsent, and after the end.
        """
        sent: list[int] = []
        with self._lock:
            if not self.is_clear:
                return False
            # Until the end is known: whoever comes next finds what is left, whatever ends this call.
            self.is_clear, self._begun = False, (data, sent)
            try:
                # One call of C: between sending and noting that it was sent there is no room for a signal.
                sent.extend(map(self._socket.send, (data,)))
            except OSError:  # the kernel's buffer is full, or the loop will find out what is wrong
                self._begun = None
                return False
            self.frames += 1
            self.nbytes += len(data)
            if sent[0] == len(data):
                self._begun = None
                self.is_clear = True
            else:
                with suppress(RuntimeError):  # the loop is closed, and the stream with it
                    self._loop.call_soon_threadsafe(self.look)
        return True

    # -- for the event loop ------------------------------------------------------------------------

    def look(self) -> None:
        """Let threads write again if nothing is unsent; called when something was received meanwhile."""
        if not self._has_ended:
            self._write(lambda: None)

    def write(self, data: Buffer, /) -> None:
        """Queue bytes; see ``ByteTransport``."""
        self._write(lambda: self._transport.write(data))

    def writelines(self, pieces: Iterable[Buffer], /) -> None:
        """Queue pieces; see ``ByteTransport``."""
        self._write(lambda: self._transport.writelines(pieces))

    def _write(self, write: Callable[[], None]) -> None:
        transport = self._transport
        with self._lock:
            # Whatever comes of it: what a thread sees now may be bytes that are on their way.
            self.is_clear = False
            if self._begun is not None:
                (data, sent), self._begun = self._begun, None
                if sent and sent[0] < len(data) and not transport.is_closing():
                    transport.write(memoryview(data)[sent[0] :])
            write()
            self.is_clear = not (self._has_ended or transport.get_write_buffer_size())

    def is_closing(self) -> bool:
        """Return whether nothing more can be written."""
        return self._transport.is_closing()

    def abort(self) -> None:
        """End the connection at once."""
        self._transport.abort()

    def end(self) -> None:
        """Let no thread write any more; what one has begun to write is passed to the transport."""
        if not self._has_ended:
            self._has_ended = True
            self._write(lambda: None)
            self._socket.close()
