"""Unit tests of a small library of functions, run by the program itself, which prints what came of them."""

from __future__ import print_function

import io
import unittest

import numpy as np
import tensorflow as tf


def scale(x, factor=2.0):
    return tf.multiply(x, factor)


class ScaleTest(tf.test.TestCase):
    def setUp(self):
        super(ScaleTest, self).setUp()
        self.values = np.arange(6, dtype=np.float32).reshape(2, 3)

    def test_scale(self):
        with self.test_session():
            self.assertAllClose(scale(self.values).eval(), self.values * 2)
            self.assertAllEqual(scale(tf.constant([1, 2]), 3), [3, 6])

    def test_cached_session_keeps_variables(self):
        with self.cached_session() as sess:
            v = tf.Variable(3.0)
            sess.run(v.initializer)
        with self.cached_session():
            self.assertEqual(3.0, v.eval())
            self.assertNear(v.eval(), 3.01, 0.1)

    def test_own_session_and_graph(self):
        graph = tf.Graph()
        with self.session(graph=graph) as sess:
            self.assertIs(graph, tf.get_default_graph())
            self.assertArrayNear([0.5, 1.0], sess.run(scale(tf.constant([0.25, 0.5]))), 1e-6)

    def test_errors(self):
        with self.cached_session() as sess:
            x = tf.placeholder(tf.float32, name="x")
            with self.assertRaisesOpError("placeholder"):
                sess.run(scale(x))
            with self.assertRaisesWithPredicateMatch(
                ValueError, lambda e: "shapes" in str(e) or "equal" in str(e)
            ):
                tf.add(tf.ones([2]), tf.ones([3]))

    def test_devices_shapes_and_protos(self):
        self.assertDeviceEqual("/job:worker/device:CPU:0", "/job:worker/cpu:0")
        self.assertShapeEqual(self.values, tf.constant(self.values))
        self.assertProtoEquals("name: 'n' op: 'NoOp'", tf.NodeDef(name="n", op="NoOp"))
        self.assertAllInRange(self.values, 0, 5)
        self.assertAllInSet(self.values, set(range(6)))
        self.assertStartsWith("scale/Mul", "scale")

    def test_threads(self):
        results = []
        threads = [self.checkedThread(target=results.append, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertItemsEqual([3, 1, 2, 0], results)

    def test_that_fails(self):
        self.assertAllClose([1.0, 2.0], [1.0, 2.5])

    def test_that_errs(self):
        raise KeyError("missing")


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(ScaleTest)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    print("ran", result.testsRun - len(result.skipped))
    print("failed", [test.id().split(".")[-1] for test, _ in result.failures])
    print("erred", [test.id().split(".")[-1] for test, _ in result.errors])
