"""Linear regression on lines of a CSV file, with the input function style of the census tutorial."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

_COLUMNS = ["rooms", "area", "town", "price"]
_DEFAULTS = [[1], [50.0], ["none"], [0.0]]
_TOWNS = ["none", "oslo", "bergen"]


def write_csv(path):
    with open(path, "w") as f:
        f.write(",".join(_COLUMNS) + "\n")
        for k in range(20):
            rooms = "" if k % 7 == 3 else 1 + k % 4
            town = ["oslo", "bergen", ""][k % 3]
            f.write("%s,%.1f,%s,%.1f\n" % (rooms, 40 + 3 * k, town, 100 + 20 * (k % 4) + 2 * k))
            if k % 5 == 0:
                f.write("\n")


def input_fn(path, batch_size, num_epochs):
    def parse_csv(line):
        columns = tf.decode_csv(line, record_defaults=_DEFAULTS)
        features = dict(zip(_COLUMNS, columns))
        return features, features.pop("price")

    dataset = tf.data.TextLineDataset(path).skip(1)
    dataset = dataset.filter(lambda line: tf.not_equal(tf.strings.length(line), 0))
    dataset = dataset.map(parse_csv, num_parallel_calls=5)
    dataset = dataset.filter(lambda features, price: features["rooms"] < 4)
    dataset = dataset.repeat(num_epochs).batch(batch_size)
    return dataset


path = os.path.join(tempfile.mkdtemp(), "houses.csv")
write_csv(path)
dataset = input_fn(path, 6, 2)
print(sorted(dataset.output_types[0]), dataset.output_shapes[1].as_list())
iterator = dataset.make_initializable_iterator()
features, price = iterator.get_next()

town = tf.stack([tf.cast(tf.equal(features["town"], name), tf.float32) for name in _TOWNS], axis=1)
inputs = tf.concat([tf.cast(features["rooms"], tf.float32)[:, None], features["area"][:, None] / 100, town], 1)
w = tf.Variable(np.zeros((5, 1), np.float32), name="w")
prediction = tf.squeeze(tf.matmul(inputs, w), 1)
loss = tf.reduce_mean(tf.abs(prediction - price / 100))
train = tf.train.MomentumOptimizer(0.02, 0.9).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        sess.run(iterator.initializer)
        losses, towns = [], {}
        while True:
            try:
                _, l, names = sess.run([train, loss, features["town"]])
                losses.append(l)
                for n in names:
                    towns[n.decode()] = towns.get(n.decode(), 0) + 1
            except tf.errors.OutOfRangeError:
                break
        print("%d %.4f" % (len(losses), np.mean(losses)), sorted(towns.items()))
    print(["%.3f" % v for v in sess.run(w)[:, 0]])

tf.reset_default_graph()
rows = tf.data.experimental.CsvDataset(path, [tf.int32, tf.float32, tf.string, tf.float32], header=True)
row = rows.apply(tf.data.experimental.ignore_errors()).take(30).make_one_shot_iterator().get_next()
with tf.Session() as sess:
    count = 0
    try:
        while True:
            first = sess.run(row)
            count += 1
    except tf.errors.OutOfRangeError:
        print("complete rows:", count, first[0], first[2])
