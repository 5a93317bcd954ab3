# ruff: noqa: PT009 - these are the assertions of unittest
"""Further assertions of ``tf.test.TestCase``: on elements, strings, sizes, messages and threads.

``test.TestCase`` combines them with its own assertions, which use sessions.
"""

from __future__ import annotations

import re
import threading
import unittest
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.device import DeviceSpec
from actorsession.graph.operation import Tensor
from actorsession.interop import text_format

__all__ = ["Assertions", "CheckedThread"]


class CheckedThread(threading.Thread):
    """A thread whose failure is a failure of the test that joins it.

    Args:
        case: the test case.
        target: the function that runs in the thread.
        args: its positional arguments.
        kwargs: its keyword arguments.
    """

    def __init__(
        self,
        case: unittest.TestCase,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self._case = case
        self._act: Callable[[], Any] = lambda: target(*args, **(kwargs or {}))
        self._failed: BaseException | None = None

    def run(self) -> None:
        """Run the target, and keep the exception that it raises."""
        try:
            self._act()
        except BaseException as exc:
            self._failed = exc

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread ends, and fail the test if the target failed."""
        super().join(timeout)
        if self._failed is not None:
            self._case.fail(f"Error in checkedThread: {self._failed!r}")

    def check_termination(self) -> None:
        """Wait until the thread ends, like ``join``."""
        self.join()


class Assertions(unittest.TestCase):
    """The assertions that need no session."""

    def _value(self, value: Any) -> Any:
        return value

    def checkedThread(
        self, target: Callable[..., Any], args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None
    ) -> CheckedThread:
        """Return an unstarted thread whose failure fails the test when it is joined."""
        return CheckedThread(self, target, args or (), kwargs)

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Assert that two arrays or tensors differ in at least one element."""
        self.assertFalse(np.array_equal(self._value(a), self._value(b)), msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Assert that two arrays or tensors differ by more than the tolerance in at least one element."""
        self.assertFalse(np.allclose(self._value(a), self._value(b), rtol, atol), msg)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are greater than a number."""
        self.assertTrue(np.all(np.asarray(self._value(a)) > comparison_target))

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are less than a number."""
        self.assertTrue(np.all(np.asarray(self._value(a)) < comparison_target))

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Assert that all elements lie between two numbers."""
        array = np.asarray(self._value(target))
        above = array > lower_bound if open_lower_bound else array >= lower_bound
        below = array < upper_bound if open_upper_bound else array <= upper_bound
        self.assertTrue(np.all(above & below), f"not in the range: {array!r}")

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Assert that two numbers differ by at most ``err``."""
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Assert that the numbers of two sequences differ pairwise by at most ``err``."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """Assert that the norm of the difference of two arrays is less than ``err``."""
        one, other = np.asarray(ndarray1), np.asarray(ndarray2)
        self.assertEqual(one.shape, other.shape, msg)
        self.assertLess(float(np.linalg.norm(one - other)), err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Tensor, msg: Any = None) -> None:
        """Assert that a tensor has the static shape of an array."""
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Assert that an array or tensor has the given element type."""
        self.assertEqual(np.asarray(self._value(target)).dtype, np.dtype(expected_dtype))

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that no element is less than a number."""
        self.assertTrue(np.all(np.asarray(self._value(a)) >= comparison_target))

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that no element is greater than a number."""
        self.assertTrue(np.all(np.asarray(self._value(a)) <= comparison_target))

    def assertAllInSet(self, target: Any, expected_set: Collection[Any]) -> None:
        """Assert that each element is a member of a set."""
        elements = set(np.asarray(self._value(target)).ravel().tolist())
        self.assertLessEqual(elements, set(expected_set))

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: Any = None) -> None:
        """Assert that a number lies between two numbers, bounds included."""
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} is not in {minv!r}..{maxv!r}")

    def assertEmpty(self, container: Collection[Any], msg: Any = None) -> None:
        """Assert that a container is empty."""
        self.assertEqual(len(container), 0, msg or f"not empty: {container!r:.200}")

    def assertNotEmpty(self, container: Collection[Any], msg: Any = None) -> None:
        """Assert that a container is not empty."""
        self.assertNotEqual(len(container), 0, msg or "empty")

    def assertLen(self, container: Collection[Any], expected_len: int, msg: Any = None) -> None:
        """Assert that a container has the given number of elements."""
        self.assertEqual(len(container), expected_len, msg or f"in {container!r:.200}")

    def assertItemsEqual(self, expected_seq: Sequence[Any], actual_seq: Sequence[Any], msg: Any = None) -> None:
        """Assert that two sequences have the same elements in any order."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: Any = None) -> None:
        """Assert that a string starts with a prefix."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r:.200}")

    def assertNotStartsWith(self, actual: Any, unexpected_start: Any, msg: Any = None) -> None:
        """Assert that a string does not start with a prefix."""
        self.assertFalse(actual.startswith(unexpected_start), msg or f"{actual!r:.200}")

    def assertEndsWith(self, actual: Any, expected_end: Any, msg: Any = None) -> None:
        """Assert that a string ends with a suffix."""
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r:.200}")

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Assert that two device names or specifications, which may be empty, are equivalent."""
        one, other = (DeviceSpec.parse(str(d or "")) for d in (device1, device2))
        self.assertEqual(one, other, msg)

    def assertProtoEquals(
        self,
        expected_message_maybe_ascii: Any,
        validate_message: Any,
        msg: Any = None,
        relative_tolerance: float | None = None,
    ) -> None:
        """Assert that two messages are equal; the expected one may be in text form.

        Args:
            expected_message_maybe_ascii: the expected message.
            validate_message: the message.
            msg: the message of a failure.
            relative_tolerance: how much numbers with fractions may differ.
        """
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            expected = text_format.Parse(expected, type(validate_message)())
        ours, theirs = (text_format.MessageToString(m) for m in (validate_message, expected))
        if relative_tolerance is not None:
            self.assertEqual(_FRACTION.sub("#", theirs), _FRACTION.sub("#", ours), msg)
            pairs = zip(_FRACTION.findall(ours), _FRACTION.findall(theirs), strict=True)
            for one, other in pairs:
                self.assertTrue(np.isclose(float(one), float(other), relative_tolerance), msg or f"{one}, not {other}")
            return
        self.assertMultiLineEqual(theirs, ours, msg)

    def assertProtoEqualsVersion(
        self, expected: Any, actual: Any, producer: int | None = None, min_consumer: int = 0, msg: Any = None
    ) -> None:
        """Assert that a graph as a message is equal to one whose text leaves out the versions.

        Args:
            expected: the text of the expected graph.
            actual: the graph.
            producer: the version that made it; whatever the graph says if omitted.
            min_consumer: the least version that reads it.
            msg: the message of a failure.
        """
        version = actual.versions.producer if producer is None else producer
        least = f" min_consumer: {min_consumer}" if min_consumer else ""
        self.assertProtoEquals(f"versions {{ producer: {version}{least} }} {expected}", actual, msg)


_FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")
