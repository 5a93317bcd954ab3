"""Every optimiser of tf.train on the same problem, dense and sparse, with a counter among the variables."""

import numpy as np
import tensorflow.compat.v1 as tf

T = tf.train
start = np.array([1.0, 2.0, 3.0], np.float32)

optimizers = {
    "sgd": lambda: T.GradientDescentOptimizer(0.1),
    "momentum": lambda: T.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: T.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: T.AdamOptimizer(0.1),
    "adagrad": lambda: T.AdagradOptimizer(0.1),
    "adagrad_da": lambda: T.AdagradDAOptimizer(0.1, T.get_or_create_global_step()),
    "adadelta": lambda: T.AdadeltaOptimizer(1.0),
    "ftrl": lambda: T.FtrlOptimizer(0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.1),
    "ftrl_shrinkage": lambda: T.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "rmsprop": lambda: T.RMSPropOptimizer(0.1),
    "rmsprop_centered": lambda: T.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    "proximal": lambda: T.ProximalGradientDescentOptimizer(0.1, 0.1, 0.1),
    "proximal_adagrad": lambda: T.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.1),
}


def run(make, sparse):
    with tf.Graph().as_default():
        step = T.get_or_create_global_step()
        v = tf.Variable(start, name="v")
        count = tf.Variable(7, name="count")
        if sparse:
            loss = tf.reduce_sum(tf.square(tf.gather(v, [0, 2, 2]) - 0.5))
        else:
            loss = tf.reduce_sum(tf.square(v - 0.5)) * tf.cast(count, tf.float32) / 7.0
        optimizer = make()
        pairs = optimizer.compute_gradients(loss)
        train_op = optimizer.apply_gradients(pairs, global_step=step)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(4):
                sess.run(train_op)
            print([g is not None for g, _ in pairs], int(sess.run(step)), int(sess.run(count)),
                  ["%.4f" % x for x in sess.run(v)])
            print(optimizer.get_name(), optimizer.get_slot_names(),
                  [x.name for x in optimizer.variables()])


for name in sorted(optimizers):
    for sparse in (False, True):
        print(name, "sparse" if sparse else "dense")
        run(optimizers[name], sparse)

with tf.Graph().as_default():
    whole = tf.Variable(2)
    for wrong in (
        lambda: T.GradientDescentOptimizer(0.1).minimize(tf.cast(whole, tf.float32) * 2.0),
        lambda: T.GradientDescentOptimizer(0.1).compute_gradients(whole * whole),
        lambda: T.GradientDescentOptimizer(0.1).apply_gradients([]),
        lambda: T.GradientDescentOptimizer(0.1).apply_gradients([(None, whole)]),
    ):
        try:
            wrong()
        except ValueError:
            print("ValueError")
