"""Embeddings whose rows are changed one by one: scatters, sparse gradients and slots of optimisers."""

import numpy as np
import tensorflow.compat.v1 as tf

table = tf.Variable(np.arange(12, dtype=np.float32).reshape(6, 2), name="table")
ids = tf.placeholder(tf.int32, [None], name="ids")
rows = tf.nn.embedding_lookup(table, ids)
loss = tf.reduce_sum(tf.square(rows))
grad, = tf.gradients(loss, table)
print(type(grad).__name__, rows.shape.as_list(), table.value().name)

optimizers = {
    "sgd": tf.train.GradientDescentOptimizer(0.1),
    "adagrad": tf.train.AdagradOptimizer(0.1),
    "adam": tf.train.AdamOptimizer(0.1),
    "momentum": tf.train.MomentumOptimizer(0.1, 0.9),
}
steps = {name: o.minimize(loss) for name, o in sorted(optimizers.items())}
print([(n, optimizers[n].get_slot_names(), [optimizers[n].get_slot(table, s).name for s in optimizers[n].get_slot_names()])
       for n in sorted(optimizers)])
changes = [
    tf.scatter_update(table, [0, 2], [[9.0, 9.0], [8.0, 8.0]]),
    tf.scatter_add(table, [1, 1], [[1.0, 1.0], [1.0, 1.0]]),
    tf.scatter_sub(table, ids, tf.ones([1, 2])),
    tf.scatter_mul(table, [3], [[2.0, 0.5]]),
    tf.scatter_nd_update(table, [[5, 1], [4, 0]], [0.0, 1.0]),
    table[0, 1].assign(-1.0),
]
print([c.op.type for c in changes], changes[0].dtype)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for c in changes:
        print(sess.run(c, {ids: [0]}).tolist())
    try:
        sess.run(changes[2], {ids: [6]})
    except tf.errors.InvalidArgumentError as e:
        print(type(e).__name__)
    value = sess.run(grad, {ids: [1, 1]})
    print(value.indices.tolist(), value.values.tolist())
    for name in sorted(steps):
        sess.run(table.initializer)
        for _ in range(2):
            sess.run(steps[name], {ids: [1, 1, 3]})
        print(name, np.round(sess.run(table), 4).tolist())
