# peer: 1.15: contrib
"""Double buffering: a step computes with the batch that the step before has staged."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib.staging import StagingArea

batch = tf.placeholder(tf.float32, [2, 2])
label = tf.placeholder(tf.int32, [2])
area = StagingArea([tf.float32, tf.int32], shapes=[[2, 2], [2]], names=["x", "y"], capacity=2)
put = area.put({"x": batch, "y": label})
got = area.get()
w = tf.get_variable("w", initializer=tf.ones([2, 2]))
logits = tf.matmul(got["x"], w)
result = tf.reduce_sum(logits, 1) + tf.cast(got["y"], tf.float32)
print(got["x"].shape, got["y"].dtype.name, area.names, [d.name for d in area.dtypes])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    data = [(np.full([2, 2], i, "f"), np.array([i, -i], "i")) for i in range(4)]
    sess.run(put, {batch: data[0][0], label: data[0][1]})
    for x, y in data[1:]:
        value, _ = sess.run([result, put], {batch: x, label: y})
        print(value, sess.run(area.size()))
    print(sess.run(result), sess.run(area.size()))
