"""The gradient function of an operation: that of its type, or one that the user registered under a name.

An operation type declares its gradient (``OpDef.gradient``). Users register gradients of types that have
none, and others under names, which operations get from ``Graph.gradient_override_map`` or from
``custom_gradient``. Used by ``gradients``.

The user's gradient functions follow TensorFlow's convention: they get zeros for outputs that nothing depends
on, and return one value, or a list of one for each input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from actorsession.graph.operation import Operation
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Gradient, is_registered, lookup, registered_ops
from actorsession.graph.scopes import GRADIENT_NAME
from actorsession.graph.source_location import user_line
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.registrations import scoped

__all__ = [
    "NoGradient",
    "NotDifferentiable",
    "RegisterGradient",
    "gradient_of",
    "named_gradient",
    "named_gradients",
    "takes_slices",
]

F = TypeVar("F", bound=Callable[..., Any])

_NAMED: dict[str, Gradient] = scoped({})
_LINES: dict[str, str] = scoped({})


class RegisterGradient:
    """A decorator that registers the gradient of an operation type, or one under another name.

    The function takes the operation and the gradient of each output, and returns the gradient of each input:
    a value or ``None`` for one input, a list of them for several.

    Args:
        op_type: the type or name.

    Raises:
        TypeError: if it is not a string.
        KeyError: from the decorator, if it has a gradient already.
    """

    def __init__(self, op_type: str) -> None:
        self._name = _checked(op_type)

    def __call__(self, f: F) -> F:
        """Register ``f`` and return it."""
        _add(self._name, _as_gradient(f))
        return f


def NotDifferentiable(op_type: str) -> None:
    """Register that no gradient flows through an operation type; see ``RegisterGradient``."""
    _add(_checked(op_type), NOT_DIFFERENTIABLE)


NoGradient = NotDifferentiable


def _checked(op_type: Any) -> str:
    if not isinstance(op_type, str):
        raise TypeError(f"op_type must be a string, got {op_type!r:.100}")
    return op_type


def _add(name: str, gradient: Gradient) -> None:
    known = is_registered(name) and lookup(name).gradient is not None
    if known or name in _NAMED:
        where = f" at {_LINES[name]}" if name in _LINES else ""
        raise KeyError(f"a gradient of {name!r} is registered already{where}")
    _NAMED[name] = gradient
    _LINES[name] = user_line()


def gradient_of(op: Operation) -> Gradient | None:
    """Return the gradient of an operation; ``None`` if there is none."""
    name = op.attrs.get(GRADIENT_NAME)
    if name is not None:
        return op.graph.gradient_functions.get(name) or _NAMED.get(name) or _of_type(name)
    own = op.op_def.gradient
    return _NAMED.get(op.type) if own is None and _NAMED else own


def named_gradient(name: str) -> Gradient | None:
    """Return the gradient of an operation type, or the one that a program registered under a name."""
    return _NAMED.get(name) or _of_type(name)


def named_gradients() -> list[str]:
    """Return the types that have a gradient and the names under which programs registered one."""
    return [*(name for name in registered_ops() if lookup(name).gradient is not None), *_NAMED]


def _of_type(name: str) -> Gradient | None:
    """Return the gradient of the operation type that an override map names in place of another."""
    return lookup(name).gradient if is_registered(name) else None


def takes_slices(gradient: Gradient) -> bool:
    """Return whether a gradient function is the user's, which gets slices unconverted."""
    return hasattr(gradient, "__wrapped__")


def _as_gradient(function: Callable[..., Any]) -> Gradient:
    """Return a user's function in the form of ``OpDef.gradient``."""

    @functools.wraps(function)
    def gradient(op: Operation, *grads: Any) -> Sequence[Any]:
        dense = [
            zeros_like(t) if g is None and t.dtype.kind in "fc" else g for t, g in zip(op.outputs, grads, strict=True)
        ]
        answer = function(op, *dense)
        back = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        return [g if g is None or isinstance(g, IndexedSlices) else convert_to_tensor(g, graph=op.graph) for g in back]

    return gradient
