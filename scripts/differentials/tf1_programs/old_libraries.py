"""A training program in the style of both Pythons: six, absl's flags, __future__ imports and tf.app."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import abc
import sys

import six
from six.moves import range
from six.moves import xrange
from six.moves import zip
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 3, "How many steps.")
flags.DEFINE_float("rate", 0.5, "The learning rate.")
flags.DEFINE_string("mode", "train", "What to do.")
flags.DEFINE_boolean("verbose", False, "Whether to say more.")
FLAGS = flags.FLAGS


@six.add_metaclass(abc.ABCMeta)
class Model(object):
    @abc.abstractmethod
    def loss(self):
        """Returns the loss."""


class Parabola(Model):
    def __init__(self):
        self.w = tf.Variable(4.0)

    def loss(self):
        return tf.square(self.w - 1.0)


def main(unused_argv):
    model = Parabola()
    loss = model.loss()
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(FLAGS.rate / 2).minimize(loss, global_step=step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in xrange(FLAGS.steps):
            sess.run(train)
        print(
            FLAGS.mode, FLAGS.verbose, sess.run(step), "%.4f" % sess.run(model.w), unused_argv[1:]
        )
    options = {"b": 2, "a": 1}
    print(
        sorted(six.iteritems(options)), [k for k, _ in zip(sorted(six.iterkeys(options)), range(1))]
    )
    print(isinstance("text", six.string_types), isinstance(3, six.integer_types), six.PY3)
    try:
        Model()
    except TypeError as error:
        print(type(error).__name__)


if __name__ == "__main__":
    sys.argv[1:] = ["--steps=4", "--verbose", "--mode", "eval", "rest"]
    tf.app.run()
