"""``actorsession check-tf1``: the names of TensorFlow that programs use, and those that are missing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.kit import called

PROGRAM = """\
import tensorflow as tf
x = tf.placeholder(tf.float32)
y = tf.nn.reluu(x)
"""


def test_all_names_are_listed_and_missing_ones_explained(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    code, out, err = called("check-tf1", str(file))
    assert (code, err) == (1, "")
    missing, place = [line for line in out.splitlines() if "relu" in line or ":3" in line]
    assert out.splitlines() == [
        "tf.float32 1",
        missing,
        place,
        "tf.placeholder 1",
        "1 files use 3 names of TensorFlow; 1 are missing",
    ]
    assert missing.startswith("tf.nn.reluu 1 missing: tensorflow has no nn.reluu here; did you mean")
    assert place == f"    {file}:3"
    assert called("check-tf1", "--missing", str(tmp_path))[1].splitlines() == [
        missing,
        place,
        "1 files use 3 names of TensorFlow; 1 are missing",
    ]


def test_nothing_missing_is_success(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import tensorflow.compat.v1 as tf\ntf.Session()\n")
    said = "tf.Session 1\n1 files use 1 names of TensorFlow; 0 are missing\n"
    assert called("check-tf1", str(tmp_path)) == (0, said, "")
    # A program of python 2 is named.
    (tmp_path / "old.py").write_text("import tensorflow\nprint 'hello'\n")
    code, out, _ = called("check-tf1", str(tmp_path))
    assert code == 1
    assert f"{tmp_path / 'old.py'}:2: no program of Python 3: " in out
    # A path that is not there fails.
    code, out, err = called("check-tf1", str(tmp_path / "nothing"))
    assert (code, out) == (1, "")
    assert "No such file or directory" in err


def test_findings_as_json(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    code, out, _ = called("check-tf1", "--json", str(file))
    found = json.loads(out)
    assert code == 1
    assert found["names"]["placeholder"] == {"uses": [[str(file), 2]], "missing": None}
    assert found["names"]["nn.reluu"]["missing"].startswith("tensorflow has no nn.reluu")
    assert (found["files"], found["unreadable"]) == (1, {})
