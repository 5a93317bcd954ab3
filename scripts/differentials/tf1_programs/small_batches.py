# peer: 1.15: tf.layers, which TensorFlow 2.21 has without Keras no longer
"""Batch renormalisation, virtual batches and adjustments, trained and used for inference."""

import numpy as np
import tensorflow as tf

rows = np.sin(np.arange(96.0)).reshape(8, 2, 2, 3)
labels = (np.arange(8) % 2).reshape(8, 1)


def jitter(shape):
    return tf.fill([1, 1, 1, shape[-1]], 1.1), tf.fill([1, 1, 1, shape[-1]], -0.1)


def weights(shape, dtype=None, partition_info=None):
    return tf.constant(np.cos(np.arange(np.prod(shape))).reshape(shape) * 0.4, tf.float32)


for name, settings in (
    ("renorm", {"renorm": True, "renorm_clipping": {"rmax": 1.5, "rmin": 0.6, "dmax": 0.5}, "renorm_momentum": 0.7}),
    ("virtual", {"virtual_batch_size": 4}),
    ("both", {"virtual_batch_size": 2, "renorm": True}),
    ("adjusted", {"adjustment": jitter}),
    ("axes", {"axis": [1, 3]}),
):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [8, 2, 2, 3])
    training = tf.placeholder_with_default(False, [])
    net = tf.layers.conv2d(x, 4, 1, kernel_initializer=weights, use_bias=False)
    net = tf.layers.batch_normalization(net, momentum=0.8, training=training, name=name, **settings)
    logits = tf.layers.dense(tf.layers.flatten(net), 1, kernel_initializer=weights)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            value, _ = sess.run([loss, train], {x: rows + 0.2 * step, training: True})
            print(name, step, "%.3f" % value)
        print(name, "inference", "%.3f" % sess.run(loss, {x: rows}))
        for variable in tf.global_variables(name):
            if "Momentum" not in variable.name:
                found = np.ravel(sess.run(variable))[:2]
                print(variable.name, variable.shape.as_list(), np.round(found.astype(np.float64), 2).tolist())
