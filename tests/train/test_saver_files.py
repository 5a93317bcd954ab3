"""The files of checkpoints that a saver writes: their names, what lies beside them, and which are kept."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, GraphDef, Session, ops, train
from actorsession.checkpoints import CheckpointReader
from actorsession.train import Saver
from tests.cluster.kit import W0, W1, in_process, on
from tests.train.kit import names, started


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
    # The state file names the latest.
    saver, paths = saved(session, tmp_path, range(2))
    assert train.latest_checkpoint(str(tmp_path)) == paths[-1]
    state = train.get_checkpoint_state(str(tmp_path))
    assert state is not None
    assert state.all_model_checkpoint_paths == paths == saver.last_checkpoints
    # The graph lies beside the checkpoint.
    ops.Variable(1.0, name="v")
    Saver().save(started(session), str(tmp_path / "m"), 1, meta_graph_suffix="graph")
    found = GraphDef.from_bytes((tmp_path / "m-1.graph").read_bytes())
    assert "save/restore_all" in {node.name for node in found.nodes}
    # The same name again counts once.
    saver, _ = saved(session, tmp_path, (1, 2, 1, 1), max_to_keep=2)
    assert [Path(p).name for p in saver.last_checkpoints] == ["m-2", "m-1"]
    assert names(tmp_path) == ["checkpoint", "m-1.safetensors", "m-2.safetensors"]


@pytest.mark.parametrize("step", [1.5, "12", [1], np.float32(2)])
def test_a_step_that_is_no_whole_number_is_refused(session: Session, tmp_path: Path, step: Any) -> None:
    ops.Variable(1.0)
    saver = Saver()
    with pytest.raises(TypeError, match="global_step must be an int"):
        saver.save(started(session), str(tmp_path / "m"), step)
    assert names(tmp_path) == []


def test_the_state_file_may_have_another_name_and_relative_paths(session: Session, tmp_path: Path) -> None:
    ops.Variable(1.0)
    saver = Saver(save_relative_paths=True)
    path = saver.save(started(session), str(tmp_path / "m"), 1, latest_filename="last")
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
def test_names_that_collide_or_are_none_are_refused(
    session: Session, tmp_path: Path, path: str, latest: str | None, match: str
) -> None:
    ops.Variable(1.0)
    with pytest.raises(ValueError, match=match):
        Saver().save(started(session), f"{tmp_path}/{path}", latest_filename=latest)
    assert names(tmp_path) == []


def test_a_checkpoint_may_be_in_the_working_folder(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_state_file_names_no_checkpoint_that_is_being_removed(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
