"""Rows of ``ConcatOffset``, which only graphs from elsewhere have."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.nodes import make
from tests.ops.table.row import Fault, Row


def _build(axis: Any, *shapes: Any) -> Any:
    return list(make("ConcatOffset", [axis, *shapes]).outputs)


def _begins(axis: Any, *shapes: Any) -> list[Any]:
    """Where each part begins in what ``np.concatenate`` makes of parts of these shapes."""
    made = []
    for number in range(len(shapes)):
        parts = [np.full(s, float(k == number)) for k, s in enumerate(shapes)]
        places = np.argwhere(np.concatenate(parts, axis))
        made.append(places.min(0).astype(shapes[number].dtype))
    return made


def _shape(*sizes: int, dtype: Any = np.int32) -> Any:
    return np.array(sizes, dtype)


ROWS = [
    Row("ConcatOffset", _build, _begins).on(
        [
            (np.int32(0), _shape(2, 3), _shape(1, 3), _shape(4, 3)),
            (np.int32(1), _shape(2, 3), _shape(2, 5)),
            (np.int32(-1), _shape(2, 3), _shape(2, 5)),
            (np.int32(0), _shape(7), _shape(1)),
            (np.int32(0), _shape(2, 3)),
            (np.int32(0), _shape(2, 3, dtype=np.int64), _shape(1, 3, dtype=np.int64)),
        ],
        faults=[
            Fault((np.int32(2), _shape(2, 3), _shape(1, 3)), "axis 2"),
            Fault((np.int32(0), _shape(2, 3), _shape(3)), "one rank", "vectors of one length"),
            Fault((np.int32(0), _shape(2, 3), _shape(2, 4)), "cannot be joined"),
        ],
    )
]
