"""``tf.test``: cases with sessions, and what they assert."""

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
from tests.rows import for_each


class Example(tf.test.TestCase):
    """A case as programs write them; the tests below run its methods."""

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


def case() -> Any:
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
        claim(case())


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
        made = case()
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
        wrong = tf.stop_gradient(y) + tf.reduce_sum(x)
        assert tf.test.compute_gradient_error(x, [3], wrong, [2], at) > 0.1


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
