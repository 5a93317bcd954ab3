"""Rows of the op types that choose boxes in images; choices as TensorFlow 2.21 made them."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.ops import image
from tests.ops.table.row import Fault, Row

__all__ = ["ROWS"]

BOXES = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 1, 0, 0.1], [0, 2, 1, 3], [0, 2, 0, 2]], np.float32
)  # fmt: skip
SCORES = np.array([0.9, 0.8, 0.95, 0.7, 0.7], np.float32)
HALF, LOWEST, MANY = np.float32(0.5), np.float32(-np.inf), np.int32(9)


def _suppressed(*chosen: int, **changed: Any) -> Row:
    """What TensorFlow chooses; a change of an operand by its name."""
    usual = {"boxes": BOXES, "scores": SCORES, "most": MANY, "overlap": HALF, "least": LOWEST}
    return Row(
        op="NonMaxSuppressionV3",
        build=image.non_max_suppression,
        numpy=lambda *_: np.array(chosen, np.int32),
        inputs=[tuple({**usual, **changed}.values())],
        label="-".join(["chosen", *changed, *map(str, chosen)]),
        no_gradient="integers; TensorFlow marks it so",
        faults=[
            Fault(inputs=(BOXES[:, :3], SCORES, MANY, HALF, LOWEST), match="shape", static="shape"),
            Fault(inputs=(BOXES, SCORES[:2], MANY, HALF, LOWEST), match="shape", static="shape"),
            Fault(inputs=(BOXES, SCORES, MANY, np.float32(1.5), LOWEST), match="iou_threshold"),
        ],
    )


SUPPRESSED = [
    _suppressed(2, 3, 4),
    _suppressed(2, 3, most=np.int32(2)),
    _suppressed(most=np.int32(0)),
    _suppressed(2, least=np.float32(0.7)),
    _suppressed(2, 0, 1, 3, 4, overlap=np.float32(1)),
    _suppressed(2, 3, 4, overlap=np.float32(0)),
    _suppressed(boxes=BOXES[:0], scores=SCORES[:0]),
]

ROWS = SUPPRESSED
