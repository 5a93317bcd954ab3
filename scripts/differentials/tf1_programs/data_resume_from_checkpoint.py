"""Interrupts training in the middle of an epoch and goes on from a checkpoint, with the iterator's position."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf


class Trainer(object):
    def __init__(self, checkpoint_dir):
        self.path = os.path.join(checkpoint_dir, "model.ckpt")
        self.graph = tf.Graph()
        with self.graph.as_default():
            data = np.arange(20, dtype=np.float32)
            dataset = tf.data.Dataset.from_tensor_slices(data)
            dataset = dataset.map(lambda x: x / 10, num_parallel_calls=2).shuffle(7, seed=11).batch(2).repeat(2)
            self.iterator = dataset.make_initializable_iterator()
            self.value = self.iterator.get_next()
            self.total = tf.get_variable("total", initializer=0.0)
            self.update = tf.assign_add(self.total, tf.reduce_sum(self.value))
            self.step = tf.train.create_global_step()
            with tf.control_dependencies([self.update]):
                self.count = tf.assign_add(self.step, 1)
            saveable = tf.data.experimental.make_saveable_from_iterator(self.iterator)
            tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
            self.saver = tf.train.Saver()
            self.init = tf.global_variables_initializer()

    def run(self, steps, resume):
        seen = []
        with tf.Session(graph=self.graph) as sess:
            sess.run(self.init)
            sess.run(self.iterator.initializer)
            if resume:
                self.saver.restore(sess, tf.train.latest_checkpoint(os.path.dirname(self.path)))
            for _ in range(steps):
                try:
                    value, _, step = sess.run([self.value, self.update, self.count])
                    seen.extend(np.round(value * 10).astype(int).tolist())
                except tf.errors.OutOfRangeError:
                    print("no more data at step", sess.run(self.step))
                    break
            self.saver.save(sess, self.path, global_step=self.step)
            print("step", sess.run(self.step))
            if sess.run(self.step) == 20:
                print("total %.2f" % sess.run(self.total))
        return seen


folder = tempfile.mkdtemp()
try:
    first = Trainer(folder).run(6, resume=False)
    second = Trainer(folder).run(100, resume=True)
    everything = Trainer(tempfile.mkdtemp()).run(100, resume=False)
    print(len(first), len(second), len(everything))
    print("each number twice:", sorted(first + second) == sorted(list(range(20)) * 2))
    print("the same order:", first + second == everything)
finally:
    shutil.rmtree(folder)
