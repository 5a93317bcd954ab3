"""``tf.test`` and ``test_util``: cases with sessions and what they assert, as unit tests of TensorFlow use them."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
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
    assert sorted(test.id().rpartition(".")[2] for test, _ in result.skipped) == ["testError", "testGPU", "testV2"]


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
    assert list(test_util.assert_ops_in_graph({"a": "AddV2"}, graph)) == ["a"]
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
    with pytest.raises(ValueError, match="another graph or other settings"), case.cached_session(graph=tf.Graph()):
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


class Example(tf.test.TestCase):
    """A made_case as programs write them; the tests below run its methods."""

    __test__ = False

    def squares(self) -> None:
        x = tf.constant([1.0, 2.0])
        with self.session():
            self.assertAllClose(tf.square(x).eval(), [1.0, 4.0])
            self.assertAllEqual(tf.square(x), [1.0, 4.0])

    def cached(self) -> None:
        v = tf.Variable(1.0)
        with self.test_session() as sess:
            sess.run(v.initializer)
        with self.cached_session() as sess:
            assert self.evaluate(v.assign_add(1.0)) == 2.0
        assert self.evaluate({"v": v}) == {"v": 2.0}

    def fails(self) -> None:
        with self.session(), self.assertRaisesOpError("is not in"):
            tf.gather([1, 2], tf.placeholder_with_default(5, [])).eval()

    def graph_is_fresh(self) -> None:
        assert tf.get_default_graph().get_operations() == []
        assert tf.get_default_graph().seed == 87654321
        tf.constant(1.0)

    def folder(self) -> None:
        Path(self.get_temp_dir(), "file").write_text("x")
        raise RuntimeError(self.get_temp_dir())


def run(method: str) -> unittest.TestResult:
    result = unittest.TestResult()
    Example(method).run(result)
    return result


@pytest.mark.parametrize("method", ["squares", "cached", "fails", "graph_is_fresh"])
def test_a_case_passes(method: str) -> None:
    for _ in range(2):
        found = run(method)
        assert (found.testsRun, found.errors, found.failures) == (1, [], [])


def test_the_folder_of_a_case_goes_with_it() -> None:
    ((_, trace),) = run("folder").errors
    folder = trace.strip().rpartition("RuntimeError: ")[2]
    assert folder.startswith(tf.test.get_temp_dir())
    assert not os.path.exists(folder)


def made_case() -> Any:
    made = Example("squares")
    made.setUp()
    return made


@for_each(
    "claim",
    [
        lambda t: t.assertAllClose([1.0, 2.0], [1.0, 2.1]),
        lambda t: t.assertAllClose({"a": 1.0}, {"a": 2.0}),
        lambda t: t.assertAllClose({"a": 1.0}, {"b": 1.0}),
        lambda t: t.assertAllClose([[1.0], [1.0, 2.0]], [[1.0], [1.0, 2.5]]),
        lambda t: t.assertAllClose([1.0], [[1.0]]),
        lambda t: t.assertAllCloseAccordingToType(np.float32(1.0), np.float32(1.001)),
        lambda t: t.assertAllEqual([1, 2], [1, 3]),
        lambda t: t.assertAllEqual([1], [1, 1]),
        lambda t: t.assertNotAllEqual([1], [1]),
        lambda t: t.assertNotAllClose([1.0], [1.0]),
        lambda t: t.assertAllGreater([1, 2], 1),
        lambda t: t.assertAllLess([1, 2], 2),
        lambda t: t.assertAllInRange([1, 2], 1, 2, open_upper_bound=True),
        lambda t: t.assertAllInRange([1, 2], 1, 2, open_lower_bound=True),
        lambda t: t.assertNear(1.0, 1.2, 0.1),
        lambda t: t.assertArrayNear([1.0], [1.2], 0.1),
        lambda t: t.assertNDArrayNear(np.ones(2), np.zeros(2), 1.0),
        lambda t: t.assertShapeEqual(np.ones(2), tf.zeros([3])),
        lambda t: t.assertDTypeEqual(np.ones(2), np.float32),
        lambda t: t.assertStartsWith("abc", "b"),
    ],
)
def test_a_claim_that_is_not_so_fails(claim: Callable[[Any], None]) -> None:
    with tf.Graph().as_default(), pytest.raises(AssertionError):
        claim(made_case())


@for_each(
    "claim",
    [
        lambda t: t.assertAllClose([[1.0], [1.0, 2.0]], [[1.0], [1.0, 2.0]]),
        lambda t: t.assertAllClose({"a": (1.0, 2.0)}, {"a": [1.0, 2.0]}),
        lambda t: t.assertAllCloseAccordingToType(np.float16(1.0), np.float16(1.001)),
        lambda t: t.assertAllEqual(["a", "b"], np.array([b"a", b"b"], object)),
        lambda t: t.assertAllEqual([np.nan], [np.nan]),
        lambda t: t.assertAllInRange([1, 2], 1, 2),
        lambda t: t.assertShapeEqual(np.ones(2), tf.zeros([2])),
        lambda t: t.assertNotAllClose([1.0], [1.1]),
        lambda t: t.assertAllEqual(tf.constant([1, 2]), [1, 2]),
    ],
)
def test_a_claim_that_is_so_passes(claim: Callable[[Any], None]) -> None:
    with tf.Graph().as_default():
        made = made_case()
        claim(made)
        made.tearDown()


def test_an_error_that_is_another_one_is_a_failure() -> None:
    made = Example("squares")
    with pytest.raises(AssertionError, match="another error was raised"):
        with made.assertRaisesWithPredicateMatch(ValueError, "wanted"):
            raise ValueError("found")
    with made.assertRaisesWithPredicateMatch(ValueError, lambda e: "found" in str(e)):
        raise ValueError("found")


def test_gradients_are_held_against_differences() -> None:
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float64, [3])
        y = tf.stack([tf.reduce_prod(x), tf.sin(x[0])])
        at = np.array([0.5, 1.5, 2.0])
        said, measured = tf.test.compute_gradient(x, [3], y, [2], at)
        wanted = [[3.0, np.cos(0.5)], [1.0, 0.0], [0.75, 0.0]]
        np.testing.assert_allclose(said, wanted, rtol=1e-9)
        np.testing.assert_allclose(measured, wanted, rtol=1e-5)
        assert tf.test.compute_gradient_error([x], [[3]], y, [2], [at]) < 1e-5
        assert tf.test.compute_gradient_error(x, [3], tf.stop_gradient(y) + tf.reduce_sum(x), [2], at) > 0.1


def test_there_are_no_gpus() -> None:
    assert not tf.test.is_gpu_available()
    assert not tf.test.is_built_with_cuda()
    assert tf.test.gpu_device_name() == ""


@pytest.mark.process
def test_a_program_runs_its_tests(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("""
import actorsession.compat.v1 as tf

class T(tf.test.TestCase):
    def test_it(self):
        self.assertAllEqual(self.evaluate(tf.constant(1) + 1), 2)

if __name__ == "__main__":
    tf.test.main()
""")
    root = Path(actorsession.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 1 test" in done.stderr


def bare_case() -> Any:
    class Case(tf.test.TestCase):
        def runTest(self) -> None:
            pass

    return Case()


@for_each(
    "claim",
    [
        lambda t: t.assertAllGreaterEqual([1, 2], 2),
        lambda t: t.assertAllLessEqual([1, 2], 1),
        lambda t: t.assertAllInSet([1, 2], [1, 3]),
        lambda t: t.assertBetween(3, 1, 2),
        lambda t: t.assertEmpty([1]),
        lambda t: t.assertNotEmpty([]),
        lambda t: t.assertLen([1], 2),
        lambda t: t.assertItemsEqual([1, 1], [1, 2]),
        lambda t: t.assertNotStartsWith("abc", "a"),
        lambda t: t.assertEndsWith("abc", "b"),
        lambda t: t.assertDeviceEqual("/cpu:0", "/cpu:1"),
        lambda t: t.assertProtoEquals("name: 'a'", tf.NodeDef(name="b")),
    ],
    ids=range(12),
)
def test_a_further_claim_that_is_not_so_fails(claim: Callable[[Any], None]) -> None:
    with pytest.raises(AssertionError):
        claim(bare_case())


def test_claims_that_are_so_pass() -> None:
    t = bare_case()
    t.assertAllGreaterEqual([1, 2], 1)
    t.assertAllLessEqual([1, 2], 2)
    t.assertAllInSet([1, 2], {1, 2, 3})
    t.assertBetween(2, 1, 2)
    t.assertItemsEqual([1, 2], [2, 1])
    t.assertDeviceEqual("/job:a/cpu:0", tf.DeviceSpec.from_string("/job:a/device:CPU:0"))
    t.assertDeviceEqual("", None)
    t.assertProtoEquals("name: 'a' op: 'B'", tf.NodeDef(name="a", op="B"))


def test_a_thread_fails_the_test_that_joins_it() -> None:
    t = bare_case()
    seen: list[int] = []
    fine = t.checkedThread(target=seen.append, args=(3,))
    fine.start()
    fine.join()
    assert seen == [3]
    bad = t.checkedThread(target=lambda: 1 // 0)
    bad.start()
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        bad.check_termination()


def test_a_case_that_sets_itself_up_has_sessions() -> None:
    class Case(tf.test.TestCase):
        def setUp(self) -> None:
            pass

        def runTest(self) -> None:
            with self.cached_session():
                self.assertAllEqual(tf.constant([1, 2]), [1, 2])

    found = Case().run()
    assert found is not None
    assert (found.errors, found.failures) == ([], [])


def test_graphs_are_compared_as_messages() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
        one = graph.as_graph_def()
        tf.constant(2.0)
    tf.test.assert_equal_graph_def(one, one)
    with pytest.raises(AssertionError):
        tf.test.assert_equal_graph_def(graph.as_graph_def(), one)


def test_a_cluster_for_tests_runs_over_its_tasks() -> None:
    workers, (server,) = tf.test.create_local_cluster(2, 1)
    try:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                v = tf.Variable(2.0)
            with tf.device("/job:worker/task:1"):
                doubled = v * 2.0
            with tf.Session(workers[0].target) as session:
                session.run(v.initializer)
                assert session.run(doubled) == 4.0
    finally:
        for task in (*workers, server):
            task.stop()


def test_each_new_checkpoint_is_given_once(tmp_path: Path) -> None:
    found: list[str] = []
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.Variable(1.0, name="v").initializer)
        saver = tf.train.Saver()
        saver.save(session, str(tmp_path / "m"), 1)
        asked: list[bool] = []

        def over() -> bool:
            asked.append(True)
            return True

        for path in tf.train.checkpoints_iterator(str(tmp_path), 0, 0.0, over):
            found.append(Path(path).name)
            if len(found) < 3:
                saver.save(session, str(tmp_path / "m"), 1 + len(found))
    assert (found, asked) == (["m-1", "m-2", "m-3"], [True])
    assert list(tf.train.checkpoints_iterator(str(tmp_path / "none"), timeout=0.0)) == []


def test_a_file_knows_its_size_and_takes_pythons_calls(tmp_path: Path) -> None:
    path = str(tmp_path / "f.txt")
    with tf.gfile.GFile(path, "w") as file:
        file.write("one\ntwo\n")
        file.flush()
        assert file.size() == 8
    with tf.gfile.GFile(path) as file:
        assert file.next() == "one\n"
        assert list(file) == ["two\n"]
    with tf.gfile.FastGFile(path, "rb") as file:
        assert (file.size(), file.read(3)) == (8, b"one")
        file.seek(4)
        assert file.tell() == 4
