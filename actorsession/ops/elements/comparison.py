"""Comparisons, logic and predicates; ``selection`` has the ops that select by them.

The file has the shape function, kernel, gradient and public function of each op. No gradient flows through a
comparison. Python's ``&``, ``|``, ``^`` and ``~``, which integers support too, are defined in ``bitwise``.
``==`` on tensors remains identity, as in TensorFlow 1; ``equal`` builds the op.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from actorsession.graph.dtypes import bool_
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import OPERATORS, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, OpDef, register
from actorsession.ops import raw
from actorsession.ops.build import convert_all
from actorsession.ops.elements.selection import where, where_v2
from actorsession.ops.operands import check_dtype, compare, infer_like, writes
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


def _register_comparison(
    name: str,
    kinds: str,
    symbol: str,
    function: Kernel,
    into: Kernel,
    attrs: Mapping[str, Any] | None = None,
) -> None:
    """Register a comparison by Python's operator ``function``, its source ``symbol`` and numpy's ``into``."""

    def of_strings(x: Any, y: Any) -> Any:
        # Plain bytes of rank 0 compare to a Python bool, and numpy would strip their trailing zeros.
        return np.asarray(function(boxed(x), boxed(y)), np.bool_)

    register(
        OpDef(
            name=name,
            infer=compare(kinds),
            kernel=lambda ctx: of_strings if ctx.inputs[0].dtype.kind == "s" else function,
            gradient=NOT_DIFFERENTIABLE,
            emit=lambda ctx, args: (
                None if ctx.inputs[0].dtype.kind == "s" else f"({args[0]} {symbol} {args[1]})"
            ),
            into=writes(into),
        )
    )


# TensorFlow writes this attribute into graphs; here incompatible shapes are an error either way.
_SHAPES = {"incompatible_shape_error": True}

_register_comparison("Equal", "biufcs", "==", operator.eq, np.equal, _SHAPES)
_register_comparison("NotEqual", "biufcs", "!=", operator.ne, np.not_equal, _SHAPES)
_register_comparison("Less", "iuf", "<", operator.lt, np.less)
_register_comparison("LessEqual", "iuf", "<=", operator.le, np.less_equal)
_register_comparison("Greater", "iuf", ">", operator.gt, np.greater)
_register_comparison("GreaterEqual", "iuf", ">=", operator.ge, np.greater_equal)


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


def _register_logic(name: str, infer: Any, function: Kernel, form: str, into: Kernel) -> None:
    register(
        OpDef(
            name=name,
            infer=infer,
            kernel=lambda ctx: function,
            gradient=NOT_DIFFERENTIABLE,
            emit=lambda ctx, args: form.format(*args),
            into=writes(into),
        )
    )


# The bitwise operators: on bools they are the logical ones, for which Python has no operators.
_register_logic("LogicalAnd", compare("b"), operator.and_, "({0} & {1})", np.bitwise_and)
_register_logic("LogicalOr", compare("b"), operator.or_, "({0} | {1})", np.bitwise_or)
_register_logic("LogicalNot", infer_like("b"), operator.invert, "(~{0})", np.invert)


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


def _infer_predicate(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, "f")
    return [TensorSpec(bool_, ctx.inputs[0].shape)]


def _register_predicate(name: str, function: Kernel) -> None:
    register(
        OpDef(
            name=name,
            infer=_infer_predicate,
            kernel=lambda ctx: function,
            gradient=NOT_DIFFERENTIABLE,
            into=writes(function),
        )
    )


_register_predicate("IsNan", np.isnan)
_register_predicate("IsInf", np.isinf)
_register_predicate("IsFinite", np.isfinite)

# -- operators -----------------------------------------------------------------------------------

for _name, _function in {
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
}.items():
    OPERATORS.fill(_name, _function)
