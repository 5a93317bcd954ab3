from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession.graph.dtypes import float32
from actorsession.ops.build import constant
from actorsession.ops.reductions.argmax import arg_max, arg_min, argmax, argmin
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

SEARCHES: dict[Op, Op] = {argmax: np.argmax, argmin: np.argmin}

both = for_each("op", SEARCHES, ids=lambda op: op.__name__)


def test_older_names_do_the_same() -> None:
    x = constant([[1.0, 3.0], [2.0, 0.0]])
    ops = [arg_max(x, 1), argmax(x, dimension=1), arg_min(x, 1)]
    for found, expected in zip(evaluate(ops), ([1, 0], [1, 0], [0, 1]), strict=True):
        np.testing.assert_array_equal(found, expected)


@both
def test_wrong_dtypes_are_a_type_error(op: Op) -> None:
    with pytest.raises(TypeError, match="complex64"):
        op(source("complex64", [2]))
    with pytest.raises(TypeError, match="as output; got float32"):
        op(source(float32, [2]), 0, output_type=float32)
