"""Checkpoints of several files, slices in them, and which files a prefix stands for."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError, ResourceExhaustedError

FIXTURES = Path(__file__).parent / "fixtures"
WHOLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def content(prefix: Path) -> dict[str, Any]:
    with CheckpointReader(str(prefix)) as reader:
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


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
