"""Ways to spoil recorded frames: their bytes, their lengths, their order, and what they say.

Every way takes a source of chance and what is about to be sent, and gives what is sent in its place.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from struct import pack
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.graph import codec
from transports import Frame, encode_frame
from transports.frame import MAGIC, PREFIX, WIRE_VERSION, encode_chunk_prefix

Corpus: TypeAlias = "list[Frame]"
Mutation: TypeAlias = Callable[[random.Random, Frame, Corpus], bytes]


def wire(frame: Frame) -> bytes:
    return b"".join(bytes(piece) for piece in encode_frame(frame, WIRE_VERSION))


def flip_bits(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Turns over up to eight bits anywhere."""
    data = bytearray(wire(frame))
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data) * 8)
        data[at // 8] ^= 1 << at % 8
    return bytes(data)


def flip_header(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Turns over bits of the message and leaves the frame whole: what comes through is decoded."""
    header = bytearray(frame.header)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(header) * 8)
        header[at // 8] ^= 1 << at % 8
    return wire(Frame(bytes(header), frame.segments))


def truncate(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Leaves the end out, of the frame or of its message."""
    if chance.random() < 0.5:
        data = wire(frame)
        return data[: chance.randrange(len(data))]
    header = bytes(frame.header)
    return wire(Frame(header[: chance.randrange(len(header) + 1)], frame.segments))


def splice(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Puts the end of another frame behind the beginning of this one."""
    one, other = wire(frame), wire(chance.choice(corpus))
    return one[: chance.randrange(len(one))] + other[chance.randrange(len(other)) :]


def splice_messages(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Puts the end of another message behind the beginning of this one, in a frame that is whole."""
    one, other = bytes(frame.header), bytes(chance.choice(corpus).header)
    spliced = one[: chance.randrange(len(one))] + other[chance.randrange(len(other)) :]
    return wire(Frame(spliced, chance.choice(corpus).segments))


def change_lengths(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Announces other lengths than follow."""
    data = wire(frame)
    header, count = len(frame.header), len(frame.segments)
    which = chance.randrange(3)
    if which == 0:
        header = chance.choice([0, header + 1, header - 1, 2**16, 2**26, 2**32 - 1])
    elif which == 1:
        count = chance.choice([count + 1, 1, 65536, 65537, 2**32 - 1])
    start = PREFIX.pack(MAGIC, WIRE_VERSION, 0, max(header, 0), count)
    table = data[PREFIX.size : PREFIX.size + 8 * len(frame.segments)]
    if which == 2:
        lengths = [chance.choice([0, 1, 2**20, 2**33, 2**63, 2**64 - 1]) for _ in frame.segments]
        table = pack(f"!{len(lengths)}Q", *lengths)
    return start + table + data[PREFIX.size + 8 * len(frame.segments) :]


def chunk_badly(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Sends the frame in chunks, as large ones go, with another one or a wrong length between them."""
    data, out = wire(frame), b""
    while data:
        size = chance.randint(1, len(data))
        told = size if chance.random() < 0.7 else chance.choice([0, 1, size + 1, 2**20, 2**32 - 1])
        out += encode_chunk_prefix(told, WIRE_VERSION) + data[:size]
        data = data[size:]
        if chance.random() < 0.3:
            out += wire(chance.choice(corpus))
    return out


def drop_segments(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Sends other segments than the message speaks of."""
    return wire(Frame(frame.header, chance.choice(corpus).segments[: chance.randrange(3)]))


def repeat(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    return wire(frame) * chance.randint(2, 5)


def another(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Sends a frame whose time this is not, perhaps one that only the other end sends."""
    return wire(chance.choice(corpus))


def noise(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    return chance.randbytes(chance.randint(1, 400))


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2**31, 2**63 - 1, 2**64 - 1, -(2**63), 2**80, float("nan"),
    float("inf"), -1.5, "", "x", "x" * 5000, "a\0b", "../..", "\n", b"", b"\xff" * 100, [], {},
    [[]], {"": None}, _nested(100), _nested(400), [0] * 1000, np.zeros(0, np.float32),
    np.zeros((0, 5), np.int64), np.float32(1.0), np.array([b"x"], object), np.ones((3, 3), np.bool_),
    "/job:worker/replica:0/task:1", "/job:worker/replica:0/task:7", "/device:CPU:0", "worker", "master",
    "tcp://127.0.0.1:1", "prepare_step", "v", "z:0", "x:1", "^v", ";;;;",
)  # fmt: skip


def change_values(chance: random.Random, frame: Frame, corpus: Corpus) -> bytes:
    """Says something else at one or a few places of the message, which still is one."""
    try:
        value = codec.unpack(frame.header, [bytearray(s) for s in frame.segments])
        for _ in range(chance.choice([1, 1, 1, 2, 5])):
            value = _changed(chance, value)
        segments: list[Any] = []
        # Those of step frames are named by their numbers.
        return wire(Frame(codec.pack(value, segments), tuple(segments) or frame.segments))
    except (InvalidArgumentError, ProtocolError, RecursionError):  # it cannot be said at all
        return flip_header(chance, frame, corpus)


def _changed(chance: random.Random, value: Any) -> Any:
    """The value with a change somewhere inside."""
    stop = chance.random() < 0.15
    if isinstance(value, list) and value and not stop:
        out = list(value)
        at = chance.randrange(len(out))
        which = chance.random()
        if which < 0.8:
            out[at] = _changed(chance, out[at])
        elif which < 0.87:
            del out[at]
        elif which < 0.94:
            out.insert(at, out[chance.randrange(len(out))])
        else:
            chance.shuffle(out)
        return out
    if isinstance(value, dict) and value and not stop:
        key = chance.choice(list(value))
        which = chance.random()
        if which < 0.8:
            return {**value, key: _changed(chance, value[key])}
        if which < 0.9:
            return {k: v for k, v in value.items() if k != key}
        return {**value, chance.choice(["", "x", key + "x" if isinstance(key, str) else "y"]): 1}
    if isinstance(value, bytes) and value and not stop:
        with suppress(ProtocolError):
            inner = codec.unpack(value)
            if isinstance(inner, list) and inner:  # what a run asks for, or its plan
                return codec.pack(_changed(chance, inner))
    if isinstance(value, int) and not isinstance(value, bool) and chance.random() < 0.5:
        return value + chance.choice([-1, 1, 2, 255, 2**16])
    return chance.choice(HOSTILE)


OF_BYTES: tuple[Mutation, ...] = (flip_bits, truncate, splice, change_lengths, chunk_badly, drop_segments, noise)
"""They leave frames that are none, nearly always: the connection ends at the first."""

OF_MESSAGES: tuple[Mutation, ...] = (
    change_values,
    change_values,
    change_values,
    change_values,
    flip_header,
    splice_messages,
    repeat,
    another,
)
"""They leave frames that are whole, and often messages that are: many are answered."""
