"""Tensors handed on: shapes that are ensured, several at once, promises."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import constant, gradients, int32, int64
from tests.ops.cases import static_shape
from tests.ops.interpreter import evaluate, source

M = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_shape_that_is_ensured_is_known_from_there_on() -> None:
    assert static_shape(lambda x: acts.arrays.ensure_shape(x, [2, None]), None) == [2, None]
    assert static_shape(lambda x: acts.arrays.ensure_shape(x, [2, None]), [None, 3]) == [2, 3]
    assert static_shape(lambda x: acts.arrays.ensure_shape(x, None), [2]) == [2]


def test_identity_n_keeps_dtypes_apart() -> None:
    first, second = acts.arrays.identity_n([M, [1, 2]])
    assert (first.op is second.op, second.dtype) == (True, int32)
    assert [v.tolist() for v in evaluate([first, second])] == [M.tolist(), [1, 2]]
    with pytest.raises(ValueError, match="at least one"):
        acts.arrays.identity_n([])


def test_only_what_is_used_of_identity_n_gets_a_gradient() -> None:
    x, y = constant(M), constant(M)
    first, _ = acts.arrays.identity_n([x, y])
    found = gradients(first, [x, y])
    assert found[0] is not None
    assert found[1] is None


def test_shape_n_asks_for_several_shapes_at_once() -> None:
    hidden = source("float32")
    one, other = acts.arrays.shape_n([M, hidden], out_type="int64")
    assert (one.dtype, one.shape.as_list(), other.shape.as_list()) == (int64, [2], [None])
    found = evaluate([one, other], {hidden: M[0]})
    assert [v.tolist() for v in found] == [[2, 3], [3]]
    with pytest.raises(TypeError, match="float32 is wanted here"):
        acts.arrays.shape_n([source("float32"), source("int32")])
    with pytest.raises(TypeError, match="gives int32, int64"):
        acts.arrays.shape_n([M], out_type="float32")
