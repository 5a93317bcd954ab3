"""Trains a logistic regression with imports of TensorFlow's own modules, as research code did."""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import numpy as np

from tensorflow.python.client import session
from tensorflow.python.framework import constant_op
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import errors
from tensorflow.python.framework import ops
from tensorflow.python.framework import tensor_shape
from tensorflow.python.framework import tensor_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import gen_math_ops
from tensorflow.python.ops import math_ops
from tensorflow.python.ops import nn_ops
from tensorflow.python.ops import variable_scope
from tensorflow.python.ops import variables
from tensorflow.python.training import gradient_descent


def build(features):
    x = array_ops.placeholder(dtypes.float32, shape=[None, features], name="x")
    y = array_ops.placeholder(dtypes.float32, shape=[None, 1], name="y")
    with variable_scope.variable_scope("model"):
        w = variable_scope.get_variable("w", initializer=np.full([features, 1], 0.1, np.float32))
        b = variable_scope.get_variable("b", initializer=np.zeros([1], np.float32))
    logits = nn_ops.bias_add(gen_math_ops.mat_mul(x, w), b)
    loss = math_ops.reduce_mean(math_ops.log1p(math_ops.exp(-(2 * y - 1) * logits)), name="loss")
    return x, y, logits, loss


def main():
    grid = np.linspace(-1, 1, 24).reshape(12, 2).astype(np.float32)
    labels = (grid.sum(1, keepdims=True) > 0.2).astype(np.float32)
    with ops.Graph().as_default() as graph:
        x, y, logits, loss = build(2)
        train = gradient_descent.GradientDescentOptimizer(0.5).minimize(loss)
        with session.Session(graph=graph) as sess:
            sess.run(variables.global_variables_initializer())
            for step in range(60):
                value, _ = sess.run([loss, train], {x: grid, y: labels})
                if step % 20 == 0:
                    print("step %d loss %.4f" % (step, value))
            right = math_ops.equal(logits > 0, y > 0.5)
            print(
                "right",
                sess.run(
                    math_ops.reduce_sum(math_ops.cast(right, dtypes.int32)), {x: grid, y: labels}
                ),
            )
            try:
                sess.run(loss, {x: grid})
            except errors.InvalidArgumentError as error:
                print(type(error).__name__, error.op.name, error.error_code)
        print([v.name for v in ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)])
        print(tensor_shape.TensorShape([None, 2]).as_list(), logits.get_shape().as_list())
        print(tensor_util.constant_value(constant_op.constant([[1, 2], [3, 4]])).tolist())


if __name__ == "__main__":
    main()
