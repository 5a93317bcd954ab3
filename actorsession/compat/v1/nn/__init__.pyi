# Written by scripts/generated.py.
"""``tf.nn``: the library's ``nn`` and recurrent networks, also under their names before TensorFlow 1.0."""

from actorsession.compat.v1.contrib import legacy_seq2seq as seq2seq
from actorsession.compat.v1.nn import rnn_cell as rnn_cell
from actorsession.ops.arrays.batch_blocks import space_to_batch as space_to_batch
from actorsession.ops.arrays.depth_blocks import (
depth_to_space as depth_to_space, space_to_depth as space_to_depth
)
from actorsession.ops.convolutions.backprops import (
conv3d_backprop_filter as conv3d_backprop_filter, conv3d_backprop_filter_v2 as
conv3d_backprop_filter_v2
)
from actorsession.ops.convolutions.depthwise import (
depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter,
depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input, depthwise_conv2d_native as
depthwise_conv2d_native, depthwise_conv2d_native_backprop_filter as
depthwise_conv2d_native_backprop_filter, depthwise_conv2d_native_backprop_input as
depthwise_conv2d_native_backprop_input
)
from actorsession.ops.convolutions.dilation import erosion2d as erosion2d
from actorsession.ops.convolutions.fractional_pooling import (
fractional_avg_pool as fractional_avg_pool, fractional_max_pool as fractional_max_pool
)
from actorsession.ops.convolutions.operations import atrous_conv2d as atrous_conv2d
from actorsession.ops.convolutions.pooling import (
avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d, avg_pool_v2 as
avg_pool_v2, max_pool1d as max_pool1d, max_pool2d as max_pool2d, max_pool3d as max_pool3d,
max_pool_v2 as max_pool_v2
)
from actorsession.ops.convolutions.transposed import (
atrous_conv2d_transpose as atrous_conv2d_transpose, conv1d_transpose as conv1d_transpose,
conv_transpose as conv_transpose
)
from actorsession.ops.neural.activations import (
elu as elu, relu as relu, relu6 as relu6, sigmoid as sigmoid, softplus as softplus, tanh as tanh
)
from actorsession.ops.neural.biases import (
bias_add as bias_add, bias_add_grad as bias_add_grad, relu_layer as relu_layer, xw_plus_b as
xw_plus_b
)
from actorsession.ops.neural.cross_entropy import (
sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
)
from actorsession.ops.neural.fused_batch_norm import fused_batch_norm as fused_batch_norm
from actorsession.ops.neural.l2_loss import l2_loss as l2_loss
from actorsession.ops.neural.lrn import (
local_response_normalization as local_response_normalization, lrn as lrn
)
from actorsession.ops.neural.normalisation import (
batch_norm_with_global_normalization as batch_norm_with_global_normalization, batch_normalization as
batch_normalization, normalize_moments as normalize_moments
)
from actorsession.ops.neural.pointwise_losses import log_poisson_loss as log_poisson_loss
from actorsession.ops.neural.rectifiers import (
crelu as crelu, leaky_relu as leaky_relu, selu as selu, softsign as softsign, swish as swish, swish
as silu
)
from actorsession.ops.reductions.spread import zero_fraction as zero_fraction
from actorsession.ops.reductions.topk import TopKV2 as TopKV2, in_top_k as in_top_k
from actorsession.opsets.ctc.decoders import (
ctc_beam_search_decoder as ctc_beam_search_decoder, ctc_beam_search_decoder_v2 as
ctc_beam_search_decoder_v2, ctc_greedy_decoder as ctc_greedy_decoder
)
from actorsession.opsets.ctc.loss import (
collapse_repeated as collapse_repeated, ctc_unique_labels as ctc_unique_labels
)
from actorsession.opsets.quantisation.neural import (
quantized_avg_pool as quantized_avg_pool, quantized_conv2d as quantized_conv2d, quantized_max_pool
as quantized_max_pool
)
from actorsession.opsets.sampling.accidental_hits import compute_accidental_hits as compute_accidental_hits
from actorsession.opsets.sampling.candidates import (
all_candidate_sampler as all_candidate_sampler, fixed_unigram_candidate_sampler as
fixed_unigram_candidate_sampler, learned_unigram_candidate_sampler as
learned_unigram_candidate_sampler, log_uniform_candidate_sampler as log_uniform_candidate_sampler,
uniform_candidate_sampler as uniform_candidate_sampler
)
from actorsession.opsets.sampling.losses import (
nce_loss as nce_loss, sampled_softmax_loss as sampled_softmax_loss
)
from actorsession.train.layers.recurrent.static import (
static_bidirectional_rnn as static_bidirectional_rnn, static_bidirectional_rnn as bidirectional_rnn,
static_rnn as static_rnn, static_rnn as rnn, static_state_saving_rnn as static_state_saving_rnn,
static_state_saving_rnn as state_saving_rnn
)
from typing import Any

conv2d_backprop_filter: Any
conv2d_backprop_input: Any
depthwise_conv2d: Any
separable_conv2d: Any
dilation2d: Any
conv1d: Any
conv2d: Any
conv3d: Any
convolution: Any
avg_pool: Any
max_pool: Any
pool: Any
max_pool_with_argmax: Any
conv2d_transpose: Any
conv3d_transpose: Any
softmax_cross_entropy_with_logits: Any
softmax_cross_entropy_with_logits_v2: Any
dropout: Any
embedding_lookup: Any
moments: Any
sufficient_statistics: Any
weighted_moments: Any
weighted_cross_entropy_with_logits: Any
log_softmax: Any
softmax: Any
l2_normalize: Any
top_k: Any
ctc_loss: Any
ctc_loss_v2: Any
embedding_lookup_sparse: Any
safe_embedding_lookup_sparse: Any
bidirectional_dynamic_rnn: Any
dynamic_rnn: Any
raw_rnn: Any

__all__ = [
"TopKV2", "all_candidate_sampler", "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool",
"avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_v2", "batch_norm_with_global_normalization",
"batch_normalization", "bias_add", "bias_add_grad", "bidirectional_dynamic_rnn",
"bidirectional_rnn", "collapse_repeated", "compute_accidental_hits", "conv1d", "conv1d_transpose",
"conv2d", "conv2d_backprop_filter", "conv2d_backprop_input", "conv2d_transpose", "conv3d",
"conv3d_backprop_filter", "conv3d_backprop_filter_v2", "conv3d_transpose", "conv_transpose",
"convolution", "crelu", "ctc_beam_search_decoder", "ctc_beam_search_decoder_v2",
"ctc_greedy_decoder", "ctc_loss", "ctc_loss_v2", "ctc_unique_labels", "depth_to_space",
"depthwise_conv2d", "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
"depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter",
"depthwise_conv2d_native_backprop_input", "dilation2d", "dropout", "dynamic_rnn", "elu",
"embedding_lookup", "embedding_lookup_sparse", "erosion2d", "fixed_unigram_candidate_sampler",
"fractional_avg_pool", "fractional_max_pool", "fused_batch_norm", "in_top_k", "l2_loss",
"l2_normalize", "leaky_relu", "learned_unigram_candidate_sampler", "local_response_normalization",
"log_poisson_loss", "log_softmax", "log_uniform_candidate_sampler", "lrn", "max_pool", "max_pool1d",
"max_pool2d", "max_pool3d", "max_pool_v2", "max_pool_with_argmax", "moments", "nce_loss",
"normalize_moments", "pool", "quantized_avg_pool", "quantized_conv2d", "quantized_max_pool",
"raw_rnn", "relu", "relu6", "relu_layer", "rnn", "rnn_cell", "safe_embedding_lookup_sparse",
"sampled_softmax_loss", "selu", "separable_conv2d", "seq2seq", "sigmoid",
"sigmoid_cross_entropy_with_logits", "silu", "softmax", "softmax_cross_entropy_with_logits",
"softmax_cross_entropy_with_logits_v2", "softplus", "softsign", "space_to_batch", "space_to_depth",
"sparse_softmax_cross_entropy_with_logits", "state_saving_rnn", "static_bidirectional_rnn",
"static_rnn", "static_state_saving_rnn", "sufficient_statistics", "swish", "tanh", "top_k",
"uniform_candidate_sampler", "weighted_cross_entropy_with_logits", "weighted_moments", "xw_plus_b",
"zero_fraction"
]
