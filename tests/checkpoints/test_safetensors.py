"""Files of ours, one or in shards: read by the ``safetensors`` package, and its files by us; damage, seals."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open

from actorsession.checkpoints import (
    CheckpointReader,
    checkpoint_exists,
    main_file,
    merge,
    remove_files,
    save,
    saving,
    sharded_name,
)
from actorsession.checkpoints.safetensors import SafetensorsFile, write_file
from actorsession.checkpoints.seals import open_message, open_text, seal_message, seal_text
from actorsession.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)

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


FIXTURES = Path(__file__).parent / "fixtures"


WHOLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def put(prefix: Path, **tensors: Any) -> None:
    save(str(prefix), list(tensors), [""] * len(tensors), list(tensors.values()))


def sharded(prefix: Path, *shards: dict[str, Any]) -> None:
    names = [sharded_name(str(prefix), i, len(shards)) for i in range(len(shards))]
    for name, tensors in zip(names, shards, strict=True):
        put(Path(name), **tensors)
    merge(names, str(prefix))


def files(folder: Path) -> list[str]:
    return sorted(re.sub(r"\.[0-9a-f]{24}(?=-\d{5}-of-)", "", p.name) for p in folder.iterdir())


def shard(prefix: Path, number: int, count: int) -> Path:
    (found,) = prefix.parent.glob(f"{prefix.name}.*-{number:05d}-of-{count:05d}.safetensors")
    return found


# -- several files ---------------------------------------------------------------------------------


def test_shards_are_read_as_one_checkpoint(tmp_path: Path) -> None:
    sharded(tmp_path / "m", {"a": np.ones(2)}, {"b": np.zeros(3, np.int32)})
    found = content(tmp_path / "m")
    np.testing.assert_array_equal(found["a"], [1, 1])
    np.testing.assert_array_equal(found["b"], [0, 0, 0])
    assert files(tmp_path) == [
        "m-00000-of-00002.safetensors",
        "m-00001-of-00002.safetensors",
        "m.safetensors.index.json",
    ]
    # The index is the one that other programs know.
    sharded(tmp_path / "m", {"a": np.ones(2)}, {"b": np.zeros(3, np.int32)})
    index = json.loads((tmp_path / "m.safetensors.index.json").read_text())
    assert index["weight_map"] == {"a": shard(tmp_path / "m", 0, 2).name, "b": shard(tmp_path / "m", 1, 2).name}
    assert index["metadata"]["total_size"] == 28
    # An index that another program wrote is read.
    put(tmp_path / "part1", a=np.ones(2))
    put(tmp_path / "part2", b=np.zeros(2))
    index = {"weight_map": {"a": "part1.safetensors", "b": "part2.safetensors"}}
    (tmp_path / "m.safetensors.index.json").write_text(json.dumps(index))
    assert sorted(content(tmp_path / "m")) == ["a", "b"]
    # A reader describes the checkpoint.
    put(tmp_path / "m", v=np.ones(2, np.float32), s=np.array(b"x", object))
    with CheckpointReader(str(tmp_path / "m")) as reader:
        assert reader.debug_string() == b"s (string) []\nv (float32) [2]\n"
        assert "2 tensors" in repr(reader)


def test_shards_from_a_folder_of_their_own_are_moved(tmp_path: Path) -> None:
    put(tmp_path / "m_temp" / "part-0", a=np.ones(2))
    put(tmp_path / "m_temp" / "part-1", b=np.ones(2))
    merge([str(tmp_path / "m_temp" / f"part-{i}") for i in range(2)], str(tmp_path / "m"))
    assert sorted(content(tmp_path / "m")) == ["a", "b"]
    assert not (tmp_path / "m_temp").exists()


def test_a_folder_that_is_to_stay_or_is_not_empty_stays(tmp_path: Path) -> None:
    put(tmp_path / "t" / "p", a=np.ones(2))
    merge([str(tmp_path / "t" / "p")], str(tmp_path / "m"), delete_old_dirs=False)
    assert (tmp_path / "t").exists()
    put(tmp_path / "t" / "p", a=np.ones(2))
    (tmp_path / "t" / "other").touch()
    merge([str(tmp_path / "t" / "p")], str(tmp_path / "m"))
    assert files(tmp_path / "t") == ["other"]


def test_what_is_no_whole_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"two shards .* contain 'a'"):
        sharded(tmp_path / "m", {"a": np.ones(2)}, {"a": np.ones(2)})
    assert not checkpoint_exists(str(tmp_path / "m"))
    with pytest.raises(InvalidArgumentError, match="no shards"):
        merge([], str(tmp_path / "m"))
    with pytest.raises(NotFoundError, match="gone"):
        merge([str(tmp_path / "gone")], str(tmp_path / "m"))
    sharded(tmp_path / "m", {"a": np.zeros(2)}, {"b": np.zeros(2)})
    shard(tmp_path / "m", 1, 2).unlink()
    with pytest.raises(DataLossError, match="which is missing"):
        CheckpointReader(str(tmp_path / "m"))


def test_an_index_that_promises_more_than_there_is_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "p", a=np.ones(2))
    index = {"weight_map": {"a": "p.safetensors", "b": "p.safetensors"}}
    (tmp_path / "m.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(DataLossError, match="lists 'b'"):
        CheckpointReader(str(tmp_path / "m"))


def test_shards_without_an_index_are_no_checkpoint(tmp_path: Path) -> None:
    put(Path(sharded_name(str(tmp_path / "m"), 0, 1)), a=np.ones(2))
    assert not checkpoint_exists(str(tmp_path / "m"))
    with pytest.raises(NotFoundError, match="there is no checkpoint"):
        CheckpointReader(str(tmp_path / "m"))


def test_shards_of_two_checkpoints_are_never_read_as_one(tmp_path: Path) -> None:
    """1. A sharded checkpoint is there. 2. Somebody puts the shard of another one in the place of its own."""
    sharded(tmp_path / "m", {"a": np.zeros(2)}, {"b": np.zeros(2)})
    put(tmp_path / "other", a=np.ones(2))
    (tmp_path / "other.safetensors").replace(shard(tmp_path / "m", 0, 2))
    with pytest.raises(DataLossError, match=r"is not the file that .* was written with"):
        CheckpointReader(str(tmp_path / "m"))


@pytest.mark.parametrize(
    "index",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"weight_map": 3}',
        '{"weight_map": {"a": 3}}',
        '{"weight_map": {"a": "../../secret.safetensors"}}',
        '{"weight_map": {"a": "/etc/passwd"}}',
        '{"weight_map": {"a": ".."}}',
        '{"weight_map": {}, "metadata": {"actorsession": "{"}}',
    ],
    ids=range(10),
)
def test_an_index_that_makes_no_sense_or_leads_elsewhere_is_refused(tmp_path: Path, index: str) -> None:
    (tmp_path / "m.safetensors.index.json").write_text(index)
    with pytest.raises(DataLossError, match=r"index .* is damaged"):
        CheckpointReader(str(tmp_path / "m"))


# -- over a checkpoint that is there ---------------------------------------------------------------


def test_the_shards_of_the_checkpoint_before_go_when_the_new_one_is_whole(tmp_path: Path) -> None:
    sharded(tmp_path / "m", {"a": np.zeros(2)}, {"b": np.zeros(2)})
    before = {shard(tmp_path / "m", i, 2).name for i in range(2)}
    sharded(tmp_path / "m", {"a": np.ones(2)})
    np.testing.assert_array_equal(content(tmp_path / "m")["a"], [1, 1])
    assert files(tmp_path) == ["m-00000-of-00001.safetensors", "m.safetensors.index.json"]
    assert shard(tmp_path / "m", 0, 1).name not in before


def test_a_checkpoint_whose_shards_have_no_nonce_is_read_and_replaced(tmp_path: Path) -> None:
    """As they were written before there were any."""
    sharded(tmp_path / "m", {"a": np.zeros(2)}, {"b": np.zeros(2)})
    index = tmp_path / "m.safetensors.index.json"
    text = index.read_text()
    for number in range(2):
        there = shard(tmp_path / "m", number, 2)
        plain = f"m-{number:05d}-of-00002.safetensors"
        text = text.replace(there.name, plain)
        there.rename(tmp_path / plain)
    index.write_text(text)
    assert content(tmp_path / "m").keys() == {"a", "b"}
    with saving(str(tmp_path / "m")) as basename:
        put(Path(sharded_name(basename, 0, 1)), c=np.ones(2))
        assert content(tmp_path / "m").keys() == {"a", "b"}
        merge([sharded_name(basename, 0, 1)], str(tmp_path / "m"))
    assert content(tmp_path / "m").keys() == {"c"}
    assert files(tmp_path) == ["m-00000-of-00001.safetensors", "m.safetensors.index.json"]


def test_of_two_savers_at_once_the_later_index_counts_and_nothing_is_mixed(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    with saving(prefix) as first, saving(prefix) as second:
        for basename, value in ((first, 1.0), (second, 2.0)):
            for i, name in enumerate("ab"):
                put(Path(sharded_name(basename, i, 2)), **{name: np.full(2, value)})
        merge([sharded_name(second, i, 2) for i in range(2)], prefix)
        assert {float(v[0]) for v in content(tmp_path / "m").values()} == {2.0}
        merge([sharded_name(first, i, 2) for i in range(2)], prefix)
        assert {float(v[0]) for v in content(tmp_path / "m").values()} == {1.0}
    assert len(files(tmp_path)) == 3


def test_a_save_that_fails_leaves_no_shard_of_its_own(tmp_path: Path) -> None:
    sharded(tmp_path / "m", {"a": np.zeros(2)})
    before = sorted(tmp_path.iterdir())

    def save_twice() -> None:
        with saving(str(tmp_path / "m")) as basename:
            names = [sharded_name(basename, i, 2) for i in range(2)]
            put(Path(names[0]), a=np.ones(2))
            put(Path(names[1]), a=np.ones(2))
            merge(names, str(tmp_path / "m"))

    with pytest.raises(InvalidArgumentError, match="two shards"):
        save_twice()
    assert sorted(tmp_path.iterdir()) == before


def test_a_failed_save_to_one_file_leaves_the_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded(tmp_path / "m", {"a": np.zeros(2)}, {"b": np.zeros(2)})

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ResourceExhaustedError, match="No space left"):
            put(tmp_path / "m", a=np.ones(2))
    assert {name: list(value) for name, value in content(tmp_path / "m").items()} == {"a": [0, 0], "b": [0, 0]}
    put(tmp_path / "m", a=np.ones(2))
    assert files(tmp_path) == ["m.safetensors"]


def test_a_save_that_fails_when_its_checkpoint_is_there_leaves_it(tmp_path: Path) -> None:
    """Such as one whose caller hears of it too late."""

    def hear_too_late() -> None:
        with saving(str(tmp_path / "m")) as basename:
            put(Path(sharded_name(basename, 0, 1)), a=np.ones(2))
            merge([sharded_name(basename, 0, 1)], str(tmp_path / "m"))
            raise TimeoutError

    with pytest.raises(TimeoutError):
        hear_too_late()
    np.testing.assert_array_equal(content(tmp_path / "m")["a"], [1, 1])


def test_shards_of_a_save_that_may_be_under_way_stay_and_old_ones_go(tmp_path: Path) -> None:
    elsewhere = "0" * 24
    for name in (f"m.{elsewhere}", f"m.{elsewhere[:-1]}1"):
        put(Path(sharded_name(str(tmp_path / name), 0, 1)), a=np.ones(2))
    os.utime(tmp_path / f"m.{elsewhere}-00000-of-00001.safetensors", (1, 1))
    put(tmp_path / "m", a=np.ones(2))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        f"m.{elsewhere[:-1]}1-00000-of-00001.safetensors",
        "m.safetensors",
    ]


def save_slices(prefix: Path, *rows: tuple[int, int]) -> None:
    specs = [f"4 3 {start},{size}:-" for start, size in rows]
    save(str(prefix), ["w"] * len(rows), specs, [WHOLE[a : a + n] for a, n in rows])


def test_slices_are_put_together(tmp_path: Path) -> None:
    save_slices(tmp_path / "m", (0, 1), (1, 3))
    with CheckpointReader(str(tmp_path / "m")) as reader:
        assert reader.get_variable_to_shape_map() == {"w": [4, 3]}
        np.testing.assert_array_equal(reader.get_tensor("w"), WHOLE)
    # Slices in several shards are put together.
    names = [sharded_name(str(tmp_path / "m"), i, 2) for i in range(2)]
    save_slices(Path(names[0]), (2, 2))
    save_slices(Path(names[1]), (0, 2))
    merge(names, str(tmp_path / "m"))
    np.testing.assert_array_equal(content(tmp_path / "m")["w"], WHOLE)
    # A slice of the whole is the whole.
    save(str(tmp_path / "m"), ["w"], ["4 3 0,4:-"], [WHOLE])
    np.testing.assert_array_equal(content(tmp_path / "m")["w"], WHOLE)


def test_slices_that_make_up_no_tensor_are_refused(tmp_path: Path) -> None:
    save_slices(tmp_path / "m", (0, 1), (2, 2))
    with pytest.raises(DataLossError, match="lacks 3 of the 12 elements of 'w'"):
        content(tmp_path / "m")
    # Slices that overlap are refused.
    save_slices(tmp_path / "m", (0, 2), (1, 3))
    with pytest.raises(DataLossError, match=r"'w'\[1:4, 0:3\] twice"):
        content(tmp_path / "m")
    # A tensor that does not fit its slice is refused.
    with pytest.raises(InvalidArgumentError, match=r"shape \[2, 3\], but the tensor has shape \[4, 3\]"):
        save(str(tmp_path / "m"), ["w"], ["4 3 0,2:-"], [WHOLE])
    # A tensor that is saved twice is refused.
    with pytest.raises(InvalidArgumentError, match="'w' would be saved twice"):
        save(str(tmp_path / "m"), ["w", "w"], ["", ""], [WHOLE, WHOLE])
    # A slice of a whole of another shape is refused.
    from actorsession.checkpoints import parse_spec

    put(tmp_path / "m", w=WHOLE)
    with (
        CheckpointReader(str(tmp_path / "m")) as reader,
        pytest.raises(InvalidArgumentError, match=r"\[5, 3\] was requested; .* has shape \[4, 3\]"),
    ):
        reader.read("w", parse_spec("5 3 0,1:-"))


# -- which files -----------------------------------------------------------------------------------


def test_the_last_written_form_of_a_prefix_counts(tmp_path: Path) -> None:
    sharded(tmp_path / "m", {"a": np.zeros(1)})
    put(tmp_path / "m", a=np.ones(1))
    np.testing.assert_array_equal(content(tmp_path / "m")["a"], [1])
    assert not (tmp_path / "m.safetensors.index.json").exists()
    sharded(tmp_path / "m", {"a": np.full(1, 2.0)})
    np.testing.assert_array_equal(content(tmp_path / "m")["a"], [2])
    assert not (tmp_path / "m.safetensors").exists()
    for file in FIXTURES.glob("shards.*"):
        shutil.copy(file, tmp_path)
    put(tmp_path / "shards", a=np.full(2, 9.0))
    os.utime(tmp_path / "shards.safetensors", (1, 1))
    np.testing.assert_array_equal(content(tmp_path / "shards")["a"], [1, 2])
    os.utime(tmp_path / "shards.index", (0, 0))
    np.testing.assert_array_equal(content(tmp_path / "shards")["a"], [9, 9])
    assert main_file(str(tmp_path / "shards")) == str(tmp_path / "shards.safetensors")


def test_a_checkpoint_is_removed_with_all_its_files_and_no_other(tmp_path: Path) -> None:
    for file in FIXTURES.glob("shards.*"):
        shutil.copy(file, tmp_path)
    put(tmp_path / "shards", a=np.ones(1))
    sharded(tmp_path / "shards", {"a": np.ones(1)}, {"b": np.ones(1)})
    put(tmp_path / "shards-1", a=np.ones(1))
    put(tmp_path / "shards[1]", a=np.ones(1))
    (tmp_path / "shards.data-other").touch()
    remove_files(str(tmp_path / "shards"))
    assert files(tmp_path) == ["shards-1.safetensors", "shards.data-other", "shards[1].safetensors"]
    remove_files(str(tmp_path / "shards[1]"))
    remove_files(str(tmp_path / "never"))
    assert files(tmp_path) == ["shards-1.safetensors", "shards.data-other"]


def test_what_a_killed_writer_left_is_removed_with_the_checkpoint(tmp_path: Path) -> None:
    put(tmp_path / "m-1", a=np.ones(1))
    stay = ["m-1.safetensors.txt", ".m-12.safetensors.0123456789ab.tmp", ".m-1.safetensors.mine.tmp"]
    go = [
        ".m-1.safetensors.0123456789ab.tmp",
        ".m-1.safetensors.index.json.0123456789ab.tmp",
        ".m-1-00000-of-00002.safetensors.0123456789ab.tmp",
    ]
    for name in (*stay, *go):
        (tmp_path / name).touch()
    remove_files(str(tmp_path / "m-1"))
    assert files(tmp_path) == sorted(stay)


def test_a_name_that_is_not_there_names_its_neighbours(tmp_path: Path) -> None:
    put(tmp_path / "m", **{"layer1/kernel": np.ones(1), "layer1/bias": np.ones(1)})
    with CheckpointReader(str(tmp_path / "m")) as reader:
        assert reader.has_tensor("layer1/bias")
        assert not reader.has_tensor("layer1/kernels")
        with pytest.raises(NotFoundError, match=r"'layer1/kernels'.* the most similar are 'layer1/kernel'"):
            reader.get_tensor("layer1/kernels")
        with pytest.raises(NotFoundError, match="of its 2 no name is similar"):
            reader.get_tensor("zzz")


def test_nothing_at_a_prefix_is_an_error_of_ours(tmp_path: Path) -> None:
    for prefix in ("m", "no/m", ""):
        with pytest.raises(OpError, match="there is no checkpoint"):
            CheckpointReader(str(tmp_path / prefix) if prefix else "")
