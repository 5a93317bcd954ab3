# peer: 1.15: contrib
"""Further optimisers of contrib on a small least-squares problem, dense and by rows."""
import numpy as np
import tensorflow as tf
from tensorflow.contrib import opt

A = np.array([[1.0, 0.5], [0.2, -1.0], [0.7, 0.3]], "f")
B = np.array([1.0, -2.0, 0.5], "f")

def problem():
    w = tf.Variable([0.5, -0.3], name="w")
    table = tf.Variable(np.ones((4, 2), "f") * 0.3, name="table")
    rows = tf.gather(table, [0, 2])
    loss = tf.reduce_mean(tf.square(tf.linalg.matvec(A, w) - B)) + tf.reduce_sum(tf.square(rows - 1.0))
    return loss, w, table

for make in (
    lambda: opt.NadamOptimizer(0.1), lambda: opt.LazyAdamOptimizer(0.1), lambda: opt.AdaMaxOptimizer(0.1),
    lambda: opt.PowerSignOptimizer(0.05), lambda: opt.AddSignOptimizer(0.05),
    lambda: opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 0.5),
    lambda: opt.LARSOptimizer(0.5, eeta=0.1),
):
    tf.reset_default_graph()
    loss, w, table = problem()
    optimizer = make()
    train = optimizer.minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            sess.run(train)
        print(type(optimizer).__name__, "%.5f" % sess.run(loss), sess.run(w).round(5), sess.run(table)[:3].round(4).tolist())
for make in (
    # The others read the variable while TensorFlow shrinks it: their last digits there change from run to run.
    lambda: opt.AdamWOptimizer(0.01, 0.1),
):
    tf.reset_default_graph()
    loss, w, table = problem()
    optimizer = make()
    train = optimizer.minimize(loss, var_list=[w])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            sess.run(train)
        print(type(optimizer).__name__, sess.run(w).round(4))

tf.reset_default_graph()
loss, w, table = problem()
for options in ({"method": "L-BFGS-B"}, {"method": "SLSQP"}):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        seen = []
        opt.ScipyOptimizerInterface(loss, [w], options={"maxiter": 50}, **options).minimize(
            sess, fetches=[loss], loss_callback=seen.append)
        print(options["method"], "%.4f" % sess.run(loss), sess.run(w).round(3), len(seen) > 3, seen[0])
constrained = opt.ScipyOptimizerInterface(loss, [w], equalities=[w[0] + w[1] - 1.0], var_to_bounds={w: (-1.0, 1.4)}, method="SLSQP")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    constrained.minimize(sess)
    print("constrained", sess.run(w).round(2))
