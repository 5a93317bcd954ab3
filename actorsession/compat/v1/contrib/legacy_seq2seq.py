"""``tf.contrib.legacy_seq2seq``, before TensorFlow 1.0 ``tf.nn.seq2seq``: losses and plain decoders."""

from __future__ import annotations

from actorsession.compat.v1.recurrent.sequences import (
    basic_rnn_seq2seq,
    rnn_decoder,
    tied_rnn_seq2seq,
)
from actorsession.compat.v1.recurrent.sequences import list_loss as sequence_loss
from actorsession.compat.v1.recurrent.sequences import loss_by_example as sequence_loss_by_example

__all__ = [
    "basic_rnn_seq2seq", "rnn_decoder", "sequence_loss", "sequence_loss_by_example",
    "tied_rnn_seq2seq",
]  # fmt: skip
