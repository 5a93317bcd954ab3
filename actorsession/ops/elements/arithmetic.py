"""Elementwise arithmetic of two tensors with broadcasting, and sums of many tensors.

The functions of ``division`` can be imported from here too. Kernels are Python's operators where those are
correct: on numpy scalars they cost a tenth of a ufunc call.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bool_, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import OPERATORS, Tensor
from actorsession.graph.registry import Array, Gradient, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of, make_one
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater, greater_equal, less_equal, not_equal, of_numbers
from actorsession.ops.elements.division import div, divide, floordiv, floormod, mod, realdiv, truediv
from actorsession.ops.elements.elementwise import conj, log
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import converted, scalar_like
from actorsession.ops.rows import broadcasts, op, same
from actorsession.ops.shape_operands import elements, with_boxed

__all__ = [
    "add", "add_n", "div", "divide", "floordiv", "floormod", "maximum", "minimum", "mod",
    "multiply", "pow", "realdiv", "squared_difference", "subtract", "truediv",
]  # fmt: skip


# -- sums, differences, products -----------------------------------------------------------------


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x + y`` with broadcasting; strings are concatenated."""
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        # The most frequent case in large graphs: saves 5 us per node, since no scope for constants is needed.
        return make_one(_add_type(x), [x, y], name=name or "Add")
    with converted(x, y, name or "Add") as (left, right, scope):
        return make_one(_add_type(left), [left, right], name=scope)


def _add_type(x: Tensor) -> str:
    return "Add" if x.dtype.kind == "s" else "AddV2"


def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x - y`` with broadcasting."""
    return raw.Sub(x, y, name=name)


def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x * y`` with broadcasting, element by element."""
    return raw.Mul(x, y, name=name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``(x - y) * (x - y)`` with broadcasting; the first factor is conjugated if complex."""
    return raw.SquaredDifference(x, y, name=name)


def _squared_difference(xp: Any, ctx: KernelContext) -> Kernel:
    if ctx.inputs[0].dtype.is_complex:
        return lambda x, y: xp.conj(x - y) * (x - y)

    def squared_difference(x: Any, y: Any) -> Any:
        out = x - y
        out *= out
        return out

    return squared_difference


def _squared_difference_into(x: Any, y: Any, out: Array) -> None:
    np.subtract(x, y, out)
    np.multiply(out, out, out)


def _difference_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    back = (grad + grad) * (x - y)
    return back, -back


_add_back = summed(lambda x, y, z, grad: (grad, grad))
_sub_back = summed(lambda x, y, z, grad: (grad, -grad))
_mul_back = summed(lambda x, y, z, grad: (multiply(grad, conj(y)), multiply(grad, conj(x))))
_ADDED = "{0} += {1}", "{1} += {0}"
op("AddV2", broadcasts, operator.add, _add_back, emit="({0} + {1})", into=np.add, over=_ADDED)
op(
    "Add",
    broadcasts,
    operator.add,
    grad=_add_back,
    kernel=lambda ctx: with_boxed(operator.add, *ctx.inputs),
    emit=of_numbers("({0} + {1})"),
    into=np.add,
    over=_ADDED,
)
op("Sub", broadcasts, operator.sub, _sub_back, emit="({0} - {1})", into=np.subtract, over=["{0} -= {1}"])
op("Mul", broadcasts, operator.mul, _mul_back, emit="({0} * {1})", into=np.multiply, over=("{0} *= {1}", "{1} *= {0}"))
op(
    "SquaredDifference",
    broadcasts,
    grad=summed(_difference_back),
    sentence=_squared_difference,
    into=_squared_difference_into,
)


# -- powers --------------------------------------------------------------------------------------


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x`` to the power of ``y`` with broadcasting; negative powers of integers are an error."""
    return raw.Pow(x, y, name=name)


# numpy takes 48 ns for the cube of a float32, two products 0.6. The gradient of a square contains the first
# power.
_POWERS: dict[float, Kernel] = {
    1.0: lambda x, _: +x,
    2.0: lambda x, _: x * x,
    3.0: lambda x, _: x * x * x,
    -1.0: lambda x, _: np.reciprocal(x),
    0.5: lambda x, _: np.sqrt(x),
}


def _pow_kernel(ctx: KernelContext) -> Kernel:
    if ctx.inputs[0].dtype.is_integer:
        return _integer_power
    exponent = ctx.constant(1)
    if exponent is None or exponent.ndim or not ctx.inputs[0].dtype.is_floating:
        return operator.pow
    return _POWERS.get(float(exponent), operator.pow)


def _integer_power(x: Any, y: Any) -> Any:
    try:
        return operator.pow(x, y)
    except ValueError as exc:
        if np.min(y, initial=0) < 0:
            raise InvalidArgumentError(
                "Pow: integers to negative integer powers are not allowed; cast to a floating type"
            ) from exc
        raise


def _emit_pow(ctx: KernelContext, args: Sequence[str]) -> str | None:
    return f"({args[0]} ** {args[1]})" if _pow_kernel(ctx) is operator.pow else None


def _pow_cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    # 8 to 48 ns per element, by the sign of the base.
    return 0.02 * elements(outputs[0])


def _pow_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    base, exponent = conj(x), conj(y)
    # The logarithm is taken only where it is defined; elsewhere the power has no derivative by y.
    defined = not_equal(base, 0) if x.dtype.is_complex else greater(base, 0)
    logarithm = log(where_v2(defined, base, scalar_like(1, base)))
    by_exponent = where_v2(defined, logarithm, scalar_like(0, base))
    return grad * exponent * pow(base, exponent - 1), grad * conj(z) * by_exponent


op("Pow", broadcasts, grad=summed(_pow_back), kernel=_pow_kernel, emit=_emit_pow, cost=_pow_cost)


# -- maximum and minimum -------------------------------------------------------------------------


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the larger of ``x`` and ``y`` with broadcasting; NaN where either is."""
    return raw.Maximum(x, y, name=name)


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the smaller of ``x`` and ``y`` with broadcasting; NaN where either is."""
    return raw.Minimum(x, y, name=name)


def _extremum_kernel(function: Kernel, compare: Kernel) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory: the ufunc, or a comparison of scalars, which takes a fifth of the time."""

    def chosen(x: Any, y: Any) -> Any:
        # [()] of a numpy scalar is itself, of an array of rank 0 a copy.
        return (x if compare(x, y) or x != x else y)[()]

    return lambda ctx: chosen if all(s.shape.rank == 0 for s in ctx.inputs) else function


def _extremum_gradient(wins: Callable[[Tensor, Tensor], Tensor]) -> Gradient:
    def partial(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
        zero = scalar_like(0, grad)
        first = wins(x, y)
        return where_v2(first, grad, zero), where_v2(first, zero, grad)

    return summed(partial)


op(
    "Maximum",
    broadcasts,
    "maximum",
    grad=_extremum_gradient(greater_equal),
    kernel=_extremum_kernel(np.maximum, operator.ge),
    into=lambda x, y, out: np.maximum(x, y, out=out),  # numpy needs the keyword for this one
)
op(
    "Minimum",
    broadcasts,
    "minimum",
    grad=_extremum_gradient(less_equal),
    kernel=_extremum_kernel(np.minimum, operator.le),
    into=lambda x, y, out: np.minimum(x, y, out=out),
)


# -- sums of many tensors ------------------------------------------------------------------------


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """Return the sum of tensors of one shape, element by element and without broadcasting.

    Args:
        inputs: one or more tensors of the same dtype and shape.
        name: wanted name.

    Raises:
        ValueError: if there are none, or two shapes contradict each other.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(f"add_n takes a list of one or more tensors; got {inputs!r:.100}")
    return raw.AddN(convert_all(inputs), name=name)


def _some_of_one_shape(ctx: InferContext) -> Sequence[TensorShape]:
    if not ctx.inputs:
        raise ValueError("AddN takes one or more inputs; got none")
    return same(ctx)


def _add_n_kernel(ctx: KernelContext) -> Kernel:
    if len(ctx.inputs) == 1:
        return operator.pos

    def add_n(first: Any, second: Any, *rest: Any) -> Any:
        out = first + second
        for value in rest:
            out += value
        return out

    def checked(*values: Any) -> Any:
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise InvalidArgumentError(f"AddN takes inputs of one shape; got {sorted(shapes)}")
        return add_n(*values)

    known = all(spec.shape.is_fully_defined() for spec in ctx.inputs)
    if not known:
        return checked
    return operator.add if len(ctx.inputs) == 2 else add_n


# Python's compiler recurses once for each term of a sum, and fails after some thousand.
_MOST_INLINE = 64


def _emit_add_n(ctx: KernelContext, args: Sequence[str]) -> str | None:
    """Return the inline form for scalars only: the in-place sum of arrays makes a single temporary."""
    scalars = all(spec.shape.rank == 0 for spec in ctx.inputs)
    return f"({' + '.join(args)})" if scalars and 1 < len(args) <= _MOST_INLINE else None


op(
    "AddN",
    _some_of_one_shape,
    grad=lambda op, grad: [grad] * len(op.inputs),
    kernel=_add_n_kernel,
    emit=_emit_add_n,
    joins=np.add,
)


# -- operators -----------------------------------------------------------------------------------


def _times(x: Any, y: Any, name: str) -> Tensor:
    """Return ``x * y``; for bools whether both are true, which in TensorFlow only the operator supports."""
    if not any(getattr(value, "dtype", None) is bool_ for value in (x, y)):
        return multiply(x, y, name)
    graph = graph_of(x, y)
    with graph.name_scope(name):
        left, right = (cast(convert_to_tensor(v, bool_, graph=graph), int32) for v in (x, y))
        return cast(multiply(left, right), bool_)


for _name, _function in {"add": add, "sub": subtract, "mul": _times, "pow": pow}.items():
    OPERATORS.fill(_name, functools.partial(_function, name=_name))
