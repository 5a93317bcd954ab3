"""``actorsession inspect`` and ``run-model``: what is in the files of models, and what a model answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from tests.cli.kit import called
from tests.rows import for_each


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind, all of one small model."""
    folder = tmp_path_factory.mktemp("models")
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, tf.get_variable("w", initializer=np.array([[1.0], [2.0]], np.float32)), name="y")
        summary = tf.summary.scalar("loss", tf.reduce_sum(y))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(sess, str(folder / "model"), {"x": x}, {"y": y})
            tf.train.Saver().save(sess, str(folder / "run" / "model.ckpt"), global_step=3)
            with tf.summary.FileWriter(str(folder / "events"), graph) as writer:
                for step in (5, 7):
                    writer.add_summary(sess.run(summary, {x: [[1.0, 2.0]]}), step)
    for name, as_text in (("graph.pb", False), ("graph.pbtxt", True)):
        tf.train.write_graph(graph, str(folder), name, as_text=as_text)
    (folder / "own.graph").write_bytes(acts.Graph.as_graph_def(graph).to_bytes())
    message = graph.as_graph_def()
    message.node.add(name="odd", op="OpOfAnotherLibrary")
    (folder / "odd.pb").write_bytes(message.SerializeToString())
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    example = tf.train.Example(features=tf.train.Features(feature={"a": feature}))
    for name, kind in (("records", ""), ("records.gz", "GZIP")):
        with tf.python_io.TFRecordWriter(str(folder / name), kind) as records:
            for _ in range(3):
                records.write(example.SerializeToString())
    (folder / "text").write_text("hello\n")
    (folder / "empty").mkdir()
    return folder


def inspected(path: Path, *words: str) -> Any:
    code, out, err = called("inspect", str(path), "--json", *words)
    assert (code, err) == (0, ""), err
    return json.loads(out)


X = {"name": "x", "dtype": "float32", "shape": [-1, 2]}
W = {"name": "w", "dtype": "float32", "shape": [2, 1]}


@for_each("name", ["graph.pb", "graph.pbtxt", "own.graph", "run/model.ckpt-3.meta"])
def test_a_graph_has_inputs_outputs_variables_and_types(name: str, files: Path) -> None:
    found = inspected(files / name)
    assert found["kind"] == ("meta graph" if name.endswith(".meta") else "graph")
    assert found["inputs"] == [X]
    assert found["variables"] == [W]
    assert {"name": "loss", "type": "ScalarSummary"} in found["outputs"]
    assert found["op_types"]["MatMul"] == 1
    assert found["missing_op_types"] == {}
    assert sum(found["op_types"].values()) == found["nodes"]


def test_operation_types_that_are_missing_are_counted(files: Path) -> None:
    assert inspected(files / "odd.pb")["missing_op_types"] == {"OpOfAnotherLibrary": 1}
    code, out, _ = called("inspect", str(files / "odd.pb"))
    assert code == 0
    assert "missing op types: OpOfAnotherLibrary 1" in out.splitlines()


def test_a_saved_model_has_signatures_and_values(files: Path) -> None:
    found = inspected(files / "model")
    assert found["kind"] == "saved model"
    (graph,) = found["graphs"]
    assert graph["tags"] == ["serve"]
    assert graph["signatures"]["serving_default"] == {
        "method": "tensorflow/serving/predict",
        "inputs": [{**X, "tensor": "x:0"}],
        "outputs": [{"name": "y", "dtype": "float32", "shape": [-1, 1], "tensor": "y:0"}],
    }
    assert found["values"]["tensors"] == [W]
    assert inspected(files / "model" / "saved_model.pb")["graphs"] == found["graphs"]


@for_each("name", ["run", "run/model.ckpt-3", "run/model.ckpt-3.index", "run/model.ckpt-3.data-00000-of-00001"])
def test_a_checkpoint_is_found_by_its_folder_its_prefix_and_its_files(name: str, files: Path) -> None:
    found = inspected(files / name)
    assert found["path"] == str(files / "run" / "model.ckpt-3")
    assert (found["kind"], found["elements"], found["tensors"]) == ("checkpoint", 2, [W])


def test_records_are_counted_and_the_first_one_is_shown(files: Path) -> None:
    wanted = [{"name": "a", "type": "int64_list", "values": 2}]
    for name, compression in (("records", "none"), ("records.gz", "GZIP")):
        found = inspected(files / name)
        assert (found["kind"], found["records"], found["compression"]) == ("records", 3, compression)
        assert found["first_record"] == wanted
    found = inspected(files / "events")
    assert (found["kind"], found["graphs"]) == ("events", 2)
    assert found["tags"] == [{"tag": "loss", "type": "simple_value", "values": 2, "first_step": 5, "last_step": 7}]


@for_each(
    "name, value, wanted",
    [("run", "w", [[1.0], [2.0]]), ("model", "w", [[1.0], [2.0]]), ("graph.pb", "loss/tags", "loss")],
)
def test_values_are_shown_by_name(name: str, value: str, wanted: Any, files: Path) -> None:
    assert inspected(files / name, "--value", value) == {value: wanted}


@for_each(
    "name, words, said",
    [
        ("nothing", [], "does not exist; expected a graph, meta graph"),
        ("text", [], "is of no known kind; expected a graph, meta graph"),
        ("empty", [], "there is nothing known in the folder"),
        ("records", ["--value", "a"], "holds no values by name"),
        ("run", ["--value", "v"], "has no tensor 'v'"),
        ("graph.pb", ["--value", "v"], "has no constant 'v'"),
    ],
)
def test_what_cannot_be_shown_is_one_line(name: str, words: list[str], said: str, files: Path) -> None:
    code, out, err = called("inspect", str(files / name), *words)
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_model_answers_for_json_and_for_arrays_in_files(files: Path, tmp_path: Path) -> None:
    array = np.array([[1, 2], [3, 4]], np.float32)
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "all.npz", x=array)
    for value in ("[[1, 2], [3, 4]]", f"@{tmp_path / 'x.npy'}", f"@{tmp_path / 'all.npz'}:x"):
        code, out, err = called("run-model", str(files / "model"), "--input", f"x={value}", "--json")
        assert (code, json.loads(out), err) == (0, {"y": [[5.0], [11.0]]}, "")


def test_sparse_tensors_are_given_and_answered_by_their_parts(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.sparse_placeholder(tf.float32, name="x")
        y = tf.SparseTensor(x.indices, x.values * 2.0, x.dense_shape)
        tf.saved_model.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": y})
    (graph,) = inspected(tmp_path / "model")["graphs"]
    inputs = graph["signatures"]["serving_default"]["inputs"]
    assert [(row["name"], row["dtype"]) for row in inputs] == [
        ("x/indices", "int64"),
        ("x/values", "float32"),
        ("x/dense_shape", "int64"),
    ]
    values = {"x/indices": [[0, 1]], "x/values": [3.0], "x/dense_shape": [2, 2]}
    words = [word for key, value in values.items() for word in ("--input", f"{key}={value}")]
    code, out, err = called("run-model", str(tmp_path / "model"), *words, "--json")
    assert (code, err) == (0, "")
    wanted = {"y/indices": [[0, 1]], "y/values": [6.0], "y/dense_shape": [2, 2]}
    assert json.loads(out) == wanted


def test_the_answer_is_printed_and_written(files: Path, tmp_path: Path) -> None:
    file = tmp_path / "y.npz"
    words = ("run-model", str(files / "model"), "--input", "x=[[1, 2]]", "--output", str(file))
    assert called(*words) == (0, "y float32 [1,1]\n[[5.]]\n", "")
    with np.load(file, allow_pickle=False) as held:
        assert held["y"].tolist() == [[5.0]]


@for_each(
    "words, code, said",
    [
        ([], 2, "--input: 'x' is missing; the inputs are x (float32 [?,2])"),
        (["--input", "x"], 2, "--input: expected NAME=VALUE, got 'x'"),
        (["--input", "x=one"], 2, "the value of 'x' is neither JSON nor @FILE"),
        (["--input", "x=@/no/such.npy"], 2, "/no/such.npy: No such file or directory"),
        (["--input", "x=[1]"], 2, "Cannot feed value of shape (1,) for Tensor x:0"),
        (["--input", "z=1", "--input", "x=[[1, 2]]"], 2, "Got unexpected keys in input_dict: ['z']"),
        (["--signature", "other"], 1, "Available signatures are ['serving_default']"),
        (["--tags", "gpu"], 2, "with available tags [['serve']]"),
        (["--output", "y.npy"], 2, "--output: expected the name of an .npz file"),
    ],
)
def test_what_cannot_be_run_is_one_line(words: list[str], code: int, said: str, files: Path) -> None:
    found, out, err = called("run-model", str(files / "model"), *words)
    assert (found, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1
