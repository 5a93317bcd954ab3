"""What a saver refuses, and that nothing is half changed then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from actorsession import Graph, Session, ops
from actorsession.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from actorsession.train import Saver, SaverDef
from tests.train.kit import names, started


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
