"""Batches of sentences of similar length, from several files that are interleaved."""
import os
import tempfile

import tensorflow.compat.v1 as tf

folder = tempfile.mkdtemp()
for k in range(3):
    with tf.gfile.GFile(os.path.join(folder, "corpus-%d.txt" % k), "w") as f:
        for n in range(6):
            f.write(" ".join(["w%d" % ((n + j) % 4) for j in range(1 + (n * 5 + k) % 7)]) + "\n")

vocabulary = os.path.join(folder, "vocab")
with open(vocabulary, "w") as f:
    f.write("\n".join(["w0", "w1", "w2"]) + "\n")

table = tf.lookup.StaticHashTable(
    tf.lookup.TextFileInitializer(vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
                                  tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), -1)

files = tf.data.Dataset.list_files(os.path.join(folder, "corpus-*.txt"), shuffle=False)
lines = files.interleave(lambda name: tf.data.TextLineDataset(name), cycle_length=2, block_length=2)
ids = lines.map(lambda line: tf.string_split([line]).values).map(table.lookup)
pairs = ids.map(lambda x: (x, tf.size(x)))
buckets = pairs.apply(tf.data.experimental.bucket_by_sequence_length(
    lambda x, size: size, bucket_boundaries=[3, 5], bucket_batch_sizes=[4, 3, 2],
    padding_values=(tf.constant(9, tf.int64), 0)))
iterator = buckets.make_initializable_iterator()
batch, sizes = iterator.get_next()

with tf.Session() as sess:
    sess.run([tf.tables_initializer(), iterator.initializer])
    while True:
        try:
            b, s = sess.run([batch, sizes])
            print(b.shape, s.tolist(), b[0].tolist())
        except tf.errors.OutOfRangeError:
            break

tf.reset_default_graph()
numbers = tf.data.Dataset.range(11)
windows = numbers.apply(tf.data.experimental.group_by_window(
    key_func=lambda x: x % 3,
    reduce_func=lambda key, window: window.map(lambda x: x * 10 + key).batch(2),
    window_size=4))
element = windows.make_one_shot_iterator().get_next()
with tf.Session() as sess:
    try:
        while True:
            print(sess.run(element).tolist())
    except tf.errors.OutOfRangeError:
        print("end")
