"""What every layer has: names, weights, sharing, losses and errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import actorsession as acts
from actorsession import layers
from tests.rows import for_each, refusing
from tests.train.layers.kit import filled, value

ONES = np.ones([2, 3], np.float32)
IMAGES = np.ones([2, 4, 4, 3], np.float32)


def names() -> list[str]:
    return [variable.op.name for variable in acts.global_variables()]


# The variables that a layer makes, by its name.
VARIABLES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "dense": (lambda: layers.dense(ONES, 2), ["kernel", "bias"]),
    "conv1d": (lambda: layers.conv1d(np.ones([2, 4, 3], np.float32), 2, 2), ["kernel", "bias"]),
    "conv2d": (lambda: layers.conv2d(IMAGES, 2, 2), ["kernel", "bias"]),
    "conv3d": (lambda: layers.conv3d(np.ones([1, 3, 3, 3, 2], np.float32), 2, 2), ["kernel", "bias"]),
    "conv2d_transpose": (lambda: layers.conv2d_transpose(IMAGES, 2, 2), ["kernel", "bias"]),
    "separable_conv2d": (
        lambda: layers.separable_conv2d(IMAGES, 2, 2),
        ["depthwise_kernel", "pointwise_kernel", "bias"],
    ),
    "batch_normalization": (
        lambda: layers.batch_normalization(ONES),
        ["gamma", "beta", "moving_mean", "moving_variance"],
    ),
    "layer_normalization": (lambda: layers.layer_normalization(ONES), ["gamma", "beta"]),
    "embedding": (lambda: layers.embedding([[1, 2]], 3, 2), ["embeddings"]),
    "rnn": (
        lambda: layers.rnn(np.ones([2, 4, 3], np.float32), layers.LSTMCell(2)),
        ["lstm_cell/kernel", "lstm_cell/bias"],
    ),
    "max_pooling2d": (lambda: layers.max_pooling2d(IMAGES), []),
}


@for_each("name", VARIABLES)
def test_variables_have_the_names_of_tensorflow(name: str) -> None:
    make, weights = VARIABLES[name]
    with acts.Graph().as_default():
        make()
        assert names() == [f"{name}/{weight}" for weight in weights]


def test_a_second_layer_of_a_class_has_a_number_in_its_name() -> None:
    first, second = layers.Dense(2), layers.Dense(2)
    second(ONES)
    first(ONES)
    assert (second.name, first.name) == ("dense", "dense_1")
    assert names() == ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]
    # The weights are below the variable scope of the first call.
    layer = layers.Dense(2, name="out")
    with acts.variable_scope("model"):
        layer(ONES)
    layer(ONES)
    assert names() == ["model/out/kernel", "model/out/bias"]
    assert layer.scope_name == "model/out"
    assert repr(layer) == "<Dense 'out'>"

    # A layer without outputs is refused.
    class Nothing(layers.Layer):
        def call(self, inputs: Any) -> Any:
            return None

    with pytest.raises(ValueError, match=r"Nothing.call returned None; it must return its outputs"):
        Nothing()(ONES)
    # An unused layer has no scope.
    with pytest.raises(ValueError, match="'dense' has no scope before it is called"):
        _ = layers.Dense(2).scope_name


def test_calls_of_one_layer_share_its_weights(session: acts.Session) -> None:
    layer = layers.Dense(2)
    one, two = layer(ONES), layer(2 * ONES)
    kernel, bias = filled(session, layer.weights[0], layer.weights[1])
    assert len(acts.global_variables()) == 2
    found = session.run([one, two])
    np.testing.assert_allclose(found[0], ONES @ kernel + bias, rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * ONES @ kernel + bias, rtol=1e-6)
    # A layer that is not trainable has no trainable weights.
    frozen, trained = layers.Dense(2, trainable=False), layers.Dense(2)
    frozen(ONES)
    trained(ONES)
    assert acts.trainable_variables() == trained.trainable_weights == trained.weights
    assert frozen.trainable_weights == []
    assert len(frozen.non_trainable_weights) == 2


def test_functions_share_weights_by_name_where_the_scope_allows_it() -> None:
    layers.dense(ONES, 2, name="fc")
    with pytest.raises(ValueError, match="fc/kernel already exists"):
        layers.dense(ONES, 2, name="fc")
    layers.dense(ONES, 2, name="fc", reuse=True)
    with acts.variable_scope("", reuse=acts.AUTO_REUSE):
        layers.dense(ONES, 2, name="fc")
    assert names() == ["fc/kernel", "fc/bias"]
    with pytest.raises(ValueError, match="other/kernel does not exist"):
        layers.dense(ONES, 2, name="other", reuse=True)


def test_regularisation_losses_are_collected_once_per_weight(session: acts.Session) -> None:
    layer = layers.Dense(2, kernel_regularizer=acts.nn.l2_loss, activity_regularizer=acts.reduce_sum)
    outputs = [layer(ONES), layer(ONES)]
    kernel, _ = filled(session, *layer.weights)
    collected = acts.get_collection(acts.GraphKeys.REGULARIZATION_LOSSES)
    assert collected == layer.losses
    of_kernel, *of_outputs = session.run(collected)
    np.testing.assert_allclose(of_kernel, np.sum(kernel**2) / 2, rtol=1e-6)
    np.testing.assert_allclose(of_outputs, np.sum(session.run(outputs), axis=(1, 2)), rtol=1e-6)


def test_initialisers_activations_and_constraints_are_functions() -> None:
    layer = layers.Dense(
        2,
        activation=acts.nn.relu,
        kernel_initializer=acts.initializers.constant_initializer(-1.0),
        bias_initializer=acts.initializers.constant_initializer(4.0),
        kernel_constraint=acts.negative,
    )
    outputs = layer(np.array([[1, 2], [3, 4]], np.float32))
    np.testing.assert_array_equal(value(outputs), [[1, 1], [0, 0]])
    assert layer.weights[0].constraint is acts.negative


def test_the_default_kernel_is_drawn_as_glorot_uniform() -> None:
    layer = layers.Dense(300)
    layer(np.ones([1, 200], np.float32))
    kernel, bias = value(layer.weights)
    limit = np.sqrt(6 / 500)
    assert np.abs(kernel).max() <= limit
    np.testing.assert_allclose(kernel.std(), limit / np.sqrt(3), rtol=0.02)
    np.testing.assert_array_equal(bias, np.zeros(300))
    # The weights have the dtype of the inputs or the one given.
    double = layers.Dense(2)
    assert double(ONES.astype(np.float64)).dtype is acts.float64
    half = layers.Dense(2, dtype=acts.float16)
    assert half([[1.0, 2.0]]).dtype is acts.float16
    assert half.dtype is acts.float16
    # A layer builds in the graph of its inputs.
    elsewhere = acts.Graph()
    with elsewhere.as_default():
        x = acts.placeholder(acts.float32, [None, 3])
    layer = layers.Dense(2)
    assert layer(x).graph is elsewhere
    assert layer.weights[0].graph is elsewhere
    assert names() == []
    # A copy of a layer shares its weights.
    layer = layers.Dense(2)
    layer(ONES)
    assert copy.deepcopy(layer).weights == layer.weights


def test_the_initialiser_and_the_regulariser_of_a_scope_apply() -> None:
    ones = acts.initializers.ones_initializer()
    with acts.variable_scope("m", initializer=ones, regularizer=acts.nn.l2_loss):
        layer = layers.Dense(2)
        layer(ONES)
    kernel, bias = value(layer.weights)
    np.testing.assert_array_equal(kernel, np.ones([3, 2]))
    np.testing.assert_array_equal(bias, np.zeros(2))
    assert len(layer.losses) == 2


def test_a_layer_of_a_program_has_build_and_call() -> None:
    class Scale(layers.Layer):
        def build(self, shape: Any) -> None:
            ones = acts.initializers.constant_initializer(3.0)
            self.factor = self.add_weight("factor", [shape[-1]], initializer=ones)

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    layer = Scale()
    np.testing.assert_array_equal(value(layer(ONES)), 3 * ONES)
    assert names() == ["scale/factor"]
    assert layer.trainable_weights == [layer.factor]


# -- errors ----------------------------------------------------------------------------------------


def unknown(*sizes: int | None, dtype: Any = acts.float32) -> Any:
    return acts.placeholder(dtype, sizes)


test_wrong_inputs_and_arguments_are_refused = refusing(
    (
        lambda: layers.dense(unknown(2, None), 3),
        ValueError,
        r"Dense 'dense' depend on the size of axis -1 of its inputs, which have shape \(2, None\)",
    ),
    (
        lambda: layers.dense(acts.placeholder(acts.float32), 3),
        ValueError,
        "depend on the size of axis -1 of its inputs",
    ),
    (lambda: layers.dense(unknown(3), 3), ValueError, "takes inputs of rank 2 or more"),
    (
        lambda: layers.dense(np.ones([2, 3], int), 3),
        TypeError,
        "takes inputs of a floating or complex dtype, got int64",
    ),
    (lambda: layers.Dense(0), ValueError, "units is a positive number"),
    (lambda: layers.Dense(1, activation="rely"), ValueError, "Unknown activation function: rely. Known names are elu"),
    (lambda: layers.Dense(1, kernel_initializer=3), TypeError, "initializer must be a function"),
    (
        lambda: layers.conv2d(unknown(2, 4, 3), 2, 2),
        ValueError,
        r"Conv2D 'conv2d' takes inputs of rank 4, laid out as NHWC; got shape \(2, 4, 3\)",
    ),
    (lambda: layers.conv2d(unknown(2, 4, 4, None), 2, 2), ValueError, "depend on the size of axis 3"),
    (
        lambda: layers.conv2d(unknown(2, None, 4, 4), 2, 2, data_format="channels_first"),
        ValueError,
        "depend on the size of axis 1",
    ),
    (
        lambda: layers.Conv2D(2, (1, 2, 3)),
        ValueError,
        r"kernel_size is a positive int or a tuple of 2 of them, got \(1, 2, 3\)",
    ),
    (lambda: layers.Conv2D(2, 2, padding="full"), ValueError, "padding is valid or same, got 'full'"),
    (
        lambda: layers.MaxPooling2D(data_format="NHWC"),
        ValueError,
        "data_format is channels_last or channels_first, got 'NHWC'",
    ),
    (lambda: layers.global_max_pooling2d(ONES), ValueError, "takes inputs of rank 4"),
    (
        lambda: layers.batch_normalization(np.ones([2, 3], int)),
        TypeError,
        "takes inputs of a floating dtype, got int64",
    ),
    (
        lambda: layers.batch_normalization(ONES, axis=2),
        ValueError,
        "normalises axis 2, which inputs of rank 2 do not have",
    ),
    (lambda: layers.layer_normalization(acts.placeholder(acts.float32)), ValueError, "takes inputs of a known rank"),
    (lambda: layers.Dropout(1.0), ValueError, r"in \[0, 1\), got 1.0"),
    (lambda: layers.dropout(ONES, training="yes"), TypeError, "training is a bool or a scalar bool tensor, got 'yes'"),
    (lambda: layers.embedding(ONES, 3, 2), TypeError, "takes ids of an integer dtype, got float32"),
    (lambda: layers.Embedding(0, 2), ValueError, "are positive, got 0 and 2"),
    (lambda: layers.flatten(acts.placeholder(acts.float32)), ValueError, "takes inputs of a known rank"),
    (lambda: layers.RNN(layers.Dense(2)), TypeError, "is not an RNNCell"),
    (lambda: layers.Dense(2, **cast("Any", {"kernel_size": 3})), TypeError, "kernel_size"),
)
