"""Savers of asynchronous sessions: they may be awaited, overlap and be cancelled."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, ops, train
from actorsession.errors import ResourceExhaustedError
from actorsession.train import Saver
from tests.cluster.kit import eventually
from tests.train.kit import SlowDisk, names


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
    kept = [train.load_variable(path, "v") for path in saver.last_checkpoints]
    np.testing.assert_array_equal(kept, [[1, 2]] * 3)
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


async def test_the_loop_goes_on_while_a_file_is_written(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_save_that_is_cancelled_leaves_a_whole_checkpoint_or_none(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
