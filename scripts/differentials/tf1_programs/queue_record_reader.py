"""Examples of a record file through TFRecordReader and shuffle_batch, with a sparse feature."""
import collections
import os
import tempfile

import tensorflow.compat.v1 as tf

path = os.path.join(tempfile.mkdtemp(), "train.tfrecords")
with tf.python_io.TFRecordWriter(path) as writer:
    for n in range(8):
        example = tf.train.Example()
        example.features.feature["number"].int64_list.value.append(n)
        example.features.feature["tags"].bytes_list.value.extend([b"t%d" % k for k in range(n % 3)])
        writer.write(example.SerializeToString())


def read_and_decode(filename_queue):
    reader = tf.TFRecordReader()
    key, serialized_example = reader.read(filename_queue)
    features = tf.parse_single_example(serialized_example, features={
        "number": tf.FixedLenFeature([], tf.int64), "tags": tf.VarLenFeature(tf.string)})
    return key, features["number"], features["tags"]


filename_queue = tf.train.string_input_producer([path], num_epochs=3)
key, number, tags = read_and_decode(filename_queue)
numbers, tag_batch = tf.train.batch([number, tags], batch_size=4, capacity=20)
mixed = tf.train.shuffle_batch([numbers], batch_size=2, capacity=30, min_after_dequeue=2, enqueue_many=True)
print(numbers.shape.as_list(), mixed.shape.as_list(), tag_batch.dtype.name)

examples = tf.placeholder(tf.string, [None])
parsed = tf.parse_example(examples, {"tags": tf.VarLenFeature(tf.string)})
dense = tf.sparse_tensor_to_dense(parsed["tags"], default_value="-")

with tf.Session() as sess:
    print(sess.run(dense, {examples: list(tf.python_io.tf_record_iterator(path))}).tolist()[:4])
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    counted = collections.Counter()
    try:
        while not coord.should_stop():
            counted.update(sess.run(mixed).tolist())
    except tf.errors.OutOfRangeError:
        print(type(coord).__name__, "stops")
    finally:
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
    print(sum(counted.values()), sorted(counted.items()))

queue = tf.FIFOQueue(3, tf.string, [])
reader = tf.WholeFileReader()
key, value = reader.read(queue)
state = reader.serialize_state()
with tf.Session() as sess:
    sess.run(queue.enqueue_many([[path]]))
    print(len(sess.run(value)), reader.supports_serialize, len(sess.run(state)) > 8)
    sess.run(queue.close())
    try:
        sess.run(value)
    except tf.errors.OutOfRangeError:
        print("OutOfRangeError", sess.run([reader.num_records_produced(), reader.num_work_units_completed()]))
