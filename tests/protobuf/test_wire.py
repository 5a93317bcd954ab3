"""The bytes of protobuf: numbers alone and in rows, fields, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.protobuf.wire import (
    WireError,
    as_bytes,
    as_integer,
    fields,
    integer_field,
    integers_from,
    length_field,
    read_varint,
    signed,
    single_integers,
    varints,
    write_tag,
    write_varint,
    write_varints,
)
from tests.rows import for_each

WORDS = st.integers(0, 2**64 - 1)


@given(WORDS)
def test_a_number_is_read_as_it_was_written(value: int) -> None:
    data = write_varint(value)
    assert read_varint(b"\x01" + data + b"\x07", 1) == (value, 1 + len(data))


@given(st.lists(WORDS, max_size=40))
def test_a_row_of_numbers_is_read_at_once_as_one_by_one(values: list[int]) -> None:
    found = varints(b"".join(map(write_varint, values)))
    assert found.dtype == np.uint64
    assert found.tolist() == values


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_negative_numbers_are_their_twos_complement(values: list[int]) -> None:
    data = write_varints(np.array(values, np.int64))
    assert varints(data).view(np.int64).tolist() == values
    assert [signed(int(word)) for word in varints(data)] == values


@given(st.lists(WORDS, max_size=9))
def test_numbers_that_stand_apart_are_read_at_once(values: list[int]) -> None:
    each = [write_varint(value) for value in values]
    sizes = np.array(list(map(len, each)), np.int64)
    starts = np.cumsum(sizes + 1) - sizes
    data = b"".join(b"\xff" + one for one in each) + bytes(16)
    found = single_integers(data, starts, sizes)
    assert found is not None
    assert found.tolist() == [signed(value) for value in values]


@given(st.lists(WORDS, max_size=9))
def test_numbers_that_begin_anywhere_are_read_at_once_up_to_eight_bytes(values: list[int]) -> None:
    each = [write_varint(value) for value in values]
    starts = np.cumsum([0, *[len(one) + 1 for one in each]])[:-1]
    found, sizes = integers_from(b"".join(one + b"\x9a" for one in each) + bytes(16), starts)
    assert sizes.tolist() == [len(one) if len(one) <= 8 else 0 for one in each]
    assert found.tolist() == [value if value < 1 << 56 else 0 for value in values]


@for_each("data", [b"\x80", b"\x01\x02", b"\x81\x01\x01", b"\x80" * 11, b"\x80" * 8 + b"\x01\x01"])
def test_more_or_less_than_one_number_is_none(data: bytes) -> None:
    assert single_integers(data + bytes(16), np.array([0]), np.array([len(data)])) is None


def test_a_long_row_of_numbers_is_read_in_blocks() -> None:
    values = [(i * 0x9E3779B97F4A7C15 & 2**64 - 1) >> (i * 7 % 64) for i in range(9000)]
    data = b"".join(map(write_varint, values))
    assert varints(data).tolist() == values
    with pytest.raises(WireError, match="ten bytes"):
        varints(data + b"\x80" * 20_000 + b"\x01")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_row_of_numbers_or_refused(data: bytes) -> None:
    one_by_one: list[int] | None = []
    position = 0
    try:
        while position < len(data):
            value, position = read_varint(data, position)
            assert one_by_one is not None
            one_by_one.append(value)
    except WireError:
        one_by_one = None
    try:
        assert varints(data).tolist() == one_by_one
    except WireError:
        assert one_by_one is None


@for_each(
    "data, words",
    [
        (b"\x80", "integer at byte 0 runs over the end, byte 1"),
        (b"\xff" * 11, "takes more than ten bytes"),
        (b"\x0a\x05ab", "a length of 5 at byte 1 reaches beyond the end: 2 bytes are left"),
        (b"\x00\x01", "field number 0"),
        (b"\x0f\x01", "wire type 7"),
        (b"\x3c", "a group 7 ends"),
        (b"\x09\x01", "a fixed word runs over the end"),
    ],
)
def test_bytes_that_are_no_message_are_refused_with_the_place(data: bytes, words: str) -> None:
    with pytest.raises(WireError, match=words):
        list(fields(data))


def test_fields_come_in_their_order_and_groups_are_left_out() -> None:
    group = write_tag(7, 3) + write_tag(1, 0) + b"\x05" + write_tag(7, 4)
    fixed = write_tag(2, 5) + b"\x01\0\0\0" + write_tag(3, 1) + b"\x02" + bytes(7)
    data = length_field(9, b"ab") + group + fixed + write_tag(9, 0) + b"\x80\x01"
    assert list(fields(data)) == [(9, b"ab"), (2, 1), (3, 2), (9, 128)]


@given(st.integers(1, 2**29 - 1), WORDS)
def test_an_integer_field_is_read_as_it_was_written_and_zero_is_left_out(number: int, value: int) -> None:
    assert list(fields(integer_field(number, value))) == ([(number, value)] if value else [])


def test_a_value_of_the_other_kind_is_refused() -> None:
    assert (as_integer(3), as_bytes(b"3")) == (3, b"3")
    with pytest.raises(WireError, match="bytes where a number is expected"):
        as_integer(b"3")
    with pytest.raises(WireError, match="a number where bytes are expected"):
        as_bytes(3)
