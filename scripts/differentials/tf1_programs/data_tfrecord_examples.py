"""Writes Examples to two record files and reads them back with TFRecordDataset."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def write(path, numbers, options=None):
    with tf.python_io.TFRecordWriter(path, options=options) as writer:
        for n in numbers:
            image = np.arange(n, n + 6, dtype=np.uint8).reshape(2, 3)
            example = tf.train.Example(features=tf.train.Features(feature={
                "label": _int64_feature([n % 3]),
                "image_raw": _bytes_feature(image.tobytes()),
                "weights": _float_feature([0.5 * k for k in range(n % 4)]),
            }))
            writer.write(example.SerializeToString())


def parser(record):
    parsed = tf.parse_single_example(record, features={
        "label": tf.FixedLenFeature([], tf.int64),
        "image_raw": tf.FixedLenFeature([], tf.string),
        "weights": tf.VarLenFeature(tf.float32),
        "missing": tf.FixedLenFeature([], tf.string, default_value="none"),
    })
    image = tf.reshape(tf.decode_raw(parsed["image_raw"], tf.uint8), [2, 3])
    weights = tf.sparse_tensor_to_dense(parsed["weights"])
    return tf.cast(image, tf.float32), tf.cast(parsed["label"], tf.int32), weights, parsed["missing"]


def read(filenames, compression_type=""):
    dataset = tf.data.TFRecordDataset(filenames, compression_type=compression_type)
    dataset = dataset.map(parser)
    dataset = dataset.padded_batch(4, padded_shapes=([2, 3], [], [None], []))
    return dataset.make_one_shot_iterator().get_next()


folder = tempfile.mkdtemp()
try:
    paths = [os.path.join(folder, "part-%d.tfrecord" % k) for k in range(2)]
    write(paths[0], range(5))
    write(paths[1], range(10, 15))
    zipped = os.path.join(folder, "zipped.tfrecord")
    write(zipped, range(3), tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP))

    images, labels, weights, missing = read(paths)
    print(images.shape.as_list(), labels.shape.as_list(), weights.shape.as_list())
    small = read(zipped, "GZIP")
    broken = read([os.path.join(folder, "no-such-file")])
    with tf.Session() as sess:
        while True:
            try:
                i, l, w, m = sess.run([images, labels, weights, missing])
                print(i.shape, i.sum(), l, w.tolist(), m[0])
            except tf.errors.OutOfRangeError:
                print("done")
                break
        print(sess.run(small)[1])
        try:
            sess.run(broken)
        except tf.errors.NotFoundError:
            print("NotFoundError")
    print(sum(1 for _ in tf.python_io.tf_record_iterator(paths[1])))
finally:
    shutil.rmtree(folder)
