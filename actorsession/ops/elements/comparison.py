"""Comparisons, logic and predicates; ``selection`` has the ops that select by them.

No gradient flows through a
comparison. Python's ``&``, ``|``, ``^`` and ``~``, which integers support too, are defined in ``bitwise``.
``==`` on tensors remains identity, as in TensorFlow 1; ``equal`` builds the op.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import bool_
from actorsession.graph.operation import OPERATORS, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_all
from actorsession.ops.elements.selection import where, where_v2
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import broadcasts, op, same
from actorsession.ops.shape_operands import boxed

__all__ = [
    "equal", "greater", "greater_equal", "is_finite", "is_inf", "is_nan", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "where",
    "where_v2",
]  # fmt: skip


# -- comparisons ---------------------------------------------------------------------------------


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether ``x == y``, element by element with broadcasting; any dtype."""
    return raw.Equal(x, y, name=name)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether ``x != y``, element by element with broadcasting; any dtype."""
    return raw.NotEqual(x, y, name=name)


def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether ``x < y``, element by element with broadcasting."""
    return raw.Less(x, y, name=name)


def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether ``x <= y``, element by element with broadcasting."""
    return raw.LessEqual(x, y, name=name)


def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether ``x > y``, element by element with broadcasting."""
    return raw.Greater(x, y, name=name)


def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether ``x >= y``, element by element with broadcasting."""
    return raw.GreaterEqual(x, y, name=name)


def _equality(function: Kernel) -> Callable[[Any, KernelContext], Kernel]:
    """Return the sentence of a comparison that strings have too."""

    def of_strings(x: Any, y: Any) -> Any:
        # Plain bytes of rank 0 compare to a Python bool, and numpy would strip their trailing zeros.
        return np.asarray(function(boxed(x), boxed(y)), np.bool_)

    return lambda xp, ctx: of_strings if ctx.inputs[0].dtype.kind == "s" else function


def of_numbers(form: str) -> Callable[[KernelContext, Sequence[str]], str | None]:
    """Return the ``emit`` of an op whose inline form is for anything but strings."""
    return lambda ctx, args: None if ctx.inputs[0].dtype.kind == "s" else form.format(*args)


_eq, _ne = of_numbers("({0} == {1})"), of_numbers("({0} != {1})")
_none = NOT_DIFFERENTIABLE  # short, for rows of one line
op("Equal", broadcasts, grad=_none, sentence=_equality(operator.eq), emit=_eq, into=np.equal)
op("NotEqual", broadcasts, grad=_none, sentence=_equality(operator.ne), emit=_ne, into=np.not_equal)
op("Less", broadcasts, operator.lt, _none, emit="({0} < {1})", into=np.less)
op("LessEqual", broadcasts, operator.le, _none, emit="({0} <= {1})", into=np.less_equal)
op("Greater", broadcasts, operator.gt, _none, emit="({0} > {1})", into=np.greater)
op("GreaterEqual", broadcasts, operator.ge, _none, emit="({0} >= {1})", into=np.greater_equal)


# -- logic ---------------------------------------------------------------------------------------


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether both are true, element by element with broadcasting."""
    return raw.LogicalAnd(x, y, name=name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return whether either is true, element by element with broadcasting."""
    return raw.LogicalOr(x, y, name=name)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Return whether exactly one is true, element by element with broadcasting."""
    left, right = convert_all([x, y], bool_)
    return not_equal(left, right, name or "LogicalXor")


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is false."""
    return raw.LogicalNot(x, name=name)


def _bools(ctx: InferContext) -> Sequence[TensorShape]:
    """Bools that broadcast together."""
    check_dtype(ctx, "b")
    return broadcasts(ctx)


# The bitwise operators: on bools they are the logical ones, for which Python has no operators.
op("LogicalAnd", _bools, operator.and_, _none, emit="({0} & {1})", into=np.bitwise_and)
op("LogicalOr", _bools, operator.or_, _none, emit="({0} | {1})", into=np.bitwise_or)
op("LogicalNot", _bools, operator.invert, _none, emit="(~{0})", into=np.invert)


# -- predicates ----------------------------------------------------------------------------------


def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is not a number."""
    return raw.IsNan(x, name=name)


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is positive or negative infinity."""
    return raw.IsInf(x, name=name)


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is neither infinite nor NaN."""
    return raw.IsFinite(x, name=name)


op("IsNan", same, "isnan", NOT_DIFFERENTIABLE)
op("IsInf", same, "isinf", NOT_DIFFERENTIABLE)
op("IsFinite", same, "isfinite", NOT_DIFFERENTIABLE)


# -- operators -----------------------------------------------------------------------------------

for _name, _function in {"lt": less, "le": less_equal, "gt": greater, "ge": greater_equal}.items():
    OPERATORS.fill(_name, _function)
