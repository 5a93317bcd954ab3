"""Durations: the rules of all seconds and milliseconds that somebody gives, checked where they come in.

One table has a rule for each kind of duration. Callers are whatever takes a duration from a user or a peer:
command lines, arguments, settings, messages. Code below them passes any of these on to timers, locks and
sleeps, none of which accepts every number: ``threading`` raises ``OverflowError`` above 9.2e9 s, and with a
NaN a deadline never comes. ``transports``, which imports nothing of this package, has a rule of its own.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

from actorsession.errors import InvalidArgumentError, RequestError, RequestTypeError, RequestValueError

__all__ = [
    "MOST_MILLISECONDS",
    "MOST_SECONDS",
    "RULES",
    "Rule",
    "checked_milliseconds",
    "checked_seconds",
    "in_seconds",
    "is_seconds",
    "refuse_moment",
    "short_duration",
]

MOST_SECONDS = 1e9
"""The longest duration, some 31 years: below what every timer accepts, above what anybody waits for."""

MOST_MILLISECONDS = 2**63 - 1
"""The most that TensorFlow's fields hold; what is longer than ``MOST_SECONDS`` counts as that."""


class Rule(NamedTuple):
    """What a duration may be.

    Attributes:
        words: its name and its lower bound, as the beginning of an error.
        zero: whether it may be 0.
        forever: whether it may be infinite, for no limit.
        error: the class of the error for a number out of range.
    """

    words: str
    zero: bool = False
    forever: bool = False
    error: type[Exception] = InvalidArgumentError


def _or_more(name: str, **more: bool) -> Rule:
    """Return the rule of a duration that TensorFlow has as well, where it is a ``ValueError``."""
    return Rule(f"{name} is 0 seconds or more", True, error=ValueError, **more)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "beat": Rule("a beat is more than 0 seconds"),
        "grace": Rule("grace is 0 seconds or more", zero=True),
        "group_timeout": Rule("the timeout of a group is 0 seconds or more", zero=True),
        "keep": Rule("a server is kept for more than 0 seconds"),
        "lease": Rule("a lease is more than 0 seconds"),
        "restart_wait": Rule("restart_wait is 0 seconds or more", zero=True),
        "session_gc_seconds": Rule("session_gc_seconds is 0 or more", zero=True),
        "snapshot_every": Rule("snapshot_every is more than 0 seconds"),
        "start_timeout": Rule("start_timeout is more than 0 seconds"),
        "timeout": Rule("timeout is a positive number of seconds", error=RequestValueError),
        "timeout_seconds": Rule("timeout_seconds is at least 0", zero=True, error=ValueError),
        **{
            name: _or_more(name)
            for name in (
                "experimental_max_worker_delay_secs",
                "min_interval_secs",
                "recovery_wait_secs",
                "save_model_secs",
                "save_summaries_secs",
                "seconds_to_sleep",
                "start_delay_secs",
                "stop_grace_period_secs",
                "stop_grace_secs",
                "throttle_secs",
                "timer_interval_secs",
            )
        },
        "every_secs": _or_more("every_secs", forever=True),
        "max_wait_secs": _or_more("max_wait_secs", forever=True),
        "wait": _or_more("timeout", forever=True),
    }
)


def is_seconds(value: object) -> bool:
    """Return whether a value is a number of seconds from 0 to ``MOST_SECONDS``; a bool is none."""
    # A comparison with NaN is false.
    return type(value) in (float, int) and 0 <= value <= MOST_SECONDS  # type: ignore[operator]


def checked_seconds(name: str, value: object, *, of: str = "") -> float:
    """Return a duration in seconds that a caller has given.

    Args:
        name: its rule in ``RULES``.
        value: what was given.
        of: what it is for, as the beginning of an error.

    Raises:
        TypeError: if it is no number; a bool is none.
        Exception: of the rule's class, if it is out of range.
    """
    rule = RULES[name]
    if not _is_number(value):
        kind = RequestTypeError if issubclass(rule.error, RequestError) else TypeError
        raise kind(f"{of}{rule.words}, got {_shown(value)}, which is no number")
    if (value >= 0 if rule.zero else value > 0) and (value <= MOST_SECONDS or (rule.forever and value == math.inf)):
        return float(value)
    raise rule.error(f"{of}{rule.words}, got {_shown(value)}; the most is {MOST_SECONDS:g} seconds")


def refuse_moment(seconds: object) -> None:
    """Refuse what is no number of seconds from now, before or after.

    Raises:
        TypeError: if it is no number; a bool is none.
        InvalidArgumentError: if it is out of range.
    """
    rule = f"a deadline is at most {MOST_SECONDS:g} seconds from now"
    if not _is_number(seconds):
        raise TypeError(f"{rule}, got {_shown(seconds)}, which is no number")
    if not -MOST_SECONDS <= seconds <= MOST_SECONDS:
        raise InvalidArgumentError(f"{rule}, got {_shown(seconds)}")


def checked_milliseconds(name: str, value: int, least: int = 0) -> int:
    """Return a duration in milliseconds that a caller or a peer has given, from ``least`` on.

    Raises:
        InvalidArgumentError: if it is out of range.
    """
    if least <= value <= MOST_MILLISECONDS:
        return value
    raise InvalidArgumentError(
        f"{name} must be at least {least}, got {_shown(value)}; the most is {MOST_MILLISECONDS} milliseconds"
    )


def in_seconds(milliseconds: int) -> float:
    """Return a duration that was checked in milliseconds, in seconds that every timer accepts."""
    return min(milliseconds / 1000, MOST_SECONDS)


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a value can be compared with a float; a bool is no number here."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    try:
        return f"{value!r:.100}"
    except ValueError:  # Python shows no integer of more than 4,300 digits
        return "an integer of thousands of digits"


def short_duration(seconds: float) -> str:
    """Return a time in the two largest units that it has."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{whole % 60:02}s" if minutes else f"{seconds:.3g}s"
