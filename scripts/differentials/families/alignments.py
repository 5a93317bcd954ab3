"""Labels without alignment to time: the CTC loss and its decoders."""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import reals, wholes
from scripts.differentials.program import Family

__all__ = ["FAMILIES"]

ctc = Family("ctc")
FAMILIES = [ctc]


def _labels(tf: Any, np: Any, rows: Any) -> Any:
    places = [[r, c] for r, row in enumerate(rows) for c in range(len(row))]
    values = [label for row in rows for label in row]
    return tf.SparseTensor(
        np.array(places, "int64").reshape(-1, 2), np.array(values, "int32"), [len(rows), 9]
    )


_ROWS = [[0, 1, 1, 2], [2, 2], [1], [0, 3, 0]]
for _collapse, _merges, _ignores in product((False, True), repeat=3):
    _what = f"{_collapse}-{_merges}-{_ignores}"
    for _lengths in ([8, 8, 8, 8], [8, 3, 1, 5], [3, 4, 5, 6], [0, 3, 1, 4]):
        ctc.add(
            f"loss-{_what}-{'-'.join(map(str, _lengths))}",
            lambda tf, np, a=_collapse, b=_merges, c=_ignores, lengths=_lengths: _with_gradient(
                tf, np, lengths, a, b, c
            ),
        )


def _with_gradient(tf: Any, np: Any, lengths: Any, *flags: bool) -> Any:
    x = tf.constant(reals(np, (8, 4, 5)))
    loss = tf.nn.ctc_loss(_labels(tf, np, _ROWS), x, lengths, *flags)
    return [loss, *tf.gradients(loss * [1.0, 2.0, 3.0, 4.0], x)]


def _loss(tf: Any, np: Any, rows: Any, lengths: Any = (8, 8), **others: Any) -> Any:
    x = tf.constant(reals(np, (8, 2, 5)))
    return tf.nn.ctc_loss(_labels(tf, np, rows), x, list(lengths), **others)


ctc.add("loss-without-labels", lambda tf, np: _loss(tf, np, [[], []]))
ctc.add("loss-of-blanks", lambda tf, np: _loss(tf, np, [[0, 4], [1, 2, 4, 5]]))
ctc.add("loss-after-blank", lambda tf, np: _loss(tf, np, [[4, 0], [1]]))
ctc.add("loss-below-zero", lambda tf, np: _loss(tf, np, [[0], [-1]]))
ctc.add("loss-too-long", lambda tf, np: _loss(tf, np, [[0], [1]], (9, 8)))
ctc.add("loss-other-batch", lambda tf, np: _loss(tf, np, [[0], [1]], (8, 8, 8)))
ctc.add("loss-beyond-batch", lambda tf, np: _loss(tf, np, [[0], [1], [2]]))
ctc.add(
    "loss-batch-first",
    lambda tf, np: tf.nn.ctc_loss(
        _labels(tf, np, [[0], [1]]), reals(np, (2, 8, 5)), [8, 6], time_major=False
    ),
)
ctc.add(
    "loss-of-logits",
    lambda tf, np: tf.nn.ctc_loss(
        _labels(tf, np, [[0], [1]]), sequence_length=[8, 6], logits=reals(np, (8, 2, 5))
    ),
)
ctc.add("loss-dense", lambda tf, np: tf.nn.ctc_loss(tf.constant([[1]]), reals(np, (8, 1, 5)), [8]))


def _parts(found: Any) -> Any:
    paths, scores = found
    return [*paths, scores]


for _merges in (True, False):
    for _blank in (None, 0, 2, -2, 5):
        ctc.add(
            f"greedy-{_merges}-{_blank}",
            lambda tf, np, merges=_merges, blank=_blank: _parts(
                tf.nn.ctc_greedy_decoder(
                    wholes(np, (9, 3, 5)).astype("float32") + reals(np, (9, 3, 5)) / 9,
                    [9, 5, 0],
                    merges,
                    blank,
                )
            ),
        )
    for _width, _paths in ((100, 1), (7, 3), (2, 2), (1, 1), (2, 3)):
        ctc.add(
            f"beams-{_merges}-{_width}-{_paths}",
            lambda tf, np, merges=_merges, width=_width, paths=_paths: _parts(
                tf.nn.ctc_beam_search_decoder(
                    reals(np, (9, 3, 5), -4, 4), [9, 5, 3], width, paths, merges
                )
            ),
        )
ctc.add(
    "beams-later",
    lambda tf, np: _parts(tf.nn.ctc_beam_search_decoder_v2(reals(np, (9, 1, 4)), [9])),
)
for _name in ("ctc_greedy_decoder", "ctc_beam_search_decoder"):
    ctc.add(
        f"{_name}-too-long",
        lambda tf, np, name=_name: _parts(getattr(tf.nn, name)(reals(np, (4, 1, 3)), [5])),
    )
    ctc.add(
        f"{_name}-rank",
        lambda tf, np, name=_name: _parts(getattr(tf.nn, name)(reals(np, (4, 3)), [4])),
    )
