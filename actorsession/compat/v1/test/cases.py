# ruff: noqa: PT009, PT027 - these are the assertions of unittest
"""Test cases with sessions.

``TestCase`` is a ``unittest`` test case, so any test runner accepts it.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import sys
import tempfile
import unittest
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from actorsession.compat.v1 import flags
from actorsession.compat.v1.app import absl_flags
from actorsession.compat.v1.graphs.graph import get_default_graph, reset_default_graph
from actorsession.compat.v1.sessions.messages import ConfigProto
from actorsession.compat.v1.sessions.session import Session
from actorsession.compat.v1.test.assertions import Assertions
from actorsession.compat.v1.test.older_assertions import OlderAssertions
from actorsession.errors import InvalidArgumentError, OpError
from actorsession.graph.default_session import get_default_session

__all__ = [
    "TestCase",
    "assert_equal_graph_def",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
]

_SEED = 87654321  # of graphs in tests, as in TensorFlow


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program, and exit."""
    for known in (flags.FLAGS, absl_flags()):
        if known is not None and not known.is_parsed():
            known((argv or sys.argv or [""])[:1])
    unittest.main(argv=argv)


def get_temp_dir() -> str:
    """Return a folder for files of tests: ``$TEST_TMPDIR``, or one that is removed when the program ends."""
    return os.environ.get("TEST_TMPDIR") or _Folder.path()


class _Folder:
    """The temporary folder of this program, created on first use."""

    _scratch: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def path(cls) -> str:
        if cls._scratch is None:
            cls._scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        return cls._scratch.name


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Return whether sessions have a device of type GPU without asking for it.

    Args:
        cuda_only: accepted for compatibility and ignored.
        min_cuda_compute_capability: accepted for compatibility and ignored.
    """
    return bool(gpu_device_name())


def gpu_device_name() -> str:
    """Return the name of the first GPU that sessions have without asking for it; empty if there is none."""
    from actorsession.compat.v1.internals.device_lib import list_local_devices

    return next((str(device.name) for device in list_local_devices() if device.device_type == "GPU"), "")


def is_built_with_cuda() -> bool:
    """Return whether sessions have a GPU; what they could have elsewhere is not known."""
    return is_gpu_available()


is_built_with_gpu_support = is_built_with_cuda


def is_built_with_rocm() -> bool:
    """Return whether it is AMD's library through which GPUs are found, which makes no difference here: ``False``."""
    return False


is_built_with_xla = is_built_with_rocm


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Assert that two graphs as messages have equal nodes, in any order.

    Args:
        actual: the actual graph.
        expected: the expected graph.
        checkpoint_v2: accepted for compatibility and ignored.
        hash_table_shared_name: accepted for compatibility and ignored.

    Raises:
        AssertionError: with the differences.
    """
    actual_nodes, expected_nodes = ({node.name: str(node) for node in g.node} for g in (actual, expected))
    unittest.TestCase().assertEqual(actual_nodes, expected_nodes)


class TestCase(Assertions, OlderAssertions):
    """A test case with sessions; every test starts with an empty default graph and fixed seeds."""

    # Class attributes, for subclasses whose ``setUp`` does not call this one.
    _cached: Session | None = None
    _cached_config: Any = None
    _folder: str | None = None

    def setUp(self) -> None:
        """Reset the default graph, and set the seeds."""
        super().setUp()
        random.seed(_SEED)
        np.random.seed(_SEED)
        with contextlib.suppress(AssertionError):  # inside a block that sets the default graph
            reset_default_graph()
        get_default_graph().seed = _SEED

    def tearDown(self) -> None:
        """Close the cached session and remove the folder of the test."""
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Return a folder for this test, which is removed after it."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    # -- sessions ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Session]:
        """Return a context manager with a session that is the default and is closed on exit.

        Args:
            graph: the graph; the default graph if omitted.
            config: settings; soft placement if omitted.
            use_gpu: whether operations of the block may be placed on other devices than the CPU.
            force_gpu: accepted for compatibility and ignored.
        """
        session = self._session_for(graph, config)
        with session, self._placed(session, use_gpu or force_gpu):
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Session]:
        """Return ``session``, with one session and its variables for all such blocks of a test.

        Raises:
            ValueError: if the session was made with another graph or other settings.
        """
        if self._cached is not None and (
            (graph is not None and graph is not self._cached.graph)
            or (config is not None and config is not self._cached_config)
        ):
            raise ValueError(
                "the cached session of this test has another graph or other settings; self.session() makes "
                "one with these"
            )
        with self._one_for_all(graph, config, use_gpu or force_gpu) as session:
            yield session

    @property
    def test_session(self) -> Any:
        """``cached_session`` with the settings of the first call; ``session`` for a graph."""
        return self._session_of_test  # a property, so that test runners do not run it as a test

    def _session_of_test(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        if graph is None:
            return self._one_for_all(None, config, use_gpu or force_gpu)
        return self.session(graph, config, use_gpu, force_gpu)

    @contextlib.contextmanager
    def _one_for_all(self, graph: Any, config: Any, anywhere: bool) -> Iterator[Session]:
        if self._cached is None:
            self._cached, self._cached_config = self._session_for(graph, config), config
        with self._placed(self._cached, anywhere):
            yield self._cached

    @staticmethod
    def _session_for(graph: Any, config: Any) -> Session:
        settings = ConfigProto(allow_soft_placement=True) if config is None else config
        return Session(graph=graph, config=settings)

    @staticmethod
    @contextlib.contextmanager
    def _placed(session: Session, anywhere: bool) -> Iterator[None]:
        """A block with a session and its graph as the defaults."""
        place: Any = contextlib.nullcontext() if anywhere else session.graph.device("/device:CPU:0")
        with session.graph.as_default(), session.as_default(), place:
            yield

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """Make a block in which what is written to a stream goes to a file: ``contents()`` returns it.

        Args:
            stream: the stream, such as ``sys.stderr``.
        """
        from actorsession.compat.v1.internals.test_util import captured_writes

        with captured_writes(stream, self.get_temp_dir()) as captured:
            yield captured

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors in the default session.

        Args:
            tensors: anything that ``Session.run`` fetches.
        """
        session: Any = get_default_session()
        if session is None:
            with self.cached_session() as session:
                return session.run(tensors)
        return session.run(tensors)

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return two tensors' values if both are tensors, and else the two as they are."""
        if all(hasattr(each, "_as_graph_element") for each in (a, b)):
            return self.evaluate((a, b))  # type: ignore[no-any-return]
        return a, b

    def _value(self, value: Any) -> Any:
        if hasattr(value, "_as_graph_element"):
            return self.evaluate(value)
        if isinstance(value, (list, tuple)) and any(_holds_tensor(part) for part in value):
            return [self._value(part) for part in value]
        return value

    # -- assertions ----------------------------------------------------------------------------

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Assert that two structures hold nearly equal numbers.

        Args:
            a: arrays, tensors, or lists, tuples and dictionaries of them.
            b: the expected values, in the same form.
            rtol: the tolerance relative to ``b``.
            atol: the absolute tolerance, which is added.
            msg: the message of a failure.
        """
        a, b = self._value(a), self._value(b)
        if isinstance(a, Mapping):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and _is_ragged(a):
            self.assertEqual(len(a), len(b), msg)
            for one, other in zip(a, b, strict=True):
                self.assertAllClose(one, other, rtol, atol, msg)
        else:
            one, other = np.asarray(a), np.asarray(b)
            self.assertEqual(one.shape, other.shape, msg)
            np.testing.assert_allclose(one, other, rtol, atol, err_msg=str(msg or ""))

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Assert like ``assertAllClose``, with the tolerance of the less precise of the two types."""
        names = {np.asarray(self._value(x)).dtype.name for x in (a, b)}
        if names & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in names:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in names:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Assert that two arrays or tensors have the same shape and equal elements; NaN equals NaN."""
        one, other = _comparable(self._value(a)), _comparable(self._value(b))
        self.assertEqual(one.shape, other.shape, msg)
        np.testing.assert_array_equal(one, other, err_msg=str(msg or ""))

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """Assert that the block fails with an error of a class that also meets a condition.

        Args:
            exception_type: the class.
            expected_err_re_or_predicate: a pattern for the error's message, or a predicate of the error.
        """
        with self.assertRaises(exception_type) as caught:
            yield
        expected = expected_err_re_or_predicate
        matches = expected(caught.exception) if callable(expected) else re.search(expected, _message(caught))
        self.assertTrue(matches, f"another error was raised: {caught.exception!r}")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Assert like ``assertRaisesWithPredicateMatch`` for ``OpError``."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: Any = InvalidArgumentError) -> Any:
        """Assert that the block fails because shapes do not fit each other."""
        return self.assertRaisesWithPredicateMatch(
            exception_type, r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes"
        )

    def assertDictEqual(self, d1: Any, d2: Any, msg: Any = None) -> None:
        """Assert that two dicts have equal values, which may be arrays and tensors."""
        self.assertEqual(sorted(d1), sorted(d2), msg)
        for key, value in d1.items():
            self.assertAllEqual(value, d2[key], msg)


def _message(caught: Any) -> str:
    return str(caught.exception)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(part) for part in value)
    return hasattr(value, "_as_graph_element")


def _is_ragged(value: Any) -> bool:
    """Return whether a list holds dictionaries, or arrays of several shapes."""
    return any(isinstance(v, Mapping) for v in value) or len({np.shape(v) for v in value}) > 1


def _comparable(value: Any) -> Any:
    """Return an array, with text encoded as bytes, because sessions return strings as bytes."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of several lengths
        array = np.array(value, dtype=object)
    return np.char.encode(array, "utf-8").astype(object) if array.dtype.kind == "U" else array
