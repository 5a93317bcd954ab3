import numpy as np

import actorsession.compat.v1 as tf

images = tf.placeholder(tf.float32, [None, 4], name="images")
labels = tf.placeholder(tf.int64, [None], name="labels")
with tf.variable_scope("layer"):
    weights = tf.get_variable("weights", [4, 2], initializer=tf.zeros_initializer())
    biases = tf.get_variable("biases", [2], initializer=tf.zeros_initializer())
logits = tf.matmul(images, weights) + biases
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(losses))
right = tf.equal(tf.argmax(logits, 1), labels)
accuracy = tf.reduce_mean(tf.cast(right, tf.float32))

data = np.random.RandomState(0).rand(100, 4)
feeds = {images: data, labels: data[:, 0] > data[:, 1]}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(200):
        sess.run(train, feed_dict=feeds)
    print("accuracy:", sess.run(accuracy, feed_dict=feeds) > 0.95)
