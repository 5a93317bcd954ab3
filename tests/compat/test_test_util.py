"""``test_util`` and the further assertions of ``tf.test.TestCase``, as unit tests of TensorFlow use them."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.libraries import parameterized
from actorsession.compat.v1.internals import test_util
from tests.rows import for_each


def outcome(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_decorators_run_the_half_with_graphs_and_skip_what_needs_more() -> None:
    ran: list[Any] = []

    class Case(test_util.TensorFlowTestCase):
        __test__ = False

        @test_util.run_in_graph_and_eager_modes
        def testBoth(self) -> None:
            ran.append(float(tf.constant(1.0).eval()))

        @test_util.run_in_graph_and_eager_modes(use_gpu=False)
        def testOnCPU(self) -> None:
            ran.append(tf.constant(1.0).device)

        @test_util.run_v1_only("sessions")
        @test_util.disable_xla("nothing is compiled")
        def testV1(self) -> None:
            ran.append("v1")

        @test_util.build_as_function_and_v1_graph
        def testInGraph(self) -> None:
            ran.append(len(tf.get_default_graph().get_operations()))

        @test_util.skip_if(lambda: True)
        def testConditional(self) -> None:
            ran.append("never")

        @test_util.run_v2_only
        def testV2(self) -> None:
            ran.append("never")

        @test_util.run_gpu_only
        def testGPU(self) -> None:
            ran.append("never")

        def testError(self) -> None:
            with test_util.skip_if_error(self, ValueError, "bad"):
                raise ValueError("a bad value")

    result = outcome(Case)
    assert (result.failures, result.errors) == ([], [])
    assert sorted(map(str, ran)) == ["/device:CPU:0", "0", "1.0", "v1"]
    skipped = sorted(test.id().rpartition(".")[2] for test, _ in result.skipped)
    assert skipped == ["testError", "testGPU", "testV2"]


def test_a_class_is_decorated_by_another_name() -> None:
    with pytest.raises(ValueError, match="run_all_in_graph_and_eager_modes"):
        test_util.run_in_graph_and_eager_modes(tf.test.TestCase)
    assert test_util.run_all_in_graph_and_eager_modes(tf.test.TestCase) is tf.test.TestCase


def test_tensors_that_are_left_are_found() -> None:
    kept: list[Any] = []

    class Case(tf.test.TestCase):
        __test__ = False

        @test_util.assert_no_new_tensors
        def testNothing(self) -> None:
            tf.constant(1.0)

        @test_util.assert_no_new_tensors
        def testKept(self) -> None:
            kept.append(tf.constant(1.0))

    assert [test.id().rpartition(".")[2] for test, _ in outcome(Case).failures] == ["testKept"]


def test_graphs_are_looked_into() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.add(tf.constant(1.0, name="c"), 2.0, name="a")
    found = test_util.assert_ops_in_graph({"a": "AddV2"}, graph)
    assert list(found) == ["a"]
    with pytest.raises(ValueError, match="Not all expected ops are present"):
        test_util.assert_ops_in_graph({"b": "Add"}, graph)
    with pytest.raises(ValueError, match="Expected Mul, found AddV2"):
        test_util.assert_ops_in_graph({"a": "Mul"}, graph)
    assert test_util.get_node_def_from_graph("c", graph.as_graph_def()).op == "Const"
    assert test_util.NHWCToNCHW([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert test_util.NCHWToNHWC([1, 4, 2, 3]) == [1, 2, 3, 4]
    rows = test_util.generate_combinations_with_testcase_name(a=[1, 2], b="x")
    assert [row["testcase_name"] for row in rows] == ["_test_a_1_b_x", "_test_a_2_b_x"]


def test_tests_have_arguments() -> None:
    seen: list[Any] = []

    class Case(parameterized.TestCase):
        __test__ = False

        @parameterized.parameters((1, 2), {"a": 3, "b": 4})
        def testPlain(self, a: int, b: int) -> None:
            seen.append((a, b))

        @parameterized.named_parameters(("One", 1), {"testcase_name": "_two", "a": 2})
        def testNamed(self, a: int) -> None:
            seen.append((self.id().rpartition(".")[2], a))

        @parameterized.product(a=(1, 2), b=("x",))
        def testGrid(self, a: int, b: str) -> None:
            seen.append((a, b))

    assert outcome(Case).wasSuccessful()
    named = {("testNamed_One", 1), ("testNamed_two", 2)}
    assert {row for row in seen if str(row[0]).startswith("test")} == named
    assert len(seen) == 6


class Holder(tf.test.TestCase):
    """Gives the assertions."""

    __test__ = False

    def runTest(self) -> None:
        """Do nothing."""


@pytest.fixture
def case() -> Any:
    return Holder()


@for_each(
    "name, right, wrong",
    [
        ("assertSameElements", ([1, 2], [2, 1, 1]), ([1], [2])),
        ("assertContainsSubset", ([1], [1, 2]), ([3], [1, 2])),
        ("assertNoCommonElements", ([1], [2]), ([1], [1])),
        ("assertSequenceAlmostEqual", ([1.0], [1.0 + 1e-9]), ([1.0], [1.1])),
        ("assertContainsSubsequence", ([1, 2, 3], [1, 3]), ([1, 2, 3], [3, 1])),
        ("assertContainsInOrder", (["a", "c"], "abc"), (["c", "a"], "abc")),
        ("assertTotallyOrdered", ([1, 1], [2]), ([2], [1])),
        ("assertRegexpMatches", ("abc", "b"), ("abc", "x")),
        ("assertDictContainsSubset", ({"a": 1}, {"a": 1, "b": 2}), ({"a": 2}, {"a": 1})),
        ("assertJsonEqual", ('{"a": 1}', '{ "a":1}'), ("1", "2")),
        ("assertDictEqual", ({"a": np.ones(2)}, {"a": [1.0, 1.0]}), ({"a": 1}, {"a": 2})),
        ("assertEquals", (1, 1), (1, 2)),
        ("assertAllEqual", ([[1], 2], [[1], 2]), ([[1], 2], [[1], 3])),
        (
            "assertProtoEqualsVersion",
            ("", tf.Graph().as_graph_def()),
            ("node { name: 'a' }", tf.Graph().as_graph_def()),
        ),
    ],
)
def test_assertions_hold_and_fail(case: Any, name: str, right: Any, wrong: Any) -> None:
    getattr(case, name)(*right)
    with pytest.raises(AssertionError):
        getattr(case, name)(*wrong)


def test_messages_are_compared_with_a_tolerance(case: Any) -> None:
    made = tf.AttrValue(f=1.0)
    case.assertProtoEquals("f: 1.0001", made, relative_tolerance=1e-3)
    with pytest.raises(AssertionError):
        case.assertProtoEquals("f: 1.1", made, relative_tolerance=1e-3)
    # Files of a test are in its folder.
    file = case.create_tempfile("inner/file.txt", content="text")
    assert Path(file.full_path).read_text() == "text"
    assert Path(case.create_tempdir().full_path).is_dir()
    case.tearDown()
    assert not Path(file).exists()
    # Attributes are replaced for a while.
    with test_util.StubOutForTesting() as stubs:
        stubs.Set(sys, "platform", "another")
        assert sys.platform == "another"
    assert sys.platform != "another"


def test_the_cached_session_is_one_with_its_graph_and_settings(case: Any) -> None:
    with case.cached_session() as first, case.test_session() as second:
        assert first is second
    with pytest.raises(ValueError, match="another graph or other settings"):
        with case.cached_session(graph=tf.Graph()):
            pass
    with case.test_session(graph=tf.Graph()) as third:
        assert third is not first
    case.tearDown()


def test_what_is_written_to_a_stream_is_captured(case: Any, capfd: Any) -> None:
    stream = open(2, "w", closefd=False)  # noqa: SIM115 - capfd holds the descriptor
    with case.captureWritesToStream(stream) as captured:
        print("captured", file=stream, flush=True)
    assert captured.contents() == "captured\n"
    assert "captured" not in capfd.readouterr().err
    case.tearDown()
