"""Rows of what surrounds candidate samplers; the samplers themselves draw, and are tested elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import nn
from tests.ops.table.row import Fault, Row

TRUE = np.array([[0, 3], [5, 1], [3, 3]])


def _hits(true: Any, sampled: Any) -> list[Any]:
    """Example, position and weight of each true class in the sample; the last position of each class."""
    last = {int(c): i for i, c in enumerate(sampled)}
    found = [(row, last[int(c)]) for row, classes in enumerate(true) for c in classes if int(c) in last]
    rows, places = np.array(found, np.int64).reshape(-1, 2).T
    weights = np.full(len(found), np.finfo(np.float32).min, np.float32)
    return [rows.astype(np.int32), places, weights]


ROWS = [
    Row("ComputeAccidentalHits", lambda true, sampled: list(nn.compute_accidental_hits(true, sampled, 2)), _hits).on(
        [
            (TRUE, np.array([5, 0, 9, 0])),
            (TRUE, np.array([3])),
            (TRUE, np.array([7, 8])),
            (TRUE, np.zeros(0, np.int64)),
            (np.zeros([0, 2], np.int64), np.array([1, 2])),
        ],
        faults=[
            Fault(
                (TRUE[:, :1], np.array([1])), r"shape \[batch, 2\], got \[3, 1\]", r"shape \[batch, 2\], got \(3, 1\)"
            ),
            Fault((TRUE, np.array([[1]])), r"a vector, got shape \[1, 1\]", r"a vector, got shape \(1, 1\)"),
        ],
    )
]
