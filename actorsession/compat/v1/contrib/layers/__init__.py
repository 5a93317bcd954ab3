"""``tf.contrib.layers``, whose functions ``slim`` has, too: layers with slim's names of variables."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    "actorsession.namespaces.nn": "safe_embedding_lookup_sparse",
    ".columns": (
        "bucketized_column crossed_column embedding_column one_hot_column real_valued_column "
        "sparse_column_with_hash_bucket sparse_column_with_integerized_feature "
        "sparse_column_with_keys"
    ),
    ".convolutions": (
        "conv1d conv2d conv2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution "
        "convolution1d convolution2d convolution2d_in_plane convolution2d_transpose convolution3d "
        "convolution3d_transpose separable_conv2d separable_convolution2d"
    ),
    ".dense": "elu fully_connected linear relu relu6",
    ".embeddings": ("bow_encoder dense_to_sparse embed_sequence embedding_lookup_unique one_hot_encoding"),
    ".feature_columns": (
        "create_feature_spec_for_parsing input_from_feature_columns shared_embedding_columns "
        "sparse_column_with_vocabulary_file weighted_sparse_column "
        "weighted_sum_from_feature_columns"
    ),
    ".initializers": "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d",
    ".normalisation": ("batch_norm group_norm instance_norm layer_norm unit_norm"),
    ".optimizers": "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss",
    ".pooling": "avg_pool2d avg_pool3d max_pool2d max_pool3d pool",
    ".regularizers": ("apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer"),
    ".shapes": ("bias_add dropout flatten maxout repeat softmax spatial_softmax stack"),
    ".summaries": (
        "summarize_activation summarize_activations summarize_biases summarize_collection "
        "summarize_tensor summarize_tensors summarize_variables summarize_weights"
    ),
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)

add_modules(__name__)
