"""Conditions that the graph decides where it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.operation import Tensor
from actorsession.train.layers.layer import smart_cond as choose

__all__ = ["smart_case", "smart_cond", "smart_constant_value"]


def smart_constant_value(pred: Any) -> bool | None:
    """Return the value of a condition, or ``None`` if only a step knows it.

    Raises:
        TypeError: for something other than a bool, 0 or 1, or a tensor.
    """
    if isinstance(pred, Tensor):
        value = get_static_value(pred)
        return None if value is None else bool(value)
    if pred in (0, 1) or isinstance(pred, bool):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the result of the one function or of the other; only a tensor of unknown value makes a ``cond``.

    Raises:
        TypeError: for arguments of other kinds.
    """
    for what, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"`{what}` must be callable.")
    assert true_fn is not None
    assert false_fn is not None
    smart_constant_value(pred)
    return choose(pred, true_fn, false_fn)


def smart_case(
    pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False, name: str = "smart_case"
) -> Any:
    """Return the result of the function whose condition holds; see ``tf.case``."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    open_pairs: list[Any] = []
    for pred, function in pairs:
        known = smart_constant_value(pred)
        if known and not open_pairs:
            return function()
        if known is None or known:
            open_pairs.append((pred, function))
    if not open_pairs and default is not None:
        return default()
    return ops.case(open_pairs, default, exclusive, name=name)
