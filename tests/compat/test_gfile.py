"""Files and folders under TensorFlow's names; what is expected is what TensorFlow 2.21 did."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf

LINES = (Path(__file__).parent / "data" / "gfile.txt").read_text().splitlines()[1:]


def text(name: str) -> str:
    """What a file holds."""
    return Path(name).read_text(encoding="utf-8")


def run(code: str, names: dict[str, Any]) -> Any:
    """The value of an expression, or what statements leave in ``r``."""
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        exec(code, names)  # noqa: S102
        return names.get("r")
    return eval(compile(tree, "line", "eval"), names)  # noqa: S307


def test_files_behave_as_in_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are run one after the other: later ones find what earlier ones left."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("line one\nline two\nlast é", encoding="utf-8")
    (tmp_path / "dir" / "sub").mkdir(parents=True)
    (tmp_path / "dir" / "x.bin").write_bytes(b"\x00\x01\r\n\x02")
    (tmp_path / "dir" / "sub" / "y").write_text("y")
    (tmp_path / "empty").mkdir()
    (tmp_path / "w3.txt").write_text("abc")
    (tmp_path / "lat").write_bytes(b"\xff")
    for line in LINES:
        code, _, wanted = line.rpartition(" => ")
        assert outcome(code) == wanted, code


def outcome(code: str) -> str:
    """The value of a line as text, or the class of its error."""
    try:
        found = run(code, {"tf": tf, "g": tf.gfile, "os": os, "text": text})
        return repr(list(found) if hasattr(found, "__next__") else found)
    except Exception as exc:
        return f"!{type(exc).__name__}"


def test_patterns_match_in_each_part_of_a_path(tmp_path: Path) -> None:
    for name in ("run1", "run2", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.1").write_text("")
    found = tf.gfile.Glob(f"{tmp_path}/run*/events.?")
    assert found == [f"{tmp_path}/run1/events.1", f"{tmp_path}/run2/events.1"]
    assert tf.gfile.Glob(f"{tmp_path}/run[!1]/*") == [f"{tmp_path}/run2/events.1"]
    # A file is read back while it is written.
    file = tf.gfile.GFile(str(tmp_path / "w"), "w+")
    file.write("abc")
    file.seek(0)
    assert file.read() == "abc"
    file.write("def")
    file.close()
    assert (tmp_path / "w").read_text() == "abcdef"
    # A walk reports what cannot be listed.
    met: list[Exception] = []
    assert list(tf.io.gfile.walk(str(tmp_path / "none"), onerror=met.append)) == []
    assert [type(error) for error in met] == [tf.errors.NotFoundError]
