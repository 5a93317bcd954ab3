from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from tests.ops.interpreter import evaluate


def test_values_are_clipped_by_two_ops_with_the_names_of_tensorflow(graph: Graph) -> None:
    clipped = ops.clip_by_value(ops.constant([-5.0, 0.5, 7.0]), -1, 1.0)
    assert evaluate([clipped])[0].tolist() == [-1.0, 0.5, 1.0]
    types = {op.name: op.type for op in graph.get_operations() if op.type != "Const"}
    assert types == {"clip_by_value/Minimum": "Minimum", "clip_by_value": "Maximum"}


def test_limits_that_would_make_the_tensor_larger_are_refused() -> None:
    with pytest.raises(ValueError, match="keeps the shape"):
        ops.clip_by_value(ops.constant([1.0, 2.0]), ops.constant([[1.0], [2.0]]), 3.0)


def test_integers_are_not_clipped_to_floats() -> None:
    with pytest.raises(TypeError):
        ops.clip_by_value(ops.constant([1, 2]), -3.5, 3.5)


def test_slices_are_clipped_by_their_rows() -> None:
    rows, indices = ops.constant([[3.0, 4.0]]), ops.constant([7])
    slices = ops.IndexedSlices(rows, indices, ops.constant([9, 2]))
    clipped = ops.clip_by_value(slices, 0.0, 3.5)
    assert isinstance(clipped, ops.IndexedSlices)
    assert clipped.indices is indices
    scaled = ops.clip_by_norm(slices, 1.0)
    assert evaluate([clipped.values])[0].tolist() == [[3.0, 3.5]]
    np.testing.assert_allclose(evaluate([scaled.values])[0], [[0.6, 0.8]], 1e-6)


def test_a_norm_is_clipped_over_all_axes_or_some() -> None:
    x = ops.constant([[3.0, 4.0], [0.1, 0.2]])
    whole, rows = evaluate([ops.clip_by_norm(x, 1.0), ops.clip_by_norm(x, 1.0, axes=[1])])
    np.testing.assert_allclose(np.linalg.norm(whole), 1, 1e-6)
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.1, 0.2]], 1e-6)


def test_a_norm_of_0_has_a_finite_gradient() -> None:
    x = ops.constant([0.0, 0.0])
    clipped = ops.clip_by_norm(x, 1.0)
    value, slope = evaluate([clipped, *ops.gradients(clipped, x)])
    assert value.tolist() == [0.0, 0.0]
    assert np.isfinite(slope).all()


def test_a_negative_norm_counts_as_0() -> None:
    x = ops.constant([3.0, 4.0])
    made = [ops.clip_by_norm(x, -1.0), ops.clip_by_norm(x, ops.constant(-1.0))]
    assert [value.tolist() for value in evaluate(made)] == [[0.0, 0.0]] * 2


def test_an_average_norm_is_clipped() -> None:
    # The norm of [3, 4] by its two elements is 2.5.
    x = ops.constant([3.0, 4.0])
    made = [ops.clip_by_average_norm(x, 0.5), ops.clip_by_average_norm(x, 9.0)]
    found = evaluate(made)
    np.testing.assert_allclose(found[0], [0.6, 0.8], 1e-6)
    np.testing.assert_allclose(found[1], [3, 4], 1e-6)


def test_a_global_norm_scales_all_tensors_alike_and_keeps_none() -> None:
    slices = ops.IndexedSlices(ops.constant([[12.0]]), ops.constant([0]))
    clipped, norm = ops.clip_by_global_norm([ops.constant([3.0, 4.0]), None, slices], 1.3)
    assert clipped[1] is None
    assert isinstance(clipped[2], ops.IndexedSlices)
    first, second, total = evaluate([clipped[0], clipped[2].values, norm])
    np.testing.assert_allclose(total, 13, 1e-6)
    np.testing.assert_allclose(first, [0.3, 0.4], 1e-6)
    np.testing.assert_allclose(second, [[1.2]], 1e-6)


def test_a_small_global_norm_changes_nothing() -> None:
    clipped, norm = ops.clip_by_global_norm([ops.constant([3.0, 4.0])], 20.0)
    np.testing.assert_allclose(evaluate([clipped[0]])[0], [3, 4], 1e-6)
    given, same = ops.clip_by_global_norm([ops.constant([3.0, 4.0])], 1.0, use_norm=norm)
    assert same is norm
    np.testing.assert_allclose(evaluate([given[0]])[0], [0.6, 0.8], 1e-6)


def test_a_global_norm_that_is_infinite_shows_in_every_value() -> None:
    clipped, _ = ops.clip_by_global_norm([ops.constant([np.inf]), ops.constant([1.0])], 1.0)
    assert np.isnan(np.concatenate(evaluate(clipped))).all()


def test_nothing_has_a_global_norm_of_0() -> None:
    assert evaluate([ops.global_norm([None])])[0] == 0


@pytest.mark.parametrize("given", ["gradients", 3.0])
def test_a_global_norm_is_one_of_a_list(given: Any) -> None:
    with pytest.raises(TypeError, match="list"):
        ops.global_norm(given)
    with pytest.raises(TypeError, match="list"):
        ops.clip_by_global_norm(given, 1.0)


def test_each_part_of_a_global_norm_is_computed_where_its_tensor_is(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        x = ops.constant([3.0, 4.0])
    clipped, _ = ops.clip_by_global_norm([x], 1.0)
    [loss] = [op for op in graph.get_operations() if op.type == "L2Loss"]
    assert loss.groups() == (f"loc:@{x.op.name}",)
    assert clipped[0].op.groups() == (f"loc:@{x.op.name}",)
