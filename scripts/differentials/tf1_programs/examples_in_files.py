"""Training examples are written to record files by a class, and read with and without a graph."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf


def int64_feature(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def float_feature(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


class ExampleWriter(object):
    def __init__(self, path, compression=None):
        options = None
        if compression:
            options = tf.python_io.TFRecordOptions(compression)
        self._writer = tf.python_io.TFRecordWriter(path, options=options)
        self.count = 0

    def write(self, label, vector, name):
        features = tf.train.Features(
            feature={
                "label": int64_feature([label]),
                "vector": float_feature(vector),
                "name": bytes_feature(name.encode("utf-8")),
            }
        )
        self._writer.write(tf.train.Example(features=features).SerializeToString())
        self.count += 1

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self._writer.close()


folder = tempfile.mkdtemp()
data = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)
gzip = tf.python_io.TFRecordCompressionType.GZIP
for file, how in (("plain.tfrecord", None), ("small.tfrecord.gz", gzip)):
    path = os.path.join(folder, file)
    with ExampleWriter(path, how) as writer:
        for number, row in enumerate(data):
            writer.write(number % 2, row, u"row-%d \u00e9" % number)
    options = tf.python_io.TFRecordOptions(how) if how else None
    records = list(tf.python_io.tf_record_iterator(path, options=options))
    print(file, writer.count, len(records))
    first = tf.train.Example.FromString(records[1])
    feature = first.features.feature
    print(feature["label"].int64_list.value[0], feature["name"].bytes_list.value[0].decode("utf-8"))
    print(" ".join("%.4f" % v for v in feature["vector"].float_list.value))
    print(feature["vector"].WhichOneof("kind"), sorted(feature), "missing" in feature)

spec = {
    "label": tf.FixedLenFeature([], tf.int64),
    "vector": tf.FixedLenFeature([3], tf.float32),
    "weight": tf.FixedLenFeature([], tf.float32, default_value=0.5),
    "name": tf.VarLenFeature(tf.string),
}
parsed = tf.parse_example(tf.constant(records), spec)
with tf.Session() as sess:
    values = sess.run(parsed)
print(values["label"].tolist(), values["weight"].tolist(), values["name"].dense_shape.tolist())
print("sum %.4f" % values["vector"].sum())

sequence = tf.train.SequenceExample()
sequence.context.feature["length"].int64_list.value.append(2)
steps = sequence.feature_lists.feature_list["steps"].feature
for step in range(2):
    steps.add().float_list.value.extend([step, step + 0.5])
print(sequence)
for wrong in (lambda: int64_feature([1.5]), lambda: float_feature(["a"]), lambda: bytes_feature(u"text")):
    try:
        wrong()
    except TypeError:
        print("wrong type")
