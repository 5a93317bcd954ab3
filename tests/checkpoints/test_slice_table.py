"""Checkpoints of TensorFlow's first format, which TensorFlow 1.15 wrote or which are written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import checkpoints
from actorsession.checkpoints import CheckpointReader
from actorsession.checkpoints.slices import Extent
from actorsession.errors import DataLossError, InvalidArgumentError, UnimplementedError

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
        rows = reader.read("parts/matrix", ((3, 2), Extent((1, 0), (2, 2))))
        np.testing.assert_array_equal(rows, MATRIX[1:])


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
