"""Shortages of memory: the allocations for bytes of a peer fail when a test says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from transports import memory

__all__ = ["Shortage"]

ALLOCATIONS = ("allocate", "copied", "extend")


class Shortage:
    """Lets some of the allocations of ``transports.memory`` fail.

    Args:
        monkeypatch: replaces them until the end of the test.
        nth: the number of the allocation that fails, counted from 1; none if left out.
        above: allocations of more bytes than this fail as well.
        least: allocations of fewer bytes than this do not count.

    Attributes:
        asked: how many there were so far.
        failed: how many of them have failed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, nth: int = 0, above: float = math.inf, least: int = 0) -> None:
        self.asked = self.failed = 0
        self._nth, self._above, self._least = nth, above, least
        for name in ALLOCATIONS:
            monkeypatch.setattr(memory, name, self._or_fail(getattr(memory, name)))

    def _or_fail(self, allocation: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*args: Any) -> Any:
            size = args[-1] if isinstance(args[-1], int) else len(args[-1])
            self.asked += size >= self._least
            if (size >= self._least and self.asked == self._nth) or size > self._above:
                self.failed += 1
                raise MemoryError
            return allocation(*args)

        return asked
