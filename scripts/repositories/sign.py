"""Signs that a program has learnt, read from what it prints."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

__all__ = ["Falls", "Finding", "Reaches", "Sign"]


class Finding(NamedTuple):
    """What a sign found: whether the program has learnt, and the figures in words."""

    learnt: bool
    words: str


class Sign(Protocol):
    """A sign, which reads all that a program printed."""

    def read(self, text: str) -> Finding:
        """Return what the text shows."""


@dataclass(frozen=True, slots=True)
class Falls:
    """A number that falls, such as a loss: the mean of its last tenth is a fraction of its first ones.

    Attributes:
        name: what the number is.
        pattern: an expression whose group is the number.
        to: the fraction of the first ones, the mean of as many, that the last may be at most.
        least: how many numbers there are at least.
    """

    name: str
    pattern: str
    to: float
    least: int = 5

    def read(self, text: str) -> Finding:
        """Return whether it has fallen."""
        found = _numbers(self.pattern, text)
        if len(found) < self.least:
            return Finding(False, f"{self.name}: {len(found)} of {self.least} numbers")
        count = max(1, len(found) // 10)
        first, last = _mean(found[:count]), _mean(found[-count:])
        fallen = all(map(math.isfinite, found)) and last <= self.to * first
        return Finding(fallen, f"{self.name} {first:.3g} → {last:.3g}")


@dataclass(frozen=True, slots=True)
class Reaches:
    """A number that has to be large in the end, such as an accuracy: the mean of its last tenth.

    Attributes:
        name: what the number is.
        pattern: an expression whose group is the number.
        least: what it is at least.
        most: what it is at most.
        count: how many numbers there are at least.
    """

    name: str
    pattern: str
    least: float = -math.inf
    most: float = math.inf
    count: int = 1

    def read(self, text: str) -> Finding:
        """Return whether it is reached."""
        found = _numbers(self.pattern, text)
        if len(found) < self.count:
            return Finding(False, f"{self.name}: {len(found)} of {self.count} numbers")
        last = _mean(found[-max(1, len(found) // 10) :])
        return Finding(self.least <= last <= self.most, f"{self.name} {last:.3g}")


def _numbers(pattern: str, text: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, text)]


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)
