"""``tf.contrib.slim``: layers, scopes of arguments, losses and a loop of training in a few lines."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.contrib.framework": (
        "add_arg_scope add_model_variable arg_scope arg_scoped_arguments assert_global_step "
        "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values "
        "assign_from_values_fn create_global_step current_arg_scope filter_variables "
        "get_global_step get_local_variables get_model_variables get_or_create_global_step "
        "get_trainable_variables get_unique_variable get_variable_full_name get_variables "
        "get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable "
        "has_arg_scope local_variable model_variable variable"
    ),
    "actorsession.compat.v1.contrib.layers": (
        "apply_regularization avg_pool2d avg_pool3d batch_norm bias_add bow_encoder conv1d conv2d "
        "conv2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution convolution1d "
        "convolution2d convolution2d_in_plane convolution2d_transpose convolution3d "
        "convolution3d_transpose dropout elu embed_sequence flatten fully_connected group_norm "
        "instance_norm l1_l2_regularizer l1_regularizer l2_regularizer layer_norm linear "
        "max_pool2d max_pool3d maxout one_hot_encoding optimize_loss pool relu relu6 repeat "
        "separable_conv2d separable_convolution2d softmax spatial_softmax stack sum_regularizer "
        "summarize_activation summarize_activations summarize_biases summarize_collection "
        "summarize_tensor summarize_tensors summarize_variables summarize_weights unit_norm "
        "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d"
    ),
    "actorsession.compat.v1.contrib.layers.initializers": "*=initializers",
    "actorsession.compat.v1.contrib.layers.regularizers": "*=regularizers",
    "actorsession.compat.v1.contrib.losses": "*=losses",
    "actorsession.compat.v1.contrib.metrics": "*=metrics",
    ".data": (
        "*=data *=data_decoder *=data_provider *=dataset *=dataset_data_provider *=parallel_reader *=prefetch_queue"
    ),
    ".evaluation": "*=evaluation",
    ".learning": "*=learning",
    ".model_analyzer": "*=model_analyzer",
    ".nets": "*=nets",
    ".queues": "*=queues",
    ".tfexample_decoder": "*=tfexample_decoder",
    ".utils": "*=utils",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

add_modules(__name__)
