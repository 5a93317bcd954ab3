"""``fftshift`` and its inverse: spectra with the constant component in the middle."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import range_
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.reversal import roll
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.selection import where_v2

__all__ = ["fftshift", "ifftshift"]


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Exchange the halves of a spectrum, so that the first entry moves to the middle.

    Args:
        x: a tensor.
        axes: the axes to shift, an integer or several; all if left out.
        name: wanted name.
    """
    return _shifted(x, axes, name or "fftshift", back=False)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Undo ``fftshift``; arguments as there."""
    return _shifted(x, axes, name or "ifftshift", back=True)


def _shifted(x: Any, axes: Any, name: str, back: bool) -> Tensor:
    value = convert_to_tensor(x)
    with value.graph.as_default(), value.graph.name_scope(name):
        if axes is None:
            known = value.shape.rank
            chosen = range_(rank(value)) if known is None else convert_to_tensor([*range(known)])
        else:
            chosen = convert_to_tensor(axes)
            chosen = where_v2(chosen < 0, chosen + rank(value), chosen)
        half = gather(shape(value), chosen) // 2
        return roll(value, -half if back else half, chosen)
