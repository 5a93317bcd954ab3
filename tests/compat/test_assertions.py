"""What else ``tf.test`` has: assertions of elements, texts, messages and threads, and clusters for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each


def case() -> Any:
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
def test_a_claim_that_is_not_so_fails(claim: Callable[[Any], None]) -> None:
    with pytest.raises(AssertionError):
        claim(case())


def test_claims_that_are_so_pass() -> None:
    t = case()
    t.assertAllGreaterEqual([1, 2], 1)
    t.assertAllLessEqual([1, 2], 2)
    t.assertAllInSet([1, 2], {1, 2, 3})
    t.assertBetween(2, 1, 2)
    t.assertItemsEqual([1, 2], [2, 1])
    t.assertDeviceEqual("/job:a/cpu:0", tf.DeviceSpec.from_string("/job:a/device:CPU:0"))
    t.assertDeviceEqual("", None)
    t.assertProtoEquals("name: 'a' op: 'B'", tf.NodeDef(name="a", op="B"))


def test_a_thread_fails_the_test_that_joins_it() -> None:
    t = case()
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
