"""Rows of the op types about labels that are not aligned with time: by all alignments, tried one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from actorsession import SparseTensor, nn
from tests.ops.table.row import Fault, Row

INPUTS = np.random.default_rng(4).normal(size=(4, 2, 3)).astype(np.float32) * 2
PLACES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int64)
LABELS = np.array([0, 1, 1, 1], np.int32)
LENGTHS = np.array([4, 3], np.int32)


def _read(path: Any, blank: int, merges: bool) -> tuple[int, ...]:
    """The labels that one class a time spells."""
    out, before = [], blank
    for label in path:
        if label != blank and not (merges and label == before):
            out.append(label)
        before = label
    return tuple(out)


def _likelihoods(scores: Any, merges: bool = True) -> dict[tuple[int, ...], float]:
    """How likely each sequence of labels is, over all ways through time."""
    chances = np.exp(scores.astype(np.float64))
    chances /= chances.sum(1, keepdims=True)
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        labels = _read(path, scores.shape[1] - 1, merges)
        chance = float(np.prod(chances[np.arange(len(path)), list(path)]))
        found[labels] = found.get(labels, 0.0) + chance
    return found


def _loss(merges: bool, collapse: bool, ignores: bool = False) -> Any:
    def numpy(inputs: Any, places: Any, values: Any, lengths: Any) -> Any:
        out = np.zeros(inputs.shape[1])
        for row in range(inputs.shape[1]):
            labels = values[places[:, 0] == row].tolist()
            if collapse:
                labels = [label for label, _ in itertools.groupby(labels)]
            if ignores and len(labels) > lengths[row]:
                continue
            chances = _likelihoods(inputs[: lengths[row], row], merges)
            with np.errstate(divide="ignore"):
                out[row] = -np.log(chances.get(tuple(labels), 0.0))
        return out.astype(inputs.dtype)

    return numpy


def _built(merges: bool, collapse: bool, ignores: bool = False) -> Any:
    def build(inputs: Any, places: Any, values: Any, lengths: Any) -> Any:
        labels = SparseTensor(places, values, [2, 9])
        return nn.ctc_loss(labels, inputs, lengths, collapse, merges, ignores)

    return build


WIDE = INPUTS.astype(np.float64)
LOSSES = [
    Row(
        f"CTCLoss-{'merged' if merges else 'apart'}-{'collapsed' if collapse else 'whole'}",
        _built(merges, collapse),
        _loss(merges, collapse),
    ).on(
        [
            (INPUTS, PLACES, LABELS, LENGTHS),
            (WIDE, PLACES, LABELS, LENGTHS),
            (INPUTS, PLACES, LABELS, np.array([2, 2], np.int32)),
            (INPUTS, PLACES[[0, 2]], LABELS[[0, 2]], LENGTHS),
            (INPUTS, PLACES, np.array([0, 1, 0, 2], np.int32), LENGTHS),
            (INPUTS[:, :0], PLACES[:0], LABELS[:0], LENGTHS[:0]),
        ][: 4 if merges else 2],
        [(WIDE, PLACES, LABELS, LENGTHS)],
        [
            Fault((INPUTS[0], PLACES, LABELS, LENGTHS), "inputs have", "shapes"),
            Fault((INPUTS, PLACES, LABELS, LENGTHS[:1]), "has shape", "has shape"),
            Fault((INPUTS, PLACES, LABELS[:2], LENGTHS), "places", "do not fit"),
            Fault((INPUTS, PLACES, LABELS, LENGTHS + 1), r"is in \[0, 4\]"),
            Fault((INPUTS, PLACES, LABELS, np.array([4, 1], np.int32)), "Not enough time"),
            Fault((INPUTS, PLACES, LABELS - 1, LENGTHS), "nonnegative"),
            Fault((INPUTS, PLACES, np.array([2, 1, 0, 0], np.int32), LENGTHS), "non-null"),
            Fault((INPUTS, PLACES[:2], LABELS[:2], LENGTHS), "length is zero in batch 1"),
            Fault((INPUTS, PLACES[::-1], LABELS, LENGTHS), "in order"),
            Fault((INPUTS, PLACES + 1, LABELS, LENGTHS), "rows are in"),
            Fault((INPUTS[:0], PLACES, LABELS, 0 * LENGTHS), "inputs have time"),
        ],
        rtol=1e-5,
    )
    for merges in (True, False)
    for collapse in (True, False)
]
LOSSES.append(
    Row("CTCLoss-ignoring", _built(True, False, True), _loss(True, False, True)).on(
        [(INPUTS, PLACES, LABELS, np.array([4, 1], np.int32)), (INPUTS, PLACES, LABELS, np.array([0, 3], np.int32))],
        [(WIDE, PLACES, LABELS, np.array([4, 1], np.int32))],
        rtol=1e-5,
    )
)


def _sparse(rows: list[list[int]]) -> list[Any]:
    places = [[r, c] for r, row in enumerate(rows) for c in range(len(row))]
    return [
        np.array(places, np.int64).reshape(-1, 2),
        np.array([label for row in rows for label in row], np.int64),
        np.array([len(rows), max(map(len, rows))], np.int64),
    ]


TIMES = np.zeros((6, 2, 4), np.float32)
for _t, (_a, _b) in enumerate([(0, 1), (0, 1), (3, 1), (1, 3), (1, 3), (2, 3)]):
    TIMES[_t, 0, _a], TIMES[_t, 1, _b] = 2 + _t, 3 - _t / 8


def _greedily(merges: bool, blank: int) -> Row:
    def numpy(inputs: Any, lengths: Any) -> Any:
        best = inputs.argmax(2)
        rows = []
        for row, length in enumerate(lengths.tolist()):
            path = [int(c) for c in best[:length, row]]
            rows.append(list(_read(path, blank % inputs.shape[2], merges)))
        sums = [inputs[:n, r].max(1).sum() for r, n in enumerate(lengths.tolist())]
        return [*_sparse(rows), -np.array(sums, inputs.dtype)[:, np.newaxis]]

    attrs = {"merge_repeated": merges, "blank_index": blank}
    return Row(f"CTCGreedyDecoder-{merges}-{blank}", attrs, numpy).on(
        [(TIMES, np.array([6, 4], np.int32)), (TIMES.astype(np.float64), np.array([3, 0], np.int32))],
        faults=[
            Fault((TIMES[0], LENGTHS), "must not be empty", "rank 3"),
            Fault((TIMES[:, :, :0], LENGTHS), "must not be empty"),
            Fault((TIMES, LENGTHS[:1]), "a length for each", "has shape"),
        ],
        rtol=1e-5,
    )


def _searched(width: int, paths: int, merges: bool) -> Row:
    """A beam that is wide enough finds the best of all sequences."""

    def numpy(inputs: Any, lengths: Any) -> Any:
        found: list[list[list[int]]] = [[] for _ in range(paths)]
        chances = np.zeros((inputs.shape[1], paths), inputs.dtype)
        for row, length in enumerate(lengths.tolist()):
            ways = _likelihoods(inputs[:length, row])
            best = sorted(ways, key=lambda labels: -ways[labels])[:paths]
            chances[row] = [np.log(ways[labels]) for labels in best]
            for i, labels in enumerate(best):
                shown = [label for label, _ in itertools.groupby(labels)] if merges else labels
                found[i].append(list(shown))
        parts = [_sparse(rows) for rows in found]
        return [*(part[i] for i in range(3) for part in parts), chances]

    attrs = {"beam_width": width, "top_paths": paths, "merge_repeated": merges}
    return Row(f"CTCBeamSearchDecoder-{paths}-{merges}", attrs, numpy).on(
        [(INPUTS, LENGTHS), (WIDE / 4, LENGTHS), (INPUTS, 0 * LENGTHS)][: 2 + (paths == 1)],
        faults=[
            Fault((INPUTS[0], LENGTHS), "must not be empty", "rank 3"),
            Fault((INPUTS, LENGTHS[:1]), "a length for each", "has shape"),
        ],
        rtol=1e-5,
    )


GREEDY = [_greedily(*way) for way in ((True, -1), (False, -1), (True, 1), (False, -4))]
SEARCHED = [_searched(60, 1, True), _searched(60, 3, False), _searched(99, 2, True)]
