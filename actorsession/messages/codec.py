"""Encoding and decoding of envelopes: the only place that defines their wire form.

An envelope is one msgpack list, ``[kind, ...]``, with its message inside; large tensors are sent beside it
as segments. Links call the codec; it imports the value codec and the registry.

Invariant: for any bytes, ``decode`` returns an envelope or raises ``ProtocolError``. If only the message of
a call or reply is malformed and its id could be read, the error is an ``UnreadableMessage`` with that id,
so that one bad message need not end the link. So it is if there is no memory for the message.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

from actorsession.durations import MOST_SECONDS, is_seconds
from actorsession.errors import (
    InvalidArgumentError,
    OpError,
    ProtocolError,
    ResourceExhaustedError,
    error_from_wire,
    error_to_wire,
)
from actorsession.graph.codec import Buffer, not_encoded, pack, unpack, unpack_start
from actorsession.messages.envelope import Beat, Call, Cancel, Envelope, Failure, Goodbye, Reply, Tell
from actorsession.messages.registry import VOCABULARY

__all__ = ["UnreadableMessage", "decode", "encode", "lost_message"]

_BEAT, _CALL, _TELL, _REPLY, _FAILURE, _CANCEL = range(6)
_GOODBYE = 19  # those between are the kinds of step frames

_CALL_ID_LIMIT = 2**63  # the range that every msgpack implementation supports

_to_wire = VOCABULARY.to_wire
_from_wire = VOCABULARY.from_wire


class UnreadableMessage(ProtocolError):
    """The content of a call or an answer cannot be decoded, but its call id could be read.

    Attributes:
        call_id: the id of the call.
        answer: whether it is the answer to a call of this end, rather than a call of the peer.
        kind: the class of the error of the call.
    """

    def __init__(self, message: str, *, call_id: int, answer: bool, kind: type[OpError] = ProtocolError) -> None:
        super().__init__(message)
        self.call_id = call_id
        self.answer = answer
        self.kind = kind


def encode(envelope: Envelope) -> tuple[bytes, tuple[Buffer, ...]]:
    """Encode an envelope.

    Args:
        envelope: arrays inside its message are borrowed until the segments have been sent.

    Returns:
        The header, and the segments of tensors that are too large to be copied into it.

    Raises:
        InvalidArgumentError: the message is not registered, or holds a value that cannot be encoded.
        ResourceExhaustedError: there is no memory for the result.
    """
    segments: list[Buffer] = []
    try:
        header = pack(_WRITERS[type(envelope)](envelope), segments)
    except OpError:
        raise
    except (TypeError, AttributeError, UnicodeError, RecursionError) as exc:
        raise InvalidArgumentError(
            f"cannot encode {type(envelope).__name__} of {_message_name(envelope)}: {exc}"
        ) from exc
    except Exception as exc:
        raise not_encoded(exc) from exc
    return header, tuple(segments)


def decode(header: Buffer, segments: tuple[Buffer, ...] = ()) -> Envelope:
    """Decode the result of ``encode``.

    Args:
        header: the bytes of the envelope; they may be hostile.
        segments: large tensors become views of them.

    Raises:
        UnreadableMessage: only the message of a call or reply is malformed, or there is no memory for it.
        ProtocolError: the bytes are not an envelope for any other reason.
        ResourceExhaustedError: there is no memory for an envelope that has no answer.
    """
    try:
        wire = unpack(header, segments)
        if type(wire) is not list or not wire:
            raise ProtocolError(f"an envelope must be a list, found {reprlib.repr(wire)}")
        kind = wire[0]
        if type(kind) is not int or kind not in _READERS:
            raise ProtocolError(
                f"the kind of an envelope must be 0 to {_CANCEL} or {_GOODBYE}, found {reprlib.repr(kind)}"
            )
        return _READERS[kind](wire)
    except ProtocolError:
        raise
    except MemoryError:
        raise lost_message(header, ResourceExhaustedError("no memory to decode a message")) from None
    # The peer chose these bytes, so an error of any library that reads them is the peer's error.
    except Exception as exc:
        raise ProtocolError(f"cannot decode an envelope: {type(exc).__name__}: {exc}") from exc


def lost_message(start: Buffer, error: ResourceExhaustedError) -> OpError:
    """Return the error of an envelope for which there is no memory.

    Args:
        start: the first bytes of the envelope, or all of it.
        error: what there was no memory for.

    Returns:
        An ``UnreadableMessage`` for a call or an answer to one; else ``error``, as nobody else would be told.

    Raises:
        ProtocolError: the bytes are not the start of an envelope.
    """
    kind, number = unpack_start(start, 2)
    if kind not in (_CALL, _REPLY, _FAILURE):
        return error
    _check_call_id(number)
    return UnreadableMessage(error.message, call_id=number, answer=kind != _CALL, kind=type(error))


def _message_name(envelope: Envelope) -> str:
    return type(getattr(envelope, "message", None)).__name__


def _write_call(call: Call) -> list[Any]:
    return [_CALL, call.call_id, call.target, call.time_left, _to_wire(call.message)]


def _write_tell(tell: Tell) -> list[Any]:
    return [_TELL, tell.target, _to_wire(tell.message)]


def _write_reply(reply: Reply) -> list[Any]:
    return [_REPLY, reply.call_id, _to_wire(reply.message)]


def _write_failure(failure: Failure) -> list[Any]:
    return [_FAILURE, failure.call_id, error_to_wire(failure.error)]


_WRITERS: dict[type[Any], Callable[[Any], list[Any]]] = {
    Beat: lambda beat: [_BEAT, beat.asks, beat.answers] if beat.asks or beat.answers else [_BEAT],
    Call: _write_call,
    Tell: _write_tell,
    Reply: _write_reply,
    Failure: _write_failure,
    Cancel: lambda cancel: [_CANCEL, cancel.call_id],
    Goodbye: lambda goodbye: [_GOODBYE, goodbye.reason],
}


def _read_beat(wire: list[Any]) -> Beat:
    if len(wire) == 1:
        return _THE_BEAT
    _require(len(wire) == 3, "a beat must be empty or have two numbers", wire)
    for number in wire[1:]:
        _check_call_id(number)
    return Beat(wire[1], wire[2])


def _read_call(wire: list[Any]) -> Call:
    _require(len(wire) == 5, "a call must have an id, a target, a time and a message", wire)
    _, call_id, target, time_left, body = wire
    _check_call_id(call_id)
    try:
        _check_target(target)
        if time_left is not None:
            time_left = _seconds(time_left)
        return Call(call_id, target, time_left, _from_wire(body))
    except ProtocolError as exc:
        raise UnreadableMessage(exc.message, call_id=call_id, answer=False) from exc


def _read_tell(wire: list[Any]) -> Tell:
    _require(len(wire) == 3, "a tell must have a target and a message", wire)
    _, target, body = wire
    _check_target(target)
    return Tell(target, _from_wire(body))


def _read_reply(wire: list[Any]) -> Reply:
    _require(len(wire) == 3, "a reply must have an id and a message", wire)
    _, call_id, body = wire
    _check_call_id(call_id)
    try:
        return Reply(call_id, _from_wire(body))
    except ProtocolError as exc:
        raise UnreadableMessage(exc.message, call_id=call_id, answer=True) from exc


def _read_failure(wire: list[Any]) -> Failure:
    _require(len(wire) == 3, "a failure must have an id and an error", wire)
    _, call_id, error = wire
    _check_call_id(call_id)
    try:
        return Failure(call_id, error_from_wire(error))
    except ProtocolError as exc:
        raise UnreadableMessage(exc.message, call_id=call_id, answer=True) from exc


def _read_cancel(wire: list[Any]) -> Cancel:
    _require(len(wire) == 2, "a cancel must have an id", wire)
    _check_call_id(wire[1])
    return Cancel(wire[1])


def _read_goodbye(wire: list[Any]) -> Goodbye:
    _require(len(wire) == 2 and type(wire[1]) is str, "a goodbye must have a reason", wire)
    return Goodbye(wire[1])


_THE_BEAT = Beat()

_READERS: dict[int, Callable[[list[Any]], Envelope]] = {
    _BEAT: _read_beat,
    _CALL: _read_call,
    _TELL: _read_tell,
    _REPLY: _read_reply,
    _FAILURE: _read_failure,
    _CANCEL: _read_cancel,
    _GOODBYE: _read_goodbye,
}


def _require(condition: bool, rule: str, wire: list[Any]) -> None:
    if not condition:
        raise ProtocolError(f"{rule}, found {reprlib.repr(wire)}")


def _check_call_id(value: Any) -> None:
    if type(value) is not int or not 0 <= value < _CALL_ID_LIMIT:
        raise ProtocolError(f"a call id must be an int from 0 to 2**63 - 1, found {reprlib.repr(value)}")


def _check_target(value: Any) -> None:
    if type(value) is not str:
        raise ProtocolError(f"a target must be the name of an actor, found {reprlib.repr(value)}")


def _seconds(value: Any) -> float:
    if not is_seconds(value):
        raise ProtocolError(
            "a time left must be a number of seconds, at least 0 and at most "
            f"{MOST_SECONDS:g}, found {reprlib.repr(value)}"
        )
    return float(value)
