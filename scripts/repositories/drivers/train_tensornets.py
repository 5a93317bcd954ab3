"""Trains a network of taehoonlee/tensornets on random images."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensornets as nets

chance = np.random.RandomState(0)
images, labels = (tf.placeholder(tf.float32, [None, 64, 64, 3]), tf.placeholder(tf.float32, [None, 10]))
model = nets.MobileNet25(images, is_training=True, classes=10)
loss = tf.losses.softmax_cross_entropy(labels, model.logits)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
feeds = {images: chance.rand(16, 64, 64, 3), labels: np.eye(10)[chance.randint(0, 10, 16)]}
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        print("loss", session.run([loss, train], feeds)[0])
    model.print_summary()
