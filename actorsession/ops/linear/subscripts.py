"""Parser of subscript equations, as accepted by ``einsum``."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

__all__ = ["DOT", "DOTS", "Equation", "parsed"]

DOTS = "..."
# In parsed subscripts one character stands for the dots of an ellipsis.
DOT = "."


class Equation(NamedTuple):
    """The subscripts of the operands and of the result, with one dot for an ellipsis."""

    inputs: tuple[str, ...]
    output: str


def parsed(equation: str) -> Equation:
    """Return the subscripts of an equation; without an arrow, labels that occur once form the result.

    Raises:
        ValueError: if the equation is invalid.
    """
    text = equation.replace(" ", "").replace(DOTS, DOT)
    left, arrow, right = text.partition("->")
    inputs = tuple(left.split(","))
    for part in (*inputs, right):
        if not all(c == DOT or (c.isascii() and c.isalpha()) for c in part) or part.count(DOT) > 1:
            raise ValueError(f"einsum: {equation!r} is no equation of letters, such as 'ij,jk->ik'")
    if not arrow:
        counts = Counter(left)
        dots = DOT if DOT in left else ""
        right = dots + "".join(sorted(c for c in counts if counts[c] == 1 and c.isalpha()))
    unknown = sorted(set(right) - set(left) - {DOT})
    if unknown:
        raise ValueError(f"einsum: the result has labels that no operand has: {', '.join(unknown)}")
    return Equation(inputs, right)
