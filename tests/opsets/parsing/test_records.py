"""Files of records: what is written is read again, and damage is said with its offset."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorsession.errors import DataLossError, FailedPreconditionError, NotFoundError
from actorsession.opsets.parsing.records import COMPRESSIONS, RecordReader, RecordWriter
from tests.rows import for_each, refused

RECORDS = [b"a", b"", b"hello" * 50]
# Written by TensorFlow 2.21: the records b"a" and b"", and the beginning of the third.
THEIRS = bytes.fromhex("01000000000000000175de4161786ee428000000000000000029039807d8ea82a2fa0000000000000010e14e9d")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "records")


def write(path: str, compression: str = "") -> bytes:
    with RecordWriter(path, compression) as writer:
        for record in RECORDS:
            writer.write(record)
    return Path(path).read_bytes()


def read(path: str, data: bytes | None = None, compression: str = "") -> list[bytes]:
    if data is not None:
        Path(path).write_bytes(data)
    return list(RecordReader(path, compression))


def test_the_bytes_are_those_that_tensorflow_writes(path: str) -> None:
    data = write(path)
    assert data[: len(THEIRS)] == THEIRS
    assert data == THEIRS + RECORDS[2] + bytes.fromhex("6dc54593")


@pytest.mark.parametrize("compression", sorted(COMPRESSIONS))
def test_records_are_read_as_they_were_written(path: str, compression: str) -> None:
    write(path, compression)
    assert read(path, compression=compression) == RECORDS


def test_compressed_files_hold_the_plain_ones(path: str) -> None:
    plain = write(path)
    assert (zlib.decompress(write(path, "ZLIB")), gzip.decompress(write(path, "GZIP"))) == (plain, plain)
    assert read(path, gzip.compress(plain), "GZIP") == RECORDS


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(st.binary(max_size=700), max_size=6), kind=st.sampled_from(["", "ZLIB"]))
def test_any_records_come_back(path: str, records: list[bytes], kind: str) -> None:
    with RecordWriter(path, kind, level=1) as writer:
        for record in records:
            writer.write(record)
    assert read(path, compression=kind) == records


def test_a_record_longer_than_a_chunk_comes_back(path: str) -> None:
    record = bytes(range(256)) * 10_000
    with RecordWriter(path, "ZLIB") as writer:
        writer.write(record)
    assert read(path, compression="ZLIB") == [record]


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_records_of_all_sizes_come_back_over_the_ends_of_blocks(path: str, kind: str) -> None:
    sizes = [0, 1, 5000, 300_000, 3, 70_000, *range(0, 4000, 7), 260_000, 16, 0]
    records = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    with RecordWriter(path, kind, level=1) as writer:
        for record in records:
            writer.write(record)
    assert read(path, compression=kind) == records
    with RecordReader(path, kind) as reader:
        offset = 0
        for record in records:
            assert (reader.offset, reader.read()) == (offset, record)
            offset += 16 + len(record)
        assert (reader.read(), reader.offset) == (None, offset)


def test_damage_in_the_middle_is_said_when_its_record_comes(path: str) -> None:
    records = [b"%05d" % i * 20 for i in range(5000)]
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    whole, spoilt = Path(path).read_bytes(), Path(path).with_name("spoilt")
    for at, says in ((12, "record at 501236 .*another checksum"), (3, "record at 501236 ")):
        data = bytearray(whole)
        data[116 * 4321 + at] ^= 4
        spoilt.write_bytes(data)
        refused(lambda: list(RecordReader(str(spoilt))), DataLossError, says)
        reader = RecordReader(str(spoilt))
        assert [reader.read() for _ in range(4321)] == records[:4321]
        for _ in range(2):
            with pytest.raises(DataLossError, match=says):
                reader.read()
        assert reader.offset == 501236
        reader.close()


def test_a_reader_at_the_end_sees_what_is_written_later(path: str) -> None:
    with RecordWriter(path) as writer, RecordReader(path) as reader:
        for record in (b"first", b"second" * 10_000, b"third"):
            assert reader.read() is None
            writer.write(record)
            writer.flush()
            assert reader.read() == record


def test_a_writer_that_nobody_closes_loses_nothing(path: str) -> None:
    RecordWriter(path).write(b"kept")
    assert read(path) == [b"kept"]


@for_each(
    "at, match",
    [
        (0, "corrupted record at 0 .*is this a file of records"),
        (9, "corrupted record at 0 "),
        (12, "corrupted record at 0 .*from 12"),
        (14, "corrupted record at 0 .*from 12"),
        (20, "corrupted record at 17 "),
        (40, "corrupted record at 33 "),
        (-1, "corrupted record at 33 .*from 45"),
    ],
)
def test_a_record_that_is_damaged_is_named_by_its_offset(path: str, at: int, match: str) -> None:
    data = bytearray(write(path))
    data[at] ^= 1
    refused(lambda: read(path, bytes(data)), DataLossError, match)


def test_a_file_that_was_cut_off_gives_what_is_whole_before_it_is_refused(path: str) -> None:
    data = write(path)
    for size in (*range(1, 50), *range(50, len(data), 9)):
        Path(path).write_bytes(data[:size])
        whole = [17, 33].index(size) + 1 if size in (17, 33) else None
        reader = RecordReader(path)
        if whole is not None:
            assert list(reader) == RECORDS[:whole]
            continue
        offset = max(start for start in (0, 17, 33) if start <= size)
        with pytest.raises(DataLossError, match=f"truncated record at {offset} "):
            list(reader)


def test_a_length_that_nobody_could_hold_is_cut_off_and_asks_for_no_memory(path: str) -> None:
    with RecordWriter(path) as writer:
        writer.write(b"x" * 100)
    data = Path(path).read_bytes()
    from actorsession.checkpoints.crc32c import crc32c, masked

    length = (2**62).to_bytes(8, "little")
    head = length + masked(crc32c(length)).to_bytes(4, "little")
    refused(lambda: read(path, head + data[12:]), DataLossError, "truncated record at 0 ")


def test_other_compressions_than_that_of_the_file_are_data_loss(path: str) -> None:
    plain, packed = write(path), write(path, "GZIP")
    refused(lambda: read(path, plain, "GZIP"), DataLossError, r"compressed is damaged: .*incorrect header")
    refused(lambda: read(path, packed), DataLossError, "corrupted record at 0 ")
    refused(lambda: read(path, packed[:-9], "GZIP"), DataLossError, "truncated record at 33 ")


def test_an_empty_file_has_no_records(path: str) -> None:
    assert read(path, b"") == []


def test_what_was_flushed_can_be_read_while_the_writer_is_open(path: str) -> None:
    for compression in sorted(COMPRESSIONS):
        with RecordWriter(path, compression) as writer, RecordReader(path, compression) as reader:
            writer.write(b"first")
            writer.flush()
            assert reader.read() == b"first"


def test_a_closed_writer_takes_nothing_more(path: str) -> None:
    writer = RecordWriter(path)
    writer.close()
    writer.close()
    refused(lambda: writer.write(b""), FailedPreconditionError, "closed")
    refused(lambda: writer.flush(), FailedPreconditionError, "closed")


def test_files_that_are_not_there_and_forms_that_are_unknown_are_refused(tmp_path: Path) -> None:
    refused(lambda: RecordReader(str(tmp_path / "no_such")), NotFoundError, "no_such")
    refused(lambda: RecordWriter(str(tmp_path / "no_such" / "file")), NotFoundError, "no_such")
    refused(lambda: RecordWriter(str(tmp_path / "file"), "LZ4"), ValueError, '"LZ4"')


def test_a_loop_that_ends_early_leaves_no_file_open(path: str) -> None:
    write(path)
    for record in RecordReader(path):
        assert record == b"a"
        break
