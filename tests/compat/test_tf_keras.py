"""What programs for TensorFlow 1.15 use of ``tf.keras`` beyond the package that it is.

The cases run one after the other in one program. Numbers are those of TensorFlow, or numpy's.
"""

from __future__ import annotations

import importlib.metadata
import math
import sys
from textwrap import dedent, indent
from typing import Any

import pytest

from tests.compat.test_keras import APART, printed, pytestmark

__all__ = ["pytestmark"]

_BEGIN = """
import json, os, traceback, warnings
import numpy as np
import tensorflow as tf

warnings.simplefilter("ignore")
K, L, O = tf.keras.backend, tf.keras.layers, tf.keras.optimizers
x = np.linspace(-1, 1, 24).reshape(6, 4).astype("f")
y = np.sin(np.arange(6)).reshape(6, 1).astype("f")
MSE = "mean_squared_error"

def mlp(activation="tanh"):
    model = tf.keras.Sequential([L.Dense(3, activation=activation, input_shape=(4,)), L.Dense(1)])
    model.set_weights([
        np.linspace(-.5, .5, 12).reshape(4, 3), np.zeros(3), np.linspace(-.4, .6, 3).reshape(3, 1), [.1],
    ])
    return model

def fitted(optimizer, **kwargs):
    model = mlp()
    model.compile(optimizer, MSE, **kwargs)
    return model.fit(x, y, batch_size=6, epochs=5, shuffle=False, verbose=0).history["loss"]

def same(first, second):
    return bool(np.allclose(first.predict(x), second.predict(x)))

def value(tensor, feeds=None):
    session = K.get_session()
    session.run([v.initializer for v in tf.global_variables()])
    return np.round(np.ravel(session.run(tensor, feeds)), 5).tolist()

def plain(found):
    if isinstance(found, dict):
        return {key: plain(each) for key, each in found.items()}
    if isinstance(found, (list, tuple)):
        return [plain(each) for each in found]
    return found.tolist() if isinstance(found, (np.ndarray, np.generic)) else found

results = {}
"""
_CASE = """
def case():
{code}

K.clear_session()
try:
    results[{name!r}] = plain(case())
except Exception:
    results[{name!r}] = traceback.format_exc()
"""

# Losses of five epochs, which begin alike.
_SGD = [0.77153, 0.63481, 0.54196, 0.47424, 0.42224]

CASES: dict[str, tuple[str, Any]] = {
    # -- optimisers
    "sgd": ("return fitted(O.SGD(learning_rate=.1))", _SGD),
    "its rate is lr as well": ("return fitted(O.SGD(lr=.1))", _SGD),
    "an optimiser of tf.train": ("return fitted(tf.train.GradientDescentOptimizer(.1))", _SGD),
    "momentum": (
        "return fitted(O.SGD(.1, momentum=.9, nesterov=True))",
        [0.77153, 0.53652, 0.37731, 0.28722, 0.23972],
    ),
    "each gradient is clipped by its own norm": (
        "return fitted(O.SGD(learning_rate=.1, clipnorm=.5))",
        [0.77153, 0.69732, 0.63744, 0.58728, 0.54379],
    ),
    "minimize": (
        """
        w = tf.Variable([1., 2.])
        step = O.SGD(.1).minimize(tf.reduce_sum(w * w), [w])
        session = K.get_session()
        session.run(tf.global_variables_initializer())
        session.run(step)
        return session.run(w)
        """,
        [0.8, 1.6],
    ),
    "apply_gradients counts": (
        """
        w, unused = tf.Variable([1., 2.]), tf.Variable(3.)
        optimizer = O.SGD(.1)
        step = optimizer.apply_gradients([(w * 2., w), (None, unused)])
        session = K.get_session()
        session.run(tf.global_variables_initializer())
        session.run(step)
        return session.run([w, optimizer.iterations])
        """,
        [[0.8, 1.6], 1],
    ),
    # -- initialisers
    "initialisers take a type": (
        """
        made = [
            getattr(tf.keras.initializers, name)(dtype=tf.float32)(
                (2, 2), dtype=tf.float32, partition_info=None)
            for name in "Zeros Ones Constant RandomNormal VarianceScaling Orthogonal glorot_uniform".split()
        ]
        return [[each.dtype.name, each.shape.as_list()] for each in made]
        """,
        [["float32", [2, 2]]] * 7,
    ),
    "initialisers of TensorFlow's, and classes": (
        """
        three = tf.constant_initializer(3.)
        layer = L.Dense(2, kernel_initializer=tf.ones_initializer, bias_initializer=three)
        return value(layer(tf.ones([1, 4])))
        """,
        [7.0, 7.0],
    ),
    "initialisers of Keras in variables": (
        """
        v = tf.get_variable("v", [2], initializer=tf.keras.initializers.Constant(2.))
        return value(tf.layers.dense(v[None], 1, kernel_initializer=tf.keras.initializers.Ones()))
        """,
        [4.0],
    ),
    # -- layers and models on tensors
    "an array": (
        "return value(L.Dense(2, kernel_initializer='ones')(np.ones([1, 4], 'f')))",
        [4.0, 4.0],
    ),
    "a model in either phase": (
        """
        model = tf.keras.Sequential([L.Dropout(.5, input_shape=(4,)), L.BatchNormalization()])
        given = tf.ones([1, 4])
        train, test = model(given, training=True), model(given, training=False)
        found = value(test)
        near = max(abs(v - .9995) for v in found) < .001
        return [near, value(train) != found, len(model.trainable_variables)]
        """,
        [True, True, 2],
    ),
    "the learning phase is fed": (
        """
        dropped = L.Dropout(.5)(tf.ones([200]))
        fed = [0. in value(dropped, {K.learning_phase(): phase}) for phase in (0, 1)]
        return [*fed, 0. in value(dropped)]
        """,
        [False, True, False],
    ),
    "weights without training are not tf.trainable_variables()": (
        """
        L.BatchNormalization()(L.Dense(2)(tf.ones([1, 4])), training=True)
        O.Adam().iterations
        return [v.name for v in tf.trainable_variables()]
        """,
        [
            "dense_1/kernel:0",
            "dense_1/bias:0",
            "batch_normalization_1/gamma:0",
            "batch_normalization_1/beta:0",
        ],
    ),
    "beside tf.layers and an optimiser": (
        """
        hidden = tf.layers.dense(tf.constant(x), 8, activation=tf.nn.relu)
        loss = tf.losses.mean_squared_error(y, L.Dense(1)(hidden))
        step = tf.train.AdamOptimizer(.05).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([loss, step])[0] for _ in range(50)]
        return bool(found[-1] < .5 * found[0])
        """,
        True,
    ),
    "operations between layers": (
        """
        given = tf.keras.Input((4,))
        hidden = tf.nn.relu(L.Dense(3)(given)) + 1.
        model = tf.keras.Model(given, tf.identity(L.Dense(2)(tf.concat([hidden, hidden], -1)) * 2.))
        w, b, v, c = [np.asarray(weight) for weight in model.get_weights()]
        hidden = np.maximum(x @ w + b, 0) + 1
        right = 2 * (np.concatenate([hidden, hidden], -1) @ v + c)
        nested = tf.keras.Model(other := tf.keras.Input((4,)), model(other))
        model.save("operations.h5")
        return [bool(np.allclose(m.predict(x), right, atol=1e-5)) for m in (
            model, nested, tf.keras.models.load_model("operations.h5"))]
        """,
        [True, True, True],
    ),
    "an input of a size": (
        "return tf.keras.Input(shape=(4,), batch_size=8, dtype=tf.int32).shape.as_list()",
        [8, 4],
    ),
    # -- classes of a program
    "a model that is a class": (
        """
        class Model(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.hidden = [L.Dense(8, activation="tanh"), L.Dense(8)]
                self.last, self.drop = L.Dense(1), L.Dropout(.1)

            def call(self, inputs, training=None):
                for layer in self.hidden:
                    inputs = layer(inputs)
                return self.last(self.drop(inputs, training=training))

        model, other = Model(), Model()
        model.compile(O.Adam(.05), MSE)
        loss = model.fit(x, y, epochs=30, verbose=0).history["loss"]
        model.save_weights("class/weights", save_format="tf")
        other(tf.constant(x))
        other.load_weights("class/weights")
        other.compile("sgd", MSE)
        plain = model(tf.placeholder(tf.float32, [None, 4]), training=True)
        learnt = loss[-1] < .5 * loss[0]
        return [learnt, len(model.trainable_variables), same(model, other), plain.shape.as_list()]
        """,
        [True, 6, True, [None, 1]],
    ),
    "a layer that is a class": (
        """
        class Scaled(L.Layer):
            def __init__(self, units, **kwargs):
                super().__init__(**kwargs)
                self.units = units

            def build(self, shape):
                sizes = [int(shape[-1]), self.units]
                self.w = self.add_weight("w", sizes, initializer=tf.ones_initializer())
                zeros = tf.zeros_initializer()
                self.seen = self.add_variable("seen", [], trainable=False, initializer=zeros)
                super().build(shape)

            def call(self, inputs):
                return tf.matmul(inputs, self.w)

            def get_config(self):
                return {**super().get_config(), "units": self.units}

        model = tf.keras.Sequential([Scaled(2, input_shape=(4,)), L.Dense(1)])
        model.compile("sgd", MSE)
        model.fit(x, y, verbose=0)
        model.save("class.h5")
        with tf.keras.utils.CustomObjectScope({"Scaled": Scaled}):
            other = tf.keras.models.load_model("class.h5")
        return [same(model, other), len(model.trainable_weights), len(model.weights), model.output_shape]
        """,
        [True, 3, 4, [None, 1]],
    ),
    "shapes in a structure, and a type that the layer sets": (
        """
        class Pairs(L.Layer):
            def build(self, shapes):
                first, (second, third) = shapes
                self.found = [first.as_list(), second.as_list(), third.as_list()]
                super().build(shapes)

        class Half(L.Layer):
            def build(self, shape):
                self._dtype = tf.float16
                self.scale = self.add_weight("scale", [1], initializer="ones")

        class Alone(L.Layer):
            def build(self, input_shape=None):
                super().build(input_shape)

        Alone().build()
        pairs, half = Pairs(), Half()
        pairs.build([tf.TensorShape([1, 2]), (tf.TensorShape([3]), tf.TensorShape([4, None]))])
        half.build([None, 2])
        return [pairs.found, half.scale.dtype.base_dtype.name]
        """,
        [[[1, 2], [3], [4, None]], "float16"],
    ),
    # -- data
    "data sets of tuples and dicts": (
        """
        first, second = L.Input((2,), name="first"), L.Input((2,), name="second")
        model = tf.keras.Model([first, second], L.Dense(1, name="sum")(L.concatenate([first, second])))
        model.compile("sgd", MSE)
        parts = {"first": x[:, :2], "second": x[:, 2:]}
        found = []
        for given in ((tuple(parts.values()), y), (parts, y), (parts, {"sum": y})):
            data = tf.data.Dataset.from_tensor_slices(given).batch(3).repeat()
            found.append(len(model.fit(data, epochs=2, steps_per_epoch=2, verbose=0).history["loss"]))
        return found
        """,
        [2, 2, 2],
    ),
    "tensors of an iterator": (
        """
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(6).repeat()
        model = mlp()
        model.compile(O.SGD(.1), MSE)
        images, labels = data.make_one_shot_iterator().get_next()
        return model.fit(images, labels, epochs=5, steps_per_epoch=1, verbose=0).history["loss"]
        """,
        _SGD,
    ),
    # -- names of metrics
    "accuracy is called acc": (
        """
        model = mlp("sigmoid")
        model.compile("sgd", "binary_crossentropy", metrics=["accuracy"], run_eagerly=False)
        history = model.fit(x, y > 0, validation_data=(x, y > 0), verbose=0).history
        return [sorted(history), model.metrics_names]
        """,
        [["acc", "loss", "val_acc", "val_loss"], ["loss", "acc"]],
    ),
    # -- saving
    "checkpoints of a callback": (
        """
        model, other = mlp(), mlp()
        model.compile("sgd", MSE)
        saved = tf.keras.callbacks.ModelCheckpoint("points/{epoch:02d}.ckpt", save_weights_only=True)
        model.fit(x, y, epochs=2, verbose=0, callbacks=[saved])
        last = tf.train.latest_checkpoint("points")
        other.load_weights(last)
        keys = sorted(name for name, _ in tf.train.list_variables(last) if name.startswith("layer"))
        return [os.path.basename(last), same(model, other), keys[0]]
        """,
        ["02.ckpt", True, "layer_with_weights-0/bias/.ATTRIBUTES/VARIABLE_VALUE"],
    ),
    "a checkpoint that is not there": (
        """
        try:
            mlp().load_weights("nowhere/point")
        except tf.errors.NotFoundError as error:
            return "nowhere/point" in str(error)
        """,
        True,
    ),
    "tf.train.Checkpoint of a model": (
        """
        model, other = mlp(), mlp()
        model.set_weights([weight + 1 for weight in model.get_weights()])
        with K.get_session().as_default():
            path = tf.train.Checkpoint(model=model).save("objects/point")
            tf.train.Checkpoint(model=other).restore(path).assert_consumed().run_restore_ops()
        return same(model, other)
        """,
        True,
    ),
    "files of TensorFlow's models": (
        """
        import h5py
        mlp().save("theirs.h5")
        with h5py.File("theirs.h5", "r+") as file:
            text = file.attrs["model_config"]
            config = json.loads(text if isinstance(text, str) else text.decode())
            for layer in config["config"]["layers"]:
                layer["config"]["kernel_initializer"] = {
                    "class_name": "GlorotUniform", "config": {"seed": None, "dtype": "float32"}}
                layer["config"]["bias_initializer"] = {"class_name": "Zeros", "config": {"dtype": "float32"}}
            file.attrs["model_config"] = json.dumps(config).encode()
        return same(tf.keras.models.load_model("theirs.h5"), mlp())
        """,
        True,
    ),
    "saved models": (
        """
        model = mlp()
        tf.saved_model.simple_save(K.get_session(), "simple", {"x": model.input}, {"y": model.output})
        served = tf.contrib.predictor.from_saved_model("simple")({"x": x})["y"]
        tf.keras.experimental.export_saved_model(model, "whole")
        again = tf.keras.experimental.load_from_saved_model("whole")
        path = tf.contrib.saved_model.save_keras_model(model, "timed")
        other = tf.contrib.saved_model.load_keras_model(path)
        return [bool(np.allclose(served, model.predict(x))), same(again, model), same(other, model)]
        """,
        [True, True, True],
    ),
    # -- estimators
    "an estimator of a model": (
        """
        model = mlp("sigmoid")
        model.compile(tf.train.AdamOptimizer(.05), MSE, metrics=["mae"])
        estimator = tf.keras.estimator.model_to_estimator(keras_model=model)
        name = model.input_names[0]
        data = lambda: tf.data.Dataset.from_tensor_slices(({name: x}, y)).batch(6).repeat()
        before = model.evaluate(x, y, verbose=0)
        estimator.train(data, steps=1)
        estimator.train(data, steps=39)
        found = estimator.evaluate(data, steps=1)
        alone = lambda: tf.data.Dataset.from_tensor_slices({name: x}).batch(6)
        predicted = list(estimator.predict(alone))
        learnt = bool(found["loss"] < .7 * before[0])
        return [sorted(found), int(found["global_step"]), learnt, len(predicted)]
        """,
        [["global_step", "loss", "mean_absolute_error"], 40, True, 6],
    ),
    "its first weights are the model's": (
        """
        model = mlp()
        model.compile(O.SGD(.1), MSE)
        estimator = tf.keras.estimator.model_to_estimator(model)
        data = lambda: tf.data.Dataset.from_tensor_slices((x, y)).batch(6).repeat()
        losses = []
        for _ in range(4):
            estimator.train(data, steps=1)
            losses.append(estimator.evaluate(data, steps=1)["loss"])
        return losses
        """,
        _SGD[1:],
    ),
    "layers in a model function": (
        """
        def model_fn(features, labels, mode):
            training = mode == tf.estimator.ModeKeys.TRAIN
            model = tf.keras.Sequential([L.Dense(3, input_shape=(4,)), L.Dropout(.5), L.Dense(1)])
            outputs = model(features, training=training)
            loss = tf.losses.mean_squared_error(labels, outputs)
            step = tf.train.GradientDescentOptimizer(.1).minimize(loss, tf.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

        data = lambda: tf.data.Dataset.from_tensor_slices((x, y)).batch(6).repeat()
        estimator = tf.estimator.Estimator(model_fn)
        estimator.train(data, steps=3)
        return int(estimator.evaluate(data, steps=1)["global_step"])
        """,
        3,
    ),
    # -- layers that the package does not have
    "attention": (
        """
        query = tf.constant(np.linspace(-1, 1, 12).reshape(1, 3, 4), tf.float32)
        values = tf.constant(np.linspace(0, 2, 20).reshape(1, 5, 4), tf.float32)
        masks = [tf.constant([[True, True, False]]), tf.constant([[True, True, True, False, True]])]
        dot = value(L.Attention()([query, values], mask=masks))
        return [dot[::3], value(L.AdditiveAttention(use_scale=False)([query, values]))[::3]]
        """,
        [[0.15058, 0.46637, 0.94737, 0.0], [1.47946, 1.79525, 1.49598, 1.15957]],
    ),
    "layer normalisation": (
        """
        given = tf.constant(np.linspace(-1, 1, 12).reshape(1, 3, 4), tf.float32)
        return [value(L.LayerNormalization()(given))[:4], value(L.LayerNormalization([1, 2], .1)(given))[:3]]
        """,
        [[-1.3257, -0.4419, 0.4419, 1.3257], [-1.42286, -1.16416, -0.90546]],
    ),
    "feature columns": (
        """
        columns = [tf.feature_column.numeric_column("a"), tf.feature_column.numeric_column("b", [2])]
        return value(L.DenseFeatures(columns)({"a": tf.constant([[1.]]), "b": tf.constant([[2., 3.]])}))
        """,
        [1.0, 2.0, 3.0],
    ),
    # -- where things are
    "modules of TensorFlow's own": (
        """
        from tensorflow.keras.layers import Dense
        from tensorflow.python.keras import backend
        from tensorflow.python.keras.engine.base_layer import Layer
        from tensorflow.python.keras.layers.convolutional import Conv
        from tensorflow.python.keras.utils import conv_utils, tf_utils
        from tensorflow.contrib.keras import layers
        import tensorflow.keras.backend as other
        reachable = tf_utils.get_reachable_from_inputs([a := tf.constant(1.)], [b := a * 2.])
        return [isinstance(Dense(1), Layer), layers.Dense is Dense, b in reachable, other.epsilon()]
        """,
        [True, True, True, 1e-07],
    ),
}

# What came with Keras 2.3.
NEWER: dict[str, tuple[str, Any]] = {
    "a rate that decays": (
        "return fitted(O.SGD(O.schedules.ExponentialDecay(.2, 2, .5)))",
        [0.77153, 0.52701, 0.44389, 0.40109, 0.37596],
    ),
    "a rate in pieces": (
        "return fitted(O.SGD(learning_rate=O.schedules.PiecewiseConstantDecay([2], [.1, .01])))",
        [0.77153, 0.63481, 0.54196, 0.47424, 0.46875],
    ),
    "adam": (
        "return fitted(O.Adam(learning_rate=.05))",
        [0.77153, 0.59441, 0.47675, 0.39207, 0.32743],
    ),
    "losses are reduced": (
        """
        right = tf.constant([[0., 1.], [1., 0.], [.5, .5]])
        found = tf.constant([[.2, .7], [.9, .3], [.4, .1]])
        weights, kinds = tf.constant([1., 2., .5]), tf.keras.losses.Reduction
        return {
            name: [
                value(getattr(tf.keras.losses, name)(reduction=kind)(right, found, sample_weight=weights))
                for kind in (kinds.SUM_OVER_BATCH_SIZE, kinds.SUM, kinds.NONE)
            ]
            for name in ("MeanSquaredError", "BinaryCrossentropy", "CategoricalHinge", "LogCosh")
        }
        """,
        {
            "MeanSquaredError": [[0.06917], [0.2075], [0.065, 0.1, 0.0425]],
            "BinaryCrossentropy": [[0.41044], [1.23133], [0.28991, 0.46204, 0.47938]],
            "CategoricalHinge": [[0.59167], [1.775], [0.5, 0.8, 0.475]],
            "LogCosh": [[0.03406], [0.10217], [0.0321, 0.04933, 0.02074]],
        },
    ),
    "metrics count on": (
        """
        mean = tf.keras.metrics.Mean()
        update, session = mean.update_state([1., 3.]), K.get_session()
        session.run([v.initializer for v in mean.variables])
        session.run(update)
        return session.run(mean.result())
        """,
        2.0,
    ),
    "a metric of a model": (
        """
        given = tf.keras.Input((4,))
        model = tf.keras.Model(given, L.Dense(1)(given))
        model.add_metric(tf.reduce_mean(model.output), aggregation="mean", name="height")
        model.compile("sgd", MSE)
        return sorted(model.fit(x, y, verbose=0).history)
        """,
        ["height", "loss"],
    ),
}


def _version() -> str:
    """The version of the Keras of the tests, "" without one."""
    path = [str(APART), *sys.path]
    return next(
        (found.version for found in importlib.metadata.distributions(name="keras", path=path)), ""
    )


def _alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        return isinstance(found, float) and math.isclose(
            found, expected, rel_tol=1e-3, abs_tol=2e-4
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(_alike, found, expected))
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(_alike(found[k], expected[k]) for k in found)
    return bool(found == expected)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the cases return, by their names."""
    cases = "".join(
        _CASE.format(name=name, code=indent(dedent(code).strip(), "    "))
        for name, (code, _) in {**CASES, **NEWER}.items()
    )
    program = f"{_BEGIN}{cases}\nprint(json.dumps(results))\n"
    return printed(tmp_path_factory.mktemp("keras"), program)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_it_is_as_in_tensorflow(name: str, results: Any) -> None:
    assert _alike(results[name], CASES[name][1]), results[name]


@pytest.mark.slow
@pytest.mark.skipif(_version() < "2.3", reason="it came with Keras 2.3")
@pytest.mark.parametrize("name", NEWER)
def test_what_came_with_keras_2_3_is_as_in_tensorflow(name: str, results: Any) -> None:
    assert _alike(results[name], NEWER[name][1]), results[name]


@pytest.mark.slow
@pytest.mark.skipif(_version() >= "2.3", reason="Keras 2.3 has them")
def test_classes_of_losses_and_metrics_name_the_version_that_has_them(results: Any) -> None:
    for name in ("losses are reduced", "metrics count on"):
        assert "pip install keras==2.3.1" in results[name]
