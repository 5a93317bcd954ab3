"""Static evaluation: the value of a tensor that is known while the graph is built.

Shape functions use such values, so that a reshape to a constant shape has a static shape. An op defines the
evaluation by its ``static_value``; results are kept on the tensor. ``Graph`` calls this for each input of a
new node, and so does ``ops/``.

``constant_value`` is for shape functions and marks nothing, as in TensorFlow, whose shape functions leave a
tensor feedable. A program that calls ``get_static_value`` may rely on the result for anything it builds, so
the tensor, and those that its value was computed from, can then no longer be fed.

Callers need sizes, axes and the like, so no value of more than ``MOST_ELEMENTS`` is computed or kept: a few
operations can make one that fits into no machine. Constants in the graph, and nodes that only forward them,
are evaluated at any size.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext

__all__ = ["MOST_ELEMENTS", "constant_value", "get_static_value"]

MOST_ELEMENTS = 4096
"""Elements of a value that is computed while the graph is built."""

# Types that forward an existing value.
_PASS_ON = frozenset({"Const", "EnsureShape", "GuaranteeConst", "Identity", "StopGradient"})

# Their value comes from the static shape of the input; the input's own value may be fed.
_OF_SHAPES = frozenset({"Shape", "Size", "Rank"})


def constant_value(tensor: Tensor) -> Array | None:
    """Return the value of a tensor if it is known while the graph is built, else ``None``.

    Returns:
        An array that must not be changed.
    """
    if tensor.op.op_def.static_value is None:
        return None
    # Not by recursion: chains of a thousand identities and casts are nothing unusual.
    stack = [tensor]
    while stack:
        inputs = stack[-1].op.inputs
        unknown = [t for t in inputs if not _is_settled(t)]
        if unknown:
            stack.extend(unknown)
        else:
            _settle(stack.pop())
    return _found(tensor)


def _is_settled(tensor: Tensor) -> bool:
    """Return whether an earlier result still holds; a shape refined since may make more known."""
    if tensor.op.op_def.static_value is None:
        return True
    answer = tensor._constant
    return answer is not None and (answer[1] is not None or answer[0] == len(tensor.graph.changes.made))


def _settle(tensor: Tensor) -> None:
    op, evaluate = tensor.op, tensor.op.op_def.static_value
    if evaluate is None or _is_settled(tensor):
        return
    specs = tuple([t.spec for t in op.inputs])
    constants = tuple([_found(t) for t in op.inputs])
    context = InferContext(op.type, specs, op.attrs, constants)
    changes, value = len(tensor.graph.changes.made), None
    # What a branch computes that does not run need not fit together.
    with contextlib.suppress(ValueError):
        if op.type in _PASS_ON or _elements(tensor, context) <= MOST_ELEMENTS:
            value = evaluate(context)
    tensor._constant = changes, value


def _elements(tensor: Tensor, context: InferContext) -> int:
    """Return the number of elements of a value; if it is unknown, that of the values it is computed from."""
    count = tensor.spec.shape.num_elements()
    if count is None:  # more may be known than when it was built
        count = tensor.op.op_def.infer(context)[0].shape.num_elements()
    return sum(v.size for v in context.constants if v is not None) if count is None else count


def _found(tensor: Tensor) -> Array | None:
    return None if tensor._constant is None else tensor._constant[1]


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor if it is known while the graph is built, and forbid feeding it then.

    Args:
        tensor: a tensor; anything else that belongs to no graph is its own value.
        partial: whether a stack of scalars, some of them unknown, gives an object array with ``None`` for
            those.

    Returns:
        An array that must not be changed, or ``None`` if the value depends on the step.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "_as_graph_element") else tensor
    value = constant_value(tensor)
    if value is not None:
        _prevent_feeding(tensor)
        return value
    if not partial or tensor.op.type != "Pack" or tensor.op.attrs["axis"] != 0:
        return None
    if (tensor.spec.shape.num_elements() or 0) > MOST_ELEMENTS:
        return None
    parts = [get_static_value(part, partial=True) for part in tensor.op.inputs]
    tensor.graph.prevent_feeding(tensor)
    out = np.empty(len(parts), dtype=object)
    out[:] = parts
    return out


def _prevent_feeding(tensor: Tensor) -> None:
    """Mark a tensor of known value, and all tensors that its value was computed from, as not feedable."""
    seen: set[Tensor] = set()
    waiting = [tensor]
    while waiting:
        used = waiting.pop()
        if used in seen:
            continue
        seen.add(used)
        used.graph.prevent_feeding(used)
        if used.op.type not in _OF_SHAPES:
            waiting.extend(t for t in used.op.inputs if _found(t) is not None)
