"""Files of ours: read by the ``safetensors`` package, and its files by us; damage of every kind, and seals."""

from __future__ import annotations

import itertools
import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open

from actorsession.checkpoints import CheckpointReader, save
from actorsession.checkpoints.safetensors import SafetensorsFile, write_file
from actorsession.checkpoints.seals import open_message, open_text, seal_message, seal_text
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError, UnimplementedError

PLAIN: dict[str, Any] = {
    "bool": np.array([True, False, True]),
    "i8": np.array([-1], np.int8),
    "u8": np.array([255], np.uint8),
    "i16": np.array([[1], [-2]], np.int16),
    "u16": np.array([65535], np.uint16),
    "f16": np.array([0.5], np.float16),
    "bf16": np.array([1.5, -2], ml_dtypes.bfloat16),
    "i32": np.arange(6, dtype=np.int32).reshape(2, 3),
    "u32": np.array([2**32 - 1], np.uint32),
    "f32": np.float32(2.5),
    "f64": np.array([np.pi, np.nan, np.inf]),
    "i64": np.array([-(2**63)]),
    "u64": np.array([2**64 - 1], np.uint64),
    "c64": np.array([1 + 2j], np.complex64),
    "empty": np.zeros((0, 4), np.float32),
}
STRINGS = np.array([[b"one", b""], [b"\xff\x00three", b"vier"]], object)


def content(prefix: Path) -> dict[str, Any]:
    with CheckpointReader(str(prefix)) as reader:
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def written(tmp_path: Path, tensors: dict[str, Any]) -> Path:
    names = list(tensors)
    save(str(tmp_path / "m"), names, [""] * len(names), [tensors[n] for n in names])
    return tmp_path / "m"


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if isinstance(found[name], bytes):
            assert found[name] == np.asarray(value, object).item(), name
            continue
        assert found[name].dtype == np.asarray(value).dtype, name
        assert np.shape(found[name]) == np.shape(value), name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


# -- the format ------------------------------------------------------------------------------------


def test_what_is_written_is_read_by_the_package_too_and_the_other_way_round(tmp_path: Path) -> None:
    path = written(tmp_path, PLAIN).with_suffix(".safetensors")
    same(safetensors.numpy.load_file(path), PLAIN)
    with safe_open(path, "np") as file:
        assert file.metadata()["format"] == "actorsession"
    tensors = {name: np.asarray(value) for name, value in PLAIN.items()}
    safetensors.numpy.save_file(tensors, tmp_path / "m.safetensors", {"by": "the package"})
    same(content(tmp_path / "m"), PLAIN)
    same(content(tmp_path / "m.safetensors"), PLAIN)
    same(content(written(tmp_path, PLAIN)), PLAIN)


@pytest.mark.parametrize(
    "value",
    [STRINGS, np.array([], object), np.array(b"alone", object), np.array([1 - 2j, 3.0]), np.complex128(1j)],
    ids=["strings", "no strings", "a string", "complex128", "a complex128"],
)
def test_element_types_that_the_format_lacks_come_back(tmp_path: Path, value: Any) -> None:
    same(content(written(tmp_path, {"x": value, "y": np.ones(1)})), {"x": value, "y": np.ones(1)})


def test_such_tensors_are_plain_numbers_to_other_readers(tmp_path: Path) -> None:
    path = written(tmp_path, {"s": STRINGS, "c": np.array([1 - 2j])}).with_suffix(".safetensors")
    found = safetensors.numpy.load_file(path)
    np.testing.assert_array_equal(found["c"], [[1, -2]])
    lengths = b"".join(struct.pack("<Q", len(s)) + s for s in STRINGS.flat)
    assert found["s"].tobytes() == lengths
    # Arrays that are not in order are saved as they read.
    base = np.arange(12, dtype=np.int32).reshape(3, 4)
    tensors = {"t": base.T, "r": base[::-1, ::2], "b": base.astype(">i4")}
    same(content(written(tmp_path, tensors)), {k: np.asarray(v, np.int32) for k, v in tensors.items()})
    # Each tensor begins at a multiple of its element size.
    file = SafetensorsFile(str(written(tmp_path, PLAIN)) + ".safetensors")
    for name, stored in file.header.tensors.items():
        assert (file.header.start + stored.begin) % np.asarray(PLAIN[name]).itemsize == 0, name
    file.close()
    # A file without tensors is one.
    write_file(str(tmp_path / "m.safetensors"), {})
    assert content(tmp_path / "m") == {}
    assert safetensors.numpy.load_file(tmp_path / "m.safetensors") == {}
    # The same tensors make the same file.
    first = written(tmp_path, PLAIN).with_suffix(".safetensors").read_bytes()
    assert written(tmp_path, PLAIN).with_suffix(".safetensors").read_bytes() == first


def test_a_name_that_the_format_reserves_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="__metadata__"):
        written(tmp_path, {"__metadata__": np.ones(1)})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidArgumentError, match="found int"):
        written(tmp_path, {"x": np.array([b"a", 3], object)})
    assert list(tmp_path.iterdir()) == []
    header = json.dumps({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"ab")
    with CheckpointReader(str(tmp_path / "m")) as reader:
        assert reader.get_variable_to_shape_map() == {"x": [2]}
        assert reader.get_variable_to_dtype_map() == {}
        with pytest.raises(UnimplementedError, match="F8_E4M3"):
            reader.get_tensor("x")


def test_values_outlive_their_reader_and_are_writable(tmp_path: Path) -> None:
    reader = CheckpointReader(str(written(tmp_path, PLAIN)))
    value = reader.get_tensor("i32")
    reader.close()
    value += 1
    np.testing.assert_array_equal(value, PLAIN["i32"] + 1)
    with pytest.raises(InvalidArgumentError, match="was closed"):
        reader.get_tensor("i32")
    # A reader keeps reading the file that it opened. A checkpoint that is replaced by another of its name is another
    # file.
    reader = CheckpointReader(str(written(tmp_path, {"x": np.zeros(3)})))
    written(tmp_path, {"x": np.ones(3)})
    np.testing.assert_array_equal(reader.get_tensor("x"), np.zeros(3))
    np.testing.assert_array_equal(content(tmp_path / "m")["x"], np.ones(3))


# -- damage ----------------------------------------------------------------------------------------

SMALL = {"x": np.arange(3, dtype=np.float32), "s": np.array([b"ab", b"c"], object)}


def test_a_file_that_was_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL).with_suffix(".safetensors")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DataLossError, match=r"m\.safetensors"):
            CheckpointReader(str(tmp_path / "m"))
    # A file with something behind it is refused.
    path = written(tmp_path, SMALL).with_suffix(".safetensors")
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(DataLossError, match="truncated or damaged"):
        CheckpointReader(str(tmp_path / "m"))
    # A header that announces gigabytes is refused.
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    with pytest.raises(DataLossError, match="should have 1152921504606846976"):
        CheckpointReader(str(tmp_path / "m"))


def test_a_block_of_zeros_where_the_disk_lost_one_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"x": np.arange(4096, dtype=np.float32)}).with_suffix(".safetensors")
    whole = bytearray(path.read_bytes())
    whole[4096:8192] = bytes(4096)
    path.write_bytes(whole)
    with pytest.raises(DataLossError, match="checksum"):
        content(tmp_path / "m")
    # A flipped bit in a tensor is refused.
    path = written(tmp_path, SMALL).with_suffix(".safetensors")
    intact = path.read_bytes()
    for position in range(8 + struct.unpack("<Q", intact[:8])[0], len(intact)):
        damaged = bytearray(intact)
        damaged[position] ^= 0x20
        path.write_bytes(damaged)
        with pytest.raises(DataLossError, match="checksum"):
            content(tmp_path / "m")


def test_a_flipped_bit_in_the_header_does_not_hide_damage_beside_it(tmp_path: Path) -> None:
    """1. A byte of a tensor is damaged. 2. A bit of what names the checksums is, too."""
    path = written(tmp_path, SMALL).with_suffix(".safetensors")
    whole = path.read_bytes()
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    for bit in range(8 * start):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        damaged[-1] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(DataLossError):
            content(tmp_path / "m")


def test_two_damaged_marks_do_not_make_a_file_one_of_another_writer(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL).with_suffix(".safetensors")
    whole = path.read_bytes()
    for first, second in itertools.combinations([b'"own_crc32"', b'"format"', b'"actorsession":'], 2):
        damaged = whole.replace(first, b'"x' + first[2:]).replace(second, b'"x' + second[2:])
        assert damaged != whole
        path.write_bytes(damaged)
        with pytest.raises(DataLossError, match="checksum"):
            content(tmp_path / "m")


def test_a_file_of_an_earlier_version_has_no_checksum_of_its_header(tmp_path: Path) -> None:
    ours = {"version": 1, "crc32": {"x": f"{zlib.crc32(b'abcd'):08x}"}}
    metadata = {"format": "actorsession", "actorsession": json.dumps(ours)}
    described = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    header = json.dumps({"__metadata__": metadata, "x": described}).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"abcd")
    assert content(tmp_path / "m")["x"].tolist() == list(b"abcd")


HEADERS = [
    b"[]",
    b'{"x": 3}',
    b'{"x": {"dtype": "F32", "shape": [1]}}',
    b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}',
    b'{"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}',
    b'{"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
    b'{"x": {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]}}',
    b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}',
    b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": ["0", "4"]}}',
    b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0.0, 4.0]}}',
    b'{"x": {"dtype": "U9", "shape": [1], "data_offsets": [0.5, 4]}}',
    b'{"x": {"dtype": "U8", "shape": [true], "data_offsets": [false, 4]}}',
    b'{"x": {"dtype": "F32", "shape": [0, 1152921504606846977, 4], "data_offsets": [0, 4]}}',
    b'{"x": {"dtype": "F32", "shape": [%s], "data_offsets": [0, 4]}}' % b",".join([b"1"] * 70),
    *[
        b'{"__metadata__": {"actorsession": %s}, "x": {"dtype": "%s", "shape": [4], "data_offsets": [0, 4]}}'
        % (json.dumps(json.dumps({"version": 1, key: {"x": value}})).encode(), kind)
        for key, kind, value in (
            ("stored_as", b"U8", {"dtype": "resource", "shape": [4]}),
            ("stored_as", b"U8", {"dtype": "variant", "shape": [4]}),
            ("stored_as", b"U8", {"dtype": "complex128", "shape": []}),
            ("stored_as", b"U8", {"dtype": ["string"], "shape": [1]}),
            ("stored_as", b"I8", {"dtype": "string", "shape": [1]}),
            ("stored_as", b"U8", {"shape": [4]}),
            ("stored_as", b"U8", 7),
            ("crc32", b"U8", 0.5),
            ("slices", b"U8", []),
            ("slices", b"U8", ["x", "9" * 5000 + " 0,4"]),
            ("slices", b"U8", ["x", " ".join(["1"] * 70) + " " + ":".join(["-"] * 70)]),
        )
    ],
    b'{"__metadata__": [], "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
    b'{"__metadata__": {"actorsession": "{"}}',
    b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, '
    b'"y": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
    b"{" * 5000,
    b"\xff\xfe",
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, header: bytes) -> None:
    data = struct.pack("<Q", len(header)) + header + b"abcd"
    (tmp_path / "m.safetensors").write_bytes(data)
    with pytest.raises(DataLossError):
        CheckpointReader(str(tmp_path / "m"))


def test_a_slice_of_a_tensor_of_a_tebibyte_takes_no_memory(tmp_path: Path) -> None:
    """What a file says of a tensor is compared with what it has before an array is made."""
    metadata = {"actorsession": json.dumps({"version": 1, "slices": {"x": ["x", "1099511627776 0,4"]}})}
    described = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    header = json.dumps({"__metadata__": metadata, "x": described}).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"abcd")
    with CheckpointReader(str(tmp_path / "m")) as reader:
        assert reader.get_variable_to_shape_map() == {"x": [1 << 40]}
        with pytest.raises(DataLossError, match="lacks 1099511627772 of the 1099511627776 elements"):
            reader.get_tensor("x")


# -- whole or not at all ---------------------------------------------------------------------------


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, SMALL)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OpError, match="No space left") as info:
        written(tmp_path, {"x": np.zeros(3, np.float32)})
    assert type(info.value).__name__ == "ResourceExhaustedError"
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]
    same(content(tmp_path / "m"), SMALL)


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor: int) -> None:
        calls.append("fsync")
        sync(descriptor)

    def noted_replace(source: str, destination: str, **folders: Any) -> None:
        calls.append("rename")
        replace(source, destination, **folders)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    written(tmp_path, SMALL)
    assert calls == ["fsync", "rename", "fsync"]


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    same(content(written(tmp_path / "a" / "b", SMALL)), SMALL)
    # A prefix that names a folder is refused.
    with pytest.raises(InvalidArgumentError, match="names a folder"):
        save(f"{tmp_path}/", ["x"], [""], [np.ones(1)])
    # A file that is not there is not found.
    with pytest.raises(NotFoundError, match=r"cannot read .*m\.safetensors"):
        SafetensorsFile(str(tmp_path / "m.safetensors"))


def test_a_folder_in_the_place_of_the_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").mkdir()
    with pytest.raises(OpError, match="cannot write"):
        written(tmp_path, SMALL)


CONTENTS = [b"", b"\x08\x01", b"key: 1\n# a comment\n"]


@pytest.mark.parametrize("content", CONTENTS)
def test_what_is_sealed_is_opened_and_what_others_wrote_stays_as_it_is(content: bytes) -> None:
    assert open_message(seal_message(content), "m") == content
    assert open_text(seal_text(content), "m") == content
    assert open_message(content, "m") == content
    assert open_text(content, "m") == content


@pytest.mark.parametrize("content", CONTENTS)
def test_no_flipped_bit_makes_it_one_of_another_writer(content: bytes) -> None:
    for seal, opened in ((seal_message, open_message), (seal_text, open_text)):
        whole = seal(content)
        for bit in range(8 * len(whole)):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            with pytest.raises(DataLossError, match="'m' does not have the checksum"):
                opened(bytes(damaged), "m")


def test_a_message_that_another_program_wrote_again_is_read() -> None:
    """It has our fields behind its own, as they were."""
    assert open_message(b"\x08\x02" + seal_message(b"\x08\x01").replace(b"\x08\x01", b""), "m") == b"\x08\x02"
