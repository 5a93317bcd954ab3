"""Switches one model between training and validation data: by reinitialising, and by feeding a handle."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

x_train = np.linspace(-1, 1, 24).astype(np.float32)
y_train = (3 * x_train - 1).astype(np.float32)
x_valid = np.array([0.25, 0.5, 2.0], np.float32)
y_valid = 3 * x_valid - 1

train_data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(8)
valid_data = tf.data.Dataset.from_tensor_slices((x_valid, y_valid)).batch(3)

with tf.variable_scope("model"):
    slope = tf.get_variable("slope", shape=[], initializer=tf.zeros_initializer())
    shift = tf.get_variable("shift", shape=[], initializer=tf.zeros_initializer())


def loss_of(x, y):
    return tf.reduce_mean(tf.square(slope * x + shift - y))


# 1. One iterator for both datasets.
iterator = tf.data.Iterator.from_structure(train_data.output_types, train_data.output_shapes)
x, y = iterator.get_next()
loss = loss_of(x, y)
train_op = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
train_init = iterator.make_initializer(train_data)
valid_init = iterator.make_initializer(valid_data)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(4):
        sess.run(train_init)
        losses = []
        while True:
            try:
                losses.append(sess.run([loss, train_op])[0])
            except tf.errors.OutOfRangeError:
                break
        sess.run(valid_init)
        print("epoch %d train %.4f valid %.4f" % (epoch, np.mean(losses), sess.run(loss)))
    try:
        sess.run(loss)
    except tf.errors.OutOfRangeError as e:
        print("end:", "End of sequence" in e.message)

# 2. Two iterators, and a placeholder that says which of them is meant.
handle = tf.placeholder(tf.string, shape=[])
either = tf.data.Iterator.from_string_handle(handle, train_data.output_types, train_data.output_shapes)
next_x, next_y = either.get_next()
handle_loss = loss_of(next_x, next_y)
training_iterator = train_data.repeat().make_one_shot_iterator()
validation_iterator = valid_data.make_initializable_iterator()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    training_handle = sess.run(training_iterator.string_handle())
    validation_handle = sess.run(validation_iterator.string_handle())
    print(type(training_handle).__name__)
    for _ in range(2):
        for _ in range(3):
            print(sess.run(next_x, {handle: training_handle})[0])
        sess.run(validation_iterator.initializer)
        print("%.4f" % sess.run(handle_loss, {handle: validation_handle}))
    try:
        sess.run(next_x, {handle: validation_handle})
    except tf.errors.OutOfRangeError as e:
        print(type(e).__name__)

try:
    tf.data.Iterator.from_structure(tf.int32, []).make_initializer(train_data)
except ValueError:
    print("ValueError")
try:
    tf.data.Iterator.from_structure((tf.float32, tf.int32), ([None], [None])).make_initializer(train_data)
except TypeError:
    print("TypeError")
