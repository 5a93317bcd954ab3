"""Labels without alignment to time: the CTC loss and its decoders."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import reals, wholes
from scripts.differentials.program import Family

__all__ = ["FAMILIES"]

ctc = Family("ctc")
FAMILIES = [ctc]


def _labels(tf: Any, np: Any, rows: Any) -> Any:
    places = [[r, c] for r, row in enumerate(rows) for c in range(len(row))]
    values = [label for row in rows for label in row]
    return tf.SparseTensor(np.array(places, "int64").reshape(-1, 2), np.array(values, "int32"), [len(rows), 9])


_ROWS = [[0, 1, 1, 2], [2, 2], [1], [0, 3, 0]]
_BOOLS = (False, True)
_TIMES = ([8, 8, 8, 8], [8, 3, 1, 5], [3, 4, 5, 6], [0, 3, 1, 4])


@ctc(
    "loss-{collapse}-{merges}-{ignores}-{lengths}",
    collapse=_BOOLS,
    merges=_BOOLS,
    ignores=_BOOLS,
    lengths={"-".join(map(str, each)): each for each in _TIMES},
)
def _with_gradient(tf: Any, np: Any, lengths: Any, **flags: bool) -> Any:
    x = tf.constant(reals(np, (8, 4, 5)))
    loss = tf.nn.ctc_loss(_labels(tf, np, _ROWS), x, lengths, *flags.values())
    return [loss, *tf.gradients(loss * [1.0, 2.0, 3.0, 4.0], x)]


def _loss(tf: Any, np: Any, rows: Any, lengths: Any = (8, 8), **others: Any) -> Any:
    x = tf.constant(reals(np, (8, 2, 5)))
    return tf.nn.ctc_loss(_labels(tf, np, rows), x, list(lengths), **others)


ctc.each(
    {
        "loss-without-labels": lambda tf, np: _loss(tf, np, [[], []]),
        "loss-of-blanks": lambda tf, np: _loss(tf, np, [[0, 4], [1, 2, 4, 5]]),
        "loss-after-blank": lambda tf, np: _loss(tf, np, [[4, 0], [1]]),
        "loss-below-zero": lambda tf, np: _loss(tf, np, [[0], [-1]]),
        "loss-too-long": lambda tf, np: _loss(tf, np, [[0], [1]], (9, 8)),
        "loss-other-batch": lambda tf, np: _loss(tf, np, [[0], [1]], (8, 8, 8)),
        "loss-beyond-batch": lambda tf, np: _loss(tf, np, [[0], [1], [2]]),
        "loss-batch-first": lambda tf, np: tf.nn.ctc_loss(
            _labels(tf, np, [[0], [1]]), reals(np, (2, 8, 5)), [8, 6], time_major=False
        ),
        "loss-of-logits": lambda tf, np: tf.nn.ctc_loss(
            _labels(tf, np, [[0], [1]]), sequence_length=[8, 6], logits=reals(np, (8, 2, 5))
        ),
        "loss-dense": lambda tf, np: tf.nn.ctc_loss(tf.constant([[1]]), reals(np, (8, 1, 5)), [8]),
    }
)


def _parts(found: Any) -> Any:
    paths, scores = found
    return [*paths, scores]


@ctc("greedy-{merges}-{blank}", merges=_BOOLS, blank=(None, 0, 2, -2, 5))
def _greedy(tf: Any, np: Any, merges: bool, blank: int | None) -> Any:
    x = wholes(np, (9, 3, 5)).astype("float32") + reals(np, (9, 3, 5)) / 9
    return _parts(tf.nn.ctc_greedy_decoder(x, [9, 5, 0], merges, blank))


_BEAMS = {f"{width}-{paths}": (width, paths) for width, paths in ((100, 1), (7, 3), (2, 2), (1, 1), (2, 3))}


@ctc("beams-{merges}-{beams}", merges=_BOOLS, beams=_BEAMS)
def _searched(tf: Any, np: Any, merges: bool, beams: tuple[int, int]) -> Any:
    x = reals(np, (9, 3, 5), -4, 4)
    return _parts(tf.nn.ctc_beam_search_decoder(x, [9, 5, 3], *beams, merges))


ctc.add("beams-later", lambda tf, np: _parts(tf.nn.ctc_beam_search_decoder_v2(reals(np, (9, 1, 4)), [9])))
ctc.over(
    "{name}-{x}",
    lambda tf, np, name, x: _parts(getattr(tf.nn, name)(reals(np, x[0]), [x[1]])),
    name=("ctc_greedy_decoder", "ctc_beam_search_decoder"),
    x={"too-long": ((4, 1, 3), 5), "rank": ((4, 3), 4)},
)
