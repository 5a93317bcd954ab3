"""Checkpoints of TensorFlow's first format: sorted tables, slices, and files that TensorFlow 1.15 wrote."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import checkpoints
from actorsession.checkpoints import CheckpointReader, parse_spec, write_spec
from actorsession.checkpoints.slices import Extent, assemble, slice_key
from actorsession.checkpoints.snappy import decompress
from actorsession.checkpoints.sorted_table import read_table
from actorsession.errors import DataLossError, InvalidArgumentError, UnimplementedError
from tests.checkpoints.tables import literal, table, varint

OLDEST = Path(__file__).parent / "fixtures" / "oldest"
VALUES: dict[str, Any] = {
    "float32": np.array([[0.5, -2.0, 3.25]], np.float32),
    "float64": np.array([1e300, -0.125]),
    "int32": np.array([-5, 7, 2**31 - 1], np.int32),
    "int64": np.array([[-(2**62), 5]]),
    "int8": np.array([-1, 3], np.int8),
    "uint8": np.array([0, 255], np.uint8),
    "bool": np.array([True, False]),
    "float16": np.array([1.5, -0.25], np.float16),
    "complex64": np.array([1 + 2j], np.complex64),
    "string": np.array([b"a", b"", b"xyz"], object),
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3), np.float32),
}
MATRIX = np.array([[0, 1], [2, 3], [4, 5]], np.float32)
PARTS = [("3 2 0,2:-", MATRIX[:2]), ("3 2 2,1:-", MATRIX[2:])]


def assert_holds_the_values(prefix: str) -> None:
    with CheckpointReader(prefix) as reader:
        shapes = {name: list(value.shape) for name, value in VALUES.items()}
        assert reader.get_variable_to_shape_map() == {**shapes, "parts/matrix": [3, 2]}
        for name, value in VALUES.items():
            found = reader.read(name)
            assert found.dtype == value.dtype, name
            np.testing.assert_array_equal(found, value)
        np.testing.assert_array_equal(reader.read("parts/matrix"), MATRIX)
        np.testing.assert_array_equal(reader.read("parts/matrix", ((3, 2), Extent((1, 0), (2, 2)))), MATRIX[1:])


def test_a_checkpoint_of_tensorflow_is_read(tmp_path: Path) -> None:
    assert checkpoints.checkpoint_exists(str(OLDEST))
    assert_holds_the_values(str(OLDEST))
    # Half types keep their bits.
    path, value = str(tmp_path / "model"), np.array([1.5, -3.0], ml_dtypes.bfloat16)
    checkpoints.save_slices(path, ["v"], [""], [value])
    with CheckpointReader(path) as reader:
        assert reader.read("v").tobytes() == value.tobytes()


def test_what_is_written_is_read_and_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    names = [*VALUES, "parts/matrix", "parts/matrix"]
    specs = [""] * len(VALUES) + [spec for spec, _ in PARTS]
    checkpoints.save_slices(path, names, specs, [*VALUES.values(), *(part for _, part in PARTS)])
    assert_holds_the_values(path)
    checkpoints.remove_files(path)
    assert list(tmp_path.iterdir()) == []


def test_a_pattern_names_all_shards(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    for shard, name in enumerate("ab"):
        path = checkpoints.sharded_name(prefix, shard, 2)
        checkpoints.save_slices(path, [name], [""], [np.full(2, shard, np.int32)])
    pattern = checkpoints.filespec(prefix, 2)
    assert pattern == f"{prefix}-?????-of-00002"
    with CheckpointReader(pattern) as reader:
        assert reader.get_variable_to_shape_map() == {"a": [2], "b": [2]}
        assert reader.get_tensor("b").tolist() == [1, 1]
    checkpoints.remove_files(pattern)
    assert not checkpoints.checkpoint_exists(pattern)
    prefix = str(tmp_path / "model")
    checkpoints.save_slices(checkpoints.sharded_name(prefix, 0, 2), ["a"], [""], [np.zeros(2)])
    for use in (CheckpointReader, lambda pattern: checkpoints.join_tables(pattern, prefix)):
        with pytest.raises(DataLossError, match="names 2 tables, and there are 1"):
            use(checkpoints.filespec(prefix, 2))


def test_shards_are_joined_to_one_file(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    for shard, (spec, part) in enumerate(PARTS):
        path = checkpoints.sharded_name(prefix, shard, 2)
        values = [part, np.full(2, shard)]
        checkpoints.save_slices(path, ["rows", f"own{shard}"], [spec, ""], values)
    pattern = checkpoints.join_tables(checkpoints.filespec(prefix, 2), prefix)
    assert [path.name for path in tmp_path.iterdir()] == ["model-00000-of-00001"]
    with CheckpointReader(pattern) as reader:
        np.testing.assert_array_equal(reader.get_tensor("rows"), MATRIX)
        assert [reader.get_tensor(f"own{shard}")[0] for shard in range(2)] == [0, 1]


def test_what_the_format_does_not_have_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with pytest.raises(UnimplementedError, match="no values of dtype uint64"):
        checkpoints.save_slices(path, ["v"], [""], [np.zeros(1, np.uint64)])
    with pytest.raises(InvalidArgumentError, match="would be saved twice"):
        checkpoints.save_slices(path, ["v", "v"], ["", ""], [np.zeros(1), np.zeros(1)])
    with pytest.raises(InvalidArgumentError, match="which has shape"):
        checkpoints.save_slices(path, ["v"], ["3 2 0,2:-"], [np.zeros(1)])


@pytest.mark.parametrize("at", [200, -60])
def test_damage_is_noticed(tmp_path: Path, at: int) -> None:
    content = bytearray(OLDEST.read_bytes())
    content[at] ^= 1
    path = tmp_path / "model"
    path.write_bytes(bytes(content))
    with pytest.raises(DataLossError):
        CheckpointReader(str(path))


def test_an_empty_spec_is_the_whole() -> None:
    assert parse_spec("") is None
    assert parse_spec(write_spec((5, 4), (2, 0), (2, 4))) == ((5, 4), Extent((2, 0), (2, 4)))
    piece = (Extent((0,), (2,)), np.ones(2))
    assert assemble((5,), np.float64, Extent((1,), (3,)), [piece])[1] == 2


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("5 4 2,2:-", ((5, 4), Extent((2, 0), (2, 4)))),
        ("7 0,7", ((7,), Extent((0,), (7,)))),
        ("2 3 4 -:-:-", ((2, 3, 4), Extent((0, 0, 0), (2, 3, 4)))),
        ("3 3,0", ((3,), Extent((3,), (0,)))),
    ],
)
def test_a_spec_has_the_shape_of_the_whole_and_the_part(spec: str, wanted: object) -> None:
    assert parse_spec(spec) == wanted


@pytest.mark.parametrize("spec", ["5", "5 4 2,2", "5 2,2:-", "a 0,1", "5 1", "5 0,x", "5 2,4", "5 -1,2", "5  0,1"])
def test_other_texts_are_refused(spec: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"shape_and_slice|exceeds the shape"):
        parse_spec(spec)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.data())
def test_a_box_of_a_whole_comes_together_from_its_rows(cuts: list[int], data: st.DataObject) -> None:
    """Whatever the rows were cut into, and whichever box is asked for."""
    bounds = sorted({0, 12, *cuts})
    whole = np.arange(36.0).reshape(12, 3)
    pieces = [(Extent((a, 0), (b - a, 3)), whole[a:b]) for a, b in itertools.pairwise(bounds)]
    start, column = data.draw(st.integers(0, 11)), data.draw(st.integers(0, 2))
    box = Extent((start, column), (data.draw(st.integers(1, 12 - start)), 3 - column))
    found, missing = assemble((12, 3), np.float64, box, pieces)
    np.testing.assert_array_equal(found, whole[start : start + box.sizes[0], column:])
    assert missing == 0


@pytest.mark.parametrize(
    ("name", "spans", "wanted"),
    [  # as TensorFlow has them in its index
        ("rows", [(2, 2), (0, -1)], b"\0rows\0\x01\x01\x02\x82\x82\x80\x7f"),
        ("a\0b\xff", [], b"\0" + "a\0b\xff".encode().replace(b"\0", b"\0\xff") + b"\0\x01\0"),
        ("x", [(100, 20000)], b"\0x\0\x01\x01\x01\xc0\x64\xe0\x4e\x20"),
    ],
    ids=["rows", "escaped", "large"],
)
def test_keys_are_those_of_tensorflow(name: str, spans: list[tuple[int, int]], wanted: bytes) -> None:
    assert slice_key(name, spans) == wanted


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_keys_sort_as_their_numbers_do(a: int, b: int) -> None:
    assert (slice_key("x", [(a, 0)]) < slice_key("x", [(b, 0)])) == (a < b)


ENTRIES = {f"layer/{i:03d}/kernel".encode(): bytes([i]) * i for i in range(11)}


@pytest.mark.parametrize("snappy", [False, True], ids=["plain", "snappy"])
@pytest.mark.parametrize("per_block", [1, 3, 100])
def test_a_table_of_several_blocks_gives_its_entries_in_order(per_block: int, snappy: bool) -> None:
    assert list(read_table(table(ENTRIES, per_block, snappy), "x").items()) == sorted(ENTRIES.items())


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
