"""``run-tf1`` gives programs what numpy and Python had when they were written, conversions among it."""

from __future__ import annotations

import logging
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from actorsession.compat import older_names
from actorsession.compat.libraries import scipy_images
from actorsession.compat.older_conversions import FindsProgram, LoadsProgram, formatted, with_numbers
from actorsession.compat.older_names import _as_before, _as_list, _former, _from_bytes, _note_ragged, _renamed, _summed
from tests.rows import for_each


def test_an_array_without_a_copy_is_copied_where_it_must_be() -> None:
    array = _as_before(np.array)
    given = np.arange(3.0)
    assert array(given, copy=False) is given
    assert array([1, 2], copy=False).tolist() == [1, 2]
    assert array(given, np.float32, copy=False).dtype == np.float32
    assert array(given) is not given
    assert array(given, copy=None) is given
    # An array is made of what is named too. ``numpy.array`` calls its first argument ``object``, and ``asarray``
    # ``a``.
    assert _as_before(np.array)(object=[1, 300], dtype=np.uint8, ndmin=2).tolist() == [[1, 44]]
    assert _as_before(np.asarray)(a=[[1], [2, 3]]).tolist() == [[1], [2, 3]]
    # Several arrays of a function are a list.
    rows, columns = _as_list(np.meshgrid)(np.arange(2), np.arange(3))
    assert rows.shape == columns.shape == (3, 2)
    assert isinstance(_as_list(np.meshgrid)(np.arange(2), np.arange(3)), list)
    assert isinstance(_as_list(np.atleast_1d)(1.0, 2.0), list)
    assert _as_list(np.atleast_1d)(1.0).shape == (1,)
    # Bytes are read as numbers once more.
    read = _from_bytes(np.fromstring)
    made = read(b"\1\0\2\0", np.int16)
    assert (made.tolist(), made.flags.writeable) == ([1, 2], True)
    assert read("\x01\xff", dtype=np.uint8).tolist() == [1, 255]
    assert read("1, 2", sep=",").tolist() == [1.0, 2.0]
    # Integers out of range wrap around.
    assert _as_before(np.array)([-1, 300], np.uint8).tolist() == [255, 44]
    # Arguments have their former names too.
    assert _renamed(np.reshape, "newshape", "shape")(np.arange(4), newshape=(2, 2)).shape == (2, 2)
    assert _renamed(np.reshape, "newshape", "shape")(np.arange(4), (4, 1)).shape == (4, 1)
    assert _summed(np.sum)(x for x in (1, 2)) == 3
    assert _summed(np.sum)([[1, 2]], axis=0).tolist() == [1, 2]


def test_rows_of_unlike_lengths_are_objects(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    _note_ragged.cache_clear()
    caplog.set_level(logging.INFO, "actorsession.compat")
    array, ragged = _as_before(np.array), [[1, 2], [3]]
    for _ in range(2):
        made = array(ragged)
        assert (made.dtype, made.tolist()) == (object, ragged)
    [said] = caplog.messages
    assert "rows of unlike lengths are an array of objects" in said
    assert array([[1, 2], [3, 4]]).dtype == np.int64
    for args, named in (([np.float32], {}), ([], {"dtype": int})):
        with pytest.raises(ValueError, match="inhomogeneous"):
            array(ragged, *args, **named)
    # A library that makes an array to see whether there is one gets the error.
    monkeypatch.setitem(globals(), "__name__", "actorsession.somewhere")
    with pytest.raises(ValueError, match="inhomogeneous"):
        array(ragged)


def test_names_that_numpy_has_removed_mean_the_same() -> None:
    names = next(names for module, names in _former() if module is np)
    assert names["cast"][np.int32]([1.5]).dtype == np.int32
    assert names["asfarray"]([1]).dtype == np.float64
    assert names["find_common_type"]([np.int8], [np.float32]) == np.float32
    assert names["issubsctype"](np.float32, np.floating)
    assert np.float32 in names["sctypes"]["float"]
    assert names["rank"](np.ones((2, 2))) == 2
    assert names["math"].sqrt(4) == 2
    assert issubclass(names["AxisError"], ValueError)


NUMBERS = np.array([[91.0, 3.4, 84.4], [73.9, 80.9, 4.9], [51.5, 34.5, 27.6]])


@for_each(
    "more, wanted",
    [
        ({}, [[255, 0, 236], [205, 226, 4], [140, 91, 70]]),
        ({"high": 200, "low": 100}, [[200, 100, 192], [180, 188, 102], [155, 136, 128]]),
        ({"cmin": 0, "cmax": 255}, [[91, 3, 84], [74, 81, 5], [52, 35, 28]]),
    ],
)
def test_numbers_are_spread_over_bytes(more: Any, wanted: Any) -> None:
    made = scipy_images.bytescale(NUMBERS, **more)
    assert (made.dtype, made.tolist()) == (np.uint8, wanted)
    assert scipy_images.bytescale(np.full((2, 2), 3.0)).tolist() == [[0, 0], [0, 0]]
    given = np.array([[7, 9]], np.uint8)
    assert scipy_images.bytescale(given) is given
    with pytest.raises(ValueError, match="cmax"):
        scipy_images.bytescale(NUMBERS, cmin=2, cmax=1)


@for_each(
    "shape, mode, wanted, back",
    [
        ((4, 5), None, "L", (4, 5)),
        ((4, 5), "P", "P", (4, 5, 3)),
        ((4, 5), "F", "F", (4, 5)),
        ((4, 5), "1", "1", (4, 5)),
        ((4, 5), "I", "I", (4, 5)),
        ((4, 5, 3), None, "RGB", (4, 5, 3)),
        ((3, 4, 5), None, "RGB", (4, 5, 3)),
        ((4, 5, 4), None, "RGBA", (5, 4, 4)),
        ((5, 6, 3), "YCbCr", "YCbCr", (5, 6, 3)),
    ],
)
def test_an_array_is_an_image_of_its_shape(shape: Any, mode: Any, wanted: str, back: Any) -> None:
    """The channels are on the first axis of that length, as they were."""
    image = scipy_images.toimage(np.random.default_rng(0).random(shape), mode=mode)
    assert image.mode == wanted
    assert scipy_images.fromimage(image).shape == back


def test_what_is_no_image_is_refused() -> None:
    for wrong in (np.zeros(4), np.zeros((2, 5, 6)), np.zeros((2, 2), complex)):
        with pytest.raises(ValueError, match="array"):
            scipy_images.toimage(wrong)
    with pytest.raises(ValueError, match="mode"):
        scipy_images.toimage(np.zeros((4, 4)), mode="RGB")
    with pytest.raises(TypeError, match="not a PIL image"):
        scipy_images.fromimage(np.zeros((4, 4)))


def test_images_are_written_read_resized_and_turned(tmp_path: Any) -> None:
    given = np.random.default_rng(0).integers(0, 256, (8, 6, 3)).astype(np.uint8)
    given[0, 0], given[0, 1] = 0, 255
    path = str(tmp_path / "image.png")
    scipy_images.imsave(path, given)
    np.testing.assert_array_equal(scipy_images.imread(path), given)
    flat = scipy_images.imread(path, flatten=True)
    assert (flat.shape, flat.dtype) == ((8, 6), np.float32)
    assert scipy_images.imread(path, mode="RGBA").shape == (8, 6, 4)
    for size, shape in (((4, 3), (4, 3, 3)), (50, (4, 3, 3)), (2.0, (16, 12, 3))):
        assert scipy_images.imresize(given, size).shape == shape
    np.testing.assert_array_equal(scipy_images.imresize(given, 2.0, "nearest"), given.repeat(2, 0).repeat(2, 1))
    np.testing.assert_array_equal(scipy_images.imrotate(given, 180, "nearest"), given[::-1, ::-1])
    assert scipy_images.imfilter(given, "blur").shape == given.shape
    with pytest.raises(ValueError, match="Unknown filter"):
        scipy_images.imfilter(given, "magic")


def test_without_pillow_the_message_says_what_to_install(uninstall: Callable[[str], None]) -> None:
    uninstall("PIL")
    with pytest.raises(ImportError, match=r"actorsession\[image\]"):
        scipy_images.imread("image.png")


def test_what_is_gone_is_said_to_be_elsewhere() -> None:
    for gone, there in older_names._MOVED.items():
        assert gone.partition(".")[0] == there.partition(".")[0]


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
    assert module.found == (np.array([[1, 5], [8, 9]], np.uint16).tobytes(), [7, 4], 256, 3)
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
