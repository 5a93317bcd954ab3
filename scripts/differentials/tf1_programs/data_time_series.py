"""Windows over a time series for a small autoregressive model, with caching, scanning and reduction."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

SERIES = np.sin(np.arange(40) * 0.5).astype(np.float32)
LAGS = 4


def windows(series):
    dataset = tf.data.Dataset.from_tensor_slices(series)
    dataset = dataset.window(LAGS + 1, shift=1, drop_remainder=True)
    dataset = dataset.flat_map(lambda w: w.batch(LAGS + 1))
    return dataset.map(lambda w: (w[:-1], w[-1]))


data = windows(SERIES)
train = data.take(28).cache(os.path.join(tempfile.mkdtemp(), "windows")).batch(7, drop_remainder=True).repeat(30)
test = data.skip(28)
print([shape.as_list() for shape in train.output_shapes])
iterator = train.make_initializable_iterator()
x, y = iterator.get_next()
coefficients = tf.Variable(np.zeros((LAGS, 1), np.float32))
predicted = tf.squeeze(tf.matmul(x, coefficients), 1)
loss = tf.losses.mean_squared_error(y, predicted)
step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)

errors = test.map(lambda w, target: tf.square(tf.tensordot(w, coefficients[:, 0], 1) - target))
evaluation = errors.batch(100).make_initializable_iterator()
error = tf.reduce_mean(evaluation.get_next())

targets = data.map(lambda w, t: t)
count, total = targets.reduce((np.int64(0), np.float32(0)), lambda s, t: (s[0] + 1, s[1] + t))
running = tf.data.Dataset.from_tensor_slices(SERIES[:5]).apply(
    tf.data.experimental.scan(np.float32(0), lambda s, v: (0.5 * s + v, 0.5 * s + v)))
smooth = running.make_one_shot_iterator().get_next()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("%d windows, sum %.4f" % tuple(sess.run([count, total])))
    print(["%.4f" % sess.run(smooth) for _ in range(5)])
    sess.run(iterator.initializer)
    steps = 0
    try:
        while True:
            value, _ = sess.run([loss, step])
            steps += 1
            if steps % 40 == 0:
                print("step %d loss %.5f" % (steps, value))
    except tf.errors.OutOfRangeError:
        print("steps", steps)
    sess.run(evaluation.initializer)
    print("test error %.5f" % sess.run(error))

pairs = tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.from_tensor_slices(["a", "b", "c", "d"])))
numbered = pairs.concatenate(pairs.take(1)).apply(tf.data.experimental.enumerate_dataset(100)).shard(2, 1)
following = numbered.make_one_shot_iterator().get_next()
with tf.Session() as sess:
    for _ in range(2):
        print(sess.run(following))
