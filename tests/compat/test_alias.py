"""``install_alias``: imports of ``tensorflow`` find this library; names that do not exist say so."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import actorsession.compat.v1 as ours
from actorsession.compat import install_alias, remove_alias
from actorsession.compat.alias import find_name
from actorsession.compat.used_names import find_names, program_files
from tests.rows import for_each

REASON = "Keras is a library of its own: pip install 'actorsession[keras]'"


@pytest.fixture(autouse=True)
def no_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)


@pytest.fixture(autouse=True)
def alias() -> Iterator[None]:
    install_alias()
    yield
    remove_alias()
    assert [name for name in sys.modules if name.partition(".")[0] == "tensorflow"] == []


def module(name: str) -> Any:
    return importlib.import_module(name)


@for_each("name", ["tensorflow", "tensorflow.compat.v1"])
def test_tensorflow_has_the_names_of_this_library(name: str) -> None:
    tf = module(name)
    assert tf.Session is ours.Session
    assert tf.nn.relu is ours.nn.relu
    assert tf.compat.v1.train.Saver is ours.train.Saver
    assert tf.__version__ == ours.__version__
    assert {"Session", "nn"} <= set(dir(tf))
    assert tf.__name__ == name


@for_each("name", ["nn", "contrib.rnn", "python.framework.function", "core.protobuf.config_pb2"])
def test_submodules_are_imported_by_name(name: str) -> None:
    found = module(f"tensorflow.{name}")
    assert isinstance(found, ModuleType)
    # The attribute and the import are one module.
    holder: Any = module("tensorflow")
    for part in name.split("."):
        holder = getattr(holder, part)
    assert holder is found
    assert set(dir(find_name(name))) <= set(dir(found))


def test_the_dictionary_of_a_module_has_all_names() -> None:
    """Programs look through it for classes, while they use the module."""
    tf = module("tensorflow")
    cells = [
        found.__name__
        for found in tf.contrib.rnn.__dict__.values()
        if isinstance(found, type) and issubclass(found, tf.contrib.rnn.RNNCell)
    ]
    assert {"LSTMCell", "GRUCell", "NASCell"} <= set(cells)
    assert "Session" in vars(tf)
    assert "rnn" in dir(tf.contrib)


def test_logs_go_through_functions_that_a_program_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit tests of programs do; what they put back is there again."""
    before = ours.logging.warning
    with monkeypatch.context() as patch:
        patch.setattr("tensorflow.python.platform.tf_logging.warning", len)
        assert vars(ours.logging)["warning"] is len
    assert ours.logging.warning is before
    with monkeypatch.context() as patch:
        patch.setattr("tensorflow.logging.warning", len)
        assert vars(ours.logging)["warning"] is len
    assert ours.logging.warning is before


def test_what_a_program_sets_is_its_own() -> None:
    tf = module("tensorflow")
    tf.nn.my_relu = len
    assert module("tensorflow.nn").my_relu is len
    assert not hasattr(ours.nn, "my_relu")
    # A second call does nothing.
    before = list(sys.meta_path)
    install_alias()
    assert sys.meta_path == before
    # The names of operators are those of tensors.
    tensor = module("tensorflow").Tensor
    assert {"__add__", "__rmatmul__", "__getitem__", "__neg__"} <= tensor.OVERLOADABLE_OPERATORS
    assert [name for name in tensor.OVERLOADABLE_OPERATORS if not hasattr(tensor, name)] == []
    assert not {"__bool__", "__iter__", "__array__"} & tensor.OVERLOADABLE_OPERATORS
    # The folders of contrib have the names of their part.
    layers = module("tensorflow.contrib.layers")
    assert module("tensorflow.contrib.layers.python.layers.layers").conv2d is layers.conv2d
    assert find_name("contrib.metrics.python.ops.accuracy") is ours.contrib.metrics.accuracy
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow has no contrib.layers.python.nothing"):
        module("tensorflow.contrib.layers.python.nothing")


def test_a_missing_attribute_says_where_it_was_used_and_what_may_have_been_meant() -> None:
    tf = module("tensorflow")
    assert not hasattr(tf, "reluu")
    with pytest.raises(AttributeError) as found:
        _ = tf.nn.reluu
    line = found.traceback[0].lineno + 1
    assert str(found.value) == (
        f"tests/compat/test_alias.py:{line}: tensorflow has no nn.reluu here; did you mean tf.nn.relu, "
        "tf.nn.relu6, tf.nn.crelu?"
    )
    # As it goes to another process.
    assert found.value.__reduce__() == (AttributeError, (str(found.value),))


def test_a_missing_import_says_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imports_keras.py").write_text("\nfrom tensorflow.python.keras import models\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError) as found:
        module("imports_keras")
    assert str(found.value).endswith("imports_keras.py:2: tensorflow has no python.keras.models here: " + REASON)
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow has no nn.layers here"):
        module("tensorflow.nn.layers")
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow.Session is not a module"):
        module("tensorflow.Session")


@for_each(
    "name, said",
    [
        ("relu", "tensorflow has no relu here; did you mean tf.nn.relu"),
        ("nn.reduce_mean", "tensorflow has no nn.reduce_mean here; did you mean tf.reduce_mean"),
        ("contrib.eager.Iterator", "tensorflow has no contrib.eager.Iterator here: operations run"),
        ("compat.v1.GradientTape", "tensorflow has no GradientTape here: it belongs to eager"),
        ("Session.runn", "tensorflow has no Session.runn here; did you mean tf.Session.run?"),
        ("entirely_unlike_anything", "tensorflow has no entirely_unlike_anything here"),
    ],
)
def test_the_reason_or_the_nearest_name_is_said(name: str, said: str) -> None:
    with pytest.raises(LookupError) as found:
        find_name(name)
    assert found.value.args[0].startswith(said)


def test_tensorflow_itself_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    remove_alias()
    other = ModuleType("tensorflow")
    other.__file__ = "/site-packages/tensorflow/__init__.py"
    monkeypatch.setitem(sys.modules, "tensorflow", other)
    with pytest.raises(RuntimeError, match=r"imported already, from /site-packages/tensorflow"):
        install_alias()
    monkeypatch.undo()


@for_each(
    "name, said",
    [
        ("keras", "has no attribute 'keras': Keras is a library of its own"),
        ("scalar_summary", "has no attribute 'scalar_summary': since TensorFlow 1.0 it is tf.summary.scalar"),
        ("contrib.lite", "has no attribute 'lite': models for phones are converted by TensorFlow Lite"),
        ("global_variable", "has no attribute 'global_variable'; did you mean global_variables"),
    ],
)
def test_the_face_without_the_alias_gives_reasons_too(name: str, said: str) -> None:
    holder, _, last = name.rpartition(".")
    with pytest.raises(AttributeError) as error:
        getattr(getattr(ours, holder, ours), last)
    assert said in str(error.value)


def test_six_is_the_installed_one_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one finds its moved modules by a finder that it adds behind ours."""
    if not any(Path(place, "six.py").exists() for place in sys.path):
        pytest.skip("six is not installed")  # the stand-in may be there
    finders = list(sys.meta_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "six"]:
        monkeypatch.delitem(sys.modules, name)
    six, moved = module("six"), module("six.moves.urllib.parse")
    assert Path(str(six.__file__)).name == "six.py"
    assert moved is six.moves.urllib.parse
    assert moved.__class__.__module__ == "six"
    sys.meta_path[:] = finders


def names_of(folder: Path, text: str) -> dict[str, list[int]]:
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
