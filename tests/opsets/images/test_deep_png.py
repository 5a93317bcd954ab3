"""PNG files of 16 bits per channel."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, image, uint16
from actorsession.errors import InvalidArgumentError
from actorsession.opsets.images.deep_png import read_deep, with_channels, write_deep
from tests.rows import for_each

# As TensorFlow writes it; its rows have the filters 1, 1 and 4.
PIXELS = (np.arange(18).reshape(3, 2, 3) * 3001).astype(np.uint16)
WRITTEN = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000020000000310020000006618959500000026494441540899636460e0de"
    "295ea4acadacadaccde81616c41f7b02c261710b730b730f8370009a6b0809a8db7ac90000000049454e44ae426082"
)


def test_a_file_of_tensorflow_is_read() -> None:
    np.testing.assert_array_equal(read_deep(WRITTEN), PIXELS)


@for_each("channels", [1, 2, 3, 4])
def test_what_is_written_is_read_back(channels: int) -> None:
    pixels = (np.arange(5 * 7 * channels).reshape(5, 7, channels) * 1871).astype(np.uint16)
    np.testing.assert_array_equal(read_deep(write_deep(pixels, -1)), pixels)


def _filtered(kind: int) -> bytes:
    """The file of the pixels with one filter for all rows, by the formulas of the specification."""
    rows = PIXELS.astype(">u2").view(np.uint8).reshape(3, -1).astype(int)
    up = np.vstack([np.zeros((1, 12), int), rows[:-1]])
    left, corner = (np.hstack([np.zeros((3, 6), int), part[:, :-6]]) for part in (rows, up))
    guess = left + up - corner
    near = np.stack([abs(guess - left), abs(guess - up), abs(guess - corner)])
    paeth = np.choose(near.argmin(axis=0), [left, up, corner])
    guesses: list[Any] = [0, left, up, (left + up) // 2, paeth]
    lines = np.hstack([np.full((3, 1), kind), rows - guesses[kind]]).astype(np.uint8)
    packed = zlib.compress(lines.tobytes())
    return WRITTEN[:33] + struct.pack(">I", len(packed)) + b"IDAT" + packed + b"\0" * 4


@for_each("kind", [0, 1, 2, 3, 4])
def test_every_filter_is_undone(kind: int) -> None:
    np.testing.assert_array_equal(read_deep(_filtered(kind)), PIXELS)


def test_damaged_files_are_refused() -> None:
    for data in (WRITTEN[:60], WRITTEN[:45] + b"zzzz" + WRITTEN[49:], _filtered(0)[:-20]):
        with pytest.raises(InvalidArgumentError):
            read_deep(data)
    assert read_deep(b"no image") is None


def test_channels_are_added_and_taken_away() -> None:
    assert with_channels(PIXELS, 4)[0, 0].tolist() == [0, 3001, 6002, 65535]
    assert with_channels(PIXELS, 1)[0, 0].tolist() == [(3001 * 23434 + 6002 * 2366) >> 15]
    grey = PIXELS[:, :, :1]
    assert with_channels(grey, 3)[1, 1].tolist() == [9 * 3001] * 3
    np.testing.assert_array_equal(with_channels(with_channels(PIXELS, 4), 3), PIXELS)


def test_operations_read_and_write_them() -> None:
    with Graph().as_default() as graph:
        deep = image.decode_png(image.encode_png(PIXELS), dtype=uint16)
        shallow = image.decode_png(image.encode_png((PIXELS >> 8).astype(np.uint8)), dtype=uint16)
        eight = image.decode_png(image.encode_png(PIXELS[:, :, :1]))
    with Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run(deep), PIXELS)
        np.testing.assert_array_equal(session.run(shallow), (PIXELS >> 8) * 257)
        np.testing.assert_array_equal(session.run(eight), PIXELS[:, :, :1] >> 8)
