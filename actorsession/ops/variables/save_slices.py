"""The description of a part of a variable for savers.

Parts of a partitioned variable are saved under the name of the whole, with their position in it, so that
another program may restore them with another number of parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.records import dataclass

__all__ = ["SaveSliceInfo"]


@dataclass(frozen=True, slots=True)
class SaveSliceInfo:
    """The position of a part in its whole variable.

    Attributes:
        full_name: name of the whole.
        full_shape: shape of the whole.
        var_offset: first position of the part per axis.
        var_shape: shape of the part.
    """

    full_name: str
    full_shape: Sequence[int]
    var_offset: Sequence[int]
    var_shape: Sequence[int]

    @property
    def spec(self) -> str:
        """The position as written in files: ``7 2 0,3:0,2``, the shape and then start and extent per axis."""
        whole = " ".join(map(str, self.full_shape))
        parts = [f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape, strict=True)]
        return f"{whole} {':'.join(parts)}"
