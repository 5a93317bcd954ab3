"""``tf.train.Checkpoint`` and its manager; TensorFlow wrote the checkpoint ``objects``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.checkpoints import CheckpointReader
from actorsession.compat.v1.train.checkpoints.objects import read_description

pytestmark = pytest.mark.usefixtures("graph")

OBJECTS = str(Path(__file__).parent / "data" / "objects")
VALUE = ".ATTRIBUTES/VARIABLE_VALUE"


class Model(tf.train.Checkpoint):
    """A layer with other names than the program that wrote ``objects`` gave."""

    def __init__(self, *, slots: bool = True) -> None:
        self.layer = tf.layers.Dense(2, name="ours")
        loss = tf.reduce_sum(self.layer(tf.ones([1, 2])))
        self.opt = tf.train.MomentumOptimizer(0.5, 0.9)
        self.more = [tf.Variable(0, name="n", trainable=False)]
        if slots:
            self.train = self.opt.minimize(loss, global_step=self.more[0])


def state(session: Any, model: Model) -> list[Any]:
    slot = model.opt.get_slot(model.layer.kernel, "momentum")
    return [np.asarray(each).tolist() for each in session.run([model.layer.kernel, slot, model.more[0]])]


TRAINED: list[Any] = [[[-0.45, 0.55], [1.55, 2.55]], [[1.9, 1.9], [1.9, 1.9]], 2]


def assert_close(found: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_objects_of_tensorflow_are_restored_by_their_names_in_each_other() -> None:
    model = Model()
    status = model.restore(OBJECTS)
    with tf.Session() as session:
        status.initialize_or_restore(session)
        assert_close(state(session, model), TRAINED)
        assert session.run(model.save_counter) == 0
    with pytest.raises(AssertionError, match="were not bound to checkpointed values"):
        status.assert_consumed()  # It was written without a counter.


def test_what_is_written_is_described_as_tensorflow_does(tmp_path: Path) -> None:
    model = Model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = model.write(str(tmp_path / "own"), session)
    with CheckpointReader(path) as ours, CheckpointReader(OBJECTS) as theirs:
        assert ours.get_variable_to_shape_map() == theirs.get_variable_to_shape_map()
        described = [read_description(reader) for reader in (ours, theirs)]
    for message in described:
        for node in message.nodes:
            for attribute in node.attributes:
                attribute.full_name = ""  # They are named otherwise.
    assert described[0] == described[1]


def test_saved_checkpoints_are_numbered_and_recorded(tmp_path: Path) -> None:
    model = Model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(model.train)
        first = model.save(str(tmp_path / "model"))
        assert first == str(tmp_path / "model-1")
        kept = state(session, model)
        session.run(model.train)
        assert model.save(str(tmp_path / "model"), session=session) == str(tmp_path / "model-2")
        assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-2")
        model.restore(first).assert_consumed().run_restore_ops()
        assert_close(state(session, model), kept)
        assert session.run(model.save_counter) == 1
    names = [name for name, _ in tf.train.list_variables(first)]
    assert f"layer/kernel/.OPTIMIZER_SLOT/opt/momentum/{VALUE}" in names
    assert f"more/0/{VALUE}" in names


def test_a_saver_reads_checkpoints_of_objects_by_full_names() -> None:
    with tf.variable_scope("theirs"):
        kernel = tf.get_variable("kernel", [2, 2])
    with tf.Session() as session:
        tf.train.Saver([kernel]).restore(session, OBJECTS)
        np.testing.assert_allclose(session.run(kernel), TRAINED[0], rtol=1e-6)
        other = tf.get_variable("other", [2, 2])
        with pytest.raises(tf.errors.NotFoundError, match="other"):
            tf.train.Saver([kernel, other]).restore(session, OBJECTS)


def test_a_checkpoint_of_a_saver_is_restored_by_full_names(tmp_path: Path) -> None:
    model = Model()
    _ = model.save_counter
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(model.train)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        kept = state(session, model)
        session.run(tf.global_variables_initializer())
        model.restore(path).assert_consumed().initialize_or_restore()
        assert_close(state(session, model), kept)
    unknown = tf.train.Checkpoint(x=tf.Variable(1.0, name="unknown"))
    with pytest.raises(AssertionError, match=r"not assigned a value.*unknown"):
        unknown.restore(path).assert_existing_objects_matched()


def test_what_does_not_match_is_said() -> None:
    model = Model(slots=False)
    status = model.restore(OBJECTS)
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_existing_objects_matched()
    assert status.expect_partial() is status
    status.assert_nontrivial_match()
    nothing = tf.train.Checkpoint(unknown=tf.Variable(1.0)).restore(OBJECTS)
    with pytest.raises(AssertionError, match="Nothing except the root object"):
        nothing.assert_nontrivial_match()
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        model.restore("nowhere")
    with pytest.raises(ValueError, match="was expecting a trackable object"):
        tf.train.Checkpoint(x=3)
    with pytest.raises(ValueError, match="inside `with session:`"):
        model.write("nowhere")


def test_an_unresolved_object_is_named(tmp_path: Path) -> None:
    first = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = first.save(str(tmp_path / "model"), session)
    second = tf.train.Checkpoint(a=tf.Variable(0.0))
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.b"):
        second.restore(path).assert_consumed()


def test_no_checkpoint_only_initialises() -> None:
    model = Model()
    status = model.restore(None)
    with pytest.raises(AssertionError, match="nothing is being restored"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="no restore ops are available"):
        status.run_restore_ops()
    with tf.Session() as session:
        status.initialize_or_restore()
        assert state(session, model)[2] == 0


def test_two_names_for_what_is_one_object_there_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shared = tf.Variable(1.0)
    one = tf.train.Checkpoint(a=shared, b=shared)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = one.write(str(tmp_path / "one"))
        two = tf.train.Checkpoint(a=tf.Variable(0.0), b=tf.Variable(0.0))
        with caplog.at_level(logging.WARNING):
            two.restore(path).initialize_or_restore(session)
        assert session.run([two.a, two.b]) == [1.0, 0.0]
    assert "Inconsistent references" in caplog.text


def test_containers_of_contrib(tmp_path: Path) -> None:
    values = [tf.Variable(float(n), name=f"v{n}") for n in range(3)]
    held = tf.contrib.checkpoint.Checkpointable()
    held.it = tf.contrib.checkpoint.Mapping(x=values[2])
    root = tf.contrib.eager.Checkpoint(some=tf.contrib.checkpoint.List(*values[:2]), held=held)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = root.write(str(tmp_path / "all"))
    assert [name for name, _ in tf.train.list_variables(path)][1:] == [
        f"held/it/x/{VALUE}",
        f"some/0/{VALUE}",
        f"some/1/{VALUE}",
    ]


def test_a_manager_keeps_the_latest(tmp_path: Path) -> None:
    model = Model()
    manager = tf.train.CheckpointManager(model, str(tmp_path), max_to_keep=2)
    assert (manager.latest_checkpoint, manager.checkpoints) == (None, [])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = [str(manager.save()) for _ in range(3)]
        assert [Path(path).name for path in paths] == ["ckpt-1", "ckpt-2", "ckpt-3"]
        assert manager.checkpoints == paths[1:]
        assert manager.latest_checkpoint == tf.train.latest_checkpoint(str(tmp_path)) == paths[2]
        assert not tf.train.checkpoint_exists(paths[0])
        later = tf.train.CheckpointManager(model, str(tmp_path), 1, checkpoint_name="more")
        assert later.checkpoints == paths[1:]
        last = later.save(checkpoint_number=7)
        assert last == str(tmp_path / "more-7")
        assert later.checkpoints == [last]
        assert not tf.train.checkpoint_exists(paths[2])
    with pytest.raises(ValueError, match="Expected a positive integer or `None`"):
        tf.train.CheckpointManager(model, str(tmp_path), 0)


def test_a_manager_keeps_one_for_ever_now_and_then(tmp_path: Path) -> None:
    manager = tf.train.CheckpointManager(Model(), str(tmp_path), max_to_keep=1, keep_checkpoint_every_n_hours=1e-12)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = [str(manager.save()) for _ in range(2)]
    assert manager.checkpoints == paths[1:]
    assert tf.train.checkpoint_exists(paths[0])


def test_a_manager_saves_once_in_some_steps_and_restores(tmp_path: Path) -> None:
    model, asked = Model(), []
    manager = tf.train.CheckpointManager(
        model, str(tmp_path), 3, step_counter=model.more[0], checkpoint_interval=2, init_fn=lambda: asked.append("new")
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert manager.restore_or_initialize() is None
        saved = []
        for _ in range(4):
            session.run(model.train)
            saved.append(manager.save() is not None)
        assert (saved, asked) == ([True, False, True, False], ["new"])
        assert manager.restore_or_initialize() == manager.latest_checkpoint
        assert session.run(model.more[0]) == 3
    with pytest.raises(ValueError, match="`step_counter` should be passed"):
        tf.train.CheckpointManager(model, str(tmp_path), 3, checkpoint_interval=2)
