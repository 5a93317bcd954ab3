from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import argmax, argmin, float32
from tests.ops.interpreter import source
from tests.rows import for_each

Op = Callable[..., Any]

SEARCHES: dict[Op, Op] = {argmax: np.argmax, argmin: np.argmin}

both = for_each("op", SEARCHES, ids=lambda op: op.__name__)


@both
def test_wrong_dtypes_are_a_type_error(op: Op) -> None:
    with pytest.raises(TypeError, match="complex64"):
        op(source("complex64", [2]))
    with pytest.raises(TypeError, match="as output; got float32"):
        op(source(float32, [2]), 0, output_type=float32)
