# peer: 1.15: tf.layers needs Keras 2, which TensorFlow 2.21 does not come with
"""Batch normalisation while training and afterwards: statistics of the batch, moving averages, update operations."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(4)
ROWS = np.round(rng.normal(3.0, 2.0, (3, 6, 2)), 3).astype(np.float32)
IMAGES = np.round(rng.normal(-1.0, 0.5, (4, 3, 3, 2)), 3).astype(np.float32)


def shown(values):
    return " ".join("%.4f" % each for each in np.ravel(values))


def main(_):
    x = tf.placeholder(tf.float32, [None, 2])
    images = tf.placeholder(tf.float32, [None, 3, 3, 2])
    training = tf.placeholder_with_default(False, [], name="training")
    rows = tf.layers.batch_normalization(x, momentum=0.8, training=training)
    fused = tf.layers.batch_normalization(images, training=training, name="fused")
    plain = tf.layers.batch_normalization(
        images, training=training, fused=False, center=False, name="plain"
    )
    again = tf.layers.batch_normalization(images, axis=3, training=training, name="fused", reuse=True)
    frozen = tf.layers.batch_normalization(x, trainable=False, name="frozen")
    print([v.op.name for v in tf.global_variables()])
    print([v.op.name for v in tf.trainable_variables()])
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    print(len(updates), len(tf.get_collection(tf.GraphKeys.UPDATE_OPS, "plain")))
    names = ["batch_normalization/moving_mean", "batch_normalization/moving_variance"]
    kept = [v for v in tf.global_variables() if v.op.name in names]
    images_kept = tf.global_variables("fused/moving") + tf.global_variables("plain/moving")
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS, "batch_normalization")):
        train = tf.identity(rows)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for number, batch in enumerate(ROWS):
            found = sess.run(train, {x: batch, training: True})
            print("batch %d mean %.4f std %.4f" % (number, abs(found.mean()), found.std()))
            print("kept", shown(sess.run(kept)))
        print("after", shown(sess.run(rows, {x: ROWS[0][:2]})))
        print("frozen", shown(sess.run(frozen, {x: ROWS[0][:1]})))
        feeds = {images: IMAGES, training: True}
        made = sess.run([fused, plain, again], feeds)
        print("images", shown(made[0][0, 0, 0]), shown(made[1][0, 0, 0]), shown(made[2][0, 0, 0]))
        sess.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS, "(fused|plain)/"), feeds)
        print("images kept", shown(sess.run(images_kept)))
        path = saver.save(sess, os.path.join(tempfile.mkdtemp(), "model"))
        sess.run(tf.global_variables_initializer())
        saver.restore(sess, path)
        print("restored", shown(sess.run(kept)))


if __name__ == "__main__":
    tf.app.run()
