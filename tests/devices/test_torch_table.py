"""The table of ops on ``TORCH_CPU``: what numpy says of each type, within the tolerances of another library."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from actorsession import ConfigProto, Graph, Session, as_dtype, constant, placeholder
from actorsession.errors import InvalidArgumentError
from tests import default_device
from tests.ops.table.row import Row
from tests.ops.test_table import CONSTANT, EVERY, FAULTY, HIDDEN, KNOWN, noted, skip_without, whole_numbers

pytest.importorskip("torch", reason="torch is not installed")

TORCH = f"/device:{default_device.TORCH}:0"
CONFIG = ConfigProto(device_count={default_device.TORCH: 1})
# Of results of so many bytes an element: relative and absolute.
TOLERANCE = {2: 8e-2, 4: 8e-5, 8: 2e-13, 16: 2e-12}
# What differs on purpose: a maximum of torch is NaN where there is one, and TensorFlow's passes it over; the gradient
# of a rectifier goes through where its input is NaN, and TensorFlow's does not.
DIFFERS = {("MaxPool", "NaN"), ("ReluGrad", "NaN")}
# The CPU's kernel gets a number where the interpreter of the table gives it an array of rank 0.
OTHER_WORDS = {"StridedSlice-position_refused"}


def arrays_of(row: Row, inputs: tuple[Any, ...], early: str) -> list[Any]:
    """What a node of the row gives on the device."""
    known = whole_numbers(inputs) if early == CONSTANT else set()
    with Graph().as_default() as graph, graph.device(TORCH):
        tensors, feeds = [], {}
        for k, array in enumerate(map(np.asarray, inputs)):
            if k in known:
                tensors.append(constant(array))
            else:
                tensors.append(placeholder(as_dtype(array.dtype), None if early == HIDDEN else array.shape))
                feeds[tensors[-1]] = array
        outputs = row.build(*tensors)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        with Session(graph=graph, config=CONFIG) as session:
            return session.run(outputs, feeds)


def is_left_out(row: Row, inputs: tuple[Any, ...]) -> bool:
    floats = [a for a in map(np.asarray, inputs) if a.dtype.kind == "f"]
    return (row.op, "NaN") in DIFFERS and any(np.isnan(a.astype(float)).any() for a in floats)


def compare(got: Any, expected: Any, row: Row) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if got.dtype.kind in "SO":
        assert got.tolist() == expected.tolist()
        return
    assert got.dtype == expected.dtype
    wide = {"c": np.complex128, "i": np.int64, "u": np.uint64, "b": np.bool_}.get(got.dtype.kind, np.float64)
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
    else:
        bound = TOLERANCE[4 if got.dtype == np.complex64 else got.dtype.itemsize]
        np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=max(10 * row.rtol, bound), atol=bound)


@EVERY
def test_an_op_computes_what_numpy_does(row: Row) -> None:
    skip_without(row)
    for inputs, early in itertools.product(row.inputs, (HIDDEN, KNOWN, CONSTANT)):
        if is_left_out(row, inputs) or (early == CONSTANT and not whole_numbers(inputs)):
            continue
        with noted(*inputs, early):
            with np.errstate(all="ignore"):
                expected = row.numpy(*inputs)
            try:
                got = arrays_of(row, inputs, early)
            except (TypeError, ValueError):
                assert early == HIDDEN  # it is not built where shapes are not known
                continue
            expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
            for pair in zip(got, expected, strict=True):
                compare(*pair, row)


@FAULTY
def test_values_that_do_not_fit_are_refused_in_the_words_of_the_cpu(row: Row) -> None:
    skip_without(row)
    if row.name in OTHER_WORDS:
        return
    for fault in row.faults:
        with noted(*fault.inputs), np.errstate(all="ignore"):
            with pytest.raises((InvalidArgumentError, TypeError, ValueError)) as refused:
                arrays_of(row, fault.inputs, HIDDEN)
            # Others come from the line that builds.
            if isinstance(refused.value, InvalidArgumentError):
                assert re.search(fault.match, str(refused.value))
