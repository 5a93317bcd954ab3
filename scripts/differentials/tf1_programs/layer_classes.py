# peer: 1.15: tf.layers needs Keras 2, which TensorFlow 2.21 does not come with
"""Layers as objects: shared between towers, derived, inspected, and frozen, as classes of programs do it."""

import tensorflow.compat.v1 as tf


class Affine(tf.layers.Layer):
    def __init__(self, units, activity=None, name=None, **kwargs):
        super(Affine, self).__init__(name=name, activity_regularizer=activity, **kwargs)
        self.units = units

    def build(self, input_shape):
        self.kernel = self.add_variable(
            "kernel", shape=[int(input_shape[-1]), self.units], initializer=tf.ones_initializer(),
            regularizer=lambda w: 0.5 * tf.reduce_sum(tf.abs(w)),
        )
        self.count = self.add_weight(
            "count", shape=[], initializer=tf.zeros_initializer(), trainable=False
        )
        super(Affine, self).build(input_shape)

    def call(self, inputs, training=False):
        if training:
            self.add_update(tf.assign_add(self.count, 1.0).op)
        return tf.matmul(inputs, self.kernel)


class Tower(object):
    def __init__(self):
        self.first = tf.layers.Dense(
            3, tf.nn.relu, kernel_initializer=tf.constant_initializer(0.5), name="first"
        )
        self.second = Affine(2, activity=lambda y: 0.1 * tf.reduce_sum(y), name="second")

    def __call__(self, x, training=False):
        return self.second(self.first(x), training=training)


def main(_):
    tower = Tower()
    left, right = tf.ones([2, 4]), 2 * tf.ones([1, 4])
    with tf.variable_scope("towers"):
        a, b = tower(left, training=True), tower(right)
    print([v.name for v in tf.global_variables()], len(tf.trainable_variables()))
    print(tower.first.name, tower.first.scope_name, tower.first.units, tower.first.count_params())
    print([v.op.name for v in tower.second.trainable_variables])
    print([v.op.name for v in tower.second.non_trainable_variables])
    print(len(tower.second.losses), len(tower.second.updates))
    print(len(tower.second.get_losses_for(None)), len(tower.second.get_losses_for(tower.first(left))))
    print(len(tf.losses.get_regularization_losses()), len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
    print(tower.first.compute_output_shape([7, 4]).as_list(), isinstance(tower.second, tf.layers.Layer))
    total = tf.losses.get_regularization_loss()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print(sess.run(a).tolist(), sess.run(b).tolist())
        print("%.4f" % sess.run(total))
        sess.run(tower.second.updates)
        sess.run(tower.second.updates)
        print(sess.run(tower.second.count))
    frozen = tf.layers.Dense(2, trainable=False, name="frozen")
    frozen(left)
    print(len(frozen.trainable_weights), [v.op.name for v in frozen.weights])
    strict = Affine(1, name="strict")
    strict.input_spec = tf.layers.InputSpec(ndim=2, axes={-1: 3})
    for wrong in (
        lambda: strict(tf.ones([2, 4])),
        lambda: strict(tf.ones([2, 3, 3])),
        lambda: tf.layers.dense(tf.ones([3]), 2),
        lambda: tf.layers.Dense(2, units_=3),
        lambda: tf.layers.Dense(2).count_params(),
        lambda: tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, 3, padding="both"),
        lambda: tf.layers.Dense(2).scope_name,
        lambda: tf.layers.Dense(2).output,
    ):
        try:
            wrong()
            print("taken")
        except Exception as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
