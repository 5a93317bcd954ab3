# peer: 1.15: layers and optimisers as objects of a checkpoint
"""Training that goes on from a ``tf.train.Checkpoint`` in a program that names its variables otherwise."""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()


class Model(tf.train.Checkpoint):
    def __init__(self, name):
        super(Model, self).__init__()
        first = tf.constant_initializer(0.5)
        self.hidden = tf.layers.Dense(3, tf.nn.tanh, kernel_initializer=first, name=name + "_hidden")
        self.out = tf.layers.Dense(1, kernel_initializer=first, name=name + "_out")
        self.scales = [tf.Variable(1.0, name=name + "_scale")]

    def __call__(self, x):
        return self.out(self.hidden(x)) * self.scales[0]


def run(name, steps):
    tf.reset_default_graph()
    model = Model(name)
    x = tf.constant(np.arange(6.0).reshape(3, 2) / 6, tf.float32)
    loss = tf.reduce_mean(tf.square(model(x) - [[1.0], [2.0], [3.0]]))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(loss, global_step=step)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    status = checkpoint.restore(manager.latest_checkpoint)
    with tf.Session() as sess:
        status.initialize_or_restore(sess)
        if manager.latest_checkpoint:
            status.assert_consumed()
        print(name, "starts at", sess.run(step), "%.4f" % sess.run(loss))
        for _ in range(steps):
            sess.run(train)
        path = manager.save()
        print(os.path.basename(path), [os.path.basename(each) for each in manager.checkpoints])
        print(name, "ends at", sess.run(step), "%.4f" % sess.run(loss))


run("first", 3)
run("second", 2)
run("third", 2)
for name, shape in tf.train.list_variables(folder):
    print(name, shape)

tf.reset_default_graph()
kernel = tf.get_variable("third_hidden/kernel", [2, 3])
with tf.Session() as sess:
    # A saver finds what an object-based checkpoint has under the full names of variables.
    tf.train.Saver([kernel]).restore(sess, tf.train.latest_checkpoint(folder))
    print(np.round(sess.run(kernel), 3).tolist())
    other = tf.train.Checkpoint(unknown=tf.Variable(1.0))
    try:
        other.restore(tf.train.latest_checkpoint(folder)).assert_existing_objects_matched()
    except AssertionError as error:
        print(str(error)[:60])
shutil.rmtree(folder)
