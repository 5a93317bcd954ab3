"""The reading guide's pipeline: file names in a queue, a line reader, decode_csv and batches."""
import os
import tempfile

import numpy as np
import tensorflow as tf


def make_files(folder):
    names = []
    for k in range(2):
        name = os.path.join(folder, "file%d.csv" % k)
        with open(name, "w") as f:
            f.write("a,b,c,label\n")
            for n in range(4):
                f.write("%d,%d,%d,%d\n" % (n, n * k, n + k, n % 2))
        names.append(name)
    return names


def read_my_file_format(filename_queue):
    reader = tf.TextLineReader(skip_header_lines=1)
    key, value = reader.read(filename_queue)
    record_defaults = [[0.0], [0.0], [0.0], [0]]
    col1, col2, col3, label = tf.decode_csv(value, record_defaults=record_defaults)
    return key, tf.stack([col1, col2, col3]), label, reader


def input_pipeline(filenames, batch_size, num_epochs=None):
    filename_queue = tf.train.string_input_producer(filenames, num_epochs=num_epochs, shuffle=False)
    key, example, label, reader = read_my_file_format(filename_queue)
    key_batch, example_batch, label_batch = tf.train.batch(
        [key, example, label], batch_size=batch_size, allow_smaller_final_batch=True)
    return key_batch, example_batch, label_batch, reader


def main(argv):
    folder = tempfile.mkdtemp()
    keys, examples, labels, reader = input_pipeline(make_files(folder), 3, num_epochs=2)
    print(examples.get_shape().as_list(), labels.dtype.name, reader.reader_ref.op.type)
    produced, completed = reader.num_records_produced(), reader.num_work_units_completed()
    weights = tf.Variable(np.full((3, 1), 0.1, np.float32))
    score = tf.reduce_sum(tf.matmul(examples, weights))
    init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())

    with tf.Session() as sess:
        sess.run(init_op)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        print(len(threads), sorted(t.name.split("-")[0] for t in threads)[0] != "")
        total = 0
        try:
            while not coord.should_stop():
                k, e, l, s = sess.run([keys, examples, labels, score])
                total += len(k)
                print([os.path.basename(n.decode()) for n in k], l.tolist(), "%.3f" % s)
        except tf.errors.OutOfRangeError:
            print("Done training -- epoch limit reached")
        finally:
            coord.request_stop()
        coord.join(threads)
        print(total, sess.run([produced, completed]))


if __name__ == "__main__":
    tf.app.run()
