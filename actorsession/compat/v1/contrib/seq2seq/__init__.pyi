# Written by scripts/generated.py.
"""``tf.contrib.seq2seq``: decoders step by step, attention to what an encoder put out, and beam search."""

from actorsession.compat.v1.contrib.legacy_seq2seq.sequences import sequence_loss as sequence_loss
from actorsession.compat.v1.contrib.seq2seq.attention import (
AttentionMechanism as AttentionMechanism, AttentionWrapper as AttentionWrapper,
AttentionWrapperState as AttentionWrapperState, BahdanauAttention as BahdanauAttention,
LuongAttention as LuongAttention, hardmax as hardmax
)
from actorsession.compat.v1.contrib.seq2seq.beam_search import (
BeamSearchDecoder as BeamSearchDecoder, BeamSearchDecoderOutput as BeamSearchDecoderOutput,
BeamSearchDecoderState as BeamSearchDecoderState, FinalBeamSearchDecoderOutput as
FinalBeamSearchDecoderOutput, gather_tree as gather_tree, tile_batch as tile_batch
)
from actorsession.compat.v1.contrib.seq2seq.decoders import (
BasicDecoder as BasicDecoder, BasicDecoderOutput as BasicDecoderOutput, Decoder as Decoder,
dynamic_decode as dynamic_decode
)
from actorsession.compat.v1.contrib.seq2seq.helpers import (
CustomHelper as CustomHelper, GreedyEmbeddingHelper as GreedyEmbeddingHelper, Helper as Helper,
InferenceHelper as InferenceHelper, SampleEmbeddingHelper as SampleEmbeddingHelper,
ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper, ScheduledOutputTrainingHelper
as ScheduledOutputTrainingHelper, TrainingHelper as TrainingHelper
)
from actorsession.compat.v1.contrib.seq2seq.monotonic import (
BahdanauMonotonicAttention as BahdanauMonotonicAttention, LuongMonotonicAttention as
LuongMonotonicAttention, monotonic_attention as monotonic_attention, safe_cumprod as safe_cumprod
)


__all__ = [
"AttentionMechanism", "AttentionWrapper", "AttentionWrapperState", "BahdanauAttention",
"BahdanauMonotonicAttention", "BasicDecoder", "BasicDecoderOutput", "BeamSearchDecoder",
"BeamSearchDecoderOutput", "BeamSearchDecoderState", "CustomHelper", "Decoder",
"FinalBeamSearchDecoderOutput", "GreedyEmbeddingHelper", "Helper", "InferenceHelper",
"LuongAttention", "LuongMonotonicAttention", "SampleEmbeddingHelper",
"ScheduledEmbeddingTrainingHelper", "ScheduledOutputTrainingHelper", "TrainingHelper",
"dynamic_decode", "gather_tree", "hardmax", "monotonic_attention", "safe_cumprod", "sequence_loss",
"tile_batch"
]
