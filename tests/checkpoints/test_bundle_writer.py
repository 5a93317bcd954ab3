"""Checkpoints in TensorFlow's format as they are written: the same as its own, and read again."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import DType, as_dtype, float64, string
from actorsession.checkpoints import CheckpointReader, merge_bundles, save
from actorsession.checkpoints.bundle_writer import write_bundle, write_table
from actorsession.checkpoints.sorted_table import read_table
from actorsession.errors import FailedPreconditionError

FIXTURES = Path(__file__).parent / "fixtures"


def tensors(prefix: str) -> list[tuple[str, DType, Any]]:
    """What a checkpoint holds, in the order of names."""
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


# -- over a checkpoint -----------------------------------------------------------------------------


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


def test_without_links_a_checkpoint_keeps_the_count_that_it_was_written_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
