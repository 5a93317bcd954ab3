"""Columns of every kind, what input_layer and linear_model make of them, and a linear classifier that is trained on them."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

fc = tf.feature_column

data = {
    "age": np.array([[18.0], [35.0], [52.0], [70.0]], np.float32),
    "size": np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]], np.float32),
    "city": np.array([["oslo"], ["rome"], ["paris"], ["oslo"]]),
    "code": np.array([[3], [0], [2], [9]], np.int64),
    "job": np.array([["cook"], ["smith"], [""], ["clerk"]]),
}
labels = np.array([[0.0], [1.0], [1.0], [0.0]], np.float32)


def columns(folder):
    words = os.path.join(folder, "jobs.txt")
    with open(words, "w") as file:
        file.write("cook\nsmith\n")
    age = fc.numeric_column("age", normalizer_fn=lambda x: x / 100.0)
    plain = fc.numeric_column("age")
    ages = fc.bucketized_column(plain, boundaries=[20, 50])
    sizes = fc.bucketized_column(fc.numeric_column("size", shape=(2,)), [2.0, 20.0])
    city = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome"], num_oov_buckets=1)
    code = fc.categorical_column_with_identity("code", 5, default_value=4)
    job = fc.categorical_column_with_vocabulary_file(
        "job", words, vocabulary_size=2, default_value=0
    )
    hashed = fc.categorical_column_with_hash_bucket("job", 7)
    numbers = fc.categorical_column_with_hash_bucket("code", 6, dtype=tf.int64)
    crossed = fc.crossed_column(["city", ages], 11)
    return age, ages, sizes, city, code, job, hashed, numbers, crossed


def show(title, value):
    print(title, np.round(np.asarray(value), 4).tolist())


def main(_):
    folder = tempfile.mkdtemp()
    age, ages, sizes, city, code, job, hashed, numbers, crossed = columns(folder)
    features = {key: tf.constant(value) for key, value in data.items()}
    table = tf.constant_initializer(np.arange(6.0).reshape(3, 2) / 4)
    embedded = fc.embedding_column(city, 2, initializer=table)
    weighted = fc.weighted_categorical_column(code, "age")
    dense = [
        ages,
        sizes,
        age,
        embedded,
        fc.indicator_column(code),
        fc.indicator_column(job),
        fc.indicator_column(crossed),
    ]
    outputs, variables = {}, {}
    net = fc.input_layer(features, dense, cols_to_output_tensors=outputs, cols_to_vars=variables)
    print(net.shape, [v.name for v in tf.global_variables()])
    others = {}
    for name, column in (("hashed", hashed), ("numbers", numbers), ("weighted", weighted)):
        others[name] = fc.input_layer(features, [fc.indicator_column(column)])
    parts = {}
    total = fc.linear_model(features, [age, ages, city, crossed, hashed], cols_to_vars=parts)
    print(total.shape, sorted(v.name for v in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)))
    print(sorted(len(found) for found in parts.values()), parts["bias"][0].shape)
    loss = tf.losses.sigmoid_cross_entropy(labels, total)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for column, tensor in sorted(outputs.items(), key=lambda item: item[0].name):
            show(column.name, sess.run(tensor))
        for name in sorted(others):
            show(name, sess.run(others[name]))
        for _ in range(5):
            show("loss", sess.run([loss, train])[0])
        show("bias", sess.run(parts["bias"][0]))
    spec = fc.make_parse_example_spec(dense)
    for key in sorted(spec):
        print(key, type(spec[key]).__name__, spec[key].dtype.name)
    for wrong in (
        lambda: fc.input_layer(features, [city]),
        lambda: fc.input_layer(features, []),
        lambda: fc.input_layer(features, [age, fc.numeric_column("age")]),
        lambda: fc.input_layer({}, [age]),
        lambda: fc.numeric_column("x", shape=(0,)),
        lambda: fc.bucketized_column(age, [3, 1]),
        lambda: fc.embedding_column(city, 0),
        lambda: fc.crossed_column(["city"], 5),
        lambda: fc.crossed_column([hashed, "city"], 5),
    ):
        try:
            wrong()
        except Exception as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
