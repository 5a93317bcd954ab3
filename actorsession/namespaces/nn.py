"""Neural networks: activations, convolutions, pooling, normalisation, embeddings and losses."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.arrays.batch_blocks": "space_to_batch",
    "actorsession.ops.arrays.depth_blocks": "depth_to_space space_to_depth",
    "actorsession.ops.convolutions.backprops": (
        "conv2d_backprop_filter conv2d_backprop_input conv3d_backprop_filter conv3d_backprop_filter_v2"
    ),
    "actorsession.ops.convolutions.depthwise": (
        "depthwise_conv2d depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input "
        "depthwise_conv2d_native depthwise_conv2d_native_backprop_filter "
        "depthwise_conv2d_native_backprop_input separable_conv2d"
    ),
    "actorsession.ops.convolutions.dilation": "dilation2d erosion2d",
    "actorsession.ops.convolutions.fractional_pooling": "fractional_avg_pool fractional_max_pool",
    "actorsession.ops.convolutions.operations": "atrous_conv2d conv1d conv2d conv3d convolution",
    "actorsession.ops.convolutions.pooling": (
        "avg_pool avg_pool1d avg_pool2d avg_pool3d avg_pool_v2 max_pool max_pool1d max_pool2d "
        "max_pool3d max_pool_v2 pool"
    ),
    "actorsession.ops.convolutions.pooling_argmax": "max_pool_with_argmax",
    "actorsession.ops.convolutions.transposed": (
        "atrous_conv2d_transpose conv1d_transpose conv2d_transpose conv3d_transpose conv_transpose"
    ),
    "actorsession.ops.neural.activations": "elu relu relu6 sigmoid softplus tanh",
    "actorsession.ops.neural.biases": "bias_add bias_add_grad relu_layer xw_plus_b",
    "actorsession.ops.neural.cross_entropy": (
        "sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
        "softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits"
    ),
    "actorsession.ops.neural.dropout": "dropout",
    "actorsession.ops.neural.embedding": "embedding_lookup",
    "actorsession.ops.neural.fused_batch_norm": "fused_batch_norm",
    "actorsession.ops.neural.l2_loss": "l2_loss",
    "actorsession.ops.neural.lrn": "local_response_normalization lrn",
    "actorsession.ops.neural.normalisation": (
        "batch_norm_with_global_normalization batch_normalization moments normalize_moments "
        "sufficient_statistics weighted_moments"
    ),
    "actorsession.ops.neural.pointwise_losses": ("log_poisson_loss weighted_cross_entropy_with_logits"),
    "actorsession.ops.neural.rectifiers": "crelu leaky_relu selu softsign swish swish=silu",
    "actorsession.ops.neural.softmax": "log_softmax softmax",
    "actorsession.ops.reductions.spread": "l2_normalize zero_fraction",
    "actorsession.ops.reductions.topk": "TopKV2 in_top_k top_k",
    "actorsession.opsets.ctc.decoders": ("ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder"),
    "actorsession.opsets.ctc.loss": "collapse_repeated ctc_loss ctc_loss_v2 ctc_unique_labels",
    "actorsession.opsets.quantisation.neural": ("quantized_avg_pool quantized_conv2d quantized_max_pool"),
    "actorsession.opsets.sampling.accidental_hits": "compute_accidental_hits",
    "actorsession.opsets.sampling.candidates": (
        "all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler "
        "log_uniform_candidate_sampler uniform_candidate_sampler"
    ),
    "actorsession.opsets.sampling.losses": "nce_loss sampled_softmax_loss",
    "actorsession.opsets.sparse.embeddings": "embedding_lookup_sparse safe_embedding_lookup_sparse",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
