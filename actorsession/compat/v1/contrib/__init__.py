"""``tf.contrib``: what of it is a function of this library under another name.

Layers, estimators and slim are not here; as in TensorFlow since 2.0, nothing else is either.
"""

from __future__ import annotations

from actorsession.compat.v1 import distributions
from actorsession.compat.v1.contrib import (
    framework,
    layers,
    legacy_seq2seq,
    metrics,
    rnn,
    seq2seq,
    util,
)

__all__ = [
    "distributions", "framework", "layers", "legacy_seq2seq", "metrics", "rnn", "seq2seq", "util",
]  # fmt: skip
