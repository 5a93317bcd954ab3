"""``tf.nn``: the library's ``nn`` and recurrent networks, also under their names before TensorFlow 1.0."""

from __future__ import annotations

from actorsession.compat.v1.contrib import legacy_seq2seq as seq2seq
from actorsession.compat.v1.nn import rnn_cell
from actorsession.namespaces import nn
from actorsession.namespaces.nn import *  # noqa: F403 - its __all__ is the list
from actorsession.train.layers.recurrent.dynamic import bidirectional_dynamic_rnn, dynamic_rnn
from actorsession.train.layers.recurrent.raw import raw_rnn
from actorsession.train.layers.recurrent.static import (
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
)

__all__ = [
    "bidirectional_dynamic_rnn", "bidirectional_rnn", "dynamic_rnn", "raw_rnn", "rnn", "rnn_cell",
    "seq2seq", "state_saving_rnn", "static_bidirectional_rnn", "static_rnn",
    "static_state_saving_rnn", *nn.__all__,
]  # fmt: skip

rnn, bidirectional_rnn, state_saving_rnn = (
    static_rnn, static_bidirectional_rnn, static_state_saving_rnn,
)  # fmt: skip
