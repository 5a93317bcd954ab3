"""Saving and restoring through sessions: variables, whole or in parts, and other objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from actorsession import Graph, Session, ops, train
from actorsession.train import SaveableObject, Saver, SaverDef, SaveSpec
from tests.train.kit import names, parts_of, started

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
    found = safetensors.numpy.load_file(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(found["layer/w"], [1, 2])
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
    swapped = Saver({"x": b, "y/z": a})
    swapped.restore(session, str(path))
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
    path = saver.save(session, str(tmp_path / "m"), step)
    saver.restore(session, str(path))
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
    found = np.concatenate(session.run(list(rows)))
    np.testing.assert_array_equal(found, np.arange(20).reshape(5, 4))


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
