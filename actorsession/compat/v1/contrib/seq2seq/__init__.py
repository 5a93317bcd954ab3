"""``tf.contrib.seq2seq``: decoders step by step, attention to what an encoder put out, and beam search."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.contrib.legacy_seq2seq.sequences": "sequence_loss",
    ".attention": (
        "AttentionMechanism AttentionWrapper AttentionWrapperState BahdanauAttention LuongAttention hardmax"
    ),
    ".beam_search": (
        "BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState "
        "FinalBeamSearchDecoderOutput gather_tree tile_batch"
    ),
    ".decoders": "BasicDecoder BasicDecoderOutput Decoder dynamic_decode",
    ".monotonic": ("BahdanauMonotonicAttention LuongMonotonicAttention monotonic_attention safe_cumprod"),
    ".helpers": (
        "CustomHelper GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper "
        "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper TrainingHelper"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

add_modules(__name__)
