"""CRC-32C against its published values and a loop over bits."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession.checkpoints.crc32c import crc32c, crc32c_each, masked, unmasked


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


def test_what_is_folded_is_a_multiple_of_the_polynomial() -> None:
    """x^6777 + x^484 + x^100 + 1, which long inputs are made shorter with, leaves nothing over."""
    sums = 0
    for exponent in (6777, 484, 100, 0):
        power = 1
        for _ in range(exponent):
            power = power << 1 ^ (0x11EDC6F41 if power >> 31 else 0)
        sums ^= power
    assert sums == 0


@pytest.mark.parametrize("size", [6777, 9000, 9001, 13554, 54217, 216_864, 1_048_575, 1_048_600, 2_500_001])
def test_inputs_that_are_folded_are_what_their_short_pieces_give(size: int) -> None:
    data, crc = np.random.default_rng(size).bytes(size), 0x12345678
    wanted = crc
    for start in range(0, size, 4096):
        wanted = crc32c(data[start : start + 4096], wanted)
    assert crc32c(data, crc) == wanted


@pytest.mark.parametrize("most", [0, 1, 7, 100, 511, 513, 3000, 20_000])
def test_parts_of_a_buffer_have_the_checksums_that_they_have_alone(most: int) -> None:
    rng = np.random.default_rng(most)
    sizes = rng.integers(0, most + 1, 50)
    data = np.frombuffer(rng.bytes(int(sizes.sum()) + 10), np.uint8)
    starts = np.cumsum(sizes) - sizes
    wanted = [crc32c(data[a : a + n]) for a, n in zip(starts, sizes, strict=True)]
    assert crc32c_each(data, starts, sizes).tolist() == wanted
    found = masked(np.array(wanted, np.uint32))
    assert found.tolist() == [masked(each) for each in wanted]


def test_no_parts_have_no_checksums() -> None:
    nothing = np.zeros(0, np.int64)
    assert crc32c_each(np.zeros(9, np.uint8), nothing, nothing).tolist() == []
    # A long input is worked through in rows, which begin elsewhere when it comes in pieces.
    data = np.random.default_rng(1).bytes(128 * 4096 + 77)
    crc = 0
    for start in range(0, len(data), 4000):
        crc = crc32c(data[start : start + 4000], crc)
    assert crc32c(data) == crc
    array = np.arange(5000, dtype=np.uint8)
    assert crc32c(array) == crc32c(array.tobytes())
    crc = crc32c(b"foo")
    assert masked(crc) not in (crc, masked(masked(crc)))
    assert unmasked(masked(crc)) == crc
    assert unmasked(unmasked(masked(masked(crc)))) == crc
