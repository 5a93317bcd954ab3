"""The common model of checkpoints in every format: named tensors that consist of pieces.

This module holds ``Entry``, ``Piece`` and the protocol ``Source``; the formats make them, and ``reader``
reads through them. A piece is loaded only when it is needed; it may be a view of a mapped file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from actorsession.checkpoints.slices import Array, Extent, Shape, assemble
from actorsession.errors import DataLossError, UnimplementedError
from actorsession.graph.dtypes import DType
from actorsession.records import dataclass

__all__ = ["Entry", "Piece", "PieceOf", "Source", "add_piece"]


class Piece(Protocol):
    """A box of a tensor that is stored in one place."""

    @property
    def extent(self) -> Extent:
        """Its position in the tensor."""

    @property
    def load(self) -> Callable[[], Array]:
        """Returns its values, borrowed and perhaps not writable; raises DataLossError if they are damaged."""


@dataclass(frozen=True, slots=True)
class PieceOf:
    """A piece whose attributes are given."""

    extent: Extent
    load: Callable[[], Array]


@dataclass(slots=True)
class Entry:
    """One tensor of a checkpoint.

    Attributes:
        dtype: element type; ``None`` for one that the library does not support.
        stored: name of the element type in the format.
        shape: of the whole tensor.
        pieces: its stored pieces, one unless it was saved in slices.
    """

    dtype: DType | None
    stored: str
    shape: Shape
    pieces: list[Piece] = field(default_factory=list)

    def read(self, name: str, path: str, wanted: Extent | None = None) -> Array:
        """Return the values, or those of a box, as a new array.

        Args:
            name: of the tensor, for messages.
            path: of the checkpoint, for messages.
            wanted: the box; all if left out.

        Raises:
            DataLossError: if the stored bytes are damaged, or a slice is missing.
            UnimplementedError: for an element type that the library does not support.
        """
        if self.dtype is None:
            raise UnimplementedError(
                f"{name!r} in {path!r} has the element type {self.stored}, which is not supported here"
            )
        box = wanted or Extent.whole(self.shape)
        if len(self.pieces) == 1:
            extent = self.pieces[0].extent
            if extent is box or extent == box:
                return self.pieces[0].load().copy()
        near = [p for p in self.pieces if not box.starts or box.intersection(p.extent)]
        # Before anything is allocated: the shape may be damaged, and the pieces are in a file.
        common = [box.intersection(p.extent) if box.starts else box for p in near]
        missing = box.elements - sum([part.elements for part in common if part is not None])
        if missing:
            raise DataLossError(
                f"{path!r} lacks {missing} of the {box.elements} elements of {name!r}{box}: "
                f"it was saved in {len(self.pieces)} slices, and other slices are missing"
            )
        loaded = [(p.extent, p.load()) for p in near]
        return assemble(self.shape, self.dtype.np_dtype, box, loaded)[0]


class Source(Protocol):
    """An open checkpoint of any format."""

    @property
    def path(self) -> str:
        """Its prefix or file, for messages."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Its tensors by name."""

    def close(self) -> None:
        """Release its files; may be called twice."""


def add_piece(entries: dict[str, Entry], name: str, entry: Entry, path: str) -> None:
    """Add an entry to the known ones, or its pieces to those of the same tensor.

    Raises:
        DataLossError: if it contradicts the known entry of the tensor.
    """
    known = entries.setdefault(name, entry)
    if known is entry:
        return
    if (known.stored, known.shape) != (entry.stored, entry.shape):
        raise DataLossError(
            f"{path!r} has slices of {name!r} as {known.stored} of a tensor of shape "
            f"{list(known.shape)} and as {entry.stored} of one of shape "
            f"{list(entry.shape)}"
        )
    overlap = next(
        (p for p in entry.pieces for q in known.pieces if not p.extent.starts or p.extent.intersection(q.extent)), None
    )
    if overlap is not None:
        raise DataLossError(f"{path!r} has {name!r}{overlap.extent} twice")
    known.pieces.extend(entry.pieces)
