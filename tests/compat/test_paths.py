"""Paths that programs give: whatever cannot be one is refused in words of ours, by every function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.errors import OpError, RequestError
from tests.rows import for_each

NO_NAMES: dict[str, Any] = {
    "a NUL byte": "a\0b",
    "a NUL byte in bytes": b"a\0b",
    "half a pair": "a\ud800b",
    "a number": 5,
    "a list": ["a"],
    "nothing": "",
    "too long": "a" * 5000,
}


@pytest.fixture(autouse=True)
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=1.0)
        session.run(tf.global_variables_initializer())
        yield session


def _builder(path: Any) -> None:
    tf.saved_model.Builder(path).save()


CALLS: dict[str, Callable[[Any], Any]] = {
    "Saver.save": lambda path: tf.train.Saver().save(tf.get_default_session(), path),
    "Saver.restore": lambda path: tf.train.Saver().restore(tf.get_default_session(), path),
    "native Saver.save": lambda path: acts.train.Saver().save(tf.get_default_session(), path),
    "native Saver.restore": lambda path: acts.train.Saver().restore(tf.get_default_session(), path),
    "Checkpoint.save": lambda path: tf.train.Checkpoint().save(path),
    "Checkpoint.restore": lambda path: tf.train.Checkpoint().restore(path),
    "CheckpointManager": lambda path: tf.train.CheckpointManager(tf.train.Checkpoint(), path, 1).save(),
    "load_checkpoint": tf.train.load_checkpoint,
    "list_variables": tf.train.list_variables,
    "NewCheckpointReader": tf.train.NewCheckpointReader,
    "import_meta_graph": tf.train.import_meta_graph,
    "export_meta_graph": tf.train.export_meta_graph,
    "write_graph": lambda path: tf.train.write_graph(tf.get_default_graph(), path, "x"),
    "FileWriter": lambda path: tf.summary.FileWriter(path).close(),
    "summary_iterator": lambda path: list(tf.train.summary_iterator(path)),
    "saved_model.Builder": _builder,
    "saved_model.load": lambda path: tf.saved_model.load(tf.get_default_session(), ["serve"], path),
    "tf_record_iterator": lambda path: list(tf.python_io.tf_record_iterator(path)),
    "TFRecordWriter": lambda path: tf.python_io.TFRecordWriter(path).close(),
    "GFile to read": lambda path: tf.gfile.GFile(path).read(),
    "GFile to write": lambda path: tf.gfile.GFile(path, "w").write("x"),
    "ListDirectory": tf.gfile.ListDirectory,
    "MakeDirs": tf.gfile.MakeDirs,
    "Remove": tf.gfile.Remove,
    "Copy": lambda path: tf.gfile.Copy(path, "copied"),
    "Copy to": lambda path: tf.gfile.Copy(__file__, path),
    "Stat": tf.gfile.Stat,
}
# What is a name after all, or says what it finds: nothing.
TAKEN = {
    "nothing": {
        "Checkpoint.restore",
        "Checkpoint.save",
        "CheckpointManager",
        "FileWriter",
        "export_meta_graph",
        "saved_model.Builder",
        "write_graph",
    }
}


@pytest.mark.filterwarnings("ignore::actorsession.session.graph_mutation_warnings.GraphGrowthWarning")
@for_each("path", NO_NAMES)
@for_each("call", CALLS)
def test_what_is_no_path_is_refused_in_our_words(call: str, path: str) -> None:
    if call in TAKEN.get(path, ()):
        return
    with pytest.raises((OpError, RequestError)) as raised:
        CALLS[call](NO_NAMES[path])
    assert str(raised.value)
