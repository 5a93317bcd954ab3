"""``tf.layers``: signatures, names, sharing, collections and values as TensorFlow 1 has them."""

from __future__ import annotations

import importlib.metadata
import inspect
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each, refusing

pytestmark = pytest.mark.usefixtures("graph")


def names() -> list[str]:
    return [variable.name for variable in tf.global_variables()]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


ONES = tf.ones_initializer()

L = tf.layers

# By name: a call, the shape of its outputs, the names of its variables.
CALLS: dict[str, Any] = {
    "dense": (lambda: L.dense(tf.ones([2, 3]), 4), [2, 4], "kernel bias"),
    "conv1d": (lambda: L.conv1d(tf.ones([2, 9, 3]), 4, 3, 2), [2, 4, 4], "kernel bias"),
    "conv2d": (lambda: L.conv2d(tf.ones([2, 8, 8, 3]), 4, 3, (2, 2), "same"), [2, 4, 4, 4], "kernel bias"),
    "conv3d": (lambda: L.conv3d(tf.ones([2, 4, 4, 4, 3]), 4, 2, use_bias=False), [2, 3, 3, 3, 4], "kernel"),
    "conv2d_transpose": (
        lambda: L.conv2d_transpose(tf.ones([2, 4, 4, 3]), 5, 3, 2, "same"),
        [2, 8, 8, 5],
        "kernel bias",
    ),
    "conv3d_transpose": (
        lambda: L.conv3d_transpose(tf.ones([2, 2, 2, 2, 3]), 5, 2, (2, 2, 2)),
        [2, 4, 4, 4, 5],
        "kernel bias",
    ),
    "separable_conv1d": (
        lambda: L.separable_conv1d(tf.ones([2, 9, 3]), 4, 3, depth_multiplier=2),
        [2, 7, 4],
        "depthwise_kernel pointwise_kernel bias",
    ),
    "separable_conv2d": (
        lambda: L.separable_conv2d(tf.ones([2, 9, 9, 3]), 4, (3, 3)),
        [2, 7, 7, 4],
        "depthwise_kernel pointwise_kernel bias",
    ),
    "max_pooling1d": (lambda: L.max_pooling1d(tf.ones([2, 8, 3]), 2, 2), [2, 4, 3], ""),
    "max_pooling2d": (
        lambda: L.max_pooling2d(tf.ones([2, 3, 8, 8]), 2, 2, data_format="channels_first"),
        [2, 3, 4, 4],
        "",
    ),
    "average_pooling3d": (
        lambda: L.average_pooling3d(tf.ones([2, 4, 4, 4, 1]), 2, 1, padding="same"),
        [2, 4, 4, 4, 1],
        "",
    ),
    "flatten": (lambda: L.flatten(tf.ones([2, 3, 4])), [2, 12], ""),
    "dropout": (lambda: L.dropout(tf.ones([2, 3]), training=True), [2, 3], ""),
    "batch_normalization": (
        lambda: L.batch_normalization(tf.ones([2, 3])),
        [2, 3],
        "gamma beta moving_mean moving_variance",
    ),
}


@for_each("name", sorted(CALLS))
def test_a_function_makes_variables_of_tensorflows_names(name: str) -> None:
    call, shape, variables = CALLS[name]
    assert call().shape.as_list() == shape
    assert names() == [f"{name}/{variable}:0" for variable in variables.split()]


def test_arguments_are_taken_by_place_as_in_tensorflow() -> None:
    tf.layers.dense(tf.ones([2, 3]), 4, tf.nn.relu, False)
    assert names() == ["dense/kernel:0"]
    found = list(inspect.signature(tf.layers.separable_conv2d).parameters)
    order = "depth_multiplier activation use_bias depthwise_initializer pointwise_initializer bias_initializer"
    assert " ".join(found[7:13]) == order
    found = list(inspect.signature(tf.layers.batch_normalization).parameters)
    assert found[14:18] == ["training", "trainable", "name", "reuse"]


def test_names_count_up_inside_variable_scopes_and_stay_as_given() -> None:
    x = tf.ones([2, 3])
    tf.layers.dense(x, 1)
    tf.layers.dense(x, 1)
    with tf.variable_scope("inner"):
        tf.layers.dense(x, 1, use_bias=False)
        tf.layers.dense(x, 1, use_bias=False, name="head")
    assert names()[::2] == ["dense/kernel:0", "dense_1/kernel:0", "inner/dense/kernel:0"]
    assert names()[-1] == "inner/head/kernel:0"


def test_a_name_is_shared_with_reuse_only() -> None:
    x = tf.ones([2, 3])
    first = tf.layers.dense(x, 1, name="a")
    with pytest.raises(ValueError, match=r"a/kernel.*already exists"):
        tf.layers.dense(x, 1, name="a")
    again = tf.layers.dense(x, 1, name="a", reuse=True)
    with tf.variable_scope("scope", reuse=tf.AUTO_REUSE):
        for _ in range(2):
            tf.layers.dense(x, 1, name="b")
    assert len(names()) == 4
    np.testing.assert_array_equal(*run([first, again]))


def test_a_scope_gives_its_initialiser_and_regulariser() -> None:
    with tf.variable_scope("s", initializer=tf.constant_initializer(2.0)):
        out = tf.layers.dense(tf.ones([1, 3]), 1, kernel_regularizer=tf.nn.l2_loss)
    (loss,) = tf.losses.get_regularization_losses()
    assert [each.tolist() for each in run([out, loss])] == [[[6.0]], 6.0]


def test_a_constraint_is_applied_to_the_updated_kernel() -> None:
    out = tf.layers.dense(tf.ones([1, 1]), 1, kernel_initializer=ONES, kernel_constraint=lambda w: tf.minimum(w, 0.5))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(out))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(tf.global_variables()[0]).tolist() == [[0.5]]


def test_what_is_not_trainable_is_in_no_trainable_collection() -> None:
    tf.layers.dense(tf.ones([2, 3]), 1, trainable=False)
    tf.layers.batch_normalization(tf.ones([2, 3]))
    assert [v.name for v in tf.trainable_variables()] == ["batch_normalization/gamma:0", "batch_normalization/beta:0"]


@for_each("shape", [(6, 3), (6, 2, 2, 3)])
@for_each("fused", [None, False])
def test_batch_normalisation_follows_a_placeholder(shape: tuple[int, ...], fused: Any) -> None:
    x, training = tf.placeholder(tf.float32, [None, *shape[1:]]), tf.placeholder(tf.bool)
    y = tf.layers.batch_normalization(x, momentum=0.9, training=training, fused=fused)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    values = np.random.default_rng(0).normal(3, 2, shape).astype(np.float32)
    axes = tuple(range(len(shape) - 1))
    mean: Any = values.mean(axes)
    variance: Any = values.var(axes)
    if len(shape) == 4 and fused is None:
        count = values.size // 3
        variance_kept = variance * count / (count - 1)
    else:
        variance_kept = variance
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, _ = session.run([y, updates], {x: values, training: True})
        np.testing.assert_allclose(found, (values - mean) / np.sqrt(variance + 1e-3), atol=1e-4)
        kept = session.run(tf.global_variables()[2:])
        np.testing.assert_allclose(kept[0], 0.1 * mean, rtol=1e-4)
        np.testing.assert_allclose(kept[1], 0.9 + 0.1 * variance_kept, rtol=1e-4)
        found = session.run(y, {x: values, training: False})
        np.testing.assert_allclose(found, (values - kept[0]) / np.sqrt(kept[1] + 1e-3), rtol=1e-3, atol=1e-3)


def test_a_layer_shows_its_arguments_weights_and_shapes() -> None:
    layer = tf.layers.Conv2D(4, 3, padding="same", activation=tf.nn.relu)
    assert (layer.filters, layer.padding, layer.activation) == (4, "same", tf.nn.relu)
    with pytest.raises(ValueError, match=r"isn't built"):
        layer.count_params()
    with pytest.raises(ValueError, match="No name available for layer scope"):
        _ = layer.scope_name
    with pytest.raises(AttributeError, match="no input to return"):
        _ = layer.input
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    assert (layer.input, layer.output) == (x, layer(x))
    assert (layer.input_shape, layer.output_shape) == ((None, 6, 6, 2), (None, 6, 6, 4))
    assert layer.compute_output_shape([5, 8, 8, 2]).as_list() == [5, 8, 8, 4]
    assert layer.count_params() == 3 * 3 * 2 * 4 + 4
    assert layer.weights == [layer.kernel, layer.bias] == tf.global_variables()
    assert (layer.scope_name, layer.name) == ("conv2d", "conv2d_1")
    layer(x)
    with pytest.raises(AttributeError, match="called several times"):
        _ = layer.output


def test_a_layer_is_built_by_hand() -> None:
    layer = tf.layers.Dense(3, name="head")
    layer.build((None, 4))
    assert layer.built
    layer(tf.ones([2, 4]))
    assert names() == ["head/kernel:0", "head/bias:0"]
    # A layer without call returns its inputs.
    x = tf.ones([2, 3])
    assert tf.layers.Layer()(x) is x
    # A layer that is not trainable updates nothing.
    layer = tf.layers.BatchNormalization(trainable=False)
    layer(tf.ones([2, 3]), training=True)
    assert layer.updates == tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert len(layer.non_trainable_weights) == 4
    # A dense layer computes in its own dtype.
    assert tf.layers.Dense(2, dtype=tf.float64)(tf.ones([2, 3])).dtype == tf.float64

    # A layer takes structures.
    class Sum(tf.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return tf.add_n(inputs)

    assert run(Sum()([tf.ones([2]), tf.ones([2])])).tolist() == [2.0, 2.0]


def test_updates_belong_to_the_inputs_that_they_depend_on() -> None:
    layer = tf.layers.BatchNormalization()
    first, second = tf.ones([4, 3]), tf.zeros([4, 3])
    layer(first, training=True)
    layer(second, training=True)
    assert len(layer.updates) == 4
    assert layer.get_updates_for(first) == layer.updates[:2]
    assert layer.get_updates_for(second) == layer.updates[2:]
    assert layer.get_updates_for(None) == []


class Affine(tf.layers.Layer):
    """A layer as programs write it."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.input_spec = tf.layers.InputSpec(min_ndim=2, axes={-1: 3})

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_variable("kernel", shape=[int(input_shape[-1]), self.units], initializer=ONES)
        self.add_loss(tf.reduce_sum(self.kernel))
        super().build(input_shape)

    def call(self, inputs: Any, scale: float = 1.0) -> Any:
        return scale * tf.matmul(inputs, self.kernel)


def test_a_layer_of_a_program() -> None:
    layer = Affine(2, name="affine")
    y = layer(np.ones([1, 3], np.float32), scale=2.0)
    assert isinstance(layer, tf.layers.Layer)
    assert names() == ["affine/kernel:0"]
    assert tf.losses.get_regularization_losses() == layer.losses == layer.get_losses_for(None)
    assert run([y, layer.losses[0]])[0].tolist() == [[6.0, 6.0]]
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        Affine(2)(tf.ones([1, 4]))
    with pytest.raises(ValueError, match="expected min_ndim=2, found ndim=1"):
        Affine(2)(tf.ones([3]))
    with pytest.raises(TypeError, match="Keyword argument not understood: 'units_'"):
        Affine(2, units_=3)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: tf.layers.conv2d(tf.ones([2, 4, 4]), 3, 3), ValueError, "expected ndim=4, found ndim=3"),
    (lambda: tf.layers.max_pooling2d(tf.ones([2, 4, 4]), 3, 3), ValueError, "expected ndim=4"),
    (
        lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [2, 4, 4, None]), 3, 3),
        ValueError,
        "channel dimension of the inputs should be defined",
    ),
    (
        lambda: tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 3),
        ValueError,
        "last dimension of the inputs to `Dense` should be defined",
    ),
    (lambda: tf.layers.dense(tf.placeholder(tf.float32), 3), ValueError, "its rank is undefined"),
    (lambda: tf.layers.dense(tf.ones([2, 3], tf.int32), 3), TypeError, "Unable to build `Dense`"),
    (lambda: tf.layers.Conv2D(3, (3, 3, 3)), ValueError, "`kernel_size` argument must be a tuple of 2"),
    (lambda: tf.layers.Conv2D(3, 3, padding="foo"), ValueError, "`padding` argument must be"),
    (lambda: tf.layers.Conv1D(3, 3, strides=(1, 2)), ValueError, "`strides` argument must be a tuple"),
    (lambda: tf.layers.Conv1D(3, 3, data_format="N"), ValueError, "`data_format` argument must be"),
]


test_what_does_not_fit_is_refused_in_the_words_of_tensorflow = refusing(*REFUSED)


def test_a_layer_knows_what_its_weights_were_built_for() -> None:
    layer = tf.layers.Conv2D(4, 3, strides=2, padding="SAME", data_format="channels_first")
    assert (layer.kernel_size, layer.strides, layer.padding, layer.rank) == ((3, 3), (2, 2), "same", 2)
    assert (layer.input_spec.ndim, layer.input_spec.axes) == (4, {})
    first, second = layer(tf.ones([2, 3, 8, 8])), layer(tf.ones([1, 3, 6, 6]))
    assert layer.input_spec.axes == {1: 3}
    assert layer.get_output_at(0) is first
    assert layer.get_output_at(1) is second
    assert layer.get_input_shape_at(1) == (1, 3, 6, 6)
    assert layer.get_output_shape_at(1) == (1, 4, 3, 3)
    with pytest.raises(ValueError, match="has only 2 inbound nodes"):
        layer.get_output_at(2)
    with pytest.raises(ValueError, match="expected axis 1 of input shape to have value 3"):
        layer(tf.ones([1, 5, 6, 6]))


def test_losses_and_updates_may_be_functions_and_tensors() -> None:
    class Counting(tf.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.count = self.add_weight("count", [], trainable=False)
            self.built = True

        def call(self, inputs: Any) -> Any:
            self.add_loss(lambda: tf.reduce_sum(inputs))
            self.add_update([tf.assign_add(self.count, 1.0), lambda: self.count.assign(0.0).op])
            return inputs

    layer = Counting(activity_regularizer=tf.reduce_sum)
    layer(tf.ones([2, 3]))
    assert all(isinstance(update, tf.Operation) for update in layer.updates)
    assert [update.type for update in tf.get_collection(tf.GraphKeys.UPDATE_OPS)] == ["AssignAdd", "Assign"]
    assert layer.losses[1].op.name == "counting/ActivityRegularizer/truediv"
    assert run(layer.losses) == [6.0, 3.0]


def test_layers_in_keras_style_share_nothing() -> None:
    x = tf.ones([1, 1])
    with tf.layers.experimental.keras_style_scope():
        for _ in range(2):
            tf.layers.Dense(1, use_bias=False, name="a")(x)
        with pytest.raises(ValueError, match="no reuse"):
            tf.layers.Dense(1, _reuse=True)
    assert names() == ["a/kernel:0", "a_1/kernel:0"]


def test_a_separable_convolution_of_sequences_is_that_of_images_of_one_row() -> None:
    x = np.random.default_rng(1).normal(size=(2, 7, 3)).astype(np.float32)
    found = tf.layers.separable_conv1d(x, 4, 3, 2, "same", name="a")
    image = tf.layers.separable_conv2d(x[:, None], 4, (1, 3), 2, "same", name="b")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for theirs, ours in zip(tf.global_variables("b"), tf.global_variables("a"), strict=True):
            theirs.load(session.run(ours).reshape(theirs.shape.as_list()), session)
        a, b = session.run([found, image])
    np.testing.assert_allclose(a, b[:, 0], rtol=1e-5)


def test_without_keras_the_refusal_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(AttributeError, match=r"no attribute 'keras': Keras .*: pip install 'actorsession\[keras\]'"):
        getattr(tf, "keras")  # noqa: B009 - a type checker knows that it is absent
    assert not hasattr(tf, "keras")


BATCHES = [np.sin(np.arange(24) * (step + 1.0)).reshape(8, 3) * 2 + 1 for step in range(3)]


WEIGHTS = [1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 0.5, 0.5]


def adjusted(shape: Any) -> tuple[Any, Any]:
    return tf.fill(shape[-1:], 1.1), tf.fill(shape[-1:], 0.3)


# Arguments, then the first row of the outputs and of the gradient in the third step, and the averages.
CASES: dict[str, Any] = {
    "renormalised": (
        {"renorm": True, "renorm_momentum": 0.8, "renorm_clipping": {"rmin": 0.5, "rmax": 1.2, "dmax": 0.3}},
        [0.2812, 0.53628, -0.13453],
        [-3.81266, -3.6376, -2.83774],
        {
            "moving_mean": [0.16191, 0.40418, 0.28581],
            "moving_variance": [1.02361, 1.02282, 1.25581],
            "moving_stddev": [1.01223, 1.01184, 1.12108],
            "renorm_mean": [0.29265, 0.7232, 0.51308],
            "renorm_stddev": [1.02889, 1.02801, 1.20898],
        },
    ),
    "in parts": (
        {"virtual_batch_size": 2},
        [0.99949, -0.99926, 0.99877],
        [0.0, 0.0, 0.0],
        {"moving_mean": [0.16191, 0.40418, 0.28581], "moving_variance": [0.82915, 0.82711, 0.87232]},
    ),
    "renormalised in parts": (
        {"virtual_batch_size": 4, "renorm": True},
        [2.11275, 0.02973, 1.69532],
        [0.79058, 0.89969, 0.16535],
        {
            "moving_mean": [0.16191, 0.40418, 0.28581],
            "moving_variance": [0.81418, 0.81077, 0.82757],
            "moving_stddev": [0.90287, 0.90098, 0.91026],
            "renorm_mean": [0.01779, 0.04444, 0.03139],
            "renorm_stddev": [0.98922, 0.98901, 0.9896],
        },
    ),
    "adjusted": (
        {"adjustment": adjusted},
        [0.28277, 0.51659, -0.11065],
        [-2.93672, -2.80186, -2.395],
        {"moving_mean": [0.16191, 0.40418, 0.28581], "moving_variance": [1.04607, 1.04619, 1.3216]},
    ),
}


def averages(session: Any) -> dict[str, Any]:
    found = [v for v in tf.global_variables() if v not in tf.trainable_variables()]
    return {variable.op.name: np.ravel(session.run(variable)) for variable in found}


def assert_close(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_numbers_of_tensorflow(case: str, as_tensor: bool) -> None:
    settings, outputs, gradient, kept = CASES[case]
    x = tf.placeholder(tf.float32, [8, 3])
    training = tf.placeholder_with_default(True, []) if as_tensor else True
    y = tf.layers.batch_normalization(x, training=training, momentum=0.9, **settings)
    (slope,) = tf.gradients(tf.reduce_sum(y**3), x)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in BATCHES:
            found, slopes = session.run([y, slope], {x: batch})
            session.run(updates, {x: batch})
        np.testing.assert_allclose(found[0], outputs, atol=2e-5)
        np.testing.assert_allclose(slopes[0], gradient, atol=5e-5)
        wanted = {f"batch_normalization/{name}": value for name, value in kept.items()}
        assert_close(averages(session), wanted)
        if as_tensor:
            # A step of inference moves nothing, and normalises by the averages.
            found = session.run([y, *updates], {x: BATCHES[0], training: False})[0]
            assert_close(averages(session), wanted)
            spread = np.sqrt(np.asarray(kept["moving_variance"]) + 1e-3)
            np.testing.assert_allclose(found, (BATCHES[0] - kept["moving_mean"]) / spread, atol=1e-3)


def test_several_axes_have_a_scale_for_each_of_their_places() -> None:
    batch = np.random.default_rng(0).normal(size=(8, 2, 2, 3))
    y = tf.layers.batch_normalization(tf.constant(batch, tf.float32), axis=[1, 3], training=True)
    assert [variable.shape.as_list() for variable in tf.global_variables()] == [[1, 2, 1, 3]] * 4
    mean, spread = batch.mean((0, 2), keepdims=True), batch.var((0, 2), keepdims=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = (batch - mean) / np.sqrt(spread + 1e-3)
        np.testing.assert_allclose(session.run(y), wanted, atol=1e-5)


test_contradicting_arguments_are_refused = refusing(
    ({"renorm": True, "renorm_clipping": {"rmean": 1}}, "contains keys not in"),
    ({"virtual_batch_size": 0}, "must be a positive integer that divides"),
    ({"virtual_batch_size": 2, "axis": 0}, "axis cannot include 0"),
    ({"virtual_batch_size": 2, "adjustment": adjusted}, "cannot be specified"),
    ({"axis": [1, 1]}, "Duplicate axis"),
    ({"axis": (1,)}, TypeError, "axis must be int or list"),
    of=lambda settings: tf.layers.batch_normalization(tf.ones([8, 3]), **settings),
)


OF_CONTRIB: dict[str, Any] = {
    "weights": (
        {"batch_weights": WEIGHTS},
        (
            [-0.56188, 0.7901, -1.0055],
            {
                "BatchNorm/moving_mean": [0.25696, 0.30198, 0.28249],
                "BatchNorm/moving_variance": [0.99953, 0.98557, 1.21498],
            },
        ),
    ),
    "without the bias of zeros": (
        {"zero_debias_moving_mean": True, "updates_collections": None},
        (
            [-0.01567, 0.1969, -0.37331],
            {
                "BatchNorm/moving_mean": [0.59746, 1.49142, 1.05467],
                "BatchNorm/moving_variance": [1.09137, 1.0915, 1.40625],
                "BatchNorm/BatchNorm/moving_mean/biased": [0.16191, 0.40418, 0.28581],
                "BatchNorm/BatchNorm/moving_mean/local_step": [3.0],
            },
        ),
    ),
}


@pytest.mark.parametrize("case", OF_CONTRIB)
def test_numbers_of_contrib(case: str) -> None:
    settings, (outputs, kept) = OF_CONTRIB[case]
    x = tf.placeholder(tf.float32, [8, 3])
    y = tf.contrib.layers.batch_norm(x, decay=0.9, scale=True, **settings)
    # As in TensorFlow, which makes them in this order here, and the other way round in its plain layer.
    assert [v.op.name for v in tf.trainable_variables()] == ["BatchNorm/beta", "BatchNorm/gamma"]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in BATCHES:
            found = session.run([y, *updates], {x: batch})[0]
        np.testing.assert_allclose(found[0], outputs, atol=2e-5)
        assert_close(averages(session), kept)


def test_contrib_renormalises_where_updates_are_in_their_usual_collection() -> None:
    batch_norm = tf.contrib.layers.batch_norm
    batch_norm(tf.ones([8, 3]), renorm=True, variables_collections=["mine"])
    assert [v.op.name for v in tf.model_variables()[-3:]] == [
        "BatchNorm/moving_stddev",
        "BatchNorm/renorm_mean",
        "BatchNorm/renorm_stddev",
    ]
    assert len(tf.get_collection("mine")) == 3
    with pytest.raises(ValueError, match="renorm is not supported with"):
        batch_norm(tf.ones([8, 3]), renorm=True, updates_collections=None)
    with pytest.raises(ValueError, match="incompatible"):
        batch_norm(tf.ones([7, 3]), batch_weights=WEIGHTS)
