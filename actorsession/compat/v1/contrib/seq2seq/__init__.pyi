# Written by scripts/generated.py.
"""``tf.contrib.seq2seq``: decoders step by step, attention to what an encoder put out, and beam search."""

from actorsession.compat.v1.contrib.legacy_seq2seq.sequences import sequence_loss as sequence_loss
from actorsession.compat.v1.contrib.seq2seq.attention import AttentionMechanism as AttentionMechanism
from actorsession.compat.v1.contrib.seq2seq.attention import AttentionWrapper as AttentionWrapper
from actorsession.compat.v1.contrib.seq2seq.attention import AttentionWrapperState as AttentionWrapperState
from actorsession.compat.v1.contrib.seq2seq.attention import BahdanauAttention as BahdanauAttention
from actorsession.compat.v1.contrib.seq2seq.attention import LuongAttention as LuongAttention
from actorsession.compat.v1.contrib.seq2seq.attention import hardmax as hardmax
from actorsession.compat.v1.contrib.seq2seq.beam_search import BeamSearchDecoder as BeamSearchDecoder
from actorsession.compat.v1.contrib.seq2seq.beam_search import BeamSearchDecoderOutput as BeamSearchDecoderOutput
from actorsession.compat.v1.contrib.seq2seq.beam_search import BeamSearchDecoderState as BeamSearchDecoderState
from actorsession.compat.v1.contrib.seq2seq.beam_search import FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput
from actorsession.compat.v1.contrib.seq2seq.beam_search import gather_tree as gather_tree
from actorsession.compat.v1.contrib.seq2seq.beam_search import tile_batch as tile_batch
from actorsession.compat.v1.contrib.seq2seq.decoders import BasicDecoder as BasicDecoder
from actorsession.compat.v1.contrib.seq2seq.decoders import BasicDecoderOutput as BasicDecoderOutput
from actorsession.compat.v1.contrib.seq2seq.decoders import Decoder as Decoder
from actorsession.compat.v1.contrib.seq2seq.decoders import dynamic_decode as dynamic_decode
from actorsession.compat.v1.contrib.seq2seq.helpers import CustomHelper as CustomHelper
from actorsession.compat.v1.contrib.seq2seq.helpers import GreedyEmbeddingHelper as GreedyEmbeddingHelper
from actorsession.compat.v1.contrib.seq2seq.helpers import Helper as Helper
from actorsession.compat.v1.contrib.seq2seq.helpers import InferenceHelper as InferenceHelper
from actorsession.compat.v1.contrib.seq2seq.helpers import SampleEmbeddingHelper as SampleEmbeddingHelper
from actorsession.compat.v1.contrib.seq2seq.helpers import ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper
from actorsession.compat.v1.contrib.seq2seq.helpers import ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper
from actorsession.compat.v1.contrib.seq2seq.helpers import TrainingHelper as TrainingHelper
from actorsession.compat.v1.contrib.seq2seq.monotonic import BahdanauMonotonicAttention as BahdanauMonotonicAttention
from actorsession.compat.v1.contrib.seq2seq.monotonic import LuongMonotonicAttention as LuongMonotonicAttention
from actorsession.compat.v1.contrib.seq2seq.monotonic import monotonic_attention as monotonic_attention
from actorsession.compat.v1.contrib.seq2seq.monotonic import safe_cumprod as safe_cumprod

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
