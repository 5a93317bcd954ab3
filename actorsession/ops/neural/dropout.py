"""Dropout: random entries are set to 0, and the others are scaled up."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.dimensions import shape, shape_tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.randomness.numbers import random_uniform

__all__ = ["dropout"]


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None) -> Tensor:
    """Set random entries of ``x`` to 0 and scale the others up, so that the expected sum is unchanged.

    Args:
        x: a floating tensor.
        noise_shape: shape of the random choice, that of ``x`` if left out or where an entry is ``None``; axes
            of extent 1 are kept or dropped together.
        seed: the op's own seed.
        rate: probability of each entry to be dropped, in [0, 1): a number or a scalar tensor.

    Raises:
        ValueError: for a rate out of range.
        TypeError: if ``x`` is not floating.
    """
    value = convert_to_tensor(x)
    if not value.dtype.is_floating:
        raise TypeError(f"dropout takes a floating type, got {value.dtype.name}")
    with value.graph.name_scope(name or "dropout") as scope:
        dropped = rate
        if isinstance(dropped, (int, float, np.number)):
            if not 0 <= dropped < 1:
                raise ValueError(f"the rate of a dropout is in [0, 1), got {dropped}")
            if dropped == 0:
                return identity(value, scope)
            dropped = float(dropped)
        return _dropped(value, dropped, noise_shape, seed, scope)


def _noise_shape(value: Tensor, noise_shape: Any) -> Any:
    """Return ``noise_shape`` with each ``None`` replaced by the extent of ``value``."""
    if not isinstance(noise_shape, (list, tuple, TensorShape)):
        return noise_shape
    listed = list(noise_shape)
    if None not in listed:
        return noise_shape
    if value.shape.rank not in (None, len(listed)):
        raise ValueError(f"a noise_shape of {noise_shape!r} does not fit values of shape {value.shape}")
    known = value.shape.sizes or (None,) * len(listed)
    dims = [have if want is None else want for have, want in zip(known, listed, strict=True)]
    return [shape(value)[i] if dim is None else dim for i, dim in enumerate(dims)]


def _dropped(value: Tensor, rate: Any, noise_shape: Any, seed: int | None, scope: str) -> Tensor:
    share = convert_to_tensor(rate, value.dtype, "rate", graph=value.graph)
    where = shape_tensor(value) if noise_shape is None else _noise_shape(value, noise_shape)
    drawn = random_uniform(where, dtype=value.dtype, seed=seed)
    kept = raw.Cast(raw.GreaterEqual(drawn, share), DstT=value.dtype)
    # The factor is applied to the mask, so that forward and backward pass need one product each.
    out = raw.Mul(value, kept * (1.0 / (1.0 - share)), name=scope)
    # With a rate or noise of unknown shape, inference would lose the shape of the value.
    out.set_shape(value.shape)
    return out
