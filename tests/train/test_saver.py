"""Savers: values, files, refusals, and saves that are awaited."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from actorsession import AsyncSession, ConfigProto, Graph, GraphDef, Session, ops, train
from actorsession.checkpoints import CheckpointReader
from actorsession.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from actorsession.train import SaveableObject, Saver, SaverDef, SaveSpec
from tests.cluster.kit import W0, W1, eventually, in_process, on
from tests.train.kit import SlowDisk, names, parts_of, started

FIXTURES = Path(__file__).parents[1] / "checkpoints" / "fixtures"


# -- saving and restoring --------------------------------------------------------------------------


def test_variables_get_back_the_values_that_they_had(session: Session, tmp_path: Path) -> None:
    values: list[Any] = [
        np.array([[1, 2], [3, 4]], np.float32),
        np.int64(7),
        np.array([b"a", b""], object),
        np.array([True]),
        np.array([1.5], ml_dtypes.bfloat16),
        np.array([1j]),
        np.zeros((0, 2), np.float32),
    ]
    variables = [ops.Variable(value, name=f"v{i}") for i, value in enumerate(values)]
    text = ops.Variable("one string", name="text")
    saver = Saver()
    started(session)
    path = saver.save(session, str(tmp_path / "m"))
    assert path == str(tmp_path / "m")
    session.run([v.assign(np.zeros_like(x)) for v, x in zip(variables, values, strict=True) if x.dtype != object])
    session.run([variables[2].assign([b"z", b"z"]), text.assign("other")])
    saver.restore(session, path)
    for found, wanted in zip(session.run(variables), values, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert session.run(text) == b"one string"


def test_restored_variables_need_no_initializer(graph: Graph, tmp_path: Path) -> None:
    v = ops.Variable([1.0, 2.0], name="v")
    saver = Saver()
    with Session() as first:
        saver.save(started(first), str(tmp_path / "m"))
    with Session() as second:
        saver.restore(second, str(tmp_path / "m"))
        np.testing.assert_array_equal(second.run(v), [1, 2])

    class Message:
        filename_tensor_name, save_tensor_name, restore_op_name = "a:0", "b:0", "c"
        max_to_keep, sharded, keep_checkpoint_every_n_hours, version = 2, True, 3.0, 2

    assert Saver(saver_def=Message()).saver_def == SaverDef("a:0", "b:0", "c", 2, True, 3.0)


def test_a_restored_variable_goes_on_alone(session: Session, tmp_path: Path) -> None:
    """Its value is its own: no later update writes to a file or to what was fetched."""
    v = ops.Variable([1.0, 2.0], name="v")
    saver, more = Saver(), v.assign_add([1.0, 1.0])
    path = saver.save(started(session), str(tmp_path / "m"))
    saver.restore(session, path)
    fetched = session.run(v)
    session.run(more)
    np.testing.assert_array_equal(fetched, [1, 2])
    saver.restore(session, path)
    np.testing.assert_array_equal(session.run(v), [1, 2])


def test_any_program_reads_the_file(session: Session, tmp_path: Path) -> None:
    ops.Variable([1.0, 2.0], name="layer/w")
    Saver().save(started(session), str(tmp_path / "m"))
    np.testing.assert_array_equal(safetensors.numpy.load_file(tmp_path / "m.safetensors")["layer/w"], [1, 2])
    # A saver of some variables leaves the others alone.
    a, b = ops.Variable(1.0, name="a"), ops.Variable(2.0, name="b")
    saver = Saver([a])
    path = saver.save(started(session), str(tmp_path / "m"))
    session.run([a.assign(9.0), b.assign(9.0)])
    saver.restore(session, path)
    assert session.run([a, b]) == [1, 9]
    assert train.list_variables(str(path)) == [("a", [])]
    # A dict says what variables are called.
    a, b = ops.Variable(1.0, name="a"), ops.Variable(2.0, name="b")
    path = Saver({"x": a, "y/z": b}).save(started(session), str(tmp_path / "m"))
    assert train.list_variables(str(path)) == [("x", []), ("y/z", [])]
    Saver({"x": b, "y/z": a}).restore(session, str(path))
    assert session.run([a, b]) == [2, 1]


def test_checkpoints_of_tensorflow_are_restored(session: Session) -> None:
    kernel = ops.Variable(np.zeros((2, 2), np.float32), name="layer/kernel")
    half = ops.Variable(np.zeros(2, ml_dtypes.bfloat16), name="bf16")
    words = ops.Variable(np.array([[b"", b""], [b"", b""]], object), name="words")
    Saver().restore(session, str(FIXTURES / "plain"))
    np.testing.assert_array_equal(session.run(kernel), np.ones((2, 2)))
    np.testing.assert_array_equal(session.run(half), [1, -3.5])
    assert session.run(words).tolist() == [[b"one", b""], [b"three", b"\xff\x00"]]


@pytest.mark.parametrize("sequentially", [False, True])
def test_everything_is_restored_in_one_step_or_one_by_one(session: Session, tmp_path: Path, sequentially: bool) -> None:
    variables = [ops.Variable(float(i), name=f"v{i}") for i in range(4)]
    saver = Saver(restore_sequentially=sequentially)
    path = saver.save(started(session), str(tmp_path / "m"))
    session.run([v.assign(-1.0) for v in variables])
    saver.restore(session, str(path))
    assert session.run(variables) == [0, 1, 2, 3]


def test_reshape_brings_a_tensor_into_the_shape_of_the_variable(session: Session, tmp_path: Path) -> None:
    flat = ops.Variable([1.0, 2.0, 3.0, 4.0], name="flat")
    square = ops.Variable(np.zeros((2, 2), np.float32), name="square")
    path = Saver({"w": flat}).save(started(session), str(tmp_path / "m"))
    Saver({"w": square}, reshape=True).restore(session, str(path))
    np.testing.assert_array_equal(session.run(square), [[1, 2], [3, 4]])


def test_a_variable_without_a_fixed_shape_takes_what_is_there(session: Session, tmp_path: Path) -> None:
    v = ops.Variable([1.0], validate_shape=False, name="v")
    saver = Saver()
    path = saver.save(started(session), str(tmp_path / "long"))
    session.run(v.assign([1.0, 2.0, 3.0]))
    longer = saver.save(session, str(tmp_path / "longer"))
    saver.restore(session, str(path))
    assert session.run(v).shape == (1,)
    saver.restore(session, str(longer))
    assert session.run(v).shape == (3,)


def test_the_nodes_have_the_names_of_tensorflow(graph: Graph) -> None:
    ops.Variable(1.0, name="v")
    assert Saver(max_to_keep=3).saver_def == SaverDef(
        "save/Const:0", "save/control_dependency:0", "save/restore_all", 3, False, 10000.0
    )
    graph.get_operation_by_name("save/filename/input")
    graph.get_operation_by_name("save/SaveV2")
    graph.get_operation_by_name("save/RestoreV2")
    second = Saver(name="mine").saver_def
    assert second is not None
    assert second.restore_op_name == "mine/restore_all"


def test_a_saver_is_made_again_of_its_description(session: Session, tmp_path: Path) -> None:
    v = ops.Variable(1.0, name="v")
    description = Saver(max_to_keep=1).to_proto()
    assert description is not None
    nodes = len(session.graph.get_operations())
    again = Saver.from_proto(description)
    assert len(session.graph.get_operations()) == nodes
    started(session)
    for step in range(3):
        again.save(session, str(tmp_path / "m"), step, write_meta_graph=False)
    assert names(tmp_path) == ["checkpoint", "m-2.safetensors"]
    session.run(v.assign(5.0))
    again.restore(session, str(tmp_path / "m-2"))
    assert session.run(v) == 1


def test_a_finalized_graph_can_be_saved_and_restored(session: Session, tmp_path: Path) -> None:
    v, step = ops.Variable(1.0, name="v"), ops.Variable(4, name="step")
    saver = Saver()
    started(session)
    session.graph.finalize()
    saver.restore(session, str(saver.save(session, str(tmp_path / "m"), step)))
    assert session.run(v) == 1


# -- partitioned variables and other objects -------------------------------------------------------


@pytest.mark.parametrize("sharded", [False, True])
def test_a_variable_in_parts_is_saved_as_one_and_cut_anew(tmp_path: Path, sharded: bool) -> None:
    whole = np.arange(10, dtype=np.float32).reshape(5, 2)
    with Graph().as_default() as graph, Session(graph=graph) as session:
        parts_of(whole, [0, 2, 5])
        path = Saver(sharded=sharded).save(started(session), str(tmp_path / "m"))
    assert train.list_variables(str(path)) == [("w", [5, 2])]
    np.testing.assert_array_equal(train.load_variable(str(path), "w"), whole)
    with Graph().as_default() as graph, Session(graph=graph) as session:
        again = parts_of(np.zeros_like(whole), [0, 1, 4, 5])
        Saver({"w": again}).restore(session, str(path))
        np.testing.assert_array_equal(np.concatenate(session.run(list(again))), whole)
    with Graph().as_default() as graph, Session(graph=graph) as session:
        one = ops.Variable(np.zeros_like(whole), name="w")
        Saver().restore(session, str(path))
        np.testing.assert_array_equal(session.run(one), whole)


def test_the_slices_of_a_checkpoint_of_tensorflow_are_cut_anew(session: Session) -> None:
    rows = parts_of(np.zeros((5, 4), np.float32), [0, 4, 5], "rows")
    Saver().restore(session, str(FIXTURES / "parts"))
    np.testing.assert_array_equal(np.concatenate(session.run(list(rows))), np.arange(20).reshape(5, 4))


class Doubled(SaveableObject):
    """Is saved as twice its value."""

    def __init__(self, variable: Any, name: str) -> None:
        super().__init__(variable, [SaveSpec(variable * 2.0, "", name + "/doubled")], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        return self.op.assign(restored_tensors[0] / 2.0, read_value=False)


def test_an_object_may_say_itself_how_it_is_saved(session: Session, tmp_path: Path) -> None:
    v = ops.Variable(3.0, name="v", collections=[])
    session.graph.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, Doubled(v, "v"))
    saver = Saver()
    session.run(v.initializer)
    path = saver.save(session, str(tmp_path / "m"))
    assert train.load_variable(str(path), "v/doubled") == 6
    session.run(v.assign(0.0))
    saver.restore(session, str(path))
    assert session.run(v) == 3


def saved(session: Session, folder: Path, steps: Iterable[int], **options: Any) -> tuple[Saver, list[Any]]:
    """A saver of one variable that has saved at these steps, without graphs, and where."""
    ops.Variable(1.0)
    saver = Saver(**options)
    started(session)
    return saver, [saver.save(session, str(folder / "m"), step, write_meta_graph=False) for step in steps]


# -- what a checkpoint is called, and what lies beside it ------------------------------------------


def test_the_step_stands_behind_the_name(session: Session, tmp_path: Path) -> None:
    step = ops.Variable(12, name="global_step")
    started(session)
    prefix = str(tmp_path / "m")
    saver, padded = Saver(), Saver(pad_step_number=True)
    assert saver.save(session, prefix, 7) == f"{prefix}-7"
    assert saver.save(session, prefix, np.int64(8)) == f"{prefix}-8"
    assert saver.save(session, prefix, step) == f"{prefix}-12"
    assert saver.save(session, prefix, step.value()) == f"{prefix}-12"
    assert padded.save(session, prefix, 7) == f"{prefix}-00000007"


def test_the_same_name_again_counts_once(session: Session, tmp_path: Path) -> None:
    saver, _ = saved(session, tmp_path, (1, 2, 1, 1), max_to_keep=2)
    assert [Path(p).name for p in saver.last_checkpoints] == ["m-2", "m-1"]
    assert names(tmp_path) == ["checkpoint", "m-1.safetensors", "m-2.safetensors"]


def test_the_graph_lies_beside_the_checkpoint(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0, name="v")
    Saver().save(started(session), str(tmp_path / "m"), 1, meta_graph_suffix="graph")
    found = GraphDef.from_bytes((tmp_path / "m-1.graph").read_bytes())
    assert "save/restore_all" in {node.name for node in found.nodes}


def test_the_state_file_names_the_latest(session: Session, tmp_path: Path) -> None:
    saver, paths = saved(session, tmp_path, range(2))
    assert train.latest_checkpoint(str(tmp_path)) == paths[-1]
    state = train.get_checkpoint_state(str(tmp_path))
    assert state is not None
    assert state.all_model_checkpoint_paths == paths == saver.last_checkpoints


@pytest.mark.parametrize("step", [1.5, "12", [1], np.float32(2)])
def test_a_step_that_is_no_whole_number_is_refused(session: Session, tmp_path: Path, step: Any) -> None:
    ops.Variable(1.0)
    saver = Saver()
    with pytest.raises(TypeError, match="global_step must be an int"):
        saver.save(started(session), str(tmp_path / "m"), step)
    assert names(tmp_path) == []


def test_the_state_file_may_have_another_name_and_relative_paths(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0)
    path = Saver(save_relative_paths=True).save(started(session), str(tmp_path / "m"), 1, latest_filename="last")
    text = 'model_checkpoint_path: "m-1"\nall_model_checkpoint_paths: "m-1"\n'
    stored = (tmp_path / "last").read_text()
    assert stored.startswith(f"{text.strip()}  # crc32 ")
    assert stored.count("\n") == 2
    assert train.latest_checkpoint(str(tmp_path), "last") == path


def test_without_state_nothing_is_entered_or_removed(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0)
    saver = Saver(max_to_keep=1)
    started(session)
    for step in range(3):
        saver.save(session, str(tmp_path / "m"), step, write_meta_graph=False, write_state=False)
    assert names(tmp_path) == [f"m-{step}.safetensors" for step in range(3)]
    assert saver.last_checkpoints == []


@pytest.mark.parametrize(
    ("path", "latest", "match"),
    [
        ("m", "a/last", "without folders"),
        ("checkpoint", None, "collides"),
        ("last", "last", "collides"),
        ("", None, "must end in a name"),
    ],
)
def test_wrong_names_are_refused(session: Session, tmp_path: Path, path: str, latest: str | None, match: str) -> None:
    ops.Variable(1.0)
    with pytest.raises(ValueError, match=match):
        Saver().save(started(session), f"{tmp_path}/{path}", latest_filename=latest)
    assert names(tmp_path) == []


def test_the_working_folder_may_be_meant(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ops.Variable(1.0)
    saver = Saver()
    assert saver.save(started(session), "m", 1) == "m-1"
    assert train.latest_checkpoint(".") == "./m-1"
    saver.restore(session, "m-1")


# -- which checkpoints are kept --------------------------------------------------------------------


def test_the_latest_few_are_kept(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0)
    saver = Saver(max_to_keep=2)
    started(session)
    for step in range(4):
        saver.save(session, str(tmp_path / "m"), step)
    assert names(tmp_path) == ["checkpoint", "m-2.meta", "m-2.safetensors", "m-3.meta", "m-3.safetensors"]
    assert saver.last_checkpoints == [str(tmp_path / f"m-{step}") for step in (2, 3)]


def test_no_checkpoint_is_named_and_removed(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it at any moment finds the checkpoints that it names."""
    named: list[list[str]] = []

    def remove(path: Any, **options: Any) -> None:
        state = train.get_checkpoint_state(str(tmp_path))
        if str(path).endswith(".safetensors"):
            assert state is not None
            named.append([str(path).removesuffix(".safetensors"), *state.all_model_checkpoint_paths])
        unlink(path, **options)

    unlink = os.unlink
    monkeypatch.setattr(os, "unlink", remove)
    _, (first, second, third) = saved(session, tmp_path, range(3), max_to_keep=1)
    assert named == [[first, second], [second, third]]


@pytest.mark.parametrize("kept", [0, None])
def test_all_are_kept_if_asked_for(session: Session, tmp_path: Path, kept: int | None) -> None:
    saved(session, tmp_path, range(7), max_to_keep=kept)
    assert len(names(tmp_path)) == 8
    assert train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-6")


def test_one_in_some_hours_is_kept_for_good(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    ops.Variable(1.0)
    saver = Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2)
    started(session)
    for step in range(6):
        saver.save(session, str(tmp_path / "m"), step, write_meta_graph=False)
        now += 3000  # 50 minutes
    kept = [name for name in names(tmp_path) if name.startswith("m")]
    # Written 2 h 30 min after the start, and the last one; those that leave later came before 4 h.
    assert kept == ["m-3.safetensors", "m-5.safetensors"]


def test_checkpoints_of_an_earlier_program_are_counted(session: Session, tmp_path: Path) -> None:
    _, paths = saved(session, tmp_path, range(3))
    second = Saver(max_to_keep=2)
    second.recover_last_checkpoints([str(tmp_path / "gone"), *map(str, paths[1:])])
    assert second.last_checkpoints == paths[1:]
    second.save(session, str(tmp_path / "m"), 3, write_meta_graph=False)
    assert names(tmp_path) == ["checkpoint", *(f"m-{step}.safetensors" for step in (0, 2, 3))]


def test_times_of_earlier_checkpoints_may_be_given(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0)
    started(session)
    saver = Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1)
    old = saver.save(session, str(tmp_path / "old"), write_meta_graph=False, write_state=False)
    saver.set_last_checkpoints_with_time([(str(old), time.time() + 4000)])
    saver.save(session, str(tmp_path / "new"), write_meta_graph=False)
    assert names(tmp_path) == ["checkpoint", "new.safetensors", "old.safetensors"]


def test_an_old_checkpoint_that_cannot_go_ends_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    ops.Variable(1.0)
    saver = Saver(max_to_keep=1)
    saver.save(started(session), str(tmp_path / "m"), 1)

    unlink = os.unlink

    def refuse(path: Any, **where: Any) -> None:
        if path.endswith("m-1.safetensors"):
            raise PermissionError(13, "Permission denied")
        unlink(path, **where)

    monkeypatch.setattr(os, "unlink", refuse)
    with caplog.at_level(logging.WARNING, "actorsession.train"):
        assert saver.save(session, str(tmp_path / "m"), 2) == str(tmp_path / "m-2")
    assert "cannot remove the old checkpoint" in caplog.text


def without_nonces(folder: Path) -> list[str]:
    """What lies in a folder, without the nonces of saves."""
    return sorted(re.sub(r"\.[0-9a-f]{24}(?=-\d{5}-of-)", "", name) for name in names(folder))


# -- several devices and tasks ---------------------------------------------------------------------


def test_each_task_and_not_each_device_writes_a_file(graph: Graph, tmp_path: Path) -> None:
    with graph.device("/cpu:0"):
        a = ops.Variable(1.0, name="a")
    with graph.device("/cpu:1"):
        b = ops.Variable(2.0, name="b")
    saver = Saver(sharded=True)
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": 2})) as session:
        path = saver.save(started(session), str(tmp_path / "m"), write_meta_graph=False)
        session.run([a.assign(0.0), b.assign(0.0)])
        saver.restore(session, str(path))
        assert session.run([a, b]) == [1, 2]
    assert without_nonces(tmp_path) == ["checkpoint", "m-00000-of-00001.safetensors", "m.safetensors.index.json"]


def test_old_checkpoints_in_shards_are_removed_whole(session: Session, tmp_path: Path) -> None:
    saved(session, tmp_path, range(3), sharded=True, max_to_keep=1)
    assert without_nonces(tmp_path) == ["checkpoint", "m-2-00000-of-00001.safetensors", "m-2.safetensors.index.json"]


@pytest.mark.parametrize("sharded", [False, True])
async def test_tasks_write_and_read_what_a_remote_session_saves(graph: Graph, tmp_path: Path, sharded: bool) -> None:
    with on(W0):
        a = ops.Variable([1.0, 2.0], name="a")
    with on(W1):
        b = ops.Variable(3, name="b")
    saver = Saver(sharded=sharded)
    clear = [a.assign([0.0, 0.0]), b.assign(0)]
    async with in_process() as cluster, AsyncSession(cluster.servers[0].target, graph=graph) as session:
        await session.run(ops.global_variables_initializer())
        path = await saver.save_async(session, str(tmp_path / "m"), 5)
        await session.run(clear)
        await saver.restore_async(session, str(path))
        found = await session.run([a, b])
        np.testing.assert_array_equal(found[0], [1, 2])
        assert found[1] == 3
        # The step itself says what is missing: this process need not see the files.
        with pytest.raises(ValueError, match=r"there is no checkpoint .*gone"):
            await saver.restore_async(session, str(tmp_path / "gone"))
    with CheckpointReader(str(path)) as reader:
        assert reader.get_variable_to_shape_map() == {"a": [2], "b": []}
    shards = [n for n in without_nonces(tmp_path) if "-of-" in n]
    assert shards == (["m-5-00000-of-00002.safetensors", "m-5-00001-of-00002.safetensors"] if sharded else [])


def test_saving_before_variables_have_values_writes_nothing(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0, name="v")
    with pytest.raises(FailedPreconditionError, match="'v' is read before it has a value"):
        Saver().save(session, str(tmp_path / "m"))
    assert names(tmp_path) == []
    # A path without a checkpoint is refused.
    ops.Variable(1.0)
    saver = Saver()
    with pytest.raises(ValueError, match=r"not a valid checkpoint: .*/m"):
        saver.restore(session, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="save_path is None"):
        saver.restore(session, None)
    # A variable that the checkpoint lacks is named with its neighbours.
    path = Saver({"layer1/kernel": ops.Variable(1.0)}).save(started(session), str(tmp_path / "m"))
    other = Saver({"layer1/kernels": ops.Variable(1.0)})
    with pytest.raises(NotFoundError, match=r"lacks a variable .*'layer1/kernels'.* 'layer1/kernel'"):
        other.restore(session, str(path))
    # Another dtype is refused.
    path = Saver({"x": ops.Variable(1.0)}).save(started(session), str(tmp_path / "m"))
    with pytest.raises(InvalidArgumentError, match=r"'x' is float32 .* int32 is wanted here"):
        Saver({"x": ops.Variable(1)}).restore(session, str(path))


def test_there_must_be_something_to_save(session: Session, tmp_path: Path, graph: Graph) -> None:
    nothing: list[Any] = [None, [], {}]
    for variables in nothing:
        with pytest.raises(ValueError, match="No variables to save"):
            Saver(variables)
    empty = Saver(allow_empty=True)
    assert empty.save(session, str(tmp_path / "m"), write_meta_graph=False) is None
    empty.restore(session, str(tmp_path / "m"))
    assert names(tmp_path) == []
    # A session is asked for.
    ops.Variable(1.0)
    saver = Saver()
    for other in (None, "session", graph):
        with pytest.raises(TypeError, match="sess must be a session"):
            saver.save(other, str(tmp_path / "m"))
        with pytest.raises(TypeError, match="sess must be a session"):
            saver.restore(other, str(tmp_path / "m"))


def test_another_shape_is_refused_and_nothing_changes(session: Session, tmp_path: Path) -> None:
    a, b = ops.Variable([1.0, 2.0], name="a"), ops.Variable([5.0], name="b")
    c = ops.Variable([[7.0, 7.0]], name="c")
    path = Saver({"x": a, "y": b}).save(started(session), str(tmp_path / "m"))
    with pytest.raises(InvalidArgumentError) as info:
        Saver({"x": c, "y": b}).restore(session, str(path))
    assert "'x' has shape [2] in the checkpoint" in info.value.message
    assert "shape (1, 2) is wanted here" in info.value.message
    session.run([a.assign([0.0, 0.0]), b.assign([0.0])])
    with pytest.raises(InvalidArgumentError):
        Saver({"y": b, "x": c}).restore(session, str(path))
    assert session.run(b) == [0]


def test_a_torn_checkpoint_is_refused_and_nothing_changes(session: Session, tmp_path: Path) -> None:
    variables = [ops.Variable(float(i), name=f"v{i}") for i in range(3)]
    saver = Saver()
    path = saver.save(started(session), str(tmp_path / "m"))
    session.run([v.assign(-1.0) for v in variables])
    file = tmp_path / "m.safetensors"
    whole = file.read_bytes()
    for damaged in (whole[:-3], whole[:-1] + b"\xee", b""):
        file.write_bytes(damaged)
        with pytest.raises(DataLossError, match=r"m\.safetensors"):
            saver.restore(session, str(path))
        assert session.run(variables) == [-1, -1, -1]


@pytest.mark.parametrize("sharded", [False, True])
def test_a_save_that_fails_leaves_the_last_checkpoint(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharded: bool
) -> None:
    v = ops.Variable(1.0, name="v")
    saver = Saver(sharded=sharded)
    saver.save(started(session), str(tmp_path / "m"))
    session.run(v.assign(2.0))
    before = names(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(Exception, match="No space left"):
            saver.save(session, str(tmp_path / "m"))
    assert names(tmp_path) == before
    saver.restore(session, str(tmp_path / "m"))
    assert session.run(v) == 1


def test_a_sharded_save_that_fails_at_its_index_leaves_the_last_checkpoint_and_no_shard(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    v = ops.Variable(1.0, name="v")
    saver = Saver(sharded=True)
    saver.save(started(session), str(tmp_path / "m"))
    session.run(v.assign(2.0))
    before, replace = names(tmp_path), os.replace

    def full(source: str, destination: str, **where: Any) -> None:
        if destination.endswith("index.json"):
            raise OSError(27, "File too large")
        replace(source, destination, **where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(ResourceExhaustedError, match=r"m\.safetensors\.index\.json.* too large"):
            saver.save(session, str(tmp_path / "m"))
    assert names(tmp_path) == before
    saver.restore(session, str(tmp_path / "m"))
    assert session.run(v) == 1


@pytest.mark.parametrize(
    ("make", "kind", "match"),
    [
        (lambda v: Saver([v, v]), ValueError, "at least two variables .* name 'v'"),
        (lambda v: Saver({"a": v, "b": v}), ValueError, "restored from two names, 'a' and 'b'"),
        (lambda v: Saver(v), TypeError, "list or a dict"),
        (lambda v: Saver([1]), TypeError, "can save variables and saveable objects, got 1"),
        (lambda v: Saver({"a": 1}), TypeError, "the value for 'a' must be a variable"),
        (lambda v: Saver({1: v}), TypeError, "must be strings"),
        (lambda v: Saver({"a": [v]}), ValueError, "parts of one partitioned variable"),
        (lambda v: Saver([v], defer_build=True), ValueError, "var_list must be None"),
        (lambda v: Saver([v], builder=object()), ValueError, "builder must be None"),
        (lambda v: Saver([v], write_version=3), ValueError, "write_version must be 2"),
        (lambda v: Saver(saver_def=v), ValueError, "saver_def must be a SaverDef"),
        (lambda v: Saver(saver_def=SaverDef()), ValueError, "must specify the save_tensor_name"),
        (lambda v: Saver(saver_def=SaverDef("", "a:0")), ValueError, "specify the restore_op_name"),
    ],
    ids=range(13),
)
def test_what_cannot_be_saved_is_refused(graph: Graph, make: Any, kind: type[Exception], match: str) -> None:
    v = ops.Variable(1.0, name="v")
    with pytest.raises(kind, match=match):
        make(v)


def test_a_saver_that_is_built_later_says_so_until_it_is(session: Session, tmp_path: Path) -> None:
    saver = Saver(defer_build=True)
    v = ops.Variable(1.0, name="v")
    with pytest.raises(RuntimeError, match="call build"):
        saver.save(started(session), str(tmp_path / "m"))
    with pytest.raises(RuntimeError, match="call build"):
        saver.restore(session, str(tmp_path / "m"))
    saver.build()
    saver.build()
    saver.restore(session, str(saver.save(session, str(tmp_path / "m"))))
    assert session.run(v) == 1


async def test_an_async_session_saves_and_restores(graph: Graph, tmp_path: Path) -> None:
    v, step = ops.Variable([1.0, 2.0], name="v"), ops.Variable(3, name="step")
    saver = Saver(max_to_keep=1)
    async with AsyncSession(graph=graph) as session:
        await session.run(ops.global_variables_initializer())
        first = await saver.save_async(session, str(tmp_path / "m"), 1)
        path = await saver.save_async(session, str(tmp_path / "m"), step)
        assert path == str(tmp_path / "m-3")
        assert not train.checkpoint_exists(str(first))
        await session.run(v.assign([0.0, 0.0]))
        await saver.restore_async(session, path)
        np.testing.assert_array_equal(await session.run(v), [1, 2])
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            await saver.restore_async(session, str(tmp_path / "gone"))


async def test_saves_of_one_saver_may_overlap(graph: Graph, tmp_path: Path) -> None:
    ops.Variable([1.0, 2.0], name="v")
    saver = Saver(max_to_keep=3)
    async with AsyncSession(graph=graph) as session:
        await session.run(ops.global_variables_initializer())
        await asyncio.gather(*(saver.save_async(session, str(tmp_path / "m"), step) for step in range(6)))
    assert len(saver.last_checkpoints) == 3
    np.testing.assert_array_equal([train.load_variable(path, "v") for path in saver.last_checkpoints], [[1, 2]] * 3)
    assert len([n for n in names(tmp_path) if n.endswith(".safetensors")]) == 3


async def test_without_a_thread_a_save_fails_by_name_and_writes_nothing_later_either(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ops.Variable([1.0, 2.0], name="v")
    saver = Saver()
    async with AsyncSession(graph=graph) as session:
        await session.run(ops.global_variables_initializer())
        with monkeypatch.context() as patched:
            none_left = mock.Mock(side_effect=RuntimeError("can't start new thread"))
            patched.setattr("concurrent.futures.thread.threading.Thread.start", none_left)
            with pytest.raises(ResourceExhaustedError, match="no threads left"):
                await saver.save_async(session, str(tmp_path / "first"))
        await saver.save_async(session, str(tmp_path / "second"))
    assert not train.checkpoint_exists(str(tmp_path / "first"))
    assert saver.last_checkpoints == [str(tmp_path / "second")]


async def test_the_loop_runs_during_a_write(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A save stands still inside a write. 2. Another step runs. 3. The write goes on."""
    v = ops.Variable([1.0, 2.0], name="v")
    saver = Saver()
    slow = SlowDisk()
    async with AsyncSession(graph=graph) as session, asyncio.timeout(60):
        await session.run(ops.global_variables_initializer())
        monkeypatch.setattr(os, "fsync", slow.sync)
        async with asyncio.TaskGroup() as children:
            saving = children.create_task(saver.save_async(session, str(tmp_path / "m")))
            await slow.writing.wait()
            assert names(tmp_path) != ["m.safetensors"]
            await session.run(v.assign([9.0, 9.0]))
            slow.go_on.set()
        np.testing.assert_array_equal(train.load_variable(str(saving.result()), "v"), [1, 2])


async def test_a_cancelled_save_is_whole_or_none(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    v = ops.Variable([1.0, 2.0], name="v")
    saver = Saver()
    slow = SlowDisk()
    async with AsyncSession(graph=graph) as session, asyncio.timeout(60):
        await session.run(ops.global_variables_initializer())
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", slow.sync)
            saving = asyncio.create_task(saver.save_async(session, str(tmp_path / "m")))
            await slow.writing.wait()
            saving.cancel()
            slow.go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await saving
            await eventually(lambda: names(tmp_path) in ([], ["m.safetensors"]))
        if train.checkpoint_exists(str(tmp_path / "m")):
            np.testing.assert_array_equal(train.load_variable(str(tmp_path / "m"), "v"), [1, 2])
        path = await saver.save_async(session, str(tmp_path / "again"))
        np.testing.assert_array_equal(train.load_variable(str(path), "v"), [1, 2])
        assert (await session.run(v)).tolist() == [1, 2]


async def test_each_face_has_its_methods(graph: Graph, tmp_path: Path) -> None:
    ops.Variable(1.0)
    saver = Saver()
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(TypeError, match="type AsyncSession use save_async and restore_async"):
            saver.save(session, str(tmp_path / "m"))
        with pytest.raises(TypeError, match="type AsyncSession use save_async and restore_async"):
            saver.restore(session, str(tmp_path / "m"))
    with Session(graph=graph) as blocking:
        with pytest.raises(TypeError, match="type Session use save and restore"):
            await saver.save_async(blocking, str(tmp_path / "m"))
        with pytest.raises(TypeError, match="type Session use save and restore"):
            await saver.restore_async(blocking, str(tmp_path / "m"))
