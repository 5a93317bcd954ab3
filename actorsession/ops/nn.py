"""TensorFlow's ``tf.nn`` namespace; other op files define its functions."""

from __future__ import annotations

from actorsession.ops.arrays.batch_blocks import space_to_batch
from actorsession.ops.arrays.depth_blocks import depth_to_space, space_to_depth
from actorsession.ops.convolutions.backprops import (
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv3d_backprop_filter,
    conv3d_backprop_filter_v2,
)
from actorsession.ops.convolutions.depthwise import (
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from actorsession.ops.convolutions.dilation import dilation2d, erosion2d
from actorsession.ops.convolutions.fractional_pooling import (
    fractional_avg_pool,
    fractional_max_pool,
)
from actorsession.ops.convolutions.operations import (
    atrous_conv2d,
    conv1d,
    conv2d,
    conv3d,
    convolution,
)
from actorsession.ops.convolutions.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    avg_pool_v2,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_v2,
    pool,
)
from actorsession.ops.convolutions.pooling_argmax import max_pool_with_argmax
from actorsession.ops.convolutions.transposed import (
    atrous_conv2d_transpose,
    conv1d_transpose,
    conv2d_transpose,
    conv3d_transpose,
    conv_transpose,
)
from actorsession.ops.neural.accidental_hits import compute_accidental_hits
from actorsession.ops.neural.activations import elu, relu, relu6, sigmoid, softplus, tanh
from actorsession.ops.neural.biases import bias_add, bias_add_grad, relu_layer, xw_plus_b
from actorsession.ops.neural.candidate_sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from actorsession.ops.neural.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from actorsession.ops.neural.ctc_decoders import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2,
    ctc_greedy_decoder,
)
from actorsession.ops.neural.ctc_loss import ctc_loss
from actorsession.ops.neural.dropout import dropout
from actorsession.ops.neural.embedding import embedding_lookup, embedding_lookup_sparse
from actorsession.ops.neural.fused_batch_norm import fused_batch_norm
from actorsession.ops.neural.l2_loss import l2_loss
from actorsession.ops.neural.lrn import local_response_normalization, lrn
from actorsession.ops.neural.normalisation import (
    batch_norm_with_global_normalization,
    batch_normalization,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from actorsession.ops.neural.pointwise_losses import (
    log_poisson_loss,
    weighted_cross_entropy_with_logits,
)
from actorsession.ops.neural.rectifiers import crelu, leaky_relu, selu, softsign, swish
from actorsession.ops.neural.rectifiers import swish as silu
from actorsession.ops.neural.safe_embedding import safe_embedding_lookup_sparse
from actorsession.ops.neural.sampled_losses import nce_loss, sampled_softmax_loss
from actorsession.ops.neural.softmax import log_softmax, softmax
from actorsession.ops.reductions.spread import l2_normalize, zero_fraction
from actorsession.ops.reductions.topk import TopKV2, in_top_k, top_k

__all__ = [
    "TopKV2", "all_candidate_sampler", "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_v2", "batch_norm_with_global_normalization",
    "batch_normalization", "bias_add", "bias_add_grad", "compute_accidental_hits", "conv1d",
    "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "conv3d_backprop_filter", "conv3d_backprop_filter_v2",
    "conv3d_transpose", "conv_transpose", "convolution", "crelu", "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2", "ctc_greedy_decoder", "ctc_loss", "depth_to_space",
    "depthwise_conv2d", "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input", "dilation2d", "dropout", "elu", "embedding_lookup",
    "embedding_lookup_sparse", "erosion2d", "fixed_unigram_candidate_sampler",
    "fractional_avg_pool", "fractional_max_pool", "fused_batch_norm", "in_top_k", "l2_loss",
    "l2_normalize", "leaky_relu", "learned_unigram_candidate_sampler",
    "local_response_normalization", "log_poisson_loss", "log_softmax",
    "log_uniform_candidate_sampler", "lrn", "max_pool", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_pool_v2", "max_pool_with_argmax", "moments", "nce_loss", "normalize_moments", "pool",
    "relu", "relu6", "relu_layer", "safe_embedding_lookup_sparse", "sampled_softmax_loss", "selu",
    "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "softplus",
    "softsign", "space_to_batch", "space_to_depth", "sparse_softmax_cross_entropy_with_logits",
    "sufficient_statistics", "swish", "tanh", "top_k", "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits", "weighted_moments", "xw_plus_b", "zero_fraction",
]  # fmt: skip
