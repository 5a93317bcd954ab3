"""Uses the decorators and inspection of tensorflow.python.util, as libraries on top of TensorFlow did."""

from __future__ import print_function

import functools

import tensorflow as tf
from tensorflow.python.util import compat
from tensorflow.python.util import deprecation
from tensorflow.python.util import tf_contextlib
from tensorflow.python.util import tf_decorator
from tensorflow.python.util import tf_inspect


def named(function):
    """Builds what a function builds in a name scope of its own."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with tf.name_scope(function.__name__):
            return function(*args, **kwargs)

    return tf_decorator.make_decorator(function, wrapper, "named")


@named
def dense(x, units, scale=1.0):
    """A layer."""
    return tf.matmul(x, tf.fill([int(x.shape[1]), units], scale))


@deprecation.deprecated(None, "Use dense.")
def linear(x, units):
    return dense(x, units)


@tf_contextlib.contextmanager
def scope(name):
    with tf.name_scope(name) as full:
        yield full


def main():
    y = dense(tf.ones([2, 3]), 2, scale=0.5)
    with scope("outer") as full:
        z = linear(y, 1)
    print(y.op.name, z.op.name, full)
    print(dense.__name__, dense.__doc__)
    decorators, target = tf_decorator.unwrap(dense)
    print([d.decorator_name for d in decorators], tf_inspect.getfullargspec(target).args)
    print(
        tf_inspect.isfunction(target), tf_inspect.ismodule(tf_inspect), tf_inspect.isclass(tf.Graph)
    )
    print(deprecation.deprecated_argument_lookup("new", None, "old", 3))
    try:
        deprecation.deprecated_argument_lookup("new", 1, "old", 3)
    except ValueError as error:
        print(error)
    print(compat.as_bytes("text"), compat.as_text(b"bytes"), compat.as_str_any(3))
    print(isinstance(3, compat.integral_types), isinstance("a", compat.bytes_or_text_types))
    with tf.Session() as sess:
        print(sess.run([y, z])[1].tolist())


if __name__ == "__main__":
    main()
