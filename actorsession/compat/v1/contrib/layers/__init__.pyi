# Written by scripts/generated.py.
"""``tf.contrib.layers``, whose functions ``slim`` has, too: layers with slim's names of variables."""

from actorsession.compat.v1.contrib.layers.columns import (
bucketized_column as bucketized_column, crossed_column as crossed_column, embedding_column as
embedding_column, one_hot_column as one_hot_column, real_valued_column as real_valued_column,
sparse_column_with_hash_bucket as sparse_column_with_hash_bucket,
sparse_column_with_integerized_feature as sparse_column_with_integerized_feature,
sparse_column_with_keys as sparse_column_with_keys
)
from actorsession.compat.v1.contrib.layers.convolutions import (
conv1d as conv1d, conv2d as conv2d, conv2d_in_plane as conv2d_in_plane, conv2d_transpose as
conv2d_transpose, conv3d as conv3d, conv3d_transpose as conv3d_transpose, convolution as
convolution, convolution1d as convolution1d, convolution2d as convolution2d, convolution2d_in_plane
as convolution2d_in_plane, convolution2d_transpose as convolution2d_transpose, convolution3d as
convolution3d, convolution3d_transpose as convolution3d_transpose, separable_conv2d as
separable_conv2d, separable_convolution2d as separable_convolution2d
)
from actorsession.compat.v1.contrib.layers.dense import (
elu as elu, fully_connected as fully_connected, linear as linear, relu as relu, relu6 as relu6
)
from actorsession.compat.v1.contrib.layers.embeddings import (
bow_encoder as bow_encoder, dense_to_sparse as dense_to_sparse, embed_sequence as embed_sequence,
embedding_lookup_unique as embedding_lookup_unique, one_hot_encoding as one_hot_encoding
)
from actorsession.compat.v1.contrib.layers.feature_columns import (
create_feature_spec_for_parsing as create_feature_spec_for_parsing, input_from_feature_columns as
input_from_feature_columns, shared_embedding_columns as shared_embedding_columns,
sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file, weighted_sparse_column as
weighted_sparse_column, weighted_sum_from_feature_columns as weighted_sum_from_feature_columns
)
from actorsession.compat.v1.contrib.layers.initializers import (
variance_scaling_initializer as variance_scaling_initializer, xavier_initializer as
xavier_initializer, xavier_initializer_conv2d as xavier_initializer_conv2d
)
from actorsession.compat.v1.contrib.layers.normalisation import (
batch_norm as batch_norm, group_norm as group_norm, instance_norm as instance_norm, layer_norm as
layer_norm, unit_norm as unit_norm
)
from actorsession.compat.v1.contrib.layers.optimizers import (
OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES, OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES,
adaptive_clipping_fn as adaptive_clipping_fn, optimize_loss as optimize_loss
)
from actorsession.compat.v1.contrib.layers.pooling import (
avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d, max_pool2d as max_pool2d, max_pool3d as
max_pool3d, pool as pool
)
from actorsession.compat.v1.contrib.layers.regularizers import (
apply_regularization as apply_regularization, l1_l2_regularizer as l1_l2_regularizer, l1_regularizer
as l1_regularizer, l2_regularizer as l2_regularizer, sum_regularizer as sum_regularizer
)
from actorsession.compat.v1.contrib.layers.shapes import (
bias_add as bias_add, dropout as dropout, flatten as flatten, maxout as maxout, repeat as repeat,
softmax as softmax, spatial_softmax as spatial_softmax, stack as stack
)
from actorsession.compat.v1.contrib.layers.summaries import (
summarize_activation as summarize_activation, summarize_activations as summarize_activations,
summarize_biases as summarize_biases, summarize_collection as summarize_collection, summarize_tensor
as summarize_tensor, summarize_tensors as summarize_tensors, summarize_variables as
summarize_variables, summarize_weights as summarize_weights
)
from typing import Any

safe_embedding_lookup_sparse: Any

__all__ = [
"OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "apply_regularization",
"avg_pool2d", "avg_pool3d", "batch_norm", "bias_add", "bow_encoder", "bucketized_column", "conv1d",
"conv2d", "conv2d_in_plane", "conv2d_transpose", "conv3d", "conv3d_transpose", "convolution",
"convolution1d", "convolution2d", "convolution2d_in_plane", "convolution2d_transpose",
"convolution3d", "convolution3d_transpose", "create_feature_spec_for_parsing", "crossed_column",
"dense_to_sparse", "dropout", "elu", "embed_sequence", "embedding_column",
"embedding_lookup_unique", "flatten", "fully_connected", "group_norm", "input_from_feature_columns",
"instance_norm", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "layer_norm", "linear",
"max_pool2d", "max_pool3d", "maxout", "one_hot_column", "one_hot_encoding", "optimize_loss", "pool",
"real_valued_column", "relu", "relu6", "repeat", "safe_embedding_lookup_sparse", "separable_conv2d",
"separable_convolution2d", "shared_embedding_columns", "softmax", "sparse_column_with_hash_bucket",
"sparse_column_with_integerized_feature", "sparse_column_with_keys",
"sparse_column_with_vocabulary_file", "spatial_softmax", "stack", "sum_regularizer",
"summarize_activation", "summarize_activations", "summarize_biases", "summarize_collection",
"summarize_tensor", "summarize_tensors", "summarize_variables", "summarize_weights", "unit_norm",
"variance_scaling_initializer", "weighted_sparse_column", "weighted_sum_from_feature_columns",
"xavier_initializer", "xavier_initializer_conv2d"
]
