# Written by scripts/generated.py.
"""``tf.contrib.slim``: layers, scopes of arguments, losses and a loop of training in a few lines."""

from actorsession.compat.v1.contrib import losses as losses, metrics as metrics
from actorsession.compat.v1.contrib.framework import (
add_arg_scope as add_arg_scope, add_model_variable as add_model_variable, arg_scope as arg_scope,
arg_scoped_arguments as arg_scoped_arguments, assert_global_step as assert_global_step,
assign_from_checkpoint as assign_from_checkpoint, assign_from_checkpoint_fn as
assign_from_checkpoint_fn, assign_from_values as assign_from_values, assign_from_values_fn as
assign_from_values_fn, create_global_step as create_global_step, current_arg_scope as
current_arg_scope, filter_variables as filter_variables, get_global_step as get_global_step,
get_local_variables as get_local_variables, get_model_variables as get_model_variables,
get_or_create_global_step as get_or_create_global_step, get_trainable_variables as
get_trainable_variables, get_unique_variable as get_unique_variable, get_variable_full_name as
get_variable_full_name, get_variables as get_variables, get_variables_by_name as
get_variables_by_name, get_variables_by_suffix as get_variables_by_suffix, get_variables_to_restore
as get_variables_to_restore, global_variable as global_variable, has_arg_scope as has_arg_scope,
local_variable as local_variable, model_variable as model_variable, variable as variable
)
from actorsession.compat.v1.contrib.layers import (
apply_regularization as apply_regularization, avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d,
batch_norm as batch_norm, bias_add as bias_add, bow_encoder as bow_encoder, conv1d as conv1d, conv2d
as conv2d, conv2d_in_plane as conv2d_in_plane, conv2d_transpose as conv2d_transpose, conv3d as
conv3d, conv3d_transpose as conv3d_transpose, convolution as convolution, convolution1d as
convolution1d, convolution2d as convolution2d, convolution2d_in_plane as convolution2d_in_plane,
convolution2d_transpose as convolution2d_transpose, convolution3d as convolution3d,
convolution3d_transpose as convolution3d_transpose, dropout as dropout, elu as elu, embed_sequence
as embed_sequence, flatten as flatten, fully_connected as fully_connected, group_norm as group_norm,
instance_norm as instance_norm, l1_l2_regularizer as l1_l2_regularizer, l1_regularizer as
l1_regularizer, l2_regularizer as l2_regularizer, layer_norm as layer_norm, linear as linear,
max_pool2d as max_pool2d, max_pool3d as max_pool3d, maxout as maxout, one_hot_encoding as
one_hot_encoding, optimize_loss as optimize_loss, pool as pool, relu as relu, relu6 as relu6, repeat
as repeat, separable_conv2d as separable_conv2d, separable_convolution2d as separable_convolution2d,
softmax as softmax, spatial_softmax as spatial_softmax, stack as stack, sum_regularizer as
sum_regularizer, summarize_activation as summarize_activation, summarize_activations as
summarize_activations, summarize_biases as summarize_biases, summarize_collection as
summarize_collection, summarize_tensor as summarize_tensor, summarize_tensors as summarize_tensors,
summarize_variables as summarize_variables, summarize_weights as summarize_weights, unit_norm as
unit_norm, variance_scaling_initializer as variance_scaling_initializer, xavier_initializer as
xavier_initializer, xavier_initializer_conv2d as xavier_initializer_conv2d, initializers as
initializers, regularizers as regularizers
)
from actorsession.compat.v1.contrib.slim import (
data as data, data as data_decoder, data as data_provider, data as dataset, data as
dataset_data_provider, data as parallel_reader, data as prefetch_queue, evaluation as evaluation,
learning as learning, model_analyzer as model_analyzer, nets as nets, queues as queues,
tfexample_decoder as tfexample_decoder, utils as utils
)


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
