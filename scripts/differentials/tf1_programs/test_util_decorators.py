"""Tests with the decorators of test_util that TensorFlow's own unit tests have."""

from __future__ import print_function

import io
import unittest

from absl.testing import parameterized
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import constant_op
from tensorflow.python.framework import ops
from tensorflow.python.framework import test_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import math_ops
from tensorflow.python.platform import googletest

ran = []


class DecoratorTest(test_util.TensorFlowTestCase, parameterized.TestCase):
    @test_util.run_deprecated_v1
    def testDeprecated(self):
        ran.append("deprecated")
        self.assertEqual("a", array_ops.placeholder("float", name="a").op.name)

    @test_util.run_v1_only("needs sessions")
    def testV1(self):
        ran.append("v1")
        with self.cached_session() as sess:
            self.assertAllEqual(6, sess.run(math_ops.reduce_sum([1, 2, 3])))

    @test_util.run_v2_only
    def testV2(self):
        ran.append("v2")

    @test_util.run_gpu_only
    def testGPU(self):
        ran.append("gpu")

    @test_util.disable_xla("no need")
    @test_util.disable_tfrt("neither")
    def testDisabled(self):
        ran.append("without xla")

    @test_util.build_as_function_and_v1_graph
    def testFunction(self):
        self.assertIsNotNone(ops.get_default_graph())
        ran.append("in a graph")

    @test_util.skip_if(lambda: True)
    def testSkipped(self):
        ran.append("skipped")

    def testSkipIfError(self):
        with test_util.skip_if_error(self, ValueError, "bad"):
            raise ValueError("a bad value")

    def testHelpers(self):
        ran.append("helpers")
        graph = ops.Graph()
        with graph.as_default():
            constant_op.constant(1.0, name="c")
        found = test_util.assert_ops_in_graph({"c": "Const"}, graph)
        self.assertEqual(["c"], list(found))
        with self.assertRaises(ValueError):
            test_util.assert_ops_in_graph({"d": "Const"}, graph)
        test_util.assert_equal_graph_def_v1(graph.as_graph_def(), graph.as_graph_def())
        self.assertEqual([1, 4, 2, 3], test_util.NHWCToNCHW([1, 2, 3, 4]))
        with test_util.force_cpu():
            self.assertEqual("/device:CPU:0", constant_op.constant(1).device)


@test_util.run_all_in_graph_and_eager_modes
@test_util.with_control_flow_v2
class ClassTest(test_util.TensorFlowTestCase):
    def testValue(self):
        self.assertAllClose(2.0, self.evaluate(constant_op.constant(1.0) + 1.0))


if __name__ == "__main__":
    loader = unittest.defaultTestLoader
    names = ["DecoratorTest", "ClassTest"]
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(globals()[name]) for name in names)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    print(sorted(set(ran)))
    print(
        "ok",
        result.wasSuccessful(),
        sorted({t.id().split(".")[-1] for t, _ in result.skipped} - {"test_session"}),
    )
    print(googletest.TestCase.__name__, tf.test.is_gpu_available(), tf.test.gpu_device_name() == "")
