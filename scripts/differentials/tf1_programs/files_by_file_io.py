"""Writes and reads files, records and examples by the modules of tensorflow.python.lib.io."""

from __future__ import print_function

import os
import tempfile

import tensorflow as tf
from tensorflow.core.example import example_pb2
from tensorflow.core.example import feature_pb2
from tensorflow.python.framework import errors
from tensorflow.python.lib.io import file_io
from tensorflow.python.lib.io import tf_record


def example(number):
    return example_pb2.Example(
        features=feature_pb2.Features(
            feature={
                "id": feature_pb2.Feature(int64_list=feature_pb2.Int64List(value=[number])),
                "x": feature_pb2.Feature(
                    float_list=feature_pb2.FloatList(value=[number / 2.0, number / 4.0])
                ),
                "name": feature_pb2.Feature(
                    bytes_list=feature_pb2.BytesList(value=[b"n%d" % number])
                ),
            }
        )
    )


def main(_):
    folder = os.path.join(tempfile.mkdtemp(), "data", "inner")
    file_io.recursive_create_dir(folder)
    note = os.path.join(folder, "note.txt")
    file_io.write_string_to_file(note, "first\nsecond\n")
    with file_io.FileIO(note, "a") as f:
        f.write("third\n")
    print(file_io.read_file_to_string(note).split(), file_io.stat(note).length)
    with file_io.FileIO(note, "r") as f:
        print(f.readline().strip(), [line.strip() for line in f], f.size())
    file_io.copy(note, note + ".copy")
    file_io.rename(note + ".copy", note + ".moved")
    print(sorted(file_io.list_directory(folder)), file_io.is_directory(folder))
    print(
        [os.path.basename(p) for p in file_io.get_matching_files(os.path.join(folder, "*.moved"))]
    )
    print(file_io.filecmp(note, note + ".moved"))

    path = os.path.join(folder, "examples.tfrecord")
    with tf_record.TFRecordWriter(path) as writer:
        for number in range(3):
            writer.write(example(number).SerializeToString())
    for record in tf_record.tf_record_iterator(path):
        read = example_pb2.Example.FromString(record)
        print(
            read.features.feature["id"].int64_list.value[0],
            read.features.feature["name"].bytes_list.value[0],
        )
    serialized = tf.placeholder(tf.string, [None])
    parsed = tf.parse_example(
        serialized,
        {"id": tf.FixedLenFeature([], tf.int64), "x": tf.FixedLenFeature([2], tf.float32)},
    )
    with tf.Session() as sess:
        print(
            sess.run(parsed["x"], {serialized: list(tf_record.tf_record_iterator(path))}).tolist()
        )

    for act in (
        lambda: file_io.read_file_to_string(note + ".nothing"),
        lambda: file_io.copy(note, note + ".moved"),
        lambda: file_io.delete_file(note + ".nothing"),
    ):
        try:
            act()
        except errors.OpError as error:
            print(type(error).__name__)
    file_io.delete_recursively(folder)
    print(file_io.file_exists(folder))


if __name__ == "__main__":
    tf.app.run(main)
