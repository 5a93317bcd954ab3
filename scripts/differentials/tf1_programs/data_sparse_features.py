"""A wide model on sparse features: SparseTensors as elements of a Dataset and in batches of a queue."""
import numpy as np
import tensorflow.compat.v1 as tf


def serialized(count):
    made = []
    for n in range(count):
        feature = {
            "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=[(n * k) % 7 for k in range(1, 2 + n % 3)])),
            "label": tf.train.Feature(float_list=tf.train.FloatList(value=[n % 2])),
        }
        made.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return made


spec = {"ids": tf.VarLenFeature(tf.int64), "label": tf.FixedLenFeature([], tf.float32)}


def parse_one(example):
    parsed = tf.parse_single_example(example, spec)
    return parsed["ids"], parsed["label"]


dataset = tf.data.Dataset.from_tensor_slices(serialized(9)).map(parse_one)
print([c.__name__ for c in dataset.output_classes], dataset.output_shapes[0].as_list())
batched = dataset.batch(3)
print(batched.output_shapes[0].as_list())
iterator = batched.make_initializable_iterator()
ids, labels = iterator.get_next()

wide = tf.get_variable("wide", initializer=np.zeros((7, 1), np.float32))
logits = tf.squeeze(tf.nn.embedding_lookup_sparse(wide, ids, None, combiner="sum"), 1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
train = tf.train.FtrlOptimizer(0.5).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
        sess.run(iterator.initializer)
        while True:
            try:
                value, l, _ = sess.run([ids, loss, train])
            except tf.errors.OutOfRangeError:
                break
            print(value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist(), "%.4f" % l)
    print(["%.3f" % v for v in sess.run(wide)[:, 0]])

tf.reset_default_graph()
whole = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], ["a", "b", "c"], [4, 3])
rows = tf.data.Dataset.from_tensor_slices((whole, np.arange(4)))
dense = rows.map(lambda s, n: (tf.sparse_tensor_to_dense(s, default_value="."), n))
one, number = dense.make_one_shot_iterator().get_next()
with tf.Session() as sess:
    for _ in range(4):
        r, n = sess.run([one, number])
        print(n, r.tolist())

tf.reset_default_graph()
index = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
single = tf.SparseTensor(tf.cast(tf.reshape(index, [1, 1]), tf.int64), tf.reshape(index * 2, [1]), [6])
joined, where = tf.train.batch([single, index], 2, allow_smaller_final_batch=True)
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    try:
        while True:
            s, w = sess.run([joined, where])
            print(s.indices.tolist(), s.values.tolist(), s.dense_shape.tolist(), w.tolist())
    except tf.errors.OutOfRangeError:
        print("done")
    coord.request_stop()
    coord.join(threads)
