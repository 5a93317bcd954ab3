"""Rows of the op types that choose boxes in images; choices as TensorFlow 2.21 made them."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import image
from tests.nodes import make
from tests.ops.table.row import Fault, Row

BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 1, 0, 0.1], [0, 2, 1, 3], [0, 2, 0, 2]], np.float32)
SCORES = np.array([0.9, 0.8, 0.95, 0.7, 0.7], np.float32)
HALF, LOWEST, MANY = np.float32(0.5), np.float32(-np.inf), np.int32(9)


def _suppressed(*chosen: int, **changed: Any) -> Row:
    """What TensorFlow chooses; a change of an operand by its name."""
    usual = {"boxes": BOXES, "scores": SCORES, "most": MANY, "overlap": HALF, "least": LOWEST}
    return Row(
        f"NonMaxSuppressionV3-{'-'.join(['chosen', *changed, *map(str, chosen)])}",
        image.non_max_suppression,
        lambda *_: np.array(chosen, np.int32),
    ).on(
        [tuple({**usual, **changed}.values())],
        faults=[
            Fault((BOXES[:, :3], SCORES, MANY, HALF, LOWEST), "shape", "shape"),
            Fault((BOXES, SCORES[:2], MANY, HALF, LOWEST), "shape", "shape"),
            Fault((BOXES, SCORES, MANY, np.float32(1.5), LOWEST), "iou_threshold"),
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

# Soft choices as TensorFlow 2.21 made them.
SIX = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]],
    np.float32,
)
POINTS = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)
ONE, NIL = np.float32(1), np.float32(0)
SOFT = np.array([0.95, 0.9, 0.38400355, 0.3, 0.2560026, 0.19697244], np.float32)


def _filled(values: Any, length: int) -> Any:
    return np.concatenate([values, np.zeros(length - len(values), np.asarray(values).dtype)])


MOST = "max_output_size"


def _of_four(pads: bool) -> Row:
    wanted = np.array([3, 0, 5], np.int32)
    return Row(
        f"NonMaxSuppressionV4-{'padded' if pads else 'plain'}",
        lambda a, b, c, d, e: image.non_max_suppression_padded(a, b, c, d, e, pads),
        lambda *x: [_filled(wanted, 8) if pads else wanted, np.int32(3)],
    ).on(
        [(SIX, POINTS, np.int32(8), HALF, LOWEST)],
        faults=[Fault((SIX, POINTS, np.int32(-1), HALF, LOWEST), MOST, early="" if pads else None)],
    )


def _of_five(pads: bool) -> Row:
    def build(*x: Any) -> Any:
        if not pads:
            return image.non_max_suppression_with_scores(*x)
        return make("NonMaxSuppressionV5", list(x), {"pad_to_max_output_size": True}).outputs

    def numpy(boxes: Any, scores: Any, most: Any, overlap: Any, least: Any, sigma: Any) -> Any:
        places = np.array([3, 0, 1, 5, 4, 2] if sigma else [3, 0, 5], np.int32)[:most]
        rest = (SOFT if sigma else POINTS[places])[:most]
        if not pads:
            return [places, rest]
        return [_filled(places, int(most)), _filled(rest, int(most)), np.int32(len(places))]

    return Row(f"NonMaxSuppressionV5-{'padded' if pads else 'plain'}", build, numpy).on(
        [
            (SIX, POINTS, np.int32(6), ONE, NIL, HALF),
            (SIX, POINTS, np.int32(6), HALF, LOWEST, NIL),
            (SIX, POINTS, np.int32(2), HALF, LOWEST, NIL),
        ],
        faults=[Fault((SIX, POINTS, MANY, np.float32(2), NIL, NIL), "iou_threshold")],
        rtol=1e-5,
    )


OVERLAPS = Row(
    "NonMaxSuppressionWithOverlaps",
    image.non_max_suppression_overlaps,
    lambda given, scores, most, overlap, least: np.array(
        [2, 1, 0][:most] if given.any() and given[0, 1] == 0 else [2][: len(scores)], np.int32
    ),
).on(
    [
        (np.eye(3, dtype=np.float32), np.array([0.1, 0.2, 0.3], np.float32), most, HALF, LOWEST)
        for most in (MANY, np.int32(2))
    ]
    + [(np.ones((n, n), np.float32), np.arange(n, dtype=np.float32), MANY, HALF, LOWEST) for n in (3, 0)],
    faults=[
        Fault((np.ones((3, 2), np.float32), SCORES[:3], MANY, HALF, LOWEST), "shape", "shape"),
        Fault((np.eye(3, dtype=np.float32), SCORES[:3], -MANY, HALF, LOWEST), "max_output_size"),
    ],
)


def _combined(pads: bool, clips: bool, boxes: Any, numbers: Any, points: Any, classes: Any) -> Row:
    """What TensorFlow 2.21 chooses of two classes, three of each and eight in all."""
    shown = SIX[np.array(numbers)]
    wanted = [np.clip(shown, 0, 1) if clips else shown, np.array(points, np.float32)]
    wanted.append(np.array(classes, np.float32))
    room = min(8, 6) if pads else 8
    full = [np.zeros((1, room, *x.shape[1:]), np.float32) for x in wanted]
    for out, x in zip(full, wanted, strict=True):
        out[0, : len(x)] = x
    scores = np.stack([POINTS, POINTS[::-1]], 1)[np.newaxis]
    three, eight = np.int32(3), np.int32(8)
    return Row(
        f"CombinedNonMaxSuppression-{boxes.shape[2]}-{pads}-{clips}",
        lambda a, b, c, d, e, f: image.combined_non_max_suppression(a, b, c, d, e, f, pads, clips),
        lambda *_: [*full, np.array([len(numbers)], np.int32)],
    ).on(
        [(boxes, scores, three, eight, HALF, LOWEST)],
        faults=[
            Fault((boxes, scores[:, :2], three, eight, HALF, LOWEST), "shape", "shape"),
            Fault((boxes, scores, three, eight, np.float32(2), LOWEST), "iou_threshold"),
            Fault((boxes, scores, three, 0 * eight, HALF, LOWEST), "sizes", early="max_total_size should be > 0"),
        ],
    )


BEST = ([3, 2, 0, 5, 4, 5], [0.95, 0.95, 0.9, 0.9, 0.75, 0.3], [0, 1, 0, 1, 1, 0])
COMBINED = [
    _combined(pads, clips, boxes, *BEST)
    for boxes in (SIX[np.newaxis, :, np.newaxis], np.stack([SIX, SIX], 1)[np.newaxis])
    for pads, clips in ((False, True), (True, True), (False, False))
]

ROWS = [_of_four(False), _of_four(True), _of_five(False), _of_five(True)]
