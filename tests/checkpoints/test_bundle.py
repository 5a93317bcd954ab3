"""Checkpoints that TensorFlow wrote (see fixtures/README.md), read without it."""

from __future__ import annotations

import gc
import itertools
import shutil
import weakref
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import as_dtype
from actorsession.checkpoints import CheckpointReader, parse_spec
from actorsession.checkpoints.crc32c import crc32c, masked
from actorsession.errors import DataLossError, OpError, UnimplementedError
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


# -- damage ----------------------------------------------------------------------------------------


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
    shutil.copy(FIXTURES / "plain.index", tmp_path)
    with pytest.raises(DataLossError, match="data-00000-of-00001' is missing"):
        read("plain", tmp_path)


# -- indexes that TensorFlow would not write here ----------------------------------------------------


def field(number: int, content: int | bytes) -> bytes:
    """A field of a protobuf message."""
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
