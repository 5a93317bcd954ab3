"""What programs for TensorFlow 1.15 use of ``tf.keras`` beyond the package that it is.

The cases run one after the other in one program. Numbers are those of TensorFlow, or numpy's.
"""

from __future__ import annotations

import importlib.metadata
import math
import sys
import tarfile
from pathlib import Path
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

# The last outputs of an LSTM and a GRU.
RECURRENT = [[0.17517, 0.17517], [0.06732, 0.06732]]

CASES: dict[str, tuple[str, Any]] = {
    # -- optimisers
    "sgd": ("return fitted(O.SGD(learning_rate=.1))", _SGD),
    "its rate is lr as well": ("return fitted(O.SGD(lr=.1))", _SGD),
    "an optimiser of tf.train": ("return fitted(tf.train.GradientDescentOptimizer(.1))", _SGD),
    "adagrad begins at 0.1": ("return fitted(O.Adagrad(.1))", [0.77153, 0.52899, 0.43318, 0.37039, 0.3236]),
    "adagrad begins where it is told": (
        "return fitted(O.Adagrad(.1, initial_accumulator_value=.5))",
        [0.77153, 0.60711, 0.51335, 0.44997, 0.40243],
    ),
    "the rate of adagrad decays": (
        "return fitted(O.Adagrad(.1, decay=.5))",
        [0.77153, 0.52899, 0.46259, 0.42593, 0.40127],
    ),
    "adagrad refuses what has no root": (
        """
        try:
            O.Adagrad(initial_accumulator_value=-1)
        except ValueError as error:
            return str(error)
        """,
        "initial_accumulator_value must be 0 or more, got -1.0",
    ),
    "rates that a program does not give": (
        """
        names = "SGD RMSprop Adagrad Adadelta Adam Adamax Nadam".split()
        return [float(K.get_value(getattr(O, name)().lr)) for name in names] + [
            float(K.get_value(O.get("adadelta").lr)), float(K.get_value(O.Adadelta(1.).lr))]
        """,
        [0.01, *[0.001] * 7, 1.0],
    ),
    "slots by their names": (
        """
        model = mlp()
        model.compile(O.Adam(.05), MSE)
        before = model.optimizer.get_slot(model.weights[0], "m")
        model.fit(x, y, verbose=0)
        kept = model.optimizer.get_slot(model.weights[1], "v")
        return [before, model.optimizer.get_slot_names(), kept.shape.as_list(), O.RMSprop().get_slot_names()]
        """,
        [None, ["m", "v"], [3], ["rms"]],
    ),
    "recurrent layers are of straight lines": (
        """
        half, two = tf.keras.initializers.Constant(.5), tf.keras.initializers.Constant(.2)
        given = tf.constant(np.linspace(-1, 1, 6).reshape(1, 3, 2), tf.float32)
        return [
            value(kind(2, kernel_initializer=half, recurrent_initializer=two)(given))
            for kind in (L.LSTM, L.GRU)
        ]
        """,
        RECURRENT,
    ),
    "momentum": ("return fitted(O.SGD(.1, momentum=.9, nesterov=True))", [0.77153, 0.53652, 0.37731, 0.28722, 0.23972]),
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
    "an array": ("return value(L.Dense(2, kernel_initializer='ones')(np.ones([1, 4], 'f')))", [4.0, 4.0]),
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
        ["dense_1/kernel:0", "dense_1/bias:0", "batch_normalization_1/gamma:0", "batch_normalization_1/beta:0"],
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
    "an input of a size": ("return tf.keras.Input(shape=(4,), batch_size=8, dtype=tf.int32).shape.as_list()", [8, 4]),
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
    "a whole model": (
        """
        model = mlp()
        model.compile(O.RMSprop(.05), MSE, metrics=["mae"])
        train = dict(batch_size=6, epochs=3, shuffle=False, verbose=0)
        model.fit(x, y, **train)
        for _ in range(2):  # what is there is replaced
            model.save("whole-model", save_format="tf")
        other = tf.keras.models.load_model("whole-model")
        equal = same(model, other)
        losses = [each.fit(x, y, **train).history["loss"] for each in (model, other)]
        loose = tf.keras.models.load_model("whole-model", compile=False)
        return [
            equal, bool(np.allclose(*losses)), other.metrics_names, other.layers[0].activation.__name__,
            getattr(loose, "optimizer", None), sorted(os.listdir("whole-model")),
            sorted(name for name, _ in tf.train.list_variables("whole-model/variables/variables")),
        ]
        """,
        [
            True,
            True,
            ["loss", "mean_absolute_error"],
            "tanh",
            None,
            ["assets", "saved_model.pb", "variables"],
            ["_CHECKPOINTABLE_OBJECT_GRAPH"]
            + sorted(
                f"layer_with_weights-{layer}/{weight}/{kind}.ATTRIBUTES/VARIABLE_VALUE"
                for layer in (0, 1)
                for weight in ("bias", "kernel")
                for kind in ("", ".OPTIMIZER_SLOT/optimizer/rms/")
            )
            + [f"optimizer/{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in ("decay", "iter", "learning_rate", "rho")],
        ],
    ),
    "a whole model goes on with each optimiser": (
        """
        wrong, train = [], dict(batch_size=6, epochs=2, shuffle=False, verbose=0)
        makes = [lambda: O.SGD(.1, momentum=.9), lambda: O.RMSprop(.05), lambda: O.Adagrad(.1), lambda: O.Adadelta(1.)]
        makes += [lambda: O.Adamax(.05), lambda: O.Adam(.05, amsgrad=True), lambda: O.Nadam(.05)]
        for number, make in enumerate(makes):
            K.clear_session()  # else each model is saved with all before it
            model, optimizer = mlp(), make()
            model.compile(optimizer, MSE)
            model.fit(x, y, **train)
            model.save(f"each/{number}", save_format="tf")
            other = tf.keras.models.load_model(f"each/{number}")
            losses = [each.fit(x, y, **train).history["loss"] for each in (model, other)]
            if not np.allclose(*losses, rtol=1e-5):
                wrong.append([type(optimizer).__name__, losses])
        return wrong
        """,
        [],
    ),
    "weights go on with what the optimiser keeps": (
        """
        train = dict(batch_size=6, epochs=2, shuffle=False, verbose=0)
        found = []
        for make in (lambda: O.Adam(.05), lambda: tf.train.AdamOptimizer(.05)):
            model, other = mlp(), mlp()
            for each in (model, other):
                each.compile(make(), MSE)
            model.fit(x, y, **train)
            model.save_weights("going-on/w", save_format="tf")
            other.load_weights("going-on/w")
            losses = [each.fit(x, y, **train).history["loss"] for each in (model, other)]
            found.append(bool(np.allclose(*losses, rtol=1e-5)))
        return found
        """,
        [True, True],
    ),
    "a whole model that is a class": (
        """
        class Own(tf.keras.Model):
            def __init__(self):
                super().__init__(name="own")
                self.hidden, self.drop, self.last = L.Dense(3, activation="tanh"), L.Dropout(.5), L.Dense(1)

            def call(self, inputs, training=None):
                return self.last(self.drop(self.hidden(inputs), training=training))

        model = Own()
        try:
            model.save("early", save_format="tf")
        except ValueError as error:
            early = str(error)[:36]
        model.compile(O.SGD(.1), MSE)
        model.fit(x, y, verbose=0)
        model.save("own", save_format="tf")
        other = tf.keras.models.load_model("own")
        equal = same(model, other)
        losses = other.fit(x, y, epochs=20, verbose=0).history["loss"]
        return [early, equal, [len(other.trainable_weights), len(other.weights)], losses[-1] < losses[0]]
        """,
        ["the model own cannot be saved, as it", True, [4, 4], True],
    ),
    "a whole model with a layer that is a class": (
        """
        class Twice(L.Layer):
            def call(self, inputs):
                return 2 * inputs

        model = tf.keras.Sequential([L.Dense(2, input_shape=(4,)), Twice(), L.Dense(1)])
        model.compile("sgd", MSE)
        model.save("twice", save_format="tf")
        named = tf.keras.models.load_model("twice", custom_objects={"Twice": Twice})
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            other = tf.keras.models.load_model("twice")
        told = any("Unknown layer: Twice" in str(each.message) for each in said)
        return [same(model, named), len(named.layers), told, same(model, other), len(other.weights)]
        """,
        [True, 3, True, True, 4],
    ),
    "a whole model is served": (
        """
        model = mlp()
        model.save("serve-me", save_format="tf")
        with tf.Graph().as_default(), tf.Session() as session:
            meta = tf.saved_model.loader.load(session, ["serve"], "serve-me")
            [signature] = meta.signature_def.values()
            inputs, outputs = [[each.name for each in part.values()] for part in (
                signature.inputs, signature.outputs)]
            found = session.run(outputs[0], {inputs[0]: x})
        return [bool(np.allclose(found, model.predict(x))), inputs == [model.input.name]]
        """,
        [True, True],
    ),
    "what no model is saved to or loaded from": (
        """
        model = mlp()
        tf.saved_model.simple_save(K.get_session(), "plain", {"x": model.input}, {"y": model.output})
        os.makedirs("nothing")
        found = []
        for run in (
            lambda: model.save("m", save_format="zip"),
            lambda: model.save("m", save_format="tf", signatures=[1]),
            lambda: tf.keras.models.load_model("plain"), lambda: tf.keras.models.load_model("nothing"),
        ):
            try:
                run()
            except (ValueError, OSError) as error:
                found.append(str(error)[:36])
        return found
        """,
        [
            "save_format is 'tf' or 'h5', got 'zi",
            "save: signatures are not taken; ther",
            "plain has a saved model without a mo",
            "SavedModel file does not exist at: n",
        ],
    ),
    "a whole model of TensorFlow's": (
        """
        with open(f"{THEIRS}/results.json") as file:
            results = json.load(file)
        model = tf.keras.models.load_model(f"{THEIRS}/layers")
        near = np.allclose(model.predict([x, -x]).ravel(), results["layers"], atol=1e-6)
        measured = np.allclose(model.evaluate([x, -x], y, verbose=0), results["evaluate"], atol=1e-6)
        own = tf.keras.models.load_model(f"{THEIRS}/own")
        equal = np.allclose(own.predict(x).ravel(), results["own"], atol=1e-6)
        kinds = [type(layer).__name__ for layer in model.layers if layer.weights]
        return [bool(near), bool(measured), bool(equal), kinds, type(model.optimizer).__name__]
        """,
        [True, True, True, ["Dense", "BatchNormalization", "LSTM", "Bidirectional", "Conv1D", "Dense"], "RMSprop"],
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
    "an estimator of a model that is a class": (
        """
        class Own(tf.keras.Model):
            def __init__(self, units, last):
                super().__init__(name="own")
                self.hidden = [L.Dense(each, activation="tanh") for each in units]
                self.norm, self.last = L.BatchNormalization(momentum=.5), last

            def call(self, inputs, training=None):
                for layer in self.hidden:
                    inputs = layer(inputs)
                return self.last(self.norm(inputs, training=training))

        data = lambda: tf.data.Dataset.from_tensor_slices((x, y)).batch(6).repeat()
        named = lambda: tf.data.Dataset.from_tensor_slices({"input_1": x}).batch(6)
        other = lambda: tf.data.Dataset.from_tensor_slices({"a": x}).batch(6)
        found = []
        for fits in (0, 40):
            model = Own([3, 3], L.Dense(1))
            model.compile(O.SGD(.05), MSE, metrics=["mae"])
            if fits:
                model.fit(x, y, epochs=fits, verbose=0)
                kernel = model.hidden[0].get_weights()[0]
            estimator = tf.keras.estimator.model_to_estimator(model)
            estimator.train(data, steps=1)
            first = estimator.evaluate(data, steps=1)
            values = [estimator.get_variable_value(name) for name in estimator.get_variable_names()]
            estimator.train(data, steps=79)
            last = estimator.evaluate(data, steps=1)
            found += [sorted(last), int(last["global_step"]), bool(last["loss"] < first["loss"])]
            found.append(len([each["output_1"] for each in estimator.predict(named)]))
        # It begins with the weights of the model that was fitted.
        found.append(any(np.allclose(each, kernel, atol=.1) for each in values if each.shape == (4, 3)))
        try:
            list(estimator.predict(other))
        except ValueError as error:
            found.append(str(error))
        return found
        """,
        [
            *2 * [["global_step", "loss", "mean_absolute_error"], 80, True, 6],
            True,
            "features: the model has input_1, the input function gives a; input_1 missing",
        ],
    ),
    "its first weights are in the places of layers whose state is not trained": (
        """
        model = tf.keras.Sequential([L.Dense(3, input_shape=(4,)), L.BatchNormalization(), L.Dense(1)])
        model.compile(O.SGD(0.), MSE)
        model.set_weights([weight + .5 for weight in model.get_weights()])
        estimator = tf.keras.estimator.model_to_estimator(model)
        data = lambda: tf.data.Dataset.from_tensor_slices((x, y)).batch(6).repeat()
        estimator.train(data, steps=1)
        *_, bias = model.get_weights()
        return bool(np.allclose(estimator.get_variable_value("dense_2/bias"), bias))
        """,
        True,
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
    "adam": ("return fitted(O.Adam(learning_rate=.05))", [0.77153, 0.59441, 0.47675, 0.39207, 0.32743]),
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
    return next((found.version for found in importlib.metadata.distributions(name="keras", path=path)), "")


def _alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        return isinstance(found, float) and math.isclose(found, expected, rel_tol=1e-3, abs_tol=2e-4)
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(_alike, found, expected))
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(_alike(found[k], expected[k]) for k in found)
    return bool(found == expected)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    cases = "".join(
        _CASE.format(name=name, code=indent(dedent(code).strip(), "    "))
        for name, (code, _) in {**CASES, **NEWER}.items()
    )
    theirs = tmp_path_factory.mktemp("theirs")
    with tarfile.open(Path(__file__).parent / "saved_model" / "keras.tar.xz") as packed:
        packed.extractall(theirs, filter="data")
    program = f"{_BEGIN}THEIRS = {str(theirs)!r}\n{cases}\nprint(json.dumps(results))\n"
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
