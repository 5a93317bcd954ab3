"""``tf.contrib.legacy_seq2seq``, before TensorFlow 1.0 ``tf.nn.seq2seq``: losses and decoders over lists."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.contrib.legacy_seq2seq.sequences": (
        "basic_rnn_seq2seq list_loss=sequence_loss loss_by_example=sequence_loss_by_example "
        "rnn_decoder tied_rnn_seq2seq"
    ),
    "actorsession.compat.v1.contrib.legacy_seq2seq.attention": (
        "attention_decoder embedding_attention_decoder embedding_attention_seq2seq "
        "embedding_rnn_decoder embedding_rnn_seq2seq embedding_tied_rnn_seq2seq model_with_buckets"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
