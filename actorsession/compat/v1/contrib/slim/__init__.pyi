# Written by scripts/generated.py.
"""``tf.contrib.slim``: layers, scopes of arguments, losses and a loop of training in a few lines."""

from actorsession.compat.v1.contrib.framework import add_arg_scope as add_arg_scope
from actorsession.compat.v1.contrib.framework import add_model_variable as add_model_variable
from actorsession.compat.v1.contrib.framework import arg_scope as arg_scope
from actorsession.compat.v1.contrib.framework import arg_scoped_arguments as arg_scoped_arguments
from actorsession.compat.v1.contrib.framework import assert_global_step as assert_global_step
from actorsession.compat.v1.contrib.framework import assign_from_checkpoint as assign_from_checkpoint
from actorsession.compat.v1.contrib.framework import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from actorsession.compat.v1.contrib.framework import assign_from_values as assign_from_values
from actorsession.compat.v1.contrib.framework import assign_from_values_fn as assign_from_values_fn
from actorsession.compat.v1.contrib.framework import create_global_step as create_global_step
from actorsession.compat.v1.contrib.framework import current_arg_scope as current_arg_scope
from actorsession.compat.v1.contrib.framework import filter_variables as filter_variables
from actorsession.compat.v1.contrib.framework import get_global_step as get_global_step
from actorsession.compat.v1.contrib.framework import get_local_variables as get_local_variables
from actorsession.compat.v1.contrib.framework import get_model_variables as get_model_variables
from actorsession.compat.v1.contrib.framework import get_or_create_global_step as get_or_create_global_step
from actorsession.compat.v1.contrib.framework import get_trainable_variables as get_trainable_variables
from actorsession.compat.v1.contrib.framework import get_unique_variable as get_unique_variable
from actorsession.compat.v1.contrib.framework import get_variable_full_name as get_variable_full_name
from actorsession.compat.v1.contrib.framework import get_variables as get_variables
from actorsession.compat.v1.contrib.framework import get_variables_by_name as get_variables_by_name
from actorsession.compat.v1.contrib.framework import get_variables_by_suffix as get_variables_by_suffix
from actorsession.compat.v1.contrib.framework import get_variables_to_restore as get_variables_to_restore
from actorsession.compat.v1.contrib.framework import global_variable as global_variable
from actorsession.compat.v1.contrib.framework import has_arg_scope as has_arg_scope
from actorsession.compat.v1.contrib.framework import local_variable as local_variable
from actorsession.compat.v1.contrib.framework import model_variable as model_variable
from actorsession.compat.v1.contrib.framework import variable as variable
from actorsession.compat.v1.contrib.layers import apply_regularization as apply_regularization
from actorsession.compat.v1.contrib.layers import avg_pool2d as avg_pool2d
from actorsession.compat.v1.contrib.layers import avg_pool3d as avg_pool3d
from actorsession.compat.v1.contrib.layers import batch_norm as batch_norm
from actorsession.compat.v1.contrib.layers import bias_add as bias_add
from actorsession.compat.v1.contrib.layers import bow_encoder as bow_encoder
from actorsession.compat.v1.contrib.layers import conv1d as conv1d
from actorsession.compat.v1.contrib.layers import conv2d as conv2d
from actorsession.compat.v1.contrib.layers import conv2d_in_plane as conv2d_in_plane
from actorsession.compat.v1.contrib.layers import conv2d_transpose as conv2d_transpose
from actorsession.compat.v1.contrib.layers import conv3d as conv3d
from actorsession.compat.v1.contrib.layers import conv3d_transpose as conv3d_transpose
from actorsession.compat.v1.contrib.layers import convolution as convolution
from actorsession.compat.v1.contrib.layers import convolution1d as convolution1d
from actorsession.compat.v1.contrib.layers import convolution2d as convolution2d
from actorsession.compat.v1.contrib.layers import convolution2d_in_plane as convolution2d_in_plane
from actorsession.compat.v1.contrib.layers import convolution2d_transpose as convolution2d_transpose
from actorsession.compat.v1.contrib.layers import convolution3d as convolution3d
from actorsession.compat.v1.contrib.layers import convolution3d_transpose as convolution3d_transpose
from actorsession.compat.v1.contrib.layers import dropout as dropout
from actorsession.compat.v1.contrib.layers import elu as elu
from actorsession.compat.v1.contrib.layers import embed_sequence as embed_sequence
from actorsession.compat.v1.contrib.layers import flatten as flatten
from actorsession.compat.v1.contrib.layers import fully_connected as fully_connected
from actorsession.compat.v1.contrib.layers import group_norm as group_norm
from actorsession.compat.v1.contrib.layers import instance_norm as instance_norm
from actorsession.compat.v1.contrib.layers import l1_l2_regularizer as l1_l2_regularizer
from actorsession.compat.v1.contrib.layers import l1_regularizer as l1_regularizer
from actorsession.compat.v1.contrib.layers import l2_regularizer as l2_regularizer
from actorsession.compat.v1.contrib.layers import layer_norm as layer_norm
from actorsession.compat.v1.contrib.layers import linear as linear
from actorsession.compat.v1.contrib.layers import max_pool2d as max_pool2d
from actorsession.compat.v1.contrib.layers import max_pool3d as max_pool3d
from actorsession.compat.v1.contrib.layers import maxout as maxout
from actorsession.compat.v1.contrib.layers import one_hot_encoding as one_hot_encoding
from actorsession.compat.v1.contrib.layers import optimize_loss as optimize_loss
from actorsession.compat.v1.contrib.layers import pool as pool
from actorsession.compat.v1.contrib.layers import relu as relu
from actorsession.compat.v1.contrib.layers import relu6 as relu6
from actorsession.compat.v1.contrib.layers import repeat as repeat
from actorsession.compat.v1.contrib.layers import separable_conv2d as separable_conv2d
from actorsession.compat.v1.contrib.layers import separable_convolution2d as separable_convolution2d
from actorsession.compat.v1.contrib.layers import softmax as softmax
from actorsession.compat.v1.contrib.layers import spatial_softmax as spatial_softmax
from actorsession.compat.v1.contrib.layers import stack as stack
from actorsession.compat.v1.contrib.layers import sum_regularizer as sum_regularizer
from actorsession.compat.v1.contrib.layers import summarize_activation as summarize_activation
from actorsession.compat.v1.contrib.layers import summarize_activations as summarize_activations
from actorsession.compat.v1.contrib.layers import summarize_biases as summarize_biases
from actorsession.compat.v1.contrib.layers import summarize_collection as summarize_collection
from actorsession.compat.v1.contrib.layers import summarize_tensor as summarize_tensor
from actorsession.compat.v1.contrib.layers import summarize_tensors as summarize_tensors
from actorsession.compat.v1.contrib.layers import summarize_variables as summarize_variables
from actorsession.compat.v1.contrib.layers import summarize_weights as summarize_weights
from actorsession.compat.v1.contrib.layers import unit_norm as unit_norm
from actorsession.compat.v1.contrib.layers import variance_scaling_initializer as variance_scaling_initializer
from actorsession.compat.v1.contrib.layers import xavier_initializer as xavier_initializer
from actorsession.compat.v1.contrib.layers import xavier_initializer_conv2d as xavier_initializer_conv2d
from actorsession.compat.v1.contrib.layers import initializers as initializers
from actorsession.compat.v1.contrib.layers import regularizers as regularizers
from actorsession.compat.v1.contrib import losses as losses
from actorsession.compat.v1.contrib import metrics as metrics
from actorsession.compat.v1.contrib.slim import data as data
from actorsession.compat.v1.contrib.slim import data as data_decoder
from actorsession.compat.v1.contrib.slim import data as data_provider
from actorsession.compat.v1.contrib.slim import data as dataset
from actorsession.compat.v1.contrib.slim import data as dataset_data_provider
from actorsession.compat.v1.contrib.slim import data as parallel_reader
from actorsession.compat.v1.contrib.slim import data as prefetch_queue
from actorsession.compat.v1.contrib.slim import evaluation as evaluation
from actorsession.compat.v1.contrib.slim import learning as learning
from actorsession.compat.v1.contrib.slim import model_analyzer as model_analyzer
from actorsession.compat.v1.contrib.slim import nets as nets
from actorsession.compat.v1.contrib.slim import queues as queues
from actorsession.compat.v1.contrib.slim import tfexample_decoder as tfexample_decoder
from actorsession.compat.v1.contrib.slim import utils as utils

__all__ = [
"add_arg_scope", "add_model_variable", "apply_regularization", "arg_scope", "arg_scoped_arguments",
"assert_global_step", "assign_from_checkpoint", "assign_from_checkpoint_fn", "assign_from_values",
"assign_from_values_fn", "avg_pool2d", "avg_pool3d", "batch_norm", "bias_add", "bow_encoder",
"conv1d", "conv2d", "conv2d_in_plane", "conv2d_transpose", "conv3d", "conv3d_transpose",
"convolution", "convolution1d", "convolution2d", "convolution2d_in_plane",
"convolution2d_transpose", "convolution3d", "convolution3d_transpose", "create_global_step",
"current_arg_scope", "data", "data_decoder", "data_provider", "dataset", "dataset_data_provider",
"dropout", "elu", "embed_sequence", "evaluation", "filter_variables", "flatten", "fully_connected",
"get_global_step", "get_local_variables", "get_model_variables", "get_or_create_global_step",
"get_trainable_variables", "get_unique_variable", "get_variable_full_name", "get_variables",
"get_variables_by_name", "get_variables_by_suffix", "get_variables_to_restore", "global_variable",
"group_norm", "has_arg_scope", "initializers", "instance_norm", "l1_l2_regularizer",
"l1_regularizer", "l2_regularizer", "layer_norm", "learning", "linear", "local_variable", "losses",
"max_pool2d", "max_pool3d", "maxout", "metrics", "model_analyzer", "model_variable", "nets",
"one_hot_encoding", "optimize_loss", "parallel_reader", "pool", "prefetch_queue", "queues",
"regularizers", "relu", "relu6", "repeat", "separable_conv2d", "separable_convolution2d", "softmax",
"spatial_softmax", "stack", "sum_regularizer", "summarize_activation", "summarize_activations",
"summarize_biases", "summarize_collection", "summarize_tensor", "summarize_tensors",
"summarize_variables", "summarize_weights", "tfexample_decoder", "unit_norm", "utils", "variable",
"variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d"
]
