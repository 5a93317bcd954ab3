"""Carries nested states through functions with nest, as recurrent code did."""

from __future__ import print_function

import collections

import numpy as np
import tensorflow as tf
from tensorflow.python.util import nest

State = collections.namedtuple("State", ["hidden", "memory"])


def main(_):
    state = {
        "decoder": [State(tf.zeros([2, 3]), tf.ones([2, 3])), State(tf.ones([1]), tf.zeros([4]))],
        "attention": (tf.constant([1.0, 2.0]),),
    }
    flat = nest.flatten(state)
    print(len(flat), [t.shape.as_list() for t in flat])
    doubled = nest.map_structure(lambda t: t * 2.0 + 1.0, state)
    nest.assert_same_structure(state, doubled)
    with tf.Session() as sess:
        values = sess.run(doubled)
        print(type(values["decoder"][0]).__name__, values["attention"][0].tolist())
        print([float(np.sum(v)) for v in nest.flatten(values)])
    packed = nest.pack_sequence_as(state, list(range(len(flat))))
    print(packed["attention"], packed["decoder"][1].memory)
    print(nest.is_nested([1]), nest.is_nested("text"), nest.flatten({"b": 1, "a": [2, {"z": 3}]}))
    print(nest.map_structure_up_to([0, 0], lambda a, b: (a, b), [1, [2]], [[3], 4]))
    print([path for path, _ in nest.flatten_with_joined_string_paths(state)])
    for other in ([1], {"decoder": 1, "attention": 2}, {"decoder": [1, 2]}):
        try:
            nest.assert_same_structure(state, other)
        except (ValueError, TypeError) as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
