"""``run-tf1`` converts arrays of one element to numbers, as numpy did before its version 2.4."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Iterator
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from actorsession.compat.older_conversions import FindsProgram, LoadsProgram, formatted, with_numbers

ONE = np.array([2.7])


def load(folder: Path, text: str) -> ModuleType:
    """Load the text of a module as the program's own."""
    (folder / "made.py").write_text(text)
    spec = FindsProgram().find_spec("made", [str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def own_folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    sys.modules.pop("made", None)


def test_a_call_gets_the_number_in_an_array_of_one_element() -> None:
    assert with_numbers(int, ONE) == 2
    assert with_numbers(float, np.array([[1.5]], np.float32)) == 1.5
    assert with_numbers(math.pow, ONE, 2) == math.pow(2.7, 2)
    assert with_numbers(int, "12", 3) == 5
    with pytest.raises(TypeError):
        with_numbers(float, np.zeros(2))
    # What a format cannot take stays an error.
    for form, given in (("%d", "a"), ("%d", np.zeros(2)), ("%d %d", (ONE,)), ("%(a)d", {"a": "x"})):
        with pytest.raises(TypeError):
            formatted(form, given)


@pytest.mark.parametrize(
    ("form", "given", "text"),
    [
        ("%.1f", ONE, "2.7"),
        ("%d of %s", (ONE, np.array([3])), "2 of [3]"),
        ("%(a).1f %(b)s 100%%", {"a": ONE, "b": ONE}, "2.7 [2.7] 100%"),
        ("%*d|%5.1f", (4, np.array([7]), ONE), "   7|  2.7"),
        ("%s", ONE, "[2.7]"),
    ],
)
def test_a_format_gets_numbers_where_it_asks_for_them(form: str, given: object, text: str) -> None:
    assert formatted(form, given) == text


def test_modules_of_the_program_convert(own_folder: Path) -> None:
    module = load(
        own_folder,
        '"""What it does."""\nfrom __future__ import division\nimport math\nimport numpy as np\n'
        "x = np.array([2.25])\n"
        "found = int(x), float(x), math.sqrt(x), 'loss %.2f' % x, '%d %s' % (x, 'a'), int('3', 8)\n",
    )
    assert module.found == (2, 2.25, 1.5, "loss 2.25", "2 a", 3)
    assert module.__doc__ == "What it does."
    assert not list(own_folder.glob("__pycache__/*"))
    # A name of the program is its own.
    module = load(own_folder, "def int(x): return ['own', x]\nfound = int(5)\n")
    assert module.found == ["own", 5]
    # A module without conversions is as it was.
    (own_folder / "made.py").write_text("x = 5 % 3\n")
    code = LoadsProgram("made", str(own_folder / "made.py")).get_code("made")
    assert code is not None
    assert code.co_names == ("x",)


def test_arrays_have_their_former_methods(own_folder: Path) -> None:
    module = load(
        own_folder,
        "import numpy as np\nx = np.array([[1, 5], [7, 9]], np.uint16)\nx.itemset(1, 0, 8)\n"
        "class Own:\n    def ptp(self, a, *, b): return a + b\n"
        "found = x.tostring(), x.ptp(axis=0).tolist(), x.newbyteorder()[0, 0], Own().ptp(1, b=2)\n"
        "small = np.float32(1.5).tostring()\n",
    )
    x = np.array([[1, 5], [8, 9]], np.uint16)
    assert module.found == (x.tobytes(), [7, 4], 256, 3)
    assert module.small == np.float32(1.5).tobytes()


def test_elements_of_arrays_and_children_of_trees_are_got_as_before(own_folder: Path) -> None:
    module = load(
        own_folder,
        "import numpy as np\nimport xml.etree.ElementTree as tree\nx = np.zeros((2, 3))\n"
        "x.itemset(1, 9.0)\nx.itemset((1, 2), 7.0)\none = np.zeros(())\none.itemset(4.0)\n"
        "root = tree.fromstring('<a><b/><c><b/></c></a>')\n"
        "found = [each.tag for each in root.getchildren()], len(root.getiterator('b'))\n",
    )
    assert (module.x.tolist(), module.one) == ([[0, 9, 0], [0, 0, 7]], 4)
    assert module.found == (["b", "c"], 2)


def test_an_error_is_at_its_line(own_folder: Path) -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        load(own_folder, "x = 1\ny = (x,\n     int('a'))\n")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.lineno for frame in frames if frame.filename.endswith("made.py")] == [3]


def test_libraries_are_left_alone() -> None:
    for name in ("json", "pytest", "actorsession", "math", "no_such_module"):
        assert FindsProgram().find_spec(name, None) is None
