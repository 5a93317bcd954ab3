"""Functions that fail for some elements, shared iterators, and threads that take elements at the same time."""
import threading

import numpy as np
import tensorflow.compat.v1 as tf


def describe(error):
    return type(error).__name__


values = np.array([1.0, 0.0, 4.0, 0.0, 2.0], np.float32)
dataset = tf.data.Dataset.from_tensor_slices(values)
checked = dataset.map(lambda x: tf.check_numerics(1.0 / x, "division"), num_parallel_calls=3).prefetch(2)
with_errors = checked.make_one_shot_iterator().get_next()
without = checked.apply(tf.data.experimental.ignore_errors()).batch(10).make_one_shot_iterator().get_next()
parsed = tf.data.Dataset.from_tensor_slices(["1", "two", "3"]).map(lambda s: tf.string_to_number(s, tf.int32))
numbers = parsed.make_one_shot_iterator().get_next()
ragged = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n)).batch(2).make_one_shot_iterator().get_next()

with tf.Session() as sess:
    for tensor in (with_errors, numbers, ragged, without):
        seen = []
        while True:
            try:
                seen.append(sess.run(tensor).tolist())
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as e:
                seen.append(describe(e))
        print(seen)

uninitialised = dataset.make_initializable_iterator()
with tf.Session() as sess:
    try:
        sess.run(uninitialised.get_next())
    except tf.errors.FailedPreconditionError as e:
        print(describe(e), "initializ" in e.message)

bound = tf.placeholder(tf.int64, [])
try:
    tf.data.Dataset.range(bound).make_one_shot_iterator()
except ValueError as e:
    print("placeholder" in str(e))
try:
    tf.data.Dataset.zip([dataset, dataset])
except TypeError as e:
    print("TypeError")
size = tf.placeholder(tf.int64, [])
batches = tf.data.Dataset.range(6).batch(size).make_initializable_iterator()
with tf.Session() as sess:
    for n in (0, 4):
        try:
            sess.run(batches.initializer, {size: n})
            print(sess.run(batches.get_next()).tolist())
        except tf.errors.InvalidArgumentError as e:
            print("Batch size must be greater than zero" in e.message)

iterator = tf.data.Dataset.range(60).map(lambda x: x * 2).prefetch(8).make_initializable_iterator()
following = iterator.get_next()
total = []


def worker(sess):
    mine = 0
    while True:
        try:
            mine += int(sess.run(following))
        except tf.errors.OutOfRangeError:
            total.append(mine)
            return


with tf.Session() as sess:
    sess.run(iterator.initializer)
    threads = [threading.Thread(target=worker, args=(sess,)) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
print(len(total), sum(total))
