"""An embedding in parts on several devices is saved by a sharded saver, and restored in other parts."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

VOCABULARY, SIZE = 10, 4
TABLE = np.arange(VOCABULARY * SIZE, dtype=np.float32).reshape(VOCABULARY, SIZE)


def initializer(shape, dtype=tf.float32, partition_info=None):
    first = partition_info.var_offset[0] if partition_info is not None else 0
    return tf.constant(TABLE[first:first + int(shape[0])], dtype)


def model(parts):
    partitioner = tf.fixed_size_partitioner(parts) if parts > 1 else None
    with tf.variable_scope("words", partitioner=partitioner):
        table = tf.get_variable("table", [VOCABULARY, SIZE], initializer=initializer)
    ids = tf.placeholder(tf.int32, [None], name="ids")
    return ids, tf.nn.embedding_lookup(table, ids, partition_strategy="div"), table


folder = tempfile.mkdtemp()
path = os.path.join(folder, "words")
with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
    ids, found, table = model(3)
    print([v.name for v in tf.global_variables()])
    print([v.shape.as_list() for v in table])
    saver = tf.train.Saver(sharded=True)
    sess.run(tf.global_variables_initializer())
    tripled = [tf.assign(v, v * 3.0) for v in table]
    sess.run(tripled)
    print(os.path.relpath(saver.save(sess, path), folder))
    print(sess.run(found, {ids: [0, 5, 9]}).tolist())
print(sorted(os.listdir(folder)))
print(tf.train.list_variables(path))
print(tf.train.load_variable(path, "words/table").sum())

for parts in (1, 2, 5):
    with tf.Graph().as_default(), tf.Session() as sess:
        ids, found, table = model(parts)
        saver = tf.train.Saver({"words/table": table})
        saver.restore(sess, path)
        print(parts, sess.run(found, {ids: [0, 5, 9]})[:, 0].tolist())

meta = tf.train.export_meta_graph(graph=tf.Graph())
print(meta.meta_info_def.tags, len(meta.graph_def.node))
with tf.Graph().as_default(), tf.Session() as sess:
    saver = tf.train.import_meta_graph(path + ".meta")
    saver.restore(sess, path)
    print([v.name for v in tf.trainable_variables()])
    lookup = [op.name for op in tf.get_default_graph().get_operations() if op.type == "Placeholder"]
    print(lookup)
    info = [v._get_save_slice_info() for v in tf.trainable_variables()]
    print([(i.full_name, list(i.full_shape), list(i.var_offset), list(i.var_shape)) for i in info])
