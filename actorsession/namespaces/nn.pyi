# Written by scripts/generated.py.
"""Neural networks: activations, convolutions, pooling, normalisation, embeddings and losses."""

from actorsession.ops.arrays.batch_blocks import space_to_batch as space_to_batch
from actorsession.ops.arrays.depth_blocks import (
depth_to_space as depth_to_space, space_to_depth as space_to_depth
)
from actorsession.ops.convolutions.backprops import (
conv2d_backprop_filter as conv2d_backprop_filter, conv2d_backprop_input as conv2d_backprop_input,
conv3d_backprop_filter as conv3d_backprop_filter, conv3d_backprop_filter_v2 as
conv3d_backprop_filter_v2
)
from actorsession.ops.convolutions.depthwise import (
depthwise_conv2d as depthwise_conv2d, depthwise_conv2d_backprop_filter as
depthwise_conv2d_backprop_filter, depthwise_conv2d_backprop_input as
depthwise_conv2d_backprop_input, depthwise_conv2d_native as depthwise_conv2d_native,
depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter,
depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input, separable_conv2d
as separable_conv2d
)
from actorsession.ops.convolutions.dilation import dilation2d as dilation2d, erosion2d as erosion2d
from actorsession.ops.convolutions.fractional_pooling import (
fractional_avg_pool as fractional_avg_pool, fractional_max_pool as fractional_max_pool
)
from actorsession.ops.convolutions.operations import (
atrous_conv2d as atrous_conv2d, conv1d as conv1d, conv2d as conv2d, conv3d as conv3d, convolution as
convolution
)
from actorsession.ops.convolutions.pooling import (
avg_pool as avg_pool, avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d,
avg_pool_v2 as avg_pool_v2, max_pool as max_pool, max_pool1d as max_pool1d, max_pool2d as
max_pool2d, max_pool3d as max_pool3d, max_pool_v2 as max_pool_v2, pool as pool
)
from actorsession.ops.convolutions.pooling_argmax import max_pool_with_argmax as max_pool_with_argmax
from actorsession.ops.convolutions.transposed import (
atrous_conv2d_transpose as atrous_conv2d_transpose, conv1d_transpose as conv1d_transpose,
conv2d_transpose as conv2d_transpose, conv3d_transpose as conv3d_transpose, conv_transpose as
conv_transpose
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
softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
)
from actorsession.ops.neural.dropout import dropout as dropout
from actorsession.ops.neural.embedding import embedding_lookup as embedding_lookup
from actorsession.ops.neural.fused_batch_norm import fused_batch_norm as fused_batch_norm
from actorsession.ops.neural.l2_loss import l2_loss as l2_loss
from actorsession.ops.neural.lrn import (
local_response_normalization as local_response_normalization, lrn as lrn
)
from actorsession.ops.neural.normalisation import (
batch_norm_with_global_normalization as batch_norm_with_global_normalization, batch_normalization as
batch_normalization, moments as moments, normalize_moments as normalize_moments,
sufficient_statistics as sufficient_statistics, weighted_moments as weighted_moments
)
from actorsession.ops.neural.pointwise_losses import (
log_poisson_loss as log_poisson_loss, weighted_cross_entropy_with_logits as
weighted_cross_entropy_with_logits
)
from actorsession.ops.neural.rectifiers import (
crelu as crelu, leaky_relu as leaky_relu, selu as selu, softsign as softsign, swish as swish, swish
as silu
)
from actorsession.ops.neural.softmax import log_softmax as log_softmax, softmax as softmax
from actorsession.ops.reductions.spread import (
l2_normalize as l2_normalize, zero_fraction as zero_fraction
)
from actorsession.ops.reductions.topk import TopKV2 as TopKV2, in_top_k as in_top_k, top_k as top_k
from actorsession.opsets.ctc.decoders import (
ctc_beam_search_decoder as ctc_beam_search_decoder, ctc_beam_search_decoder_v2 as
ctc_beam_search_decoder_v2, ctc_greedy_decoder as ctc_greedy_decoder
)
from actorsession.opsets.ctc.loss import (
collapse_repeated as collapse_repeated, ctc_loss as ctc_loss, ctc_loss_v2 as ctc_loss_v2,
ctc_unique_labels as ctc_unique_labels
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
from actorsession.opsets.sparse.embeddings import (
embedding_lookup_sparse as embedding_lookup_sparse, safe_embedding_lookup_sparse as
safe_embedding_lookup_sparse
)


__all__ = [
"TopKV2", "all_candidate_sampler", "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool",
"avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_v2", "batch_norm_with_global_normalization",
"batch_normalization", "bias_add", "bias_add_grad", "collapse_repeated", "compute_accidental_hits",
"conv1d", "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
"conv2d_transpose", "conv3d", "conv3d_backprop_filter", "conv3d_backprop_filter_v2",
"conv3d_transpose", "conv_transpose", "convolution", "crelu", "ctc_beam_search_decoder",
"ctc_beam_search_decoder_v2", "ctc_greedy_decoder", "ctc_loss", "ctc_loss_v2", "ctc_unique_labels",
"depth_to_space", "depthwise_conv2d", "depthwise_conv2d_backprop_filter",
"depthwise_conv2d_backprop_input", "depthwise_conv2d_native",
"depthwise_conv2d_native_backprop_filter", "depthwise_conv2d_native_backprop_input", "dilation2d",
"dropout", "elu", "embedding_lookup", "embedding_lookup_sparse", "erosion2d",
"fixed_unigram_candidate_sampler", "fractional_avg_pool", "fractional_max_pool", "fused_batch_norm",
"in_top_k", "l2_loss", "l2_normalize", "leaky_relu", "learned_unigram_candidate_sampler",
"local_response_normalization", "log_poisson_loss", "log_softmax", "log_uniform_candidate_sampler",
"lrn", "max_pool", "max_pool1d", "max_pool2d", "max_pool3d", "max_pool_v2", "max_pool_with_argmax",
"moments", "nce_loss", "normalize_moments", "pool", "quantized_avg_pool", "quantized_conv2d",
"quantized_max_pool", "relu", "relu6", "relu_layer", "safe_embedding_lookup_sparse",
"sampled_softmax_loss", "selu", "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits",
"silu", "softmax", "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2",
"softplus", "softsign", "space_to_batch", "space_to_depth",
"sparse_softmax_cross_entropy_with_logits", "sufficient_statistics", "swish", "tanh", "top_k",
"uniform_candidate_sampler", "weighted_cross_entropy_with_logits", "weighted_moments", "xw_plus_b",
"zero_fraction"
]
