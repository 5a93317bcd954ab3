"""Savers and checkpoints of objects in TensorFlow's formats, and the tools that read them."""

from __future__ import annotations

import gzip
import importlib
import logging
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import train
from actorsession.checkpoints import CheckpointReader
from actorsession.checkpoints.bundle import read_index
from actorsession.compat.v1.python.training import checkpoint_management
from actorsession.compat.v1.train.checkpoints.objects import read_description
from actorsession.interop.tabled import message_class

pytestmark = pytest.mark.usefixtures("graph")


ROWS = np.arange(20, dtype=np.float32).reshape(5, 4)


def part_of_rows(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    """The rows of one part of a variable."""
    first = partition_info.var_offset[0]
    return tf.constant(ROWS[first : first + shape[0]])


def build() -> dict[str, Any]:
    """Variables of several types, one of them in parts; and their values by the names in checkpoints."""
    values: dict[str, Any] = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "n": np.int64(7),
        "half": np.float16(3.5),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 3), np.float32),
        "words": np.array([b"x", b"long" * 99], object),
    }
    for name, value in values.items():
        tf.get_variable(name, initializer=tf.constant(value))
    tf.get_variable("rows", [5, 4], initializer=part_of_rows, partitioner=tf.fixed_size_partitioner(3))
    return {**values, "rows": ROWS}


@pytest.mark.parametrize("sharded", [False, True])
def test_a_checkpoint_is_in_tensorflows_format(tmp_path: Path, sharded: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        values = build()
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(sharded=sharded)
        prefix = saver.save(session, str(tmp_path / "model"), global_step=3)
        assert prefix == str(tmp_path / "model-3")
        names = ["checkpoint", "model-3.data-00000-of-00001", "model-3.index", "model-3.meta"]
        assert sorted(path.name for path in tmp_path.iterdir()) == names
        reader = tf.train.NewCheckpointReader(prefix)
        for name, value in values.items():
            np.testing.assert_array_equal(reader.get_tensor(name), value, err_msg=name)
        assert dict(tf.train.list_variables(prefix))["rows"] == [5, 4]
        session.run([variable.initializer for variable in tf.global_variables()])
        for variable in tf.global_variables():
            if variable.name.startswith("rows"):
                session.run(variable.assign(tf.zeros_like(variable)))
        saver.restore(session, prefix)
        parts = [v for v in tf.global_variables() if v.name.startswith("rows")]
        np.testing.assert_array_equal(np.concatenate(session.run(parts)), ROWS)


def test_the_entry_of_a_tensor_in_parts_lists_its_slices(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        build()
        session.run(tf.global_variables_initializer())
        prefix: Any = tf.train.Saver().save(session, str(tmp_path / "model"), write_meta_graph=False)
    entries, files = read_index(prefix)
    found: Any = message_class("BundleEntryProto").FromString(entries[b"rows"])
    assert files == 1
    assert [dim.size for dim in found.shape.dim] == [5, 4]
    spans = [[(each.start, each.length) for each in part.extent] for part in found.slices]
    assert spans == [[(0, 2), (0, 0)], [(2, 2), (0, 0)], [(4, 1), (0, 0)]]
    assert not found.slices[0].extent[1].HasField("length")


def test_each_task_writes_a_file_of_its_own(tmp_path: Path) -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        for number in range(2):
            with tf.device(f"/job:localhost/task:0/cpu:{number}"):
                tf.get_variable(f"v{number}", initializer=np.array([number, 5], np.float32))
        session.run(tf.global_variables_initializer())
        prefix: Any = tf.train.Saver(sharded=True).save(session, str(tmp_path / "model"))
        assert dict(tf.train.list_variables(prefix)) == {"v0": [2], "v1": [2]}


def test_shards_are_merged_by_moving_their_files(tmp_path: Path) -> None:
    from actorsession import checkpoints

    shards = [str(tmp_path / "temp" / f"part-{number}") for number in range(3)]
    for number, shard in enumerate(shards):
        rows = ROWS[2 * number : 2 * number + 2]
        spec = f"5 4 {2 * number},{len(rows)}:-"
        names, specs = ["rows", f"own{number}"], [spec, ""]
        checkpoints.save_bundle(shard, names, specs, [rows, np.int32(number)])
    checkpoints.merge_bundles(shards, str(tmp_path / "whole"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *[f"whole.data-0000{number}-of-00003" for number in range(3)],
        "whole.index",
    ]
    with checkpoints.CheckpointReader(str(tmp_path / "whole")) as reader:
        np.testing.assert_array_equal(reader.get_tensor("rows"), ROWS)
        assert [reader.get_tensor(f"own{number}") for number in range(3)] == [0, 1, 2]


def test_a_tensor_is_not_written_twice(tmp_path: Path) -> None:
    from actorsession import checkpoints

    for names, specs in ((["x", "x"], ["", ""]), (["x", "x"], ["4 0,2", "4 0,2"])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="would be saved twice"):
            checkpoints.save_bundle(str(tmp_path / "m"), names, specs, [np.zeros(2), np.zeros(2)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="which has shape"):
        checkpoints.save_bundle(str(tmp_path / "m"), ["x"], ["4 0,2"], [np.zeros(3)])
    for shard in ("a", "b"):
        checkpoints.save_bundle(str(tmp_path / shard), ["x"], [""], [np.zeros(2)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="two shards of"):
        checkpoints.merge_bundles([str(tmp_path / "a"), str(tmp_path / "b")], str(tmp_path / "m"))


def test_checkpoints_of_the_librarys_own_form_are_restored(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=np.array([1, 2], np.float32))
        session.run(v.initializer)
        prefix = train.Saver().save(session, str(tmp_path / "own"))
        assert (tmp_path / "own.safetensors").exists()
        session.run(v.assign([0.0, 0.0]))
        tf.train.Saver().restore(session, prefix)
        assert session.run(v).tolist() == [1, 2]


def test_old_checkpoints_are_removed_and_the_state_is_a_message(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.get_variable("v", initializer=0.0).initializer)
        saver = tf.train.Saver(max_to_keep=2)
        for step in range(4):
            saver.save(session, str(tmp_path / "m"), global_step=step)
    assert len(list(tmp_path.glob("m-*.index"))) == 2
    assert len(list(tmp_path.glob("m-*.meta"))) == 2
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert isinstance(state, tf.train.CheckpointState)
    assert list(state.all_model_checkpoint_paths) == [str(tmp_path / f"m-{n}") for n in (2, 3)]
    assert tf.train.latest_checkpoint(str(tmp_path)) == state.model_checkpoint_path
    made = tf.train.generate_checkpoint_state_proto(str(tmp_path), "m-3")
    assert str(made) == 'model_checkpoint_path: "m-3"\nall_model_checkpoint_paths: "m-3"\n'


def test_a_graph_that_was_imported_goes_on_in_tensorflows_format(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=np.array([1, 2], np.float32))
        tf.add_to_collection("doubled", tf.multiply(v, 2.0, name="doubled"))
        session.run(v.initializer)
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    message = tf.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes())
    for node in message.graph_def.node:  # as TensorFlow writes it
        node.attr.pop("_acts_bundle", None)
    with tf.Graph().as_default(), tf.Session() as session:
        saver: Any = tf.train.import_meta_graph(message, import_scope="again")
        saver.restore(session, prefix)
        assert session.run(tf.get_collection("doubled")[0]).tolist() == [2, 4]
        saver.save(session, str(tmp_path / "n"), write_meta_graph=False)
    assert (tmp_path / "n.index").exists()
    assert not (tmp_path / "n.safetensors").exists()


def test_a_mark_of_tensorflows_savers_on_a_variable_changes_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        session.run(v.initializer)
        session.run(tf.raw_ops.DisableCopyOnRead(resource=v.handle))
        assert session.run(v) == 1.0


def test_a_graph_is_exported_without_defaults_and_savers() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=[[1.0]])
        tf.matmul(v, v, transpose_a=True, name="product")
        saver = tf.train.Saver()
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        whole = saver.export_meta_graph()
        bare = saver.export_meta_graph(strip_default_attrs=True, clear_extraneous_savers=True)
    assert bare.meta_info_def.stripped_default_attrs
    assert "savers" in whole.collection_def
    assert "savers" not in bare.collection_def
    attrs = [sorted({node.name: node for node in meta.graph_def.node}["product"].attr) for meta in (whole, bare)]
    assert {"T", "transpose_a", "transpose_b"} < set(attrs[0])
    assert attrs[1] == ["T", "_output_shapes", "transpose_a"]
    with tf.Graph().as_default():
        tf.train.import_meta_graph(bare)
        assert tf.get_default_graph().get_operation_by_name("product").get_attr("transpose_b") is False


def test_the_methods_of_a_saved_model_are_renamed(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        v = tf.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x + v})
    updater = tf.saved_model.signature_def_utils.MethodNameUpdater(folder)
    updater.replace_method_name("serving_default", "mine", tags=["serve"])
    updater.save()
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.load(session, ["serve"], folder)
    assert model.signature_def["serving_default"].method_name == "mine"
    for arguments in (("", "mine"), ("none", "mine"), ("serving_default", "mine", "train")):
        with pytest.raises(ValueError, match=r"signature|could not be found"):
            updater.replace_method_name(*arguments)


def test_values_are_restored_after_everything_was_initialised(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        w = tf.get_local_variable("w", initializer=5.0)
        saver = tf.train.Saver(filename=str(tmp_path / "model"))
        session.run(v.assign(3.0))
        saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
        first = tf.saved_model.main_op_with_restore(saver.as_saver_def().restore_op_name)
        with tf.Session() as other:
            other.run(first)
            assert other.run([v, w]) == [3.0, 5.0]


def test_errors_of_savers_are_tensorflows(tmp_path: Path) -> None:
    """Their classes are what TensorFlow 2.21 raised."""
    (tmp_path / "file").write_text("garbage {")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        saver = tf.train.Saver()
        with pytest.raises(tf.errors.FailedPreconditionError):
            saver.save(session, str(tmp_path / "m"))
        session.run(v.initializer)
        with pytest.raises(ValueError, match=r"Parent directory of .* doesn't exist, can't save"):
            saver.save(session, str(tmp_path / "file" / "m"))
        for prefix in (None, str(tmp_path / "none")):
            with pytest.raises(ValueError, match="save_path"):
                saver.restore(session, prefix)
        saver.save(session, str(tmp_path / "m"))
    for name, shape, error in (("v", [3], tf.errors.InvalidArgumentError), ("w", [2], tf.errors.NotFoundError)):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable(name, shape)
            with pytest.raises(error):
                tf.train.Saver().restore(session, str(tmp_path / "m"))
    for name, words in (("file", "Cannot parse file"), ("none", "does not exist")):
        with tf.Graph().as_default(), pytest.raises(OSError, match=words):
            tf.train.import_meta_graph(str(tmp_path / name))
    assert tf.train.NewCheckpointReader(str(tmp_path / "m")).debug_string() == b"v (DT_FLOAT) [2]"


def test_a_step_may_be_the_name_of_a_tensor(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as sess:
        step = tf.train.get_or_create_global_step()
        sess.run(step.initializer)
        sess.run(step.assign_add(4))
        saver = tf.train.Saver()
        for name in ("global_step:0", b"global_step:0"):
            assert saver.save(sess, prefix, name) == f"{prefix}-4"
        for unknown in ("a", "a:0", b"x"):
            with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
                saver.save(sess, prefix, global_step=unknown)
        for wrong in ("global_step", 1.5, [1]):
            with pytest.raises(TypeError):
                saver.save(sess, prefix, global_step=wrong)


@pytest.mark.parametrize("sharded", [False, True])
def test_a_checkpoint_of_the_first_format(tmp_path: Path, sharded: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        values = build()
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(sharded=sharded, max_to_keep=1, write_version=tf.train.SaverDef.V1)
        assert saver.saver_def.version == 1
        saver.save(session, str(tmp_path / "model"), global_step=2)
        prefix = saver.save(session, str(tmp_path / "model"), global_step=3)
        file, pattern = "model-3", "model-3"
        if sharded:
            file, pattern = "model-3-00000-of-00001", "model-3-?????-of-00001"
        assert prefix == str(tmp_path / pattern)
        assert saver.last_checkpoints == [prefix]
        assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["checkpoint", file, "model-3.meta"])
        reader = tf.train.NewCheckpointReader(prefix)
        for name, value in values.items():
            np.testing.assert_array_equal(reader.get_tensor(name), value, err_msg=name)
    with tf.Graph().as_default(), tf.Session() as session:
        again = tf.train.import_meta_graph(str(tmp_path / "model-3.meta"))
        assert again is not None and again.saver_def.version == 1  # noqa: PT018
        again.restore(session, prefix)
        np.testing.assert_array_equal(session.run("a:0"), values["a"])


def test_the_oldest_operations_save_and_restore_one_tensor(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.raw_ops.Save(filename=path, tensor_names=["a", "b"], data=[ROWS, [1]]))
        whole = tf.raw_ops.Restore(file_pattern=path, tensor_name="a", dt=tf.float32)
        part = tf.raw_ops.RestoreSlice(file_pattern=path, tensor_name="a", shape_and_slice="5 4 1,2:-", dt=tf.float32)
        found = session.run([whole, part])
    np.testing.assert_array_equal(found[0], ROWS)
    np.testing.assert_array_equal(found[1], ROWS[1:3])


def test_an_error_of_restoring_begins_with_tensorflows_words(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.Variable([[1.0, 2.0]], name="v").initializer)
        tf.train.Saver().save(sess, prefix)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="w")
        with pytest.raises(tf.errors.NotFoundError, match=r"^Key w not found in checkpoint: "):
            tf.train.Saver().restore(sess, prefix)
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0, 2.0], name="v")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Assign requires shapes of both tensors to match: "):
            tf.train.Saver().restore(sess, prefix)
        saver = tf.train.Saver(reshape=True)
        saver.restore(sess, prefix)
        assert sess.run(v).tolist() == [1.0, 2.0]
        with pytest.raises(ValueError, match="Can't load save_path when it is None"):
            saver.restore(sess, None)


def test_the_path_of_the_graph_beside_a_checkpoint() -> None:
    named = checkpoint_management.meta_graph_filename
    assert (named("x"), named("x-3", "m")) == ("x.meta", "x-3.m")
    assert [named(f"a/x-{n}-of-00002") for n in ("00001", "?????")] == ["a/x.meta"] * 2


def test_slots_of_parts_are_parts_of_one_slot(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(tf.square(v)))
        tf.train.ExponentialMovingAverage(0.9).apply(list(v))
        session.run(tf.global_variables_initializer())
        prefix = str(tf.train.Saver().save(session, str(tmp_path / "model")))
        assert tf.train.list_variables(prefix) == [
            ("v", [4, 2]),
            ("v/ExponentialMovingAverage", [4, 2]),
            ("v/Momentum", [4, 2]),
        ]


def test_a_checkpoint_may_be_in_a_folder_without_a_name(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(3.7)
        saver = tf.train.Saver()
        session.run(variable.initializer)
        assert saver.save(session, f"{tmp_path}/") == f"{tmp_path}/"
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            ".data-00000-of-00001",
            ".index",
            ".meta",
            "checkpoint",
        ]
        assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/"
        session.run(variable.assign(0.0))
        saver.restore(session, f"{tmp_path}/")
        assert session.run(variable) == np.float32(3.7)
        assert saver.save(session, f"{tmp_path}/", 5) == f"{tmp_path}/-5"


def test_the_step_of_a_variable_of_floats_is_cut(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(3.7)
        session.run(variable.initializer)
        saver = tf.train.Saver()
        assert saver.save(session, str(tmp_path / "m"), variable) == str(tmp_path / "m-3")
        with pytest.raises(TypeError):
            saver.save(session, str(tmp_path / "m"), 3.7)


V1 = "actorsession.compat.v1"


def module(path: str) -> Any:
    return importlib.import_module(f"{V1}.{path}")


def test_a_graph_is_frozen_from_files(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.multiply(tf.placeholder(tf.float32, [2], name="x"), tf.get_variable("w", initializer=[2.0, 3.0]), name="y")
        session.run(tf.global_variables_initializer())
        saved = tf.train.Saver().save(session, str(tmp_path / "model"))
        tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pbtxt")
    made = module("python.tools.freeze_graph").freeze_graph(
        str(tmp_path / "graph.pbtxt"), "", False, saved, "y", "", "", str(tmp_path / "frozen.pb"), True, ""
    )
    assert {node.op for node in made.node} <= {"Placeholder", "Const", "Identity", "Mul"}
    read = tf.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(read, name="")
        assert session.run("y:0", {"x:0": [1.0, 1.0]}).tolist() == [2.0, 3.0]


def test_what_is_in_a_checkpoint_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=[2.0, 3.0])
        session.run(tf.global_variables_initializer())
        saved = tf.train.Saver().save(session, str(tmp_path / "model"))
    show = module("python.tools.inspect_checkpoint").print_tensors_in_checkpoint_file
    show(saved, tensor_name="", all_tensors=True)
    assert capsys.readouterr().out == "tensor: w (float32) [2]\n[2. 3.]\n"
    show(saved, tensor_name="", all_tensors=False)
    assert capsys.readouterr().out == "w (float32) [2]\n"


def test_files_are_written_whole(tmp_path: Path) -> None:
    file_io = module("python.lib.io.file_io")
    path = str(tmp_path / "file")
    file_io.atomic_write_string_to_file(path, "one")
    file_io.atomic_write_string_to_file(path, b"two")
    assert file_io.read_file_to_string(path, binary_mode=True) == b"two"
    with pytest.raises(tf.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(path, "three", overwrite=False)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert module("python.platform.resource_loader").get_path_to_datafile("x") == str(Path(__file__).parent / "x")


def write_mnist(folder: Path, name: str, first: int, array: Any, zipped: bool) -> None:
    data = struct.pack(f">{1 + array.ndim}I", first, *array.shape) + array.astype(np.uint8).tobytes()
    if zipped:
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
    else:
        (folder / name).write_bytes(data)


def test_digits_are_read_and_taken_in_batches(tmp_path: Path) -> None:
    for name, count in (("train", 10), ("t10k", 4)):
        images = np.arange(count)[:, None, None] * np.ones((28, 28))
        write_mnist(tmp_path, f"{name}-images-idx3-ubyte", 2051, images, zipped=True)
        write_mnist(tmp_path, f"{name}-labels-idx1-ubyte", 2049, np.arange(count), zipped=False)
    read = module("examples.tutorials.mnist.input_data").read_data_sets
    found = read(str(tmp_path), one_hot=True, validation_size=2)
    assert [part.num_examples for part in found] == [8, 2, 4]
    assert found.train.labels.argmax(1).tolist() == list(range(2, 10))
    np.testing.assert_allclose(found.test.images[3], np.full(784, 3 / 255), rtol=1e-6)
    seen = np.concatenate([found.train.next_batch(3)[1].argmax(1) for _ in range(8)])
    assert sorted(seen.tolist()) == sorted(list(range(2, 10)) * 3)
    assert found.train.epochs_completed == 2
    plain = read(str(tmp_path), dtype=tf.uint8, reshape=False, validation_size=0)
    assert (plain.train.images.shape, plain.train.images.dtype) == ((10, 28, 28, 1), np.uint8)
    with pytest.raises(ValueError, match="Validation size should be between 0 and 10"):
        read(str(tmp_path), validation_size=11)
    ones, labels = read(str(tmp_path), fake_data=True, one_hot=True).train.next_batch(2, fake_data=True)
    assert (ones[0], labels[1]) == ([1] * 784, [1] + [0] * 9)


def test_digits_that_are_not_there_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = module("examples.tutorials.mnist.input_data")
    with pytest.raises(tf.errors.NotFoundError, match=r"nothing is downloaded: put the files train-images"):
        data.read_data_sets(str(tmp_path))
    monkeypatch.setenv(data.SYNTHETIC, "1")
    made = data.read_data_sets(str(tmp_path))
    assert (made.train.num_examples, made.test.num_examples) == (7000, 2000)
    assert set(made.test.labels.tolist()) == set(range(10))


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
