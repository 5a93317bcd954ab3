"""``tf.contrib``: the parts that are functions of this library under other names.

Layers, estimators and slim are not included. Anything else is missing as well, as in TensorFlow since 2.0.
"""

from __future__ import annotations

from actorsession.compat.v1 import distributions
from actorsession.compat.v1.contrib import (
    data,
    framework,
    layers,
    legacy_seq2seq,
    metrics,
    rnn,
    seq2seq,
    util,
)

__all__ = [
    "data", "distributions", "framework", "layers", "legacy_seq2seq", "metrics", "rnn", "seq2seq", "util",
]  # fmt: skip
