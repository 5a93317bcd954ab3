"""``run-tf1`` gives programs what numpy and Python had when they were written."""

from __future__ import annotations

import numpy as np

from actorsession.compat.older_names import _as_list, _without_copy


def test_an_array_without_a_copy_is_copied_where_it_must_be() -> None:
    array = _without_copy(np.array)
    given = np.arange(3.0)
    assert array(given, copy=False) is given
    assert array([1, 2], copy=False).tolist() == [1, 2]
    assert array(given, np.float32, copy=False).dtype == np.float32
    assert array(given) is not given
    assert array(given, copy=None) is given


def test_several_arrays_of_a_function_are_a_list() -> None:
    rows, columns = _as_list(np.meshgrid)(np.arange(2), np.arange(3))
    assert rows.shape == columns.shape == (3, 2)
    assert isinstance(_as_list(np.meshgrid)(np.arange(2), np.arange(3)), list)
    assert isinstance(_as_list(np.atleast_1d)(1.0, 2.0), list)
    assert _as_list(np.atleast_1d)(1.0).shape == (1,)
