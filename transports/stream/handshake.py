"""The handshake over a stream: messages out and in, until there are peers or a reason why not.

`stream_listener` calls it on both sides before there is a `StreamConnection`; what is said is decided in
`handshake`. Imports that, `bytestream`, `errors`, `frame`, and `stream` for the sizes.

Invariant: not one byte beyond the handshake is taken from the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from transports.errors import ProtocolError, TransportError
from transports.frame import HANDSHAKE_VERSION, PREFIX, Frame, encode_frame, parse_prefix
from transports.handshake import MAX_MESSAGE, Establish, Fail, Handshake, Role, Send, refusal
from transports.stream.bytestream import ByteReader, ByteWriter
from transports.stream.connection import LINGER, READ_SIZE

# How the records of TLS begin: of a handshake, and of the alert that answers what is no TLS.
TLS_HANDSHAKE, TLS_ALERT = b"\x16\x03", b"\x15\x03"


async def shake_hands(
    reader: ByteReader,
    writer: ByteWriter,
    core: Handshake,
    check: Callable[[], None] | None = None,
) -> Establish:
    """Run one side of the handshake over a stream.

    There is no deadline in it, callers have one. Whatever it raises, the caller hangs up.

    Args:
        reader: Where the peer's messages come from; not one byte more is taken.
        writer: Where ours go.
        core: Our side, not started.
        check: Called once, when the peer has said who it is: what it raises is what the peer is
            refused with.

    Returns:
        Who the peer is and what was agreed.

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
    """Read one handshake frame, whose prefix is there; its limits are a stranger's."""
    prefix = parse_prefix(start, version=HANDSHAKE_VERSION, max_header=MAX_MESSAGE, max_segments=0)
    return await reader.readexactly(prefix.header_length)


def _refuse_unless(check: Callable[[], None], writer: ByteWriter) -> None:
    """Run a check of the peer; tell the peer what it raises."""
    try:
        check()
    except TransportError as error:
        refuse(writer, error)
        raise


def _check_plain(start: bytes, writer: ByteWriter, role: Role) -> None:
    """Tell a peer that speaks TLS, where nobody does, from one that speaks nothing of ours.

    Raises:
        ProtocolError: It does; a dialler was told.
    """
    if role is Role.DIALLER and start.startswith(TLS_ALERT):
        raise ProtocolError("it speaks TLS; dial it as tls://")
    if role is Role.LISTENER and start.startswith(TLS_HANDSHAKE):
        error = ProtocolError("the dialler speaks TLS and this port does not; dial it as tcp://")
        refuse(writer, error)
        raise error


def refuse(writer: ByteWriter, error: TransportError) -> None:
    """Tell a peer that has sent no hello why there will be none; unencrypted, if the writer is.

    Args:
        writer: Where it reads.
        error: Its class and words are sent.
    """
    writer.writelines(encode_frame(Frame(refusal(error).header), HANDSHAKE_VERSION))


async def hang_up(reader: ByteReader, writer: ByteWriter) -> None:
    """Close a stream that became no connection; a refusal that was written goes out first.

    As with a connection's `aclose`, the peer's end is waited for, or the kernel might throw the
    refusal away.

    Args:
        reader: The stream's.
        writer: The stream's; closed afterwards, within `LINGER` seconds.
    """
    transport = writer.transport
    try:
        async with asyncio.timeout(LINGER):
            if not transport.is_closing():
                transport.write_eof()
                while await reader.read(READ_SIZE):
                    pass
    except (OSError, TimeoutError):
        pass
    finally:
        transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
