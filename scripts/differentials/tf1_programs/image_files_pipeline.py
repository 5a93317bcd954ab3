"""Writes small PNG files, then reads them with WholeFileReader and with a Dataset, and resizes them."""
import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()


def write_images():
    pixels = tf.placeholder(tf.uint8, [None, None, 3])
    name = tf.placeholder(tf.string, [])
    write = tf.write_file(name, tf.image.encode_png(pixels))
    with tf.Session() as sess:
        for k in range(4):
            image = np.zeros((4 + k, 6, 3), np.uint8)
            image[:, :, k % 3] = 60 * (k + 1)
            image[0, 0] = 255
            sess.run(write, {pixels: image, name: os.path.join(folder, "cat" if k % 2 else "dog", "%d.png" % k)})


def with_queue():
    names = tf.train.match_filenames_once(os.path.join(folder, "*", "*.png"))
    queue = tf.train.string_input_producer(names, shuffle=False, num_epochs=1)
    key, value = tf.WholeFileReader().read(queue)
    image = tf.image.decode_png(value, channels=3)
    image = tf.image.resize_images(tf.image.convert_image_dtype(image, tf.float32), [4, 4])
    keys, images = tf.train.batch([key, image], 2)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        for _ in range(2):
            k, i = sess.run([keys, images])
            print([os.path.basename(n.decode()) for n in k], i.shape, ["%.3f" % v for v in i.mean(axis=(0, 1, 2))])
        coord.request_stop()
        coord.join(threads)


def with_dataset():
    files = sorted(tf.gfile.Glob(os.path.join(folder, "*", "*.png")))
    labels = [int(f.split(os.sep)[-2] == "cat") for f in files]

    def parse(filename, label):
        image = tf.image.decode_image(tf.read_file(filename))
        image.set_shape([None, None, 3])
        flipped = tf.cond(tf.equal(label, 1), lambda: tf.image.flip_left_right(image), lambda: image)
        return tf.image.resize_image_with_crop_or_pad(flipped, 4, 4), label

    dataset = tf.data.Dataset.from_tensor_slices((files, labels)).map(parse).batch(3)
    images, batch_labels = dataset.make_one_shot_iterator().get_next()
    print(images.shape.as_list(), images.dtype.name)
    with tf.Session() as sess:
        for _ in range(2):
            i, l = sess.run([images, batch_labels])
            print(l.tolist(), i.reshape(len(i), -1).sum(axis=1).tolist())
        try:
            sess.run(images)
        except tf.errors.OutOfRangeError:
            print("all images seen")


write_images()
with_queue()
tf.reset_default_graph()
with_dataset()
tf.reset_default_graph()
bad = tf.image.decode_png(b"this is no image")
with tf.Session() as sess:
    try:
        sess.run(bad)
    except tf.errors.InvalidArgumentError:
        print("InvalidArgumentError")
