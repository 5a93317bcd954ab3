"""SyncReplicasOptimizer with one replica: tokens, accumulators and the chief's queue runner, started by hand."""

import numpy as np
import tensorflow.compat.v1 as tf

x = tf.constant([1.0, 2.0, 3.0])
w = tf.Variable(0.0, name="w")
global_step = tf.train.get_or_create_global_step()
loss = tf.reduce_mean(tf.square(w * x - 2.0 * x))
inner = tf.train.GradientDescentOptimizer(0.05)
optimizer = tf.train.SyncReplicasOptimizer(inner, replicas_to_aggregate=2, total_num_replicas=2)
for early in (optimizer.get_chief_queue_runner, optimizer.get_init_tokens_op):
    try:
        early()
    except ValueError:
        print("ValueError before apply_gradients")
train_op = optimizer.minimize(loss, global_step=global_step)
runner = optimizer.get_chief_queue_runner()
tokens = optimizer.get_init_tokens_op()
hook = optimizer.make_session_run_hook(is_chief=True)
print(isinstance(hook, tf.train.SessionRunHook), type(runner).__name__)
print(sorted(v.op.name for v in tf.global_variables()), [v.op.name for v in tf.local_variables()])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(len(sess.run(optimizer.ready_for_local_init_op)))
    sess.run(optimizer.chief_init_op)
    coord = tf.train.Coordinator()
    threads = runner.create_threads(sess, coord=coord, daemon=True, start=True)
    sess.run(tokens)
    for _ in range(6):
        sess.run(train_op)
    # Two gradients make one update; the sixth step has its token once the third update is made.
    print("updates", int(sess.run(global_step)))
    print("w %.4f" % sess.run(w))
    coord.request_stop()
expected = 0.0
for _ in range(3):
    gradient = np.mean(2 * (expected - 2.0) * np.array([1.0, 4.0, 9.0]))
    expected -= 0.05 * gradient
print("expected %.4f" % expected)
