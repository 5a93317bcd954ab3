"""The save and restore ops, run by sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, float32, int32, ops, string
from actorsession.checkpoints import CheckpointReader
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError
from actorsession.graph.dtypes import resource
from actorsession.graph.registry import lookup
from actorsession.ops.variables.checkpointing import merge_v2_checkpoints, restore_v2, save_v2, sharded_filename
from tests.ops.cases import run
from tests.rows import refused


def test_what_is_saved_is_restored(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    values = {"f": np.array([[1, 2]], np.float32), "i": np.int32(3), "s": np.array([b"a", b""], object)}
    run(save_v2(prefix, list(values), [""] * 3, list(values.values())))
    f, i, s = run(restore_v2(prefix, ["f", "i", "s"], [""] * 3, [float32, int32, string]))
    np.testing.assert_array_equal(f, values["f"])
    assert (i, s.tolist()) == (3, [b"a", b""])


@pytest.mark.parametrize(("value", "dtype"), [(b"alone", string), (np.float32(2), float32)])
def test_a_scalar_comes_back_as_one(graph: Graph, tmp_path: Path, value: Any, dtype: Any) -> None:
    prefix = str(tmp_path / "m")
    run(save_v2(prefix, ["x"], [""], [ops.constant(value)]))
    assert run(restore_v2(prefix, ["x"], [""], [dtype])[0]) == value


def test_slices_are_saved_and_others_restored(graph: Graph, tmp_path: Path) -> None:
    whole = np.arange(8, dtype=np.float32).reshape(4, 2)
    prefix = str(tmp_path / "m")
    run(save_v2(prefix, ["w", "w"], ["4 2 0,3:-", "4 2 3,1:-"], [whole[:3], whole[3:]]))
    found = run(restore_v2(prefix, ["w", "w"], ["4 2 2,2:-", ""], [float32, float32]))
    np.testing.assert_array_equal(found[0], whole[2:])
    np.testing.assert_array_equal(found[1], whole)


def test_shards_become_one_checkpoint(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    names = [sharded_filename(prefix, i, 2) for i in range(2)]
    saves = [save_v2(n, [f"v{i}"], [""], [np.array([i], np.float32)]) for i, n in enumerate(names)]
    with graph.control_dependencies(saves):
        merged = merge_v2_checkpoints(ops.stack(names), prefix)
    run(merged)
    with CheckpointReader(prefix) as reader:
        assert reader.get_variable_to_shape_map() == {"v0": [1], "v1": [1]}


def test_the_prefix_may_be_fed(graph: Graph, tmp_path: Path) -> None:
    prefix = ops.placeholder(string, [])
    saved = save_v2(prefix, ["x"], [""], [np.float32(1)])
    run(saved, {prefix: str(tmp_path / "fed")})
    assert (tmp_path / "fed.safetensors").is_file()


# -- what is refused -------------------------------------------------------------------------------


def test_a_missing_checkpoint_and_a_missing_tensor_are_not_found(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    restored = restore_v2(prefix, ["weight"], [""], [float32])
    refused(lambda: run(restored), NotFoundError, "there is no checkpoint")
    run(save_v2(prefix, ["weights"], [""], [np.float32(1)]))
    with pytest.raises(NotFoundError, match="most similar are 'weights'") as info:
        run(restored)
    assert info.value.node == "RestoreV2"


def test_another_dtype_is_refused(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    run(save_v2(prefix, ["x"], [""], [np.float32(1)]))
    with pytest.raises(InvalidArgumentError, match=r"'x' is float32 .*; int32 is wanted here"):
        run(restore_v2(prefix, ["x"], [""], [int32]))


def test_a_shape_that_was_set_must_be_the_one_in_the_file(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    run(save_v2(prefix, ["x"], [""], [np.zeros([3, 2], np.float32)]))
    [restored] = restore_v2(prefix, ["x"], [""], [float32])
    restored.set_shape([None, 3])
    refused(lambda: run(restored), InvalidArgumentError, r"has shape \[3, 2\] .*; shape \(None, 3\) is wanted")


def test_nothing_is_given_if_one_tensor_is_damaged(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    run(save_v2(prefix, ["a", "b"], ["", ""], [np.float32(1), np.float32(2)]))
    path = tmp_path / "m.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    a, _ = restore_v2(prefix, ["a", "b"], ["", ""], [float32, float32])
    refused(lambda: run(a), DataLossError, "checksum")


def test_lists_of_other_lengths_are_refused_early_and_late(graph: Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    refused(lambda: save_v2(prefix, ["a", "b"], ["", ""], [np.float32(1)]), ValueError, "1 tensors and 2 tensor_names")
    names = ops.placeholder(string)
    restored = restore_v2(prefix, names, [""], [float32])
    with pytest.raises(InvalidArgumentError, match="1 tensors and 2 tensor_names"):
        run(restored, {names: np.array([b"a", b"b"], object)})
    refused(lambda: run(restored, {names: np.array(b"a", object)}), InvalidArgumentError, "a vector of strings")


def test_inputs_of_other_types_are_refused(graph: Graph) -> None:
    refused(lambda: save_v2(3, ["a"], [""], [np.float32(1)]), TypeError)
    refused(lambda: restore_v2(["a", "b"], ["x"], [""], [float32]), ValueError, "RestoreV2 takes a scalar as prefix")
    refused(lambda: restore_v2("a", ["x"], [""], [resource]), TypeError, "a resource is neither")
    refused(lambda: sharded_filename("a", 1.5, 2), TypeError)


@pytest.mark.parametrize("op", ["SaveV2", "RestoreV2", "MergeV2Checkpoints"])
def test_ops_that_work_with_files_get_threads_of_their_own(op: str) -> None:
    assert lookup(op).blocks
    assert lookup(op).stateful
