# peer: 1.15: estimators are no longer part of TensorFlow
"""Linear classifiers and regressors over feature columns of a small census, as the tutorial about wide models has them."""

import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
age = np.array([22, 38, 26, 35, 54, 2, 27, 14, 58, 20], np.float32)
fare = np.array([7.2, 71.3, 7.9, 53.1, 51.9, 21.1, 11.1, 30.1, 26.6, 8.1], np.float32)
town = np.array(["s", "c", "s", "s", "s", "s", "q", "c", "s", "q"])
lives = np.array([0, 1, 1, 1, 0, 0, 1, 1, 1, 0], np.int64)
columns = {"age": age, "fare": fare, "town": town}


def feature_columns():
    ages = tf.feature_column.numeric_column("age")
    return [
        tf.feature_column.bucketized_column(ages, [15, 30, 50]),
        tf.feature_column.numeric_column("fare", normalizer_fn=lambda f: f / 50.0),
        tf.feature_column.categorical_column_with_vocabulary_list("town", ["s", "c", "q"]),
    ]


def inputs(labels, epochs=1):
    return tf.estimator.inputs.numpy_input_fn(
        columns, labels, batch_size=5, num_epochs=epochs, shuffle=False
    )


def show(result):
    print({key: "%.4f" % value for key, value in sorted(result.items())})


def main(_):
    binary = tf.estimator.LinearClassifier(
        feature_columns(), tempfile.mkdtemp(), optimizer=tf.train.GradientDescentOptimizer(0.05)
    )
    binary.train(inputs(lives, None), steps=20)
    show(binary.evaluate(inputs(lives)))
    print(sorted(binary.get_variable_names()))
    print(np.round(binary.get_variable_value("linear/linear_model/town/weights"), 4).ravel().tolist())
    first = next(binary.predict(inputs(None)))
    for key in sorted(first):
        value = first[key]
        rounded = np.round(value, 4).tolist() if value.dtype.kind == "f" else value.tolist()
        print(key, value.shape, rounded)

    words = np.array(["no", "yes"])[lives]
    named = tf.estimator.LinearClassifier(
        feature_columns(), tempfile.mkdtemp(), label_vocabulary=["no", "yes", "perhaps"], n_classes=3,
        optimizer=lambda: tf.train.AdagradOptimizer(0.1),
    )
    named.train(inputs(words, None), max_steps=12)
    show(named.evaluate(inputs(words)))
    print([row["classes"].tolist() for row in named.predict(inputs(None))][:4])

    regressor = tf.estimator.LinearRegressor(feature_columns(), tempfile.mkdtemp(), optimizer="Ftrl")
    regressor.train(inputs(fare, None), steps=10)
    show(regressor.evaluate(inputs(fare)))
    print([np.round(row["predictions"], 3).tolist() for row in regressor.predict(inputs(None))][:3])

    spec = tf.estimator.classifier_parse_example_spec(feature_columns(), "lives", weight_column="w")
    print(sorted(spec), spec["lives"].dtype.name, spec["w"].shape)
    for wrong in (
        lambda: tf.estimator.LinearClassifier(feature_columns(), n_classes=1),
        lambda: binary.train(inputs(np.array([3] * 10)), steps=1),
        lambda: binary.evaluate(inputs(None)),
        lambda: tf.estimator.DNNClassifier([4], feature_columns()).train(inputs(lives), steps=1),
    ):
        try:
            wrong()
        except Exception as exc:
            print(type(exc).__name__)


if __name__ == "__main__":
    tf.app.run()
