"""Fills and empties queues with runners under a coordinator, and looks at how they end."""

from __future__ import print_function

import threading

import tensorflow as tf
from tensorflow.python.training import coordinator
from tensorflow.python.training import queue_runner_impl


class _BadOp(object):
    name = "bad"


def counting():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(tf.constant(0, tf.int64))
        queue = tf.FIFOQueue(10, tf.float32)
        runner = queue_runner_impl.QueueRunner(queue, [v.count_up_to(3), v.count_up_to(30)])
        sess.run(tf.global_variables_initializer())
        for thread in runner.create_threads(sess, start=True):
            thread.join()
        print("counted", sess.run(v), runner.exceptions_raised)


def moving():
    with tf.Graph().as_default(), tf.Session() as sess:
        first, second = tf.FIFOQueue(3, tf.float32), tf.FIFOQueue(30, tf.float32)
        put, close = first.enqueue((10.0,)), first.close()
        take = second.dequeue()
        runner = tf.train.QueueRunner(second, [second.enqueue((first.dequeue(),))])
        threads = runner.create_threads(sess, start=True)
        for op in (put, put, close):
            sess.run(op)
        for thread in threads:
            thread.join()
        print("moved", sess.run(take), sess.run(take))
        try:
            sess.run(take)
        except tf.errors.OutOfRangeError as error:
            print("closed" if "is closed" in str(error) else str(error))


def failing():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(10, tf.float32)
        coord = coordinator.Coordinator()
        runner = tf.train.QueueRunner(queue, [_BadOp()])
        threads = runner.create_threads(sess, coord, start=True)
        try:
            coord.join(threads)
        except TypeError as error:
            print("failed", "_BadOp" in str(error))
        print(coord.should_stop(), runner.create_threads(sess) == [])


def stopping():
    coord = tf.train.Coordinator(clean_stop_exception_types=(tf.errors.OutOfRangeError, KeyError))
    seen = []

    def work(number):
        with coord.stop_on_exception():
            while not coord.should_stop():
                seen.append(number)
                if len(seen) > 50:
                    raise KeyError("enough")
                coord.wait_for_stop(0.001)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    coord.join(threads, stop_grace_period_secs=10)
    print("stopped", coord.joined, len(seen) > 50)
    coord.clear_stop()
    print(coord.should_stop(), coord.wait_for_stop(0.01))


if __name__ == "__main__":
    counting()
    moving()
    failing()
    stopping()
