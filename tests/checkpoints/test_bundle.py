"""Checkpoints in TensorFlow's format: every type, shards, slices, damage, and what is written; CRC-32C."""

from __future__ import annotations

import errno
import gc
import itertools
import os
import shutil
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import DType, as_dtype, float64, string
from actorsession.checkpoints import CheckpointReader, merge_bundles, parse_spec, save
from actorsession.checkpoints.bundle_writer import write_bundle, write_table
from actorsession.checkpoints.crc32c import crc32c, crc32c_each, masked, unmasked
from actorsession.checkpoints.sorted_table import read_table
from actorsession.errors import DataLossError, FailedPreconditionError, OpError, UnimplementedError
from tests.checkpoints.tables import table, varint

FIXTURES = Path(__file__).parent / "fixtures"
PLAIN: dict[str, Any] = {
    "f32": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
    "f64": np.array([1.5, -2.5]),
    "i64": np.int64(7),
    "i32": np.array([-1, 2, 3], np.int32),
    "u8": np.arange(5, dtype=np.uint8),
    "flag": np.array([True, False]),
    "half": np.array([0.5, 2], np.float16),
    "c64": np.array([1 + 2j], np.complex64),
    "bf16": np.array([1, -3.5], ml_dtypes.bfloat16),
    "layer/kernel": np.ones((2, 2), np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "c128": np.array([1 - 1j]),
    "i8": np.array([-3], np.int8),
    "u16": np.array([65535], np.uint16),
    "i16": np.array([-300], np.int16),
    "u32": np.array([4000000000], np.uint32),
    "u64": np.array([2**63], np.uint64),
    "long": b"x" * 300,
    "words": np.array([[b"one", b""], [b"three", b"\xff\x00"]], object),
}
ROWS = np.arange(20, dtype=np.float32).reshape(5, 4)
COLS = np.arange(12, dtype=np.int32).reshape(2, 6)


def read(name: str, folder: Path = FIXTURES) -> dict[str, Any]:
    with CheckpointReader(str(folder / name)) as reader:
        return {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map()}


def test_every_element_type_is_read(tmp_path: Path) -> None:
    found = read("plain")
    assert found.keys() == PLAIN.keys()
    for name, wanted in PLAIN.items():
        assert type(found[name]) is type(wanted), name
        assert getattr(found[name], "dtype", None) == getattr(wanted, "dtype", None), name
        np.testing.assert_array_equal(found[name], wanted, err_msg=name)
    # Shapes and dtypes are known without the values.
    shutil.copy(FIXTURES / "plain.index", tmp_path)
    with CheckpointReader(str(tmp_path / "plain")) as reader:
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    assert shapes == {name: list(np.shape(value)) for name, value in PLAIN.items()}
    assert dtypes["bf16"] is as_dtype("bfloat16")
    assert dtypes["words"] is as_dtype("string")
    # Values are the readers own and writable.
    with CheckpointReader(str(FIXTURES / "plain")) as reader:
        first = reader.get_tensor("f32")
        first[:] = 0
        np.testing.assert_array_equal(reader.get_tensor("f32"), PLAIN["f32"])
    # Names with a common beginning are told apart.
    assert read("many") == {f"layer_{i:03d}/weights/of/a/long/name": i for i in range(40)}
    # Each shard has its file.
    found = read("shards")
    np.testing.assert_array_equal(found["a"], [1, 2])
    np.testing.assert_array_equal(found["b"], [3, 4])
    # Slices are put together.
    found = read("parts")
    np.testing.assert_array_equal(found["rows"], ROWS)
    np.testing.assert_array_equal(found["cols"], COLS)
    assert found["whole"] == 3


@pytest.mark.parametrize(
    ("name", "spec", "wanted"),
    [
        ("rows", "5 4 1,3:-", ROWS[1:4]),
        ("rows", "5 4 2,2:-", ROWS[2:4]),
        ("rows", "5 4 3,2:1,2", ROWS[3:, 1:3]),
        ("cols", "2 6 -:2,4", COLS[:, 2:]),
    ],
    ids=["over pieces", "one piece", "a corner", "columns"],
)
def test_a_slice_may_be_another_than_what_was_saved(name: str, spec: str, wanted: Any) -> None:
    with CheckpointReader(str(FIXTURES / "parts")) as reader:
        np.testing.assert_array_equal(reader.read(name, parse_spec(spec)), wanted)


@pytest.mark.parametrize("name", ["plain", "parts"])
def test_a_flipped_bit_in_the_data_is_refused(name: str, tmp_path: Path) -> None:
    for file in FIXTURES.glob(f"{name}.*"):
        shutil.copy(file, tmp_path)
    path = tmp_path / f"{name}.data-00000-of-00001"
    data = path.read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(DataLossError, match="damaged"):
            read(name, tmp_path)


def test_a_data_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    for file in FIXTURES.glob("plain.*"):
        shutil.copy(file, tmp_path)
    path = tmp_path / "plain.data-00000-of-00001"
    for size in (0, 1, len(path.read_bytes()) - 1):
        path.write_bytes((FIXTURES / path.name).read_bytes()[:size])
        with pytest.raises(DataLossError, match=f"is truncated: it has {size} bytes"):
            read("plain", tmp_path)
    whole = (FIXTURES / "plain.index").read_bytes()
    for size in range(0, len(whole), 7):
        (tmp_path / "plain.index").write_bytes(whole[:size])
        with pytest.raises(DataLossError, match="truncated"):
            CheckpointReader(str(tmp_path / "plain"))


def test_a_data_file_that_is_missing_is_named(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "plain.index", tmp_path)
    with pytest.raises(DataLossError, match="data-00000-of-00001' is missing"):
        read("plain", tmp_path)


def field(number: int, content: int | bytes) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content & (1 << 64) - 1)
    return varint(number << 3 | 2) + varint(len(content)) + content


HEADER = field(1, 1)


def opened(tmp_path: Path, entries: dict[bytes, bytes]) -> CheckpointReader:
    (tmp_path / "x.index").write_bytes(table(entries))
    return CheckpointReader(str(tmp_path / "x"))


def test_an_element_type_that_no_tensor_has_is_listed_and_refused_when_read(tmp_path: Path) -> None:
    reader = opened(tmp_path, {b"": HEADER, b"q": field(1, 29), b"r": field(1, 99)})
    assert reader.get_variable_to_shape_map() == {"q": [], "r": []}
    assert reader.get_variable_to_dtype_map() == {}
    with pytest.raises(UnimplementedError, match="int4"):
        reader.get_tensor("q")
    with pytest.raises(UnimplementedError, match="DataType 99"):
        reader.get_tensor("r")


@pytest.mark.parametrize(
    ("header", "kind", "match"),
    [
        (field(1, 1) + field(2, 1), UnimplementedError, "big-endian"),
        (field(1, 1) + field(3, field(2, 9)), UnimplementedError, "version 9"),
        (b"", DataLossError, "contains no number of shards"),
        (field(1, b"x"), DataLossError, "number is expected"),
        (b"\x0f", DataLossError, "wire type 7"),
    ],
    ids=["big-endian", "later version", "empty", "wrong kind", "no message"],
)
def test_a_header_of_another_kind_is_refused(tmp_path: Path, header: bytes, kind: type[OpError], match: str) -> None:
    with pytest.raises(kind, match=match):
        opened(tmp_path, {b"": header})


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        (field(1, 1) + field(2, field(2, field(1, 3))) + field(5, 8), "has 8 bytes, but its shape needs 12"),
        (field(1, 1) + field(2, field(2, field(1, -1))), "has the shape"),
        (field(1, 1) + field(7, field(1, b"")), "does not contain it"),
        (field(1, 1)[:-1], "runs over the end"),
    ],
    ids=["size", "negative", "slice", "cut off"],
)
def test_an_entry_that_contradicts_itself_is_refused(tmp_path: Path, entry: bytes, match: str) -> None:
    with pytest.raises(DataLossError, match=match):
        opened(tmp_path, {b"": HEADER, b"v": entry})


def test_fields_of_an_entry_may_have_any_order_and_be_left_out(tmp_path: Path) -> None:
    data = np.arange(300, dtype="<f4").tobytes()
    (tmp_path / "x.data-00000-of-00001").write_bytes(data)
    entries = {b"": HEADER}
    for number, offset in enumerate([0, 4, 200, 1196]):
        fields = [
            field(1, 1),
            field(2, field(2, field(1, 1))),
            field(3, 0),
            field(4, offset),
            field(5, 4),
            varint(6 << 3 | 5) + masked(crc32c(data[offset : offset + 4])).to_bytes(4, "little"),
        ]
        if not offset:
            del fields[3]
        for order in itertools.permutations(fields):
            key = f"{number}/{len(entries)}"
            entries[key.encode()] = b"".join(order)
    with opened(tmp_path, entries) as reader:
        for name in reader.get_variable_to_shape_map():
            wanted = [0, 1, 50, 299][int(name[0])]
            assert reader.get_tensor(name).tolist() == [wanted], name


@pytest.mark.parametrize("offset", [1, 1 << 31, 1 << 56, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_tensor_behind_the_end_of_its_file_is_refused(tmp_path: Path, offset: int) -> None:
    (tmp_path / "x.data-00000-of-00001").write_bytes(bytes(4))
    entry = field(1, 1) + field(2, b"") + field(4, offset) + field(5, 4)
    reader = opened(tmp_path, {b"": HEADER, b"u": entry, b"v": entry})
    with pytest.raises(DataLossError, match=f"reaches from {offset} to {offset + 4}"):
        reader.get_tensor("v")


def test_a_file_is_checked_anew_after_the_reader_was_closed(tmp_path: Path) -> None:
    for file in FIXTURES.glob("plain.*"):
        shutil.copy(file, tmp_path)
    reader = CheckpointReader(str(tmp_path / "plain"))
    reader.get_tensor("f32")
    reader.close()
    path = tmp_path / "plain.data-00000-of-00001"
    path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(DataLossError, match="damaged"):
        reader.get_tensor("f64")


def test_a_reader_that_nobody_holds_is_released_without_the_collector() -> None:
    reader = CheckpointReader(str(FIXTURES / "plain"))
    reader.get_tensor("f32")
    released = weakref.ref(reader._source)
    gc.disable()
    try:
        del reader
        assert released() is None
    finally:
        gc.enable()


def tensors(prefix: str) -> list[tuple[str, DType, Any]]:
    with CheckpointReader(prefix) as reader:
        dtypes = sorted(reader.get_variable_to_dtype_map().items())
        return [(n, d, np.asarray(reader.get_tensor(n), d.np_dtype)) for n, d in dtypes]


@pytest.mark.parametrize("name", ["plain", "many"])
def test_what_is_written_is_what_tensorflow_writes(tmp_path: Path, name: str) -> None:
    """The same data and the same entries; tables may be cut into other blocks."""
    write_bundle(str(tmp_path / name), tensors(str(FIXTURES / name)))
    data = f"{name}.data-00000-of-00001"
    assert (tmp_path / data).read_bytes() == (FIXTURES / data).read_bytes()
    ours, theirs = (read_table((folder / f"{name}.index").read_bytes(), name) for folder in (tmp_path, FIXTURES))
    assert ours == theirs


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values: dict[str, Any] = {
        f"layer_{i:03d}/kernel": rng.normal(size=(3, i % 5)).astype(np.float32) for i in range(300)
    }
    values["words"] = np.array([[b"x" * 300, b""]], object)
    values["large"] = rng.integers(0, 99, (300, 400))
    values["turned"] = values["large"].T
    values["big-endian"] = np.arange(5, dtype=">i4")
    kinds = {
        name: string if value.dtype == object else as_dtype(value.dtype.newbyteorder("=").name)
        for name, value in values.items()
    }
    prefix = str(tmp_path / "deep" / "model")
    write_bundle(prefix, ((name, kinds[name], value) for name, value in values.items()))
    found = {name: value for name, _, value in tensors(prefix)}
    assert found.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    write_bundle(str(tmp_path / "model"), [])
    assert tensors(str(tmp_path / "model")) == []


def test_nothing_is_left_of_a_checkpoint_that_fails(tmp_path: Path) -> None:
    def failing() -> Any:
        yield "a", as_dtype("int32"), np.zeros(3, np.int32)
        raise FailedPreconditionError("no value")

    with pytest.raises(FailedPreconditionError, match="no value"):
        write_bundle(str(tmp_path / "model"), failing())
    assert list(tmp_path.iterdir()) == []


@given(st.dictionaries(st.binary(max_size=30), st.binary(max_size=400), max_size=60))
def test_any_table_is_read_as_it_was_written(entries: dict[bytes, bytes]) -> None:
    assert read_table(write_table(entries), "table") == dict(sorted(entries.items()))


def saved(prefix: Path, value: float) -> None:
    write_bundle(str(prefix), [("v", float64, np.full(9, value))])


def value_of(prefix: Path) -> float:
    with CheckpointReader(str(prefix)) as reader:
        (value,) = np.unique(reader.get_tensor("v"))
    return float(value)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


USUAL = ["m.data-00000-of-00001", "m.index"]


def test_a_save_over_a_checkpoint_has_the_usual_names_in_the_end(tmp_path: Path) -> None:
    for value in (1.0, 2.0, 3.0):
        saved(tmp_path / "m", value)
        assert value_of(tmp_path / "m") == value
        assert names(tmp_path) == USUAL
    # A damaged index is replaced.
    saved(tmp_path / "m", 1.0)
    (tmp_path / "m.index").write_bytes(b"damaged")
    saved(tmp_path / "m", 2.0)
    assert value_of(tmp_path / "m") == 2.0
    saved(tmp_path / "m", 3.0)
    assert names(tmp_path) == USUAL
    # A checkpoint may be merged with others into itself.
    saved(tmp_path / "m", 1.0)
    write_bundle(str(tmp_path / "n"), [("w", float64, np.full(9, 2.0))])
    merge_bundles([str(tmp_path / "n"), str(tmp_path / "m")], str(tmp_path / "m"))
    assert {name: float(value[0]) for name, _, value in tensors(str(tmp_path / "m"))} == {"v": 1.0, "w": 2.0}
    assert names(tmp_path) == ["m.data-00000-of-00002", "m.data-00001-of-00002", "m.index"]


def test_the_old_checkpoint_is_there_until_the_index_has_its_name(tmp_path: Path) -> None:
    saved(tmp_path / "m", 1.0)

    def values() -> Iterator[tuple[str, DType, Any]]:
        assert value_of(tmp_path / "m") == 1.0
        yield "v", float64, np.full(9, 2.0)
        assert value_of(tmp_path / "m") == 1.0

    write_bundle(str(tmp_path / "m"), values())
    assert value_of(tmp_path / "m") == 2.0


def test_of_two_savers_at_once_the_later_index_counts_and_nothing_is_mixed(tmp_path: Path) -> None:
    """1. The first begins to write. 2. The second writes all. 3. The first ends."""
    saved(tmp_path / "m", 1.0)

    def values() -> Iterator[tuple[str, DType, Any]]:
        saved(tmp_path / "m", 2.0)
        assert value_of(tmp_path / "m") == 2.0
        yield "v", float64, np.full(9, 3.0)

    write_bundle(str(tmp_path / "m"), values())
    assert value_of(tmp_path / "m") == 3.0
    saved(tmp_path / "m", 4.0)
    assert names(tmp_path) == USUAL


def test_a_save_that_fails_leaves_the_old_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    saved(tmp_path / "m", 1.0)

    def values() -> Iterator[tuple[str, DType, Any]]:
        yield "v", float64, np.full(9, 2.0)
        raise FailedPreconditionError("no value")

    with pytest.raises(FailedPreconditionError, match="no value"):
        write_bundle(str(tmp_path / "m"), values())
    assert value_of(tmp_path / "m") == 1.0
    assert names(tmp_path) == USUAL


def test_without_links_a_checkpoint_keeps_its_written_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*args: Any, **options: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    for value in (1.0, 2.0):
        saved(tmp_path / "m", value)
    assert value_of(tmp_path / "m") == 2.0
    assert names(tmp_path) == ["m.data-00000-of-00002", "m.index"]
    saved(tmp_path / "part", 3.0)
    merge_bundles([str(tmp_path / "part")], str(tmp_path / "m"))
    assert value_of(tmp_path / "m") == 3.0
    assert names(tmp_path) == USUAL


def test_the_format_that_was_written_last_counts_whatever_the_clock_says(tmp_path: Path) -> None:
    prefix = tmp_path / "m"
    save(str(prefix), ["v"], [""], [np.full(9, 1.0)])
    ahead = time.time() + 1000
    os.utime(f"{prefix}.safetensors", (ahead, ahead))
    saved(prefix, 2.0)
    assert value_of(prefix) == 2.0
    save(str(prefix), ["v"], [""], [np.full(9, 3.0)])
    assert value_of(prefix) == 3.0


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
    assert masked(np.array(wanted, np.uint32)).tolist() == [masked(each) for each in wanted]


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
