"""The input and output of the handshake over a stream.

``listener.become_connection`` calls it on both sides before there is a ``StreamConnection``. The content of
the messages is decided in ``transports.handshake``. The module imports that, ``bytestream``, ``errors``,
``frame``, and ``connection`` for the time that a peer has.

Invariant: no byte beyond the handshake is read from the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from transports.errors import ProtocolError, TransportError
from transports.frame import HANDSHAKE_VERSION, PREFIX, Frame, encode_frame, parse_prefix
from transports.handshake import MAX_MESSAGE, Establish, Fail, Handshake, Role, Send, refusal
from transports.stream.bytestream import ByteReader, ByteWriter
from transports.stream.connection import LINGER

# The first bytes of TLS records: of a handshake, and of the alert that answers data that is not TLS.
TLS_HANDSHAKE, TLS_ALERT = b"\x16\x03", b"\x15\x03"


async def shake_hands(
    reader: ByteReader, writer: ByteWriter, core: Handshake, check: Callable[[], None] | None = None
) -> Establish:
    """Run one side of the handshake over a stream.

    The call has no deadline; the caller sets one. If it raises, the caller hangs up.

    Args:
        reader: The stream of the peer's messages; no byte beyond them is read.
        writer: The stream for the messages of this side.
        core: The handshake of this side, not started.
        check: Called once, after the peer's hello has arrived. If it raises, the peer is refused with that
            error.

    Returns:
        The peer's identity and the agreed wire version.

    Raises:
        TransportError: The handshake failed, at either end.
        OSError: The stream broke.
        EOFError: The peer hung up.
    """
    instructions = core.start()
    while True:
        for instruction in instructions:
            match instruction:
                case Send(header):
                    frame = encode_frame(Frame(header), HANDSHAKE_VERSION)
                    writer.writelines(frame)
                case Fail(error):
                    raise error
                case Establish():
                    return instruction
        try:
            prefix = await reader.readexactly(PREFIX.size)
        except asyncio.IncompleteReadError as error:  # an alert is shorter than a prefix
            _check_plain(error.partial, writer, core.role)
            raise
        _check_plain(prefix, writer, core.role)
        instructions = core.receive(await _read_message(reader, prefix))
        if check is not None and not any(isinstance(i, Fail) for i in instructions):
            _refuse_unless(check, writer)
            check = None


async def _read_message(reader: ByteReader, start: bytes) -> bytes:
    """Read one handshake frame after its prefix, under the limits for unidentified peers."""
    prefix = parse_prefix(start, version=HANDSHAKE_VERSION, max_header=MAX_MESSAGE, max_segments=0)
    return await reader.readexactly(prefix.header_length)


def _refuse_unless(check: Callable[[], None], writer: ByteWriter) -> None:
    """Run a check of the peer, and send its error to the peer."""
    try:
        check()
    except TransportError as error:
        refuse(writer, error)
        raise


def _check_plain(start: bytes, writer: ByteWriter, role: Role) -> None:
    """Distinguish a peer that speaks TLS, where this side does not, from one of another protocol.

    Raises:
        ProtocolError: The peer speaks TLS. A dialler that does is sent the error.
    """
    if role is Role.DIALLER and start.startswith(TLS_ALERT):
        raise ProtocolError("it speaks TLS; connect to it with tls://")
    if role is Role.LISTENER and start.startswith(TLS_HANDSHAKE):
        error = ProtocolError("the client speaks TLS and this port does not; connect to it with tcp://")
        refuse(writer, error)
        raise error


def refuse(writer: ByteWriter, error: TransportError) -> None:
    """Send a refusal to a peer that gets no hello; it is unencrypted if the writer is.

    Args:
        writer: Of the stream.
        error: Its class and message are sent.
    """
    writer.writelines(encode_frame(Frame(refusal(error).header), HANDSHAKE_VERSION))


async def hang_up(reader: ByteReader, writer: ByteWriter) -> None:
    """Close a stream that did not become a connection, after sending a queued refusal.

    As with a connection's ``aclose``, the peer's end is awaited, because the kernel might otherwise discard
    the refusal.

    Args:
        reader: Of the stream.
        writer: Of the stream; closed afterwards, within ``LINGER`` seconds.
    """
    transport = writer.transport
    try:
        async with asyncio.timeout(LINGER):
            if not transport.is_closing():
                transport.write_eof()
                while await reader.read(MAX_MESSAGE):
                    pass
    except (OSError, TimeoutError):
        pass
    finally:
        transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
