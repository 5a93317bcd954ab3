"""Sorted tables: blocks, prefixes of keys, compression, and every kind of damage."""

from __future__ import annotations

import contextlib

import pytest

from actorsession.checkpoints.snappy import decompress
from actorsession.checkpoints.sorted_table import read_table
from actorsession.errors import DataLossError
from tests.checkpoints.tables import literal, table, varint

ENTRIES = {f"layer/{i:03d}/kernel".encode(): bytes([i]) * i for i in range(11)}


@pytest.mark.parametrize("snappy", [False, True], ids=["plain", "snappy"])
@pytest.mark.parametrize("per_block", [1, 3, 100])
def test_a_table_of_several_blocks_gives_its_entries_in_order(per_block: int, snappy: bool) -> None:
    found = read_table(table(ENTRIES, per_block, snappy), "x")
    assert list(found.items()) == sorted(ENTRIES.items())


def test_a_table_without_entries_is_one() -> None:
    assert read_table(table({}), "x") == {}


def test_a_table_that_was_cut_off_anywhere_is_refused() -> None:
    data = table(ENTRIES)
    for size in range(len(data)):
        with pytest.raises(DataLossError, match="'x'"):
            read_table(data[:size], "x")


def test_a_flipped_bit_in_any_block_is_refused() -> None:
    data = table(ENTRIES)
    for position in range(len(data) - 48):
        damaged = bytearray(data)
        damaged[position] ^= 1
        try:
            found = read_table(bytes(damaged), "x")
        except DataLossError:
            continue
        # The block of the meta index, which is not read.
        assert found == ENTRIES


def test_a_flipped_bit_in_the_footer_is_refused_or_changes_nothing() -> None:
    data = table(ENTRIES)
    for position in range(len(data) - 48, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 4
        found = ENTRIES
        with contextlib.suppress(DataLossError):
            found = read_table(bytes(damaged), "x")
        assert found == ENTRIES


# -- snappy ----------------------------------------------------------------------------------------


def test_literals_are_copied() -> None:
    assert decompress(literal(b"hello")) == b"hello"
    assert decompress(literal(b"x" * 1000)) == b"x" * 1000
    assert decompress(literal(b"")) == b""


@pytest.mark.parametrize(
    ("copy", "wanted"),
    [
        (bytes([1 | (4 - 4) << 2, 4]), b"abcdabcd"),
        (bytes([2 | 3 << 2, 4, 0]), b"abcdabcd"),
        (bytes([3 | 3 << 2, 4, 0, 0, 0]), b"abcdabcd"),
        (bytes([2 | 6 << 2, 1, 0]), b"abcdddddddd"),
        (bytes([2 | 4 << 2, 3, 0]), b"abcdbcdbc"),
    ],
    ids=["one byte", "two bytes", "four bytes", "over itself", "over itself by three"],
)
def test_a_copy_repeats_what_was_there(copy: bytes, wanted: bytes) -> None:
    assert decompress(varint(len(wanted)) + bytes([3 << 2]) + b"abcd" + copy) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        varint(5) + bytes([4 << 2]) + b"abc",
        varint(5) + bytes([0]) + b"a" + bytes([2 | 3 << 2, 9, 0]),
        varint(5) + bytes([0]) + b"a" + bytes([2 | 3 << 2, 0, 0]),
        varint(2) + bytes([0]) + b"a",
        varint(1) + bytes([1 << 2]) + b"ab",
        varint(1 << 40),
        varint(9) + bytes([61 << 2, 1]),
    ],
)
def test_bytes_that_are_not_snappys_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"block|integer|copy|number"):
        decompress(data)
