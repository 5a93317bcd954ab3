from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, as_dtype, ops
from tests.ops.interpreter import evaluate
from tests.rows import for_each

CASES = [
    ([300.0, -5.0, 7.9], "uint8", [255, 0, 7]),
    ([3e20, -3e20], "int32", [2147483520, -(2**31)]),
    ([3e20, -3e20], "int64", [9223371487098961920, -(2**63)]),
    ([3e20, -3e20], "float16", [65504.0, -65504.0]),
    (np.array([2**64 - 1, 3], np.uint64), "int64", [2**63 - 1, 3]),
    (np.array([-5, 300], np.int32), "uint8", [0, 255]),
    (np.array([-5, 2**40]), "uint64", [0, 2**40]),
    (np.array([1e300, -1e300]), "float32", [np.finfo(np.float32).max, np.finfo(np.float32).min]),
    (np.array([1e300 + 1j]), "float32", [np.finfo(np.float32).max]),
    (np.array([1e300 - 2j]), "complex64", [np.finfo(np.float32).max - 2j]),
]


@for_each("values, dtype, wanted", CASES, ids=range(len(CASES)))
def test_values_out_of_range_become_the_nearest_that_both_types_have(
    values: Any, dtype: str, wanted: list[Any]
) -> None:
    [found] = evaluate([ops.saturate_cast(ops.constant(values), dtype)])
    assert found.dtype == as_dtype(dtype).np_dtype
    assert found.tolist() == wanted


def test_a_wider_range_needs_no_clipping(graph: Graph) -> None:
    ops.saturate_cast(ops.constant(np.array([1, 2], np.int8)), "int32")
    assert [op.type for op in graph.get_operations()] == ["Const", "Cast"]


def test_a_large_bfloat16_has_its_own_limit() -> None:
    [found] = evaluate([ops.saturate_cast(ops.constant(np.array([1e39, -5])), "bfloat16")])
    assert found.astype(np.float64).tolist() == [3.3895313892515355e38, -5]


@pytest.mark.parametrize("value", [[True], ["a"]])
def test_only_numbers_have_a_range(value: Any) -> None:
    with pytest.raises(TypeError, match="range"):
        ops.saturate_cast(ops.constant(value), "int32")
    with pytest.raises(TypeError, match=r"Bitcast takes .* quantised types; got"):
        ops.bitcast(ops.constant(value), "int8")
