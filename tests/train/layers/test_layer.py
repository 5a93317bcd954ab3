"""Layers: their variables, and their outputs against numpy."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import actorsession as acts
from actorsession import layers as L
from tests.ops.table.sliding import back_to_images, correlated, pooled
from tests.rows import for_each, refusing
from tests.train.layers.kit import filled, reals, value

ONES = np.ones([2, 3], np.float32)
IMAGES = np.ones([2, 4, 4, 3], np.float32)


def names() -> list[str]:
    return [variable.op.name for variable in acts.global_variables()]


# The variables that a layer makes, by its name.
VARIABLES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "dense": (lambda: L.dense(ONES, 2), ["kernel", "bias"]),
    "conv1d": (lambda: L.conv1d(np.ones([2, 4, 3], np.float32), 2, 2), ["kernel", "bias"]),
    "conv2d": (lambda: L.conv2d(IMAGES, 2, 2), ["kernel", "bias"]),
    "conv3d": (lambda: L.conv3d(np.ones([1, 3, 3, 3, 2], np.float32), 2, 2), ["kernel", "bias"]),
    "conv2d_transpose": (lambda: L.conv2d_transpose(IMAGES, 2, 2), ["kernel", "bias"]),
    "separable_conv2d": (lambda: L.separable_conv2d(IMAGES, 2, 2), ["depthwise_kernel", "pointwise_kernel", "bias"]),
    "batch_normalization": (lambda: L.batch_normalization(ONES), ["gamma", "beta", "moving_mean", "moving_variance"]),
    "layer_normalization": (lambda: L.layer_normalization(ONES), ["gamma", "beta"]),
    "embedding": (lambda: L.embedding([[1, 2]], 3, 2), ["embeddings"]),
    "rnn": (lambda: L.rnn(np.ones([2, 4, 3], np.float32), L.LSTMCell(2)), ["lstm_cell/kernel", "lstm_cell/bias"]),
    "max_pooling2d": (lambda: L.max_pooling2d(IMAGES), []),
}


@for_each("name", VARIABLES)
def test_variables_have_the_names_of_tensorflow(name: str) -> None:
    make, weights = VARIABLES[name]
    with acts.Graph().as_default():
        make()
        assert names() == [f"{name}/{weight}" for weight in weights]


def test_a_second_layer_of_a_class_has_a_number_in_its_name() -> None:
    first, second = L.Dense(2), L.Dense(2)
    second(ONES)
    first(ONES)
    assert (second.name, first.name) == ("dense", "dense_1")
    assert names() == ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]


def test_an_unused_layer_has_no_scope() -> None:
    with pytest.raises(ValueError, match="'dense' has no scope before it is called"):
        _ = L.Dense(2).scope_name


def test_a_layer_without_outputs_is_refused() -> None:
    class Nothing(L.Layer):
        def call(self, inputs: Any) -> Any:
            return None

    with pytest.raises(ValueError, match=r"Nothing.call returned None; it must return its outputs"):
        Nothing()(ONES)


def test_the_weights_are_below_the_variable_scope_of_the_first_call() -> None:
    layer = L.Dense(2, name="out")
    with acts.variable_scope("model"):
        layer(ONES)
    layer(ONES)
    assert names() == ["model/out/kernel", "model/out/bias"]
    assert layer.scope_name == "model/out"
    assert repr(layer) == "<Dense 'out'>"


def test_calls_of_one_layer_share_its_weights(session: acts.Session) -> None:
    layer = L.Dense(2)
    one, two = layer(ONES), layer(2 * ONES)
    kernel, bias = filled(session, layer.weights[0], layer.weights[1])
    assert len(acts.global_variables()) == 2
    found = session.run([one, two])
    np.testing.assert_allclose(found[0], ONES @ kernel + bias, rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * ONES @ kernel + bias, rtol=1e-6)


def test_a_layer_that_is_not_trainable_has_no_trainable_weights() -> None:
    frozen, trained = L.Dense(2, trainable=False), L.Dense(2)
    frozen(ONES)
    trained(ONES)
    assert acts.trainable_variables() == trained.trainable_weights == trained.weights
    assert frozen.trainable_weights == []
    assert len(frozen.non_trainable_weights) == 2


def test_functions_share_weights_by_name_where_the_scope_allows_it() -> None:
    L.dense(ONES, 2, name="fc")
    with pytest.raises(ValueError, match="fc/kernel already exists"):
        L.dense(ONES, 2, name="fc")
    L.dense(ONES, 2, name="fc", reuse=True)
    with acts.variable_scope("", reuse=acts.AUTO_REUSE):
        L.dense(ONES, 2, name="fc")
    assert names() == ["fc/kernel", "fc/bias"]
    with pytest.raises(ValueError, match="other/kernel does not exist"):
        L.dense(ONES, 2, name="other", reuse=True)


def test_regularisation_losses_are_collected_once_per_weight(session: acts.Session) -> None:
    layer = L.Dense(2, kernel_regularizer=acts.nn.l2_loss, activity_regularizer=acts.reduce_sum)
    outputs = [layer(ONES), layer(ONES)]
    kernel, _ = filled(session, *layer.weights)
    collected = acts.get_collection(acts.GraphKeys.REGULARIZATION_LOSSES)
    assert collected == layer.losses
    of_kernel, *of_outputs = session.run(collected)
    np.testing.assert_allclose(of_kernel, np.sum(kernel**2) / 2, rtol=1e-6)
    np.testing.assert_allclose(of_outputs, np.sum(session.run(outputs), axis=(1, 2)), rtol=1e-6)


def test_initialisers_activations_and_constraints_are_functions() -> None:
    layer = L.Dense(
        2,
        activation=acts.nn.relu,
        kernel_initializer=acts.initializers.constant_initializer(-1.0),
        bias_initializer=acts.initializers.constant_initializer(4.0),
        kernel_constraint=acts.negative,
    )
    np.testing.assert_array_equal(value(layer(np.array([[1, 2], [3, 4]], np.float32))), [[1, 1], [0, 0]])
    assert layer.weights[0].constraint is acts.negative


def test_the_default_kernel_is_drawn_as_glorot_uniform() -> None:
    layer = L.Dense(300)
    layer(np.ones([1, 200], np.float32))
    kernel, bias = value(layer.weights)
    limit = np.sqrt(6 / 500)
    assert np.abs(kernel).max() <= limit
    np.testing.assert_allclose(kernel.std(), limit / np.sqrt(3), rtol=0.02)
    np.testing.assert_array_equal(bias, np.zeros(300))
    # The weights have the dtype of the inputs or the one given.
    assert L.Dense(2)(ONES.astype(np.float64)).dtype is acts.float64
    half = L.Dense(2, dtype=acts.float16)
    assert half([[1.0, 2.0]]).dtype is acts.float16
    assert half.dtype is acts.float16


def test_a_copy_of_a_layer_shares_its_weights() -> None:
    layer = L.Dense(2)
    layer(ONES)
    assert copy.deepcopy(layer).weights == layer.weights


def test_a_layer_builds_in_the_graph_of_its_inputs() -> None:
    elsewhere = acts.Graph()
    with elsewhere.as_default():
        x = acts.placeholder(acts.float32, [None, 3])
    layer = L.Dense(2)
    assert layer(x).graph is elsewhere
    assert layer.weights[0].graph is elsewhere
    assert names() == []


def test_the_initialiser_and_the_regulariser_of_a_scope_apply() -> None:
    with acts.variable_scope("m", initializer=acts.initializers.ones_initializer(), regularizer=acts.nn.l2_loss):
        layer = L.Dense(2)
        layer(ONES)
    kernel, bias = value(layer.weights)
    np.testing.assert_array_equal(kernel, np.ones([3, 2]))
    np.testing.assert_array_equal(bias, np.zeros(2))
    assert len(layer.losses) == 2


def test_a_layer_of_a_program_has_build_and_call() -> None:
    class Scale(L.Layer):
        def build(self, shape: Any) -> None:
            ones = acts.initializers.constant_initializer(3.0)
            self.factor = self.add_weight("factor", [shape[-1]], initializer=ones)

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    layer = Scale()
    np.testing.assert_array_equal(value(layer(ONES)), 3 * ONES)
    assert names() == ["scale/factor"]
    assert layer.trainable_weights == [layer.factor]


def unknown(*sizes: int | None, dtype: Any = acts.float32) -> Any:
    return acts.placeholder(dtype, sizes)


test_wrong_inputs_and_arguments_are_refused = refusing(
    (
        lambda: L.dense(unknown(2, None), 3),
        r"Dense 'dense' depend on the size of axis -1 of its inputs, which have shape \(2, None\)",
    ),
    (lambda: L.dense(acts.placeholder(acts.float32), 3), "depend on the size of axis -1 of its inputs"),
    (lambda: L.dense(unknown(3), 3), "takes inputs of rank 2 or more"),
    (lambda: L.dense(np.ones([2, 3], int), 3), TypeError, "takes inputs of a floating or complex dtype, got int64"),
    (lambda: L.Dense(0), "units is a whole number of 1 or more, got 0"),
    (lambda: L.Dense(1, activation="rely"), "Unknown activation function: rely. Known names are elu"),
    (lambda: L.Dense(1, kernel_initializer=3), TypeError, "initializer must be a function"),
    (
        lambda: L.conv2d(unknown(2, 4, 3), 2, 2),
        r"Conv2D 'conv2d' takes inputs of rank 4, laid out as NHWC; got shape \(2, 4, 3\)",
    ),
    (lambda: L.conv2d(unknown(2, 4, 4, None), 2, 2), "depend on the size of axis 3"),
    (lambda: L.conv2d(unknown(2, None, 4, 4), 2, 2, data_format="channels_first"), "depend on the size of axis 1"),
    (lambda: L.Conv2D(2, (1, 2, 3)), r"kernel_size is a positive int or a tuple of 2 of them, got \(1, 2, 3\)"),
    (lambda: L.Conv2D(2, 2, padding="full"), "padding is valid or same, got 'full'"),
    (lambda: L.MaxPooling2D(data_format="NHWC"), "data_format is channels_last or channels_first, got 'NHWC'"),
    (lambda: L.global_max_pooling2d(ONES), "takes inputs of rank 4"),
    (lambda: L.batch_normalization(np.ones([2, 3], int)), TypeError, "takes inputs of a floating dtype, got int64"),
    (lambda: L.batch_normalization(ONES, axis=2), "normalises axis 2, which inputs of rank 2 do not have"),
    (lambda: L.layer_normalization(acts.placeholder(acts.float32)), "takes inputs of a known rank"),
    (lambda: L.Dropout(1.0), r"in \[0, 1\), got 1.0"),
    (lambda: L.dropout(ONES, training="yes"), TypeError, "training is a bool or a scalar bool tensor, got 'yes'"),
    (lambda: L.embedding(ONES, 3, 2), TypeError, "takes ids of an integer dtype, got float32"),
    (lambda: L.Embedding(0, 2), "input_dim is a whole number of 1 or more, got 0"),
    (lambda: L.flatten(acts.placeholder(acts.float32)), "takes inputs of a known rank"),
    (lambda: L.RNN(L.Dense(2)), TypeError, "is not an RNNCell"),
    (lambda: L.Dense(2, **cast("Any", {"kernel_size": 3})), TypeError, "kernel_size"),
)


# Arguments that are numbers, and such as a layer needs.
COUNTS = {
    "axis",
    "depth_multiplier",
    "dilation_rate",
    "filters",
    "input_dim",
    "kernel_size",
    "num_units",
    "output_dim",
    "padding",
    "pool_size",
    "strides",
    "units",
    "virtual_batch_size",
}
NUMBERS = COUNTS | {"epsilon", "momentum", "rate", "renorm_momentum"}
NEEDED = {"filters": 2, "input_dim": 3, "kernel_size": 2, "num_units": 2, "output_dim": 2, "units": 2}
NUMBERED = [
    (kind, name)
    for kind in [getattr(L, name) for name in L.__all__]
    if isinstance(kind, type)
    for name in inspect.signature(kind).parameters
    if name in NUMBERS
]


@for_each("kind, argument", NUMBERED)
def test_a_number_that_is_none_is_refused_by_the_name_of_the_argument(kind: Any, argument: str) -> None:
    parameters = inspect.signature(kind).parameters
    given = {name: number for name, number in NEEDED.items() if name in parameters}
    wrong = ["x", 2.5] if argument in COUNTS else ["x"]
    for number in [*wrong, *([None] if parameters[argument].default is not None else [])]:
        with pytest.raises((TypeError, ValueError), match=rf"^{argument} .*got {number!r}$"):
            kind(**{**given, argument: number})


def test_a_count_may_be_any_whole_number() -> None:
    assert L.Dense(cast("int", np.int64(2)))(ONES).shape == (2, 2)
    assert L.MaxPooling2D(np.int8(2), strides=(np.int64(1), 2))(IMAGES).shape == (2, 3, 2, 3)
    assert len(NUMBERED) > 40


def outputs_of(session: acts.Session, layer: L.Layer, x: Any) -> tuple[Any, list[Any]]:
    """The outputs of a layer for an array, and its weights, which are other than at first."""
    outputs = layer(x)
    weights = filled(session, *layer.weights)
    return session.run(outputs), weights


def close(found: Any, wanted: Any) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_dense_layer_multiplies_with_its_kernel(session: acts.Session) -> None:
    x = reals(2, 5, 3)
    found, (kernel, bias) = outputs_of(session, L.Dense(4, activation=acts.tanh), x)
    close(found, np.tanh(x @ kernel + bias))
    found, (kernel,) = outputs_of(session, L.Dense(4, use_bias=False), x)
    close(found, x @ kernel)
    # A separable convolution mixes channels after its windows.
    x = reals(2, 5, 5, 3)
    found, (depthwise, pointwise, bias) = outputs_of(session, L.SeparableConv2D(4, 3, 2, depth_multiplier=2), x)
    each = [correlated(x[..., [c]], depthwise[:, :, [c]], (2, 2), "VALID") for c in range(3)]
    close(found, np.concatenate(each, axis=-1) @ pointwise[0, 0] + bias)


def test_outputs_have_the_static_shapes_that_follow() -> None:
    x = acts.placeholder(acts.float32, [None, 7, 3])
    assert L.dense(x, 4).shape.as_list() == [None, 7, 4]
    assert L.conv1d(x, 4, 3, 2).shape.as_list() == [None, 3, 4]
    assert L.conv1d_transpose(x, 4, 3, 2).shape.as_list() == [None, 15, 4]
    assert L.flatten(x).shape.as_list() == [None, 21]
    assert L.batch_normalization(x, training=True).shape.as_list() == [None, 7, 3]
    assert L.rnn(x, L.GRUCell(5))[0].shape.as_list() == [None, 7, 5]


# -- convolutions ----------------------------------------------------------------------------------


@for_each("padding", ["valid", "same"])
@for_each(
    "make, shape, size, strides, apart",
    [
        (L.Conv1D, (2, 7, 3), 3, 2, 1),
        (L.Conv2D, (2, 6, 5, 3), (3, 2), (2, 1), 1),
        (L.Conv3D, (2, 4, 5, 3, 2), 2, (1, 2, 1), 1),
        (L.Conv1D, (2, 9, 3), 3, 1, 2),
    ],
)
def test_a_convolution_sums_windows(make: Any, shape: Any, size: Any, strides: Any, apart: int, padding: str) -> None:
    x, axes = reals(*shape), len(shape) - 2
    with acts.Graph().as_default(), acts.Session() as session:
        found, (kernel, bias) = outputs_of(session, make(4, size, strides, padding, dilation_rate=apart), x)
    steps = strides if isinstance(strides, tuple) else (strides,) * axes
    close(found, correlated(x, kernel, steps, padding.upper(), [apart] * axes) + bias)


IN_FRONT: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "conv1d": (lambda **given: L.Conv1D(4, 3, 2, **given), (2, 6, 3)),
    "conv2d": (lambda **given: L.Conv2D(4, 3, 2, **given), (2, 6, 5, 3)),
    "conv3d": (lambda **given: L.Conv3D(4, 2, 2, **given), (1, 4, 5, 4, 3)),
    "conv1d_transpose": (lambda **given: L.Conv1DTranspose(4, 3, 2, **given), (2, 6, 3)),
    "conv2d_transpose": (lambda **given: L.Conv2DTranspose(4, 3, 2, **given), (2, 6, 5, 3)),
    "conv3d_transpose": (lambda **given: L.Conv3DTranspose(4, 2, 2, **given), (1, 2, 3, 2, 3)),
    "separable_conv2d": (lambda **given: L.SeparableConv2D(4, 3, 2, **given), (2, 6, 5, 3)),
    "max_pooling1d": (lambda **given: L.MaxPooling1D(2, **given), (2, 6, 3)),
    "average_pooling2d": (lambda **given: L.AveragePooling2D(2, **given), (2, 6, 5, 3)),
    "max_pooling3d": (lambda **given: L.MaxPooling3D(2, **given), (2, 4, 5, 4, 3)),
}


@for_each("kind", IN_FRONT)
def test_channels_may_come_first(kind: str) -> None:
    make, shape = IN_FRONT[kind]
    x = reals(*shape)
    with acts.Graph().as_default(), acts.Session() as session:
        found, weights = outputs_of(session, make(data_format="channels_first"), np.moveaxis(x, -1, 1))
    with acts.Graph().as_default(), acts.Session() as session:
        wanted, others = outputs_of(session, make(), x)
    for one, two in zip(weights, others, strict=True):
        np.testing.assert_array_equal(one, two)
    close(np.moveaxis(found, 1, -1), wanted)


@for_each("padding", ["valid", "same"])
@for_each(
    "make, shape, size, strides",
    [
        (L.Conv1DTranspose, (2, 5, 3), (3,), (2,)),
        (L.Conv2DTranspose, (2, 4, 3, 3), (3, 2), (2, 3)),
        (L.Conv3DTranspose, (1, 3, 2, 2, 2), (2, 2, 2), (1, 1, 1)),
    ],
)
def test_transposed_convolutions_are_gradients(make: Any, shape: Any, size: Any, strides: Any, padding: str) -> None:
    x = reals(*shape)
    with acts.Graph().as_default(), acts.Session() as session:
        found, (kernel,) = outputs_of(session, make(4, size, strides, padding, use_bias=False), x)
    extra = [max(k - s, 0) if padding == "valid" else 0 for k, s in zip(size, strides, strict=True)]
    spatial = [n * s + e for n, s, e in zip(shape[1:-1], strides, extra, strict=True)]
    close(found, back_to_images([shape[0], *spatial, 4], kernel, x, strides, padding.upper()))


# -- pooling ---------------------------------------------------------------------------------------


@for_each("padding", ["valid", "same"])
@for_each("axes", [1, 2, 3])
@for_each("kind, choose", [("Max", np.max), ("Average", np.mean)])
def test_pooling_is_over_windows(kind: str, choose: Any, axes: int, padding: str) -> None:
    x = reals(2, *[7, 5, 4][:axes], 3)
    with acts.Graph().as_default():
        found = value(getattr(L, f"{kind}Pooling{axes}D")(3, 2, padding)(x))
    close(found, pooled(x, [3] * axes, [2] * axes, padding.upper(), choose))


def test_the_strides_of_pooling_are_its_size_if_left_out() -> None:
    x = reals(1, 6, 6, 2)
    close(value(L.max_pooling2d(x, 3)), value(L.max_pooling2d(x, 3, 3)))


@for_each("spatial", [1, 2, 3])
@for_each("kind, reduce", [("max", np.max), ("average", np.mean)])
def test_global_pooling_is_over_all_elements(kind: str, reduce: Any, spatial: int) -> None:
    function = getattr(L, f"global_{kind}_pooling{spatial}d")
    x = reals(2, *range(3, 3 + spatial), 4)
    with acts.Graph().as_default():
        plain, kept = function(x), function(x, keepdims=True)
        first = function(np.moveaxis(x, -1, 1), data_format="channels_first")
        found, kept_value, of_first = value([plain, kept, first])
    axes = tuple(range(1, spatial + 1))
    close(found, reduce(x, axis=axes))
    close(kept_value, reduce(x, axis=axes, keepdims=True))
    close(of_first, found)


# -- normalisation ---------------------------------------------------------------------------------


def normalised(x: Any, mean: Any, variance: Any, gamma: Any, beta: Any) -> Any:
    return (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta


BATCHES: dict[str, tuple[tuple[int, ...], int]] = {
    "columns": ((6, 3), -1),
    "sequences": ((4, 5, 3), 2),
    "images": ((2, 4, 5, 3), -1),
    "images with channels in front": ((2, 3, 4, 5), 1),
    "rows of images": ((2, 3, 4, 5), 2),
    "volumes": ((2, 3, 2, 3, 4), -1),
}


@for_each("kind", BATCHES)
def test_batch_normalisation_has_the_statistics_of_the_batch_while_training(kind: str) -> None:
    shape, axis = BATCHES[kind]
    x = reals(*shape) * 3 + 1
    with acts.Graph().as_default(), acts.Session() as session:
        layer = L.BatchNormalization(axis)
        training = acts.placeholder_with_default(False, [])
        fixed = [layer(x, training=True), layer(x, training=False)]
        fed = layer(x, training=training)
        gamma, beta, mean, variance = filled(session, *layer.weights)
        variance = np.abs(variance) + 0.5
        layer.weights[3].load(variance, session)
        trained, inferred = session.run(fixed)
        close(session.run(fed, {training: True}), trained)
        close(session.run(fed), inferred)
    axes = tuple(n for n in range(len(shape)) if n != axis % len(shape))
    placed = [1] * len(shape)
    placed[axis] = -1
    gamma, beta, mean, variance = (v.reshape(placed) for v in (gamma, beta, mean, variance))
    of_batch = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    close(trained, normalised(x, *of_batch, gamma, beta))
    close(inferred, normalised(x, mean, variance, gamma, beta))


@for_each("shape", [(6, 3), (2, 3, 4, 3)])
def test_running_averages_move_with_the_updates_of_the_collection(shape: tuple[int, ...]) -> None:
    """The running variance of images is unbiased, as it is in TensorFlow."""
    x = reals(*shape) * 3 + 1
    with acts.Graph().as_default(), acts.Session() as session:
        layer = L.BatchNormalization(momentum=0.9)
        training = acts.placeholder(acts.bool_, [])
        outputs = layer(x, training=training)
        updates = acts.get_collection(acts.GraphKeys.UPDATE_OPS)
        assert updates == layer.updates
        assert len(updates) == 2
        session.run(acts.global_variables_initializer())
        averages = layer.weights[2:]
        session.run(outputs, {training: True})
        np.testing.assert_array_equal(session.run(averages), [np.zeros(3), np.ones(3)])
        session.run(updates, {training: False})
        np.testing.assert_array_equal(session.run(averages), [np.zeros(3), np.ones(3)])
        session.run(updates, {training: True})
        mean, variance = session.run(averages)
    flat = x.reshape(-1, 3)
    close(mean, 0.1 * flat.mean(0))
    close(variance, 0.9 + 0.1 * flat.var(0, ddof=int(len(shape) == 4)))


def test_inference_alone_has_no_updates() -> None:
    L.batch_normalization(reals(2, 3))
    assert acts.get_collection(acts.GraphKeys.UPDATE_OPS) == []


def test_scale_and_offset_may_be_left_out(session: acts.Session) -> None:
    x = reals(6, 3)
    for_images = L.batch_normalization(x.reshape(1, 2, 3, 3), center=False, scale=False, training=True)
    plain = L.batch_normalization(x, center=False, scale=False, training=True)
    assert acts.trainable_variables() == []
    session.run(acts.global_variables_initializer())
    wanted = normalised(x, x.mean(0), x.var(0), 1, 0)
    close(session.run(plain), wanted)
    close(session.run(for_images), wanted.reshape(1, 2, 3, 3))


@for_each("dtype, tolerance", [(acts.float16, 0.01), (acts.bfloat16, 0.02)])
def test_half_precision_has_statistics_of_single_precision(dtype: Any, tolerance: float) -> None:
    x = (reals(6, 3) * 300).astype(dtype.np_dtype)
    layer = L.BatchNormalization()
    found = value(layer(x, training=True))
    assert found.dtype == dtype.np_dtype
    assert [weight.dtype for weight in layer.weights] == [acts.float32] * 4
    wide = x.astype(np.float32)
    np.testing.assert_allclose(
        found.astype(np.float32), normalised(wide, wide.mean(0), wide.var(0), 1, 0), rtol=tolerance, atol=tolerance
    )


@for_each("axes", [-1, (1, 2), (1,)])
def test_layer_normalisation_is_over_the_features_of_an_example(axes: Any) -> None:
    x = reals(4, 5, 3) * 3 + 1
    with acts.Graph().as_default(), acts.Session() as session:
        found, (gamma, beta) = outputs_of(session, L.LayerNormalization(axes), x)
    over = axes if isinstance(axes, tuple) else (axes,)
    placed = [x.shape[n] if n in [a % 3 for a in over] else 1 for n in range(3)]
    mean, variance = x.mean(over, keepdims=True), x.var(over, keepdims=True)
    close(found, normalised(x, mean, variance, gamma.reshape(placed), beta.reshape(placed)))


def test_dropout_drops_while_training_only(session: acts.Session) -> None:
    x = np.ones([100, 100], np.float32)
    training = acts.placeholder(acts.bool_, [])
    by_tensor = L.dropout(x, 0.25, training=training, seed=1)
    by_bool, idle = L.dropout(x, seed=2, training=True), L.dropout(x)
    np.testing.assert_array_equal(session.run(by_tensor, {training: False}), x)
    np.testing.assert_array_equal(session.run(idle), x)
    for outputs, rate in ((session.run(by_tensor, {training: True}), 0.25), (session.run(by_bool), 0.5)):
        assert set(np.unique(outputs)) == {np.float32(0), np.float32(1 / (1 - rate))}
        np.testing.assert_allclose(np.mean(outputs == 0), rate, atol=0.03)
    # Dropout may keep axes together.
    outputs = session.run(L.dropout(np.ones([8, 50], np.float32), noise_shape=[1, None], training=True))
    assert (outputs == outputs[:1]).all()


def test_an_embedding_looks_rows_up(session: acts.Session) -> None:
    ids = np.array([[2, 0], [1, 2]])
    layer = L.Embedding(3, 4)
    outputs = layer(ids)
    gradient = acts.gradients(outputs, layer.weights)[0]
    assert isinstance(gradient, acts.IndexedSlices)
    session.run(acts.global_variables_initializer())
    assert np.abs(session.run(layer.weights[0])).max() <= 0.05
    (table,) = filled(session, *layer.weights)
    np.testing.assert_array_equal(session.run(outputs), table[ids])
    np.testing.assert_array_equal(session.run(gradient.indices).ravel(), [2, 0, 1, 2])
    # Flattening joins all axes but the first.
    x = reals(2, 3, 4, 5)
    np.testing.assert_array_equal(session.run(L.flatten(x)), x.reshape(2, 60))
    first = L.flatten(np.moveaxis(x, -1, 1), data_format="channels_first")
    np.testing.assert_array_equal(session.run(first), x.reshape(2, 60))
    some = acts.placeholder(acts.float32, [None, None, 2])
    np.testing.assert_array_equal(session.run(L.flatten(some), {some: x.reshape(4, 15, 2)}), x.reshape(4, 30))
    none = acts.placeholder(acts.float32, [None, 3, 2])
    assert session.run(L.flatten(none), {none: np.zeros([0, 3, 2])}).shape == (0, 6)


def test_weights_may_be_in_parts(session: acts.Session) -> None:
    """Running averages are in one piece."""
    ids, x = np.array([[7, 0], [4, 3]]), reals(2, 4)
    with acts.variable_scope("m", partitioner=acts.variables.fixed_size_partitioner(2)):
        table, dense, norm = L.Embedding(8, 3), L.Dense(4), L.BatchNormalization()
        outputs = [table(ids), norm(dense(x), training=True)]
    weights = [*table.weights, *dense.weights, *norm.trainable_weights]
    first, second, *parts = filled(session, *weights)
    looked_up, normal = session.run(outputs)
    session.run(norm.updates)
    np.testing.assert_array_equal(looked_up, np.concatenate([first, second])[ids])
    kernel, bias, gamma, beta = (np.concatenate(parts[n : n + 2], axis=0) for n in range(0, len(parts), 2))
    made = x @ kernel + bias
    close(normal, normalised(made, made.mean(0), made.var(0), gamma, beta))
    assert [variable.op.name for variable in norm.non_trainable_weights] == [
        "m/batch_normalization/moving_mean",
        "m/batch_normalization/moving_variance",
    ]


# -- recurrent networks ----------------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def basic_step(x: Any, h: Any, weights: Any) -> Any:
    kernel, bias = weights
    h = np.tanh(np.concatenate([x, h], 1) @ kernel + bias)
    return h, h


def gru_step(x: Any, h: Any, weights: Any) -> Any:
    gate_kernel, gate_bias, kernel, bias = weights
    reset, update = np.split(sigmoid(np.concatenate([x, h], 1) @ gate_kernel + gate_bias), 2, 1)
    new = np.tanh(np.concatenate([x, reset * h], 1) @ kernel + bias)
    h = update * h + (1 - update) * new
    return h, h


def lstm_step(x: Any, state: Any, weights: Any) -> Any:
    kernel, bias = weights
    c, h = state if isinstance(state, tuple) else (state, state)
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    h = sigmoid(o) * np.tanh(c)
    return h, (c, h)


CELLS: dict[str, tuple[type[Any], Callable[..., Any]]] = {
    "basic": (L.BasicRNNCell, basic_step),
    "gru": (L.GRUCell, gru_step),
    "lstm": (L.LSTMCell, lstm_step),
}


def over_time(step: Callable[..., Any], x: Any, weights: Any, lengths: Any, units: int) -> Any:
    outputs = np.zeros([*x.shape[:2], units], np.float32)
    for member, length in enumerate(lengths):
        state = np.zeros([1, units], np.float32)
        for time in range(length):
            out, state = step(x[member : member + 1, time], state, weights)
            outputs[member, time] = out[0]
    return outputs


@for_each("kind", CELLS)
def test_a_cell_is_run_over_sequences_of_their_lengths(kind: str) -> None:
    make, step = CELLS[kind]
    x, lengths = reals(3, 5, 2), [5, 2, 3]
    with acts.Graph().as_default(), acts.Session() as session:
        layer = L.RNN(make(4))
        outputs, state = layer(x, lengths)
        weights = filled(session, *layer.weights)
        found, last = session.run([outputs, state])
        assert layer.weights == layer.cells[0].weights == acts.trainable_variables()
    wanted = over_time(step, x, weights, lengths, 4)
    close(found, wanted)
    final = np.stack([wanted[member, length - 1] for member, length in enumerate(lengths)])
    close(last.h if kind == "lstm" else last, final)


def test_time_may_come_first_and_a_state_be_given(session: acts.Session) -> None:
    x = reals(3, 5, 2)
    layer = L.RNN(L.GRUCell(4), time_major=True)
    outputs, state = layer(np.swapaxes(x, 0, 1)[:2])
    rest, last = layer(np.swapaxes(x, 0, 1)[2:], initial_state=state)
    weights = filled(session, *layer.weights)
    found = np.concatenate(session.run([outputs, rest]))
    close(np.swapaxes(found, 0, 1), over_time(gru_step, x, weights, [5] * 3, 4))
    close(session.run(last), found[-1])


def test_two_cells_run_in_both_directions(session: acts.Session) -> None:
    x, lengths = reals(2, 4, 3), [4, 2]
    layer = L.BidirectionalRNN(L.BasicRNNCell(2), L.BasicRNNCell(2))
    (forward, backward), _ = layer(x, lengths)
    weights = filled(session, *layer.weights)
    found = session.run([forward, backward])
    turned = x.copy()
    for member, length in enumerate(lengths):
        turned[member, :length] = x[member, :length][::-1]
    close(found[0], over_time(basic_step, x, weights[:2], lengths, 2))
    wanted = over_time(basic_step, turned, weights[2:], lengths, 2)
    for member, length in enumerate(lengths):
        close(found[1][member, :length], wanted[member, :length][::-1])


def test_a_network_of_layers_learns(session: acts.Session) -> None:
    points = np.random.default_rng(1).uniform(-1, 1, (200, 2)).astype(np.float32)
    inside = (points[:, 0] * points[:, 1] > 0).astype(np.float32)
    hidden = L.dense(points, 16, activation=acts.tanh)
    hidden = L.batch_normalization(hidden, training=True)
    logits = L.flatten(L.dense(hidden, 1))[:, 0]
    loss = acts.reduce_mean(acts.nn.sigmoid_cross_entropy_with_logits(labels=inside, logits=logits))
    with acts.control_dependencies(acts.get_collection(acts.GraphKeys.UPDATE_OPS)):
        train = acts.train.AdamOptimizer(0.05).minimize(loss)
    acts.set_random_seed(1)
    session.run(acts.global_variables_initializer())
    for _ in range(150):
        session.run(train)
    found, at = session.run([logits, loss])
    assert at < 0.2
    assert np.mean((found > 0) == (inside > 0)) > 0.95
