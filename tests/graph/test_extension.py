"""Extension points: what a lower room leaves to rooms above it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actorsession.graph import extension
from actorsession.graph.extension import EXTENSION_POINTS, ExtensionPoint, defer


@pytest.fixture
def point() -> Iterator[ExtensionPoint[int]]:
    yield ExtensionPoint("of a test", "tests.graph")
    EXTENSION_POINTS.pop("of a test")
    extension._deferred.pop("of a test", None)


def test_a_key_has_the_value_that_it_was_given(point: ExtensionPoint[int]) -> None:
    assert point.find("one") is None
    point.fill("one", 1)
    assert (point.find("one"), point.get("one"), point.keys()) == (1, 1, ["one"])


def test_an_empty_key_is_answered_with_the_package_that_fills_it(point: ExtensionPoint[int]) -> None:
    with pytest.raises(RuntimeError, match=r"there is no 'one' before tests\.graph is imported"):
        point.get("one")


def test_a_module_that_fills_a_key_is_imported_when_the_key_is_asked_for(
    point: ExtensionPoint[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "filling.py").write_text(
        "from actorsession.graph.extension import EXTENSION_POINTS\nEXTENSION_POINTS['of a test'].fill('late', 7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    defer("of a test", {"late": "filling"})
    assert point.keys() == ["late"]
    assert "filling" not in sys.modules
    try:
        assert point.get("late") == 7
    finally:
        sys.modules.pop("filling", None)


ASKED = """
import importlib, pkgutil, actorsession
from actorsession.graph import extension

for room in ("graph", "plan", "ops"):
    package = importlib.import_module(f"actorsession.{room}")
    for module in pkgutil.walk_packages(package.__path__, f"actorsession.{room}."):
        if room != "ops" or module.name.endswith("constructs"):
            importlib.import_module(module.name)
for name, keys in extension._deferred.items():
    point = extension.EXTENSION_POINTS[name]
    for key, module in keys.items():
        assert module.startswith(point.filled_by), (name, key, module)
        assert point.find(key) is not None, (name, key)
print(*sorted(extension.EXTENSION_POINTS), sep="\\n")
"""


@pytest.mark.process
def test_whatever_is_left_open_is_filled_when_it_is_asked_for() -> None:
    """In a process that has imported nothing else; these are all points, and who fills them is true."""
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:-1] == [
        "TensorFlow's messages",
        "classes of nested values",
        "gradients of functional control flow",
        "names in generated code",
        "operators of tensors",
        "primitive control flow in functions",
    ]
