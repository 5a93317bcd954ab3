"""Registers gradients for operations and functions, and values that become tensors."""

from __future__ import print_function

import tensorflow as tf
from tensorflow.python.client import session
from tensorflow.python.framework import function
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_math_ops


@ops.RegisterGradient("StraightThrough")
def _straight_through(op, grad):
    return tf.clip_by_value(grad, -1.0, 1.0)


def quantised(x):
    with tf.get_default_graph().gradient_override_map({"Floor": "StraightThrough"}):
        return tf.floor(x)


def _square_grad(op, grad):
    return 10.0 * grad * op.inputs[0]


@function.Defun(tf.float32, python_grad_func=_square_grad)
def square(x):
    return x * x


class Money(object):
    """An amount, which operations take as a tensor."""

    def __init__(self, amount, currency):
        self.amount, self.currency = amount, currency


def money_to_tensor(value, dtype=None, name=None, as_ref=False):
    return tf.constant(value.amount, dtype=dtype or tf.float32, name=name or "money")


class Pair(object):
    """Two tensors that are fetched and fed as one."""

    def __init__(self, a, b):
        self.a, self.b = a, b


def main():
    tf.register_tensor_conversion_function(Money, money_to_tensor)
    session.register_session_run_conversion_functions(
        Pair,
        lambda pair: ([pair.a, pair.b], lambda values: "%.1f/%.1f" % tuple(values)),
        lambda pair, values: [(pair.a, values[0]), (pair.b, values[1])],
        lambda pair: [pair.a, pair.b],
    )
    x = tf.constant([0.3, 1.7, -2.5])
    y = quantised(x)
    (gradient,) = tf.gradients(y, [x], grad_ys=[tf.constant([0.5, 3.0, -7.0])])
    z = tf.constant(3.0)
    pair = Pair(tf.placeholder(tf.float32, []), tf.constant(4.0))
    with tf.Session() as sess:
        print(sess.run(y).tolist(), sess.run(gradient).tolist())
        print(sess.run(tf.gradients(square(z), [z])), sess.run(square(z)))
        print(
            sess.run(tf.add(Money(2.5, "EUR"), 1.0)),
            sess.run(tf.stack([Money(1.0, "EUR"), z])).tolist(),
        )
        print(sess.run(pair, {pair.a: 1.0}), sess.run(pair, {pair: (5.0, 6.0)}))
        print(
            sess.run(gen_math_ops.mul(z, 2.0)),
            sess.run(gen_math_ops.cumsum([1, 2, 3], 0, True)).tolist(),
        )
    try:
        ops.RegisterGradient("StraightThrough")(_straight_through)
    except KeyError:
        print("KeyError")
    print(
        ops.get_gradient_function(y.op) is not None, ops.get_gradient_function(tf.no_op()) is None
    )


if __name__ == "__main__":
    main()
