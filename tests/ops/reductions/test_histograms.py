from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import ops
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate, source


@pytest.mark.parametrize("known", [True, False], ids=["known", "hidden"])
def test_integers_of_any_shape_are_counted(known: bool) -> None:
    values = np.array([[1, 1], [2, 5]], np.int32)
    x = source("int32", [2, 2] if known else None)
    made = [ops.bincount(x), ops.bincount(x, minlength=8), ops.bincount(x, maxlength=2)]
    found = evaluate(made, {x: values})
    assert [v.tolist() for v in found] == [[0, 2, 1, 0, 0, 1], [0, 2, 1, 0, 0, 1, 0, 0], [0, 2]]


def test_counts_have_the_dtype_asked_for_or_that_of_the_weights() -> None:
    x = ops.constant([1, 1, 3])
    plain = ops.bincount(x, dtype="int64")
    weighed = ops.bincount(x, weights=ops.constant([0.5, 1.0, 2.0]))
    found = evaluate([plain, weighed])
    assert [v.dtype for v in found] == [np.int64, np.float32]
    assert [v.tolist() for v in found] == [[0, 2, 0, 1], [0, 1.5, 0, 2]]


def test_nothing_has_no_counts() -> None:
    assert evaluate([ops.bincount(ops.zeros([0], "int32"))])[0].tolist() == []


def test_integers_below_0_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="counts from 0; got -3"):
        evaluate([ops.bincount(ops.constant([1, -3]))])


def test_a_narrow_integer_type_is_refused() -> None:
    with pytest.raises(TypeError, match="int8"):
        ops.bincount(ops.constant(np.array([1], np.int8)))


def test_values_outside_the_range_fall_into_the_outer_bins() -> None:
    x = ops.constant([[-1.0, 0.0, 1.5], [2.0, 5.0, 15.0]])
    bins = ops.histogram_fixed_width_bins(x, [0.0, 5.0], 5)
    counts = ops.histogram_fixed_width(x, [0.0, 5.0], 5, dtype="int64")
    found = evaluate([bins, counts])
    assert found[0].tolist() == [[0, 0, 1], [2, 4, 4]]
    assert found[1].tolist() == [2, 1, 1, 0, 2]
    assert [v.dtype for v in found] == [np.int32, np.int64]


@pytest.mark.parametrize("build", [ops.histogram_fixed_width, ops.histogram_fixed_width_bins])
def test_a_histogram_has_a_bin(build: Any) -> None:
    with pytest.raises(ValueError, match="at least 1 bin"):
        build(ops.constant([1.0]), [0.0, 5.0], 0)


def test_a_confusion_matrix_counts_predictions_by_label() -> None:
    made = ops.confusion_matrix([1, 2, 2], [2, 2, 0])
    assert evaluate([made])[0].tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 1]]
    assert evaluate([made])[0].dtype == np.int32


def test_a_confusion_matrix_takes_columns_weights_and_a_number_of_classes() -> None:
    made = ops.confusion_matrix([0, 1], [[1], [1]], 3, "float32", weights=[0.5, 2.0])
    assert made.shape.as_list() == [3, 3]
    assert evaluate([made])[0].tolist() == [[0, 0.5, 0], [0, 2, 0], [0, 0, 0]]


@pytest.mark.parametrize("labels", [[1, -2], [1, 3]])
def test_a_class_out_of_range_is_an_error_of_the_step(labels: list[int]) -> None:
    with pytest.raises(InvalidArgumentError):
        evaluate([ops.confusion_matrix(labels, [0, 1], num_classes=3)])
