"""The names of TensorFlow that programs use, found in their text."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from actorsession.compat.used_names import find_names, program_files
from tests.rows import for_each


def names_of(folder: Path, text: str) -> dict[str, list[int]]:
    """The names that a program uses, with the lines."""
    (folder / "program.py").write_text(text)
    found = find_names([folder / "program.py"])
    return {name: [use.line for use in uses] for name, uses in found.uses.items()}


@for_each(
    "text, names",
    [
        ("import tensorflow as tf\ntf.nn.relu(1)\ntf.nn.relu", {"nn.relu": [2, 3]}),
        ("import tensorflow\ntensorflow.Session()", {"Session": [2]}),
        ("import tensorflow.compat.v1 as tf\ntf.Session", {"Session": [2]}),
        ("import tensorflow as tf\ntf.compat.v1.Session", {"Session": [2]}),
        ("from tensorflow.compat import v1 as tf\ntf.Session", {"Session": [2]}),
        ("from tensorflow import compat\ncompat.v1.Session", {"compat": [1], "Session": [2]}),
        ("import actorsession.compat.v1 as tf\ntf.Session", {"Session": [2]}),
        ("from actorsession.compat import v1 as tf\ntf.Session", {"Session": [2]}),
        ("import tensorflow.contrib.rnn as r\nr.LSTMCell", {"contrib.rnn": [1], "contrib.rnn.LSTMCell": [2]}),
        (
            "import tensorflow.contrib.rnn\ntensorflow.contrib.rnn.LSTMCell",
            {"contrib.rnn": [1], "contrib.rnn.LSTMCell": [2]},
        ),
        (
            "from tensorflow.python.ops import math_ops as m, array_ops\nm.add",
            {"python.ops.math_ops": [1], "python.ops.array_ops": [1], "python.ops.math_ops.add": [2]},
        ),
        ("from tensorflow.nn import *", {"nn": [1]}),
        ("import tensorflow as tf\nn = tf.nn\nn.relu", {"nn": [2], "nn.relu": [3]}),
        # Attributes of values are not TensorFlow's names, and those of classes are.
        (
            "import tensorflow as tf\ntf.float32.name\ntf.flags.FLAGS.steps\ntf.GraphKeys.LOSSES",
            {"float32": [2], "flags.FLAGS": [3], "GraphKeys.LOSSES": [4]},
        ),
        ("import tensorflow as tf\ntf.train.Saver().save(tf.Session())", {"train.Saver": [2], "Session": [2]}),
        # Parameters and other values hide names.
        ("import tensorflow as tf\ndef f(tf, x=tf.add):\n    tf.nothing", {"add": [2]}),
        ("import tensorflow as tf\ng = lambda tf: tf.nothing\ntf = 3\ntf.real", {}),
        # What a program defines itself is not missing.
        ("import tensorflow as tf\ntf.GraphKeys.MINE = 'mine'\ntf.GraphKeys.MINE", {}),
        ("import numpy as tf\ntf.zeros", {}),
        ("from .tensorflow import x\nx.y", {}),
    ],
)
def test_names_follow_imports(tmp_path: Path, text: str, names: dict[str, list[int]]) -> None:
    assert names_of(tmp_path, text) == names


def test_what_is_missing_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    (tmp_path / "a.py").write_text("import tensorflow as tf\ntf.nn.reluu(tf.keras.layers.Dense)\n")
    (tmp_path / "b.py").write_text("import tensorflow as tf\ntf.add\n")
    (tmp_path / "c.py").write_text("print 'Python 2'\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "d.py").write_text("import tensorflow.nothing\n")
    found = find_names(program_files(tmp_path))
    assert sorted(found.uses) == ["add", "keras", "nn.reluu"]
    assert found.missing["nn.reluu"].endswith("did you mean tf.nn.relu, tf.nn.relu6, tf.nn.crelu?")
    assert found.missing["keras"].startswith("tensorflow has no keras here: Keras is")
    (problem,) = found.unreadable.values()
    assert problem.startswith(f"{tmp_path / 'c.py'}:1: no program of Python 3: ")


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(program_files(tmp_path / "nothing"))
