"""Checkpoints in TensorFlow's format as they are written: the same as its own, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.checkpoints import CheckpointReader
from actorsession.checkpoints.bundle_writer import write_bundle, write_table
from actorsession.checkpoints.sorted_table import read_table
from actorsession.errors import FailedPreconditionError
from actorsession.graph.dtypes import DType, as_dtype, string

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
    ours, theirs = (
        read_table((folder / f"{name}.index").read_bytes(), name) for folder in (tmp_path, FIXTURES)
    )
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


def test_a_checkpoint_may_be_empty(tmp_path: Path) -> None:
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
