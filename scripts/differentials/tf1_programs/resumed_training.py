"""Training is stopped and goes on from the latest checkpoint, of which a few are kept."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(7)
inputs = rng.uniform(-1, 1, (32, 2)).astype(np.float32)
targets = inputs.dot(np.array([[2.0], [-1.0]], np.float32)) + 0.5


class Model(object):
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 2])
        self.t = tf.placeholder(tf.float32, [None, 1])
        self.w = tf.get_variable("w", initializer=np.zeros((2, 1), np.float32))
        self.b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        self.step = tf.train.get_or_create_global_step()
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.x, self.w) + self.b - self.t))
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        self.train = optimizer.minimize(self.loss, global_step=self.step)
        self.saver = tf.train.Saver(max_to_keep=3)


def run(folder, steps):
    with tf.Graph().as_default(), tf.Session() as sess:
        model = Model()
        latest = tf.train.latest_checkpoint(folder)
        if latest is None:
            sess.run(tf.global_variables_initializer())
        else:
            model.saver.restore(sess, latest)
            state = tf.train.get_checkpoint_state(folder)
            model.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        print("from", sess.run(model.step), "uninitialised", sess.run(tf.report_uninitialized_variables()).tolist())
        feed = {model.x: inputs, model.t: targets}
        for _ in range(steps):
            sess.run(model.train, feed)
            if sess.run(model.step) % 5 == 0:
                model.saver.save(sess, os.path.join(folder, "model.ckpt"), global_step=model.step)
        print("loss %.5f" % sess.run(model.loss, feed))


folder = tempfile.mkdtemp()
run(folder, 12)
run(folder, 13)
names = sorted(os.listdir(folder))
print(names)
state = tf.train.get_checkpoint_state(folder)
print(os.path.basename(state.model_checkpoint_path))
print([os.path.basename(path) for path in state.all_model_checkpoint_paths])
with open(os.path.join(folder, "checkpoint")) as f:
    print(len(f.read().splitlines()))

for name, shape in tf.train.list_variables(folder):
    print(name, shape)
print(np.round(tf.train.load_variable(folder, "w").ravel(), 4).tolist())
reader = tf.train.NewCheckpointReader(state.model_checkpoint_path)
print(reader.has_tensor("w"), reader.has_tensor("w/Adam"), reader.get_variable_to_dtype_map()["global_step"])
print(reader.get_tensor("global_step"), "%.4f" % reader.get_tensor("b")[0])

with tf.Graph().as_default(), tf.Session() as sess:
    other = tf.get_variable("other", [2])
    try:
        tf.train.Saver().restore(sess, state.model_checkpoint_path)
    except tf.errors.NotFoundError:
        print("other is not in the checkpoint")
with tf.Graph().as_default(), tf.Session() as sess:
    tf.get_variable("w", [3, 1])
    try:
        tf.train.Saver().restore(sess, state.model_checkpoint_path)
    except tf.errors.InvalidArgumentError:
        print("w has another shape")
    try:
        tf.train.Saver().restore(sess, os.path.join(folder, "none"))
    except ValueError:
        print("no such checkpoint")
