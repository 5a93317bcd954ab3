"""Cells as one operation; their values are compared with TensorFlow's in ``tests/test_recorded.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import Graph
from actorsession.errors import InvalidArgumentError
from actorsession.ops import raw
from tests.ops.interpreter import check_gradient, evaluate
from tests.rows import for_each, refused

BATCH, WIDE, UNITS = 2, 3, 2
RANDOM = np.random.default_rng(5)


def numbers(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


def lstm(*time: int) -> list[Any]:
    weights = [numbers(WIDE + UNITS, 4 * UNITS), *(numbers(UNITS) for _ in range(3)), numbers(4 * UNITS)]
    return [numbers(*time, BATCH, WIDE), numbers(BATCH, UNITS), numbers(BATCH, UNITS), *weights]


@for_each("peepholes", [False, True])
@for_each("op", ["LSTMBlockCell", "BlockLSTM", "BlockLSTMV2"])
def test_gradients_of_the_state_and_the_output_are_those_of_finite_differences(op: str, peepholes: bool) -> None:
    whole = op != "LSTMBlockCell"
    given = lstm(3) if whole else lstm()

    def build(*operands: Any) -> Any:
        first = [np.int64(3)] if whole else []
        attrs = {} if op.endswith("V2") else {"cell_clip": -1.0}
        found = getattr(raw, op)(*first, *operands, use_peephole=peepholes, **attrs)
        return [found[1], found[6]]

    check_gradient(build, *given)


def test_gradients_of_a_gru_are_those_of_finite_differences() -> None:
    rows = WIDE + UNITS
    given = [
        numbers(BATCH, WIDE),
        numbers(BATCH, UNITS),
        numbers(rows, 2 * UNITS),
        numbers(rows, UNITS),
        numbers(2 * UNITS),
        numbers(UNITS),
    ]
    with Graph().as_default():
        check_gradient(lambda *operands: raw.GRUBlockCell(*operands)[3], *given)


@for_each("place", range(8))
def test_shapes_that_do_not_fit_are_refused(place: int) -> None:
    given = lstm()
    given[place] = given[place][..., :1] if place < 7 else np.zeros(3, np.float32)
    refused(lambda: evaluate(list(raw.LSTMBlockCell(*given, use_peephole=True))), (InvalidArgumentError, ValueError))
