"""``tf.test.compute_gradient``: gradients compared with finite differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.graph.default_session import get_default_session
from actorsession.graph.operation import Tensor

__all__ = ["compute_gradient", "compute_gradient_error"]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """Return the Jacobian of ``y`` by ``x`` from gradients, and from finite differences.

    Args:
        x: a tensor of floats, or a list of them.
        x_shape: its shape, or a list of shapes.
        y: a tensor of floats.
        y_shape: its shape.
        x_init_value: the point at which it is computed, an array or a list; random if omitted.
        delta: half the distance between the two points of a difference.
        init_targets: operations to run first.
        extra_feed_dict: further feeds.

    Returns:
        A pair of matrices with a row for each element of ``x``, or a list of pairs if ``x`` is a list.
    """
    session: Any = get_default_session()
    for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
        if target is not None:
            session.run(target)
    many = isinstance(x, list)
    xs, shapes = (x, x_shape) if many else ([x], [x_shape])
    starts = x_init_value if many and x_init_value is not None else [x_init_value] * len(xs)
    values = [
        np.random.random_sample(shape).astype(tensor.dtype.np_dtype) if start is None else start
        for tensor, shape, start in zip(xs, shapes, starts, strict=True)
    ]
    feeds = {**dict(zip(xs, values, strict=True)), **(extra_feed_dict or {})}
    size = int(np.prod(y_shape))
    pairs = [
        (_symbolic_jacobian(session, tensor, y, size, feeds), _numeric_jacobian(session, tensor, y, size, feeds, delta))
        for tensor in xs
    ]
    return pairs if many else pairs[0]


def _symbolic_jacobian(session: Any, x: Any, y: Tensor, size: int, feeds: dict[Any, Any]) -> Any:
    with x.graph.as_default():
        seed = ops.placeholder(y.dtype, y.shape)
        gradient = ops.gradients([y], [x], [seed])[0]
    dims = np.shape(session.run(y, feeds))
    columns = [
        session.run(gradient, {**feeds, seed: unit.reshape(dims)}).reshape(-1)
        for unit in np.eye(size, dtype=y.dtype.np_dtype)
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((np.size(feeds[x]), 0))


def _numeric_jacobian(session: Any, x: Any, y: Tensor, size: int, feeds: dict[Any, Any], delta: float) -> Any:
    rows = []
    for index in range(np.size(feeds[x])):
        ends = []
        for step in (delta, -delta):
            moved = np.array(feeds[x])
            moved.reshape(-1)[index] += step
            ends.append(session.run(y, {**feeds, x: moved}).reshape(-1))
        rows.append((ends[0] - ends[1]) / (2 * delta))
    return np.stack(rows) if rows else np.zeros((0, size))


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """Return the largest difference between the two Jacobians of ``compute_gradient``.

    The arguments are those of ``compute_gradient``.
    """
    jacobians = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = jacobians if isinstance(jacobians, list) else [jacobians]
    return float(max((np.abs(a - b).max() for a, b in pairs if np.size(a)), default=0.0))
