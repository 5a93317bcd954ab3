# ruff: noqa: PT009, PT027 - these are the assertions of unittest
"""Assertions of ``tf.test.TestCase`` that come from ``absl``, and those that ``unittest`` once had."""

from __future__ import annotations

import itertools
import os
import re
import unittest
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["OlderAssertions"]


class OlderAssertions(unittest.TestCase):
    """Assertions on values of Python."""

    # -- of absl -------------------------------------------------------------------------------

    def assertSameElements(self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: Any = None) -> None:
        """Assert that two collections have the same elements, however often."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertContainsSubset(self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: Any = None) -> None:
        """Assert that a collection has all elements of another one."""
        self.assertLessEqual(set(expected_subset), set(actual_set), msg)

    def assertNoCommonElements(self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: Any = None) -> None:
        """Assert that two collections have no element in common."""
        self.assertEqual(set(expected_seq) & set(actual_seq), set(), msg)

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Sequence[Any],
        actual_seq: Sequence[Any],
        places: int | None = None,
        msg: Any = None,
        delta: float | None = None,
    ) -> None:
        """Assert that two sequences have nearly equal numbers; see ``assertAlmostEqual``."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for one, other in zip(expected_seq, actual_seq, strict=True):
            self.assertAlmostEqual(one, other, places, msg, delta)  # type: ignore[arg-type]

    def assertContainsSubsequence(self, container: Sequence[Any], subsequence: Sequence[Any], msg: Any = None) -> None:
        """Assert that a sequence has elements in an order, with others between them."""
        rest = iter(container)
        missing = [item for item in subsequence if item not in rest]
        self.assertEqual(missing, [], msg or f"of {subsequence!r:.200} in {container!r:.200}")

    def assertContainsInOrder(self, strings: Sequence[str], target: str, msg: Any = None) -> None:
        """Assert that a text has texts in an order."""
        place = 0
        for text in [strings] if isinstance(strings, str) else strings:
            start = target.find(text, place)
            self.assertGreaterEqual(start, 0, msg or f"no {text!r} behind {place} in {target!r:.300}")
            place = start + len(text)

    def assertTotallyOrdered(self, *groups: Sequence[Any], **kwargs: Any) -> None:
        """Assert that elements are equal within a group, and less than those of the next."""
        flat = [(index, item) for index, group in enumerate(groups) for item in group]
        for (a, left), (b, right) in itertools.product(flat, flat):
            order = (a > b) - (a < b)
            self.assertEqual((left > right) - (left < right), order, kwargs.get("msg"))

    def assertSameStructure(self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: Any = None) -> None:
        """Assert that two structures are equal."""
        self.assertEqual(a, b, msg or f"{aname} and {bname} differ")

    def assertRaisesWithLiteralMatch(
        self, expected_exception: Any, expected_exception_message: str, *args: Any, **kwargs: Any
    ) -> Any:
        """Assert that an error with a text is raised, by a block or by a function."""
        pattern = f"^{re.escape(expected_exception_message)}$"
        return self.assertRaisesRegex(expected_exception, pattern, *args, **kwargs)

    def assertUrlEqual(self, a: str, b: str, msg: Any = None) -> None:
        """Assert that two addresses are equal."""
        self.assertEqual(a, b, msg)

    def assertJsonEqual(self, first: str, second: str, msg: Any = None) -> None:
        """Assert that two texts in JSON stand for equal values."""
        import json

        self.assertEqual(json.loads(first), json.loads(second), msg)

    def create_tempdir(self, name: str | None = None, cleanup: Any = None) -> Any:
        """Return a folder for this test: its path is ``full_path``."""
        folder: str = self.get_temp_dir()  # type: ignore[attr-defined]
        path = os.path.join(folder, name or f"folder{len(os.listdir(folder))}")
        os.makedirs(path, exist_ok=True)
        return _Path(path)

    def create_tempfile(self, file_path: str | None = None, content: str | bytes | None = None, **kwargs: Any) -> Any:
        """Return a file for this test: its path is ``full_path``."""
        folder: str = self.get_temp_dir()  # type: ignore[attr-defined]
        path = os.path.join(folder, file_path or f"file{len(os.listdir(folder))}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content or b"")
        return _Path(path)

    # -- that Python's own test cases had before version 3.12 ----------------------------------

    def assertRaisesRegexp(self, expected_exception: Any, expected_regex: Any, *args: Any, **kwargs: Any) -> Any:
        """Assert like ``assertRaisesRegex``."""
        return self.assertRaisesRegex(expected_exception, expected_regex, *args, **kwargs)

    def assertRegexpMatches(self, text: Any, expected_regex: Any, msg: Any = None) -> None:
        """Assert like ``assertRegex``."""
        self.assertRegex(text, expected_regex, msg)

    def assertNotRegexpMatches(self, text: Any, unexpected_regex: Any, msg: Any = None) -> None:
        """Assert like ``assertNotRegex``."""
        self.assertNotRegex(text, unexpected_regex, msg)

    def assertDictContainsSubset(
        self, subset: Mapping[Any, Any], dictionary: Mapping[Any, Any], msg: Any = None
    ) -> None:
        """Assert that a dict has all items of another one."""
        self.assertEqual({key: dictionary.get(key) for key in subset}, dict(subset), msg)

    def assertEquals(self, first: Any, second: Any, msg: Any = None) -> None:
        """Assert like ``assertEqual``."""
        self.assertEqual(first, second, msg)

    def assertNotEquals(self, first: Any, second: Any, msg: Any = None) -> None:
        """Assert like ``assertNotEqual``."""
        self.assertNotEqual(first, second, msg)

    def assertAlmostEquals(self, first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
        """Assert like ``assertAlmostEqual``."""
        self.assertAlmostEqual(first, second, *args, **kwargs)

    def assertNotAlmostEquals(self, first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
        """Assert like ``assertNotAlmostEqual``."""
        self.assertNotAlmostEqual(first, second, *args, **kwargs)

    def assert_(self, expr: Any, msg: Any = None) -> None:
        """Assert like ``assertTrue``."""
        self.assertTrue(expr, msg)

    failUnless = assert_


class _Path(str):
    """A path of a test's own file or folder."""

    @property
    def full_path(self) -> str:
        """The path."""
        return str(self)

    def __fspath__(self) -> str:
        return str(self)
