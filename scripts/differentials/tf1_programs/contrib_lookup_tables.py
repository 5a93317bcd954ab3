# peer: 1.15: contrib
"""Words to ids and back, with buckets for unknown words and a table that steps change."""

import os

import tensorflow as tf

with open("vocab.txt", "w") as f:
    f.write("emerson\nlake\npalmer\n")

features = tf.constant(["emerson", "lake", "and", "palmer"])
table = tf.contrib.lookup.index_table_from_file(vocabulary_file="vocab.txt", num_oov_buckets=1)
plain = tf.contrib.lookup.index_table_from_tensor(tf.constant(["lake", "palmer"]), default_value=7)
back = tf.contrib.lookup.index_to_string_table_from_file("vocab.txt", default_value="UNKNOWN")
pairs = tf.contrib.lookup.HashTable(
    tf.contrib.lookup.KeyValueTensorInitializer(["a", "b"], [1.5, 2.5]), -1.0
)
counts = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, 0)
dense = tf.contrib.lookup.MutableDenseHashTable(
    tf.int64, tf.int64, default_value=-1, empty_key=0, deleted_key=-2
)
with tf.Session() as sess:
    try:
        sess.run(table.lookup(features))
    except tf.errors.FailedPreconditionError as e:
        print("FailedPreconditionError")
    tf.tables_initializer().run()
    print(table.lookup(features).eval(), table.size().eval())
    print(plain.lookup(features).eval(), plain.size().eval())
    print(back.lookup(tf.constant([0, 2, 9], tf.int64)).eval().tolist())
    print(pairs.lookup(tf.constant(["b", "c"])).eval(), pairs.size().eval())
    words = tf.constant(["x", "y", "x"])
    sess.run(counts.insert(words, [1, 2, 3]))
    print(counts.lookup(words).eval(), counts.size().eval())
    keys, values = counts.export()
    found = sess.run([keys, values])
    print(sorted(zip(found[0].tolist(), found[1].tolist())))
    sess.run(dense.insert(tf.constant([11, 12], tf.int64), tf.constant([1, 2], tf.int64)))
    print(dense.lookup(tf.constant([12, 13], tf.int64)).eval(), dense.size().eval())
    try:
        sess.run(dense.insert(tf.constant([0], tf.int64), tf.constant([1], tf.int64)))
    except tf.errors.InvalidArgumentError:
        print("InvalidArgumentError")
    print(
        sess.run(
            tf.contrib.lookup.string_to_index(features, tf.constant(["and"]))
            if False
            else plain.lookup(tf.constant(["lake"]))
        )
    )
os.remove("vocab.txt")
