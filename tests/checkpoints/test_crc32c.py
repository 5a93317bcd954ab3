"""CRC-32C against its published values and a loop over bits."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession.checkpoints.crc32c import crc32c, masked, unmasked


def by_bits(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "wanted"),
    [  # RFC 3720, B.4
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (b"", 0),
    ],
    ids=["digits", "zeros", "ones", "ascending", "nothing"],
)
def test_published_values(data: bytes, wanted: int) -> None:
    assert crc32c(data) == wanted


@pytest.mark.parametrize("size", [23, 24, 511, 512, 513, 535, 5000, 65535, 65536, 65537])
def test_long_inputs_are_what_a_loop_over_bits_gives(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == by_bits(data)


@pytest.mark.parametrize("cut", [0, 1, 300_000, 700_001])
def test_a_checksum_goes_on_where_another_ended(cut: int) -> None:
    data = np.random.default_rng(0).bytes(700_001)
    assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


def test_rows_that_begin_elsewhere_give_the_same() -> None:
    """A long input is worked through in rows, which begin elsewhere when it comes in pieces."""
    data = np.random.default_rng(1).bytes(128 * 4096 + 77)
    crc = 0
    for start in range(0, len(data), 4000):
        crc = crc32c(data[start : start + 4000], crc)
    assert crc32c(data) == crc


def test_arrays_are_taken_as_their_bytes() -> None:
    array = np.arange(5000, dtype=np.uint8)
    assert crc32c(array) == crc32c(array.tobytes())


def test_the_mask_comes_off_again() -> None:
    crc = crc32c(b"foo")
    assert masked(crc) not in (crc, masked(masked(crc)))
    assert unmasked(masked(crc)) == crc
    assert unmasked(unmasked(masked(masked(crc)))) == crc
