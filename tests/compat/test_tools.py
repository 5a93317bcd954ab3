"""``tensorflow.python.tools``, ``lib.io.file_io`` and the tutorials' MNIST."""

from __future__ import annotations

import gzip
import importlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

V1 = "actorsession.compat.v1"


def module(path: str) -> Any:
    return importlib.import_module(f"{V1}.{path}")


def test_a_graph_is_frozen_from_files(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.multiply(x, tf.get_variable("w", initializer=[2.0, 3.0]), name="y")
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
    here = module("python.platform.resource_loader")
    assert here.get_path_to_datafile("x") == str(Path(__file__).parent / "x")


def write_mnist(folder: Path, name: str, first: int, array: Any, zipped: bool) -> None:
    head = struct.pack(f">{1 + array.ndim}I", first, *array.shape)
    data = head + array.astype(np.uint8).tobytes()
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
