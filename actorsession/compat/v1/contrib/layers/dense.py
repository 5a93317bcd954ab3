"""``fully_connected`` and its short forms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope
from actorsession.compat.v1.contrib.layers.building import Collections, call_layer, finished, layer_scope
from actorsession.compat.v1.contrib.layers.initializers import XAVIER, ZEROS
from actorsession.namespaces import layers, nn

__all__ = ["elu", "fully_connected", "linear", "relu", "relu6"]

_RENAMED = {"kernel": "weights", "bias": "biases"}


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the outputs of a dense layer over the last axis.

    Args:
        inputs: the inputs, of rank 2 or more.
        num_outputs: the number of columns of the outputs.
        activation_fn: the activation; ``None`` for none.
        normalizer_fn: what normalises the outputs, such as ``batch_norm``; there are no biases then.
        normalizer_params: its further arguments.
        weights_initializer: the initialiser of the weights.
        weights_regularizer: the regulariser of the weights.
        biases_initializer: the initialiser of the biases; ``None`` for no biases.
        biases_regularizer: the regulariser of the biases.
        reuse: whether the variables of the scope are shared.
        variables_collections: collections of the variables, or collections by their names.
        outputs_collections: collections of the outputs.
        trainable: whether the variables are trained.
        scope: the scope of the variables or its name; ``fully_connected`` if left out.

    Raises:
        ValueError: for a number of outputs that is no integer, or inputs whose last axis has an unknown size.
    """
    if not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs type should be one of int, got {type(num_outputs)}.")
    inputs = ops.convert_to_tensor(inputs)
    with layer_scope(scope, "fully_connected", [inputs], reuse, _RENAMED) as opened:
        layer = layers.Dense(
            int(num_outputs),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer,
            bias_initializer=biases_initializer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
        )
        outputs = call_layer(layer, opened, inputs, variables_collections)
        return finished(outputs, opened, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
elu = functools.partial(fully_connected, activation_fn=nn.elu)
