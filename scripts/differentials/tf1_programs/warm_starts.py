"""Variables begin with values of a checkpoint: init_from_checkpoint, warm_start, readers and what they refuse."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

folder = tempfile.mkdtemp()
with tf.Graph().as_default():
    with tf.variable_scope("old"):
        w = tf.get_variable("w", initializer=np.float32([[1.0, 2.0], [3.0, 4.0]]))
        b = tf.get_variable("b", initializer=np.float32([5.0, 6.0]))
    e = tf.get_variable("embedding", initializer=np.float32([[1, 1], [2, 2], [3, 3]]))
    step = tf.train.create_global_step()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step.assign_add(7))
        path = tf.train.Saver().save(sess, os.path.join(folder, "model"), global_step=step)
print(os.path.basename(path), tf.train.checkpoint_exists(path), tf.train.checkpoint_exists(path + "x"))
print(tf.train.list_variables(folder))
reader = tf.train.load_checkpoint(folder)
print(reader.has_tensor("old/w"), reader.has_tensor("w"), sorted(reader.get_variable_to_shape_map().items()))
print(tf.train.load_variable(folder, "old/b").tolist())


def show(title, build):
    with tf.Graph().as_default():
        try:
            build()
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                found = tf.global_variables()
                print(title, [(v.op.name, np.ravel(sess.run(v)).round(4).tolist()) for v in found])
        except Exception as exc:
            print(title, type(exc).__name__)


def scopes():
    with tf.variable_scope("new"):
        tf.get_variable("w", [2, 2])
        tf.get_variable("b", [2])
    tf.train.init_from_checkpoint(folder, {"old/": "new/"})


def by_name():
    v = tf.get_variable("v", [2, 2])
    tf.get_variable("u", initializer=0.5)
    tf.train.init_from_checkpoint(folder, {"old/w": v})


def wrong_shape():
    tf.train.init_from_checkpoint(folder, {"old/w": tf.get_variable("v", [3, 2])})


def wrong_name():
    tf.train.init_from_checkpoint(folder, {"nobody": tf.get_variable("v", [2, 2])})


def trainable():
    with tf.variable_scope("old"):
        tf.get_variable("w", [2, 2], initializer=tf.zeros_initializer())
        tf.get_variable("b", [2], initializer=tf.zeros_initializer(), trainable=False)
    tf.train.warm_start(path)


def some():
    with tf.variable_scope("old"):
        tf.get_variable("w", [2, 2], initializer=tf.zeros_initializer())
        tf.get_variable("b", [2], initializer=tf.zeros_initializer())
    tf.train.warm_start(path, vars_to_warm_start="old/b")


def renamed():
    tf.get_variable("bias", [2])
    tf.train.warm_start(path, var_name_to_prev_var_name={"bias": "old/b"})


def unused():
    tf.get_variable("bias", [2])
    tf.train.warm_start(path, vars_to_warm_start="bias", var_name_to_prev_var_name={"nobody": "old/b"})


for function in (scopes, by_name, wrong_shape, wrong_name, trainable, some, renamed, unused):
    show(function.__name__, function)
