"""Reads images of a fixed length from binary files, as the CIFAR tutorial does, and some with read_up_to."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

HEIGHT, WIDTH, DEPTH, LABEL_BYTES = 4, 4, 3, 1


class CIFAR10Record(object):
    pass


def read_cifar10(filename_queue):
    result = CIFAR10Record()
    image_bytes = HEIGHT * WIDTH * DEPTH
    record_bytes = LABEL_BYTES + image_bytes
    reader = tf.FixedLengthRecordReader(record_bytes=record_bytes)
    result.key, value = reader.read(filename_queue)
    record = tf.decode_raw(value, tf.uint8)
    result.label = tf.cast(tf.strided_slice(record, [0], [LABEL_BYTES]), tf.int32)
    depth_major = tf.reshape(tf.strided_slice(record, [LABEL_BYTES], [record_bytes]), [DEPTH, HEIGHT, WIDTH])
    result.uint8image = tf.transpose(depth_major, [1, 2, 0])
    return result


def inputs(filenames, batch_size):
    queue = tf.train.string_input_producer(filenames, num_epochs=1, shuffle=False)
    read_input = read_cifar10(queue)
    image = tf.cast(read_input.uint8image, tf.float32)
    image = tf.image.resize_image_with_crop_or_pad(image, 2, 2)
    image = tf.image.per_image_standardization(image)
    image.set_shape([2, 2, 3])
    read_input.label.set_shape([1])
    images, labels = tf.train.batch([image, read_input.label], batch_size=batch_size, num_threads=1)
    return images, tf.reshape(labels, [batch_size])


folder = tempfile.mkdtemp()
names = []
for part in range(2):
    names.append(os.path.join(folder, "data_batch_%d.bin" % part))
    with open(names[-1], "wb") as f:
        for n in range(3):
            pixels = (np.arange(48) * (n + 2) + part * 31) % 256
            f.write(bytes(bytearray([n + 3 * part])) + pixels.astype(np.uint8).tobytes())

images, labels = inputs(names, 2)
queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
keys, values = tf.FixedLengthRecordReader(record_bytes=49).read_up_to(queue, 2)
with tf.train.MonitoredTrainingSession() as sess:
    while not sess.should_stop():
        i, l = sess.run([images, labels])
        print(i.shape, l.tolist(), "%.4f %.4f" % (i.mean(), np.abs(i).max()))

with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    try:
        while True:
            k, v = sess.run([keys, values])
            print([os.path.basename(n.decode()) for n in k], [len(x) for x in v])
    except tf.errors.OutOfRangeError as e:
        print("is closed" in e.message)
    coord.request_stop()
    coord.join(threads)
