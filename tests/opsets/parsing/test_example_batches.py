"""Batches read all at once: what is found is what a plain decoder finds in one example after the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors, float32, int64, string
from actorsession.opsets.parsing.example_batches import BatchReader, ExampleError
from actorsession.opsets.parsing.example_reader import WrongKindError
from actorsession.opsets.parsing.feature_values import FeatureError, values_of
from actorsession.protobuf.wire import WireError, length_field, signed, write_varint
from tests.rows import for_each, refused

# One key of each length of which the tags and lengths before the values fill other words.
KEYS: dict[bytes, int] = {
    b"i": 3,
    b"floats": 2,
    b"a string": 1,
    b"ids of what was seen": 3,
    b"k" * 90: 1,
    b"long" * 40: 2,
}
UNWANTED = [b"unwanted", b"more"]
KINDS = {1: string, 2: float32, 3: int64}
Lists: TypeAlias = "dict[bytes, list[Any]]"


# -- a plain decoder -------------------------------------------------------------------------------


def varint(data: bytes) -> tuple[int, bytes]:
    value = shift = 0
    while True:
        value |= (data[0] & 0x7F) << shift
        shift += 7
        if data[0] < 0x80:
            return value & (2**64 - 1), data[1:]
        data = data[1:]


def parts(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and content of each field."""
    while data:
        tag, data = varint(data)
        if tag & 7 == 2:
            size, data = varint(data)
            if size > len(data):
                raise WireError("cut off")
        else:
            size = 4 if tag & 7 == 5 else len(data) - len(varint(data)[1])
        yield tag >> 3, tag & 7, data[:size]
        data = data[size:]


def decoded(example: bytes) -> Lists:
    """The lists of the wanted keys; the last one of a key counts."""
    found: Lists = {}
    for _, _, entry in (e for n, _, f in parts(example) if n == 1 for e in parts(f) if e[0] == 1):
        named = {number: content for number, _, content in parts(entry)}
        for kind, _, content in parts(named.get(2, b"")):
            if named[1] in KEYS:
                found[named[1]] = values(kind, content)
            break
    return found


def values(kind: int, content: bytes) -> list[Any]:
    out: list[Any] = []
    for _, wire_type, data in parts(content):
        if kind == 1:
            out.append(data)
        elif kind == 2:
            out += np.frombuffer(data, "<f4").tolist()
        elif wire_type == 0:
            out.append(signed(varint(data)[0]))
        else:
            while data:
                word, data = varint(data)
                out.append(signed(word))
    return out


# -- random examples -------------------------------------------------------------------------------

INTEGERS = st.one_of(st.integers(0, 127), st.integers(0, 2**40), st.integers(-(2**63), 2**63 - 1), st.just(-1))
STRINGS = st.binary(max_size=20) | st.integers(100, 300).map(bytes)


@st.composite
def lists(draw: st.DrawFn, kind: int) -> bytes:
    """What a list of a kind holds; now and then not packed."""
    if kind == 1:
        return b"".join(length_field(1, text) for text in draw(st.lists(STRINGS, max_size=3)))
    each: st.SearchStrategy[Any]
    each = INTEGERS if kind == 3 else st.floats(width=32, allow_nan=False)
    numbers: list[Any] = draw(st.lists(each, max_size=3) | st.lists(each, min_size=1, max_size=1))
    numbers = numbers * draw(st.sampled_from([1, 1, 1, 20]))
    if kind == 3:
        packed = [write_varint(number & (2**64 - 1)) for number in numbers]
    else:
        packed = [struct.pack("<f", number) for number in numbers]
    if draw(st.integers(0, 9)) == 0:
        tag = b"\x08" if kind == 3 else b"\x0d"
        return b"".join(tag + number for number in packed)
    return length_field(1, b"".join(packed)) if packed else b""


@st.composite
def examples(draw: st.DrawFn) -> bytes:
    entries = []
    keys = [*KEYS, *UNWANTED]
    if draw(st.integers(0, 4)) == 0:
        keys = list(draw(st.permutations(keys)))
    if draw(st.integers(0, 4)) == 0:
        keys += keys[:2]
    for key in keys:
        if draw(st.integers(0, 9)) == 0:
            continue
        kind = KEYS.get(key, 1)
        feature = length_field(kind, draw(lists(kind)))
        entry = [length_field(1, key), length_field(2, feature)]
        odd = draw(st.integers(0, 30))
        if odd == 0:
            entry.reverse()
        if odd == 1:
            entry.append(b"\x50\x01")  # a field that nobody knows
        entries.append(length_field(1, b"".join(entry)))
    whole = length_field(1, b"".join(entries))
    return whole + b"\x50\x01" if draw(st.integers(0, 20)) == 0 else whole


@st.composite
def batches(draw: st.DrawFn) -> list[bytes]:
    """Some dozens of examples, of which several are alike."""
    pool = draw(st.lists(examples(), min_size=1, max_size=5))
    return [draw(st.sampled_from(pool)) for _ in range(draw(st.integers(24, 40)))]


def reader() -> BatchReader:
    return BatchReader(list(KEYS), list(KEYS.values()))


def found_in(columns: Any) -> list[Lists]:
    """The columns as what each example has; an empty list where there is nothing."""
    out: list[Lists] = []
    for (key, kind), column in zip(KEYS.items(), columns, strict=True):
        flat, counts = values_of(column, kind)
        assert flat.dtype == KINDS[kind].np_dtype
        assert flat.flags.writeable
        stops = np.cumsum(counts).tolist()
        for row, (stop, count) in enumerate(zip(stops, counts.tolist(), strict=True)):
            out += [{}] if row == len(out) else []
            out[row][key] = flat[stop - count : stop].tolist()
    return out


@given(st.lists(batches(), min_size=1, max_size=3))
def test_a_batch_holds_what_a_plain_decoder_finds(rounds: list[list[bytes]]) -> None:
    """The same reader sees several batches, so that it expects orders that do not come again."""
    read = reader()
    for rows in rounds:
        wanted = [{key: decoded(row).get(key, []) for key in KEYS} for row in rows]
        assert found_in(read.read(rows)) == wanted


@given(batches(), st.integers(0, 23), st.data())
def test_an_example_that_is_cut_off_is_named(rows: list[bytes], at: int, data: Any) -> None:
    size = data.draw(st.integers(1, len(rows[at]) - 1))
    if rows[at].endswith(b"\x50\x01"):
        size = min(size, len(rows[at]) - 3)
    rows[at] = rows[at][:size]
    with pytest.raises(ExampleError) as caught:
        reader().read(rows)
    assert (caught.value.row, type(caught.value.cause)) == (at, WireError)


@given(batches(), st.lists(st.tuples(st.integers(0, 23), st.integers(0, 999), st.integers(0, 255))))
def test_spoilt_bytes_are_read_in_a_batch_as_they_are_one_by_one(rows: list[bytes], spoilt: list[Any]) -> None:
    for row, at, byte in spoilt:
        data = bytearray(rows[row])
        data[at % len(data)] = byte
        rows[row] = bytes(data)
    assert outcome(rows) == outcome_singly(rows)


def outcome(rows: list[bytes]) -> Any:
    try:
        columns = reader().read(rows)
        return str(found_in(columns))
    except ExampleError as exc:
        return exc.row, type(exc.cause)
    except Exception as exc:
        return type(exc)


def outcome_singly(rows: list[bytes]) -> Any:
    """The same where a batch is too small to be read at once."""
    columns: list[list[Any]] = [[None] * len(rows) for _ in KEYS]
    for row, data in enumerate(rows):
        try:
            reader().reader.read(data, row, columns)
        except (WireError, WrongKindError) as exc:
            return row, type(exc)
    try:
        return str(found_in(columns))
    except Exception as exc:
        return type(exc)


# -- what becomes of them --------------------------------------------------------------------------


def entry(key: bytes, kind: int, content: bytes) -> bytes:
    return length_field(1, length_field(1, key) + length_field(2, length_field(kind, content)))


def example(*entries: bytes) -> bytes:
    return length_field(1, b"".join(entries))


def test_what_is_missing_gets_the_default_and_what_is_short_is_padded() -> None:
    rows = []
    for i in range(60):
        counted = [entry(b"n", 3, length_field(1, bytes(range(i % 3))))]
        text = [entry(b"t", 1, length_field(1, b"text"))] if i % 4 else []
        number = [entry(b"f", 2, length_field(1, struct.pack("<2f", i, -i)))] if i % 5 else []
        rows.append(example(*text, *counted, *number))
    with acts.Graph().as_default(), acts.Session() as session:
        made = acts.io.parse_example(
            rows,
            {
                "t": acts.io.FixedLenFeature([], string, "none"),
                "f": acts.io.FixedLenFeature([2], float32, [7, 8]),
                "n": acts.io.FixedLenSequenceFeature([], int64, True, -1),
                "v": acts.io.VarLenFeature(float32),
            },
        )
        found = session.run(made)
    assert found["t"].tolist() == [b"text" if i % 4 else b"none" for i in range(60)]
    assert found["f"].tolist() == [[i, -i] if i % 5 else [7, 8] for i in range(60)]
    assert found["n"].tolist() == [[[-1, -1], [0, -1], [0, 1]][i % 3] for i in range(60)]
    assert found["v"].dense_shape.tolist() == [60, 0]


@for_each(
    "last, match",
    [
        (entry(b"a", 2, length_field(1, bytes(4))), "Index: 29. Data types don't match"),
        (entry(b"a", 3, length_field(1, b"\x01\x02")), "Index: 29. Number of int64 values"),
        (entry(b"b", 3, length_field(1, b"\x01")), "Index: 29. .*required but could not be found"),
        (entry(b"a", 3, length_field(1, b"\x81")), "Index: 29. an integer .*runs over the end"),
        (b"\x0a\x7f", "parse example input 29"),
    ],
    ids=["kind", "count", "missing", "open integer", "length"],
)
def test_one_example_of_a_batch_is_refused_by_its_number(last: bytes, match: str) -> None:
    rows = [example(entry(b"a", 3, length_field(1, b"\x05")))] * 29 + [example(last)]
    with acts.Graph().as_default(), acts.Session() as session:
        made = acts.io.parse_example(rows, {"a": acts.io.FixedLenFeature([], int64)})
        refused(lambda: session.run(made), errors.InvalidArgumentError, match)


@pytest.mark.parametrize("before", [b"", bytes(60)], ids=["few", "many"])
def test_a_number_does_not_go_on_in_the_next_example(before: bytes) -> None:
    """Few are read one by one, many all at once."""
    with pytest.raises(FeatureError, match=r"an integer .*runs over the end") as info:
        values_of([before, b"\x81", b"\x01"], 3)
    assert info.value.row == 1


def test_the_order_is_learnt_anew_when_it_changes() -> None:
    keys = [b"key%d" % i for i in range(8)]
    read = BatchReader(keys, [3] * 8)
    for order in (keys, keys[::-1], keys[2:5], keys):
        rows = [example(*[entry(k, 3, length_field(1, k[3:])) for k in order])] * 30
        columns: Any = read.read(rows)
        for key, column in zip(keys, columns, strict=True):
            wanted = [key[3]] * 30 if key in order else []
            assert values_of(column, 3)[0].tolist() == wanted


def test_keys_that_never_come_again_are_not_looked_for_for_ever() -> None:
    read = BatchReader([b"a"], [3])
    for i in range(60):
        made = [entry(b"only here %d" % (30 * i + j), 1, b"") for j in range(30)]
        rows = [example(each, entry(b"a", 3, length_field(1, b"\x07"))) for each in made]
        assert values_of(read.read(rows)[0], 3)[0].tolist() == [7] * 30
    assert len(read._order) <= 24
    assert len(read._heads) <= 1024
