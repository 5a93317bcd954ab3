"""``run-tf1`` gives programs what numpy and Python had when they were written."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession.compat.older_names import (
    _as_list,
    _former,
    _fromstring,
    _older,
    _renamed,
    _summed,
)


def test_an_array_without_a_copy_is_copied_where_it_must_be() -> None:
    array = _older(np.array)
    given = np.arange(3.0)
    assert array(given, copy=False) is given
    assert array([1, 2], copy=False).tolist() == [1, 2]
    assert array(given, np.float32, copy=False).dtype == np.float32
    assert array(given) is not given
    assert array(given, copy=None) is given


def test_rows_of_different_lengths_are_an_array_of_objects() -> None:
    array = _older(np.array)
    assert array([[1, 2], [3]]).tolist() == [[1, 2], [3]]
    pairs = array([(np.zeros(3), np.zeros(2)), (np.ones(3), np.ones(2))])
    assert (pairs.shape, pairs.dtype) == ((2, 2), np.dtype(object))
    with pytest.raises(ValueError, match="inhomogeneous"):
        array([[1, 2], [3]], np.float32)
    with pytest.raises(ValueError, match="inhomogeneous"):
        array([[1, 2], [3]], dtype=np.float32)


def test_several_arrays_of_a_function_are_a_list() -> None:
    rows, columns = _as_list(np.meshgrid)(np.arange(2), np.arange(3))
    assert rows.shape == columns.shape == (3, 2)
    assert isinstance(_as_list(np.meshgrid)(np.arange(2), np.arange(3)), list)
    assert isinstance(_as_list(np.atleast_1d)(1.0, 2.0), list)
    assert _as_list(np.atleast_1d)(1.0).shape == (1,)


def test_integers_out_of_range_wrap_around() -> None:
    assert _older(np.array)([-1, 300], np.uint8).tolist() == [255, 44]


def test_bytes_are_read_from_a_string_and_the_array_can_be_written_to() -> None:
    read = _fromstring(np.fromstring)
    found = read(b"\x01\x02\x03", np.uint8)
    found += 1
    assert found.tolist() == [2, 3, 4]
    assert read("1 2", sep=" ").tolist() == [1.0, 2.0]


def test_arguments_have_their_former_names_too() -> None:
    assert _renamed(np.reshape, "newshape", "shape")(np.arange(4), newshape=(2, 2)).shape == (2, 2)
    assert _renamed(np.reshape, "newshape", "shape")(np.arange(4), (4, 1)).shape == (4, 1)
    assert _summed(np.sum)(x for x in (1, 2)) == 3
    assert _summed(np.sum)([[1, 2]], axis=0).tolist() == [1, 2]


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
