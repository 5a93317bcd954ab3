"""``absl.testing.parameterized``: tests that run once for each set of arguments."""

from __future__ import annotations

import functools
import itertools
import unittest
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession.compat.v1.test import TestCase as _TestCase

__all__ = ["CoopTestCase", "TestCase", "TestGeneratorMetaclass", "named_parameters", "parameters", "product"]


class _Rows:
    """A test with the arguments of its runs.

    Args:
        test: the test.
        rows: the arguments.
        named: whether the first one of each is the name of the run.
    """

    def __init__(self, test: Any, rows: Iterable[Any], named: bool) -> None:
        self.test, self.rows, self.named = test, list(rows), named
        self.__name__ = test.__name__

    def methods(self, name: str) -> dict[str, Callable[..., Any]]:
        """Return the methods that run the test, by name."""
        methods: dict[str, Callable[..., Any]] = {}
        inner = self.test.methods(name) if isinstance(self.test, _Rows) else {name: self.test}
        for (called, test), (place, row) in itertools.product(inner.items(), enumerate(self.rows)):
            ending, kwargs = str(place), dict[str, Any]()
            args: tuple[Any, ...] = ()
            if isinstance(row, Mapping):
                kwargs = dict(row)
                ending = str(kwargs.pop("testcase_name", place)) if self.named else ending
            elif isinstance(row, Iterable) and not isinstance(row, (str, bytes)):
                args = tuple(row)
                if self.named:
                    ending, args = str(args[0]), args[1:]
            else:
                args = (row,)
            glue = "" if self.named and ending.startswith("_") else "_" if self.named else ""
            methods[f"{called}{glue}{ending}"] = _bound(test, args, kwargs)
        return methods


def _bound(test: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(test)
    def run(self: unittest.TestCase) -> Any:
        return test(self, *args, **kwargs)

    return run


def _decorator(rows: tuple[Any, ...], named: bool) -> Callable[[Any], Any]:
    only = rows[0] if len(rows) == 1 else None
    several = only is not None and not isinstance(only, (tuple, Mapping, str, bytes))
    listed = list(only) if several and isinstance(only, Iterable) else list(rows)

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for name, method in list(vars(test).items()):
                if name.startswith("test") and callable(method):
                    setattr(test, name, _Rows(method, listed, named))
            _spread(test)
            return test
        return _Rows(test, listed, named)

    return decorate


def parameters(*testcases: Any) -> Callable[[Any], Any]:
    """Return a decorator for a test that runs with each of some sets of arguments.

    Args:
        *testcases: a tuple or a dict of arguments each; or a single argument; or one list of all of them.
    """
    return _decorator(testcases, named=False)


def named_parameters(*testcases: Any) -> Callable[[Any], Any]:
    """Return ``parameters`` whose sets begin with the name of the run, in dicts as ``testcase_name``."""
    return _decorator(testcases, named=True)


def product(*kwargs_seqs: Any, **testgrid: Any) -> Callable[[Any], Any]:
    """Return a decorator for a test that runs with each combination of arguments.

    Args:
        *kwargs_seqs: lists of dicts, of which one of each is chosen.
        **testgrid: the values of each argument.
    """
    grids = [list(seq) for seq in kwargs_seqs]
    grids += [[{name: value} for value in values] for name, values in testgrid.items()]
    rows = [{k: v for one in chosen for k, v in one.items()} for chosen in itertools.product(*grids)]
    return _decorator((rows,), named=False)


def _spread(cls: type) -> None:
    for name, rows in list(vars(cls).items()):
        if isinstance(rows, _Rows):
            delattr(cls, name)
            for called, method in rows.methods(name).items():
                setattr(cls, called, method)


class TestGeneratorMetaclass(type):
    """Makes the runs of tests with arguments into tests of their own."""

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        _spread(cls)


class TestCase(_TestCase):
    """A test case whose tests may have arguments."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _spread(cls)


def CoopTestCase(other_base_class: type) -> type:
    """Return a test case on top of another one whose tests may have arguments."""
    return type("CoopTestCase", (other_base_class, TestCase), {})
