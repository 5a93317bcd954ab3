"""All torch kernels, and the types that need none."""

from __future__ import annotations

from actorsession.devices.torch.kernels import (
    convolutions,
    elementwise,
    images,
    indexing,
    layout,
    linear,
    neural,
    normalisation,
    recurrent,
    reductions,
    signals,
    training,
)
from actorsession.devices.torch.kernels.rows import Rows

__all__ = ["ROWS", "TRANSPARENT"]

ROWS: Rows = {
    **elementwise.ROWS,
    **reductions.ROWS,
    **linear.ROWS,
    **neural.ROWS,
    **normalisation.ROWS,
    **convolutions.ROWS,
    **recurrent.ROWS,
    **images.ROWS,
    **signals.ROWS,
    **layout.ROWS,
    **indexing.ROWS,
    **training.ROWS,
}
"""The torch kernels by operation type."""

_TRANSPARENT = """
    AssignVariableOp DisableCopyOnRead Identity IdentityN NoOp PreventGradient ReadVariableOp Snapshot StopGradient
    VarHandleOp
"""
TRANSPARENT = frozenset(_TRANSPARENT.split())
"""Operation types whose kernels pass values on and never look into them."""
