"""The positions of diagonals in a matrix and in a band: the arithmetic of ``matrix_diagonals``.

A band holds several diagonals as rows of equal width, from the highest to the lowest. Plain arithmetic; no
op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from actorsession.graph.shape import Dim
from actorsession.ops.shape_operands import Ints
from actorsession.records import dataclass

__all__ = ["Band", "ErrorClass", "check_ends", "ends_of"]

ErrorClass: TypeAlias = Callable[[str], Exception]


@dataclass(frozen=True, slots=True)
class Band:
    """The diagonals ``low`` to ``high`` of a matrix.

    Attributes:
        rows: number of rows of the matrix.
        columns: number of columns of the matrix.
        low: the lowest diagonal.
        high: the highest diagonal.
        align: the end at which shorter diagonals are placed, above and below the main one.
    """

    rows: int
    columns: int
    low: int
    high: int
    align: str

    @property
    def width(self) -> int:
        """The length of the longest diagonal."""
        return min(self.rows + min(self.high, 0), self.columns - max(self.low, 0))

    @property
    def shape(self) -> Ints:
        """The shape of one matrix's diagonals in the band: one axis for one diagonal, else two."""
        if self.low == self.high:
            return (self.width,)
        return (self.high - self.low + 1, self.width)

    def diagonals(self) -> Iterator[tuple[int, slice, slice]]:
        """Yield each diagonal's row in the band, its slice of that row, and that of the flat matrix."""
        above, below = (side == "LEFT" for side in self.align.split("_"))
        for row, d in enumerate(range(self.high, self.low - 1, -1)):
            length = min(self.rows + min(d, 0), self.columns - max(d, 0))
            left = (d >= 0 and above) or (d <= 0 and below)
            first = 0 if left else self.width - length
            start = max(d, 0) - min(d, 0) * self.columns
            step = self.columns + 1
            stop = start + (length - 1) * step + 1 if length > 0 else start
            yield row, slice(first, first + max(length, 0)), slice(start, stop, step)


def ends_of(op: str, k: Ints, error: ErrorClass) -> tuple[int, int]:
    """Return the lowest and the highest diagonal that ``k`` specifies."""
    if not 1 <= len(k) <= 2 or k[0] > k[-1]:
        raise error(f"{op}: k is one diagonal, or the lowest and the highest; got {list(k)}")
    return k[0], k[-1]


def check_ends(op: str, ends: tuple[int, int], rows: Dim, columns: Dim, error: ErrorClass) -> None:
    """Raise ``error`` if matrices with the given numbers of rows and columns lack one of the diagonals."""
    for d in ends:
        # The main diagonal of an empty matrix exists and is empty.
        if d and ((rows is not None and d <= -rows) or (columns is not None and d >= columns)):
            raise error(f"{op}: matrices of {rows} rows and {columns} columns have no diagonal {d}")
