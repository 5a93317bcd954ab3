# Written by scripts/generated.py.
"""``tf.contrib.layers``, whose functions ``slim`` has, too: layers with slim's names of variables."""

from typing import Any

from actorsession.compat.v1.contrib.layers.columns import bucketized_column as bucketized_column
from actorsession.compat.v1.contrib.layers.columns import crossed_column as crossed_column
from actorsession.compat.v1.contrib.layers.columns import embedding_column as embedding_column
from actorsession.compat.v1.contrib.layers.columns import one_hot_column as one_hot_column
from actorsession.compat.v1.contrib.layers.columns import real_valued_column as real_valued_column
from actorsession.compat.v1.contrib.layers.columns import sparse_column_with_hash_bucket as sparse_column_with_hash_bucket
from actorsession.compat.v1.contrib.layers.columns import sparse_column_with_integerized_feature as sparse_column_with_integerized_feature
from actorsession.compat.v1.contrib.layers.columns import sparse_column_with_keys as sparse_column_with_keys
from actorsession.compat.v1.contrib.layers.convolutions import conv1d as conv1d
from actorsession.compat.v1.contrib.layers.convolutions import conv2d as conv2d
from actorsession.compat.v1.contrib.layers.convolutions import conv2d_in_plane as conv2d_in_plane
from actorsession.compat.v1.contrib.layers.convolutions import conv2d_transpose as conv2d_transpose
from actorsession.compat.v1.contrib.layers.convolutions import conv3d as conv3d
from actorsession.compat.v1.contrib.layers.convolutions import conv3d_transpose as conv3d_transpose
from actorsession.compat.v1.contrib.layers.convolutions import convolution as convolution
from actorsession.compat.v1.contrib.layers.convolutions import convolution1d as convolution1d
from actorsession.compat.v1.contrib.layers.convolutions import convolution2d as convolution2d
from actorsession.compat.v1.contrib.layers.convolutions import convolution2d_in_plane as convolution2d_in_plane
from actorsession.compat.v1.contrib.layers.convolutions import convolution2d_transpose as convolution2d_transpose
from actorsession.compat.v1.contrib.layers.convolutions import convolution3d as convolution3d
from actorsession.compat.v1.contrib.layers.convolutions import convolution3d_transpose as convolution3d_transpose
from actorsession.compat.v1.contrib.layers.convolutions import separable_conv2d as separable_conv2d
from actorsession.compat.v1.contrib.layers.convolutions import separable_convolution2d as separable_convolution2d
from actorsession.compat.v1.contrib.layers.dense import elu as elu
from actorsession.compat.v1.contrib.layers.dense import fully_connected as fully_connected
from actorsession.compat.v1.contrib.layers.dense import linear as linear
from actorsession.compat.v1.contrib.layers.dense import relu as relu
from actorsession.compat.v1.contrib.layers.dense import relu6 as relu6
from actorsession.compat.v1.contrib.layers.embeddings import bow_encoder as bow_encoder
from actorsession.compat.v1.contrib.layers.embeddings import dense_to_sparse as dense_to_sparse
from actorsession.compat.v1.contrib.layers.embeddings import embed_sequence as embed_sequence
from actorsession.compat.v1.contrib.layers.embeddings import embedding_lookup_unique as embedding_lookup_unique
from actorsession.compat.v1.contrib.layers.embeddings import one_hot_encoding as one_hot_encoding
from actorsession.compat.v1.contrib.layers.feature_columns import create_feature_spec_for_parsing as create_feature_spec_for_parsing
from actorsession.compat.v1.contrib.layers.feature_columns import input_from_feature_columns as input_from_feature_columns
from actorsession.compat.v1.contrib.layers.feature_columns import shared_embedding_columns as shared_embedding_columns
from actorsession.compat.v1.contrib.layers.feature_columns import sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file
from actorsession.compat.v1.contrib.layers.feature_columns import weighted_sparse_column as weighted_sparse_column
from actorsession.compat.v1.contrib.layers.feature_columns import weighted_sum_from_feature_columns as weighted_sum_from_feature_columns
from actorsession.compat.v1.contrib.layers.initializers import variance_scaling_initializer as variance_scaling_initializer
from actorsession.compat.v1.contrib.layers.initializers import xavier_initializer as xavier_initializer
from actorsession.compat.v1.contrib.layers.initializers import xavier_initializer_conv2d as xavier_initializer_conv2d
from actorsession.compat.v1.contrib.layers.normalisation import batch_norm as batch_norm
from actorsession.compat.v1.contrib.layers.normalisation import group_norm as group_norm
from actorsession.compat.v1.contrib.layers.normalisation import instance_norm as instance_norm
from actorsession.compat.v1.contrib.layers.normalisation import layer_norm as layer_norm
from actorsession.compat.v1.contrib.layers.normalisation import unit_norm as unit_norm
from actorsession.compat.v1.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from actorsession.compat.v1.contrib.layers.optimizers import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from actorsession.compat.v1.contrib.layers.optimizers import adaptive_clipping_fn as adaptive_clipping_fn
from actorsession.compat.v1.contrib.layers.optimizers import optimize_loss as optimize_loss
from actorsession.compat.v1.contrib.layers.pooling import avg_pool2d as avg_pool2d
from actorsession.compat.v1.contrib.layers.pooling import avg_pool3d as avg_pool3d
from actorsession.compat.v1.contrib.layers.pooling import max_pool2d as max_pool2d
from actorsession.compat.v1.contrib.layers.pooling import max_pool3d as max_pool3d
from actorsession.compat.v1.contrib.layers.pooling import pool as pool
from actorsession.compat.v1.contrib.layers.regularizers import apply_regularization as apply_regularization
from actorsession.compat.v1.contrib.layers.regularizers import l1_l2_regularizer as l1_l2_regularizer
from actorsession.compat.v1.contrib.layers.regularizers import l1_regularizer as l1_regularizer
from actorsession.compat.v1.contrib.layers.regularizers import l2_regularizer as l2_regularizer
from actorsession.compat.v1.contrib.layers.regularizers import sum_regularizer as sum_regularizer
from actorsession.compat.v1.contrib.layers.shapes import bias_add as bias_add
from actorsession.compat.v1.contrib.layers.shapes import dropout as dropout
from actorsession.compat.v1.contrib.layers.shapes import flatten as flatten
from actorsession.compat.v1.contrib.layers.shapes import maxout as maxout
from actorsession.compat.v1.contrib.layers.shapes import repeat as repeat
from actorsession.compat.v1.contrib.layers.shapes import softmax as softmax
from actorsession.compat.v1.contrib.layers.shapes import spatial_softmax as spatial_softmax
from actorsession.compat.v1.contrib.layers.shapes import stack as stack
from actorsession.compat.v1.contrib.layers.summaries import summarize_activation as summarize_activation
from actorsession.compat.v1.contrib.layers.summaries import summarize_activations as summarize_activations
from actorsession.compat.v1.contrib.layers.summaries import summarize_biases as summarize_biases
from actorsession.compat.v1.contrib.layers.summaries import summarize_collection as summarize_collection
from actorsession.compat.v1.contrib.layers.summaries import summarize_tensor as summarize_tensor
from actorsession.compat.v1.contrib.layers.summaries import summarize_tensors as summarize_tensors
from actorsession.compat.v1.contrib.layers.summaries import summarize_variables as summarize_variables
from actorsession.compat.v1.contrib.layers.summaries import summarize_weights as summarize_weights
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
