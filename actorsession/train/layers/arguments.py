"""Numbers among the arguments of layers and cells, checked where they are given and by the name of the argument."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["checked_count", "checked_number"]


def checked_count(what: str, number: Any, least: int | None = 1) -> int:
    """Return a whole number.

    Args:
        what: the name of the argument, for the message.
        number: an int, or anything that stands for one, such as an integer of numpy or a ``Dimension``.
        least: the least that is allowed; ``None`` for any.

    Raises:
        TypeError: for what is no whole number.
        ValueError: for one below ``least``.
    """
    expected = f"{what} is a whole number" + ("" if least is None else f" of {least} or more")
    try:
        count = operator.index(number)
    except TypeError:
        raise TypeError(f"{expected}, got {number!r:.100}") from None
    if least is not None and count < least:
        raise ValueError(f"{expected}, got {number!r:.100}")
    return count


def checked_number(what: str, number: Any) -> Any:
    """Return a number or a scalar tensor, as it was given.

    Args:
        what: the name of the argument, for the message.
        number: the argument.

    Raises:
        TypeError: for a text, a list or ``None``.
    """
    if number is None or isinstance(number, (str, bytes, list, tuple, dict)):
        raise TypeError(f"{what} is a number, got {number!r:.100}")
    return number
