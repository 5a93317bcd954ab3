# peer: 1.15: tf.contrib left TensorFlow with 2.0
"""A small residual network in slim with batch normalisation: names of variables, end points, losses and updates."""

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim


@slim.add_arg_scope
def block(inputs, depth, stride, outputs_collections=None, scope=None):
    with tf.variable_scope(scope, "block", [inputs]) as sc:
        shortcut = inputs
        if stride > 1 or inputs.get_shape().as_list()[-1] != depth:
            shortcut = slim.conv2d(inputs, depth, [1, 1], stride=stride, scope="shortcut")
        net = slim.conv2d(inputs, depth, 3, stride=stride, scope="conv1")
        net = slim.conv2d(net, depth, 3, activation_fn=None, normalizer_fn=None, scope="conv2")
        net = tf.nn.relu(shortcut + net)
        return slim.utils.collect_named_outputs(outputs_collections, sc.name, net)


def network(images, is_training, reuse=None):
    params = {"is_training": is_training, "decay": 0.9, "scale": True}
    with tf.variable_scope("net", reuse=reuse):
        with slim.arg_scope(
            [slim.conv2d], normalizer_fn=slim.batch_norm, normalizer_params=params,
            weights_regularizer=slim.l2_regularizer(0.001),
        ):
            with slim.arg_scope([block, slim.max_pool2d], outputs_collections="points"):
                net = slim.conv2d(images, 4, [3, 3], scope="root")
                net = slim.max_pool2d(net, [2, 2], scope="pool")
                net = block(net, 4, 1)
                net = block(net, 6, 2)
                net = slim.repeat(net, 2, slim.conv2d, 6, [3, 3], scope="tail")
        net = tf.reduce_mean(net, [1, 2])
        net = slim.dropout(net, 0.9, is_training=is_training)
        return slim.fully_connected(net, 2, activation_fn=None, scope="logits")


def main(_):
    tf.set_random_seed(5)
    rng = np.random.RandomState(0)
    images = rng.normal(size=(8, 8, 8, 1)).astype(np.float32)
    labels = np.arange(8) % 2
    images[labels == 1] += 1
    logits = network(tf.constant(images), True)
    points = slim.utils.convert_collection_to_dict("points", clear_collection=True)
    for name, tensor in points.items():
        print(name, tensor.get_shape().as_list())
    held = network(tf.constant(images), False, reuse=True)
    for variable in slim.get_model_variables():
        print(variable.op.name, variable.get_shape().as_list())
    print(slim.model_analyzer.analyze_vars(slim.get_trainable_variables()))
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    total = tf.losses.get_total_loss()
    print(len(tf.losses.get_regularization_losses()), len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    train = slim.learning.create_train_op(total, optimizer)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [sess.run(train) for _ in range(20)]
        print("lower", bool(losses[-1] < losses[0] / 2), sess.run(tf.train.get_global_step()))
        once, again = sess.run(held), sess.run(held)
        print("same", bool((once == again).all()))


if __name__ == "__main__":
    tf.app.run()
